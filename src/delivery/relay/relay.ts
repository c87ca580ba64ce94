import { takesCiecs } from '../../authority/port/login.ts'
import { endedJobs, listsJobs } from '../../downloads/ended-jobs.ts'
import type { System } from '../../platform/context.ts'
import { each } from '../../platform/each.ts'
import { repeatAlone } from '../../platform/locks/alone.ts'
import { databaseOf, hasOutboxEvents, type Outbox, wakeRelay } from '../../platform/outbox/outbox.ts'
import { MAX_EVENT_BYTES, type PendingEvent, pendingEntities, readPage, strikeStatements } from '../../platform/outbox/pending.ts'
import { ledgerByLedger, START } from '../../platform/pages.ts'
import { type FailedEvent, handleFailures, isRefusal } from './aside.ts'
import { type BuiltPortion, commitPortions, type Meter } from './commit.ts'
import { sweepFanOuts } from './fan-out.ts'
import { feedEvents } from './feed.ts'
import { type Portion, portionOf, RECIPIENTS_AT_ONCE, type RelayEvent, requestOf, selectPortions } from './portions.ts'
import { progressStatements } from './progress.ts'
import { Records } from './records.ts'
import { findOrganizations, findRecipients, type RecipientRequest } from './store.ts'
import { countSyncs } from './sync-counts.ts'
import { Turns } from './turns.ts'

/** Outbox events of one page. */
const PAGE = 100
const PAGES_PER_MESSAGE = 20
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
