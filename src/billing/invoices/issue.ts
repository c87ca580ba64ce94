import { audited } from '../../platform/audit/audit.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { each } from '../../platform/each.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { CURRENCY, quoteMonth } from '../subscription/prices.ts'
import { graceEnd } from '../subscription/status.ts'
import { closeMonth, findUnbilled, insertInvoice, organizationZones, type Unbilled } from './invoice-store.ts'

/** Organizations invoiced in one commit. */
const PAGE = 50

/**
 * Issues the invoices of the local month, each organization's once, for its plan and the RFCs that are active now: the month in
 * advance, due on the local day of issue. One that signed up or was suspended in this month owes nothing for it. The month is closed in
 * the commit that issues; a tick that is missed for days is made up for by the next one, one that is repeated finds nothing to do.
 */
export const issueInvoices = async (system: System): Promise<void> =>
  each(await organizationZones(system.db), (timezone) => issueInZone(system, timezone))

async function issueInZone(system: System, timezone: string): Promise<void> {
  const day = localDayOf(system.now, timezone)
  const month = day.slice(0, 7)
  for (let isMore = true; isMore; ) {
    const page = await findUnbilled(system.db, timezone, month, PAGE)
    if (page.length === 0) return
    isMore = page.length === PAGE
    try {
      await commit(
        system.db.$client,
        page.flatMap((one) => [closeMonth(system.db, one, month), ...invoiceOf(system, one, timezone, day)]),
      )
    } catch (error) {
      // Another tick was faster with some of them: look again.
      if (!isGuardViolation(error)) throw error
      isMore = true
    }
  }
}

function invoiceOf(system: System, { id, plan, suspension, billed_month, active_rfcs }: Unbilled, timezone: string, day: string) {
  const quote = billed_month === null || suspension !== null ? null : quoteMonth(plan, active_rfcs, day)
  if (!quote) return []
  const invoice_id = newId('inv')
  const row = {
    invoice_id,
    organization_id: id,
    period: day.slice(0, 7),
    ...quote,
    currency: CURRENCY,
    issued_at: system.now,
    due_on: day,
    review_at: graceEnd(day, timezone),
  }
  const author = { ...system, actor: { kind: 'system', process: 'billing' } as const }
  return [insertInvoice(system.db, row), audited(author, id, { action: 'invoice.issued', resource_id: invoice_id })]
}
