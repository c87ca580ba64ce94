import { type SQL, sql } from 'drizzle-orm'
import { commit } from '../../platform/db/commit.ts'
import { all, readFirst } from '../../platform/db/statement.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import type { DataStatus } from '../../taxpayers/visibility/coverage.ts'
import {
  boundsOf,
  type DirectionBounds,
  type Partition,
  partitionsToRead,
  type ScopedLedger,
} from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatuses, dataStatusRows } from '../quality/data-status.ts'
import { COUNTABLE_COLUMNS, type CountableRow } from '../read-row.ts'
import { addSupplier, hasAny, parseSuppliers, type Suppliers, shareOf } from '../supplier-totals.ts'
import { cfdi, cfdiSuppliers } from '../tables.ts'

const own = cfdiAs('own')

/** Calendar months of the literal Fecha, both inclusive. */
export interface MonthSpan {
  from: string
  to: string
}

/** The last months up to the current one in central Mexico, with their first and last day. */
export function lastMonths(now: Date, months: number): MonthSpan & { first: string; last: string } {
  const to = centralDayOf(now.getTime()).slice(0, 7)
  const from = addMonths(to, 1 - months)
  return { from, to, first: `${from}-01`, last: lastDayOf(to) }
}

const RECEIVED = 1

/** The months of a span of which the bounds can show something. Null when there are none. */
function visibleSpan({ floor, until }: DirectionBounds, { from, to }: MonthSpan): MonthSpan | null {
  const first = floor !== null && floor.slice(0, 7) > from ? floor.slice(0, 7) : from
  let last = to
  while (until !== null && last >= first && earliestOf(`${last}-01`) > until) last = addMonths(last, -1)
  return first > last ? null : { from: first, to: last }
}

const totalsOf = (partition: Partition, { from, to }: MonthSpan): SQL =>
  sql`select ${cfdiSuppliers.totals} from ${cfdiSuppliers}
    where ${cfdiSuppliers.entity} = ${partition.number} and ${cfdiSuppliers.month} >= ${from} and ${cfdiSuppliers.month} <= ${to}`

/** Selects the valid received documents of some literal days that meet more conditions. */
const documentsOf = (partition: Partition, first: string, last: string, since: number, more: readonly SQL[]): SQL =>
  sql`select ${COUNTABLE_COLUMNS} from ${cfdi} ${own} indexed by cfdi_dirc
    where ${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(RECEIVED))} and ${own.cancelled} = 0 and ${own.issued_at} >= ${since}
      and ${own.issued_at} <= ${latestOf(last)} and ${all([sql`${own.fecha} >= ${first}`, sql`${own.fecha} < ${afterDay(last)}`, ...more])}`

const dayBefore = (day: string): string => new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10)

/** Selects the hidden documents that the month rows count: before the floor, after the ceiling, or shown from the authority's partition. */
function hiddenIn(partition: Partition, { floor, until }: DirectionBounds, { from, to }: MonthSpan): SQL[] {
  const [first, last] = [`${from}-01`, lastDayOf(to)]
  if (partition.origin === 'import') {
    const visible = partition.conditions('own')
    return visible.length === 0 ? [] : [documentsOf(partition, first, last, earliestOf(first), [sql`not ${all(visible)}`])]
  }
  const isFloored = floor !== null && floor > first
  const early = isFloored ? [documentsOf(partition, first, dayBefore(floor), earliestOf(first), [])] : []
  if (until === null || until >= latestOf(last)) return early
  // The documents before the floor are selected already.
  return [...early, documentsOf(partition, isFloored ? floor : first, last, until + 1, [])]
}

/** Selects the visible documents that the month rows do not count, because what substitutes them was issued after the ceiling. */
const substitutedLater = (partition: Partition, { until }: DirectionBounds, { from, to }: MonthSpan): SQL[] =>
  until === null
    ? []
    : [
        sql`select ${COUNTABLE_COLUMNS} from ${cfdi} ${own} indexed by cfdi_substituted
          where ${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(RECEIVED))} and ${own.substituted_from} > ${until}
            and ${own.issued_at} <= ${until} and ${own.fecha} >= ${`${from}-01`} and ${own.fecha} < ${afterDay(lastDayOf(to))}
            and ${all(partition.conditions('own'))}`,
      ]

/**
 * Sums what each supplier invoiced the RFC in some months, as far as the window shows it. Reads the totals of the months, the hidden
 * documents of those that the window divides, to subtract them, and those that it shows as not substituted yet, to add them. Also tells the
 * data status of each month. `now` in milliseconds. One call.
 */
