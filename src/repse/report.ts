import { decimal } from '../cfdi/money.ts'
import type { SupplierTotals } from '../cfdi/supplier-totals.ts'
import { issuerNames, lastMonths, sumSuppliers } from '../cfdi/suppliers/suppliers.ts'
import type { Ctx } from '../platform/context.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { GENERIC_RFCS, isRfc } from '../taxpayers/rfc.ts'
import { latestCeiling } from '../taxpayers/taxpayers.ts'
import { openLedger } from '../visibility/scoped-ledger.ts'
import { isBounded } from '../visibility/window.ts'
import { announceLookups } from './lookups.ts'
import type { Supplier, SupplierReport, SupplierReportQuery, SupplierStatus } from './report-contract.ts'
import { isStale, registrationStatus } from './status.ts'
import { findStandings, type StandingRow, wantLookups } from './store.ts'

/** Look-ups that one reading of the report asks for. */
const LOOKUPS = 50

const BASIS = {
  population: 'Received CFDIs that the window shows, vigente, of types I and E, of different issuer and receiver; no retenciones.',
  amounts: 'Totals of type I less those of type E, taxes included.',
  currency: 'MXN at each document’s own TipoCambio.',
  month: 'The month of the literal Fecha.',
}

/** A supplier with what the registry said of it. */
interface Judged {
  rfc: string
  totals: SupplierTotals
  row: StandingRow | undefined
  status: SupplierStatus
  days_to_expiry: number | null
}

function judge(rfc: string, totals: SupplierTotals, row: StandingRow | undefined, today: string): Judged {
  if (!row || row.checked_at === null) return { rfc, totals, row, status: 'unknown', days_to_expiry: null }
  const is_registered = row.is_registered === 1
  const { is_expired, days_to_expiry } = registrationStatus({ is_registered, vigencia_hasta: row.vigencia_hasta }, today)
  return { rfc, totals, row, status: !is_registered ? 'not_registered' : is_expired ? 'expired' : 'registered', days_to_expiry }
}

const byAmount = (a: Judged, b: Judged): number =>
  a.totals.amount === b.totals.amount ? (a.rfc < b.rfc ? -1 : 1) : a.totals.amount > b.totals.amount ? -1 : 1

/**
 * Who invoiced the RFC, against the registry: all suppliers counted and summed, those with the greatest amounts listed. Of those that the
 * registry has not been asked about, or not for a day, some are looked up now. 404 without an active connection.
 */
export async function reportSuppliers(ctx: Ctx, { months, limit }: SupplierReportQuery): Promise<SupplierReport> {
  const { db, now, organization } = ctx
  const books = openLedger(ctx)
  const span = lastMonths(now, months)
  const [latest, totals] = await Promise.all([latestCeiling(db, books.entity), sumSuppliers(books, span)])
  const rows = await findStandings(db, [...totals.keys()])
  const today = localDayOf(now, organization.timezone)
  const all = [...totals].map(([rfc, one]) => judge(rfc, one, rows.get(rfc), today)).sort(byAmount)
  const listed = all.slice(0, limit)
  const asked = toAsk(all, now)
  const names = await issuerNames(books, [...new Set([...listed, ...asked].map(({ rfc }) => rfc))])
  if (asked.length > 0) {
    // The registry is searched by name: only by one that the authority has vouched for, since its answer is for everybody.
    const nameOf = (rfc: string) => (names.get(rfc)?.origin === 'authority' ? (names.get(rfc)?.name ?? null) : null)
    await wantLookups(
      db,
      asked.map(({ rfc }) => ({ rfc, name: nameOf(rfc) })),
      new Date(),
    ).run()
    await announceLookups(
      ctx,
      asked.map(({ rfc }) => rfc),
    )
  }
  const count = (status: SupplierStatus) => all.filter((one) => one.status === status).length
  const sum = (of: readonly Judged[]) => decimal(of.reduce((amount, { totals: one }) => amount + one.amount, 0n))
  const amountOf = (status: SupplierStatus) => sum(all.filter((one) => one.status === status))
  const { floor, ceiling } = books.window
  return {
    fiscal_entity_id: books.fiscal_entity_id,
    from: span.from,
    to: span.to,
    currency: 'MXN',
    basis: BASIS,
    window: { floor, ceiling: instant(ceiling), is_bounded: isBounded(books.window, latest) },
    as_of: instant(ceiling) ?? now.toISOString(),
    data_quality: {
      cfdi_total: all.reduce((n, { totals: { invoices, credit_notes } }) => n + invoices + credit_notes, 0),
      missing_rate: all.reduce((n, { totals: { missing_rate } }) => n + missing_rate, 0),
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
    suppliers: listed.map((one) => view(one, names.get(one.rfc)?.name ?? null, drilldownOf(books.fiscal_entity_id, one.rfc, span))),
  }
}

const instant = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

/**
 * Suppliers to be looked up: those never asked about first, then those asked longest ago, and last those about whom the registry gave no
 * answer; none that is wanted already.
 */
function toAsk(all: readonly Judged[], now: Date): Judged[] {
  const open = all.filter(({ rfc, row }) => !row?.due_at && isRfc(rfc) && !GENERIC_RFCS.includes(rfc))
  const unknown = open.filter(({ status }) => status === 'unknown')
  const stale = open
    .filter(({ status, row }) => status !== 'unknown' && isStale(new Date(row!.checked_at!), now))
    .sort((a, b) => a.row!.checked_at! - b.row!.checked_at!)
  const wanted = [...unknown, ...stale]
  const isGivenUp = ({ row }: Judged): boolean => (row?.attempts ?? 0) > 0
  return [...wanted.filter((one) => !isGivenUp(one)), ...wanted.filter(isGivenUp)].slice(0, LOOKUPS)
}

function view({ rfc, totals, row, status, days_to_expiry }: Judged, name: string | null, drilldown: string): Supplier {
  return {
    rfc,
    name,
    status,
    folio: row?.folio ?? null,
    razon_social: row?.razon_social ?? null,
    vigencia_hasta: row?.vigencia_hasta ?? null,
    days_to_expiry,
    checked_at: row?.checked_at ? new Date(row.checked_at).toISOString() : null,
    invoice_count: totals.invoices,
    total_amount: decimal(totals.amount),
    drilldown,
  }
}

const drilldownOf = (fiscal_entity_id: string, counterparty_rfc: string, { first, last }: { first: string; last: string }): string =>
  `/v1/cfdi?${new URLSearchParams({
    ...{ fiscal_entity_id, direction: 'received', counterparty_rfc, estatus: 'vigente', tipo_comprobante: 'I,E' },
    ...{ kind: 'cfdi', to_itself: 'false', issued_from: first, issued_to: last },
  })}`
