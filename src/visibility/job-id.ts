import { idOfText } from '../platform/db/id.ts'

/** The identifier of a sync job as one connection is shown it. A job's own identifier carries the time at which another organization asked for it. */
export const shownJobId = (fiscal_entity_id: string, job_id: string): Promise<string> =>
  idOfText('job', JSON.stringify([fiscal_entity_id, job_id]))
