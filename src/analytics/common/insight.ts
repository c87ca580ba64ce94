import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { ratesAt } from '../../authority/rules/rates/rates.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { MISSING_RATE, populationOf } from '../../cfdi/population/population.ts'
import { countDocuments, type Span, spanOf } from '../../cfdi/summary/summary.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import { invalid } from '../../platform/failures.ts'
import { limitReadings } from '../../platform/locks/readings.ts'
import { fits, type Micros, micros, times } from '../../platform/money.ts'
import { centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { viewWindows } from '../../taxpayers/visibility/contract.ts'
import {
  type DirectionNumber,
  openLedger,
  type Partition,
  partitionsToRead,
  type ScopedLedger,
} from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTION_NAMES, DIRECTIONS, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { type Basis, type Envelope, type InsightQuality, LEFT_OUT } from './contract.ts'

/** The ledger, range, day and rules of a surface of fiscal insight. */
export interface Insight {
  ctx: Ctx
  ledger: ScopedLedger
  /** The range as it was asked for, and as days. */
  span: Span & { from: string; to: string }
  /** Today in central Mexico. */
  today: string
  rules: Rules
}

export interface RangeQuery {
  from?: string | undefined
  to?: string | undefined
  direction?: 'issued' | 'received' | undefined
}

/** Opens the ledger of the RFC that the request names. Throws Failure 404 without one to read, and 422 range.invalid. */
export async function openInsight(ctx: Ctx, query: RangeQuery): Promise<Insight> {
  const ledger = openLedger(ctx)
  const today = centralDayOf(ctx.now.getTime())
  return { ctx, ledger, span: spanOf(query, ctx.now, 'range.invalid'), today, rules: await rulesAt(ctx, today) }
}

/** Throws Failure 422 range.invalid where the range begins after the day of `as_of`: the answer would say that there is nothing. */
export function assertBegun({ span }: Pick<Insight, 'span'>, as_of: string | undefined): void {
  if (as_of !== undefined && span.first > as_of)
    throw invalid('range.invalid', [{ path: 'as_of', message: `Must not be before the range, which begins on ${span.first}.` }])
}

/** Throws Failure 422 range.invalid where a key of a row is no month, or no year, of the range: nothing would be found there. */
export function assertInRange(
  { span: { first, last } }: Pick<Insight, 'span'>,
  key: 'month' | 'period' | 'year',
  value: string | undefined,
): void {
  if (value === undefined) return
  const [from, to] = [first.slice(0, value.length), last.slice(0, value.length)]
  if (value < from || value > to)
    throw invalid('range.invalid', [
      { path: key, message: from === to ? `Must be ${from}.` : `Must be in the range, from ${from} to ${to}.` },
    ])
}

/** Opens it for the entries of a figure: those of `month` alone, when it is given. Throws as `openInsight` does. */
export async function openEntries(ctx: Ctx, query: RangeQuery & { month?: string | undefined }): Promise<Insight> {
  const insight = await openInsight(ctx, query)
  const { month } = query
  if (month === undefined) return insight
  assertInRange(insight, 'month', month)
  const { first, last } = insight.span
  const [from, to] = [`${month}-01`, lastDayOf(month)]
  return { ...insight, span: { ...insight.span, first: from > first ? from : first, last: to < last ? to : last } }
}

/** The members of data_quality that a surface adds to the counts of documents. One without payments or suppliers omits their counts. */
export type Omissions = Pick<InsightQuality, 'dof_rate' | 'drilldown'> &
  Partial<Pick<InsightQuality, 'unreconciled_payments' | 'other_parties' | 'repse_unknown'>>

const DAY_OF_RULES =
  'What a rule says of a document is what it said on the document’s day: that of Fecha, of the payment on a cash basis, of 31 December for what the law ' +
  'limits by year, of the last day of the period for due days. Weights, levels, thresholds, defaults and buckets are those of today, or of as_of.'

const CURRENCIES = 'Amounts whose currency is XXX (none) are taken as MXN, as they are; missing_rate does not count them.'

/**
 * The members of every aggregate except its basis and quality. The D1 call also runs `more`, the surface's statements on the
 * ledger; `found` has a list of rows for each. `statusOf` tells the data status of the months from the day `since` on.
 */
export async function aggregateOf({ ctx, ledger, span }: Insight, more: readonly SQL[] = [], since = span.first) {
  const { counts, invoices, found, statusOf } = await limitReadings(ctx, () => countDocuments(ledger, span, ctx.now.getTime(), more, since))
  const { windows, window } = ledger
  const [only] = span.directions.length === 1 ? span.directions : []
  const ceiling = only === undefined ? window.ceiling : windows[only === 0 ? 'issued' : 'received'].ceiling
  return {
    counts,
    /** Invoices by direction, issued first. */
    invoices,
    found,
    statusOf,
    /** The envelope with what the surface found. */
    envelope: (basis: Omit<Basis, 'rules'>, rules: Rules, omitted: Omissions): Envelope => ({
      fiscal_entity_id: ledger.fiscal_entity_id,
      from: span.from,
      to: span.to,
      currency: 'MXN',
      basis: { rules: rules.basis(), ...basis, notes: [...basis.notes, CURRENCIES, DAY_OF_RULES] },
      windows: viewWindows(windows),
      window_state: windowStateOf(windows),
      as_of: new Date(ceiling ?? ctx.now).toISOString(),
      data_quality: {
        ...counts,
        missing_rate: counts.missing_rate - omitted.dof_rate,
        unreconciled_payments: null,
        other_parties: null,
        repse_unknown: null,
        ...omitted,
      },
    }),
  }
}

/**
 * Reads statements of both directions of every partition, with the members of the aggregate. `rowsOf` returns the rows of the nth of
 * `statementsOf`, each with its direction. Two D1 calls.
 */
export async function readBothSides(
  insight: Insight,
  statementsOf: (partition: Partition, direction: DirectionNumber) => readonly (SQL | null)[],
) {
  const asked = partitionsToRead(insight.ledger).flatMap((partition) =>
    DIRECTIONS.flatMap((direction) =>
      statementsOf(partition, direction).flatMap((statement, kind) => (statement ? [{ direction, kind, statement }] : [])),
    ),
  )
  const { found, envelope, counts } = await aggregateOf(
    insight,
    asked.map(({ statement }) => statement),
  )
  const rowsOf = <Row>(kind: number): (Row & { direction: DirectionNumber })[] =>
    asked.flatMap(({ direction, ...one }, n) => (one.kind === kind ? (found[n] as Row[]).map((row) => ({ ...row, direction })) : []))
  return { rowsOf, envelope, counts }
}

type Query = Record<string, string>

/** Links from the figures of a surface to the documents behind them. */
export interface Links {
  /** A page of entries: those of a figure, in the row with these keys. */
  entries(figure: string, keys?: Query): string
  /** The search for vigente documents of the range that are not to the RFC itself. */
  cfdi(more?: Query): string
}

/** The links of a surface under /v1. `own` is its query without the range. */
export function linksOf({ ledger: { fiscal_entity_id }, span }: Insight, path: string, own: Query = {}): Links {
  const [direction] = span.directions.length === 1 ? span.directions : []
  return {
    entries: (figure, keys) =>
      `/v1/${path}/entries?${new URLSearchParams({ fiscal_entity_id, from: span.from, to: span.to, ...own, figure, ...keys })}`,
    cfdi: (more) =>
      `/v1/cfdi?${new URLSearchParams({
        ...{ fiscal_entity_id, ...(direction === undefined ? {} : { direction: DIRECTION_NAMES[direction] }), estatus: 'vigente' },
        ...{ issued_from: span.first, issued_to: span.last, kind: 'cfdi', to_itself: 'false', ...more },
      })}`,
  }
}

/** The `drilldown` of data_quality. `more` are further figures of the surface's entries. */
export const qualityLinks = ({ entries, cfdi }: Links, more: readonly string[] = []): Query => ({
  ...{ cfdi_total: cfdi(), with_xml: cfdi({ has_xml: 'true' }), without_xml: cfdi({ has_xml: 'false' }) },
  substituted: cfdi({ is_substituted: 'true' }),
  ...Object.fromEntries([...LEFT_OUT, ...more].map((figure) => [figure, entries(figure)])),
})

/** The condition that `own` is in another currency and states no exchange rate, although its XML is known. These documents are few. */
export const IS_UNRATED = sql`(${own.version} is not null and ${sql.raw(MISSING_RATE('own'))})`

/** What is known of a document without an exchange rate: members of a JSON list, as `UNRATED` selects it. */
export interface Unrated {
  uuid: string
  tipo: string
  day: string
  issued_at: number
  utc_offset: number
  name: string | null
  currency: string
  /** Before taxes, in its currency. */
  net: Micros
  /** Including taxes, in its currency. */
  total: Micros
  products: string | null
}

/** A document as JSON, for `parseUnrated`. `name` is the column with the name of its counterparty. */
export const unratedJson = (name: 'emisor_nombre' | 'receptor_nombre' | 'uuid'): SQL =>
  sql`json_array(${own.uuid}, ${own.tipo_comprobante}, substr(${own.fecha}, 1, 10), ${own.issued_at}, ${own.utc_offset}, ${own[name]}, ${own.currency}, ${own.subtotal}, ${own.descuento}, ${own.total_micros}, ${own.products})`

/** The documents of a group that state no exchange rate, separated by commas; null without any. */
export const unratedList = (name: Parameters<typeof unratedJson>[0]): SQL =>
  sql`group_concat(case when ${IS_UNRATED} then ${unratedJson(name)} end)`

/** Parses such lists, separated by commas. */
export const parseUnrated = (text: string | null): Unrated[] =>
  (JSON.parse(`[${text ?? ''}]`) as [string, string, string, number, number, string | null, string, ...(string | null)[]][]).map(
    ([uuid, tipo, day, issued_at, utc_offset, name, currency, subtotal = null, descuento = null, total = null, products = null]) => ({
      ...{ uuid, tipo, day, issued_at, utc_offset, name, currency, products },
      net: (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n),
      total: BigInt(total ?? 0),
    }),
  )

/** Returns MXN for one unit, as decimal text, for each of these documents. Null where no rate is known. At most one D1 call. */
export const ratesOf = async (system: System, unrated: readonly Pick<Unrated, 'currency' | 'day'>[]): Promise<(string | null)[]> =>
  unrated.length === 0 ? [] : (await ratesAt(system, unrated)).map((found) => found?.rate ?? null)

/** Converts an amount. Null without a rate, or when it does not fit. */
export function inPesos(amount: Micros, rate: string | null): Micros | null {
  if (rate === null) return null
  const converted = times(amount, rate)
  return fits(converted) ? converted : null
}

/**
 * Counts the documents of the range that state no exchange rate and have a published one. `unrated` is how many state none: without any, no
 * call is made, else two. For surfaces that do not read the documents of their range.
 */
export async function countDofRates({ ctx, ledger, span }: Insight, unrated: number): Promise<number> {
  if (unrated === 0) return 0
  const { first, last, directions } = span
  const statements = partitionsToRead(ledger).flatMap((partition) =>
    directions.flatMap((direction) => {
      const found = populationOf(partition, { first, last, direction, conditions: [IS_UNRATED] })
      return found ? [sql`select ${own.currency}, substr(${own.fecha}, 1, 10) as day ${found}`] : []
    }),
  )
  const rates = await ratesOf(ctx, await readAll<{ currency: string; day: string }>(ledger.d1, statements))
  return rates.filter((rate) => rate !== null).length
}
