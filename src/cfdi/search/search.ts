import type { Ctx } from '../../platform/context.ts'
import { type CursorScope, openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import { openLedger } from '../../visibility/scoped-ledger.ts'
import type { Cfdi } from '../contract.ts'
import { afterDay } from '../literal-day.ts'
import { micros } from '../money.ts'
import { balanceShown, leftOf, view } from '../view.ts'
import type { CfdiSearch, Filters } from './contract.ts'
import { findPage, type Place, type Seen } from './store.ts'

/** Documents of a fiscal entity that the window shows, newest first (issued_at, then uuid, both descending). One call to the ledger. */
export async function searchCfdi(ctx: Ctx, query: CfdiSearch): Promise<Page<Cfdi>> {
  const books = openLedger(ctx)
  const { limit, cursor, fiscal_entity_id: _, fiscalEntityId: __, ...filters } = query
  const scope: CursorScope = { list: 'cfdi', filters: { ...filters, fiscal_entity_id: books.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as Place | undefined
  const { seen, next } = await findPage(books, filters satisfies Filters, after, limit, (one) => isAsked(one, filters))
  const data = seen.map(({ row, sighting }) => view(row, sighting))
  return { data, has_more: next !== null, next_cursor: next && (await sealCursor(ctx, scope, next)) }
}

// The database compares the stored balance, and passes every row of which another is shown (columns.ts, appliedWhereHidden).
function isAsked({ row, sighting: { applied } }: Seen, { payment_status, balance_min, paid_from, paid_to }: Filters): boolean {
  if (applied === undefined) return true
  const balance = balanceShown(row, applied)
  const { last_payment_at: paid } = balance
  return (
    (payment_status === undefined || payment_status.includes(balance.payment_status ?? 'not_applicable')) &&
    (balance_min === undefined || leftOf(row, balance) >= micros(balance_min)!) &&
    (paid_from === undefined || (paid !== null && paid >= paid_from)) &&
    (paid_to === undefined || (paid !== null && paid < afterDay(paid_to)))
  )
}
