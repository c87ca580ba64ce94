import { and, eq, type SQL, sql } from 'drizzle-orm'
import { mails, members } from '../../accounts/tables.ts'
import type { MemberRow } from '../../accounts/team/members.ts'
import type { AlertRow } from '../../platform/alerts/alerts.ts'
import { alerts } from '../../platform/alerts/tables.ts'
import { connect, type Database, jsonChunks } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, readColumn, readFirst } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { connections } from '../../taxpayers/tables.ts'

/** An alert as a mail names it: raised again, it is another one. */
export type AlertKey = readonly [alert_id: string, created_at: number]

/** The organizations after this one that have alerts of which nobody has decided who gets them by mail. */
export const unmailedOrganizations = (shard: D1Database, after: string, limit: number): Promise<string[]> =>
  readColumn(
    shard,
    sql<string>`select distinct ${alerts.organization_id} from ${alerts} indexed by alerts_unmailed
      where ${alerts.is_mailed} = 0 and ${alerts.organization_id} > ${after} order by 1 limit ${limit}`,
  )

/** Such alerts of an organization, the newest first. */
export const unmailedAlerts = (shard: D1Database, organization_id: string, limit: number): Promise<AlertRow[]> =>
  connect(shard)
    .select()
    .from(alerts)
    .where(and(eq(alerts.organization_id, organization_id), sql`${alerts.is_mailed} = 0`))
    .orderBy(sql`${alerts.alert_id} desc`)
    .limit(limit)
    .all()

/** The alerts of an organization with these keys. */
export const alertsOf = (shard: D1Database, organization_id: string, keys: readonly AlertKey[]): Promise<AlertRow[]> =>
  connect(shard)
    .select()
    .from(alerts)
    .where(and(eq(alerts.organization_id, organization_id), isAmong(keys)))
    // Without the sign the planner would read all alerts of the organization in this order.
    .orderBy(sql`+${alerts.severity}`, sql`${alerts.alert_id} desc`)
    .all()

const isAmong = (keys: readonly AlertKey[]): SQL =>
  sql`${[alerts.alert_id, alerts.created_at]} in (select value->>0, value->>1 from json_each(${JSON.stringify(keys)}))`

export const markMailed = (organization_id: string, keys: readonly AlertKey[]): SQL =>
  sql`update ${alerts} set ${bare(alerts.is_mailed)} = 1 where ${alerts.organization_id} = ${organization_id} and ${isAmong(keys)}`

/** The last mail of alerts to members of an organization. */
export const lastAlertMail = async (d1: D1Database, organization_id: string): Promise<{ created_at: number; about: string } | null> =>
  readFirst(
    d1,
    sql<{ created_at: number; about: string }>`select ${mails.created_at}, ${mails.about} from ${mails}
      where ${mails.organization_id} = ${organization_id} and ${mails.kind} = 'alerts' order by ${mails.created_at} desc limit 1`,
  )

/** Refuses its batch when another worker has decided about alerts of the organization since. */
export const assertLastAlertMail = (organization_id: string, created_at: number): SQL =>
  assertThat(
    sql`(select coalesce(max(${mails.created_at}), 0) from ${mails} where ${mails.organization_id} = ${organization_id}
      and ${mails.kind} = 'alerts') = ${created_at}`,
    'alerts.unmailed',
  )

/** The members with a confirmed address who get alerts by mail. */
export const alertReaders = (db: Database, organization_id: string): Promise<MemberRow[]> =>
  db
    .select()
    .from(members)
    .where(
      and(
        eq(members.organization_id, organization_id),
        eq(members.status, 'active'),
        sql`${members.email_confirmed_at} is not null and ${members.mail_alerts} <> 'none'`,
      ),
    )
    .all()

const COLUMNS = [
  ...[mails.mail_id, mails.kind, mails.organization_id, mails.member_id, mails.about, mails.email, mails.address, mails.network],
  mails.created_at,
].map(bare)

/** The statements that ask for mails to members about alerts: rows of the mail, the member and the address, as it is and in its normal form. */
export const askForAlerts = (
  rows: readonly (readonly [mail_id: string, member_id: string, email: string, address: string])[],
  organization_id: string,
  about: string,
  now: Date,
): SQL[] =>
  jsonChunks(rows).map(
    (json) =>
      sql`insert into ${mails} ${COLUMNS} select value->>0, 'alerts', ${organization_id}, value->>1, ${about}, value->>2, value->>3, '', ${now.getTime()}
        from json_each(${json})`,
  )

/** The organizations of a zone, with a connection, that had no digest on this Monday and signed up before it. */
export const undigestedOrganizations = (d1: D1Database, zone: string, monday: string, since: Date, limit: number): Promise<string[]> =>
  readColumn(
    d1,
    sql<string>`select ${organizations.id} from ${organizations} indexed by organizations_digest
      where ${organizations.timezone} = ${zone} and ${organizations.digest_on} < ${monday} and ${organizations.suspension} is null
        and ${organizations.created_at} < ${since.getTime()} and exists (select 1 from ${connections}
          where ${connections.organization_id} = ${organizations.id} and ${connections.state} <> 'unlinked')
      limit ${limit}`,
  )

/** The statements that ask for the digests of organizations, each once: for their members with a confirmed address who want it. */
export const askForDigests = (ids: readonly string[], monday: string, now: Date): SQL[] => {
  const undigested = sql`${organizations.id} in (select value from json_each(${JSON.stringify(ids)})) and ${organizations.digest_on} < ${monday}`
  return [
    sql`insert into ${mails} ${COLUMNS}
        select 'digest_' || ${monday} || '_' || ${members.member_id}, 'digest', ${members.organization_id}, ${members.member_id}, ${monday}, ${members.email},
          lower(${members.email}), '', ${now.getTime()}
        from ${organizations} cross join ${members} indexed by members_organization on ${members.organization_id} = ${organizations.id}
        where ${undigested} and ${members.status} = 'active' and ${members.mail_digest} = 1 and ${members.email_confirmed_at} is not null
        on conflict do nothing returning ${bare(mails.mail_id)}`,
    sql`update ${organizations} set ${bare(organizations.digest_on)} = ${monday} where ${undigested}`,
  ]
}
