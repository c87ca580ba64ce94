import { alertOf } from '../../documents/mailbox/alert.ts'
import { visibleSince } from '../../documents/mailbox/deadlines.ts'
import { NOTIFICATION_RECEIVED, type NotificationBody } from '../../documents/mailbox/keep.ts'
import { notificationIdOf } from '../../documents/mailbox/notifications.ts'
import { type AskedDocuments, DOCUMENT_READ, NOTIFIED_SOURCES, readDocumentNews } from '../../documents/news.ts'
import { DUE_SOON, type DueSoonBody } from '../../documents/obligations/due-soon.ts'
import type { CancellationBody } from '../../downloads/cancellation-events.ts'
import { countJobs, type JobCounts, NOTHING_COUNTED, type OwnJob } from '../../downloads/counts/counts.ts'
import { EXTRACTION_ENDED, type ExtractionBody, type ExtractionEnd, readExtractionEnds } from '../../downloads/ends/extraction-ends.ts'
import { CANCELLATION_REQUESTED, type RequestBody } from '../../downloads/status/watch.ts'
import { BLACKLIST_CHANGED, type BlacklistChangedBody } from '../../lists/listed/listed.ts'
import type { AlertDraft } from '../../platform/alerts/alerts.ts'
import { keyOfInvalid } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isFenceViolation } from '../../platform/db/guard.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { errorMessage, log } from '../../platform/log.ts'
import type { Outbox, StoredOutboxEvent } from '../../platform/outbox/outbox.ts'
import { detachStatements, failStatement, type PendingEvent, quarantineStatements } from '../../platform/outbox/pending.ts'
import { clock } from '../../platform/time/clock.ts'
import { recordDeadLetter } from '../../platform/work/dead-letters.ts'
import type { InvalidBody } from '../../taxpayers/login-answers.ts'
import { boundsAt, parseGrantedRanges, reachedAt } from '../../taxpayers/visibility/granted-ranges.ts'
import { shownJobId } from '../../taxpayers/visibility/jobs.ts'
import { combinedWindowOf, NOTHING, shows, type Windows, windowsOf } from '../../taxpayers/visibility/window.ts'
import type { NewEvent } from '../events/store.ts'
import { eventIdOf } from '../events/stored-body.ts'
import type { Appending } from './append.ts'
import { findRecord, type RecipientRow, type RelayRecord, replaceRecord } from './fan-out-store.ts'
import type { RunEnd } from './new-documents.ts'
import { alertOfCancelled, alertOfListed, alertOfRequest } from './news-alerts.ts'
import {
  type Brought,
  cancellationContents,
  connectionContent,
  documentContent,
  dueSoonContent,
  type EventContent,
  extractionContent,
  invalidContent,
  linkContent,
  listingContent,
  notificationContent,
  type Recipient,
  requestContent,
  type SyncBody,
  syncContent,
} from './payloads.ts'
import type { RecipientBatch, RelayEvent } from './recipient-batches.ts'

/** The connection that an alert is about. */
interface AlertedConnection {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
}

const alertedOf = ({ organization_id, fiscal_entity_id, rfc }: AlertedConnection): AlertedConnection => ({
  ...{ organization_id, fiscal_entity_id, rfc },
})

const DAY_MS = 86_400_000

/** The alert of a connection that has no valid login any more. It is resolved when the connection leaves that state. */
const alertOfInvalid = (
  { organization_id, fiscal_entity_id, rfc }: AlertedConnection,
  { rejected_at }: { rejected_at: string },
  takesCiec: boolean,
): AlertDraft => ({
  ...{ organization_id, kind: 'connection.invalid', severity: 'critical', resource_id: fiscal_entity_id, fiscal_entity_id, rfc },
  dedupe_key: keyOfInvalid(fiscal_entity_id),
  message: `Since ${rejected_at.slice(0, 10)} the connection to ${rfc} has no valid ${takesCiec ? 'CIEC or e.firma' : 'e.firma'}, and nothing is downloaded. Send a valid one with PATCH /v1/fiscal-entities/${fiscal_entity_id}.`,
  message_es: `Desde el ${rejected_at.slice(0, 10)} la conexión de ${rfc} no tiene una ${takesCiec ? 'CIEC ni e.firma' : 'e.firma'} válida y no se descarga nada. Envíe una válida.`,
})

