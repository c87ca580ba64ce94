import { takesCiecs } from '../../authority/port/login.ts'
import { endedJobs, listsJobs } from '../../downloads/ended-jobs.ts'
import { alertStatements, resolveStatement } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { databaseOf, hasOutboxEvents, OF_NO_RFC, type Outbox, type StoredOutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
import {
  deleteStatement,
  detachStatements,
  isListed,
  MAX_EVENT_BYTES,
  moveStatement,
  type PendingEvent,
  pendingEntities,
  readPage,
  strikeStatements,
} from '../../platform/outbox/pending.ts'
import { clock } from '../../platform/time/clock.ts'
import { repeatAlone } from '../../platform/work/alone.ts'
import { each, ledgerByLedger } from '../../platform/work/pages.ts'
import { insertDeliveriesInRange } from '../deliveries/insert-store.ts'
import { endpointKey, wakeEndpoints } from '../endpoints/endpoints.ts'
import { findNotified } from '../events/store.ts'
import { type Appending, appendStatements, wakeAppended, wakeFanOuts } from './append.ts'
import { FairShares } from './fair-shares.ts'
import {
  findEndpointAfter,
  findFanOut,
  findOrganizations,
  findRecipients,
  moveFanOut,
  organizationsToFanOut,
  type RecipientRequest,
  type RecipientRow,
} from './fan-out-store.ts'
import {
  countSyncs,
  type FailedEvent,
  type FeedEvent,
  feedEventsOf,
  handleFailures,
  isOvertaken,
  isRefusal,
  Records,
} from './feed-events.ts'
import { markNew, wakeNew } from './new-documents.ts'
import type { Brought } from './payloads.ts'
import {
  RECIPIENTS_AT_ONCE,
  type RecipientBatch,
  type RelayEvent,
  recipientBatchOf,
  requestOf,
  selectRecipientBatches,
} from './recipient-batches.ts'

/** Events and deliveries of one page. */
const EVENTS = 50
const DELIVERIES = 1_000
const PAGES_PER_MESSAGE = 20
const SWEEP_ORGANIZATIONS = 1_000

/**
 * Creates the deliveries of an organization's events to its many endpoints, page by page. The commit of a page moves its
 * events on to the next endpoint, where another message continues after a crash. Each organization has messages of its own, and none waits
 * for another's.
 */
export async function fanOut(system: System, shard: number, organization_id: string): Promise<void> {
  let pages = 0
  const isMore = await repeatAlone(
    system.env.MUTEXES.getByName(`fan-out:${organization_id}`),
    () => fanOutPage(system, shard, organization_id),
    () => pages++ < PAGES_PER_MESSAGE,
  )
  if (isMore) await wakeFanOuts(system, shard, [organization_id])
}

/** Creates the deliveries of the events that are furthest behind to their next endpoints. Returns whether more may follow. */
async function fanOutPage(system: System, shard: number, organization_id: string): Promise<boolean> {
  const d1 = system.settings.events[shard]!
  const found = await findFanOut(d1, organization_id, EVENTS)
  if (found === null) return false
  const next = await findEndpointAfter(d1, organization_id, found.webhook, Math.floor(DELIVERIES / found.seqs.length))
  const range = { from: found.webhook, before: next ?? Number.MAX_SAFE_INTEGER }
  const [inserted] = await commit<{ webhook: number }>(d1, [
    insertDeliveriesInRange(organization_id, found.seqs, range, clock.now()),
    ...moveFanOut(organization_id, found, next),
  ])
  await wakeEndpoints(system, new Set(inserted!.results.map(({ webhook }) => endpointKey(shard, webhook))))
  return true
}

/** Wakes the organizations whose events lack deliveries. */
export const sweepFanOuts = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) =>
    wakeFanOuts(system, shard, await readColumn(d1, organizationsToFanOut(SWEEP_ORGANIZATIONS))),
  )

/** A recipient batch with the events that it creates. */
export interface BuiltRecipientBatch extends RecipientBatch {
  events: FeedEvent[]
}

export interface Failed {
  batch: BuiltRecipientBatch
  error: unknown
  /** Whether an events shard takes no writes at all. */
  isDown: boolean
}

/**
 * How the recipient batches of a page ended. Batches in neither list were not tried: for lack of statements, or because another relay was
 * faster.
 */
export interface Committed {
  done: BuiltRecipientBatch[]
  failed: Failed[]
}

/** A message with less room than this tries no further halves of a page. */
const HALF_STATEMENTS = 200

