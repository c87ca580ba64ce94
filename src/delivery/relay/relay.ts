import { takesCiecs } from '../../authority/port/login.ts'
import { endedJobs, listsJobs } from '../../downloads/ended-jobs.ts'
import { alertStatements, resolveStatement } from '../../platform/alerts/alerts.ts'
import { each, ledgerByLedger, START, type System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { repeatAlone } from '../../platform/locks/alone.ts'
import { databaseOf, hasOutboxEvents, type Outbox, type StoredOutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
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
import { sendHints } from '../../platform/queues/send.ts'
import { type Appended, insertDeliveries, insertDeliveriesInRange } from '../deliveries/insert-store.ts'
import { endpointKey, wakeEndpoints } from '../endpoints/endpoints.ts'
import { findTold, insertEvents } from '../events/store.ts'
import {
  findEndpointAfter,
  findFanOut,
  findOrganizations,
  findRecipients,
  insertFanOuts,
  moveFanOut,
  organizationsToFanOut,
  type RecipientRequest,
  type RecipientRow,
} from './fan-out-store.ts'
import {
  type Appending,
  countSyncs,
  type FailedEvent,
  type FeedEvent,
  feedEventsOf,
  handleFailures,
  isOvertaken,
  isRefusal,
  Records,
} from './feed-events.ts'
import type { Brought } from './payloads.ts'
import { type Portion, portionOf, RECIPIENTS_AT_ONCE, type RelayEvent, requestOf, selectPortions } from './portions.ts'
import { Turns } from './turns.ts'

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
    insertDeliveriesInRange(d1, organization_id, found.seqs, range, Date.now()),
    ...moveFanOut(d1, organization_id, found, next),
  ])
  await wakeEndpoints(system, new Set(inserted!.results.map(({ webhook }) => endpointKey(shard, webhook))))
  return true
}

/** Asks the queue to go on with the events of these organizations of a shard. The sweep finds those whose message is lost. */
export const wakeFanOuts = (system: System, shard: number, organization_ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    organization_ids.map((fan_out) => ({ body: { shard, fan_out } })),
  )

/** Wakes the organizations whose events lack deliveries. */
export const sweepFanOuts = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) =>
    wakeFanOuts(system, shard, await organizationsToFanOut(d1, SWEEP_ORGANIZATIONS)),
  )

/** A portion with the events that it creates. */
export interface BuiltPortion extends Portion {
  events: FeedEvent[]
}

export interface Failed {
  portion: BuiltPortion
  error: unknown
  /** Whether an events shard takes no writes at all. */
  isDown: boolean
}

/** How the portions of a page ended. Those in neither list were not tried: for lack of statements, or because another relay was faster. */
export interface Committed {
  done: BuiltPortion[]
  failed: Failed[]
}

/** Counts the D1 statements of a message. */
export interface Meter {
  statements: number
}

/** A message that has made so many statements tries no further halves of a page. */
const COMMIT_MAX_STATEMENTS = 700

/** Portions that are committed together, with what they append to one events shard. */
interface Part {
  shard: number
  portions: readonly BuiltPortion[]
}

/**
 * Appends the events of portions to their events shards, those of a shard together. When that fails, it commits their halves, and theirs,
 * so that only what cannot be committed alone fails. A portion is done when all its shards are.
 */
