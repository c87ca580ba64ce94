import type { System } from '../../platform/context.ts'
import { errorMessage, log } from '../../platform/log.ts'
import type { Outbox } from '../../platform/outbox/outbox.ts'
import { detachStatements, failStatement, type PendingEvent, putAsideStatements } from '../../platform/outbox/pending.ts'
import { keepDeadLetter } from '../../platform/queues/dead-letters.ts'

/** Attempts after which an event that cannot be committed is put aside. */
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
 * Lets failed events wait for another attempt, or puts them aside: at once when that is certain to fail, otherwise after five attempts. The
 * dead letter is written first. Nothing is put aside while the control plane or its events shard takes no writes.
 */
export async function handleFailures(
  system: System,
  outbox: Outbox,
  source: D1Database,
  failed: readonly FailedEvent[],
): Promise<{ statements: number; isWaiting: boolean }> {
  const isOver = ({ event, isCertain, isDown }: FailedEvent): boolean => isCertain || (!isDown && event.attempts + 1 >= MAX_ATTEMPTS)
  const over = failed.filter(isOver)
  const waiting = failed.filter((it) => !isOver(it))
  for (const { event, error } of over) {
    const body = { outbox, ...event, body: event.body?.slice(0, SHOWN_CHARACTERS) ?? null }
    await keepDeadLetter(system, { queue: 'outbox', id: event.outbox_event_id, body, reason: errorMessage(error) })
  }
  if (over.length > 0) await source.batch([...detachStatements(source, eventsOf(over)), ...putAsideStatements(source, eventsOf(over))])
  if (waiting.length > 0) {
    log.error(system, 'Outbox events could not be relayed. They are tried again.', { outbox, events: waiting.length }, waiting[0]!.error)
    await source.batch([...detachStatements(source, eventsOf(waiting)), failStatement(source, eventsOf(waiting), Date.now())])
  }
  return { statements: over.length + 8, isWaiting: waiting.length > 0 }
}
