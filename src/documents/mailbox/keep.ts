import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey, Login } from '../../authority/port/authority.ts'
import {
  isPending,
  type ListedMailbox,
  type MailboxNotification,
  type NotificationKind,
  WouldNotify,
} from '../../authority/port/mailbox.ts'
import { bare, readRows } from '../../platform/db/statement.ts'
import { Unavailable } from '../../platform/failures.ts'
import { INTO_OUTBOX } from '../../platform/outbox/outbox.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
import { mailboxNotifications, mailboxReaders } from '../tables.ts'
import { pendingSince } from './deadlines.ts'
import {
  type KnownNotification,
  knownNotifications,
  type NewNotification,
  type NotificationRow,
  unlistNotifications,
  upsertNotifications,
} from './store.ts'

/** The key of the event of a notification. */
export const NOTIFICATION_RECEIVED = 'mailbox.notification_received'

/** The body of the outbox event of a notification. Times are milliseconds since 1970. */
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

/**
 * Returns the statements that show organizations the notifications of a mailbox, and that put an event of each new one into the outbox. The
 * first time that an organization has a mailbox listed, it is notified only of those that it can still open, or that were sent as lately.
 * `readers` selects rows `entity, organization`, and `tag` names the occasion. A repetition changes nothing.
 */
export function notifyStatements(readers: SQL, tag: string, now: Date): SQL[] {
  const r = sql`with r (entity, organization) as materialized (${readers})`
  const isNew = sql`json_extract(${m.organizations}, '$.' || r.organization) is null`
  const instant = now.getTime()
  return [
    sql`${r} ${INTO_OUTBOX}
        select ${m.entity}, ${`${NOTIFICATION_RECEIVED}:`} || ${m.sent_at} || ':' || ${m.notification} || ${`:${tag}`}, ${NOTIFICATION_RECEIVED},
          json_group_array(r.organization), ${BODY}, ${instant}
        from r cross join ${mailboxNotifications} ${m} on ${m.entity} = r.entity
        where ${m.is_listed} = 1 and ${isNew} and ((${m.opened_at} is null and ${m.sent_at} >= ${pendingSince(now).getTime()}) or exists (
          select 1 from ${mailboxReaders} ${k} where ${k.entity} = r.entity and ${k.organization_id} = r.organization))
        group by ${m.entity}, ${m.sent_at}, ${m.notification}
        on conflict do nothing`,
    sql`${r} update ${mailboxNotifications} as ${m} set ${bare(m.organizations)} = json_patch(
          (select json_group_object(organization, ${instant}) from r where r.entity = ${m.entity}), ${m.organizations})
        where ${m.entity} in (select entity from r) and ${m.is_listed} = 1
          and exists (select 1 from r where r.entity = ${m.entity} and ${isNew})`,
    sql`${r} insert into ${mailboxReaders} ${[mailboxReaders.entity, mailboxReaders.organization_id].map(bare)}
        select entity, organization from r where true on conflict do nothing`,
  ]
}

/** The data source to which the mailbox belongs. */
export const MAILBOX_SOURCE: DataSourceKey = 'sat_miinformacion'

/** Documents that one job fetches at most. Requests and the next jobs fetch the others. */
const MOST_DOCUMENTS = 25

export const objectOf = (sha256: string): string => `mailbox/${sha256}`

interface MailboxJob {
  entity: number
  source: string
  job_id: string
}

interface Target {
  ledger: D1Database
  files: R2Bucket
  mailbox: ListedMailbox
  now: Date
}

/** The organizations of a job, as they are when its end is committed. */
const readersOf = ({ entity, source, job_id }: MailboxJob): SQL =>
  sql`select s.entity, o.value from sync_jobs s cross join json_each(${requestersOf({ organizations: sql`s.organizations`, entity: sql`s.entity` })}) o
    where s.entity = ${entity} and s.source = ${source} and s.month = '' and s.job_id = ${job_id}`

/**
 * Lists the mailbox, which opens nothing, and fetches the documents that can be read without opening anything. Returns the statements to be
 * committed with the end of the job, whether anything is new, and whether there are late documents, of notifications that were listed before.
 * Nothing for a job of another source.
 */
export async function keepNotifications(
  into: Target,
  job: MailboxJob,
  login: Login,
): Promise<{ statements: SQL[]; isChanged: boolean; hasLate: boolean }> {
  if (job.source !== MAILBOX_SOURCE) return { statements: [], isChanged: false, hasLate: false }
  const { ledger, mailbox, now } = into
  const listed = await mailbox.list(login, now)
  const known = new Map((await readRows(ledger, knownNotifications(job.entity))).map((row) => [keyOf(row.sent_at, row.notification), row]))
  const rows: NewNotification[] = []
  let [left, hasLate] = [MOST_DOCUMENTS, false]
  for (const one of listed.toSorted((a, b) => b.sent_at.getTime() - a.sent_at.getTime())) {
    const before = known.get(keyOf(one.sent_at.getTime(), one.notification))
    const isWanted = left > 0 && one.document_kind !== null && !before?.sha256 && !isPending(one, now)
    if (isWanted) left--
    const content = isWanted ? await fetchedDocument(into, login, one.notification).catch(ifLater) : null
    hasLate ||= before !== undefined && content !== null
    if (isChange(before, one) || content) rows.push({ ...rowOf(job.entity, one), ...(content ?? NO_CONTENT) })
  }
  const shown = new Set(listed.map(({ sent_at, notification }) => keyOf(sent_at.getTime(), notification)))
  const gone = [...known].flatMap(([key, row]) => (row.is_listed === 1 && !shown.has(key) ? [row] : []))
  return {
    statements: [
      ...upsertNotifications(rows),
      ...unlistNotifications(job.entity, gone),
      ...(known.size + rows.length > 0 ? notifyStatements(readersOf(job), job.job_id, now) : []),
    ],
    isChanged: rows.length > 0,
    hasLate,
  }
}

const keyOf = (sent_at: number, notification: string): string => `${sent_at}|${notification}`

const isChange = (before: KnownNotification | undefined, { opened_at }: MailboxNotification): boolean =>
  before === undefined || before.is_listed === 0 || (before.opened_at === null && opened_at !== null)

const rowOf = (entity: number, { sent_at, opened_at, ...one }: MailboxNotification) => ({
  ...one,
  entity,
  sent_at: sent_at.getTime(),
  opened_at: opened_at?.getTime() ?? null,
})

type Content = Pick<NotificationRow, 'name' | 'content_type' | 'size' | 'sha256' | 'fetched_at'>
export const NO_CONTENT: Content = { name: null, content_type: null, size: null, sha256: null, fetched_at: null }

/** A document that is not available now is fetched later, without holding up the rest of the mailbox. */
const ifLater = (error: unknown): null => {
  if (error instanceof WouldNotify || error instanceof Unavailable) return null
  throw error
}

/** Fetches a document and stores its bytes; null when the authority does not have it ready. Throws WouldNotify, LoginRejected, Unavailable. */
export async function fetchedDocument(
  { files, mailbox, now }: Pick<Target, 'files' | 'mailbox' | 'now'>,
  login: Login,
  notification: string,
): Promise<Content | null> {
  const document = await mailbox.document(login, notification, now)
  if (!document) return null
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', document.bytes)).toHex()
  await files.put(objectOf(sha256), document.bytes)
  return { name: document.name, content_type: document.content_type, size: document.bytes.length, sha256, fetched_at: now.getTime() }
}
