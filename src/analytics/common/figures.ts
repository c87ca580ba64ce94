import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import { NOT_COUNTED, type Population, parseSum, populationOf } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import { limitReadings } from '../../platform/locks/readings.ts'
import { fixed, type Micros, ratioOf } from '../../platform/money.ts'
import { type CursorScope, openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type EntriesPage, LEFT_OUT } from './contract.ts'
import { type Insight, IS_UNRATED, inPesos, parseUnrated, ratesOf, unratedJson } from './insight.ts'

/** A quotient as decimal text with so many places, rounded half up. Null when it is not defined. */
export const quotientText = (dividend: bigint, divisor: bigint, places: number): string | null =>
  divisor === 0n ? null : fixed(ratioOf(dividend * 10n ** BigInt(places), divisor.toString()), places)

/** A part of a whole in percent, with two places. Null when the whole is zero, or negative because of credit notes. */
export const percentOf = (part: bigint, whole: bigint): string | null => (whole <= 0n ? null : quotientText(part * 100n, whole, 2))

/** An amount as decimal text with six places. */
export const exact = (amount: Micros): string => fixed(amount, 6)

/** The position of an entry: issued_at in seconds, UUID, and UUID of what it applies to, all descending. */
export type EntryPosition = readonly [issued_at: number, uuid: string, applies_to: string]

/** An entry as SQL selects it, with columns of its surface. */
export interface EntryRow {
  uuid: string
  issued_at: number
  applies_to?: string | null
}

/** The query of a page of entries. */
interface Asked {
  limit: number
  cursor?: string | undefined
}

const positionOf = ({ issued_at, uuid, applies_to }: EntryRow): EntryPosition => [issued_at, uuid, applies_to ?? '']

const isBefore = (a: EntryPosition, b: EntryPosition): boolean => (a[0] !== b[0] ? a[0] > b[0] : a[1] !== b[1] ? a[1] > b[1] : a[2] > b[2])

/**
 * Returns a page of the documents behind a figure, newest first. `select` gives statements for at most so many entries of a partition after
 * a position, in this order; null for none. `amountsOf` gives the amount of each row in micros, null when it is no entry after all: a page
 * may then have fewer entries than `limit`. One call to the ledger. Throws Failure 400 for a cursor of another query.
 */