export async function sumSuppliers(
  ledger: ScopedLedger,
  span: MonthSpan,
  now: number,
): Promise<{ suppliers: Suppliers; statuses: DataStatus[] }> {
  const read = partitionsToRead(ledger).flatMap((partition) => {
    const bounds = boundsOf(partition, RECEIVED)
    const visible = bounds ? visibleSpan(bounds, span) : null
    if (visible === null) return []
    const { until } = bounds!
    const hidden = hiddenIn(partition, bounds!, visible).map((statement) => ({ statement, sign: -1, until: null }) as const)
    const restored = substitutedLater(partition, bounds!, visible).map((statement) => ({ statement, sign: 1, until }) as const)
    return [{ months: totalsOf(partition, visible), corrections: [...hidden, ...restored] }]
  })
  const suppliers: Suppliers = new Map()
  const statements = [
    dataStatusRows(ledger),
    ...read.flatMap(({ months, corrections }) => [months, ...corrections.map(({ statement }) => statement)]),
  ]
  const [statusRows, ...results] = await commit(ledger.d1, statements)
  for (const { corrections } of read) {
    const [months, ...documents] = results.splice(0, 1 + corrections.length)
    for (const { totals } of months!.results as { totals: string }[])
      for (const [rfc, supplier] of parseSuppliers(totals)) addSupplier(suppliers, rfc, supplier)
    for (const [n, { sign, until }] of corrections.entries())
      for (const row of documents[n]!.results as CountableRow[]) {
        const share = shareOf(row, until)
        if (share) addSupplier(suppliers, share.rfc, share.totals, sign)
      }
  }
  for (const [rfc, totals] of suppliers) if (!hasAny(totals)) suppliers.delete(rfc)
  const statusOf = dataStatuses(ledger, statusRows!.results as DataStatusRow[], now)
  const statuses: DataStatus[] = []
  for (let month = span.from; month <= span.to; month = addMonths(month, 1)) statuses.push(statusOf(month, RECEIVED))
  return { suppliers, statuses }
}

const within = (partition: Partition, { since, until }: DirectionBounds): SQL =>
  all([
    ...(until === null ? [] : [sql`${own.issued_at} <= ${until}`]),
    ...(since === null ? [] : [sql`${own.issued_at} >= ${since}`]),
    ...partition.conditions('own'),
  ])

/** The name of an issuer on a document, and where the document came from. */
export interface IssuerName {
  name: string | null
  origin: Partition['origin']
}

/** Returns the name of each issuer on its latest visible document; documents from the authority take precedence over imports. One call. */
export async function issuerNames(ledger: ScopedLedger, rfcs: readonly string[]): Promise<Map<string, IssuerName>> {
  const names = new Map<string, IssuerName>()
  const partitions =
    rfcs.length === 0
      ? []
      : partitionsToRead(ledger).flatMap((partition) => {
          const bounds = boundsOf(partition, RECEIVED)
          return bounds ? [{ partition, bounds }] : []
        })
  if (partitions.length === 0) return names
  const results = await commit(
    ledger.d1,
    partitions.map(
      ({ partition, bounds }) =>
        sql`select wanted.value as rfc, (
            select ${own.emisor_nombre} from ${cfdi} ${own} indexed by cfdi_cpd
            where ${own.entity} = ${partition.number} and ${own.counterparty_rfc} = wanted.value and ${own.direction} = ${sql.raw(String(RECEIVED))}
              and ${within(partition, bounds)}
            order by ${own.issued_at} desc limit 1) as name
          from json_each(${JSON.stringify(rfcs)}) wanted`,
    ),
  )
  for (const [n, { partition }] of partitions.entries())
    for (const { rfc, name } of results[n]!.results as { rfc: string; name: string | null }[])
      if (name !== null && !names.has(rfc)) names.set(rfc, { name, origin: partition.origin })
  return names
}

/** Returns the name of the RFC on the latest visible document that it issued and the authority delivered. Null without one. */
export async function ownName(ledger: ScopedLedger): Promise<string | null> {
  const partition = partitionsToRead(ledger).find(({ origin }) => origin === 'authority')
  const bounds = partition && boundsOf(partition, 0)
  if (!bounds) return null
  const found = await readFirst(
    ledger.d1,
    sql<{ name: string | null }>`select ${own.emisor_nombre} as name from ${cfdi} ${own} indexed by cfdi_dirc
      where ${own.entity} = ${partition.number} and ${own.direction} = 0 and ${own.cancelled} = 0 and ${within(partition, bounds)} order by ${own.issued_at} desc limit 1`,
  )
  return found?.name ?? null
}
