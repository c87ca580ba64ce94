import { eq, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { sql as fragment } from '../../platform/db/fragment.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { organizations } from './tables.ts'

/** The guard of `assertExtractorLimit`. */
export const EXTRACTOR_LIMIT = 'organization.extractor_limit'

/** Refuses its batch unless the organization has fewer extractors than the limit; null is no limit. */
export const assertExtractorLimit = (d1: D1Database, organization_id: string, limit: number | null): D1PreparedStatement =>
  assertThat(
    d1,
    fragment`${limit} is null or (select extractor_count from organizations where id = ${organization_id}) < ${limit}`,
    EXTRACTOR_LIMIT,
  )

/** Counts an extractor that the same batch inserts (1) or deletes (-1). */
export const addToExtractorCount = (db: Database, organization_id: string, change: 1 | -1) =>
  db
    .update(organizations)
    .set({ extractor_count: sql`extractor_count + ${change}` })
    .where(eq(organizations.id, organization_id))
