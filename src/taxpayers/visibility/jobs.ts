import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { idOfText } from '../../platform/db/id.ts'
import { clock } from '../../platform/time/clock.ts'

/** Identifiers of one millisecond. The first of an isolate is in the lower half, and the others count up. */
const A_MILLISECOND = 1_024
/** A clock that is set back by less does not disturb the order; one that is set back further is followed. */
const SET_BACK_MS = 1_000

let last = 0

/**
 * Creates the identifier of the jobs that one run requests for an RFC, in 11 characters, because each of their rows has it. It counts only
 * within the RFC. Identifiers sort by the time of their creation, those of an isolate in the order in which it made them.
 */
export function newJobId(): string {
  const since = clock.now() * A_MILLISECOND
  const isCounted = last >= since && last < since + SET_BACK_MS * A_MILLISECOND
  last = isCounted ? last + 1 : since + (crypto.getRandomValues(new Uint16Array(1))[0]! % (A_MILLISECOND / 2))
  // The digits of base 36 sort as text, and eleven of them are enough for any time.
  return last.toString(36).padStart(11, '0')
}

/**
 * The identifier of a sync job for one connection. The job's own identifier, shared by all jobs of its run, contains the time at which
 * another organization asked for it.
 */
export const shownJobId = (fiscal_entity_id: string, source: string, month: string, job_id: string): Promise<string> =>
  idOfText('job', JSON.stringify([fiscal_entity_id, source, month, job_id]))

/**
 * The organizations whose runs asked for a job, as JSON. A row of `sync_jobs` names them unless its only requester is the first of the RFC,
 * as with most RFCs.
 */
export const requestersOf = ({ organizations, entity }: Record<'organizations' | 'entity', SQLWrapper>): SQL =>
  sql`coalesce(${organizations}, (select json_array(organization_id) from entities where entity = ${entity}))`
