import { incompleteMonths } from '../../cfdi/quality/data-quality.ts'
import type { Suppliers, SupplierTotals } from '../../cfdi/supplier-totals.ts'
import { issuerNames, lastMonths, sumSuppliers } from '../../cfdi/suppliers/suppliers.ts'
import { refuseUnknownLists } from '../../lists/custom/known.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { nowListedAs } from '../../lists/listed/listed.ts'
import { findSupplierRows, requestLookups, type SupplierStatusRow } from '../../lists/repse/registrations.ts'
import { announceLookups } from '../../lists/repse/repse.ts'
import { isStale, registrationStatus } from '../../lists/repse/status.ts'
import type { Ctx } from '../../platform/context.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { decimal } from '../../platform/money.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { clock } from '../../platform/time/clock.ts'
import { GENERIC_RFCS, isRfc } from '../../taxpayers/rfc.ts'
import { viewWindows } from '../../taxpayers/visibility/contract.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { windowStateOf } from '../../taxpayers/visibility/window.ts'
import type { Supplier, SupplierReport, SupplierReportQuery, SupplierStatus } from './contract.ts'

/** The maximum number of look-ups that one reading of the report requests, and of those that begin at once. The sweep does the others. */
const LOOKUPS = 500
const AT_ONCE = 50

const BASIS = {
  population:
    'Valid (vigente) received CFDIs of types I and E inside the visibility window, with different issuer and receiver. Retenciones are ' +
    'excluded, and so are documents that another vigente one substitutes (relation 04).',
  amounts: 'Totals of CFDIs of type I minus totals of type E, taxes included.',
  currency: 'Converted to MXN at each document’s own TipoCambio.',
  month: 'The month of the literal Fecha.',
}

/** A supplier with its status in the registry. */
interface AssessedSupplier {
  rfc: string
  totals: SupplierTotals
  row: SupplierStatusRow | undefined
  status: SupplierStatus
  days_to_expiry: number | null
}

function assess(rfc: string, totals: SupplierTotals, row: SupplierStatusRow | undefined, today: string): AssessedSupplier {
  if (!row || row.checked_at === null) return { rfc, totals, row, status: 'unknown', days_to_expiry: null }
  const is_registered = row.is_registered === 1
  const { is_expired, days_to_expiry } = registrationStatus({ is_registered, vigencia_hasta: row.vigencia_hasta }, today)
  return { rfc, totals, row, status: !is_registered ? 'not_registered' : is_expired ? 'expired' : 'registered', days_to_expiry }
}

const byAmount = (a: AssessedSupplier, b: AssessedSupplier): number =>
  a.totals.amount === b.totals.amount ? (a.rfc < b.rfc ? -1 : 1) : a.totals.amount > b.totals.amount ? -1 : 1

/** Keeps the suppliers that are on one of the lists. The listed counterparties are kept with the connection that was read. */
async function onlyListed(ctx: Ctx, suppliers: Suppliers, blacklist: readonly string[]): Promise<void> {
  const listed = new Set(nowListedAs(await listedOf(ctx), blacklist))
  for (const rfc of suppliers.keys()) if (!listed.has(rfc)) suppliers.delete(rfc)
}

/**
 * Compares the RFC's suppliers with the registry. Counts and sums all suppliers, or those on some lists, and lists those with the largest
 * amounts. Requests look-ups of up to 500 suppliers whose answer is missing or older than a day. Throws Failure 404
 * fiscal_entity.not_found and 422 blacklist.unknown.
 */
