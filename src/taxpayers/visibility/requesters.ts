import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/**
 * The organizations whose runs asked for a job, as JSON. A row of `sync_jobs` names them unless its only requester is the first of the RFC,
 * as with most RFCs.
 */
export const requestersOf = ({ organizations, entity }: Record<'organizations' | 'entity', SQLWrapper>): SQL =>
  sql`coalesce(${organizations}, (select json_array(organization_id) from entities where entity = ${entity}))`
