import { listedOf } from '../../lists/listed/counterparties.ts'
import type { Ctx } from '../../platform/context.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { decimal, micros } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { stepByStep } from '../../platform/work/pause.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type AppliedRow, appliedOf } from '../applied/applied.ts'
import type { KnownDetail } from '../chunks/content.ts'
import type { Cfdi } from '../contract.ts'
import { afterDay } from '../literal-day.ts'
import { thresholdsOf } from '../payment-thresholds.ts'
import { type Language, printPdf } from '../print/print.ts'
import type { ReadRow } from '../read-row.ts'
import { leftOf, payableOf, type RowContext, view, visibleBalance } from '../read-row.ts'
import { creditOf, hasOtherReceiver, isDeferred, notCountedReason } from '../totals.ts'
import { readingTree } from '../xml/tree.ts'
import { readXml, streamXml } from '../xml/xml-store.ts'
import type { Application, CfdiDetail, CfdiPayments } from './contract.ts'
import { statedBy } from './stated.ts'
import { type FoundCfdi, findCfdi, findStored, withContent } from './store.ts'

/**
 * Returns a document with everything that it says, and its status, substitutions and balance now or as of a day. Throws Failure 404
 * cfdi.not_found when it is absent, not visible or of a later day, and 422 as_of.future.
 */
export async function getCfdi(ctx: Ctx, uuid: string, as_of?: string): Promise<CfdiDetail> {
  const ledger = openLedger(ctx)
  const detail = await withContent(ctx, ledger, uuid, pastDay(ctx, as_of), async (found, content) => {
    if (as_of !== undefined && found.row.fecha >= afterDay(as_of)) return undefined
    const shown = await shownAs(ctx, ledger, found)
    const tree = found.xml && (await stepByStep(readingTree(await readXml(ctx.env.FILES, found.xml))))
    return { ...shown, ...statedBy(content, tree), aplicaciones: applicationsOf(found) }
  })
  if (!detail) throw notFound('cfdi')
  return detail
}

/** Finds a visible document, as it is now, with what is picked of its content. One call, or two. */
export const findDetailed = <Picked>(ctx: Ctx, ledger: ScopedLedger, uuid: string, pick: (content: KnownDetail) => Picked) =>
  withContent(ctx, ledger, uuid, null, async (found, content) => ({ ...found, ...pick(content) }))

/** A stored document with its payments for every ceiling, whatever anybody's windows show: for work in the background. */
export async function findWithPayments(ledger: D1Database, entity: number, uuid: string) {
  const found = await findStored(ledger, entity, uuid)
  return found && { row: found.row, payments: thresholdsOf(payableOf(found.row), found.applied.map(appliedOf)) }
}

/** Whether there is a visible document with this UUID. */
export const isReadableCfdi = async (ctx: Ctx, uuid: string): Promise<boolean> => (await findCfdi(openLedger(ctx), uuid)) !== undefined

/** A document that was found as lists show it. */
export const shownAs = async (ctx: Ctx, ledger: ScopedLedger, found: FoundCfdi): Promise<Cfdi> =>
  view(found.row, contextOf(ledger, found), await listedOf(ctx))

/**
 * Returns the visible applications to an invoice, and its balance up to the ceiling. Throws Failure 404 cfdi.not_found when the invoice is
 * absent or not visible.
 */
export async function listPayments(ctx: Ctx, uuid: string): Promise<CfdiPayments> {
  const ledger = openLedger(ctx)
  const found = await findCfdi(ledger, uuid)
  if (!found) throw notFound('cfdi')
  const { row } = found
  const { total, currency, paid_amount, credited_amount, balance, payment_status } = view(row, contextOf(ledger, found))
  const reported_balance = isDeferred(row) ? reportedBalance(found) : null
  return {
    invoice_uuid: row.uuid,
    total,
    currency,
    paid_amount,
    credited_amount,
    balance,
    payment_status,
    reported_balance,
    balance_mismatch: reported_balance !== null && isMismatch(row, found.applied, reported_balance),
    data: applicationsOf(found),
    ...WHOLE,
  }
}