export async function reportSuppliers(ctx: Ctx, { months, limit, blacklist }: SupplierReportQuery): Promise<SupplierReport> {
  const { db, now, organization } = ctx
  const ledger = openLedger(ctx)
  await refuseUnknownLists(ctx, 'blacklist', blacklist)
  const span = lastMonths(now, months)
  const { suppliers, statuses } = await sumSuppliers(ledger, span, now.getTime())
  if (blacklist) await onlyListed(ctx, suppliers, blacklist)
  const rows = await findSupplierRows(db, [...suppliers.keys()])
  const today = localDayOf(now, organization.timezone)
  const all = [...suppliers].map(([rfc, one]) => assess(rfc, one, rows.get(rfc), today)).sort(byAmount)
  const listed = all.slice(0, limit)
  const outdated = outdatedSuppliers(all, now)
  const names = await issuerNames(ledger, [...new Set([...listed, ...outdated].map(({ rfc }) => rfc))])
  if (outdated.length > 0) {
    // The registry is searched by name. All organizations share its answer, so only a name from the authority's documents is used.
    const nameOf = (rfc: string) => (names.get(rfc)?.origin === 'authority' ? (names.get(rfc)?.name ?? null) : null)
    const lookups = outdated.map(({ rfc }) => ({ rfc, name: nameOf(rfc) }))
    await changesOf(ctx.db.$client, requestLookups(lookups, clock.date()))
    await announceLookups(
      ctx,
      outdated.slice(0, AT_ONCE).map(({ rfc }) => rfc),
    )
  }
  const quality = (name: 'with_xml' | 'missing_rate' | 'not_counted') => all.reduce((n, { totals: one }) => n + one[name], 0)
  const count = (status: SupplierStatus) => all.filter((one) => one.status === status).length
  const sum = (of: readonly AssessedSupplier[]) => decimal(of.reduce((amount, { totals: one }) => amount + one.amount, 0n))
  const amountOf = (status: SupplierStatus) => sum(all.filter((one) => one.status === status))
  return {
    fiscal_entity_id: ledger.fiscal_entity_id,
    from: span.from,
    to: span.to,
    currency: 'MXN',
    basis: BASIS,
    windows: viewWindows(ledger.windows),
    window_state: windowStateOf(ledger.windows),
    as_of: new Date(ledger.windows.received.ceiling ?? now).toISOString(),
    data_quality: {
      cfdi_total: all.reduce((n, { totals: { invoices, credit_notes } }) => n + invoices + credit_notes, 0),
      with_xml: quality('with_xml'),
      missing_rate: quality('missing_rate'),
      not_counted: quality('not_counted'),
      ...incompleteMonths(statuses),
    },
    supplier_count: all.length,
    registered_count: count('registered'),
    not_registered_count: count('not_registered'),
    expired_count: count('expired'),
    unknown_count: count('unknown'),
    monto_total: sum(all),
    monto_no_registrado: amountOf('not_registered'),
    monto_vencido: amountOf('expired'),
    monto_sin_verificar: amountOf('unknown'),
    truncated: all.length > listed.length,
    suppliers: listed.map((one) => view(one, names.get(one.rfc)?.name ?? null, now, drilldownOf(ledger.fiscal_entity_id, one.rfc, span))),
  }
}

/**
 * Returns up to 500 suppliers to look up: first those without an answer, then those with the oldest answers, and last those whose previous
 * look-up got no answer. Leaves out suppliers whose look-up has been requested already.
 */
function outdatedSuppliers(all: readonly AssessedSupplier[], now: Date): AssessedSupplier[] {
  const candidates = all.filter(({ rfc, row }) => !row?.due_at && isRfc(rfc) && !GENERIC_RFCS.includes(rfc))
  const unknown = candidates.filter(({ status }) => status === 'unknown')
  const stale = candidates
    .filter(({ status, row }) => status !== 'unknown' && isStale(new Date(row!.checked_at!), now))
    .sort((a, b) => a.row!.checked_at! - b.row!.checked_at!)
  const outdated = [...unknown, ...stale]
  const hasFailed = ({ row }: AssessedSupplier): boolean => (row?.attempts ?? 0) > 0
  return [...outdated.filter((one) => !hasFailed(one)), ...outdated.filter(hasFailed)].slice(0, LOOKUPS)
}

function view({ rfc, totals, row, status, days_to_expiry }: AssessedSupplier, name: string | null, now: Date, drilldown: string): Supplier {
  return {
    rfc,
    name,
    status,
    folio: row?.folio ?? null,
    razon_social: row?.razon_social ?? null,
    vigencia_hasta: row?.vigencia_hasta ?? null,
    days_to_expiry,
    is_stale: !row?.checked_at || isStale(new Date(row.checked_at), now),
    checked_at: row?.checked_at ? new Date(row.checked_at).toISOString() : null,
    invoice_count: totals.invoices,
    total_amount: decimal(totals.amount),
    drilldown,
  }
}

const drilldownOf = (fiscal_entity_id: string, counterparty_rfc: string, { first, last }: { first: string; last: string }): string =>
  `/v1/cfdi?${new URLSearchParams({
    ...{ fiscal_entity_id, direction: 'received', counterparty_rfc, estatus: 'vigente', tipo_comprobante: 'I,E' },
    ...{ kind: 'cfdi', to_itself: 'false', is_substituted: 'false', issued_from: first, issued_to: last },
  })}`
