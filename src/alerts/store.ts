import { and, desc, eq, isNotNull, isNull, lt } from 'drizzle-orm'
import { type Database, jsonChunks } from '../platform/db/commit.ts'
import { prepared, sql } from '../platform/db/fragment.ts'
import { newId } from '../platform/db/id.ts'
import { alerts } from './tables.ts'

export type AlertRow = typeof alerts.$inferSelect

export interface AlertDraft extends Pick<AlertRow, 'organization_id' | 'kind' | 'severity' | 'resource_id' | 'message'> {
  /** Identifies the situation: an organization has at most one alert for each key. */
  dedupe_key: string
  /** What is raised in its place when the organization has had MOST_OF_GROUP alerts whose keys begin with this key and a colon. */
  overflow?: Pick<AlertRow, 'dedupe_key' | 'resource_id' | 'message'>
}

export const MOST_OF_GROUP = 5

/**
 * Returns the statements that raise alerts in an events shard. If the organization has an alert with the same key, a critical draft
 * replaces a warning and makes it unread; any other draft changes nothing.
 */
export const alertStatements = (d1: D1Database, drafts: readonly AlertDraft[], now: Date): D1PreparedStatement[] =>
  jsonChunks(
    drafts.map(({ organization_id, kind, severity, dedupe_key, resource_id, message, overflow }) => [
      ...[newId('alr'), organization_id, kind, severity, dedupe_key, resource_id, message],
      ...(overflow ? [overflow.dedupe_key, overflow.resource_id, overflow.message] : []),
    ]),
  ).map((json) =>
    prepared(
      d1,
      sql`with drafts as materialized (
          select value as v, value->>7 is not null
            and not exists (select 1 from alerts where organization_id = value->>1 and dedupe_key = value->>4)
            and row_number() over (partition by value->>1, value->>7 order by key) + (
              select count(*) from alerts where organization_id = value->>1 and dedupe_key between value->>7 || ':' and value->>7 || ';'
            ) > ${MOST_OF_GROUP} as is_over
          from json_each(${json}))
        insert into alerts (alert_id, organization_id, kind, severity, dedupe_key, resource_id, message, created_at)
        select v->>0, v->>1, v->>2, v->>3, v->>iif(is_over, 7, 4), v->>iif(is_over, 8, 5), v->>iif(is_over, 9, 6), ${now.getTime()} from drafts where true
        on conflict (organization_id, dedupe_key) do update set
          kind = excluded.kind, severity = excluded.severity, message = excluded.message, created_at = excluded.created_at, read_at = null
        where alerts.severity = 'warning' and excluded.severity = 'critical'`,
    ),
  )

interface AlertFilters {
  kind?: AlertRow['kind'] | undefined
  severity?: AlertRow['severity'] | undefined
  resource_id?: string | undefined
  is_read?: boolean | undefined
}

export const listAlertRows = (
  db: Database,
  organization_id: string,
  filters: AlertFilters,
  after: string | undefined,
  limit: number,
): Promise<AlertRow[]> =>
  db
    .select()
    .from(alerts)
    .where(
      and(
        eq(alerts.organization_id, organization_id),
        filters.kind && eq(alerts.kind, filters.kind),
        filters.severity && eq(alerts.severity, filters.severity),
        filters.resource_id === undefined ? undefined : eq(alerts.resource_id, filters.resource_id),
        filters.is_read === undefined ? undefined : filters.is_read ? isNotNull(alerts.read_at) : isNull(alerts.read_at),
        after === undefined ? undefined : lt(alerts.alert_id, after),
      ),
    )
    .orderBy(desc(alerts.alert_id))
    .limit(limit)
    .all()

const oneOf = (organization_id: string, alert_id: string) => and(eq(alerts.organization_id, organization_id), eq(alerts.alert_id, alert_id))

export const findAlert = async (db: Database, organization_id: string, alert_id: string): Promise<AlertRow | undefined> =>
  (await db.select().from(alerts).where(oneOf(organization_id, alert_id)).limit(1))[0]

export const markRead = (db: Database, organization_id: string, alert_id: string, now: Date) =>
  db
    .update(alerts)
    .set({ read_at: now })
    .where(and(oneOf(organization_id, alert_id), isNull(alerts.read_at)))
