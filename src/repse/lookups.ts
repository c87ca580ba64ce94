import { ownName } from '../cfdi/suppliers/suppliers.ts'
import { readerOf } from '../identity/organization/acting.ts'
import type { System } from '../platform/context.ts'
import { errorMessage } from '../platform/log.ts'
import { activeConnectionsOf } from '../taxpayers/taxpayers.ts'
import { openLedger } from '../visibility/scoped-ledger.ts'
import { registryOf } from './registry/adapters.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { claimLookup, finishLookup, leftLookups, postponeLookup } from './store.ts'

/** RFCs on one message: they are asked one after the other. */
const AT_ONCE = 5
const MESSAGES_A_BATCH = 100
const LEASE_MS = 150_000
/** A look-up that has been due for so long has lost its message. */
const LEFT_AFTER_MS = 60_000
const SWEEP_LIMIT = 50
/** How long is waited after each time that the registry did not answer; then it is given up until somebody wants it again. */
const WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000]

/** Says that look-ups are wanted. A hint: the rows are committed, and the sweep says it again. */
export async function announceLookups(system: System, rfcs: readonly string[]): Promise<void> {
  const messages: { body: { rfcs: string[] } }[] = []
  for (let at = 0; at < rfcs.length; at += AT_ONCE) messages.push({ body: { rfcs: rfcs.slice(at, at + AT_ONCE) } })
  try {
    for (let at = 0; at < messages.length; at += MESSAGES_A_BATCH)
      await system.env.REPSE.sendBatch(messages.slice(at, at + MESSAGES_A_BATCH))
  } catch (error) {
    const message = 'REPSE look-ups are left to the sweep.'
    console.error(JSON.stringify({ level: 'error', request_id: system.requestId, message, error: errorMessage(error) }))
  }
}

/** Does those of these look-ups that are wanted, one after the other. */
export async function doLookups(system: System, rfcs: readonly string[]): Promise<void> {
  for (const rfc of rfcs) await doLookup(system, rfc)
}

async function doLookup(system: System, rfc: string): Promise<void> {
  const { db } = system
  const token = crypto.randomUUID()
  const row = await claimLookup(db, rfc, token, new Date(), new Date(Date.now() + LEASE_MS))
  if (!row) return
  const record = await askRegistry(system, rfc, row.name)
  if (record) await finishLookup(db, rfc, token, record, new Date())
  else {
    const wait = WAITS_MS[row.attempts]
    await postponeLookup(db, rfc, token, wait === undefined ? null : new Date(Date.now() + wait))
  }
}

/** The registry's answer; null, with a line in the log, when it gave none. */
export async function askRegistry(system: System, rfc: string, name: string | null): Promise<RegistryRecord | null> {
  try {
    return await registryOf(system).lookUp(rfc, async () => name ?? (await taxpayerName(system, rfc)))
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: system.requestId, message: 'No answer about REPSE.', rfc, error: errorMessage(error) }),
    )
    return null
  }
}

/** What a connected RFC calls itself on its own documents, as far as somebody may read them. */
async function taxpayerName(system: System, rfc: string): Promise<string | null> {
  for (const { organization_id, fiscal_entity_id } of await activeConnectionsOf(system.db, rfc)) {
    const reader = await readerOf(system, organization_id, fiscal_entity_id)
    const name = reader?.connection.state === 'active' ? await ownName(openLedger({ settings: system.settings, ...reader })) : null
    if (name !== null) return name
  }
  return null
}

/** Announces again the look-ups whose message is lost, whose worker died, or whose wait is over. */
export async function sweepLookups(system: System): Promise<void> {
  const left = await leftLookups(system.db, new Date(Date.now() - LEFT_AFTER_MS), SWEEP_LIMIT)
  if (left.length > 0) await announceLookups(system, left)
}
