import { Failure } from '../../failures.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isConflict } from '../../platform/db/retry.ts'
import { insertDeliveries } from '../deliveries/insert-store.ts'
import { wakeEndpoints } from '../endpoints/wake.ts'
import { insertEvents } from '../events/store.ts'
import { wakeFanOuts } from './fan-out.ts'
import { insertFanOuts } from './fan-out-store.ts'
import type { FeedEvent } from './feed.ts'
import type { Portion } from './portions.ts'
import { progressStatements } from './progress.ts'
import { findKnownEvents } from './store.ts'

/** A portion with the events that it creates. */
export interface BuiltPortion extends Portion {
  events: FeedEvent[]
}

export interface Failed {
  portion: BuiltPortion
  error: unknown
}

/** How the portions of a page ended. Portions that are in neither list were not tried for lack of statements. */
export interface Committed {
  done: BuiltPortion[]
  failed: Failed[]
}

/** Counts the D1 statements of a message. */
export interface Meter {
  statements: number
}

const MAX_CONFLICTS = 5
const MAX_WAIT_MS = 20
/** A message that has made so many statements tries no further halves of a page. */
const MAX_STATEMENTS = 700
/** More than any number of an endpoint. */
const ALL = Number.MAX_SAFE_INTEGER

/**
 * Commits portions together. When that fails, it commits their halves, and theirs, so that only what cannot be committed alone fails. With
 * `source`, the same commit keeps how far the outbox events are relayed.
 */
export async function commitPortions(
  system: System,
  portions: readonly BuiltPortion[],
  source: D1Database | null,
  meter: Meter,
): Promise<Committed> {
  const ends: Committed = { done: [], failed: [] }
  const attempt = async (part: readonly BuiltPortion[]): Promise<void> => {
    try {
      await commitTogether(system, part, source, meter)
      ends.done.push(...part)
    } catch (error) {
      if (part.length === 1) ends.failed.push({ portion: part[0]!, error })
      const half = Math.ceil(part.length / 2)
      for (const other of part.length === 1 ? [] : [part.slice(0, half), part.slice(half)])
        if (meter.statements < MAX_STATEMENTS) await attempt(other)
    }
  }
  if (portions.length > 0) await attempt(portions)
  return ends
}

/** Commits the events that are not in a feed yet, with their deliveries and the progress, and wakes the endpoints. */
async function commitTogether(system: System, portions: readonly BuiltPortion[], source: D1Database | null, meter: Meter): Promise<void> {
  const d1 = system.db.$client
  const now = Date.now()
  const inOrder = portions.toSorted((a, b) => a.event.created_at - b.event.created_at).flatMap((portion) => portion.events)
  // A cancellation can be in the outbox for everybody and for an organization that missed it.
  const events = [...new Map(inOrder.map((event) => [event.event_id, event])).values()]
  const progress = source === null ? [] : progressStatements(source, portions)
  // Usually every event is new. Events may be known after a conflict, and where a recipient is considered again.
  let mayBeKnown = portions.some(({ isWaiting }) => isWaiting)
  for (let conflicts = 0; ; conflicts++) {
    const fresh = mayBeKnown ? await withoutKnown(d1, events, meter) : events
    const statements = [...statementsOf(d1, fresh, now), ...progress]
    if (statements.length === 0) return
    meter.statements += statements.length
    try {
      const results = await commit<{ webhook?: number }>(d1, statements)
      await wake(system, fresh, results)
      return
    } catch (error) {
      if (!isConflict(error)) throw error
      if (conflicts === MAX_CONFLICTS) throw new Failure('contention', 'relay.contention', 'Other relays keep committing the same events.')
      mayBeKnown = true
      await scheduler.wait(Math.random() * MAX_WAIT_MS)
    }
  }
}

async function withoutKnown(d1: D1Database, events: readonly FeedEvent[], meter: Meter): Promise<FeedEvent[]> {
  if (events.length === 0) return []
  meter.statements++
  const known = await findKnownEvents(
    d1,
    events.map(({ event_id }) => event_id),
  )
  return events.filter(({ event_id }) => !known.has(event_id))
}

const statementsOf = (d1: D1Database, events: readonly FeedEvent[], now: number): D1PreparedStatement[] => [
  ...insertEvents(d1, events, now),
  ...insertDeliveries(
    d1,
    events.map(({ event_id, fan_out_from }) => ({ event_id, before: fan_out_from ?? ALL })),
    now,
  ),
  ...insertFanOuts(
    d1,
    events.flatMap(({ event_id, fan_out_from }) => (fan_out_from === null ? [] : [{ event_id, webhook: fan_out_from }])),
  ),
]

async function wake(system: System, events: readonly FeedEvent[], results: readonly D1Result<{ webhook?: number }>[]): Promise<void> {
  const webhooks = results.flatMap((result) => result.results ?? []).flatMap(({ webhook }) => webhook ?? [])
  await wakeEndpoints(system, new Set(webhooks))
  const organizations = events.flatMap(({ organization_id, fan_out_from }) => (fan_out_from === null ? [] : [organization_id]))
  await wakeFanOuts(system, [...new Set(organizations)])
}
