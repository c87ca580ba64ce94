import { Failure } from '../../failures.ts'
import {
  databaseOf,
  deleteOutboxEvents,
  hasOutboxEvents,
  type Outbox,
  readOutbox,
  type StoredOutboxEvent,
  wakeRelay,
} from '../../outbox/outbox.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { retryOnConflict } from '../../platform/db/retry.ts'
import { errorMessage } from '../../platform/log.ts'
import { keepDeadLetter } from '../../platform/queues/dead-letters.ts'
import { insertDeliveries } from '../deliveries/insert-store.ts'
import { wakeEndpoints } from '../endpoints/wake.ts'
import { insertEvents, type NewEvent } from '../events/store.ts'
import { feedEventsOf } from './feed-events.ts'
import { findKnownEvents, findRecipients, type RecipientRow } from './store.ts'

const PAGE = 100
/** Pages relayed for one message; another message then continues. */
const PAGES_PER_MESSAGE = 20
const MUTEX_MS = 30_000
/** How long an outbox event waits at most for runs that may widen a recipient's window. */
const MAX_WAIT_MS = 120_000

/**
 * Turns the events of an outbox into events in the feeds of the organizations that may see them, and into deliveries, page by page. Feed
 * and deliveries commit together, before the outbox events are deleted, under identifiers derived from the outbox event and the
 * organization, so that relaying an event twice creates nothing twice. The mutex only avoids double work.
 */
export async function relayOutbox(system: System, outbox: Outbox): Promise<void> {
  const mutex = system.env.MUTEXES.getByName(`relay:${outbox}`)
  const holder = crypto.randomUUID()
  if (!(await mutex.enter(holder, MUTEX_MS))) return
  let after: string | null = ''
  let relayed = 0
  let isCalledAgain = false
  try {
    for (let pages = 0; pages < PAGES_PER_MESSAGE && after !== null; pages++) {
      const page = await relayPage(system, outbox, after)
      after = page.last
      relayed += page.relayed
      await mutex.enter(holder, MUTEX_MS)
    }
  } finally {
    isCalledAgain = await mutex.leave(holder)
  }
  // If every event still waits for a run, the sweep continues.
  if (isCalledAgain || (after !== null && relayed > 0)) await wakeRelay(system, outbox)
}

/** Relays one page. Returns how many outbox events it relayed, and the last event of the page; null if no page follows. */
async function relayPage(system: System, outbox: Outbox, after: string): Promise<{ relayed: number; last: string | null }> {
  const source = databaseOf(system, outbox)
  const page = await readOutbox(source, after, PAGE)
  const last = page.length === PAGE ? page.at(-1)!.outbox_event_id : null
  if (page.length === 0) return { relayed: 0, last }
  const rows = await findRecipients(system.db.$client, [...new Set(page.map(({ entity }) => entity))])
  const ready = page.filter((event) => !isEarly(event, rows)).sort((a, b) => a.created_at - b.created_at)
  if (ready.length === 0) return { relayed: 0, last }
  const events = await feedEvents(system, ready, rows)
  const deletion = deleteOutboxEvents(
    source,
    ready.map(({ outbox_event_id }) => outbox_event_id),
  )
  const isControl = outbox === 'control'
  await commitEvents(system, events, isControl ? [deletion] : [])
  if (!isControl) await deletion.run()
  return { relayed: ready.length, last }
}

/**
 * Whether a planned run of a recipient may still widen its window. A run widens windows after it has written its jobs. Until then, it is
 * unknown what the organization may see of a download or a cancellation.
 */
const isEarly = ({ organizations, entity, created_at }: StoredOutboxEvent, rows: readonly RecipientRow[]): boolean =>
  created_at > Date.now() - MAX_WAIT_MS &&
  rows.some(
    (row) => row.has_planned_run === 1 && row.entity === entity && (organizations === null || organizations.includes(row.organization_id)),
  )

/** Commits the events that are not in a feed yet, with their deliveries and the other statements, and wakes the endpoints. */
async function commitEvents(system: System, events: readonly NewEvent[], others: D1PreparedStatement[]): Promise<void> {
  const d1 = system.db.$client
  const now = Date.now()
  const event_ids = events.map(({ event_id }) => event_id)
  // Usually every event is new, so the feed is searched for known events only after a conflict.
  let isRetry = false
  const results = await retryOnConflict(
    async () => {
      const known = isRetry ? await findKnownEvents(d1, event_ids) : new Set<string>()
      isRetry = true
      const fresh = events.filter(({ event_id }) => !known.has(event_id))
      const fresh_ids = fresh.map(({ event_id }) => event_id)
      const statements = [...insertEvents(d1, fresh, now), ...insertDeliveries(d1, fresh_ids, now), ...others]
      return statements.length === 0 ? [] : commit<{ webhook: number }>(d1, statements)
    },
    () => new Failure('contention', 'relay.contention', 'Another relay keeps committing the same events.'),
  )
  await wakeEndpoints(system, new Set(results.flatMap((result) => result.results ?? []).map(({ webhook }) => webhook)))
}

/**
 * Returns the events of each organization that may see an outbox event, each once: a cancellation can be in the outbox for everybody and for
 * an organization that missed it. An outbox event that cannot be read becomes a dead letter and does not stop the others.
 */
async function feedEvents(system: System, outboxEvents: readonly StoredOutboxEvent[], rows: readonly RecipientRow[]): Promise<NewEvent[]> {
  const rowsByEntity = Map.groupBy(rows, ({ entity }) => entity)
  const events = new Map<string, NewEvent>()
  for (const outboxEvent of outboxEvents) {
    try {
      const told = await Promise.all((rowsByEntity.get(outboxEvent.entity) ?? []).map((row) => feedEventsOf(outboxEvent, row)))
      for (const event of told.flat()) events.set(event.event_id, event)
    } catch (error) {
      await keepDeadLetter(system, { queue: 'outbox', id: outboxEvent.outbox_event_id, body: outboxEvent, reason: errorMessage(error) })
    }
  }
  return [...events.values()]
}

/** Wakes the relay of every outbox that holds events. */
export async function sweepOutboxes(system: System): Promise<void> {
  const outboxes: Outbox[] = ['control', ...system.settings.ledgers.keys()]
  await Promise.all(
    outboxes.map(async (outbox) => {
      if (await hasOutboxEvents(databaseOf(system, outbox))) await wakeRelay(system, outbox)
    }),
  )
}
