import type { SQL } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import { prepared } from '../../platform/db/statement.ts'
import { limitReadings } from '../../platform/locks/readings.ts'
import { type CursorScope, openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { exact } from './figures.ts'
import type { Insight } from './insight.ts'

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
 * Returns a page of the documents behind a figure, newest first. `select` gives the entries of a partition after a position, in this order,
 * at most so many; null for none. `amountsOf` gives the amount of each row in micros, null for what is no entry after all: a page may then
 * have fewer entries than `limit`. One call to the ledger. Throws Failure 400 for a cursor of another query.
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
  const read = () => ledger.d1.batch<Row>(statements.map((one) => prepared(ledger.d1, one)))
  const found = statements.length === 0 ? [] : await limitReadings(ctx, read)
  const rows = found.flatMap(({ results }) => results).sort((a, b) => (isBefore(positionOf(a), positionOf(b)) ? -1 : 1))
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
