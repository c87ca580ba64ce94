import { eq } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import type { RecordOverrides, RegistryRecord } from './registry.ts'
import { sandboxRepseRecords } from './tables.ts'

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
