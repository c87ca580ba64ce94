import { and, asc, desc, eq, gt, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { changeEvents } from '../audit/audit.ts'
import { type Ctx, eventsOf, type System } from '../context.ts'
import { commit, jsonChunks } from '../db/commit.ts'
import { assertThat } from '../db/guard.ts'
import { newId } from '../db/id.ts'
import { bare, readRows } from '../db/statement.ts'
import { notFound } from '../failures.ts'
import { openCursor, type Page, paginate } from '../paging/cursor.ts'
import { isAbout } from '../tenant/bound.ts'
import type { Tenant } from '../tenant/tenant.ts'
import { each } from '../work/pages.ts'
import type { Alert, AlertFilters, AlertQuery } from './contract.ts'
import { NOTIFIED, type RESOLVABLE } from './kinds.ts'
import { alerts } from './tables.ts'

export type AlertRow = typeof alerts.$inferSelect

export interface AlertDraft
  extends Pick<AlertRow, 'organization_id' | 'kind' | 'severity' | 'resource_id' | 'fiscal_entity_id' | 'rfc' | 'message' | 'message_es'> {
  amount?: string | null
  currency?: string | null
  /** Identifies the situation: an organization has at most one alert for each key. */
  dedupe_key: string
  /**
   * The alert that is raised in its place when the organization has had MOST_OF_GROUP alerts whose keys begin with this key and a colon.
   */
  overflow?: Pick<AlertRow, 'dedupe_key' | 'resource_id' | 'message' | 'message_es'>
}

export const MOST_OF_GROUP = 5

const COLUMNS = [
  ...[alerts.alert_id, alerts.organization_id, alerts.kind, alerts.severity, alerts.dedupe_key],
  ...[alerts.resource_id, alerts.message, alerts.message_es, alerts.fiscal_entity_id, alerts.rfc],
  ...[alerts.amount, alerts.currency, alerts.created_at],
].map(bare)

/**
 * Returns the statements that raise alerts in an events shard. If the organization has an alert with the same key, a critical draft
 * replaces a warning and makes it unread, and one that is resolved is raised again; any other draft changes nothing.
 */
export const alertStatements = (drafts: readonly AlertDraft[], now: Date): SQL[] =>
  jsonChunks(
    drafts.map(({ organization_id, kind, severity, dedupe_key, resource_id, message, message_es, overflow, ...of }) => [
      ...[newId('alr'), organization_id, kind, severity, dedupe_key, resource_id, message],
      ...[overflow?.dedupe_key ?? null, overflow?.resource_id ?? null, overflow?.message ?? null, message_es, overflow?.message_es ?? null],
      ...[of.fiscal_entity_id, of.rfc, of.amount ?? null, of.currency ?? null],
    ]),
  ).map(
    (json) =>
      sql`with drafts as materialized (
          select value as v, value->>7 is not null
            and not exists (select 1 from ${alerts} where ${alerts.organization_id} = value->>1 and ${alerts.dedupe_key} = value->>4)
            and row_number() over (partition by value->>1, value->>7 order by key) + (
              select count(*) from ${alerts} where ${alerts.organization_id} = value->>1 and ${alerts.dedupe_key} 
                between value->>7 || ':' and value->>7 || ';'
            ) > ${MOST_OF_GROUP} as is_over
          from json_each(${json}))
        insert into ${alerts} ${COLUMNS}
        select v->>0, v->>1, v->>2, v->>3, v->>iif(is_over, 7, 4), v->>iif(is_over, 8, 5), v->>iif(is_over, 9, 6), v->>iif(is_over, 11, 10),
          v->>12, v->>13, iif(is_over, null, v->>14), iif(is_over, null, v->>15), ${now.getTime()} from drafts where true
        on conflict ${[alerts.organization_id, alerts.dedupe_key].map(bare)} do update set
          ${bare(alerts.kind)} = excluded.${bare(alerts.kind)}, ${bare(alerts.severity)} = excluded.${bare(alerts.severity)},
            ${bare(alerts.amount)} = excluded.${bare(alerts.amount)},
            ${bare(alerts.message)} = excluded.${bare(alerts.message)}, ${bare(alerts.message_es)} = excluded.${bare(alerts.message_es)},
          ${bare(alerts.created_at)} = excluded.${bare(alerts.created_at)}, ${bare(alerts.read_at)} = null,
            ${bare(alerts.resolved_at)} = null, ${bare(alerts.notified)} = ${NOTIFIED.nothing}, ${bare(alerts.is_mailed)} = 0
        where ${alerts.severity} = 'warning' and excluded.${bare(alerts.severity)} = 'critical' or ${alerts.resolved_at} is not null`,
  )

/** The statement that resolves alerts by their keys, as far as they are raised and not resolved. */
export const resolveStatement = (keys: readonly (readonly [organization_id: string, dedupe_key: string])[], now: Date) =>
  sql`update ${alerts} set ${bare(alerts.resolved_at)} = ${now.getTime()}, ${bare(alerts.notified)} = iif(${alerts.notified} = ${NOTIFIED.nothing},
      ${NOTIFIED.nothing_of_both}, ${NOTIFIED.raised})
      where ${alerts.resolved_at} is null and ${[alerts.organization_id, alerts.dedupe_key]} in (select value->>0, value->>1
        from json_each(${JSON.stringify(keys)}))`

/** Alerts that have something to report as an event. */
export const unnotifiedAlerts = async (d1: D1Database, limit: number): Promise<AlertRow[]> =>
  (
    await readRows<Omit<AlertRow, 'created_at' | 'read_at' | 'resolved_at'> & Record<'created_at' | 'resolved_at', number | null>>(
      d1,
      sql`select * from ${alerts} indexed by alerts_unnotified where ${alerts.notified} <> 1 order by ${alerts.alert_id} limit ${limit}`,
    )
  ).map((row) => ({
    ...row,
    created_at: new Date(row.created_at!),
    read_at: null,
    resolved_at: row.resolved_at === null ? null : new Date(row.resolved_at),
  }))

/** Notes that alerts are reported, and refuses its batch when one was reported or changed since it was read. */
export const markNotified = (rows: readonly AlertRow[]): SQL[] => {
  const json = JSON.stringify(rows.map(({ alert_id, notified, created_at }) => [alert_id, notified, created_at.getTime()]))
  const unchanged = sql`${[alerts.alert_id, alerts.notified, alerts.created_at]} in (select value->>0, value->>1, value->>2
    from json_each(${json}))`
  return [
    assertThat(sql`(select count(*) from ${alerts} where ${unchanged}) = ${rows.length}`, 'alerts.unnotified'),
    sql`update ${alerts} set ${bare(alerts.notified)} = ${NOTIFIED.everything} where ${unchanged}`,
  ]
}

export interface OpenAlert extends Pick<AlertRow, 'alert_id' | 'organization_id' | 'dedupe_key' | 'resource_id' | 'fiscal_entity_id'> {
  kind: (typeof RESOLVABLE)[number]
}

/** A page of the alerts whose causes can end and that are not resolved. */
export const openAlerts = (d1: D1Database, after: string, limit: number): Promise<OpenAlert[]> =>
  readRows<OpenAlert>(
    d1,
    sql`select ${alerts.alert_id}, ${alerts.organization_id}, ${alerts.kind}, ${alerts.dedupe_key}, ${alerts.resource_id}, ${alerts.fiscal_entity_id}
        from ${alerts} indexed by alerts_open
        where ${alerts.resolved_at} is null and ${alerts.kind} in ('connection.invalid', 'connection.failing', 'organization.suspended', 'cancellation.requested')
          and ${alerts.alert_id} > ${after}
        order by ${alerts.alert_id} limit ${limit}`,
  )

/** An alert for the events shard of its organization. */
export interface AddressedDraft extends AlertDraft {
  events_shard: number
}

/** Raises alerts, in one commit for each events shard. A repetition changes nothing. */
export const raiseAlerts = ({ settings }: System, drafts: readonly AddressedDraft[], now: Date): Promise<void> =>
  each([...Map.groupBy(drafts, ({ events_shard }) => events_shard)], ([shard, own]) => {
    const d1 = settings.events[shard]!
    return commit(d1, alertStatements(own, now))
  })

/** Raises alerts of organizations whose events shards are not known. A repetition changes nothing. */
export async function raiseAlertsOf(system: System, drafts: readonly AlertDraft[], now: Date): Promise<void> {
  if (drafts.length === 0) return
  const rows = await readRows<{ id: string; events_shard: number }>(
    system.db.$client,
    sql`select id, events_shard from organizations where id in (select value
      from json_each(${JSON.stringify(drafts.map(({ organization_id }) => organization_id))}))`,
  )
  const shards = new Map(rows.map(({ id, events_shard }) => [id, events_shard]))
  await raiseAlerts(
    system,
    drafts.map((draft) => ({ ...draft, events_shard: shards.get(draft.organization_id)! })),
    now,
  )
}

const view = ({
  organization_id: _,
  dedupe_key: __,
  notified: ___,
  is_mailed: ____,
  created_at,
  read_at,
  resolved_at,
  ...row
}: AlertRow): Alert => ({
  ...row,
  created_at: created_at.toISOString(),
  read_at: read_at?.toISOString() ?? null,
  resolved_at: resolved_at?.toISOString() ?? null,
})

const isOf = (tenant: Tenant) => and(eq(alerts.organization_id, tenant.id), isAbout(tenant, alerts.fiscal_entity_id))

const ofOrganization = (ctx: Ctx, query: AlertFilters) =>
  and(
    isOf(ctx.organization),
    query.kind && eq(alerts.kind, query.kind),
    query.severity && eq(alerts.severity, query.severity),
    query.fiscal_entity_id === undefined ? undefined : eq(alerts.fiscal_entity_id, query.fiscal_entity_id),
    query.rfc === undefined ? undefined : eq(alerts.rfc, query.rfc),
    query.resource_id === undefined ? undefined : eq(alerts.resource_id, query.resource_id),
    query.state && (query.state === 'open' ? isNull(alerts.resolved_at) : isNotNull(alerts.resolved_at)),
  )

/** Returns a page of the organization's alerts: newest first, or by weight, the critical ones before the warnings. */
export async function listAlerts(ctx: Ctx, query: AlertQuery): Promise<Page<Alert>> {
  const scope = { list: 'alerts', filters: query }
  const [severity, after] = ((await openCursor(ctx, scope, query.cursor)) ?? []) as [AlertRow['severity']?, string?]
  const byWeight = query.sort === 'weight'
  const rows = await eventsOf(ctx)
    .select()
    .from(alerts)
    .where(
      and(
        ofOrganization(ctx, query),
        query.is_read === undefined ? undefined : query.is_read ? isNotNull(alerts.read_at) : isNull(alerts.read_at),
        severity === undefined || after === undefined
          ? undefined
          : byWeight
            ? // 'critical' comes before 'warning'.
              or(gt(alerts.severity, severity), and(eq(alerts.severity, severity), lt(alerts.alert_id, after)))
            : lt(alerts.alert_id, after),
      ),
    )
    .orderBy(...(byWeight ? [asc(alerts.severity)] : []), desc(alerts.alert_id))
    .limit(query.limit + 1)
    .all()
  return paginate(ctx, scope, query.limit, rows, (row) => [row.severity, row.alert_id], view)
}

/** Marks as read every unread alert that passes the filters, and says how many these were. */
export async function readAlerts(ctx: Ctx, query: AlertFilters): Promise<{ read_count: number }> {
  const [result] = await changeEvents(ctx, { action: 'alert.read', resource_id: ctx.organization.id, changed: ['read_at'] }, [
    eventsOf(ctx)
      .update(alerts)
      .set({ read_at: ctx.now })
      .where(and(ofOrganization(ctx, query), isNull(alerts.read_at))),
  ])
  return { read_count: result!.meta.changes }
}

/** Marks an alert as read; an alert that is read already keeps its time. Throws Failure 404 alert.not_found. */
export async function readAlert(ctx: Ctx, alert_id: string): Promise<Alert> {
  const db = eventsOf(ctx)
  const own = and(isOf(ctx.organization), eq(alerts.alert_id, alert_id))
  const [row] = await db.select().from(alerts).where(own).limit(1)
  if (!row) throw notFound('alert')
  if (row.read_at) return view(row)
  await changeEvents(ctx, { action: 'alert.read', resource_id: alert_id, changed: ['read_at'] }, [
    db
      .update(alerts)
      .set({ read_at: ctx.now })
      .where(and(own, isNull(alerts.read_at))),
  ])
  return view({ ...row, read_at: ctx.now })
}
