import { eq, inArray } from 'drizzle-orm'
import type { Database, Statement } from '../../platform/db/commit.ts'
import type { Key, Keyring } from '../../platform/db/keyring.ts'
import type { SandboxState, ToldCancellation } from './sandbox.ts'
import { sandboxCancellations, sandboxRefusedCiecs } from './tables.ts'

/** Keyed, for a CIEC is short enough to be guessed from a plain hash. */
const digestOf = async (key: Key, rfc: string, ciec: string): Promise<string> =>
  (await key.hmac(JSON.stringify(['refused', rfc, ciec]))).toHex()

/** What test helpers told the sandbox, kept in the control plane. */
export const sandboxState = (db: Database, keys: Keyring): SandboxState => ({
  async isRefused(rfc, ciec) {
    const digests = await Promise.all(keys.all.map((key) => digestOf(key, rfc, ciec)))
    return (await db.select().from(sandboxRefusedCiecs).where(inArray(sandboxRefusedCiecs.digest, digests)).limit(1)).length > 0
  },
  async cancellations(rfc) {
    const rows = await db.select().from(sandboxCancellations).where(eq(sandboxCancellations.rfc, rfc))
    return new Map(
      rows.map(({ uuid, cancelled_at, cancellation_reason }): [string, ToldCancellation] => [uuid, { cancelled_at, cancellation_reason }]),
    )
  },
})

/** From the next login on this CIEC is refused for this RFC. */
export async function refuseCiec(db: Database, keys: Keyring, rfc: string, ciec: string): Promise<Statement> {
  const query = db
    .insert(sandboxRefusedCiecs)
    .values({ digest: await digestOf(keys.current, rfc, ciec) })
    .onConflictDoNothing()
  // A query of drizzle's is a promise too: returned bare from an async function it would run.
  const { sql, params } = query.toSQL()
  return db.$client.prepare(sql).bind(...params)
}

/** From the next download on the document is reported as cancelled. Told twice, the first word stands. */
export const tellCancellation = (db: Database, rfc: string, uuid: string, told: ToldCancellation) =>
  db
    .insert(sandboxCancellations)
    .values({ rfc, uuid, ...told })
    .onConflictDoNothing()
