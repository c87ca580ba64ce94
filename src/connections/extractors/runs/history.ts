import type { Ctx, System } from '../../../platform/context.ts'
import { idsFrom } from '../../../platform/db/id.ts'
import { pageByPage, START } from '../../../platform/pages.ts'
import { openCursor, paginate } from '../../../platform/paging/cursor.ts'
import { requireExtractor } from '../extractors.ts'
import type { Run, RunQuery } from './contract.ts'
import { deleteRuns, type RunRow, runsOfExtractor } from './store.ts'

const KEPT_MS = 30 * 86_400_000
const RUNS_A_ROUND = 2_000

export const viewRun = ({
  organization_id: _,
  instant,
  after: __,
  created_at: ___,
  moved_at: ____,
  asked: _____,
  ...row
}: RunRow): Run => ({
  ...row,
  extractor_id: row.extractor_id || null,
  started_at: instant.toISOString(),
})

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
  return paginate(ctx, scope, query.limit, rows, (row) => [row.run_id], viewRun)
}

/** Deletes finished runs that are older than 30 days. A task. */
export function pruneRuns(system: System, place = START): Promise<string> {
  const before = idsFrom('run', new Date(system.now.getTime() - KEPT_MS))
  return pageByPage(system, 1, place, async () => ((await deleteRuns(system.db, before, RUNS_A_ROUND)) < RUNS_A_ROUND ? '' : START))
}