/** The alert of an RFC whose runs have failed for a day, or the one that a run without failures resolves. */
function alertOfEnd(
  { organization_id, fiscal_entity_id, rfc }: AlertedConnection,
  { failing_since, completed_at, error_class }: ExtractionEnd,
): { alert?: AlertDraft; resolves?: string } {
  const dedupe_key = `connection.failing:${fiscal_entity_id}`
  if (error_class === null) return { resolves: dedupe_key }
  if (failing_since === null || completed_at - failing_since < DAY_MS) return {}
  const since = new Date(failing_since).toISOString().slice(0, 10)
  return {
    alert: {
      ...{
        organization_id,
        kind: 'connection.failing',
        severity: 'critical',
        dedupe_key,
        resource_id: fiscal_entity_id,
        fiscal_entity_id,
        rfc,
      },
      message: `Downloads of ${rfc} have failed in every run since ${since}, the last time because of ${error_class}. The next run asks for them again; GET /v1/fiscal-entities/${fiscal_entity_id}/sync says what to do.`,
      message_es: `Las descargas de ${rfc} han fallado cada vez desde el ${since}, la última por ${error_class}. La siguiente descarga las pide de nuevo.`,
    },
  }
}

/** An event of an organization's feed, in its events shard. */
export interface FeedEvent extends NewEvent {
  events_shard: number
  /** The alert that is raised with it. */
  alert?: AlertDraft | null
  /** The key of the alert that it resolves. */
  resolves?: string
  /** The run whose end it tells. */
  ended?: RunEnd
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
  if (!OF_WINDOWS.includes(event.kind)) {
    if (event.organizations === null) throw new Error(`An event of the kind ${event.kind} names no organization.`)
    if (!isNamed(event, row)) return []
  }
  const make = MAKERS[event.kind]
  if (!make) throw new Error(`There is no payload for the kind ${event.kind}.`)
  return make(event, row, counts, takesCiec)
}

type Make = (event: StoredOutboxEvent, row: RecipientRow, counts: Brought | undefined, takesCiec: boolean) => Promise<FeedEvent[]>

/** The end of an extraction, with the alert that it raises or resolves. */
const extractionsOf: Make = async (event, row, counts) => {
  if (!counts?.ended) return []
  const { begun, run_id } = counts.ended
  const recipient = recipientAt(event, row)
  const [windows] = windowsThrough(row).windowsOf(begun.instant)
  const ended = {
    organization_id: row.organization_id,
    fiscal_entity: recipient.fiscal_entity_uuid,
    run_id,
    windows,
    since: begun.requested_at,
  }
  const told = await ownEvent(event, row, extractionContent(counts.ended, recipient))
  return [{ ...told, ...alertOfEnd(row, counts.ended), ended }]
}

/** The news of documents. The same document can be reported with its job and when it is read. */
const documentsOf: Make = (event, row, counts) =>
  Promise.all(
    (counts?.news ?? []).map((news) => {
      const change = `${news.event}:${event.entity}:${news.document_id}`
      return feedEvent(row, documentContent(news, recipientAt(event, row)), change, news.got_at, true)
    }),
  )

/** A job that ended, and the news of its documents. */
const syncsOf: Make = async (event, row, counts, takesCiec) => {
  const content = syncContent(event.kind as 'sync.completed', await syncOf(event, row, counts), recipientAt(event, row))
  return [await ownEvent(event, row, content), ...(await documentsOf(event, row, counts, takesCiec))]
}

const invalidOf: Make = async (event, row, _, takesCiec) => {
  const content = invalidContent(JSON.parse(event.body) as InvalidBody, recipientAt(event, row))
  return [{ ...(await ownEvent(event, row, content)), alert: alertOfInvalid(row, content, takesCiec) }]
}

const membersOf = ({ body }: StoredOutboxEvent) => JSON.parse(body) as Record<string, unknown>

/** A login or consent of a connection. */
const connectionOf: Make = async (event, row) => [
  await ownEvent(event, row, connectionContent(event.kind, membersOf(event), recipientAt(event, row))),
]

