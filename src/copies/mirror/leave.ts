import type { System } from '../../platform/context.ts'
import { openDestination } from '../destination.ts'
import { DestinationError } from '../drivers/port.ts'
import { isUnlisted, writeManifests } from './manifest.ts'
import { takeConnector, type WorkRow } from './store.ts'

/** How long a change waits for who copies: that notices it within two seconds, and then ends what is under way. */
const WAIT_MS = 6_000
const LOOK_EVERY_MS = 50
/** How long the manifests of the place may take. */
const WRITE_MS = 8_000
const LEASE_MS = 60_000

/**
 * Ends the copying to a connector whose documents are to lie elsewhere. Nobody copies until the change is committed, which releases it, or
 * the lease is over. Returns the connector as it is then; undefined for one that is deleted.
 */
export async function stopCopying(d1: D1Database, connector: number, token: string): Promise<WorkRow | undefined> {
  const until = performance.now() + WAIT_MS
  const take = (isForced: boolean) => takeConnector(d1, connector, token, Date.now(), Date.now() + LEASE_MS, isForced)
  let row = await take(false)
  while (!row && performance.now() < until) {
    await scheduler.wait(LOOK_EVERY_MS)
    row = await take(false)
  }
  return row ?? (await take(true))
}

/** Writes the manifest of what is in none yet to the place that a stopped connector leaves, if it can be reached. */
export async function listRest(system: System, d1: D1Database, row: WorkRow): Promise<void> {
  if (!isUnlisted(row)) return
  try {
    const destination = await openDestination(system, d1, row)
    const writing = writeManifests(system, d1, row, destination, new Date().toISOString().slice(0, 10))
    writing.catch(() => null)
    await Promise.race([writing, scheduler.wait(WRITE_MS)])
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
  }
}
