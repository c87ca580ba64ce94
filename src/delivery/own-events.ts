import type { SQL } from 'drizzle-orm'
import type { System } from '../platform/context.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { newId } from '../platform/db/id.ts'
import { clock } from '../platform/time/clock.ts'
import type { EventPayload } from './catalog/payload-contract.ts'
import { appendStatements, wakeAppended } from './relay/append.ts'

/** A change in the events shard itself, of which one organization is notified. */
type OwnEvent = EventPayload extends infer Payload
  ? Payload extends { event: 'storage.failed' | 'alert.raised' | 'alert.resolved' | 'quota.warning' }
    ? Omit<Payload, 'event_id' | 'ordering'>
    : never
  : never

/**
 * The statements that append an event to the feed of an organization, with its deliveries, in the commit of the change. The caller sees to it
 * that the change is committed once, and passes the results on to wakeOwnEvent.
 */
export function ownEventStatements(organization_id: string, { event, ...members }: OwnEvent): SQL[] {
  const event_id = newId('evt')
  const body = JSON.stringify({ event, event_id, ...members })
  return appendStatements([{ organization_id, event_id, body, isUnique: false }], clock.now())
}

/**
 * Commits events with the statements that mark their cause as reported, and sends their deliveries. Does nothing when the guard refuses
 * that: somebody else reported it, or it has changed since.
 */
export async function commitOwnEvents(
  system: System,
  shard: number,
  events: readonly SQL[],
  marks: readonly Statement[],
  guard: string,
): Promise<void> {
  try {
    const results = await commit(system.settings.events[shard]!, [...marks, ...events])
    await wakeOwnEvent(system, shard, results.slice(-events.length))
  } catch (error) {
    if (!isGuardViolation(error, guard)) throw error
  }
}

/** Asks the queue to send the deliveries that these results of ownEventStatements created. The sweep finds lost ones. */
export const wakeOwnEvent = (system: System, shard: number, results: readonly D1Result<Record<string, unknown>>[]): Promise<void> =>
  wakeAppended(
    system,
    shard,
    results.flatMap((result) => result.results),
  )