/** A connect link, which may be for an RFC that is not connected. */
const linkOf: Make = async (event, row) => [await ownEvent(event, row, linkContent(event.kind, membersOf(event), event.created_at))]

/** Whether an event says that a document was read, of which some may have been reported without its fields. */
const isDocumentRead = ({ kind }: Pick<StoredOutboxEvent, 'kind'>): boolean => kind === DOCUMENT_READ

/**
 * A cancellation that names organizations was missed by them, and was in their windows then. Any other one is for the organizations whose
 * windows show the CFDI. An organization whose own runs first reached the CFDI when it was cancelled already is not notified.
 */
async function cancellationsOf(event: StoredOutboxEvent, row: RecipientRow): Promise<FeedEvent[]> {
  const body = JSON.parse(event.body) as CancellationBody
  const known_at = row.state === 'active' ? Math.max(event.created_at, row.active_since ?? 0) : event.created_at
  const recipient = recipientOf(row, known_at, event.created_at)
  if (event.organizations === null ? !shows(recipient.windows[body.direction], body) : !isNamed(event, row)) return []
  if (!wasReachedBefore(body, row)) return []
  const contents = cancellationContents(body, recipient)
  // Several outbox events can report a cancellation: one for everybody, and one for each organization that missed it.
  return Promise.all(
    contents.map(async (content) => ({
      ...(await feedEvent(row, content, `${content.event}:${event.entity}:${body.cfdi_uuid}`, body.detected_at, true)),
      alert: content.event === 'cfdi.cancelled' ? null : alertOfCancelled(alertedOf(row), body.detected_at, content),
    })),
  )
}

/** A request for the cancellation of a CFDI that the windows of an active connection show. Of one that the RFC itself made there is no alert. */
async function requestsOf(event: StoredOutboxEvent, row: RecipientRow): Promise<FeedEvent[]> {
  const body = JSON.parse(event.body) as RequestBody
  const recipient = recipientAt(event, row)
  if (!shows(recipient.windows[body.direction], body)) return []
  const ranges = parseGrantedRanges(body.direction === 'issued' ? row.issued_granted_ranges : row.received_granted_ranges)
  const since = Math.max(row.first_active_at ?? 0, reachedAt(ranges, body) ?? 0)
  // What was asked for others before is not told.
  const known = { ...body, clear_at: body.clear_at !== null && body.clear_at < since ? null : body.clear_at }
  const content = requestContent(known, recipient)
  const alert = body.direction === 'received' ? alertOfRequest(alertedOf(row), known, content) : null
  return [{ ...(await ownEvent(event, row, content)), alert }]
}

/** Whether the connection's own runs reached the CFDI, and its window showed it, before the run whose download found it cancelled. */
function wasReachedBefore(body: CancellationBody, row: RecipientRow): boolean {
  const { organization_id, extractor_count, issued_granted_ranges, received_granted_ranges } = row
  const grantedRanges = parseGrantedRanges(body.direction === 'issued' ? issued_granted_ranges : received_granted_ranges)
  // Without extractors an organization sees what others downloaded.
  if (extractor_count === 0 || grantedRanges.length === 0) return true
  const requested_at = body.requested[organization_id] ?? body.detected_at
  const before = grantedRanges.filter(({ at }) => at < requested_at)
  if (sawEverything(body, row)) return true
  return reachedAt(before, body) !== undefined && before.some(({ floor }) => floor <= body.fecha)
}

/** Whether the CFDI was stored while the organization had no extractors, so that it saw the CFDI without a run. */
function sawEverything({ stored_at }: CancellationBody, { extractors_since, first_active_at }: RecipientRow): boolean {
  if (extractors_since === null || first_active_at === null) return false
  return stored_at < extractors_since && first_active_at < extractors_since
}

/** A notification that a run of the organization listed, unless it was sent before the organization's floor. */
async function notificationsOf(event: StoredOutboxEvent, row: RecipientRow): Promise<FeedEvent[]> {
  const body = JSON.parse(event.body) as NotificationBody
  const since = visibleSince(combinedWindowOf(windowsOf(row.extractor_count, row)).floor)
  if (since !== null && body.sent_at < since) return []
  const notification_id = await notificationIdOf(row.fiscal_entity_id, body.sent_at, body.notification)
  const content = notificationContent({ ...body, notification_id }, recipientAt(event, row))
  return [{ ...(await ownEvent(event, row, content)), alert: alertOf({ ...row, notification_id }, body, new Date(event.created_at)) }]
}

