import { type SQL, sql } from 'drizzle-orm'
import type { CancelledCfdi } from '../cfdi/ingest/ingest.ts'
import type { System } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { commit } from '../platform/db/commit.ts'
import { readRows } from '../platform/db/statement.ts'
import { log } from '../platform/log.ts'
import { insertOutboxEvents, type OutboxEvent, wakeRelay } from '../platform/outbox/outbox.ts'
import { clock } from '../platform/time/clock.ts'
import { sendHints } from '../platform/work/send.ts'
import {
  findUnnotified,
  findUnnotifiedConnection,
  moveUnnotified,
  type Unnotified,
  type UnnotifiedConnection,
} from '../taxpayers/unnotified.ts'
import { shows, windowsOf } from '../taxpayers/visibility/window.ts'
import { type CancellationBody, cancellationBody, cancellationEvent } from './cancellation-events.ts'
import { findCancellations, insertCancellations } from './progress-store.ts'

/** Cancellations in one step. */
const PAGE = 100
/** Steps for one message; another message then continues. */
const STEPS_A_MESSAGE = 20
const SWEEP_LIMIT = 50
/** Statements that must be left for what one message may do and for the other sweeps of the minute. */
const SWEEP_RESERVE = 500
/** How long cancellations are kept. No event of a younger one has left the feed, so that none is reported twice. */
export const KEPT_MS = 90 * 86_400_000
/**
 * How long before the connection was left a cancellation can have been found that was not relayed by then. Relayed events are recognized by
 * their identifiers.
 */
const RELAY_LAG_MS = 10 * 60_000

/**
 * Announces connections that are active again, so that their organizations are notified at once of what they missed. The sweep repeats lost
 * messages.
 */
export const announceUnnotified = (system: System, rows: readonly { connection: number }[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    rows.map(({ connection }) => ({ body: { unnotified: connection } })),
  )

/**
 * Notifies an organization of the cancellations that were found while its connection was not active, for CFDIs that its windows showed when
 * the connection was left; it sees later ones cancelled from the start. Each step puts a page of events into the outbox, for this
 * organization alone, and then saves its checkpoint. A repeated step reports nothing twice, because the events' identifiers derive from the
 * CFDI.
 */
export async function notifyMissed(system: System, connection: number): Promise<void> {
  let shard: number | null = null
  let isMore = true
  for (let steps = 0; steps < STEPS_A_MESSAGE && isMore; steps++) {
    const row = await findUnnotifiedConnection(system.db, connection)
    isMore = row !== null && (await notifyPage(system, row))
    shard = row?.shard ?? shard
  }
  if (shard !== null) await wakeRelay(system, shard)
  if (isMore) await announceUnnotified(system, [{ connection }])
}

/** Reports a page, and returns whether another may follow. */
async function notifyPage(system: System, row: UnnotifiedConnection): Promise<boolean> {
  const ledger = system.settings.ledgers[row.shard]!
  const unnotified = JSON.parse(row.unnotified) as Unnotified
  const windows = windowsOf(row.extractor_count, unnotified)
  const page = await readRows(ledger, findCancellations(row.entity, unnotified.after ?? [firstOf(unnotified), ''], PAGE))
  const bodies = page.map(({ body }) => JSON.parse(body) as CancellationBody).filter((body) => shows(windows[body.direction], body))
  const events = bodies.map((body) => eventFor(row, body))
  if (events.length > 0) await commit(ledger, insertOutboxEvents(events, clock.now()))
  const last = page.length === PAGE ? page.at(-1)! : null
  const next = last && JSON.stringify({ ...unnotified, after: [last.found_at, last.uuid] } satisfies Unnotified)
  return (await moveUnnotified(system.db, row, next)) && last !== null
}

const firstOf = ({ since }: Unnotified): number => Math.max(since - RELAY_LAG_MS, clock.now() - KEPT_MS)

/**
 * Announces cancellations that were found, and keeps them for those whose connections are not active, for the commit of the change.
 * `requested` makes the JSON object of the instants at which organizations first requested the job that found them (`requestsOf`); nobody
 * requests answers of the status service.
 */
export function cancellationStatements(
  entity: number,
  cancellations: readonly CancelledCfdi[],
  detected_at: Date,
  requested: SQL = sql`'{}'`,
): Statement[] {
  const now = clock.now()
  const bodies = cancellations.map((cancellation) => cancellationBody(cancellation, detected_at.getTime()))
  const events = bodies.map((body) => cancellationEvent(entity, body))
  const withRequests = (body: SQL) => sql`json_set(${body}, '$.requested', json(${requested}))`
  return [
    ...insertOutboxEvents(events, now, withRequests(sql`value->>4`)),
    ...insertCancellations(entity, bodies, now, withRequests(sql`value`)),
  ]
}

/** The outbox event of a cancellation for one organization. */
function eventFor({ entity, organization_id }: UnnotifiedConnection, body: CancellationBody): OutboxEvent {
  const event = cancellationEvent(entity, body)
  return { ...event, outbox_event_id: `${event.outbox_event_id}:${organization_id}`, organizations: [organization_id] }
}

/**
 * Reports the remaining cancellations after a crash or a lost message. A connection that fails is logged and does not stop the others.
 * Connections beyond the sweep's budget are announced.
 */
export async function sweepUnnotified(system: System): Promise<void> {
  const left: { connection: number }[] = []
  for (const { connection } of await findUnnotified(system.db, 0, SWEEP_LIMIT)) {
    if (!system.budget.allows(SWEEP_RESERVE)) left.push({ connection })
    else
      await notifyMissed(system, connection).catch((error: unknown) =>
        log.error(system, 'Missed cancellations could not be told. The next sweep tries again.', { connection }, error),
      )
  }
  await announceUnnotified(system, left)
}
