import { type SQL, sql } from 'drizzle-orm'
import { type FxRate, type RateWanted, ratesAt } from '../../authority/rules/rates/rates.ts'
import { accruedEvents, creditsOfOthers, paidByComplement } from '../../cfdi/cash/events.ts'
import { type ExactAmounts, type ExactEvent, exactAmounts, type RateOfDay } from '../../cfdi/cash/exact-amounts.ts'
import { exactPaidPart, ratesOfPaidPart } from '../../cfdi/open/exact-paid-part.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { type Days, parseSum, sumOf } from '../../cfdi/population/population.ts'
import { isCustom, SEVERITIES } from '../../lists/catalog.ts'
import { type Listing, listedAmong } from '../../lists/listings/listing.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { inPesos, type Micros } from '../../platform/money.ts'
import { type DirectionNumber, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type EntriesPage, UNMATCHED, type WorstListing } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries, pageOfPairs } from './figures.ts'
import type { Insight } from './insight.ts'

/** The amounts that a row of `cashEvents` adds, or why it adds none. */
export type Outcome = ReturnType<typeof exactAmounts>

/**
 * Returns a reader of rows of `cashEvents` with `needs_exact`, with the published rates of the days on which they need one. Takes one D1
 * call when a row needs a rate, otherwise none.
 */
export async function exactAmountsReader(
  system: System,
  rows: readonly ExactEvent[],
  more: readonly { currency: string; day: string }[] = [],
): Promise<{ outcomeOf: (row: ExactEvent) => Outcome; rateOfDay: (currency: string, day: string) => string | null }> {
  const wanted = [...more]
  for (const row of rows)
    exactAmounts(row, (currency, day) => {
      wanted.push({ currency, day })
      return '1'
    })
  const found = wanted.length === 0 ? [] : await ratesAt(system, wanted)
  const rates = new Map(wanted.map(({ currency, day }, n) => [`${currency} ${day}`, found[n]?.rate ?? null]))
  const rateOfDay = (currency: string, day: string): string | null => rates.get(`${currency} ${day}`) ?? null
  return { outcomeOf: (row) => exactAmounts(row, rateOfDay), rateOfDay }
}

/** The IVA that is transferred. */
export const ivaOf = ({ iva_16, iva_8, iva_otras }: Pick<ExactAmounts, 'iva_16' | 'iva_8' | 'iva_otras'>): Micros =>
  iva_16 + iva_8 + iva_otras

type Unmatched = (typeof UNMATCHED)[number]

export const isUnmatched = (figure: string): figure is Unmatched => (UNMATCHED as readonly string[]).includes(figure)

/**
 * The rows behind a count, for `pageOfPairs`: whole amounts in the currency of the payment or credit note. Rows need exact arithmetic where
 * their exchange rate decides whether they belong.
 */
export function unmatchedRows(figure: Unmatched, partition: Partition, direction: DirectionNumber, days: Days): SQL[] {
  const isOthers = figure === 'other_parties'
  const events = paidByComplement(partition, direction, days)
  const where = isOthers ? sql`reason = 'other_parties'` : sql`reason is not 'not_counted' and (reason is not null or needs_exact)`
  const notes = isOthers ? creditsOfOthers(partition, direction, days) : null
  return [
    events &&
      sql`select uuid, applies_to, issued_at, cast(source->>0 as text) as amount, reason is null as needs_exact,
        json_object('tipo', tipo, 'day', day, 'source', source) as as_json from (${events}) where ${where}`,
    notes && sql`select *, 0 as needs_exact, null as as_json from (${notes})`,
  ].flatMap((one) => one ?? [])
}

/** The amount of a paid part that is no cash event because its rate is not known; null when it is one. */
export const unmatchedAmount = ({ source }: ExactEvent, outcome: Outcome): Micros | null =>
  outcome === 'missing_rate' ? BigInt((JSON.parse(source) as [string | number])[0]) : null

/** Invoices and credit notes that state another currency and no exchange rate, and how many credit notes name others' invoices. */
export const omissions = (partition: Partition, direction: DirectionNumber, days: Days): { unpriced: SQL | null; notes: SQL | null } => {
  const accrued = accruedEvents(partition, direction, days)
  const notes = creditsOfOthers(partition, direction, days)
  return {
    unpriced: accrued && sql`select tipo, day, source from (${accrued}) where needs_exact and reason is null`,
    notes: notes && sql`select count(*) as n from (${notes})`,
  }
}

/**
 * Counts of what a surface cannot match with an invoice. `exactRows` is a JSON list of pairs, with their `ExactEvent`, whose exchange rate
 * decides it.
 */