/** Obligations that are due soon. Their identifiers derive from the day, so each is reported once. */
const obligationsOf: Make = (event, row) => {
  const { day, obligations } = JSON.parse(event.body) as DueSoonBody
  return Promise.all(
    obligations.map((due) => {
      const change = `${DUE_SOON}:${event.entity}:${due.due_date}:${due.days_left}:${due.description}`
      return feedEvent(row, dueSoonContent(due, recipientAt(event, row)), change, Date.parse(day), true)
    }),
  )
}

/** A change of a list, at the time of the load. A task that is repeated reports it again. */
const listingsOf: Make = async (event, row) => {
  const body = JSON.parse(event.body) as BlacklistChangedBody
  const content = listingContent(body, recipientOf(row, body.changed_at, body.changed_at))
  return [
    {
      ...(await feedEvent(row, content, event.outbox_event_id, body.changed_at, true)),
      alert: alertOfListed(alertedOf(row), body, content),
    },
  ]
}

/** What becomes of an outbox event of each kind. */
const MAKERS: Record<string, Make> = {
  'cfdi.cancelled': cancellationsOf,
  'sync.completed': syncsOf,
  'sync.failed': syncsOf,
  'connection.ciec_invalid': invalidOf,
  [NOTIFICATION_RECEIVED]: notificationsOf,
  [BLACKLIST_CHANGED]: listingsOf,
  [EXTRACTION_ENDED]: extractionsOf,
  [DUE_SOON]: obligationsOf,
  [DOCUMENT_READ]: documentsOf,
  [CANCELLATION_REQUESTED]: requestsOf,
  'connection.relink_needed': connectionOf,
  'connection.relinked': connectionOf,
  'consent.granted': connectionOf,
  'consent.withdrawn': connectionOf,
  'consent.expired': connectionOf,
  'connect_link.opened': linkOf,
  'connect_link.connected': linkOf,
  'connect_link.refused': linkOf,
  'connect_link.expired': linkOf,
}

/** The kinds that may name no organization: they are for every one whose windows show the CFDI. */
const OF_WINDOWS: readonly string[] = ['cfdi.cancelled', CANCELLATION_REQUESTED]

const isNamed = ({ organizations }: StoredOutboxEvent, { organization_id }: RecipientRow): boolean =>
  organizations !== null && (JSON.parse(organizations) as string[]).includes(organization_id)

/** A job as its event reports it: under the connection's identifier, with its counts for the organization. */
async function syncOf({ body }: StoredOutboxEvent, { fiscal_entity_id, organization_id }: RecipientRow, counts: JobCounts | undefined) {
  if (counts === undefined) throw new Error('The job of the event was not counted.')
  const job = JSON.parse(body) as SyncBody
  const { data_source_key, period, deferred, job_id } = job
  const asked = deferred?.[organization_id] ?? job_id
  return { ...job, ...counts, job_id: await shownJobId(fiscal_entity_id, data_source_key, period ?? '', asked) }
}

/** Whether the connection is active, or was when something changed, in milliseconds. */
const wasReadable = (row: RecipientRow, changed_at: number): boolean => row.state === 'active' || changed_at < (row.inactive_since ?? 0)

/**
 * Fiscal data is readable only through an active connection: without one, the windows are empty. They still apply to a change that is
 * older than the end of the active connection; `changed_at` is in milliseconds.
 */
const windowsAt = (row: RecipientRow, changed_at: number): Windows =>
  wasReadable(row, changed_at) ? windowsOf(row.extractor_count, row) : NOTHING

const recipientOf = (row: RecipientRow, known_at: number, changed_at: number): Recipient => ({
  fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
  rfc: row.rfc,
  windows: windowsAt(row, changed_at),
  known_at,
})

