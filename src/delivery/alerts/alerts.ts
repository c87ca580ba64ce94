import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { unitOf } from '../../accounts/plans/quotas.ts'
import {
  assertUnnotified,
  keepWarnings,
  markWarningsNotified,
  type QuotaWarning,
  unnotifiedWarnings,
} from '../../accounts/plans/reserve-quota.ts'
import { cancellationRequests } from '../../cfdi/tables.ts'
import {
  type AlertRow,
  markNotified,
  type OpenAlert,
  openAlerts,
  resolveStatement,
  unnotifiedAlerts,
} from '../../platform/alerts/alerts.ts'
import { NOTIFIED } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { clock } from '../../platform/time/clock.ts'
import { each, pageByPage } from '../../platform/work/pages.ts'
import { connections } from '../../taxpayers/tables.ts'
import { commitOwnEvents, ownEventStatements } from '../own-events.ts'

/** Alerts, or warnings, of one database that are reported at once; the next minute continues. */
const PAGE = 100
/** The statements of an alert that was raised and resolved. */
const NOTIFYING_STATEMENTS = 10

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
    if (!system.budget.allows(NOTIFYING_STATEMENTS)) return
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

const QUOTA_STATEMENTS = 6

/**
 * Notifies organizations of the quotas of which they have used 80 %. Warnings of the control plane come into the events shards first. There, a
 * warning is marked in the commit of its event, so that it is reported once, whatever is repeated.
 */
export async function notifyQuotas(system: System): Promise<void> {
  await each([() => moveWarnings(system), () => notifyWarnings(system)], (step) => step())
}

async function moveWarnings({ db, settings }: System): Promise<void> {
  const control = db.$client
  const warnings = await unnotifiedWarnings(control, PAGE)
  if (warnings.length === 0) return
  const ids = JSON.stringify(warnings.map(({ organization_id }) => organization_id))
  const results = await readRows(
    control,
    sql<{
      id: string
      events_shard: number
    }>`select ${organizations.id}, ${organizations.events_shard} from ${organizations} where ${organizations.id} in (
      select value from json_each(${ids}))`,
  )
  const shards = new Map(results.map(({ id, events_shard }) => [id, events_shard]))
  await each([...Map.groupBy(warnings, ({ organization_id }) => shards.get(organization_id)!)], async ([shard, own]) => {
    const d1 = settings.events[shard]!
    await commit(d1, [keepWarnings(own)])
    await commit(control, [markWarningsNotified(own)])
  })
}

const notifyWarnings = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    for (const warning of await unnotifiedWarnings(d1, PAGE)) {
      if (!system.budget.allows(QUOTA_STATEMENTS)) return
      await notify(system, shard, warning)
    }
  })

async function notify(system: System, shard: number, warning: QuotaWarning): Promise<void> {
  const { organization_id, quota, period, used, most, marked_at } = warning
  const event = ownEventStatements(organization_id, {
    event: 'quota.warning',
    occurred_at: new Date(marked_at).toISOString(),
    ...{ quota, period, used, limit: most, unit: unitOf(quota) },
  })
  const marks = [assertUnnotified(warning), markWarningsNotified([warning])]
  await commitOwnEvents(system, shard, event, marks, 'quota_warning.unnotified')
}

const OPEN_PAGE = 200
const RESOLVING_STATEMENTS = 4

/**
 * Resolves alerts whose causes have ended: a connection that is not invalid any more, or is unlinked, an organization that is not suspended, a
 * request for cancellation that is not pending. A task, whose cursor is an events shard and the last alert.
 */
export const resolveAlerts = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, RESOLVING_STATEMENTS + system.settings.ledgers.length, cursor, async (from) => {
    const [shard, after] = from === '' ? ([0, ''] as const) : (JSON.parse(from) as [number, string])
    const d1 = system.settings.events[shard]!
    const page = await openAlerts(d1, after, OPEN_PAGE)
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
    if (page.length === OPEN_PAGE) return JSON.stringify([shard, page.at(-1)!.alert_id])
    return shard + 1 < system.settings.events.length ? JSON.stringify([shard + 1, '']) : null
  })

const [o, c, r] = [alias(organizations, 'o'), alias(connections, 'c'), alias(cancellationRequests, 'r')]

/** Which of these alerts have causes that last. Two seeks each. */
const lastingConditions = async (
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
