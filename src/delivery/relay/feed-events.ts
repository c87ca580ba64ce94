import { alertOf } from '../../documents/mailbox/alert.ts'
import { visibleSince } from '../../documents/mailbox/floor.ts'
import { notificationIdOf } from '../../documents/mailbox/notification-id.ts'
import { NOTIFICATION_RECEIVED, type NotificationBody } from '../../documents/mailbox/told.ts'
import { DOCUMENT_READ } from '../../documents/news.ts'
import { DUE_SOON, type DueSoonBody } from '../../documents/obligations/due-soon.ts'
import type { CancellationBody } from '../../downloads/cancellation-events.ts'
import type { JobCounts } from '../../downloads/counts/counts.ts'
import { EXTRACTION_ENDED } from '../../downloads/ends/extraction-ends.ts'
import { BLACKLIST_CHANGED, type BlacklistChangedBody } from '../../lists/listed/changed.ts'
import type { AlertDraft } from '../../platform/alerts/alerts.ts'
import { uuidOf } from '../../platform/db/id.ts'
import type { StoredOutboxEvent } from '../../platform/outbox/outbox.ts'
import { shownJobId } from '../../taxpayers/visibility/job-id.ts'
import { parseReaches, reachedAt } from '../../taxpayers/visibility/reaches.ts'
import { hullOf, NOTHING, shows, type Windows, windowsOf } from '../../taxpayers/visibility/window.ts'
import { eventIdOf } from '../events/event-id.ts'
import type { NewEvent } from '../events/store.ts'
import { alertOfEnd, alertOfInvalid } from './alerts/connection-alerts.ts'
import {
  type Brought,
  cancellationContents,
  contentOf,
  documentContent,
  dueSoonContent,
  extractionContent,
  type Recipient,
  type SyncBody,
} from './payloads.ts'
import type { RecipientRow } from './store.ts'

/** An event of an organization's feed, in its events shard. */
export interface FeedEvent extends NewEvent {
  events_shard: number
  /** The alert that is raised with it. */
  alert?: AlertDraft | null
  /** The key of the alert that it resolves. */
  resolves?: string
}

/**
 * Returns the events that an outbox event becomes in the feed of one organization: none when the organization may not know of the change,
 * two for the cancellation of a CFDI that was paid. Their identifiers derive from the change and the organization. `counts` says what the job
 * of a sync event brought to the organization. Throws when the outbox event cannot be read.
 */
export async function feedEventsOf(
  event: StoredOutboxEvent,
  row: RecipientRow,
  counts: Brought | undefined,
  takesCiec = true,
): Promise<FeedEvent[]> {
  if (event.kind === 'cfdi.cancelled') return cancellationsOf(event, JSON.parse(event.body) as CancellationBody, row)
  if (event.organizations === null) throw new Error(`An event of the kind ${event.kind} names no organization.`)
  if (!isNamed(event, row)) return []
  if (event.kind === NOTIFICATION_RECEIVED) return notificationsOf(event, JSON.parse(event.body) as NotificationBody, row)
  if (event.kind === BLACKLIST_CHANGED) return listingsOf(event, JSON.parse(event.body) as BlacklistChangedBody, row)
  const recipient = recipientOf(row, event.created_at, event.created_at)
  if (event.kind === EXTRACTION_ENDED) {
    const content = counts?.ended ? extractionContent(counts.ended, recipient) : null
    if (!content) return []
    const told = await feedEvent(row, content, event.outbox_event_id, event.created_at, false)
    return [{ ...told, ...alertOfEnd(row, counts!.ended!) }]
  }
  if (event.kind === DUE_SOON) return obligationsOf(event, JSON.parse(event.body) as DueSoonBody, row, recipient)
  // The same document can be told of with its job and when it is read.
  const documents = (counts?.news ?? []).map((news) =>
    feedEvent(row, documentContent(news, recipient), `${news.event}:${event.entity}:${news.document_id}`, news.got_at, true),
  )
  if (isDocumentRead(event)) return Promise.all(documents)
  const content = contentOf(event, await bodyFor(event, row, counts), recipient)
  const told = await feedEvent(row, content, event.outbox_event_id, event.created_at, false)
  const alert = content.event === 'connection.ciec_invalid' ? alertOfInvalid(row, content, takesCiec) : null
  return [{ ...told, alert }, ...(await Promise.all(documents))]
}

/** Whether an event says that a document was read, of which some may have been told without its fields. */
export const isDocumentRead = ({ kind }: Pick<StoredOutboxEvent, 'kind'>): boolean => kind === DOCUMENT_READ

/**
 * A cancellation that names organizations was missed by them, and was in their windows then. Any other one is for the organizations whose
 * windows show the CFDI. An organization whose own runs first reached the CFDI when it was cancelled already is not notified.
 */
async function cancellationsOf(event: StoredOutboxEvent, body: CancellationBody, row: RecipientRow): Promise<FeedEvent[]> {
  const known_at = row.state === 'active' ? Math.max(event.created_at, row.active_since ?? 0) : event.created_at
  const recipient = recipientOf(row, known_at, event.created_at)
  if (event.organizations === null ? !shows(recipient.windows[body.direction], body) : !isNamed(event, row)) return []
  if (!wasReachedBefore(body, row)) return []
  const contents = cancellationContents(body, recipient)
  // Several outbox events can report a cancellation: one for everybody, and one for each organization that missed it.
  return Promise.all(
    contents.map((content) => feedEvent(row, content, `${content.event}:${event.entity}:${body.cfdi_uuid}`, body.detected_at, true)),
  )
}

