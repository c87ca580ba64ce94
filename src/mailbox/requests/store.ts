import { type SQL, sql } from 'drizzle-orm'
import { prepared } from '../../platform/db/statement.ts'
import type { mailboxRequests } from './tables.ts'

export type MailboxRequest = typeof mailboxRequests.$inferSelect
type Key = Pick<MailboxRequest, 'organization_id' | 'entity' | 'sent_at' | 'notification'>
type Asked = Key & Pick<MailboxRequest, 'shard' | 'notification_id'>

const KEY = 'organization_id = ?1 and entity = ?2 and sent_at = ?3 and notification = ?4'
const keysOf = ({ organization_id, entity, sent_at, notification }: Key) => [organization_id, entity, sent_at, notification] as const

const isKey = ({ organization_id, entity, sent_at, notification }: Key): SQL =>
  sql`organization_id = ${organization_id} and entity = ${entity} and sent_at = ${sent_at} and notification = ${notification}`

/** The condition that a credential may acknowledge an opening. */
export const mayAcknowledge = (api_key: SQL, now: Date): SQL =>
  sql`exists (select 1 from credentials c where c.api_key = ${api_key} and c.revoked_at is null and c.role <> 'member'
    and (c.expires_at is null or c.expires_at > ${now.getTime()}))`

/** The condition that an opening of a notification waits, and that somebody stands behind it. */
export const isOpening = (key: Key, now: Date): SQL =>
  sql`exists (select 1 from mailbox_requests where ${isKey(key)} and ${mayAcknowledge(sql.raw('acknowledged_by'), now)})`

/**
 * The condition for the openings of organizations that nobody stands behind any more. Their credential was revoked, expired or became a
 * member's, or the connection has stopped being active: then `acknowledged_by` is empty (trigger `openings_left`).
 */
export const isOrphaned = (organization_ids: readonly string[], now: Date): SQL =>
  sql`organization_id in (select value from json_each(${JSON.stringify(organization_ids)})) and acknowledged_by is not null
    and not ${mayAcknowledge(sql.raw('acknowledged_by'), now)}`

export const deleteWhere = (d1: D1Database, condition: SQL): D1PreparedStatement =>
  prepared(d1, sql`delete from mailbox_requests where ${condition}`)

const insert = (conflict: string) =>
  `insert into mailbox_requests (organization_id, entity, sent_at, notification, shard, notification_id, acknowledged_by, attempts, not_before,
     lease_until)
   values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, 0) ${conflict}`

/** Asks for a document, if it is not asked for already. */
export const insertRequest = (d1: D1Database, asked: Asked, now: number): D1PreparedStatement =>
  d1.prepare(insert('on conflict do nothing')).bind(...keysOf(asked), asked.shard, asked.notification_id, null, now)

/** Asks for a notification to be opened, whether or not its document was asked for. */
export const insertOpening = (d1: D1Database, asked: Asked, api_key: string, now: number): D1PreparedStatement =>
  d1
    .prepare(insert('on conflict do update set acknowledged_by = ?7, attempts = 0, not_before = ?8'))
    .bind(...keysOf(asked), asked.shard, asked.notification_id, api_key, now)

/** Leases the organization's due requests for an RFC, at most `limit`. */
export const claimRequests = async (
  d1: D1Database,
  { organization_id, entity }: Pick<Key, 'organization_id' | 'entity'>,
  lease: { token: string; now: number; until: number; limit: number },
): Promise<MailboxRequest[]> =>
  (
    await d1
      .prepare(
        `update mailbox_requests set token = ?3, lease_until = ?5
         where (organization_id, entity, sent_at, notification) in (
           select organization_id, entity, sent_at, notification from mailbox_requests
           where organization_id = ?1 and entity = ?2 and not_before <= ?4 and lease_until < ?4 limit ?6)
         returning *`,
      )
      .bind(organization_id, entity, lease.token, lease.now, lease.until, lease.limit)
      .all<MailboxRequest>()
  ).results

const HELD = `${KEY} and token = ?5`

export const deleteRequest = (d1: D1Database, request: MailboxRequest): D1PreparedStatement =>
  d1.prepare(`delete from mailbox_requests where ${HELD}`).bind(...keysOf(request), request.token)

/** The condition for a request that is still held, and an opening that is not recorded yet. */
export const isHeldOpening = (request: MailboxRequest): SQL =>
  sql`${isKey(request)} and token = ${request.token} and acknowledged_by is not null`

/** Whether an opening still waits, and somebody stands behind it. */
export const isStillOpening = async (d1: D1Database, request: MailboxRequest, now: Date): Promise<boolean> =>
  (await prepared(
    d1,
    sql`select 1 from mailbox_requests where ${isHeldOpening(request)} and ${mayAcknowledge(sql.raw('acknowledged_by'), now)}`,
  ).first()) !== null

/** Makes an opening that is recorded a request for its document. */
export const endOpening = (d1: D1Database, request: MailboxRequest): D1PreparedStatement =>
  prepared(d1, sql`update mailbox_requests set acknowledged_by = null where ${isHeldOpening(request)}`)

export const postponeRequest = (d1: D1Database, request: MailboxRequest, not_before: number): D1PreparedStatement =>
  d1
    .prepare(`update mailbox_requests set token = null, lease_until = 0, attempts = attempts + 1, not_before = ?6 where ${HELD}`)
    .bind(...keysOf(request), request.token, not_before)

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
export const readersOf = async (d1: D1Database, entity: number, organizations: string): Promise<NotificationReader[]> =>
  (
    await d1
      .prepare(
        `select c.organization_id, c.fiscal_entity_id, o.events_shard
         from connections c indexed by connections_entity cross join organizations o on o.id = c.organization_id
         where c.entity = ?1 and c.state = 'active'
           and (o.extractor_count = 0 or c.organization_id in (select key from json_each(?2)))`,
      )
      .bind(entity, organizations)
      .all<NotificationReader>()
  ).results

/** The organizations and RFCs with requests that are due and that nobody works on. */
export const dueRequests = async (d1: D1Database, now: number, limit: number): Promise<Pick<Key, 'organization_id' | 'entity'>[]> =>
  (
    await d1
      .prepare(
        `select distinct organization_id, entity from (
           select organization_id, entity from mailbox_requests where not_before <= ?1 and lease_until < ?1 order by not_before limit ?2)`,
      )
      .bind(now, limit)
      .all<Pick<Key, 'organization_id' | 'entity'>>()
  ).results