/** Portions that are committed together, with what they append to one events shard. */
interface Part {
  shard: number
  batches: readonly BuiltRecipientBatch[]
}

/**
 * Appends the events of recipient batches to their events shards, those of a shard together. When that fails, it commits their halves, and
 * so on, so that only a batch that cannot be committed alone fails. A recipient batch is done when all its shards are.
 */
export async function commitRecipientBatches(
  system: System,
  records: Records,
  batches: readonly BuiltRecipientBatch[],
): Promise<Committed> {
  const errors = new Map<BuiltRecipientBatch, { error: unknown; shard: number }>()
  const left = new Map(batches.map((batch) => [batch, new Set(batch.events.map(({ events_shard }) => events_shard))]))
  const shards = new Set([...left.values()].flatMap((own) => [...own]))
  const parts: Part[] = [...shards].map((shard) => ({
    shard,
    batches: batches.filter((batch) => left.get(batch)!.has(shard)),
  }))
  const tried = parts.length
  for (const [n, part] of parts.entries()) {
    if (n >= tried && !system.budget.allows(HALF_STATEMENTS)) break
    try {
      await commitPart(system, records, part)
      for (const batch of part.batches) left.get(batch)!.delete(part.shard)
    } catch (error) {
      if (isOvertaken(error)) break
      const [first] = part.batches
      if (part.batches.length === 1) errors.set(first!, { error, shard: part.shard })
      else for (const half of halvesOf(part.batches)) parts.push({ shard: part.shard, batches: half })
    }
  }
  const down = new Map<number, boolean>()
  for (const shard of new Set([...errors.values()].map((one) => one.shard))) down.set(shard, !(await records.isWritable(shard)))
  return {
    done: batches.filter((batch) => left.get(batch)!.size === 0),
    failed: [...errors].map(([batch, { error, shard }]) => ({ batch, error, isDown: down.get(shard)! })),
  }
}

const halvesOf = (batches: readonly BuiltRecipientBatch[]) => {
  const half = Math.ceil(batches.length / 2)
  return [batches.slice(0, half), batches.slice(half)]
}

/** Commits the events that are not in a feed yet, with their deliveries, and wakes the endpoints. */
async function commitPart(system: System, records: Records, part: Part): Promise<void> {
  const { shard } = part
  const inOrder = part.batches.toSorted((a, b) => a.event.created_at - b.event.created_at).flatMap(({ events }) => events)
  const ofShard = inOrder.filter(({ events_shard }) => events_shard === shard)
  const events = records.fresh(shard, [...new Map(ofShard.map((event) => [event.event_id, event])).values()])
  const rows = await append(records, shard, events).catch(async (error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    const notified = new Set(await readColumn(system.settings.events[shard]!, findNotified(events.map(({ event_id }) => event_id))))
    const unnotified = events.filter(({ event_id }) => !notified.has(event_id))
    return append(records, shard, unnotified)
  })
  await wakeAppended(system, shard, rows)
  const told = rows.flatMap(({ new_of: organization_id, fiscal_entity }) =>
    organization_id ? [{ organization_id, fiscal_entity: fiscal_entity! }] : [],
  )
  await wakeNew(system, shard, told)
}

async function append(records: Records, shard: number, events: readonly FeedEvent[]): Promise<Appending[]> {
  if (events.length === 0) return []
  const now = clock.now()
  const alerts = alertStatements(
    events.flatMap(({ alert }) => alert ?? []),
    new Date(now),
  )
  const resolved = events.flatMap(({ organization_id, resolves }) => (resolves === undefined ? [] : [[organization_id, resolves] as const]))
  const statements = [
    ...appendStatements(events, now),
    ...markNew(events.flatMap(({ ended }) => ended ?? [])),
    ...alerts,
    ...(resolved.length > 0 ? [resolveStatement(resolved, new Date(now))] : []),
  ]
  return (await records.append(shard, events, statements)).flatMap(({ results }) => results)
}

/** The largest payload. Payloads have a few hundred bytes. */
const MAX_PAYLOAD_LENGTH = 100_000

/**
 * Returns the events of each of these organizations that may see an outbox event. For a sync event, `counts` says what its job brought to
 * each of them; `takesCiec`, whether anybody logs in with a CIEC. Throws when the outbox event cannot be read.
 */
export async function feedEvents(
  outboxEvent: StoredOutboxEvent,
  rows: readonly RecipientRow[],
  counts: readonly Brought[] = [],
  takesCiec = true,
): Promise<FeedEvent[]> {
  const notified = await Promise.all(rows.map((row, n) => feedEventsOf(outboxEvent, row, counts[n], takesCiec)))
  for (const { body } of notified.flat())
    if (body.length > MAX_PAYLOAD_LENGTH)
      throw new Error(`The payload has ${body.length} characters; at most ${MAX_PAYLOAD_LENGTH} are sent.`)
  return notified.flat()
}