/** Whether the connection's own runs reached the CFDI, and its window showed it, before the run whose download found it cancelled. */
function wasReachedBefore(body: CancellationBody, row: RecipientRow): boolean {
  const { organization_id, extractor_count, issued_reaches, received_reaches } = row
  const reaches = parseReaches(body.direction === 'issued' ? issued_reaches : received_reaches)
  // Without extractors an organization sees what others downloaded.
  if (extractor_count === 0 || reaches.length === 0) return true
  const requested_at = body.requested[organization_id] ?? body.detected_at
  const before = reaches.filter(({ at }) => at < requested_at)
  if (sawEverything(body, row)) return true
  return reachedAt(before, body) !== undefined && before.some(({ floor }) => floor <= body.fecha)
}

/** Whether the CFDI was stored while the organization had no extractors, so that it saw the CFDI without a run. */
function sawEverything({ stored_at }: CancellationBody, { extractors_since, first_active_at }: RecipientRow): boolean {
  if (extractors_since === null || first_active_at === null) return false
  return stored_at < extractors_since && first_active_at < extractors_since
}

/** A notification that a run of the organization listed, unless it was sent before the organization's floor. */
async function notificationsOf(event: StoredOutboxEvent, body: NotificationBody, row: RecipientRow): Promise<FeedEvent[]> {
  const since = visibleSince(hullOf(windowsOf(row.extractor_count, row)).floor)
  if (since !== null && body.sent_at < since) return []
  const notification_id = await notificationIdOf(row.fiscal_entity_id, body.sent_at, body.notification)
  const content = contentOf(event, { ...body, notification_id }, recipientOf(row, event.created_at, event.created_at))
  const told = await feedEvent(row, content, event.outbox_event_id, event.created_at, false)
  return [{ ...told, alert: alertOf({ ...row, notification_id }, body, new Date(event.created_at)) }]
}

/** What is due soon. Its identifiers derive from the day, so that it is told once. */
const obligationsOf = ({ entity }: StoredOutboxEvent, { day, obligations }: DueSoonBody, row: RecipientRow, recipient: Recipient) =>
  Promise.all(
    obligations.map((due) => {
      const change = `${DUE_SOON}:${entity}:${due.due_date}:${due.days_left}:${due.description}`
      return feedEvent(row, dueSoonContent(due, recipient), change, Date.parse(day), true)
    }),
  )

/** A change of a list, at the time of the load. A task that is repeated reports it again. */
async function listingsOf(event: StoredOutboxEvent, body: BlacklistChangedBody, row: RecipientRow): Promise<FeedEvent[]> {
  const content = contentOf(event, body, recipientOf(row, body.changed_at, body.changed_at))
  return [await feedEvent(row, content, event.outbox_event_id, body.changed_at, true)]
}

const isNamed = ({ organizations }: StoredOutboxEvent, { organization_id }: RecipientRow): boolean =>
  organizations !== null && (JSON.parse(organizations) as string[]).includes(organization_id)

async function bodyFor(
  { kind, body }: StoredOutboxEvent,
  { fiscal_entity_id, organization_id }: RecipientRow,
  counts: JobCounts | undefined,
): Promise<unknown> {
  const parsed: unknown = JSON.parse(body)
  if (!kind.startsWith('sync.')) return parsed
  if (counts === undefined) throw new Error('The job of the event was not counted.')
  const job = parsed as SyncBody
  const { data_source_key, period, carried, job_id } = job
  return {
    ...job,
    ...counts,
    job_id: await shownJobId(fiscal_entity_id, data_source_key, period ?? '', carried?.[organization_id] ?? job_id),
  }
}

/** Whether the connection is active, or was when something changed, in milliseconds. */
export const wasReadable = (row: RecipientRow, changed_at: number): boolean =>
  row.state === 'active' || changed_at < (row.inactive_since ?? 0)

/**
 * Fiscal data is readable only through an active connection: without one, the windows are empty. They still apply to a change that is
 * older than the end of the active connection; `changed_at` is in milliseconds.
 */
export const windowsAt = (row: RecipientRow, changed_at: number): Windows =>
  wasReadable(row, changed_at) ? windowsOf(row.extractor_count, row) : NOTHING

const recipientOf = (row: RecipientRow, known_at: number, changed_at: number): Recipient => ({
  fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
  rfc: row.rfc,
  windows: windowsAt(row, changed_at),
  known_at,
})

async function feedEvent(
  { organization_id, events_shard }: RecipientRow,
  { event, ...members }: ReturnType<typeof contentOf>,
  change: string,
  at: number,
  isUnique: boolean,
): Promise<FeedEvent> {
  const event_id = await eventIdOf(change, at, organization_id)
  return { organization_id, events_shard, event_id, isUnique, body: JSON.stringify({ event, event_id, ...members }) }
}
