import { eq, max } from 'drizzle-orm'
import type { Database } from '../db/commit.ts'
import { connections } from '../entities/tables.ts'

/** The latest download of an RFC by anybody, in milliseconds: the greatest ceiling of any connection to it. Null before the first. */
export const latestCeiling = async (db: Database, entity: number): Promise<number | null> => {
  const [found] = await db
    .select({ latest: max(connections.visible_to) })
    .from(connections)
    .where(eq(connections.entity, entity))
  return found?.latest?.getTime() ?? null
}
