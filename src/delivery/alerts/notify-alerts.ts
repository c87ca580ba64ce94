import { type AlertRow, markNotified, unnotifiedAlerts } from '../../platform/alerts/alerts.ts'
import { NOTIFIED } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { each } from '../../platform/work/pages.ts'
import { commitOwnEvents, ownEventStatements } from '../own-events.ts'

/** Alerts of one shard that are reported at once; the next minute continues. */
const PAGE = 100
/** The statements of an alert that was raised and resolved. */
const STATEMENTS = 10

/**
 * Notifies organizations of the alerts that were raised or resolved since the last minute. An alert is marked in the commit of its events, so that
 * each is reported once, whatever is repeated.
 */
export const notifyAlerts = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    const rows = await unnotifiedAlerts(d1, PAGE)
    await each([...Map.groupBy(rows, ({ organization_id }) => organization_id).values()], (own) => notifyOf(system, shard, own))
  })

async function notifyOf(system: System, shard: number, rows: readonly AlertRow[]): Promise<void> {
  for (const row of rows) {
    if (!system.budget.allows(STATEMENTS)) return
    const events = eventsOf(row).flatMap((event) => ownEventStatements(row.organization_id, event))
    await commitOwnEvents(system, shard, events, markNotified([row]), 'alerts.unnotified')
  }
}

type Notified = Parameters<typeof ownEventStatements>[1]

function eventsOf({ notified, created_at, resolved_at, ...row }: AlertRow): Notified[] {
  const { fiscal_entity_id, rfc, alert_id, kind, severity, resource_id, amount, currency, message, message_es } = row
  const members = {
    fiscal_entity_id: fiscal_entity_id && uuidOf(fiscal_entity_id),
    ...{ rfc, alert_id, kind, severity, resource_id, amount, currency, message, message_es },
  }
  const raised: Notified = { event: 'alert.raised', occurred_at: created_at.toISOString(), ...members }
  const at = (resolved_at ?? created_at).toISOString()
  const resolved: Notified = { event: 'alert.resolved', occurred_at: at, ...members, resolved_at: at }
  return notified === NOTIFIED.nothing ? [raised] : notified === NOTIFIED.raised ? [resolved] : [raised, resolved]
}
