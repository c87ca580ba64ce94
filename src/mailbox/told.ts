import type { NotificationKind } from '../authority/port/mailbox.ts'
import { pendingSince } from './deadlines.ts'

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

const BODY = `json_object('notification', m.notification, 'kind', m.kind, 'title', m.title, 'authority', m.authority,
  'document_number', m.document_number, 'sent_at', m.sent_at, 'opened_at', m.opened_at)`

/** Who gets what a mailbox lists: SQL with rows `entity, organization` and the parameters ?1 to ?3, and their values. */
export interface Readers {
  sql: string
  values: readonly [string | number, string | number, string | number]
}

/**
 * Returns the statements that show organizations what a mailbox lists, and that put an event of each notification that is new to them into
 * the outbox. An organization that has not had the mailbox listed before is told only of what it can still open, or what was sent as lately.
 * `tag` names the occasion. A repetition changes nothing.
 */
export function tellStatements(ledger: D1Database, readers: Readers, tag: string, now: Date): D1PreparedStatement[] {
  const isNew = `json_extract(m.organizations, '$.' || r.organization) is null`
  const prepare = (sql: string, ...more: (string | number)[]) =>
    ledger.prepare(`with r (entity, organization) as materialized (${readers.sql}) ${sql}`).bind(...readers.values, ...more)
  return [
    prepare(
      `insert into outbox (entity, fact_id, kind, organizations, body, created_at)
       select m.entity, '${NOTIFICATION_RECEIVED}:' || m.sent_at || ':' || m.notification || ':' || ?5, '${NOTIFICATION_RECEIVED}',
         json_group_array(r.organization), ${BODY}, ?4
       from r cross join mailbox_notifications m on m.entity = r.entity
       where m.is_listed = 1 and ${isNew} and ((m.opened_at is null and m.sent_at >= ?6) or exists (
         select 1 from mailbox_readers k where k.entity = r.entity and k.organization_id = r.organization))
       group by m.entity, m.sent_at, m.notification
       on conflict do nothing`,
      ...[now.getTime(), tag, pendingSince(now).getTime()],
    ),
    prepare(
      `update mailbox_notifications as m
       set organizations = json_patch((select json_group_object(organization, ?4) from r where r.entity = m.entity), organizations)
       where m.entity in (select entity from r) and m.is_listed = 1 and exists (select 1 from r where r.entity = m.entity and ${isNew})`,
      now.getTime(),
    ),
    prepare('insert into mailbox_readers (entity, organization_id) select entity, organization from r where true on conflict do nothing'),
  ]
}