export interface UnmatchedRow {
  unreconciled: number
  other_parties: number
  exactRows: string
}

const PAIR = sql`uuid || applies_to`

/** The statements that count what the surfaces on payments leave out in the range, for `unmatchedOf`. */
export const unmatchedStatements = ({ ledger, span }: Pick<Insight, 'ledger' | 'span'>): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) =>
    span.directions.flatMap((direction) => {
      const events = paidByComplement(partition, direction, span)
      const notes = creditsOfOthers(partition, direction, span)
      return [
        events &&
          sql`select count(distinct iif(reason is null, null, ${PAIR})) as unreconciled,
            count(distinct iif(reason = 'other_parties', ${PAIR}, null)) as other_parties,
            json_group_array(json_array(${PAIR}, json_object('tipo', tipo, 'day', day, 'source', source))) filter (where reason is null) as exactRows
          from (${events}) where reason is not 'not_counted' and (reason is not null or paid is null)`,
        notes && sql`select 0 as unreconciled, count(*) as other_parties, '[]' as exactRows from (${notes})`,
      ].flatMap((one) => one ?? [])
    }),
  )

export const exactRowsOf = (rows: readonly UnmatchedRow[]): [pair: string, event: ExactEvent][] =>
  rows.flatMap(({ exactRows }) => JSON.parse(exactRows) as [string, ExactEvent][])

/** Adds up what these statements counted. */
export function unmatchedOf(rows: readonly UnmatchedRow[], outcomeOf: (event: ExactEvent) => Outcome) {
  const unrated = new Set(exactRowsOf(rows).flatMap(([pair, event]) => (outcomeOf(event) === 'missing_rate' ? [pair] : [])))
  const sum = (name: 'unreconciled' | 'other_parties') => rows.reduce((all, row) => all + row[name], 0)
  return { unreconciled_payments: sum('unreconciled') + unrated.size, other_parties: sum('other_parties') }
}

/** Returns a page of the documents behind one of these counts, in the currency that they state. */
export const pageOfUnmatched = (
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: Unmatched },
): Promise<EntriesPage> =>
  pageOfPairs<ExactEvent>(
    insight,
    path,
    query,
    (partition) => insight.span.directions.flatMap((direction) => unmatchedRows(query.figure, partition, direction, insight.span)),
    async (exactRows) => {
      const { outcomeOf } = await exactAmountsReader(insight.ctx, exactRows)
      return (exactRow) => unmatchedAmount(exactRow, outcomeOf(exactRow))
    },
    true,
  )

/** Looks up the published rates of the days that `collect` wants, and when each was published. At most one D1 call. */
export async function publishedFor(
  system: System,
  collect: (want: (one: RateWanted | null) => void) => void,
): Promise<(currency: string, day: string) => FxRate | null> {
  const wanted = new Map<string, RateWanted>()
  const keyOf = (currency: string, day: string): string => `${currency} ${day}`
  collect((one) => {
    if (one) wanted.set(keyOf(one.currency, one.day), { currency: one.currency, day: one.day })
  })
  const found = wanted.size === 0 ? [] : await ratesAt(system, [...wanted.values()])
  const rates = new Map([...wanted.keys()].map((key, n) => [key, found[n] ?? null]))
  return (currency, day) => rates.get(keyOf(currency, day)) ?? null
}

/** The same, with rates only. */
export async function ratesFor(...asked: Parameters<typeof publishedFor>): Promise<RateOfDay> {
  const published = await publishedFor(...asked)
  return (currency, day) => published(currency, day)?.rate ?? null
}

