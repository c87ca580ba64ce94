import type { SQL } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import { invalid } from '../../platform/failures.ts'
import { decimal } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { viewWindows } from '../../taxpayers/visibility/contract.ts'
import type { DataStatus, MonthState } from '../../taxpayers/visibility/coverage.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTION_NAMES, EARLIEST_DAY, earliestOf, latestOf, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { isDay } from '../literal-day.ts'
import { incompleteMonths } from '../quality/data-quality.ts'
import { type DataStatusRow, dataStatuses, monthStates, statusWithoutRuns } from '../quality/data-status.ts'
import { add, type Cells, nothing, type Totals } from '../totals.ts'
import type { CfdiMonth, MonthlySummary, MonthlySummaryQuery } from './contract.ts'
import { type Months, type Span, sumMonths, sumStored } from './store.ts'
import { NOTHING_STORED, type StoredDocuments, type StoredMonths } from './stored-months.ts'

export type { Span } from './store.ts'

const MAX_MONTHS = 120

const BASIS = {
  population: 'The CFDIs that the window shows, with status vigente and with different issuer and receiver. Retenciones are not included.',
  substitution:
    'A document that another vigente document with the same issuer and receiver substitutes (relation 04) is in no amount and not in ' +
    'count.',
  amounts: 'Amounts are sums over type I; credit_notes is a sum over type E; net is subtotal − descuento of type I minus credit_notes.',
  currency: 'MXN, at the TipoCambio of each document.',
  month: 'The month of the literal Fecha.',
}

const TIPOS = ['I', 'E', 'P', 'N', 'T'] as const

/**
 * Returns the totals of the visible documents by month and direction. A month that the window divides is summed as far as it is visible.
 * A row outside the window of its direction is absent, unless imports lie there; a row inside it without documents has zeros. `data_status`
 * tells whether the authority's documents are known. One call to each database. Throws Failure 422 summary.range.
 */
export async function summarizeMonths(ctx: Ctx, query: MonthlySummaryQuery): Promise<MonthlySummary> {
  const ledger = openLedger(ctx)
  const span = spanOf(query, ctx.now)
  const now = ctx.now.getTime()
  const { months, stored, statusRows } = await sumMonths(ledger, span)
  const { windows, window } = ledger
  const all = [...months.values()].map(partsOf)
  const valid = all.map((parts) => sumOf(parts, isCounted))
  const cells = placesOf(ledger, span, months, now)
  const statusOf = statusIn(ledger, cells, stored, statusRows, now)
  const rows = cells.map(
    (cell): CfdiMonth => ({
      ...rowOf(ledger.fiscal_entity_id, cell, partsOf(months.get(`${cell.month}|${cell.direction}`))),
      data_status: statusOf(cell.month, cell.direction),
    }),
  )
  const { missing_months: _, ...incomplete } = incompleteIn(span, statusOf, now)
  return {
    fiscal_entity_id: ledger.fiscal_entity_id,
    from: span.from,
    to: span.to,
    currency: 'MXN',
    basis: BASIS,
    windows: viewWindows(windows),
    window_state: windowStateOf(windows),
    as_of: new Date(
      (span.directions.length === 2 ? window : windows[DIRECTION_NAMES[span.directions[0]!]]).ceiling ?? ctx.now,
    ).toISOString(),
    data_quality: {
      cfdi_total: rows.reduce((sum, { count, cancelled_count, substituted_count }) => sum + count + cancelled_count + substituted_count, 0),
      with_xml: all.reduce((sum, parts) => sum + sumOf(parts, (_, __, state) => state !== 'cancelado').with_xml, 0),
      missing_rate: valid.reduce((sum, { missing_rate }) => sum + missing_rate, 0),
      not_counted: valid.reduce((sum, { not_counted }) => sum + not_counted, 0),
      ...incomplete,
    },
    data: rows,
    ...WHOLE,
  }
}

