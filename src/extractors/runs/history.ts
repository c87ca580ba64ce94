import type { Ctx, System } from '../../platform/context.ts'
import { idsFrom } from '../../platform/db/id.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { requireExtractor } from '../extractors.ts'
import type { Run, RunQuery } from './contract.ts'
import { deleteRuns, type RunRow, runsOfExtractor } from './store.ts'

const KEPT_MS = 90 * 86_400_000
const RUNS_A_ROUND = 2_000
const ROUNDS = 400

const view = ({ organization_id: _, instant, created_at: __, ...row }: RunRow): Run => ({ ...row, started_at: instant.toISOString() })

/** Returns a page of the extractor's runs, newest first. Throws Failure 404 extractor.not_found. */
export async function listRuns(ctx: Ctx, extractor_id: string, query: RunQuery) {
  await requireExtractor(ctx, extractor_id)
  const scope = { list: `runs:${extractor_id}`, filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await runsOfExtractor(
    ctx.db,
    ctx.organization.id,
    extractor_id,
    before === undefined ? undefined : String(before),
    query.limit + 1,
  )
  return paginate(ctx, scope, query.limit, rows, (row) => [row.run_id], view)
}

/** Deletes finished runs that are older than 90 days, at most 800,000 at a time. */
export async function pruneRuns({ db, now }: System): Promise<void> {
  const before = idsFrom('run', new Date(now.getTime() - KEPT_MS))
  for (let round = 0; round < ROUNDS; round++) if ((await deleteRuns(db, before, RUNS_A_ROUND)) < RUNS_A_ROUND) return
}