/**
 * Returns the PDF of a document, as it stands now or as of a day, and a name for the file. Throws Failure as `getCfdi` does, and 409
 * cfdi.xml_not_held while only metadata is known.
 */
export async function getPdf(ctx: Ctx, uuid: string, language: Language, as_of?: string) {
  const ledger = openLedger(ctx)
  const bytes = await withContent(ctx, ledger, uuid, pastDay(ctx, as_of), async (found) => {
    if (as_of !== undefined && found.row.fecha >= afterDay(as_of)) return undefined
    if (!found.xml)
      throw new Failure('conflict', 'cfdi.xml_not_held', 'There is no PDF of this CFDI, because only its metadata is known so far.')
    return printPdf(ctx, await readXml(ctx.env.FILES, found.xml), view(found.row, contextOf(ledger, found)), language)
  })
  if (!bytes) throw notFound('cfdi')
  return { bytes, name: `${uuid}.pdf` }
}

/** Returns the XML byte for byte, as it is read, and a name for the file. Throws Failure 404 cfdi.not_found or cfdi.xml_not_available. */
export async function getXml(ctx: Ctx, uuid: string): Promise<{ bytes: ReadableStream; name: string }> {
  const found = await findCfdi(openLedger(ctx), uuid)
  if (!found) throw notFound('cfdi')
  if (!found.xml)
    throw new Failure('not_found', 'cfdi.xml_not_available', 'There is no XML of this CFDI, because only its metadata is known so far.')
  return { bytes: await streamXml(ctx.env.FILES, found.xml, found.xml.xml_size), name: `${found.row.uuid}.xml` }
}

const contextOf = ({ fiscal_entity_id }: ScopedLedger, { partition, applied }: FoundCfdi): RowContext => ({
  fiscal_entity_id,
  partition,
  applied: applied.map(appliedOf),
})

const visibleOf = (applied: readonly AppliedRow[]): AppliedRow[] => applied.filter(({ is_shown }) => is_shown === 1)

const inOrder = (a: AppliedRow, b: AppliedRow): number => {
  const [first, second] = [a, b].map(({ fecha_pago, source, n }) => `${fecha_pago} ${source} ${String(n).padStart(6, '0')}`)
  return first! < second! ? -1 : 1
}

const applicationsOf = ({ row, applied }: FoundCfdi): Application[] =>
  visibleOf(applied)
    .sort(inOrder)
    .map((one) => viewApplication(row, one))

function viewApplication(row: ReadRow, one: AppliedRow): Application {
  const applied = appliedOf(one)
  const not_counted_reason = notCountedReason(payableOf(row), applied)
  const converted = one.kind === 'P' ? null : creditOf(row, applied)
  const isOfThirdParty = one.emisor_rfc === row.emisor_rfc && hasOtherReceiver(row, one)
  return {
    source_uuid: one.source,
    kind: one.kind,
    fecha_pago: one.fecha_pago,
    forma_pago: one.forma_pago,
    num_parcialidad: one.num_parcialidad,
    imp_saldo_ant: one.imp_saldo_ant,
    imp_pagado: one.imp_pagado,
    imp_saldo_insoluto: one.imp_saldo_insoluto,
    amount: decimal(converted ?? applied.amount),
    currency: converted === null || row.version === null ? one.currency : row.currency,
    estatus: one.estatus,
    counts: not_counted_reason === null,
    not_counted_reason,
    allocation_estimated: one.is_shared === 1,
    warnings: one.kind === 'P' && isOfThirdParty ? ['receiver_differs'] : [],
  }
}

const reportedBalance = ({ row, applied }: FoundCfdi): string | null =>
  visibleOf(applied)
    .filter((one) => one.kind === 'P' && one.imp_saldo_insoluto !== null && notCountedReason(payableOf(row), appliedOf(one)) === null)
    .sort((a, b) => Number(b.num_parcialidad) - Number(a.num_parcialidad))[0]?.imp_saldo_insoluto ?? null

const CENT = 10_000n

function isMismatch(row: ReadRow, applied: readonly AppliedRow[], reported: string): boolean {
  const difference = leftOf(row, visibleBalance(row, applied.map(appliedOf))) - micros(reported)!
  return difference > CENT || difference < -CENT
}
