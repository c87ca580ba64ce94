import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { bare, insertion, readFirst } from '../../../platform/db/statement.ts'
import { clock } from '../../../platform/time/clock.ts'
import { type Leased, RowLease } from '../../../platform/work/lease.ts'
import { connections } from '../../../taxpayers/tables.ts'
import { mailboxRequests } from './tables.ts'

export type MailboxRequest = typeof mailboxRequests.$inferSelect
type Key = Pick<MailboxRequest, 'organization_id' | 'entity' | 'sent_at' | 'notification'>
type Asked = Key & Pick<MailboxRequest, 'shard' | 'notification_id'>

const { organization_id, entity, sent_at, notification } = mailboxRequests
const { acknowledged_by, attempts, not_before, lease_until } = mailboxRequests
const c = alias(connections, 'c')
const KEY = [organization_id, entity, sent_at, notification]

const isKey = (key: Key): SQL =>
  sql`${organization_id} = ${key.organization_id} and ${entity} = ${key.entity} and ${sent_at} = ${key.sent_at} and ${notification} = ${key.notification}`

/** The condition that a credential may acknowledge an opening. */
export const mayAcknowledge = (api_key: SQL, now: Date): SQL =>
  sql`exists (select 1 from credentials c where c.api_key = ${api_key} and c.revoked_at is null and c.role <> 'member'
    and (c.expires_at is null or c.expires_at > ${now.getTime()}))`

/** The condition that an opening of a notification waits, and that somebody stands behind it. */
export const isOpening = (key: Key, now: Date): SQL =>
  sql`exists (select 1 from ${mailboxRequests} where ${isKey(key)} and ${mayAcknowledge(sql`${acknowledged_by}`, now)})`

/**
 * The condition for the openings of organizations that nobody stands behind any more. Their credential was revoked, expired or became a
 * member's, or the connection has stopped being active: then `acknowledged_by` is empty (trigger `openings_left`).
 */
export const isOrphaned = (organization_ids: readonly string[], now: Date): SQL =>
  sql`${organization_id} in (select value from json_each(${JSON.stringify(organization_ids)})) and ${acknowledged_by} is not null
    and not ${mayAcknowledge(sql`${acknowledged_by}`, now)}`

export const deleteWhere = (condition: SQL): SQL => sql`delete from ${mailboxRequests} where ${condition}`

const insert = (
  { organization_id, entity, sent_at, notification, shard, notification_id }: Asked,
  acknowledged_by: string | null,
  now: number,
): SQL =>
  insertion(mailboxRequests, {
    ...{ organization_id, entity, sent_at, notification, shard, notification_id, acknowledged_by },
    ...{ attempts: 0, not_before: now, lease_until: 0 },
  })

/** Asks for a document, if it is not asked for already. */
export const insertRequest = (asked: Asked, now: number): SQL => sql`${insert(asked, null, now)} on conflict do nothing`

/** Asks for a notification to be opened, whether or not its document was asked for. */
export const insertOpening = (asked: Asked, api_key: string, now: number): SQL =>
  sql`${insert(asked, api_key, now)}
      on conflict do update set ${bare(acknowledged_by)} = ${api_key}, ${bare(attempts)} = 0, ${bare(not_before)} = ${now}`

/** The lease of a worker on a request. */
export const requestLease = new RowLease<MailboxRequest>(mailboxRequests, ['organization_id', 'entity', 'sent_at', 'notification'])

/** Claims the organization's due requests for an RFC, at most `limit`. */
export const claimRequests = (
  d1: D1Database,
  of: Pick<Key, 'organization_id' | 'entity'>,
  limit: number,
): Promise<Leased<MailboxRequest>[]> =>
  requestLease.claim(
    d1,
    sql`${KEY} in (
      select ${sql.join(KEY, sql`, `)} from ${mailboxRequests} where ${organization_id} = ${of.organization_id} and ${entity} = ${of.entity}
        and ${not_before} <= ${clock.now()} and ${requestLease.isFree()} limit ${limit})`,
  )

export const deleteRequest = (request: Leased<MailboxRequest>): SQL => deleteWhere(requestLease.isLeased(request))

/** The condition for a request that is still held, and an opening that is not recorded yet. */
export const isLeasedOpening = (request: Leased<MailboxRequest>): SQL =>
  sql`${requestLease.isLeased(request)} and ${acknowledged_by} is not null`

/** Whether an opening still waits, and somebody stands behind it. */
export const isStillOpening = async (d1: D1Database, request: Leased<MailboxRequest>, now: Date): Promise<boolean> =>
  (await readFirst(
    d1,
    sql`select 1 from ${mailboxRequests} where ${isLeasedOpening(request)} and ${mayAcknowledge(sql`${acknowledged_by}`, now)}`,
  )) !== null

/** Makes an opening that is recorded a request for its document. */
export const endOpening = (request: Leased<MailboxRequest>): SQL =>
  sql`update ${mailboxRequests} set ${bare(acknowledged_by)} = null where ${isLeasedOpening(request)}`

export const postponeRequest = (request: Leased<MailboxRequest>, until: number): SQL =>
  requestLease.release(request, sql`${bare(attempts)} = ${attempts} + 1, ${bare(not_before)} = ${until}`)

/** An active connection whose organization may read a notification, and the organization's events shard. */
export interface NotificationReader {
  organization_id: string
  fiscal_entity_id: string
  events_shard: number
}

/**
 * Finds the active connections to an RFC whose organizations may read a notification, as far as floors let them: those that it names, and those
 * without extractors. `organizations` is a JSON object with their ids as keys.
 */
export const readersOf = (taxpayer: number, organizations: string): SQL<NotificationReader> =>
  sql<NotificationReader>`select ${c.organization_id}, ${c.fiscal_entity_id}, o.events_shard
        from ${connections} ${c} indexed by connections_entity cross join organizations o on o.id = ${c.organization_id}
        where ${c.entity} = ${taxpayer} and ${c.state} = 'active'
          and (o.extractor_count = 0 or ${c.organization_id} in (select key from json_each(${organizations})))`

/** The organizations and RFCs with requests that are due and that nobody works on. */
export const dueRequests = (now: number, limit: number): SQL<Pick<Key, 'organization_id' | 'entity'>> =>
  sql<Pick<Key, 'organization_id' | 'entity'>>`select distinct organization_id, entity from (
          select ${organization_id}, ${entity} from ${mailboxRequests}
          where ${not_before} <= ${now} and ${lease_until} < ${now} order by ${not_before} limit ${limit})`