export async function commitPortions(
  system: System,
  records: Records,
  portions: readonly BuiltPortion[],
  meter: Meter,
): Promise<Committed> {
  const errors = new Map<BuiltPortion, { error: unknown; shard: number }>()
  const left = new Map(portions.map((portion) => [portion, new Set(portion.events.map(({ events_shard }) => events_shard))]))
  const shards = new Set([...left.values()].flatMap((own) => [...own]))
  const parts: Part[] = [...shards].map((shard) => ({ shard, portions: portions.filter((portion) => left.get(portion)!.has(shard)) }))
  const tried = parts.length
  for (const [n, part] of parts.entries()) {
    if (n >= tried && meter.statements >= COMMIT_MAX_STATEMENTS) break
    try {
      await commitPart(system, records, part, meter)
      for (const portion of part.portions) left.get(portion)!.delete(part.shard)
    } catch (error) {
      if (isOvertaken(error)) break
      const [first] = part.portions
      if (part.portions.length === 1) errors.set(first!, { error, shard: part.shard })
      else for (const half of halvesOf(part.portions)) parts.push({ shard: part.shard, portions: half })
    }
  }
  const down = new Map<number, boolean>()
  for (const shard of new Set([...errors.values()].map((one) => one.shard))) down.set(shard, !(await records.isWritable(shard)))
  meter.statements += down.size
  return {
    done: portions.filter((portion) => left.get(portion)!.size === 0),
    failed: [...errors].map(([portion, { error, shard }]) => ({ portion, error, isDown: down.get(shard)! })),
  }
}

const halvesOf = (portions: readonly BuiltPortion[]) => {
  const half = Math.ceil(portions.length / 2)
  return [portions.slice(0, half), portions.slice(half)]
}

/** Commits the events that are not in a feed yet, with their deliveries, and wakes the endpoints. */
async function commitPart(system: System, records: Records, part: Part, meter: Meter): Promise<void> {
  const { shard } = part
  const inOrder = part.portions.toSorted((a, b) => a.event.created_at - b.event.created_at).flatMap(({ events }) => events)
  const ofShard = inOrder.filter(({ events_shard }) => events_shard === shard)
  const events = records.fresh(shard, [...new Map(ofShard.map((event) => [event.event_id, event])).values()])
  const rows = await append(system, records, shard, events, meter).catch(async (error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    meter.statements++
    const told = await findTold(
      system.settings.events[shard]!,
      events.map(({ event_id }) => event_id),
    )
    const untold = events.filter(({ event_id }) => !told.has(event_id))
    return append(system, records, shard, untold, meter)
  })
  await wakeEndpoints(system, new Set(rows.flatMap(({ webhook }) => (webhook === undefined ? [] : [endpointKey(shard, webhook)]))))
  await wakeFanOuts(system, shard, [...new Set(rows.flatMap(({ organization_id }) => organization_id ?? []))])
}

/** Returns the endpoints that got deliveries, and the organizations with endpoints that did not. */
async function append(system: System, records: Records, shard: number, events: readonly FeedEvent[], meter: Meter): Promise<Appending[]> {
  if (events.length === 0) return []
  const d1 = system.settings.events[shard]!
  const now = Date.now()
  const counts = Map.groupBy(events, ({ organization_id }) => organization_id)
  const alerts = alertStatements(
    d1,
    events.flatMap(({ alert }) => alert ?? []),
    new Date(now),
  )
  const resolved = events.flatMap(({ organization_id, resolves }) => (resolves === undefined ? [] : [[organization_id, resolves] as const]))
  const appended = [...counts].map(([organization_id, own]): Appended => [organization_id, own.length])
  const statements = [
    ...insertEvents(d1, events, now),
    ...insertDeliveries(d1, appended, now),
    ...insertFanOuts(d1, appended),
    ...alerts,
    ...(resolved.length > 0 ? [resolveStatement(d1, resolved, new Date(now))] : []),
  ]
  meter.statements += 1 + statements.length
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
  const told = await Promise.all(rows.map((row, n) => feedEventsOf(outboxEvent, row, counts[n], takesCiec)))
  for (const { body } of told.flat())
    if (body.length > MAX_PAYLOAD_LENGTH)
      throw new Error(`The payload has ${body.length} characters; at most ${MAX_PAYLOAD_LENGTH} are sent.`)
  return told.flat()
}

