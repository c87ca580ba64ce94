import { refuseUnknownLists } from '../../lists/custom/known.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { type ListedParties, nowListedAs } from '../../lists/listed/listed.ts'
import type { Ctx } from '../../platform/context.ts'
import { micros } from '../../platform/money.ts'
import { type CursorScope, openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import type { DataStatus } from '../../taxpayers/visibility/coverage.ts'
import { openLedger, type Partition, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { readContents } from '../chunks/contents.ts'
import type { Cfdi } from '../contract.ts'
import { afterDay, isDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatusRows } from '../quality/data-status.ts'
import { leftOf, view, visibleBalance } from '../view.ts'
import type { CfdiFilters, CfdiPage, CfdiSearch, Filters, INCLUDED, ListedCfdi } from './contract.ts'
import { findByTotal, type TotalPosition } from './sorted.ts'
import { dataStatusOf } from './status.ts'
import { type Besides, findPage, type PageItem, type PagePosition, planned, type SearchInput } from './store.ts'

/**
 * Returns a page of the visible documents of an RFC in the order of `sort`: by issued_at, then by uuid, or by total. One call to the ledger,
 * and more only where rows are scanned or sorted by total. Throws Failure 422 as_of.future and blacklist.unknown.
 */
export async function searchCfdi(ctx: Ctx, query: CfdiSearch): Promise<CfdiPage> {
  const ledger = openLedger(ctx)
  const { limit, cursor, sort, fields, include = [], fiscal_entity_id: _, fiscalEntityId: __, ...given } = query
  const read = fixFilters(ctx, given)
  await refuseUnknownLists(ctx, 'blacklist', given.blacklist)
  const scope: CursorScope = { list: 'cfdi', filters: { ...given, sort, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = await openCursor(ctx, scope, cursor)
  const listed = await listedOf(ctx)
  const asked = askedOf(ledger, read, listed)
  const { filters } = asked
  let data_status: DataStatus | null = null
  const besides: Besides = {
    statements: cursor === undefined ? [dataStatusRows(ledger)] : [],
    take: ([rows]) => {
      if (rows) data_status = dataStatusOf(ledger, filters, rows as DataStatusRow[], ctx.now.getTime())
    },
  }
  const isAscending = !sort.startsWith('-')
  const plans = planned(asked)
  const found = sort.endsWith('total')
    ? { ...(await findByTotal(asked, plans, after as TotalPosition | undefined, isAscending, limit, besides)), isShort: false }
    : await findPage(asked, plans, { after: after as PagePosition | undefined, isAscending }, limit, besides)
  const { items, next, isShort } = found
  const included = await includedOf(ledger, items, include)
  return {
    data: items.map(({ row, context }): ListedCfdi => ({ ...chosen(view(row, context, listed), fields), ...included(row.uuid) })),
    has_more: next !== null,
    next_cursor: next && (await sealCursor(ctx, scope, next)),
    scanned_through: isShort && next ? new Date(Number(next[0]) * 1_000).toISOString() : null,
    data_status,
  }
}

export type { PageItem, PagePosition } from './store.ts'

/** Filters that mean the same at any time. */
export type FixedFilters = Omit<CfdiFilters, 'as_of'> & Pick<Filters, 'last_day' | 'past'>

function askedOf(ledger: ScopedLedger, { blacklist, ...others }: FixedFilters, listed: ListedParties): SearchInput {
  const filters = { ...others, ...(blacklist && { counterparties: nowListedAs(listed, blacklist) }) }
  return { ledger, filters, isMatch: (item) => isMatch(item, others) }
}

/** Finds the documents after a position that match, newest first. `next` is where to continue, null at the end. */
export function findMatches(
  ledger: ScopedLedger,
  read: FixedFilters,
  listed: ListedParties,
  after: PagePosition | undefined,
  limit: number,
): ReturnType<typeof findPage> {
  const asked = askedOf(ledger, read, listed)
  return findPage(asked, planned(asked), { after, isAscending: false }, limit, { statements: [], take: () => {} })
}

const chosen = (one: Cfdi, fields: CfdiSearch['fields']): Cfdi =>
  fields === undefined ? one : (Object.fromEntries(fields.map((name) => [name, one[name]])) as Cfdi)

type Included = Pick<ListedCfdi, (typeof INCLUDED)[number]>

/** Reads what a page includes of its documents beside their rows: two statements for each partition. */
async function includedOf(ledger: ScopedLedger, items: readonly PageItem[], names: readonly (typeof INCLUDED)[number][]) {
  const found = new Map<string, Included>()
  const pick = (from: Included): Included => Object.fromEntries(names.map((name) => [name, from[name]]))
  const nothing = pick({ conceptos: [], pagos: [], relacionados: [] })
  if (names.length > 0)
    for (const [partition, some] of Map.groupBy(items, ({ context }) => context.partition as Partition))
      await readContents(ledger, partition, some, (uuid, content) => found.set(uuid, pick(content)))
  return (uuid: string): Included => found.get(uuid) ?? nothing
}

/** The filters with the bounds that `as_of` puts on them. Throws Failure 422 as_of.future. */
export function fixFilters<Asked extends Pick<CfdiSearch, 'as_of' | 'issued_to'>>(
  ctx: Ctx,
  { as_of, ...filters }: Asked,
  path?: string,
): Omit<Asked, 'as_of'> & Pick<Filters, 'last_day' | 'past'> {
  if (as_of === undefined) return filters
  const past = pastDay(ctx, as_of, path)
  const { issued_to } = filters
  const bound = issued_to !== undefined && !isDay(issued_to) ? { last_day: as_of } : { issued_to: [issued_to ?? as_of, as_of].sort()[0]! }
  return { ...filters, ...bound, ...(past === null ? {} : { past }) }
}

// SQL compares the stored balance. It passes every row that may have a different visible one (appliedBeyondCeiling), to be compared here.
function isMatch({ row, context: { applied } }: PageItem, { payment_status, balance_min, paid_from, paid_to }: Filters): boolean {
  if (applied === undefined) return true
  const balance = visibleBalance(row, applied)
  const { last_payment_at: paid } = balance
  return (
    (payment_status === undefined || payment_status.includes(balance.payment_status ?? 'not_applicable')) &&
    (balance_min === undefined || leftOf(row, balance) >= micros(balance_min)!) &&
    (paid_from === undefined || (paid !== null && paid >= paid_from)) &&
    (paid_to === undefined || (paid !== null && paid < afterDay(paid_to)))
  )
}
