import type { StoredOutboxEvent } from '../../platform/outbox/outbox.ts'
import { type FeedEvent, feedEventsOf } from './feed-events.ts'
import type { Brought } from './payloads.ts'
import type { RecipientRow } from './store.ts'

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
