import type { Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { insertOutboxEvents, type OutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
import { type Day, epochDayOf } from '../../platform/time/calendar.ts'
import { clock } from '../../platform/time/clock.ts'
import { addMonths, centralDayOf } from '../../platform/time/months.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { combinedWindowOf, windowsOf } from '../../taxpayers/visibility/window.ts'
import type { Obligation } from './contract.ts'
import { dueRuleOf, obligationsOf } from './obligations-of.ts'
import { dueTexts, entitiesWith, type Listener, listenersOf, readRegistrations } from './store.ts'

export const DUE_SOON = 'obligation.due_soon'

/** The body of the outbox event of an obligation that is due soon. */
export type DueObligation = Pick<Obligation, 'description' | 'periodicity'> &
  Record<'period' | 'due_date', string> & { extended_due_date: string | null; days_left: number }
export interface DueSoonBody {
  /** The day in central Mexico that is reported. */
  day: Day
  obligations: DueObligation[]
}

/** RFCs of one page. */
const PAGE = 25
/** The statements of a page. */
const STATEMENTS = 8

/**
 * Notifies organizations of obligations due in five days and in one, unless a return that they can read files them. A task; its cursor is a
 * ledger and the last RFC. A day's obligations are reported once, even if the task is repeated.
 */
export const notifyDueSoon = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, STATEMENTS, cursor, async (from, fail) => {
    const [shard = 0, after = 0] = from.split('.').map(Number)
    const page = await notifyPage(system, shard, after).catch((error: unknown) => {
      fail(error)
      return []
    })
    if (page.length === PAGE) return `${shard}.${page.at(-1)!}`
    return shard + 1 < system.settings.ledgers.length ? `${shard + 1}.0` : null
  })

async function notifyPage(system: System, shard: number, after: number): Promise<number[]> {
  const ledger = system.settings.ledgers[shard]!
  const day = centralDayOf(system.now.getTime())
  const rules = await rulesAt(system, day)
  const texts = (await readColumn(ledger, dueTexts())).filter((text) => isDueSoon(rules, text, day))
  if (texts.length === 0) return []
  const page = await readColumn(ledger, entitiesWith(texts, after, PAGE))
  if (page.length === 0) return []
  const listeners = await readRows(system.db.$client, listenersOf(page))
  const events = await eventsOf(ledger, listeners, rules, day)
  if (events.length > 0) {
    await commit(ledger, insertOutboxEvents(events, clock.now()))
    await wakeRelay(system, shard)
  }
  return page
}

const daysLeft = (day: Day, due: Day): number => epochDayOf(due) - epochDayOf(day)
const isNoticed = (rules: Rules, day: Day, due: Day): boolean => rules.get('obligation.notice_days').includes(daysLeft(day, due))

/** Whether something with this text is due in so many days, for a company or a natural person. */
function isDueSoon(rules: Rules, text: string, day: Day): boolean {
  const [month, year] = [day.slice(0, 7), Number(day.slice(0, 4))]
  return [true, false].some((isCompany) => {
    const { periodicity, dueOf } = dueRuleOf(rules, isCompany, text)
    const periods = periodicity === 'monthly' ? [-2, -1, 0].map((n) => addMonths(month, n)) : [String(year - 1), String(year)]
    return dueOf !== null && periods.some((period) => isNoticed(rules, day, dueOf(period)))
  })
}

async function eventsOf(ledger: D1Database, listeners: readonly Listener[], rules: Rules, day: Day): Promise<OutboxEvent[]> {
  if (listeners.length === 0) return []
  const readers = listeners.map((one) => ({ ...one, window: combinedWindowOf(windowsOf(one.extractor_count, one)) }))
  const registrations = await readRegistrations(ledger, readers)
  return listeners.flatMap(({ entity, organization_id, rfc }, n): OutboxEvent[] => {
    const due = obligationsOf({ rfc, today: day, rules, ...registrations[n]! }).flatMap((row): DueObligation[] => {
      const { description, periodicity, period, due_date, extended_due_date, status } = row
      if (status === 'filed' || period === null || due_date === null || !isNoticed(rules, day, due_date)) return []
      return [{ description, periodicity, period, due_date, extended_due_date, days_left: daysLeft(day, due_date) }]
    })
    if (due.length === 0) return []
    const body = { day, obligations: due }
    return [{ outbox_event_id: `${DUE_SOON}:${day}:${organization_id}`, kind: DUE_SOON, entity, organizations: [organization_id], body }]
  })
}
