import type { Ctx } from '../platform/context.ts'
import { openCursor, pageOf } from '../platform/paging/cursor.ts'
import type { Run, RunQuery } from './contract.ts'
import { requireExtractor } from './extractors.ts'
import { type RunRow, runsOfExtractor } from './run-store.ts'

const view = ({ organization_id: _, instant, created_at: __, ...row }: RunRow): Run => ({ ...row, started_at: instant.toISOString() })

/** The runs of an extractor, newest first. 404 when it is absent or another's. */
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
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.run_id], view)
}
