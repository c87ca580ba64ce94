import { listedOf } from '../../blacklists/listed/counterparties.ts'
import { type ListedParties, listedAs } from '../../blacklists/listed/listed.ts'
import type { Ctx } from '../../platform/context.ts'
import { type CursorScope, openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { openLedger, type Partition, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { readContents } from '../chunks/contents.ts'
import { afterDay, isDay } from '../literal-day.ts'
import { micros } from '../money.ts'
import { leftOf, view, visibleBalance } from '../view.ts'
import type { CfdiFilters, CfdiSearch, Filters, INCLUDED, ListedCfdi } from './contract.ts'
import { findPage, type PageItem, type PagePosition } from './store.ts'

/** Returns a page of the visible documents of an RFC, newest first (issued_at, then uuid, both descending). One call to the ledger. */
export async function searchCfdi(ctx: Ctx, query: CfdiSearch): Promise<Page<ListedCfdi>> {
  const ledger = openLedger(ctx)
  const { limit, cursor, fiscal_entity_id: _, fiscalEntityId: __, include = [], ...filters } = query
  const read = fixFilters(ctx, filters)
  const scope: CursorScope = { list: 'cfdi', filters: { ...filters, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as PagePosition | undefined
  const listed = await listedOf(ctx)
  const { items, next } = await findMatches(ledger, read, listed, after, limit)
  const included = await includedOf(ledger, items, include)
  const data = items.map(({ row, context }): ListedCfdi => ({ ...view(row, context, listed), ...included(row.uuid) }))
  return { data, has_more: next !== null, next_cursor: next && (await sealCursor(ctx, scope, next)) }
}

export type { PageItem, PagePosition } from './store.ts'

/** Filters that mean the same at any time. */
export type FixedFilters = Omit<CfdiFilters, 'as_of'> & Pick<Filters, 'last_day' | 'past'>

/** Finds the documents after a position that match, newest first. `next` is where to continue, null at the end. One call to the ledger. */
export function findMatches(
  ledger: ScopedLedger,
  { blacklist, ...others }: FixedFilters,
  listed: ListedParties,
  after: PagePosition | undefined,
  limit: number,
): ReturnType<typeof findPage> {
  const counterparties = blacklist && { counterparties: listedAs(listed, blacklist) }
  return findPage(ledger, { ...others, ...counterparties }, after, limit, (item) => isMatch(item, others))
}

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
): Omit<Asked, 'as_of'> & Pick<Filters, 'last_day' | 'past'> {
  if (as_of === undefined) return filters
  const past = pastDay(ctx, as_of)
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