/** Counts of the vigente documents of a range that the RFC did not issue to itself. */
export interface DocumentCounts {
  /** Substituted ones included. */
  cfdi_total: number
  with_xml: number
  without_xml: number
  /** Those with XML that state another currency and no exchange rate. */
  missing_rate: number
  not_counted: number
  substituted: number
  months_missing: number
  months_downloading: number
  /** The missing months by direction. */
  missing_months: { issued: string[]; received: string[] }
  /** Months of which the window shows only some of the requested days, and which days. */
  cut_months: { issued: CutMonth[]; received: CutMonth[] }
}

export interface CutMonth {
  month: string
  from: string
  to: string
}

/** The invoices (I) of a direction, counted or cancelled. Substituted ones are neither. */
export interface InvoiceCounts {
  counted: number
  cancelled: number
}

/**
 * Counts the visible documents of a range out of the totals of its months, and those of its months that are not complete. `now` in milliseconds. One call, in which it runs `more`
 * statements of the caller, which read something visible. Their rows are `found`. `statusOf` tells the data status of the months from the day
 * `since` on, which may be earlier than the range.
 */
export async function countDocuments(
  ledger: ScopedLedger,
  span: Span,
  now: number,
  more: readonly SQL[] = [],
  since = span.first,
): Promise<{
  counts: DocumentCounts
  invoices: readonly [issued: InvoiceCounts, received: InvoiceCounts]
  found: unknown[][]
  statusOf: StatusOf
}> {
  const read = { ...span, first: since }
  const { months, stored, statusRows, found } = await sumMonths(ledger, read, more)
  const first = span.first.slice(0, 7)
  for (const key of months.keys()) if (key < first) months.delete(key)
  const all = [...months.values()].map(partsOf)
  const sum = (only: Only): Totals => {
    const total = nothing()
    for (const parts of all) add(total, sumOf(parts, only))
    return total
  }
  const [valid, counted] = [sum((_, __, state) => state !== 'cancelado'), sum(isCounted)]
  const cells = placesOf(ledger, read, months, now)
  const statusOf = statusIn(ledger, cells, stored, statusRows, now)
  const cutIn = (direction: 0 | 1): CutMonth[] =>
    cells.flatMap(({ month, shown_from, through_date, ...cell }) =>
      month >= first && cell.direction === direction && cell.is_cut && through_date !== null
        ? [{ month, from: shown_from, to: through_date }]
        : [],
    )
  const counts: DocumentCounts = {
    cfdi_total: valid.n,
    with_xml: valid.with_xml,
    without_xml: valid.n - valid.with_xml,
    missing_rate: counted.missing_rate - (counted.n - counted.with_xml),
    not_counted: counted.not_counted,
    substituted: valid.n - counted.n,
    ...incompleteIn(span, statusOf, now),
    cut_months: { issued: cutIn(0), received: cutIn(1) },
  }
  const invoicesOf = (direction: 0 | 1): InvoiceCounts => {
    const of = (state: string) =>
      [...months]
        .filter(([key]) => key.endsWith(`|${direction}`))
        .reduce((n, [, cells]) => n + sumOf(partsOf(cells), (tipo, _, one) => tipo === 'I' && one === state).n, 0)
    return { counted: of('vigente'), cancelled: of('cancelado') }
  }
  return { counts, invoices: [invoicesOf(0), invoicesOf(1)], found, statusOf }
}

/** Tells the data status of a month of a direction. */
export type StatusOf = (month: string, direction: 0 | 1) => DataStatus

