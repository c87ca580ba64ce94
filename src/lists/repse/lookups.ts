import { readerOf } from '../../accounts/organization/acting.ts'
import type { System } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { activeConnectionsOf } from '../../taxpayers/taxpayers.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { registryOf } from './registry/adapters.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { claimLookup, finishLookup, overdueLookups, postponeLookup } from './store.ts'

/** Finds the name of an RFC on its own documents; null without one. */
export type OwnName = (ledger: ScopedLedger) => Promise<string | null>

/** RFCs that one message names. They are looked up one after the other. */
const RFCS_A_MESSAGE = 5
const LEASE_MS = 150_000
/** If a look-up has been due for this long, its message was lost. */
const OVERDUE_AFTER_MS = 60_000
const SWEEP_LIMIT = 50
/** The waits after unanswered attempts. After the last wait the look-up is abandoned until it is requested again. */
const WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000]

/** Announces requested look-ups to the consumer. The sweep announces them again if a message is lost. */
export const announceLookups = (system: System, rfcs: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.REPSE,
    Array.from({ length: Math.ceil(rfcs.length / RFCS_A_MESSAGE) }, (_, n) => ({
      body: { rfcs: rfcs.slice(n * RFCS_A_MESSAGE, (n + 1) * RFCS_A_MESSAGE) },
    })),
  )

/** Runs those of the RFCs' look-ups that are requested and due, one after the other. */
export async function runLookups(system: System, rfcs: readonly string[], ownName: OwnName): Promise<void> {
  for (const rfc of rfcs) await runLookup(system, rfc, ownName)
}

async function runLookup(system: System, rfc: string, ownName: OwnName): Promise<void> {
  const { db } = system
  const token = crypto.randomUUID()
  const row = await claimLookup(db, rfc, token, new Date(), new Date(Date.now() + LEASE_MS))
  if (!row) return
  const record = await askRegistry(system, rfc, row.name, ownName)
  if (record) await finishLookup(db, rfc, token, record, new Date())
  else {
    const wait = WAITS_MS[row.attempts]
    await postponeLookup(db, rfc, token, wait === undefined ? null : new Date(Date.now() + wait))
  }
}

/** Returns the registry's answer about an RFC. When there is none, writes a log line and returns null. */
export async function askRegistry(system: System, rfc: string, name: string | null, ownName: OwnName): Promise<RegistryRecord | null> {
  try {
    return await registryOf(system).lookUp(rfc, async () => name ?? (await taxpayerName(system, rfc, ownName)))
  } catch (error) {
    log.error(system, 'The REPSE registry gave no answer.', { rfc }, error)
    return null
  }
}

/** Returns the name of a connected RFC on its own documents, as far as one of its organizations may read them; null when unknown. */
async function taxpayerName(system: System, rfc: string, ownName: OwnName): Promise<string | null> {
  for (const { organization_id, fiscal_entity_id } of await activeConnectionsOf(system.db, rfc)) {
    const reader = await readerOf(system, organization_id, fiscal_entity_id)
    const name = reader?.connection.state === 'active' ? await ownName(openLedger({ settings: system.settings, ...reader })) : null
    if (name !== null) return name
  }
  return null
}

/** Announces look-ups after a lost message, after the death of a worker, and at the end of a wait. */
export async function sweepLookups(system: System): Promise<void> {
  await announceLookups(system, await overdueLookups(system.db, new Date(Date.now() - OVERDUE_AFTER_MS), SWEEP_LIMIT))
}
