import { lt } from 'drizzle-orm'
import { commit, type Database } from '../../platform/db/commit.ts'
import { fetcherSignatures } from './tables.ts'

/** Keeps a signature until an instant, and forgets those whose instants have passed. Returns whether it is new. */
export async function keepSignature(db: Database, mac: string, until: number, now: number): Promise<boolean> {
  const [, kept] = await commit(db.$client, [
    db.delete(fetcherSignatures).where(lt(fetcherSignatures.until, now)),
    db.insert(fetcherSignatures).values({ mac, until }).onConflictDoNothing(),
  ])
  return kept!.meta.changes > 0
}
