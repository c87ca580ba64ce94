import { type AlertRow, markTold, untoldAlerts } from '../../platform/alerts/alerts.ts'
import { TOLD } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { each } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { ownEventStatements, wakeOwnEvent } from '../own-events.ts'

/** Alerts of one shard that are told at once; the next minute goes on. */
const PAGE = 100
/** The statements of an alert that was raised and resolved. */
const STATEMENTS = 10

/**
 * Tells organizations of the alerts that were raised or resolved since the last minute. An alert is marked in the commit of its events, so that
 * each is told once, whatever is repeated.
 */
export const tellAlerts = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    const rows = await untoldAlerts(d1, PAGE)
    await each([...Map.groupBy(rows, ({ organization_id }) => organization_id).values()], (own) => tellOf(system, shard, d1, own))
  })

async function tellOf(system: System, shard: number, d1: D1Database, rows: readonly AlertRow[]): Promise<void> {
  for (const row of rows) {
    if (!system.budget.allows(STATEMENTS)) return
    const events = eventsOf(row).flatMap((event) => ownEventStatements(d1, row.organization_id, event))
    try {
      const results = await commit(d1, [...markTold(d1, [row]), ...events])
      await wakeOwnEvent(system, shard, results.slice(-events.length))
    } catch (error) {
      // Somebody else told it, or it changed meanwhile.
      if (!isGuardViolation(error, 'alerts.untold')) throw error
    }
  }
}

type Told = Parameters<typeof ownEventStatements>[2]

function eventsOf({ told, created_at, resolved_at, alert_id, kind, severity, resource_id, message, message_es }: AlertRow): Told[] {
  const members = { alert_id, kind, severity, resource_id, message, message_es }
  const raised: Told = { event: 'alert.raised', occurred_at: created_at.toISOString(), ...members }
  const at = (resolved_at ?? created_at).toISOString()
  const resolved: Told = { event: 'alert.resolved', occurred_at: at, ...members, resolved_at: at }
  return told === TOLD.nothing ? [raised] : told === TOLD.raised ? [resolved] : [raised, resolved]
}
