import { eq } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { RegistryRecord } from './registry.ts'
import type { SandboxRecords } from './sandbox.ts'
import { sandboxRepseRecords } from './tables.ts'

/** What test helpers told the sandbox, kept in the control plane. */
export const sandboxRecords = (db: Database): SandboxRecords => ({
  async find(rfc) {
    const [row] = await db.select().from(sandboxRepseRecords).where(eq(sandboxRepseRecords.rfc, rfc)).limit(1)
    return row ? (JSON.parse(row.record) as RegistryRecord) : null
  },
})

/** From its next answer on the sandbox registry says this of the RFC. */
export const publishRecord = (db: Database, rfc: string, record: RegistryRecord) => {
  const text = JSON.stringify(record)
  return db
    .insert(sandboxRepseRecords)
    .values({ rfc, record: text })
    .onConflictDoUpdate({ target: sandboxRepseRecords.rfc, set: { record: text } })
}