/** The status of the months of these cells. Outside the window only imports are known, whatever the runs downloaded of a month's other days. */
function statusIn(
  ledger: ScopedLedger,
  cells: readonly MonthCell[],
  stored: StoredMonths,
  statusRows: readonly DataStatusRow[],
  now: number,
): StatusOf {
  const shown = new Set(cells.flatMap(({ month, direction, through_date }) => (through_date === null ? [] : [`${month}|${direction}`])))
  const downloaded = dataStatuses(ledger, statusRows, now)
  return (month, direction) =>
    shown.has(`${month}|${direction}`)
      ? downloaded(month, direction, stored.get(`${month}|${direction}`)?.missingXml ?? 0)
      : statusWithoutRuns(ledger, statusRows)
}

/** The months of a span that are not complete, among those that have begun and that the authority gives. `now` in milliseconds. */
function incompleteIn(span: Span, statusOf: StatusOf, now: number) {
  const expected = monthsOf(span).filter((month) => month >= EARLIEST_DAY.slice(0, 7) && earliestOf(`${month}-01`) * 1_000 <= now)
  const missingIn = (direction: 0 | 1) =>
    span.directions.includes(direction) ? expected.filter((month) => statusOf(month, direction) === 'missing') : []
  return {
    ...incompleteMonths(span.directions.flatMap((direction) => expected.map((month) => statusOf(month, direction)))),
    missing_months: { issued: missingIn(0), received: missingIn(1) },
  }
}

/**
 * Counts the visible documents that the authority delivered, and tells the state of each month by them. `now` in milliseconds. One call, as
 * with `countDocuments`.
 */
export async function countStored(ledger: ScopedLedger, span: Span, now: number, more: readonly SQL[] = []) {
  const { stored, statusRows, found } = await sumStored(ledger, span, more)
  const stateOf = monthStates(ledger, statusRows, now)
  const ofMonth = (month: string, direction: 0 | 1): StoredDocuments & MonthState => {
    const documents = stored.get(`${month}|${direction}`) ?? NOTHING_STORED
    return { ...documents, ...stateOf(month, direction, documents.missingXml) }
  }
  return { ofMonth, found }
}

/** The months that a span touches. */
function monthsOf({ first, last }: Span): string[] {
  const months: string[] = []
  for (let month = first.slice(0, 7); month <= last.slice(0, 7); month = addMonths(month, 1)) months.push(month)
  return months
}

/** The range of a query, as it was given and as days. Throws Failure 422 with this code. */
export function spanOf(
  query: { from?: string | undefined; to?: string | undefined; direction?: 'issued' | 'received' | undefined },
  now: Date,
  code = 'summary.range',
): Span & { from: string; to: string } {
  const to = query.to ?? centralDayOf(now.getTime()).slice(0, 7)
  const from = query.from ?? addMonths(to.slice(0, 7), -11)
  const [first, last] = [isDay(from) ? from : `${from}-01`, isDay(to) ? to : lastDayOf(to)]
  if (first > last) throw invalid(code, [{ path: 'from', message: `Must not be after \`to\`, ${to}.` }])
  if (addMonths(first.slice(0, 7), MAX_MONTHS) <= last.slice(0, 7))
    throw invalid(code, [{ path: 'from', message: `The range may have at most ${MAX_MONTHS} months. Send a later \`from\`.` }])
  return { from, to, first, last, directions: query.direction === undefined ? [0, 1] : [query.direction === 'issued' ? 0 : 1] }
}

/** A month and direction to return a row for. */
interface MonthCell {
  month: string
  /** The days of the month that the query covers. */
  first: string
  last: string
  direction: 0 | 1
  is_partial: boolean
  /** Whether the window shows only some of these days, or they are not over. */
  is_cut: boolean
  /** The first of these days that the window shows, when it shows any. */
  shown_from: string
  through_date: string | null
}