/** The statements that store the progress of outbox events. */
export const progressStatements = (batches: readonly RecipientBatch[]): Statement[] => {
  const events = batches.filter(({ progress }) => progress === null).map(({ event }) => event)
  const done = events.filter((event) => !isListed(event))
  const moved = batches.flatMap(({ event, progress }) => (progress === null || progress === event.progress ? [] : [{ ...event, progress }]))
  return [
    ...(done.length > 0 ? [deleteStatement(done)] : []),
    ...strikeStatements(events.filter(isListed)),
    ...detachStatements(moved),
    ...(moved.length > 0 ? [moveStatement(moved)] : []),
  ]
}

/** Outbox events of one page. */
const PAGE = 100
/** A message with less room than this begins no further page: one whose halves fail takes many statements. */
const PAGE_STATEMENTS = 500
/** Entities that get shares with one page. The next page adds others. */
const ENTITIES = 5_000
/** Organizations of an RFC that give it their shares. An RFC with more of them also has shares of its own. */
const SHARERS = 10
const RETRY_SECONDS = 5

/** The work of one message. */
interface Work {
  outbox: Outbox
  source: D1Database
  fairShares: FairShares
  /** The last entity that got shares; null when no more are waiting for them. */
  after: number | null
  /** Whether an event waits: for a run, or for another attempt. */
  isWaiting: boolean
  records: Records
}

/**
 * Turns the events of an outbox into events in the feeds of the organizations that may see them, and into deliveries, page by page. Feed
 * and deliveries commit together in the events shard of the organization, before the outbox event is deleted. The shard's record of the
 * outbox (feed-events.ts) keeps an event that is relayed twice from being appended twice. An event with many recipients takes several pages,
 * and its row keeps its progress. The mutex only avoids double work.
 */
export async function relayOutbox(system: System, outbox: Outbox): Promise<void> {
  const first = Math.floor(Math.random() * 1_000_000)
  const source = databaseOf(system, outbox)
  const records = new Records(system, outbox)
  const work: Work = { outbox, source, fairShares: new FairShares(first), after: OF_NO_RFC - 1, isWaiting: false, records }
  let pages = 0
  const isMore = await repeatAlone(
    system.env.MUTEXES.getByName(`relay:${outbox}`),
    () => relayPage(system, work),
    () => pages++ < PAGES_PER_MESSAGE && system.budget.allows(PAGE_STATEMENTS),
  )
  await records.write()
  if (isMore) await wakeRelay(system, outbox)
  if (work.isWaiting) await wakeRelay(system, outbox, RETRY_SECONDS)
}

