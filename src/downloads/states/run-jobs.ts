import type { Ctx } from '../../platform/context.ts'
import { shownJobId } from '../../taxpayers/visibility/job-id.ts'
import type { JobState } from '../contract.ts'
import { viewState, WAITING } from '../progress.ts'
import { jobsOfRun, type RunJobPage, type RunJobPosition, type RunJobRow } from './states-store.ts'

export type { RunJobPosition } from './states-store.ts'

/** A job of a run, with its RFC and its position in the list. */
export interface RunJobState {
  position: RunJobPosition
  job: JobState & { fiscal_entity_id: string }
}

interface Asked {
  entity: number
  shard: number
  fiscal_entity_id: string
  isActive: boolean
}

const positionOf = ({ fiscal_entity_id, source, month }: RunJobRow): RunJobPosition => [fiscal_entity_id, source, month]

/** The order of the list. */
function compare([rfc, source, month]: RunJobPosition, [otherRfc, otherSource, otherMonth]: RunJobPosition): number {
  if (rfc !== otherRfc) return rfc < otherRfc ? -1 : 1
  if (source !== otherSource) return source < otherSource ? -1 : 1
  return month === otherMonth ? 0 : month > otherMonth ? -1 : 1
}

/** The known members of a job whose row is deleted. */
const forgotten = async ({ fiscal_entity_id, source, month, known_as, requested_at }: RunJobRow): Promise<JobState> => ({
  job_id: await shownJobId(fiscal_entity_id, source, month, known_as),
  data_source_key: source,
  period: month || null,
  status: 'succeeded',
  attempts: 0,
  error_class: null,
  last_code: null,
  next_attempt_at: null,
  created_at: new Date(requested_at).toISOString(),
  started_at: null,
  finished_at: null,
})

/** Reads jobs that a run of the organization asked for, as far as they are of these RFCs. One call for each ledger. */
export async function readRunJobs(ctx: Ctx, run_id: string, rfcs: readonly Asked[], page: RunJobPage): Promise<RunJobState[]> {
  const left = rfcs.filter(({ fiscal_entity_id }) => page.after === null || fiscal_entity_id >= page.after[0])
  const read = [...Map.groupBy(left, ({ shard }) => shard)].map(([shard, own]) =>
    jobsOfRun(ctx.settings.ledgers[shard]!, ctx.organization.id, run_id, own, page),
  )
  const rows = (await Promise.all(read)).flat().sort((one, other) => compare(positionOf(one), positionOf(other)))
  return Promise.all(
    rows.slice(0, page.limit).map(async (row) => {
      const { fiscal_entity_id, is_forgotten, is_active, open } = row
      const shown = is_active || open === 0 ? row : { ...row, ...WAITING }
      const state = is_forgotten ? await forgotten(row) : await viewState(ctx, fiscal_entity_id, shown)
      return { position: positionOf(row), job: { fiscal_entity_id, ...state } }
    }),
  )
}
