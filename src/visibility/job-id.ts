import { idOfText } from '../platform/db/id.ts'

/**
 * The identifier of a sync job as one connection is shown it. A job's own identifier, which it shares with the other jobs of the run that made
 * it, carries the time at which another organization asked for it.
 */
export const shownJobId = (fiscal_entity_id: string, source: string, month: string, job_id: string): Promise<string> =>
  idOfText('job', JSON.stringify([fiscal_entity_id, source, month, job_id]))
