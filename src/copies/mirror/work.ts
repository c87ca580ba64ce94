import { sql } from 'drizzle-orm'
import { ownEventStatements, wakeOwnEvent } from '../../delivery/own-events.ts'
import { alertStatements } from '../../platform/alerts/alerts.ts'
import { NO_RFC } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readFirst } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { inBackground } from '../../platform/work/background.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { configOf, openDestination, scopeOf } from '../connector.ts'
import { DestinationError } from '../drivers/port.ts'
import { type ConnectorHint, wakeConnector } from '../due.ts'
import type { Backfill } from '../provider-contract.ts'
import { storageConnectors as connectors } from '../tables.ts'
import { dueManifest, partsPrefix, takesObjects, writeManifests } from './manifest.ts'
import { beginBackfill, type LeasedConnector, workOnMirror } from './mirror.ts'
import { Permits, waitAfter } from './permits.ts'
import { planPage, reviewPage } from './review.ts'
import {
  claimConnector,
  clearStatements,
  completeBackfill,
  connectorLease,
  findClaimant,
  isCopied,
  nextDue,
  nextUnbegun,
  setConnector,
  startBackfill,
  type WorkRow,
} from './store.ts'

/** How long a permit lasts that nobody gives back: longer than an invocation works. */
const PERMIT_MS = 60_000
/** The most statements of a step. */
const STATEMENTS = 60
const CLEAR_ROWS = 1_000

/** For how long a message waits for a permit, and works on a connector: then the connector goes to the back of the queue. */
const WAIT_MS = 5_000
const BUDGET_MS = 10_000
const LOOK_EVERY_MS = 50

const permits = new Permits()

/** A connector, and the connection behind which its planning continues. */
export interface StorageMessage extends ConnectorHint {
  after?: string | undefined
}

/** Works on a connector, and lets its message be acknowledged after 250 ms. */
export const mirrorInBackground = (system: System, message: StorageMessage): Promise<void> =>
  inBackground(system, workOnConnector(system, message), 'A storage connector could not be worked on. The next sweep finds it.', {
    ...message,
  })

/**
 * Gives a connector its turn, once it has a permit: plans it, copies due documents, and writes manifests, for ten seconds and as far as the
 * budget allows. One worker at a time holds a connector, under a lease. A change by a customer ends the work, which begins again with the
 * change.
 */
export async function workOnConnector(system: System, message: StorageMessage): Promise<void> {
  const d1 = system.settings.events[message.shard]!
  const claimant = await readFirst(d1, findClaimant(message.connector, clock.now()))
  if (!claimant) return
  const key = {}
  const until = performance.now() + WAIT_MS
  let hasFailed = false
  try {
    // Yields in any case: the local runtime answers no other request while a handler never waits.
    for (let wait = 1; ; wait = LOOK_EVERY_MS) {
      await scheduler.wait(wait)
      const now = performance.now()
      if (permits.take(key, claimant, now, PERMIT_MS)) break
      if (now >= until) return await sendOn(system, message)
    }
    system.budget.restart(BUDGET_MS)
    hasFailed = await continueMirror(system, d1, message)
  } finally {
    permits.leave(key, hasFailed)
  }
}

async function sendOn(system: System, message: StorageMessage): Promise<void> {
  if (message.after === undefined) await wakeConnector(system, message)
  else await system.env.STORAGE.send(message)
}

/** Returns whether the last request to the destination failed. */
async function continueMirror(system: System, d1: D1Database, message: StorageMessage): Promise<boolean> {
  const { shard, connector } = message
  const row = await claimConnector(d1, connector)
  if (!row) return false
  let next: StorageMessage = { shard, connector }
  const isMore = await connectorLease.work(d1, row, async () => {
    const rest = row.deleted_at === null ? await work(system, shard, d1, row, message.after) : await cleanUp(system, shard, d1, row)
    if (rest) next = rest
    return rest !== null
  })
  if (isMore) await sendOn(system, next)
  return row.failures > 0
}

/** Returns the message with which another invocation continues; null when there is nothing more to do now. */
async function work(system: System, shard: number, d1: D1Database, row: Leased<WorkRow>, after = ''): Promise<StorageMessage | null> {
  const again = { shard, connector: row.connector }
  if (!row.is_planned) {
    const checkpoint = await pageByPage(system, STATEMENTS, after, (from) => planPage(system, d1, row, from))
    if (checkpoint !== null) return { ...again, after: checkpoint }
    await connectorLease.commit(d1, row, [setConnector(row.connector, { is_planned: 1 })])
    // Until then events have marked nothing. The daily review finds the rest.
    await pageByPage(system, STATEMENTS, '', (from) => reviewPage(system, d1, row, from))
  }
  try {
    const destination = await openDestination(system, d1, row)
    const works = () => takesObjects(destination, row)
    const leased: LeasedConnector = { d1, row, scope: scopeOf(row), path_template: configOf(row).path_template, destination, works }
    return (await copyDue(system, shard, leased)) ? again : null
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
    await recordFailure(system, shard, d1, row, error, 0)
    return null
  }
}

