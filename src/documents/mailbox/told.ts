import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { NotificationKind } from '../../authority/port/mailbox.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import { INTO_OUTBOX } from '../../platform/outbox/outbox.ts'
import { pendingSince } from './deadlines.ts'
import { mailboxNotifications, mailboxReaders } from './tables.ts'

/** The key of the event of a notification. */
export const NOTIFICATION_RECEIVED = 'mailbox.notification_received'

/** What an outbox event says of a notification. Times are milliseconds since 1970. */
export interface NotificationBody {
  notification: string
  kind: NotificationKind
  title: string
  authority: string
  document_number: string | null
  sent_at: number
  opened_at: number | null
}

const m = alias(mailboxNotifications, 'm')
const k = alias(mailboxReaders, 'k')
const BODY = sql`json_object('notification', ${m.notification}, 'kind', ${m.kind}, 'title', ${m.title}, 'authority', ${m.authority},
  'document_number', ${m.document_number}, 'sent_at', ${m.sent_at}, 'opened_at', ${m.opened_at})`

/** Who gets what a mailbox lists: a select of rows `entity, organization`; or its text with the parameters ?1 to ?3, and their values. */
export type Readers = SQL | { sql: string; values: readonly [string | number, string | number, string | number] }

const selectOf = (readers: Readers): SQL =>
  'values' in readers
    ? sql.join(readers.sql.split(/\?(\d)/).map((part, n) => (n % 2 === 0 ? sql.raw(part) : sql`${readers.values[Number(part) - 1]}`)))
    : readers

/**
 * Returns the statements that show organizations what a mailbox lists, and that put an event of each notification that is new to them into
 * the outbox. An organization that has not had the mailbox listed before is told only of what it can still open, or what was sent as lately.
 * `tag` names the occasion. A repetition changes nothing.
 */
export function tellStatements(ledger: D1Database, readers: Readers, tag: string, now: Date): D1PreparedStatement[] {
  const r = sql`with r (entity, organization) as materialized (${selectOf(readers)})`
  const isNew = sql`json_extract(${m.organizations}, '$.' || r.organization) is null`
  const instant = now.getTime()
  return [
    prepared(
      ledger,
      sql`${r} ${INTO_OUTBOX}
        select ${m.entity}, ${`${NOTIFICATION_RECEIVED}:`} || ${m.sent_at} || ':' || ${m.notification} || ${`:${tag}`}, ${NOTIFICATION_RECEIVED},
          json_group_array(r.organization), ${BODY}, ${instant}
        from r cross join ${mailboxNotifications} ${m} on ${m.entity} = r.entity
        where ${m.is_listed} = 1 and ${isNew} and ((${m.opened_at} is null and ${m.sent_at} >= ${pendingSince(now).getTime()}) or exists (
          select 1 from ${mailboxReaders} ${k} where ${k.entity} = r.entity and ${k.organization_id} = r.organization))
        group by ${m.entity}, ${m.sent_at}, ${m.notification}
        on conflict do nothing`,
    ),
    prepared(
      ledger,
      sql`${r} update ${mailboxNotifications} as ${m} set ${bare(m.organizations)} = json_patch(
          (select json_group_object(organization, ${instant}) from r where r.entity = ${m.entity}), ${m.organizations})
        where ${m.entity} in (select entity from r) and ${m.is_listed} = 1
          and exists (select 1 from r where r.entity = ${m.entity} and ${isNew})`,
    ),
    prepared(
      ledger,
      sql`${r} insert into ${mailboxReaders} ${[mailboxReaders.entity, mailboxReaders.organization_id].map(bare)}
        select entity, organization from r where true on conflict do nothing`,
    ),
  ]
}
