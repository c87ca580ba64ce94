import type { StoredOutboxEvent } from '../../outbox/outbox.ts'
import { idOfText, uuidOf } from '../../platform/db/id.ts'
import { NOTHING, windowOf } from '../../visibility/window.ts'
import type { NewEvent } from '../events/store.ts'
import { mayReceive, payloadOf, type Recipient } from './payloads.ts'
import type { RecipientRow } from './store.ts'

/** An event of an organization's feed, and its first endpoint that gets no delivery at once; null when there is none. */
export interface FeedEvent extends NewEvent {
  fan_out_from: number | null
}

/** The largest payload. Payloads have a few hundred bytes. */
const MAX_PAYLOAD_LENGTH = 100_000

/** Returns an event for each of these organizations that may see an outbox event. Throws when the outbox event cannot be read. */
export async function feedEvents(outboxEvent: StoredOutboxEvent, rows: readonly RecipientRow[]): Promise<FeedEvent[]> {
  const events: FeedEvent[] = []
  for (const row of rows) {
    const recipient = recipientOf(row, outboxEvent)
    if (!mayReceive(outboxEvent, recipient)) continue
    const event_id = await idOfText('evt', JSON.stringify([outboxEvent.outbox_event_id, row.organization_id]))
    const payload = payloadOf(outboxEvent, recipient, event_id)
    if (payload === null) throw new Error(`There is no payload for the kind ${outboxEvent.kind}.`)
    const body = JSON.stringify(payload)
    if (body.length > MAX_PAYLOAD_LENGTH)
      throw new Error(`The payload has ${body.length} characters; at most ${MAX_PAYLOAD_LENGTH} are sent.`)
    const { organization_id, fiscal_entity_id, fan_out_from } = row
    events.push({ event_id, organization_id, key: payload.event, fiscal_entity_id, body, fan_out_from })
  }
  return events
}

/**
 * Fiscal data is readable only through an active connection: without one, the window is empty. The window still applies to an event that
 * is older than the end of the active connection.
 */
const recipientOf = (row: RecipientRow, { created_at }: StoredOutboxEvent): Recipient => ({
  organization_id: row.organization_id,
  fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
  rfc: row.rfc,
  window: row.state === 'active' || (row.state !== 'draft' && created_at < row.updated_at) ? windowOf(row.extractor_count, row) : NOTHING,
})