/** The rows to return: the months inside the window of their direction, and those outside it that have visible imports. */
function placesOf({ windows }: ScopedLedger, span: Span, months: Months, now: number): MonthCell[] {
  const cells: MonthCell[] = []
  for (let month = span.first.slice(0, 7); month <= span.last.slice(0, 7); month = addMonths(month, 1)) {
    const first = span.first > `${month}-01` ? span.first : `${month}-01`
    const last = span.last < lastDayOf(month) ? span.last : lastDayOf(month)
    const isCut = first !== `${month}-01` || last !== lastDayOf(month)
    for (const direction of span.directions) {
      const { isEmpty, floor, ceiling } = windows[DIRECTION_NAMES[direction]]
      const end = ceiling ?? now
      const isInside = !isEmpty && (floor === null || last >= floor) && earliestOf(first) * 1_000 <= end
      if (!isInside && !hasDocuments(months.get(`${month}|${direction}`))) continue
      const is_cut = (floor !== null && first < floor) || latestOf(last) * 1_000 > end
      const is_partial = !isInside || isCut || is_cut
      const shown_from = floor !== null && first < floor ? floor : first
      const through_date = isInside ? [first, centralDayOf(end), last].sort()[1]! : null
      cells.push({ month, direction, first, last, is_partial, is_cut, shown_from, through_date })
    }
  }
  return cells
}

const hasDocuments = (cells: Cells | undefined): boolean => cells !== undefined && [...cells.values()].some(({ n }) => n > 0)

/** Totals with the parts of their keys. */
type Parts = [parts: string[], totals: Totals][]
const partsOf = (cells: Cells = new Map()): Parts => [...cells].map(([key, totals]) => [key.split('|'), totals])

type Only = (tipo: string, metodo: string, state: string) => boolean
const isCounted: Only = (_, __, state) => state === 'vigente'

function sumOf(parts: Parts, only: Only) {
  const sum = nothing()
  for (const [[tipo = '', metodo = '', state = ''], totals] of parts) if (only(tipo, metodo, state)) add(sum, totals)
  return sum
}

// Retenciones and documents that the RFC issued to itself are in no sum. The window limits the search as it limits the month.
const drilldownOf = (fiscal_entity_id: string, direction: CfdiMonth['direction'], { first, last }: MonthCell): string =>
  `/v1/cfdi?${new URLSearchParams({
    ...{ fiscal_entity_id, direction, estatus: 'vigente', issued_from: first, issued_to: last },
    ...{ kind: 'cfdi', to_itself: 'false', is_substituted: 'false' },
  })}`

function rowOf(fiscal_entity_id: string, cell: MonthCell, parts: Parts): Omit<CfdiMonth, 'data_status'> {
  const direction = DIRECTION_NAMES[cell.direction]
  const valid = (tipo: string, metodo?: string) =>
    sumOf(parts, (t, m, state) => isCounted(t, m, state) && t === tipo && (metodo === undefined || m === metodo))
  const income = valid('I')
  const credit = valid('E')
  const credit_notes = credit.subtotal - credit.descuento
  return {
    month: cell.month,
    direction,
    count: sumOf(parts, isCounted).n,
    cancelled_count: sumOf(parts, (_, __, state) => state === 'cancelado').n,
    substituted_count: sumOf(parts, (_, __, state) => state === 'sustituido').n,
    by_tipo: Object.fromEntries(TIPOS.map((tipo) => [tipo, valid(tipo).n])) as CfdiMonth['by_tipo'],
    subtotal: decimal(income.subtotal),
    descuento: decimal(income.descuento),
    iva_trasladado: decimal(income.iva_trasladado),
    iva_retenido: decimal(income.iva_retenido),
    isr_retenido: decimal(income.isr_retenido),
    ieps: decimal(income.ieps),
    total: decimal(income.total),
    credit_notes: decimal(credit_notes),
    credit_notes_iva: decimal(credit.iva_trasladado),
    net: decimal(income.subtotal - income.descuento - credit_notes),
    pue_total: decimal(valid('I', 'PUE').total),
    ppd_total: decimal(valid('I', 'PPD').total),
    is_partial: cell.is_partial,
    through_date: cell.through_date,
    drilldown: drilldownOf(fiscal_entity_id, direction, cell),
  }
}
