import { type SQL, sql } from 'drizzle-orm'
import { EFFECTIVE_KINDS } from '../authority/port/mailbox.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { all, prepared } from '../platform/db/statement.ts'
import type { ScopedLedger } from '../visibility/scoped-ledger.ts'
import type { NotificationStatus } from './deadlines.ts'
import type { mailboxNotifications } from './tables.ts'

export type NotificationRow = typeof mailboxNotifications.$inferSelect
export type NotificationKey = Pick<NotificationRow, 'entity' | 'sent_at' | 'notification'>

const EFFECTIVE = `kind in ('${EFFECTIVE_KINDS.join("', '")}')`

/**
 * An organization may read what a run of its own listed, unless it was sent before the floor. One without extractors may read all. The floor is
 * in milliseconds.
 */
const isVisible = ({ entity, window, organization_id }: ScopedLedger, floor: number | null): SQL =>
  all([
    sql`entity = ${entity}`,
    ...(floor === null ? [] : [sql`sent_at >= ${floor}`]),
    ...(!window.isEmpty && window.floor === null && window.ceiling === null
      ? []
      : [sql`json_extract(organizations, '$.' || ${organization_id}) is not null`]),
  ])

/** `pendingSince` is the first instant at which something can have been sent that is pending, in milliseconds. */
const hasStatus = (status: NotificationStatus, pendingSince: number): SQL => {
  if (status === 'informational') return sql.raw(`not ${EFFECTIVE}`)
  if (status === 'opened') return sql.raw(`${EFFECTIVE} and opened_at is not null`)
  const unopened = sql.raw(`${EFFECTIVE} and opened_at is null`)
  return status === 'pending' ? sql`${unopened} and sent_at >= ${pendingSince}` : sql`${unopened} and sent_at < ${pendingSince}`
}

interface Filters {
  floor: number | null
  before: readonly [sent_at: number, notification: string] | null
  status: NotificationStatus | undefined
  kind: string | undefined
  since: number | null
  pendingSince: number
  limit: number
}

/** Finds notifications that the organization may read, the latest first. */
export const listNotifications = async (ledger: ScopedLedger, { floor, before, status, kind, since, pendingSince, limit }: Filters) =>
  (
    await prepared(
      ledger.d1,
      sql`select * from mailbox_notifications where ${all([
        isVisible(ledger, floor),
        ...(before === null ? [] : [sql`(sent_at, notification) < (${before[0]}, ${before[1]})`]),
        ...(status === undefined ? [] : [hasStatus(status, pendingSince)]),
        ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
        ...(since === null ? [] : [sql`sent_at >= ${since}`]),
      ])} order by sent_at desc, notification desc limit ${limit}`,
    ).all<NotificationRow>()
  ).results

/** Finds the notifications that were sent at an instant and that the organization may read. */
export const notificationsAt = async (ledger: ScopedLedger, floor: number | null, sent_at: number): Promise<NotificationRow[]> =>
  (
    await prepared(
      ledger.d1,
      sql`select * from mailbox_notifications where ${isVisible(ledger, floor)} and sent_at = ${sent_at}`,
    ).all<NotificationRow>()
  ).results

export type KnownNotification = Pick<NotificationRow, 'sent_at' | 'notification' | 'opened_at' | 'is_listed' | 'sha256'>

/** What is known of the mailbox of an RFC. */
export const knownNotifications = async (ledger: D1Database, entity: number): Promise<KnownNotification[]> =>
  (
    await ledger
      .prepare('select sent_at, notification, opened_at, is_listed, sha256 from mailbox_notifications where entity = ?')
      .bind(entity)
      .all<KnownNotification>()
  ).results

export type NewNotification = Omit<NotificationRow, 'organizations' | 'is_listed'>

/** Stores what the authority lists. Of what is stored, the opening, the document and that it is listed can be added. Tells nobody. */
export const upsertNotifications = (ledger: D1Database, rows: readonly NewNotification[]): D1PreparedStatement[] =>
  jsonChunks(
    rows.map((row) => [
      ...[row.entity, row.sent_at, row.notification, row.kind, row.title, row.authority, row.document_number, row.document_kind],
      ...[row.opened_at, row.name, row.content_type, row.size, row.sha256, row.fetched_at],
    ]),
  ).map((json) =>
    ledger
      .prepare(
        `insert into mailbox_notifications (entity, sent_at, notification, kind, title, authority, document_number, document_kind, opened_at,
           name, content_type, size, sha256, fetched_at, is_listed, organizations)
         select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10,
           value->>11, value->>12, value->>13, 1, '{}'
         from json_each(?) where true
         on conflict do update set opened_at = coalesce(opened_at, excluded.opened_at), is_listed = 1, name = coalesce(name, excluded.name),
           content_type = coalesce(content_type, excluded.content_type), size = coalesce(size, excluded.size),
           sha256 = coalesce(sha256, excluded.sha256), fetched_at = coalesce(fetched_at, excluded.fetched_at)`,
      )
      .bind(json),
  )

/** Returns for which of these entities a document of a notification was fetched at an instant or later, in milliseconds. */
export const fetchedSince = async (ledger: D1Database, entities: readonly number[], since: number): Promise<Set<number>> => {
  const { results } = await ledger
    .prepare(
      `select distinct m.entity from json_each(?1) e cross join mailbox_notifications m on m.entity = e.value where m.fetched_at >= ?2`,
    )
    .bind(JSON.stringify(entities), since)
    .all<{ entity: number }>()
  return new Set(results.map(({ entity }) => entity))
}

/** Returns the organizations, as keys of a JSON object, that listed a notification whose document was fetched at an instant or later. */
export const listersOfFetched = async (ledger: D1Database, entity: number, since: number): Promise<string> =>
  (await ledger
    .prepare(
      `select json_group_object(o.key, 1) as organizations from mailbox_notifications m cross join json_each(m.organizations) o
       where m.entity = ?1 and m.fetched_at >= ?2`,
    )
    .bind(entity, since)
    .first<string>('organizations'))!

/** Records that the mailbox does not show these any more. */
export const unlistNotifications = (ledger: D1Database, entity: number, gone: readonly KnownNotification[]): D1PreparedStatement[] =>
  jsonChunks(gone.map(({ sent_at, notification }) => [sent_at, notification])).map((json) =>
    ledger
      .prepare(
        `update mailbox_notifications set is_listed = 0
         where entity = ?1 and (sent_at, notification) in (select value->>0, value->>1 from json_each(?2))`,
      )
      .bind(entity, json),
  )

type Found = Pick<NotificationRow, 'opened_at' | 'name' | 'content_type' | 'size' | 'sha256' | 'fetched_at'>

/** Adds when a notification was opened, and its document. What is known stays. Returns the `organizations` that listed it. */
export const completeNotification = (ledger: D1Database, { entity, sent_at, notification }: NotificationKey, found: Found) =>
  ledger
    .prepare(
      `update mailbox_notifications set opened_at = coalesce(opened_at, ?4), name = coalesce(name, ?5),
         content_type = coalesce(content_type, ?6), size = coalesce(size, ?7), sha256 = coalesce(sha256, ?8), fetched_at = coalesce(fetched_at, ?9)
       where entity = ?1 and sent_at = ?2 and notification = ?3 returning organizations`,
    )
    .bind(entity, sent_at, notification, found.opened_at, found.name, found.content_type, found.size, found.sha256, found.fetched_at)