/** The recipient of a change that happened when it was reported. */
const recipientAt = ({ created_at }: StoredOutboxEvent, row: RecipientRow): Recipient => recipientOf(row, created_at, created_at)

/** The one event of an outbox event. */
const ownEvent = (event: StoredOutboxEvent, row: RecipientRow, content: EventContent): Promise<FeedEvent> =>
  feedEvent(row, content, event.outbox_event_id, event.created_at, false)

async function feedEvent(
  { organization_id, events_shard }: RecipientRow,
  { event, ...members }: EventContent,
  change: string,
  at: number,
  isUnique: boolean,
): Promise<FeedEvent> {
  const event_id = await eventIdOf(change, at, organization_id)
  return { organization_id, events_shard, event_id, isUnique, body: JSON.stringify({ event, event_id, ...members }) }
}

/** Older events are forgotten, together with the record that they were appended. */
const KEPT_MS = 90 * 86_400_000
/** Nobody crosses off entries that crashes leave behind. A record must stay well below 2 MB, the largest value that D1 accepts. */
const MAX_KNOWN = 20_000

/** The part of an identifier that derives from the change and the organization: a list of jobs can get another time. */
const factOf = ({ event_id }: FeedEvent): string => event_id.slice(-16)

/** Whether another relay of the outbox has committed since its records were read. */
export const isOvertaken = (error: unknown): boolean => isFenceViolation(error, 'relays.version')

interface ShardRecord extends RelayRecord {
  /** Whether `known` has entries that the shard lacks, or lacks entries that the shard has. */
  isChanged: boolean
}

/**
 * The records of the events shards about an outbox. Events and outbox lie in different databases, so that a crash can leave an outbox event
 * behind whose events are appended already; the records keep them from being appended again. They are read before outbox events are, and
 * every commit of events is fenced by their version: outbox events that another relay has crossed off since are appended by nobody.
 */
export class Records {
  readonly #shards = new Map<number, ShardRecord>()
  readonly #system: System
  readonly #outbox: Outbox

  constructor(system: System, outbox: Outbox) {
    this.#system = system
    this.#outbox = outbox
  }

