import { eq, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { organizations } from '../../platform/tenant/tables.ts'

/** Selects the number of the organization's extractors. */
export const extractorsUsed = (organization_id: string): SQL =>
  sql`select ${organizations.extractor_count} from ${organizations} where ${organizations.id} = ${organization_id}`

/** Counts an extractor that the same batch inserts (1) or deletes (-1). */
export const addToExtractorCount = (db: Database, organization_id: string, change: 1 | -1) =>
  db
    .update(organizations)
    .set({
      extractor_count: sql`${organizations.extractor_count} + ${change}`,
      ...(change === 1 && {
        extractors_since: sql`case when ${organizations.extractor_count} = 0 then ${Date.now()} else ${organizations.extractors_since} end`,
      }),
    })
    .where(eq(organizations.id, organization_id))
