import type { System } from '../platform/context.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { sendHints } from '../platform/queues/send.ts'

/** Something that happened and is to be told of. */
export interface OutboxEvent {
  fact_id: string
  kind: 'cfdi.cancelled' | 'cfdi.cancelled_after_payment' | 'connection.ciec_invalid'
  entity: number
  organizations: readonly string[] | null
  body: Record<string, unknown>
}

/** Keeps facts with the change that they tell of. The same fact again is no second one. */
export const insertOutboxEvents = (d1: D1Database, facts: readonly OutboxEvent[], now: number): D1PreparedStatement[] =>
  jsonChunks(
    facts.map(({ fact_id, kind, entity, organizations, body }) => [
      fact_id,
      kind,
      entity,
      organizations && JSON.stringify(organizations),
      JSON.stringify(body),
    ]),
  ).map((json) =>
    d1
      .prepare(
        `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
           select value->>0, value->>1, value->>2, value->>3, value->>4, ?2 from json_each(?1) where true on conflict do nothing`,
      )
      .bind(json, now),
  )

/** An outbox: the control plane's, or that of a ledger by its number. */
export type Outbox = 'control' | number

/** Tells the relay that an outbox has events. The next sweep finds them anyway. */
export const wakeRelay = (system: System, outbox: Outbox): Promise<void> => sendHints(system, system.env.WEBHOOKS, [{ body: { outbox } }])