  /** Reads the records that are not read yet. */
  async read(): Promise<void> {
    const missing = [...this.#system.settings.events.entries()].filter(([shard]) => !this.#shards.has(shard))
    await Promise.all(
      missing.map(async ([shard, d1]) => {
        const record = await findRecord(d1, this.#outbox)
        const kept = [...record.known].filter(([, at]) => at > clock.now() - KEPT_MS).slice(-MAX_KNOWN)
        this.#shards.set(shard, { ...record, known: new Map(kept), isChanged: false })
      }),
    )
  }

  /** Returns the events that are not appended yet. */
  fresh = (shard: number, events: readonly FeedEvent[]): FeedEvent[] =>
    events.filter((event) => !this.#shards.get(shard)!.known.has(factOf(event)))

  /**
   * Commits statements that append these events, with the record that they are. Throws when `isOvertaken`; the record is then read again.
   */
  async append(shard: number, events: readonly FeedEvent[], statements: readonly Statement[]): Promise<D1Result<Appending>[]> {
    const d1 = this.#system.settings.events[shard]!
    const record = this.#shards.get(shard)!
    const known = new Map([...record.known, ...events.map((event) => [factOf(event), clock.now()] as const)])
    try {
      const [, ...results] = await commit<Appending>(d1, [replaceRecord(this.#outbox, record.version, known), ...statements])
      this.#shards.set(shard, { version: record.version + 1, known, isChanged: false })
      return results
    } catch (error) {
      if (isOvertaken(error)) this.#shards.delete(shard)
      throw error
    }
  }

  /** Whether a shard takes writes. */
  isWritable = (shard: number): Promise<boolean> =>
    this.append(shard, [], []).then(
      () => true,
      (error: unknown) => isOvertaken(error),
    )

  /** Forgets events whose outbox events are crossed off. */
  crossOff(events: readonly FeedEvent[]): void {
    for (const event of events) {
      const record = this.#shards.get(event.events_shard)
      if (record?.known.delete(factOf(event))) record.isChanged = true
    }
  }

  /** Writes the records that have changed since the last commit. */
  async write(): Promise<void> {
    const changed = [...this.#shards].filter(([, { isChanged }]) => isChanged)
    for (const [shard] of changed)
      await this.append(shard, [], []).catch((error: unknown) => {
        if (!isOvertaken(error)) throw error
      })
  }
}

/** Attempts after which an event that cannot be committed is quarantined. */
const MAX_ATTEMPTS = 5
/** How much of an event's body its dead letter shows. */
const SHOWN_CHARACTERS = 10_000

/** An outbox event that could not be relayed. */
export interface FailedEvent {
  event: PendingEvent
  error: unknown
  /** Whether another attempt would fail as well. */
  isCertain: boolean
  /** Whether an events shard takes no writes: then the event waits, however long that takes. */
  isDown?: boolean
}

const eventsOf = (failed: readonly FailedEvent[]): PendingEvent[] => failed.map(({ event }) => event)

/** Whether the database refuses the values themselves. */
export const isRefusal = (error: unknown): boolean => /SQLITE_(CONSTRAINT|TOOBIG|MISMATCH)/.test(errorMessage(error))

/**
 * Lets failed events wait for another attempt, or quarantines them: at once when that is certain to fail, otherwise after five attempts. The
 * dead letter is written first. Nothing is quarantined while the control plane or its events shard takes no writes. Returns whether any waits.
 */
export async function handleFailures(system: System, outbox: Outbox, source: D1Database, failed: readonly FailedEvent[]): Promise<boolean> {
  const isOver = ({ event, isCertain, isDown }: FailedEvent): boolean => isCertain || (!isDown && event.attempts + 1 >= MAX_ATTEMPTS)
  const over = failed.filter(isOver)
  const waiting = failed.filter((it) => !isOver(it))
  for (const { event, error } of over) {
    const body = { outbox, ...event, body: event.body?.slice(0, SHOWN_CHARACTERS) ?? null }
    await recordDeadLetter(system, { queue: 'outbox', id: event.outbox_event_id, body, reason: errorMessage(error) })
  }
  if (over.length > 0) await commit(source, [...detachStatements(eventsOf(over)), ...quarantineStatements(eventsOf(over))])
  if (waiting.length > 0) {
    log.error(system, 'Outbox events could not be relayed. They are tried again.', { outbox, events: waiting.length }, waiting[0]!.error)
    await commit(source, [...detachStatements(eventsOf(waiting)), failStatement(eventsOf(waiting), clock.now())])
  }
  return waiting.length > 0
}

/** The results of an event's job for each of its next recipients, in their order. */
export type CountsOfEvents = Map<RelayEvent, readonly Brought[]>

/**
 * Counts what the jobs of a page's sync events brought to each recipient, for all events at once. If that fails, each event is counted on
 * its own, so that one that cannot be counted stops no other: it is added to those that failed.
 */
export async function countSyncs(ledger: D1Database, batches: readonly RecipientBatch[], failed: FailedEvent[]): Promise<CountsOfEvents> {
  const asked = batches.map((batch) => ({ batch, jobs: jobsOf(batch) })).filter(({ jobs }) => jobs.length > 0)
  const all = asked.flatMap(({ jobs }) => jobs)
  const together = await countJobs(ledger, all).catch(() => null)
  const counts: CountsOfEvents = new Map()
  for (const { batch, jobs } of asked) {
    try {
      counts.set(batch.event, together ? together.splice(0, jobs.length) : await countJobs(ledger, jobs))
    } catch (error) {
      failed.push({ event: batch.event, error, isCertain: false })
    }
  }
  await addEnds(ledger, batches, counts, failed)
  await addNews(ledger, batches, counts, failed)
  return counts
}

/** Reads for all events at once what some of them ask for, and keeps each answer. When that fails, these events fail. */
async function readForAll<Asked extends { event: RelayEvent }, Answer>(
  asked: readonly Asked[],
  failed: FailedEvent[],
  read: () => Promise<readonly Answer[]>,
  keep: (one: Asked, answer: Answer) => void,
): Promise<void> {
  try {
    const answers = await read()
    for (const [n, one] of asked.entries()) keep(one, answers[n]!)
  } catch (error) {
    for (const event of new Set(asked.map((one) => one.event))) failed.push({ event, error, isCertain: false })
  }
}

/** Adds the ends of extractions and how much became readable with them. */
function addEnds(ledger: D1Database, batches: readonly RecipientBatch[], counts: CountsOfEvents, failed: FailedEvent[]): Promise<void> {
  const asked = batches.flatMap(({ event, rows }) => (event.kind === EXTRACTION_ENDED ? rows.map((row) => ({ event, row })) : []))
  const read = () =>
    readExtractionEnds(
      ledger,
      asked.map(({ event, row }) => ({
        ...{ entity: event.entity, organization_id: row.organization_id, run_id: (JSON.parse(event.body) as ExtractionBody).run_id },
        withdrawn_at: event.created_at,
        ...windowsThrough(row),
      })),
    )
  return readForAll(asked, failed, read, ({ event }, ended) =>
    counts.set(event, [...(counts.get(event) ?? []), { ...NOTHING_COUNTED, ended }]),
  )
}

/**
 * The windows of a recipient before a run and since then, with the instants at which its runs widened them. Inactive connections have them
 * too: once active, no later run counts the documents that this one made readable.
 */
function windowsThrough(row: RecipientRow) {
  const [issued, received] = [parseGrantedRanges(row.issued_granted_ranges), parseGrantedRanges(row.received_granted_ranges)]
  const at = (when: number) => windowsOf(row.extractor_count, boundsAt(issued, received, when))
  return {
    instants: [...new Set([...issued, ...received].map((grantedRange) => grantedRange.at))],
    windowsOf: (instant: number) => [at(instant - 1), at(instant)] as const,
  }
}

/** Adds the news of documents for recipients. */
function addNews(ledger: D1Database, batches: readonly RecipientBatch[], counts: CountsOfEvents, failed: FailedEvent[]): Promise<void> {
  for (const { event, rows } of batches) if (isDocumentRead(event)) counts.set(event, Array(rows.length).fill(NOTHING_COUNTED))
  const asked = batches.flatMap(({ event, rows }) =>
    rows.flatMap((row, n) => {
      const ask = askOf(event, row, counts.get(event)?.[n])
      return ask ? [{ event, n, ask }] : []
    }),
  )
  const questions = asked.map(({ ask }) => ask)
  return readForAll(
    asked,
    failed,
    () => readDocumentNews(ledger, questions),
    ({ event, n }, news) => counts.set(event, counts.get(event)!.with(n, { ...counts.get(event)![n]!, news })),
  )
}

/** The question about the documents of an event for a recipient; null when it learns of none. */
function askOf(event: RelayEvent, row: RecipientRow, brought: JobCounts | undefined): AskedDocuments | null {
  if (!wasReadable(row, event.created_at)) return null
  const body = readBody(event)
  const document_ids = isDocumentRead(event)
    ? [(body as unknown as { document_id: string }).document_id]
    : brought?.document_ids !== undefined && body !== null && NOTIFIED_SOURCES.includes(body.data_source_key)
      ? (JSON.parse(brought.document_ids) as string[])
      : []
  if (document_ids.length === 0) return null
  return {
    entity: event.entity,
    organization_id: row.organization_id,
    window: combinedWindowOf(windowsAt(row, event.created_at)),
    document_ids,
  }
}

/** The job of a sync event, for each recipient; none for another event, or for one that cannot be read. */
function jobsOf({ event, rows }: RecipientBatch): OwnJob[] {
  if (!event.kind.startsWith('sync.')) return []
  const body = readBody(event)
  return body === null ? [] : rows.map((row) => jobOf(event, body, row))
}

function readBody({ body }: RelayEvent): SyncBody | null {
  try {
    return JSON.parse(body) as SyncBody | null
  } catch {
    return null
  }
}

/** A job that had begun when the connection was left continued for it, and its counts are reported once. */
const jobOf = ({ entity, created_at }: RelayEvent, { data_source_key, period, job_id, begun_at }: SyncBody, row: RecipientRow): OwnJob => ({
  entity,
  source: data_source_key,
  month: period ?? '',
  ...{ job_id, organization_id: row.organization_id },
  windows: windowsAt(row, begun_at ?? created_at),
})
