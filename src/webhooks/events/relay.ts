import { type Outbox, wakeRelay } from '../../outbox/outbox.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { idOfText, uuidOf } from '../../platform/db/id.ts'
import { errorMessage } from '../../platform/log.ts'
import { keepDeadLetter } from '../../platform/queues/dead-letters.ts'
import { NOTHING, windowOf } from '../../visibility/window.ts'
import { wakeEndpoints } from '../endpoints/wake.ts'
import { type Listener, mayReceive, payloadOf, type StoredOutboxEvent } from './payloads.ts'
import {
  deleteOutboxEvents,
  hasOutboxEvents,
  insertDeliveries,
  insertEvents,
  knownEvents,
  type ListenerRow,
  listenersOf,
  type NewEvent,
  readOutbox,
} from './relay-store.ts'

const PAGE = 100
/** Pages on one message; then the next message goes on. */
const PAGES_A_MESSAGE = 20
const LANE_MS = 30_000
const ATTEMPTS = 3
/** How long a fact waits at most for the windows of those who are told of it. */
const HELD_MS = 120_000

const outboxOf = ({ db, settings }: System, outbox: Outbox): D1Database => (outbox === 'control' ? db.$client : settings.ledgers[outbox]!)

/**
 * Turns the facts of an outbox into events of every organization that may know of them, and into deliveries, page by page. Events and
 * deliveries commit together, under ids derived from fact and organization, before the facts are forgotten: relayed again, a fact makes
 * nothing twice. The lane only keeps two relays from doing the same work.
 */
export async function relayOutbox(system: System, outbox: Outbox): Promise<void> {
  const lane = system.env.MUTEXES.getByName(`relay:${outbox}`)
  const holder = crypto.randomUUID()
  if (!(await lane.enter(holder, LANE_MS))) return
  let after: string | null = ''
  let told = 0
  let isCalled = false
  try {
    for (let pages = 0; pages < PAGES_A_MESSAGE && after !== null; pages++) {
      const page = await relayPage(system, outboxOf(system, outbox), outbox === 'control', after)
      after = page.last
      told += page.told
      await lane.enter(holder, LANE_MS)
    }
  } finally {
    isCalled = await lane.leave(holder)
  }
  // Of pages that only wait the sweep reminds.
  if (isCalled || (after !== null && told > 0)) await wakeRelay(system, outbox)
}

/** Relays one page: how many facts were told, and after which one the next page begins; null when it was the last. */
async function relayPage(
  system: System,
  source: D1Database,
  isControl: boolean,
  after: string,
): Promise<{ told: number; last: string | null }> {
  const page = await readOutbox(source, after, PAGE)
  const last = page.length === PAGE ? page.at(-1)!.fact_id : null
  if (page.length === 0) return { told: 0, last }
  const listeners = await listenersOf(system.db.$client, [...new Set(page.map(({ entity }) => entity))])
  const facts = page.filter((fact) => !isEarly(fact, listeners)).sort((a, b) => a.created_at - b.created_at)
  if (facts.length === 0) return { told: 0, last }
  const events = await eventsOf(system, facts, listeners)
  const forget = deleteOutboxEvents(
    source,
    facts.map(({ fact_id }) => fact_id),
  )
  await keepEvents(system, events, isControl ? [forget] : [])
  if (!isControl) await forget.run()
  return { told: facts.length, last }
}

/**
 * A run widens its windows after its jobs are written: until then it is not known what of a download whoever asked for it may count, and
 * which cancellations they may know of.
 */
const isEarly = ({ organizations, entity, created_at }: StoredOutboxEvent, listeners: readonly ListenerRow[]): boolean =>
  created_at > Date.now() - HELD_MS &&
  listeners.some(
    (row) => row.is_running === 1 && row.entity === entity && (organizations === null || organizations.includes(row.organization_id)),
  )

/** Commits those of the events that are not known yet, with their deliveries and whatever else, and calls for the endpoints. */
async function keepEvents(system: System, events: readonly NewEvent[], more: D1PreparedStatement[], attempt = 1): Promise<void> {
  const d1 = system.db.$client
  const now = Date.now()
  const event_ids = events.map(({ event_id }) => event_id)
  const statements = [...insertEvents(d1, events, now), ...insertDeliveries(d1, event_ids, now), ...more]
  if (statements.length === 0) return
  let results: D1Result<{ webhook: number }>[]
  try {
    results = await commit<{ webhook: number }>(d1, statements)
  } catch (error) {
    if (!isUniqueViolation(error) || attempt === ATTEMPTS) throw error
    const known = await knownEvents(d1, event_ids)
    const unknown = events.filter(({ event_id }) => !known.has(event_id))
    return keepEvents(system, unknown, more, attempt + 1)
  }
  await wakeEndpoints(system, new Set(results.flatMap((result) => result.results ?? []).map(({ webhook }) => webhook)))
}

/** The events that facts make: one for each organization that may know. A fact that cannot be told is put aside with the reason. */
async function eventsOf(system: System, facts: readonly StoredOutboxEvent[], rows: readonly ListenerRow[]): Promise<NewEvent[]> {
  const linked = Map.groupBy(rows, ({ entity }) => entity)
  const events: NewEvent[] = []
  for (const fact of facts) {
    try {
      for (const row of linked.get(fact.entity) ?? []) {
        const listener = listenerOf(row, fact)
        if (!mayReceive(fact, listener)) continue
        const event_id = await idOfText('evt', JSON.stringify([fact.fact_id, row.organization_id]))
        const payload = payloadOf(fact, listener, event_id)
        if (payload === null) throw new Error(`Nobody is told of ${fact.kind}.`)
        events.push({
          event_id,
          organization_id: row.organization_id,
          key: payload.event,
          fiscal_entity_id: row.fiscal_entity_id,
          body: JSON.stringify(payload),
        })
      }
    } catch (error) {
      await keepDeadLetter(system, { queue: 'outbox', id: fact.fact_id, body: fact, reason: errorMessage(error) })
    }
  }
  return events
}

/**
 * Fiscal data is read through an active connection only: without one the window of what is told is empty. What happened before the
 * connection ceased to be active is told all the same.
 */
const listenerOf = (row: ListenerRow, { created_at }: StoredOutboxEvent): Listener => ({
  organization_id: row.organization_id,
  fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
  rfc: row.rfc,
  window: row.state === 'active' || (row.state !== 'draft' && created_at < row.updated_at) ? windowOf(row.extractor_count, row) : NOTHING,
})

/** Calls for the relay of every outbox in which a fact was left. */
export async function sweepOutboxes(system: System): Promise<void> {
  const outboxes: Outbox[] = ['control', ...system.settings.ledgers.keys()]
  await Promise.all(
    outboxes.map(async (outbox) => {
      if (await hasOutboxEvents(outboxOf(system, outbox))) await wakeRelay(system, outbox)
    }),
  )
}
