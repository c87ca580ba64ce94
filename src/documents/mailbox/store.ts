import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { EFFECTIVE_KINDS } from '../../authority/port/mailbox.ts'
import { jsonChunks } from '../../platform/db/commit.ts'
import { all, bare } from '../../platform/db/statement.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { mailboxNotifications } from '../tables.ts'
import type { NotificationStatus } from './deadlines.ts'

export type NotificationRow = typeof mailboxNotifications.$inferSelect
export type NotificationKey = Pick<NotificationRow, 'entity' | 'sent_at' | 'notification'>

const m = alias(mailboxNotifications, 'm')
const IS_EFFECTIVE = sql`${m.kind} in ${EFFECTIVE_KINDS}`

/**
 * An organization may read what its own runs listed, unless it was sent before the floor. One without extractors may read all. The floor is
 * in milliseconds.
 */
const isVisible = ({ entity, window, organization_id }: ScopedLedger, floor: number | null): SQL =>
  all([
    sql`${m.entity} = ${entity}`,
    ...(floor === null ? [] : [sql`${m.sent_at} >= ${floor}`]),
    ...(!window.isEmpty && window.floor === null && window.ceiling === null
      ? []
      : [sql`json_extract(${m.organizations}, '$.' || ${organization_id}) is not null`]),
  ])

/** `pendingSince` is the first instant of sending, in milliseconds, of notifications that can be pending. */
const hasStatus = (status: NotificationStatus, pendingSince: number): SQL => {
  if (status === 'informational') return sql`not ${IS_EFFECTIVE}`
  if (status === 'opened') return sql`${IS_EFFECTIVE} and ${m.opened_at} is not null`
  const unopened = sql`${IS_EFFECTIVE} and ${m.opened_at} is null`
  return status === 'pending' ? sql`${unopened} and ${m.sent_at} >= ${pendingSince}` : sql`${unopened} and ${m.sent_at} < ${pendingSince}`
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
export const listNotifications = (
  ledger: ScopedLedger,
  { floor, before, status, kind, since, pendingSince, limit }: Filters,
): SQL<NotificationRow> =>
  sql<NotificationRow>`select * from ${mailboxNotifications} ${m} where ${all([
    isVisible(ledger, floor),
    ...(before === null ? [] : [sql`${[m.sent_at, m.notification]} < ${before}`]),
    ...(status === undefined ? [] : [hasStatus(status, pendingSince)]),
    ...(kind === undefined ? [] : [sql`${m.kind} = ${kind}`]),
    ...(since === null ? [] : [sql`${m.sent_at} >= ${since}`]),
  ])} order by ${m.sent_at} desc, ${m.notification} desc limit ${limit}`

/** Finds the notifications that were sent at an instant and that the organization may read. */
export const notificationsAt = (ledger: ScopedLedger, floor: number | null, sent_at: number): SQL<NotificationRow> =>
  sql<NotificationRow>`select * from ${mailboxNotifications} ${m} where ${isVisible(ledger, floor)} and ${m.sent_at} = ${sent_at}`

export type KnownNotification = Pick<NotificationRow, 'sent_at' | 'notification' | 'opened_at' | 'is_listed' | 'sha256'>

/** The stored notifications of an RFC. */
export const knownNotifications = (entity: number): SQL<KnownNotification> =>
  sql<KnownNotification>`select ${m.sent_at}, ${m.notification}, ${m.opened_at}, ${m.is_listed}, ${m.sha256} from ${mailboxNotifications} ${m}
        where ${m.entity} = ${entity}`

export type NewNotification = Omit<NotificationRow, 'organizations' | 'is_listed'>

/** The columns that can be filled later, and those of a new notification in the order of their values. */
const FOUND = ['opened_at', 'name', 'content_type', 'size', 'sha256', 'fetched_at'] as const
const NEW = [
  ...(['entity', 'sent_at', 'notification', 'kind', 'title', 'authority', 'document_number', 'document_kind'] as const),
  ...FOUND,
]
const INSERTED = [...NEW, 'is_listed', 'organizations'] as const
const VALUES = sql.raw(NEW.map((_, i) => `value->>${i}`).join(', '))

/** Fills columns that are null, and keeps the others. */
const completing = (value: (name: (typeof FOUND)[number]) => unknown): SQL =>
  sql.join(
    FOUND.map((name) => sql`${bare(mailboxNotifications[name])} = coalesce(${mailboxNotifications[name]}, ${value(name)})`),
    sql`, `,
  )
const IS_LISTED = bare(mailboxNotifications.is_listed)

/** Stores the authority's list. It can add to stored notifications the opening, the document and that they are listed. Notifies nobody. */
export const upsertNotifications = (rows: readonly NewNotification[]): SQL[] =>
  jsonChunks(rows.map((row) => NEW.map((name) => row[name]))).map(
    (json) =>
      sql`insert into ${mailboxNotifications} ${INSERTED.map((name) => bare(mailboxNotifications[name]))}
        select ${VALUES}, 1, '{}' from json_each(${json}) where true
        on conflict do update set ${completing((name) => sql`excluded.${bare(mailboxNotifications[name])}`)}, ${IS_LISTED} = 1`,
  )

/** Returns the entities among these with a document fetched at an instant or later, in milliseconds. */
export const fetchedSince = (entities: readonly number[], since: number): SQL<number> =>
  sql<number>`select distinct ${m.entity} from json_each(${JSON.stringify(entities)}) e cross join ${mailboxNotifications} ${m} on ${m.entity} = e.value
      where ${m.fetched_at} >= ${since}`

/** Returns the organizations, as keys of a JSON object, that listed a notification whose document was fetched at an instant or later. */
export const listersOfFetched = (entity: number, since: number): SQL<string> =>
  sql<string>`select json_group_object(o.key, 1) from ${mailboxNotifications} ${m} cross join json_each(${m.organizations}) o
    where ${m.entity} = ${entity} and ${m.fetched_at} >= ${since}`

/** Records that the mailbox does not show these any more. */
export const unlistNotifications = (entity: number, gone: readonly KnownNotification[]): SQL[] =>
  jsonChunks(gone.map(({ sent_at, notification }) => [sent_at, notification])).map(
    (json) =>
      sql`update ${mailboxNotifications} as ${m} set ${IS_LISTED} = 0
        where ${m.entity} = ${entity} and ${[m.sent_at, m.notification]} in (select value->>0, value->>1 from json_each(${json}))`,
  )

type Found = Pick<NotificationRow, (typeof FOUND)[number]>

/** Adds when a notification was opened, and its document, and keeps known values. Returns the `organizations` that listed it. */
export const completeNotification = ({ entity, sent_at, notification }: NotificationKey, found: Found) => {
  const row = mailboxNotifications
  return sql<Pick<NotificationRow, 'organizations'>>`update ${row} set ${completing((name) => found[name])}
      where ${row.entity} = ${entity} and ${row.sent_at} = ${sent_at} and ${row.notification} = ${notification}
      returning ${bare(row.organizations)}`
}
