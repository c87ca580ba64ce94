import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { shownJobId } from '../../taxpayers/visibility/jobs.ts'
import type { JobState } from '../contract.ts'
import { viewState, WAITING } from '../progress.ts'
import { type Watermark, watermarkStatement } from '../request-store.ts'
import {
  coverageOf,
  type JobGroup,
  jobGroups,
  jobsOfRun,
  type RunGroup,
  type RunJobPage,
  type RunJobPosition,
  type RunJobRow,
  runGroups,
  runsOfEntity,
  type SourceCoverage,
} from './states-store.ts'

export type { JobGroup, RunGroup, SourceCoverage } from './states-store.ts'

/** The jobs of an RFC as an organization sees them. */
export interface JobStates {
  groups: readonly JobGroup[]
  /** The instant, in milliseconds, up to which every CFDI source that it downloads has been downloaded whole; null before. */
  downloaded_to: number | null
  /**
   * How the downloads of the months of each CFDI source ended, whoever asked for them: `partialMonths` says how much of it may be reported.
   */
  coverage: readonly SourceCoverage[]
}

interface Asked {
  entity: number
  shard: number
  isActive: boolean
  /** The sources of CFDIs that the organization's runs have reached. */
  sources: readonly string[]
}

/** Reads the states of jobs, by RFC. One call for each ledger. */
export async function readJobStates(
  ledgers: readonly D1Database[],
  organization_id: string,
  rfcs: readonly Asked[],
): Promise<Map<number, JobStates>> {
  const now = clock.now()
  const states = new Map<number, JobStates>()
  await Promise.all(
    [...Map.groupBy(rfcs, ({ shard }) => shard)].map(async ([shard, own]) => {
      const ledger = ledgers[shard]!
      const pairs = own.flatMap(({ entity, sources }) => sources.map((source): [number, string] => [entity, source]))
      const [groups, reached, covered] = await commit<unknown>(ledger, [
        jobGroups(organization_id, own, now),
        watermarkStatement(organization_id, pairs),
        coverageOf(own.map(({ entity }) => entity)),
      ])
      const groupsOf = Map.groupBy(groups!.results as JobGroup[], ({ entity }) => entity)
      const reachedOf = Map.groupBy(reached!.results as Watermark[], ({ entity }) => entity)
      const coveredOf = Map.groupBy(covered!.results as SourceCoverage[], ({ entity }) => entity)
      for (const { entity } of own) {
        const instants = (reachedOf.get(entity) ?? []).map(({ instant }) => instant)
        const isDownloaded = instants.length > 0 && instants.every((instant) => instant !== null)
        states.set(entity, {
          groups: groupsOf.get(entity) ?? [],
          downloaded_to: isDownloaded ? Math.min(...(instants as number[])) : null,
          coverage: coveredOf.get(entity) ?? [],
        })
      }
    }),
  )
  return states
}

/** Reads the states of the jobs of runs, as far as they are of these RFCs. One call for each ledger. */
export async function readRunGroups(
  ledgers: readonly D1Database[],
  organization_id: string,
  rfcs: readonly { entity: number; shard: number; isActive: boolean }[],
  run_ids: readonly string[],
): Promise<RunGroup[]> {
  const now = clock.now()
  const read = [...Map.groupBy(rfcs, ({ shard }) => shard)].map(([shard, own]) =>
    readRows<RunGroup>(ledgers[shard]!, runGroups(organization_id, own, run_ids, now)),
  )
  return (await Promise.all(read)).flat()
}

/** Returns the last runs of an organization that asked for jobs of an RFC, newest first: at most 61. */
export const listRunsOf = (ledger: D1Database, organization_id: string, entity: number): Promise<string[]> =>
  readColumn(ledger, runsOfEntity(organization_id, entity))

export type { RunJobPosition } from './states-store.ts'

/** A job of a run, with its RFC and its position in the list. */
export interface RunJobState {
  position: RunJobPosition
  job: JobState & { fiscal_entity_id: string }
}

interface AskedJobs {
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
export async function readRunJobs(ctx: Ctx, run_id: string, rfcs: readonly AskedJobs[], page: RunJobPage): Promise<RunJobState[]> {
  const left = rfcs.filter(({ fiscal_entity_id }) => page.after === null || fiscal_entity_id >= page.after[0])
  const read = [...Map.groupBy(left, ({ shard }) => shard)].map(([shard, own]) =>
    readRows(ctx.settings.ledgers[shard]!, jobsOfRun(ctx.organization.id, run_id, own, page)),
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