/** Writes the due manifest, and copies the due documents, one fiscal entity after the other. Returns whether something is left. */
async function copyDue(system: System, shard: number, leased: LeasedConnector): Promise<boolean> {
  const { d1, row, destination } = leased
  const day = dueManifest(row)
  if (day !== null && (await writeManifests(system, d1, row, destination, day))) return true
  const backfill = row.backfill === null ? null : (JSON.parse(row.backfill) as Backfill)
  if (backfill?.status === 'queued') {
    const next = () => readFirst(d1, nextUnbegun(row.connector))
    for (let mirror = await next(); mirror; mirror = await next()) {
      await beginBackfill(system, leased, mirror)
      if (!system.budget.allows(STATEMENTS)) return true
    }
    await connectorLease.commit(d1, row, [startBackfill(row.connector)])
  }
  for (let after = ''; ; ) {
    if (!system.budget.allows(STATEMENTS)) return true
    const mirror = await readFirst(d1, nextDue(row.connector, after))
    if (!mirror) break
    const { isOver, error, failed } = await workOnMirror(system, leased, mirror)
    if (error) {
      await recordFailure(system, shard, d1, row, error, failed)
      return false
    }
    if (!isOver) return true
    after = mirror.fiscal_entity
  }
  const isEnding = backfill !== null && backfill.status !== 'completed' && (await isCopied(d1, row.connector))
  if (!isEnding) return false
  const now = clock.date()
  if (await writeManifests(system, d1, row, destination, now.toISOString().slice(0, 10))) return true
  // The manifest comes first, so that a crash in between does not leave it to the next day.
  await connectorLease.commit(d1, row, [completeBackfill(row.connector, now)])
  return false
}

/** Records that the destination failed. The fifth failure in a row ends the work until the customer, who is notified, resumes it. */
async function recordFailure(
  system: System,
  shard: number,
  d1: D1Database,
  row: Leased<WorkRow>,
  { code, message, retry_after_seconds }: DestinationError,
  failed: number,
): Promise<void> {
  const now = clock.date()
  const failures = ++row.failures
  const wait = waitAfter(failures, { retry_after_seconds })
  const last_error = JSON.stringify({ code, message, at: now.toISOString() })
  const { connector, connector_id, organization_id, name, provider } = row
  const notified =
    wait === null
      ? ownEventStatements(organization_id, {
          event: 'storage.failed',
          occurred_at: now.toISOString(),
          ...{ connector_id, connector_name: name, provider, error_code: code, error_message: message },
        })
      : []
  const alert = {
    ...({ organization_id, kind: 'storage.failed', severity: 'critical', resource_id: connector_id, ...NO_RFC } as const),
    dedupe_key: `storage.failed:${connector_id}:${now.getTime()}`,
    message:
      `Copying to the storage connector “${name}” failed five times in a row, the last time on ${now.toISOString().slice(0, 10)}: ` +
      `${message} Nothing is copied to it until you activate it again. Downloads go on.`,
    message_es:
      `La copia al conector de almacenamiento “${name}” falló cinco veces seguidas, la última el ${now.toISOString().slice(0, 10)} ` +
      `(${code}). No se copia nada ahí hasta que lo active de nuevo. Las descargas continúan.`,
  }
  const results = await connectorLease.commit(d1, row, [
    setConnector(connector, {
      ...{ failures, retry_at: now.getTime() + (wait ?? 0), last_error, connector_status: wait === null ? 'error' : 'active' },
      failed_count: sql`${connectors.failed_count} + ${failed}`,
    }),
    ...(wait === null ? alertStatements([alert], now) : []),
    ...notified,
  ])
  if (notified.length > 0) await wakeOwnEvent(system, shard, results.slice(-notified.length))
}

/** Removes the rest of a deleted connector. Its row goes last, because that row finds the rest. */
async function cleanUp(
  system: System,
  shard: number,
  d1: D1Database,
  { connector, connector_id }: WorkRow,
): Promise<StorageMessage | null> {
  const { FILES } = system.env
  for (;;) {
    if (!system.budget.allows(STATEMENTS)) return { shard, connector }
    const { objects, truncated } = await FILES.list({ prefix: partsPrefix(connector_id), limit: CLEAR_ROWS })
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key))
    if (truncated) continue
    const cleared = await commit(d1, clearStatements(connector, CLEAR_ROWS))
    if (cleared.at(-1)!.meta.changes > 0) return null
  }
}
