import { audited } from '../../../platform/audit/audit.ts'
import type { System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { isConflict } from '../../../platform/db/guard.ts'
import { newId } from '../../../platform/db/id.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { pageByPage } from '../../../platform/work/pages.ts'
import { CURRENCY, quoteMonth } from '../subscription/prices.ts'
import { graceEnd } from '../subscription/status.ts'
import { assertStillUnbilled, findUnbilled, insertInvoice, markBilled, organizationZones, type UnbilledOrganization } from './store.ts'

export { organizationZones } from './store.ts'

/** Organizations invoiced in one commit. */
const PAGE = 50

/**
 * Issues each organization's invoice for the current local month, once: the plan and the RFCs that are active now, in advance, due on
 * the local day of issue. An organization that signed up in this month or is suspended owes nothing for it. The commit that issues the
 * invoice marks the month as billed, so a missed run is made up for by the next one and a repeated run does nothing. A task, whose cursor is
 * a time zone.
 */
export async function issueInvoices(system: System, cursor = ''): Promise<string | null> {
  const zones = await organizationZones(system.db)
  return pageByPage(system, 4 * PAGE + 1, cursor, async (from, fail) => {
    const timezone = zones.find((zone) => zone >= from)
    if (timezone === undefined) return null
    const next = zones[zones.indexOf(timezone) + 1] ?? null
    const isMore = await issuePage(system, timezone).catch((error: unknown) => {
      fail(error)
      return false
    })
    return isMore ? timezone : next
  })
}

/** Issues the invoices of a page of a zone's organizations. Returns whether there may be more. */
async function issuePage(system: System, timezone: string): Promise<boolean> {
  const day = localDayOf(system.now, timezone)
  const month = day.slice(0, 7)
  const page = await findUnbilled(system.db, timezone, month, PAGE)
  if (page.length === 0) return false
  try {
    await commit(
      system.db.$client,
      page.flatMap((one) => [assertStillUnbilled(one), markBilled(one, month), ...invoiceStatements(system, one, timezone, day)]),
    )
    return page.length === PAGE
  } catch (error) {
    // A concurrent run billed some of them: read the page again.
    if (isConflict(error)) return true
    throw error
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
  return [insertInvoice(row), audited(author, id, { action: 'invoice.issued', resource_id: invoice_id })]
}
