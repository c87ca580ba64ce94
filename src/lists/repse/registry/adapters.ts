import { eq } from 'drizzle-orm'
import type { System } from '../../../platform/context.ts'
import type { Database } from '../../../platform/db/commit.ts'
import { sandboxRepseRecords } from '../../tables.ts'
import { liveRegistry } from './live.ts'
import { type RecordOverrides, type Registry, type RegistryRecord, sandboxRegistry } from './registry.ts'

const ADAPTERS: Record<System['settings']['repseRegistry'], (system: System) => Registry> = {
  sandbox: ({ db, now }) => sandboxRegistry(recordOverrides(db), now),
  live: ({ settings }) => liveRegistry(settings.repseRegistryUrl),
}

/** Returns the adapter that REPSE_REGISTRY names. */
export const registryOf = (system: System): Registry => ADAPTERS[system.settings.repseRegistry](system)

/** The overrides in the control plane. */
export const recordOverrides = (db: Database): RecordOverrides => ({
  async find(rfc) {
    const [row] = await db.select().from(sandboxRepseRecords).where(eq(sandboxRepseRecords.rfc, rfc)).limit(1)
    return row ? (JSON.parse(row.record) as RegistryRecord) : null
  },
})

/** Returns the statement after which the sandbox registry answers with this record about the RFC. */
export const overrideRecord = (db: Database, rfc: string, record: RegistryRecord) => {
  const text = JSON.stringify(record)
  return db
    .insert(sandboxRepseRecords)
    .values({ rfc, record: text })
    .onConflictDoUpdate({ target: sandboxRepseRecords.rfc, set: { record: text } })
}
