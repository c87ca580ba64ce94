import { sql } from 'drizzle-orm'
import { changeEvents } from '../audit/audit.ts'
import { type Ctx, eventsOf, type System } from '../context.ts'
import { commit } from '../db/commit.ts'
import { prepared } from '../db/statement.ts'
import { notFound } from '../failures.ts'
import { listPage } from '../paging/cursor.ts'
import { each } from '../work/pages.ts'
import type { Alert, AlertQuery } from './contract.ts'
import { type AlertDraft, type AlertRow, alertStatements, findAlert, listAlertRows, markRead } from './store.ts'

export {
  type AlertDraft,
  type AlertRow,
  alertStatements,
  MOST_OF_GROUP,
  markNotified,
  openAlerts,
  resolveStatement,
  unnotifiedAlerts,
} from './store.ts'

/** An alert for the events shard of its organization. */
export interface AddressedDraft extends AlertDraft {
  events_shard: number
}

/** Raises alerts, in one commit for each events shard. A repetition changes nothing. */
export const raiseAlerts = ({ settings }: System, drafts: readonly AddressedDraft[], now: Date): Promise<void> =>
  each([...Map.groupBy(drafts, ({ events_shard }) => events_shard)], ([shard, own]) => {
    const d1 = settings.events[shard]!
    return commit(d1, alertStatements(d1, own, now))
  })

/** Raises alerts of organizations whose events shards are not known. A repetition changes nothing. */
export async function raiseAlertsOf(system: System, drafts: readonly AlertDraft[], now: Date): Promise<void> {
  if (drafts.length === 0) return
  const { results } = await prepared(
    system.db.$client,
    sql`select id, events_shard from organizations where id in (select value
      from json_each(${JSON.stringify(drafts.map(({ organization_id }) => organization_id))}))`,
  ).all<{ id: string; events_shard: number }>()
  const shards = new Map(results.map(({ id, events_shard }) => [id, events_shard]))
  await raiseAlerts(
    system,
    drafts.map((draft) => ({ ...draft, events_shard: shards.get(draft.organization_id)! })),
    now,
  )
}

const view = ({ organization_id: _, dedupe_key: __, notified: ___, created_at, read_at, resolved_at, ...row }: AlertRow): Alert => ({
  ...row,
  created_at: created_at.toISOString(),
  read_at: read_at?.toISOString() ?? null,
  resolved_at: resolved_at?.toISOString() ?? null,
})

/** Returns a page of the organization's alerts, newest first. */
export const listAlerts = (ctx: Ctx, query: AlertQuery) =>
  listPage(
    ctx,
    'alerts',
    query,
    (after, limit) => listAlertRows(eventsOf(ctx), ctx.organization.id, query, after, limit),
    (row) => row.alert_id,
    view,
  )

/** Marks an alert as read; an alert that is read already keeps its time. Throws Failure 404 alert.not_found. */
export async function readAlert(ctx: Ctx, alert_id: string): Promise<Alert> {
  const row = await findAlert(eventsOf(ctx), ctx.organization.id, alert_id)
  if (!row) throw notFound('alert')
  if (row.read_at) return view(row)
  await changeEvents(ctx, { action: 'alert.read', resource_id: alert_id, changed: ['read_at'] }, [
    markRead(eventsOf(ctx), ctx.organization.id, alert_id, ctx.now),
  ])
  return view({ ...row, read_at: ctx.now })
}