/** The statements that keep how far outbox events are relayed. */
export const progressStatements = (source: D1Database, portions: readonly Portion[]): D1PreparedStatement[] => {
  const events = portions.filter(({ progress }) => progress === null).map(({ event }) => event)
  const done = events.filter((event) => !isListed(event))
  const moved = portions.flatMap(({ event, progress }) =>
    progress === null || progress === event.progress ? [] : [{ ...event, progress }],
  )
  return [
    ...(done.length > 0 ? [deleteStatement(source, done)] : []),
    ...strikeStatements(source, events.filter(isListed)),
    ...detachStatements(source, moved),
    ...(moved.length > 0 ? [moveStatement(source, moved)] : []),
  ]
}

/** Outbox events of one page. */
const PAGE = 100
/** A message that has made so many D1 statements begins no further page; the platform allows 1,000. */
const MAX_STATEMENTS = 400
/** Entities that get turns with one page. The next page adds others. */
const ENTITIES = 5_000
/** Organizations of an RFC that give it their turns. An RFC with more of them also has turns of its own. */
const TURN_TAKERS = 10
const RETRY_SECONDS = 5

/** What one message relays. */
interface Work extends Meter {
  outbox: Outbox
  source: D1Database
  turns: Turns
  /** The last entity that got turns; null when no more are waiting for them. */
  after: number | null
  /** Whether an event waits: for a run, or for another attempt. */
  isWaiting: boolean
  records: Records
}

/**
 * Turns the events of an outbox into events in the feeds of the organizations that may see them, and into deliveries, page by page. Feed
 * and deliveries commit together in the events shard of the organization, before the outbox event is deleted. The shard's record of the
 * outbox (records.ts) keeps an event that is relayed twice from being appended twice. An event with many recipients takes several pages,
 * and its row keeps its progress. The mutex only avoids double work.
 */
export async function relayOutbox(system: System, outbox: Outbox): Promise<void> {
  const first = Math.floor(Math.random() * 1_000_000)
  const source = databaseOf(system, outbox)
  const records = new Records(system, outbox)
  const work: Work = { outbox, source, turns: new Turns(first), after: 0, statements: 0, isWaiting: false, records }
  let pages = 0
  const isMore = await repeatAlone(
    system.env.MUTEXES.getByName(`relay:${outbox}`),
    () => relayPage(system, work),
    () => pages++ < PAGES_PER_MESSAGE && work.statements < MAX_STATEMENTS,
  )
  await records.write()
  if (isMore) await wakeRelay(system, outbox)
  if (work.isWaiting) await wakeRelay(system, outbox, RETRY_SECONDS)
}