export async function pageOfEntries<Row extends EntryRow>(
  { ctx, ledger }: Insight,
  path: string,
  { limit, cursor, ...filters }: Asked,
  select: (partition: Partition, after: EntryPosition | undefined, take: number) => SQL | readonly SQL[] | null,
  amountsOf: (rows: Row[]) => (bigint | null)[] | Promise<(bigint | null)[]>,
): Promise<EntriesPage> {
  const scope: CursorScope = { list: `${path}/entries`, filters: { ...filters, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as EntryPosition | undefined
  const statements = partitionsToRead(ledger).flatMap((partition) => select(partition, after, limit + 1) ?? [])
  const found = statements.length === 0 ? [] : await limitReadings(ctx, () => readAll<Row>(ledger.d1, statements))
  const rows = found.sort((a, b) => (isBefore(positionOf(a), positionOf(b)) ? -1 : 1))
  const page = rows.slice(0, limit)
  const amounts = await amountsOf(page)
  return {
    data: page.flatMap(({ uuid, applies_to = null }, n) => {
      const amount = amounts[n]
      return amount == null ? [] : [{ uuid, amount: exact(amount), applies_to }]
    }),
    ...(await nextOf(ctx, scope, rows.length > limit ? page.at(-1) : undefined)),
  }
}

/** Returns a page of entries that are known already, in the order of `pageOfEntries`. Throws Failure 400 for a cursor of another query. */
export async function pageOfList(
  { ctx, ledger }: Insight,
  path: string,
  { limit, cursor, ...filters }: Asked,
  entries: readonly (EntryRow & { amount: bigint })[],
): Promise<EntriesPage> {
  const scope: CursorScope = { list: `${path}/entries`, filters: { ...filters, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as EntryPosition | undefined
  const sorted = entries
    .filter((one) => after === undefined || isBefore(after, positionOf(one)))
    .sort((a, b) => (isBefore(positionOf(a), positionOf(b)) ? -1 : 1))
  const page = sorted.slice(0, limit)
  return {
    data: page.map(({ uuid, applies_to = null, amount }) => ({ uuid, amount: exact(amount), applies_to })),
    ...(await nextOf(ctx, scope, sorted.length > limit ? page.at(-1) : undefined)),
  }
}

const nextOf = async (ctx: Ctx, scope: CursorScope, last: EntryRow | undefined) => ({
  has_more: last !== undefined,
  next_cursor: last ? await sealCursor(ctx, scope, positionOf(last)) : null,
})

/** A document behind a figure and what it applies to, as SQL adds it up. */
interface PairRow extends EntryRow {
  /** For `parseSum`. */
  amount: string
  /** The number of rows of the pair, and a JSON list of those to be measured. */
  n: number
  exactRows: string
}

const pairs = (rows: SQL, after: EntryPosition | undefined, take: number, keepsZeros: boolean): SQL => sql`
  select uuid, applies_to, issued_at, count(*) as n, group_concat(iif(needs_exact, '0', amount), '+') as amount,
    json_group_array(json(as_json)) filter (where needs_exact) as exactRows
  from (${rows}) where ${keepsZeros ? sql`1` : sql`(needs_exact or amount <> '0')`}
    ${after ? sql`and (issued_at, uuid, coalesce(applies_to, '')) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``}
  group by issued_at, uuid, coalesce(applies_to, '')
  order by issued_at desc, uuid desc, coalesce(applies_to, '') desc limit ${sql.raw(String(take))}`

/**
 * Returns a page of the documents behind a figure on a cash basis, each pair of a document and what it applies to once. `rowsIn` gives
 * selects of their rows in a partition: uuid, applies_to, issued_at, amount in micros as text, needs_exact, and as_json for `exactAll`,
 * which computes the amount of such a row, null when it does not belong to the figure. `keepsZeros` also lists pairs that add nothing, for
 * counts. Throws Failure 400 cursor.invalid.
 */
export const pageOfPairs = <ExactRow>(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  rowsIn: (partition: Partition) => SQL[],
  exactAll: (exactRows: readonly ExactRow[]) => Promise<(exactRow: ExactRow) => Micros | null>,
  keepsZeros = false,
): Promise<EntriesPage> =>
  pageOfEntries<PairRow>(
    insight,
    path,
    query,
    (partition, after, take) => rowsIn(partition).map((rows) => pairs(rows, after, take, keepsZeros)),
    async (rows) => {
      const parsed = rows.map(({ amount, n, exactRows }) => ({
        amount: parseSum(amount),
        n,
        exactRows: JSON.parse(exactRows) as ExactRow[],
      }))
      const exact = await exactAll(parsed.flatMap(({ exactRows }) => exactRows))
      return parsed.map(({ amount, n, exactRows }) => {
        const parts = exactRows.flatMap((exactRow) => exact(exactRow) ?? [])
        const sum = parts.reduce((all, part) => all + part, amount)
        const isKept = keepsZeros ? n > exactRows.length - parts.length : sum !== 0n
        return isKept ? sum : null
      })
    },
  )

export type LeftOut = (typeof LEFT_OUT)[number]
export const isLeftOut = (figure: string): figure is LeftOut => (LEFT_OUT as readonly string[]).includes(figure)

/** Selects documents of the population newest first, at most so many. Null when the window shows nothing of the direction. */
export function newestOf(
  partition: Partition,
  columns: SQL,
  population: Population,
  after: EntryPosition | undefined,
  take: number,
): SQL | null {
  const found = populationOf(partition, { ...population, after: after && [after[0], after[1]] })
  return (
    found &&
    sql`select ${own.uuid}, ${own.issued_at}, ${columns} ${found} order by ${own.issued_at} desc, ${own.uuid} desc limit ${sql.raw(String(take))}`
  )
}

const CONDITIONS: Record<LeftOut, SQL> = {
  missing_rate: IS_UNRATED,
  dof_rate: IS_UNRATED,
  not_counted: sql`${own.tipo_comprobante} in ('I', 'E', 'N') and ${sql.raw(NOT_COUNTED('own'))}`,
}

/**
 * Returns a page of the documents of the range that a surface leaves out (missing_rate, not_counted), or converts at a rate that they do not
 * state (dof_rate). The amounts are their totals in their own currency.
 */
export function pageOfLeftOut(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: LeftOut },
): Promise<EntriesPage> {
  const { figure } = query
  const { first, last, directions } = insight.span
  const columns = sql`${own.currency}, substr(${own.fecha}, 1, 10) as day, ${own.total_micros} as total`
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const parts = directions.flatMap((direction) => {
      const found = newestOf(partition, columns, { first, last, direction, conditions: [CONDITIONS[figure]] }, after, take)
      return found ? [sql`select * from (${found})`] : []
    })
    const [one, other] = parts
    return one === undefined ? null : other ? sql`${one} union all ${other} order by 2 desc, 1 desc limit ${sql.raw(String(take))}` : one
  }
  return pageOfEntries<{ uuid: string; issued_at: number; currency: string; day: string; total: string }>(
    insight,
    path,
    query,
    select,
    async (rows) => {
      const rates = figure === 'not_counted' ? [] : await ratesOf(insight.ctx, rows)
      const isMeant = (n: number) => figure === 'not_counted' || (rates[n] === null) === (figure === 'missing_rate')
      return rows.map(({ total }, n) => (isMeant(n) ? BigInt(total) : null))
    },
  )
}

/** An invoice or credit note with its amount: before taxes (`net`), or including them (`total`). */
export interface AmountRow extends EntryRow {
  tipo: string
  amount: string | null
  unrated: string | null
}
type Which = 'net' | 'total'
type Meant = Omit<Population, 'types' | 'after'>

const DOCUMENT_ENTRIES_CONDITIONS = [sql`${own.tipo_comprobante} in ('I', 'E')`, sql`(${own.net_mxn} is not null or ${IS_UNRATED})`]

/** Selects the invoices and credit notes of a population that add an amount, newest first, for `pageOfEntries`. */
export function documentsAfter(population: Meant, which: Which) {
  const columns = sql`${own.tipo_comprobante} as tipo, ${own[`${which}_mxn`]} as amount, case when ${IS_UNRATED} then ${unratedJson('emisor_nombre')} end as unrated`
  const conditions = [...DOCUMENT_ENTRIES_CONDITIONS, ...(population.conditions ?? [])]
  return (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null =>
    newestOf(partition, columns, { ...population, conditions }, after, take)
}

/** Their amounts in MXN, negative for credit notes. Those that state no rate are converted at the published one; null without one. */
export async function amountsOfDocuments(ctx: Ctx, rows: readonly AmountRow[], which: Which): Promise<(Micros | null)[]> {
  const unrated = rows.flatMap((row) => parseUnrated(row.unrated))
  const rates = await ratesOf(ctx, unrated)
  const converted = new Map<string, Micros | null>(unrated.map((one, n) => [one.uuid, inPesos(one[which], rates[n] ?? null)]))
  return rows.map(({ uuid, tipo, amount, unrated: isUnrated }) => {
    const pesos = isUnrated === null ? BigInt(amount ?? 0) : (converted.get(uuid) ?? null)
    return pesos === null ? null : tipo === 'E' ? -pesos : pesos
  })
}

/** Returns a page of the invoices and credit notes of a population with their amounts in MXN. */
export const pageOfDocuments = (
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  population: Meant,
  which: Which = 'net',
): Promise<EntriesPage> =>
  pageOfEntries<AmountRow>(insight, path, query, documentsAfter(population, which), (rows) => amountsOfDocuments(insight.ctx, rows, which))
