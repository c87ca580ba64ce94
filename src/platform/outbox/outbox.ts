import { type SQL, sql } from 'drizzle-orm'
import type { System } from '../context.ts'
import { jsonChunks } from '../db/commit.ts'
import { bare, readFirst } from '../db/statement.ts'
import { sendHints } from '../work/send.ts'
import { outbox } from './tables.ts'

/** A change that organizations are notified of. */
export interface OutboxEvent {
  /** Derived from the change: the same change always has the same identifier. */
  outbox_event_id: string
  kind:
    | ('cfdi.cancelled' | 'connection.ciec_invalid' | 'blacklist.changed' | 'obligation.due_soon' | 'cancellation.requested')
    | ('connection.relink_needed' | 'connection.relinked' | 'consent.granted' | 'consent.withdrawn' | 'consent.expired')
    | ('connect_link.opened' | 'connect_link.connected' | 'connect_link.refused' | 'connect_link.expired')
  /** The number under which the RFC's ledger keeps the authority's documents; OF_NO_RFC for an event of the named organizations alone. */
  entity: number
  /** The organizations to notify; null for every organization whose window shows the document. */
  organizations: readonly string[] | null
  /** The source of the payloads, the same for every organization. */
  body: Record<string, unknown>
}

/** The number of no RFC. */
export const OF_NO_RFC = 0

/** An outbox event as a row; `organizations` and `body` are JSON. */
export type StoredOutboxEvent = Omit<typeof outbox.$inferSelect, 'progress' | 'attempts' | 'retry_at'>

const { entity, outbox_event_id, kind, organizations, body, created_at } = outbox

/** The beginning of a statement that writes events. Their entity, identifier, kind, organizations, body and instant follow. */
export const INTO_OUTBOX = sql`insert into ${outbox} ${[entity, outbox_event_id, kind, organizations, body, created_at].map(bare)}`

/**
 * Writes events to the outbox, for the commit of the change that they report. An event that is in the outbox already stays as it is. `body`
 * makes the stored body of the one in `value->>4`.
 */
export const insertOutboxEvents = (events: readonly OutboxEvent[], now: number, body: SQL = sql`value->>4`): SQL[] =>
  jsonChunks(
    events.map(({ outbox_event_id, kind, entity, organizations, body }) => [
      ...[outbox_event_id, kind, entity, organizations && JSON.stringify(organizations), JSON.stringify(body)],
    ]),
  ).map(
    (json) =>
      sql`${INTO_OUTBOX}
          select value->>2, value->>0, value->>1, value->>3, ${body}, ${now} from json_each(${json}) where true on conflict do nothing`,
  )

export const hasOutboxEvents = async (d1: D1Database): Promise<boolean> =>
  (await readFirst(d1, sql`select 1 from ${outbox} limit 1`)) !== null

/** Names an outbox: that of the control plane, or that of a ledger by its number. */
export type Outbox = 'control' | number

/** Returns the database that holds an outbox. */
export const databaseOf = ({ db, settings }: System, outbox: Outbox): D1Database =>
  outbox === 'control' ? db.$client : settings.ledgers[outbox]!

/** Asks the queue to relay an outbox, now or after a wait. The sweep finds the events of an outbox whose message is lost. */
export const wakeRelay = (system: System, outbox: Outbox, delaySeconds = 0): Promise<void> =>
  sendHints(system, system.env.WEBHOOKS, [{ body: { outbox }, delaySeconds }])