/** Relays one page. Returns whether another may follow. */
async function relayPage(system: System, work: Work): Promise<boolean> {
  const { outbox, source, fairShares } = work
  await shareFairly(system, work)
  const parts = fairShares.next(PAGE)
  if (parts.length === 0) return false
  await work.records.read()
  const read = await readPage(source, parts, clock.now())
  const isRead = (event: PendingEvent): event is RelayEvent => event.body !== null
  const lists = await endedJobs(source, read.filter(isRead).filter(listsJobs))
  const ofList = new Map(lists.map((it) => [it.list, it]))
  const page = read.flatMap((event) => ofList.get(event)?.events ?? [event])

  const sizeError = ({ bytes }: PendingEvent) => new Error(`The event has ${bytes} bytes; at most ${MAX_EVENT_BYTES} are relayed.`)
  const failed = read
    .filter(({ bytes }) => bytes > MAX_EVENT_BYTES)
    .map((event): FailedEvent => ({ event, error: sizeError(event), isCertain: true }))
  const batches = await readRecipientBatches(
    system,
    page.filter(isRead).filter((event) => !listsJobs(event)),
    failed,
  )
  work.isWaiting ||= batches.some(({ isWaiting }) => isWaiting)
  const selected = selectRecipientBatches(batches)
  const counts = await countSyncs(source, selected, failed)
  const uncounted = new Set(failed.map(({ event }) => event.outbox_event_id))
  const built: BuiltRecipientBatch[] = []
  const takesCiec = takesCiecs(system.settings)
  for (const batch of selected) {
    if (uncounted.has(batch.event.outbox_event_id)) continue
    try {
      const { event, rows } = batch
      built.push({ ...batch, events: await feedEvents(event, rows, counts.get(event), takesCiec) })
    } catch (error) {
      failed.push({ event: batch.event, error, isCertain: true })
    }
  }
  const ends = await commitRecipientBatches(system, work.records, built)
  const gone = lists.flatMap((list) => list.gone)
  const progress = [...progressStatements(ends.done), ...strikeStatements(gone)]
  if (progress.length > 0) await commit(source, progress)
  work.records.crossOff(ends.done.filter(({ event, progress }) => progress !== event.progress).flatMap(({ events }) => events))

  for (const { batch, error, isDown } of ends.failed) failed.push({ event: batch.event, error, isCertain: isRefusal(error), isDown })
  if (failed.length > 0) {
    const isWaiting = await handleFailures(system, outbox, source, failed)
    work.isWaiting ||= isWaiting
  }

  const isRelayed = ({ progress, isWaiting }: RecipientBatch): boolean => progress === null || isWaiting
  const waiting = new Set(ends.done.filter(({ isWaiting }) => isWaiting).map(({ event }): PendingEvent => event))
  const over = new Set<PendingEvent>([...failed, ...ends.done.filter(isRelayed)].map(({ event }) => event))
  // Waiting entries of a list are read again with the next message.
  const isOver = (event: PendingEvent): boolean => {
    const list = ofList.get(event)
    return list
      ? list.events.every((one) => over.has(one)) && (list.isWhole || list.events.every((one) => waiting.has(one)))
      : over.has(event)
  }
  for (const part of parts) {
    const events = read.filter(({ entity }) => entity === part.entity)
    const ids = events.map(({ outbox_event_id }) => outbox_event_id)
    fairShares.read(
      part,
      ids,
      events.findIndex((event) => !isOver(event)),
    )
  }
  return !fairShares.isEmpty || work.after !== null
}

/** Gives shares to further entities with outbox events. */
async function shareFairly(system: System, work: Work): Promise<void> {
  if (work.after === null) return
  const entities = await pendingEntities(work.source, work.after, ENTITIES)
  work.after = entities.length === ENTITIES ? entities.at(-1)! : null
  if (entities.length === 0) return
  const rows = await readRows(system.db.$client, findOrganizations(entities, SHARERS))
  const takers = Map.groupBy(rows, ({ entity }) => entity)
  for (const entity of entities) {
    const organizations = (takers.get(entity) ?? []).map(({ organization_id }) => organization_id)
    work.fairShares.add(entity, organizations.length < SHARERS ? organizations : [...organizations, `entity ${entity}`])
  }
}

/** Reads the next recipients of events. Adds events whose organizations cannot be read to those that failed. */
async function readRecipientBatches(system: System, events: readonly RelayEvent[], failed: FailedEvent[]): Promise<RecipientBatch[]> {
  const requests = new Map<string, { request: RecipientRequest; events: RelayEvent[] }>()
  for (const event of events) {
    try {
      const request = requestOf(event)
      const key = JSON.stringify(request)
      const same = requests.get(key)
      if (same) same.events.push(event)
      else requests.set(key, { request, events: [event] })
    } catch (error) {
      failed.push({ event, error, isCertain: true })
    }
  }
  if (requests.size === 0) return []
  const asked = [...requests.values()]
  const rows = await findRecipients(
    system.db.$client,
    asked.map(({ request }) => request),
    RECIPIENTS_AT_ONCE + 1,
  )
  const answers = Map.groupBy(rows, ({ request }) => request)
  const recipientBatchOfEvent = new Map<RelayEvent, RecipientBatch>()
  for (const [n, { events: same }] of asked.entries())
    for (const event of same) recipientBatchOfEvent.set(event, recipientBatchOf(event, answers.get(n) ?? [], clock.now()))
  return events.flatMap((event) => recipientBatchOfEvent.get(event) ?? [])
}

/**
 * Wakes the relay of every outbox that holds events, and the organizations whose events lack deliveries. A task, whose cursor is a ledger.
 */
export async function sweepOutboxes(system: System, cursor = ''): Promise<string | null> {
  const sweep = async (outbox: Outbox): Promise<void> => {
    if (await hasOutboxEvents(databaseOf(system, outbox))) await wakeRelay(system, outbox)
  }
  let next: string | null = null
  const ledgers = async () => {
    next = await ledgerByLedger(system, cursor, sweep)
  }
  await each(cursor === '' ? [() => sweep('control'), () => sweepFanOuts(system), ledgers] : [ledgers], (step) => step())
  return next
}
