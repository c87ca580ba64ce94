import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { cancellationRequests } from '../../cfdi/tables.ts'
import { type OpenAlert, openAlerts, resolveStatement } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { clock } from '../../platform/time/clock.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { connections } from '../../taxpayers/tables.ts'

const PAGE = 200
const STATEMENTS = 4

/**
 * Resolves alerts whose causes have ended: a connection that is not invalid any more, or is unlinked, an organization that is not suspended, a
 * request for cancellation that is not pending. A task, whose cursor is an events shard and the last alert.
 */
export const resolveAlerts = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, STATEMENTS + system.settings.ledgers.length, cursor, async (from) => {
    const [shard, after] = from === '' ? ([0, ''] as const) : (JSON.parse(from) as [number, string])
    const d1 = system.settings.events[shard]!
    const page = await openAlerts(d1, after, PAGE)
    const lasting = page.length === 0 ? new Set() : await lastingConditions(system.db.$client, page)
    const pending = await pendingRequests(system, page)
    const over = page.filter(({ alert_id }) => !lasting.has(alert_id) && !pending.has(alert_id))
    if (over.length > 0)
      await commit(d1, [
        resolveStatement(
          over.map(({ organization_id, dedupe_key }) => [organization_id, dedupe_key] as const),
          clock.date(),
        ),
      ])
    if (page.length === PAGE) return JSON.stringify([shard, page.at(-1)!.alert_id])
    return shard + 1 < system.settings.events.length ? JSON.stringify([shard + 1, '']) : null
  })

const [o, c, r] = [alias(organizations, 'o'), alias(connections, 'c'), alias(cancellationRequests, 'r')]

/** Which of these alerts have causes that last. Two seeks each. */
export const lastingConditions = async (
  d1: D1Database,
  alerts: readonly Record<'alert_id' | 'organization_id' | 'kind' | 'resource_id', string>[],
): Promise<Set<string>> => {
  const json = JSON.stringify(
    alerts.map(({ alert_id, organization_id, kind, resource_id }) => [alert_id, organization_id, kind, resource_id]),
  )
  const lasting = sql<string>`select a.value->>0 as alert_id from json_each(${json}) a where case a.value->>2
      when 'cancellation.requested' then 0
      when 'organization.suspended' then exists (
        select 1 from ${organizations} ${o} where ${o.id} = a.value->>1 and ${o.suspension} is not null)
      else exists (
        select 1 from ${connections} ${c} where ${c.organization_id} = a.value->>1 and ${c.fiscal_entity_id} = a.value->>3
          and ${c.state} <> 'unlinked' and (a.value->>2 = 'connection.failing' or ${c.state} = 'invalid_ciec'
            or (${c.state} = 'paused' and ${c.paused_from} = 'invalid_ciec'))) end`
  return new Set(await readColumn(d1, lasting))
}

/**
 * Which of these alerts are about requests for cancellation that are pending. The alert of an RFC, which covers many, lasts while any request of it
 * does.
 */
async function pendingRequests({ db, settings }: System, alerts: readonly OpenAlert[]): Promise<Set<string>> {
  const own = alerts.filter(({ kind }) => kind === 'cancellation.requested')
  if (own.length === 0) return new Set()
  const json = JSON.stringify(
    own.map(({ alert_id, organization_id, fiscal_entity_id, resource_id }) => [alert_id, organization_id, fiscal_entity_id, resource_id]),
  )
  const places = await readRows<Place>(
    db.$client,
    sql`select a.value->>0 as alert_id, ${c.shard}, ${c.entity}, iif(a.value->>2 = a.value->>3, null, a.value->>3) as uuid
      from json_each(${json}) a cross join ${connections} ${c} on ${c.organization_id} = a.value->>1 and ${c.fiscal_entity_id} = a.value->>2
      where ${c.state} <> 'unlinked'`,
  )
  const pending: string[] = []
  for (const [shard, rows] of Map.groupBy(places, (row) => row.shard))
    pending.push(
      ...(await readColumn(
        settings.ledgers[shard]!,
        sql<string>`select a.value->>0 from json_each(${JSON.stringify(rows.map(({ alert_id, entity, uuid }) => [alert_id, entity, uuid]))}) a
          where exists (select 1 from ${cancellationRequests} ${r} indexed by cancellation_requests_pending
            where ${r.entity} = a.value->>1 and ${r.status} = 'pending' and (a.value->>2 is null or ${r.uuid} = a.value->>2))`,
      )),
    )
  return new Set(pending)
}

interface Place {
  alert_id: string
  shard: number
  entity: number
  /** Null of an alert that covers many. */
  uuid: string | null
}
