import { audited } from '../../platform/audit/audit.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { newId } from '../../platform/db/id.ts'
import { isConflict } from '../../platform/db/retry.ts'
import { each } from '../../platform/each.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { CURRENCY, quoteMonth } from '../subscription/prices.ts'
import { graceEnd } from '../subscription/status.ts'
import { assertStillUnbilled, findUnbilled, markBilled, organizationZones, type UnbilledOrganization } from './issue-store.ts'
import { insertInvoice } from './store.ts'

/** Organizations invoiced in one commit. */
const PAGE = 50

/**
 * Issues each organization's invoice for the current local month, once: the plan and the RFCs that are active now, in advance, due on
 * the local day of issue. An organization that signed up in this month or is suspended owes nothing for it. The commit that issues the
 * invoice marks the month as billed, so a missed run is made up for by the next one and a repeated run does nothing.
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
        page.flatMap((one) => [
          assertStillUnbilled(system.db, one),
          markBilled(system.db, one, month),
          ...invoiceStatements(system, one, timezone, day),
        ]),
      )
    } catch (error) {
      // A concurrent run billed some of them: read the page again.
      if (!isConflict(error)) throw error
      isMore = true
    }
  }
}

function invoiceStatements(
  system: System,
  { id, plan, suspension, billed_month, active_rfcs }: UnbilledOrganization,
  timezone: string,
  day: string,
) {
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