/** Relays one page. Returns whether another may follow. */
async function relayPage(system: System, work: Work): Promise<boolean> {
  const { outbox, source, turns } = work
  await giveTurns(system, work)
  const parts = turns.next(PAGE)
  if (parts.length === 0) return false
  work.statements += await work.records.read()
  const read = await readPage(source, parts, Date.now())
  const isHeld = (event: PendingEvent): event is RelayEvent => event.body !== null
  const lists = await endedJobs(source, read.filter(isHeld).filter(listsJobs))
  const ofList = new Map(lists.map((it) => [it.list, it]))
  const page = read.flatMap((event) => ofList.get(event)?.events ?? [event])
  work.statements += 2

  const failed: FailedEvent[] = read
    .filter(({ bytes }) => bytes > MAX_EVENT_BYTES)
    .map((event) => ({
      event,
      error: new Error(`The event has ${event.bytes} bytes; at most ${MAX_EVENT_BYTES} are relayed.`),
      isCertain: true,
    }))
  const portions = await readPortions(
    system,
    work,
    page.filter(isHeld).filter((event) => !listsJobs(event)),
    failed,
  )
  work.isWaiting ||= portions.some(({ isWaiting }) => isWaiting)
  const selected = selectPortions(portions)
  const counts = await countSyncs(source, selected, failed)
  work.statements += 2
  const uncounted = new Set(failed.map(({ event }) => event.outbox_event_id))
  const built: BuiltPortion[] = []
  const takesCiec = takesCiecs(system.settings)
  for (const portion of selected) {
    if (uncounted.has(portion.event.outbox_event_id)) continue
    try {
      built.push({ ...portion, events: await feedEvents(portion.event, portion.rows, counts.get(portion.event), takesCiec) })
    } catch (error) {
      failed.push({ event: portion.event, error, isCertain: true })
    }
  }
  const ends = await commitPortions(system, work.records, built, work)
  const gone = lists.flatMap((list) => list.gone)
  const progress = [...progressStatements(source, ends.done), ...strikeStatements(source, gone)]
  if (progress.length > 0) await source.batch(progress)
  work.statements += progress.length
  work.records.crossOff(ends.done.filter(({ event, progress }) => progress !== event.progress).flatMap(({ events }) => events))

  for (const { portion, error, isDown } of ends.failed) failed.push({ event: portion.event, error, isCertain: isRefusal(error), isDown })
  if (failed.length > 0) {
    const { statements, isWaiting } = await handleFailures(system, outbox, source, failed)
    work.statements += statements
    work.isWaiting ||= isWaiting
  }

  const isRelayed = ({ progress, isWaiting }: Portion): boolean => progress === null || isWaiting
  const waiting = new Set(ends.done.filter(({ isWaiting }) => isWaiting).map(({ event }): PendingEvent => event))
  const over = new Set<PendingEvent>([...failed, ...ends.done.filter(isRelayed)].map(({ event }) => event))
  // What waits in a list is read again with the next message.
  const isOver = (event: PendingEvent): boolean => {
    const list = ofList.get(event)
    return list
      ? list.events.every((one) => over.has(one)) && (list.isWhole || list.events.every((one) => waiting.has(one)))
      : over.has(event)
  }
  for (const part of parts) {
    const events = read.filter(({ entity }) => entity === part.entity)
    const ids = events.map(({ outbox_event_id }) => outbox_event_id)
    turns.read(
      part,
      ids,
      events.findIndex((event) => !isOver(event)),
    )
  }
  return !turns.isEmpty || work.after !== null
}

/** Gives turns to further entities with outbox events. */
async function giveTurns(system: System, work: Work): Promise<void> {
  if (work.after === null) return
  const entities = await pendingEntities(work.source, work.after, ENTITIES)
  work.after = entities.length === ENTITIES ? entities.at(-1)! : null
  work.statements++
  if (entities.length === 0) return
  const rows = await findOrganizations(system.db.$client, entities, TURN_TAKERS)
  work.statements++
  const takers = Map.groupBy(rows, ({ entity }) => entity)
  for (const entity of entities) {
    const organizations = (takers.get(entity) ?? []).map(({ organization_id }) => organization_id)
    work.turns.add(entity, organizations.length < TURN_TAKERS ? organizations : [...organizations, `entity ${entity}`])
  }
}

/** Reads the next recipients of events. Adds events whose organizations cannot be read to those that failed. */
async function readPortions(system: System, work: Work, events: readonly RelayEvent[], failed: FailedEvent[]): Promise<Portion[]> {
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
  work.statements++
  const answers = Map.groupBy(rows, ({ request }) => request)
  const portionOfEvent = new Map<RelayEvent, Portion>()
  for (const [n, { events: same }] of asked.entries())
    for (const event of same) portionOfEvent.set(event, portionOf(event, answers.get(n) ?? [], Date.now()))
  return events.flatMap((event) => portionOfEvent.get(event) ?? [])
}

/**
 * Wakes the relay of every outbox that holds events, and the organizations whose events lack deliveries. A task, whose place is a ledger.
 */
export async function sweepOutboxes(system: System, place = START): Promise<string> {
  const sweep = async (outbox: Outbox): Promise<void> => {
    if (await hasOutboxEvents(databaseOf(system, outbox))) await wakeRelay(system, outbox)
  }
  let next = ''
  const ledgers = async () => {
    next = await ledgerByLedger(system, place, sweep)
  }
  await each(place === START ? [() => sweep('control'), () => sweepFanOuts(system), ledgers] : [ledgers], (step) => step())
  return next
}