/** Rows of both directions, grouped by document and what it applies to, in the order of entries. Null without any. */
export function pairs(columns: SQL, sides: readonly SQL[], condition: SQL, after: EntryPosition | undefined, take: number): SQL | null {
  if (sides.length === 0) return null
  const later = after ? sql`and (issued_at, uuid, applies_to) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``
  return sql`select uuid, applies_to, issued_at, ${columns} from (${sql.join([...sides], sql` union all `)}) where ${condition} ${later}
    group by issued_at, uuid, applies_to order by issued_at desc, uuid desc, applies_to desc limit ${sql.raw(String(take))}`
}

/** A pair, with the number of its parts that are certainly not reconciled, and the parts to be measured first. */
type UnreconciledRow = EntryRow & { amount: string; plain: number; exactRows: string | null }

/** Counts the credit notes that name an invoice of other parties, now or at the end of a past day. */
export function othersNotes(partition: Partition, direction: DirectionNumber, days: Days, past: string | null): SQL | null {
  const notes = creditsOfOthers(partition, direction, days, past)
  return notes && sql`select count(*) as n from (${notes})`
}

/**
 * Returns a page of the paid parts of the range that match no invoice, or for `other_parties` of the paid parts and credit notes that name
 * an invoice of other parties, now or at the end of a past day, in the currency that they state. With `isRated`, the former include parts
 * for whose payment no exchange rate is known.
 */
export function pageOfUnreconciled(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: Unmatched },
  past: string | null,
  isRated = false,
): Promise<EntriesPage> {
  const { span } = insight
  const isOthers = query.figure === 'other_parties'
  const sidesOf = (partition: Partition, direction: DirectionNumber): SQL[] => {
    const parts = paidParts(partition, direction, span, past, isRated)
    const notes = isOthers ? creditsOfOthers(partition, direction, span, past) : null
    const unrated = isRated ? sql` or (reason is null and exactRow is not null and not ${sql.raw(inPesos('currency'))})` : sql``
    const where = isOthers ? sql`reason = 'other_parties'` : sql`reason <> 'not_counted'${unrated}`
    return [
      parts &&
        sql`select uuid, applies_to, issued_at, amount, iif(reason is null, exactRow, null) as exactRow from (${parts}) where ${where}`,
      notes && sql`select uuid, applies_to, issued_at, amount, null as exactRow from (${notes})`,
    ].flatMap((one) => one ?? [])
  }
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null =>
    pairs(
      sql`${sumOf('iif(exactRow is null, amount, null)')} as amount, count(iif(exactRow is null, 1, null)) as plain,
        json_group_array(exactRow) filter (where exactRow is not null) as exactRows`,
      span.directions.flatMap((direction) => sidesOf(partition, direction)),
      sql`1`,
      after,
      take,
    )
  return pageOfEntries<UnreconciledRow>(insight, path, query, select, async (rows) => {
    const parsed = rows.map((row) => ({ ...row, exactRows: JSON.parse(row.exactRows ?? '[]') as string[] }))
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { exactRows } of parsed) for (const exactRow of exactRows) ratesOfPaidPart(exactRow).forEach(want)
    })
    return parsed.map(({ amount, plain, exactRows }) => {
      const unpaid = exactRows.filter((exactRow) => exactPaidPart(exactRow, rateOfDay).paid === null)
      const sum = unpaid.reduce((all, exactRow) => all + BigInt((JSON.parse(exactRow) as [string | number])[0]), parseSum(amount))
      return plain + unpaid.length === 0 ? null : sum
    })
  })
}

const severity = (listing: Listing): number => SEVERITIES.indexOf(listing.severity)

const own = ({ source }: Listing): number => Number(isCustom(source))

/** The most severe active listing of a taxpayer. Among equals, a public list comes before an own one, then the first by source. */
export function worstOf(listings: readonly Listing[] = []): WorstListing {
  const [worst] = listings
    .filter(({ is_active }) => is_active)
    .sort((a, b) => severity(b) - severity(a) || own(a) - own(b) || (a.source < b.source ? -1 : 1))
  return worst ? { source: worst.source, situacion: worst.situacion } : null
}

/** Finds the most severe active listing of each of these RFCs today. One call to the control database, none without RFCs. */
export async function worstListings({ db, organization }: Ctx, rfcs: readonly string[]): Promise<Map<string, WorstListing>> {
  if (rfcs.length === 0) return new Map()
  const { listings } = await listedAmong({ db, organization_id: organization.id }, rfcs, null)
  return new Map([...listings].map(([rfc, some]) => [rfc, worstOf(some)]))
}

/** The column with the name of the counterparty. */
export const nameColumn = (direction: DirectionNumber) => (direction === 0 ? ('receptor_nombre' as const) : ('emisor_nombre' as const))

/** Ten digits of issued_at and a UUID, before a name that SQL selected with `max(issued_at || uuid || name)`. */
const POSITION = 10 + 36

/** The name on the newest document, behind the position in the greatest of these texts. */
export const nameOf = (joined: string | null): string | null => (joined === null || joined === '' ? null : joined.slice(POSITION))

export const directionNumber = (direction: 'issued' | 'received'): DirectionNumber => (direction === 'issued' ? 0 : 1)

/** Warns what a missing flag about specialized services does not mean. */
export const REPSE_NOTE =
  'Only suppliers that the REPSE registry was asked about can be flagged: GET /v1/cfdi/repse-suppliers queues the look-ups of up to 500 suppliers, and nothing else does.'
