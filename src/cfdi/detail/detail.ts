import { Failure, notFound } from '../../failures.ts'
import type { Ctx } from '../../platform/context.ts'
import { openLedger, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { type AppliedRow, appliedOf } from '../applied.ts'
import { balanceOf, isDeferred } from '../balances.ts'
import { decimal, micros } from '../money.ts'
import { balanceShown, type CfdiRow, leftOf, view } from '../view.ts'
import type { CfdiDocument } from '../xml/document.ts'
import { parseCfdi } from '../xml/parse.ts'
import { readXml } from '../xml/xml-store.ts'
import type { Application, CfdiDetail, CfdiPayments } from './contract.ts'
import { type Found, findCfdi, findCfdiWithLines } from './store.ts'

/** One document with all that is known of it. 404 cfdi.not_found when it is absent or outside the window. */
export async function getCfdi(ctx: Ctx, uuid: string): Promise<CfdiDetail> {
  const books = openLedger(ctx)
  const found = await findCfdiWithLines(books, uuid)
  if (!found) throw notFound('cfdi')
  const said = found.detail !== null ? (JSON.parse(found.detail) as Partial<CfdiDocument>) : await parsed(ctx, found)
  return {
    ...view(found.row, sightingOf(books, found)),
    receptor_residencia_fiscal: said.receptor_residencia_fiscal ?? null,
    receptor_num_reg_id_trib: said.receptor_num_reg_id_trib ?? null,
    no_certificado: said.no_certificado ?? null,
    sello_ultimos_8: said.sello_ultimos_8 ?? null,
    informacion_global: said.informacion_global ?? null,
    impuestos: said.impuestos ?? { total_trasladados: null, total_retenidos: null, traslados: [], retenciones: [] },
    impuestos_locales: said.impuestos_locales ?? null,
    relacionados: said.relacionados ?? [],
    conceptos: found.conceptos.length > 0 ? found.conceptos : (said.conceptos ?? []),
    pagos: said.pagos ?? [],
    nominas: said.nominas ?? [],
    retencion: said.retencion ?? null,
    complementos: said.complementos ?? [],
    has_addenda: said.has_addenda ?? false,
    repairs: said.repairs ?? [],
    aplicaciones: applicationsOf(found),
  }
}

/** What was applied to a document by others that the window shows, and the balance up to the ceiling. 404 cfdi.not_found. */
export async function listPayments(ctx: Ctx, uuid: string): Promise<CfdiPayments> {
  const books = openLedger(ctx)
  const found = await findCfdi(books, uuid)
  if (!found) throw notFound('cfdi')
  const { row } = found
  const { total, currency, paid_amount, credited_amount, balance, payment_status } = view(row, sightingOf(books, found))
  const reported_balance = isDeferred(row) ? reportedOf(found.applied) : null
  return {
    invoice_uuid: row.uuid,
    total,
    currency,
    paid_amount,
    credited_amount,
    balance,
    payment_status,
    reported_balance,
    balance_mismatch: reported_balance !== null && isApart(row, found.applied, reported_balance),
    data: applicationsOf(found),
  }
}

/** The XML byte for byte, with a name for its file. 404 cfdi.not_found, cfdi.xml_not_available. */
export async function getXml(ctx: Ctx, uuid: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; name: string }> {
  const found = await findCfdi(openLedger(ctx), uuid)
  if (!found) throw notFound('cfdi')
  if (!found.xml)
    throw new Failure('not_found', 'cfdi.xml_not_available', 'Only the metadata of this CFDI is known so far: there is no XML.')
  return { bytes: (await readXml(ctx.env.FILES, found.xml)) as Uint8Array<ArrayBuffer>, name: `${found.row.uuid}.xml` }
}

const parsed = async ({ env }: Ctx, { xml }: Found): Promise<Partial<CfdiDocument>> => (xml ? parseCfdi(await readXml(env.FILES, xml)) : {})

const sightingOf = ({ fiscal_entity_id }: ScopedLedger, { origin, applied }: Found) => ({
  fiscal_entity_id,
  origin,
  applied: applied.map(appliedOf),
})

const shownOf = (applied: readonly AppliedRow[]): AppliedRow[] => applied.filter(({ is_shown }) => is_shown === 1)

const inOrder = (a: AppliedRow, b: AppliedRow): number => {
  const [first, second] = [a, b].map(({ fecha_pago, source, n }) => `${fecha_pago} ${source} ${String(n).padStart(6, '0')}`)
  return first! < second! ? -1 : 1
}

const applicationsOf = ({ row, applied }: Found): Application[] =>
  shownOf(applied)
    .sort(inOrder)
    .map((one) => ({
      source_uuid: one.source,
      kind: one.kind,
      fecha_pago: one.fecha_pago,
      forma_pago: one.forma_pago,
      num_parcialidad: one.num_parcialidad,
      imp_saldo_ant: one.imp_saldo_ant,
      imp_pagado: one.imp_pagado,
      imp_saldo_insoluto: one.imp_saldo_insoluto,
      amount: decimal(amountOf(row, one)),
      estatus: one.estatus,
    }))

/** In the invoice's currency, whether or not it counts. */
function amountOf({ currency, tipo_cambio }: CfdiRow, one: AppliedRow): bigint {
  const invoice = { tipo_comprobante: 'I', metodo_pago: 'PPD', total_micros: null, currency, tipo_cambio }
  const { paid, credited } = balanceOf(invoice, [{ ...appliedOf(one), cancelled: false }])
  return paid + credited
}

const reportedOf = (applied: readonly AppliedRow[]): string | null =>
  shownOf(applied)
    .filter(({ kind, estatus, imp_saldo_insoluto }) => kind === 'P' && estatus === 'vigente' && imp_saldo_insoluto !== null)
    .sort((a, b) => Number(b.num_parcialidad) - Number(a.num_parcialidad))[0]?.imp_saldo_insoluto ?? null

const CENT = 10_000n

function isApart(row: CfdiRow, applied: readonly AppliedRow[], reported: string): boolean {
  const difference = leftOf(row, balanceShown(row, applied.map(appliedOf))) - micros(reported)!
  return difference > CENT || difference < -CENT
}
