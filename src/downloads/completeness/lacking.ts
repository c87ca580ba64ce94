import { afterDay } from '../../cfdi/literal-day.ts'
import { type DataStatusRow, dataStatusRows, monthStates } from '../../cfdi/quality/data-status.ts'
import type { Ctx } from '../../platform/context.ts'
import { prepared } from '../../platform/db/statement.ts'
import { notFound } from '../../platform/failures.ts'
import { openCursor, type Page, paginate } from '../../platform/paging/cursor.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import { offsetText } from '../../platform/time/zone-of-postcode.ts'
import { openLedger, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import type { CoveragePath, LackingDocument, LackingQuery } from './contract.ts'
import { directionOf, monthsIn } from './coverage.ts'
import { type LackingRow, type LatestJob, lackingRows, latestJobs } from './store.ts'

/** A document that is not held whole. Where not even its metadata is, nothing but its UUID is known. */
type Entry = { uuid: string; issued_at: number; code: string | null; row: LackingRow | null }

/**
 * Returns a page of the documents of a month that metadata announces and that are not held whole, by when they were issued; first those of
 * which not even the metadata could be kept. One call to the ledger, which reads the month. Throws Failure 404 fiscal_entity.not_found, and
 * coverage_month.not_found for a month that the window does not show.
 */
export async function listLacking(
  ctx: Ctx,
  { source, month }: Pick<CoveragePath, 'source' | 'month'>,
  query: LackingQuery,
): Promise<Page<LackingDocument>> {
  const ledger = openLedger(ctx)
  const now = ctx.now.getTime()
  const shown = monthsIn(ledger, source, now)
  if (shown === null || month < shown[0] || month > shown[1]) throw notFound('coverage_month')
  const scope = { list: `coverage:${ledger.entity}:${source}:${month}`, filters: {} }
  const after = ((await openCursor(ctx, scope, query.cursor)) as [number, string] | undefined) ?? [0, '']
  const direction = directionOf(source)
  const [first, last] = [`${month}-01`, lastDayOf(month)]
  const partition = partitionsToRead(ledger).find(({ origin }) => origin === 'authority')!
  const days = [first, afterDay(last)] as const
  const limits = { direction, since: earliestOf(first), until: latestOf(last), days, after, limit: query.limit + 1 }
  const statements = [
    dataStatusRows(ledger),
    latestJobs(ledger, { first: month, last: month, source, now: Date.now() }, true),
    lackingRows(partition, limits),
  ]
  const [statusRows, jobs, rows] = await ledger.d1.batch<unknown>(statements.map((one) => prepared(ledger.d1, one)))
  const [job] = jobs!.results as LatestJob[]
  const codes = new Map(JSON.parse(job?.known ?? '[]') as [uuid: string, code: string][])
  const unknown = new Map(JSON.parse(job?.unknown ?? '[]') as [uuid: string, code: string][])
  const entries: Entry[] = [
    ...[...unknown].map(([uuid, code]): Entry => ({ uuid, issued_at: 0, code, row: null })),
    ...(rows!.results as LackingRow[]).map((row): Entry => ({ ...row, code: codes.get(row.uuid) ?? null, row })),
  ]
    .filter(({ issued_at, uuid }) => issued_at > after[0] || (issued_at === after[0] && uuid > after[1]))
    .sort((one, other) => one.issued_at - other.issued_at || (one.uuid < other.uuid ? -1 : 1))
  const { status } = monthStates(ledger, statusRows!.results as DataStatusRow[], now)(month, direction, 1)
  const oldest = ledger.oldestAt(now)
  const view = ({ uuid, code, row }: Entry): LackingDocument => ({
    uuid,
    issued_at: row && `${row.fecha}${offsetText(row.utc_offset)}`,
    estatus: row?.estatus ?? null,
    kind: row?.kind ?? null,
    why:
      direction === 1 && row?.estatus === 'cancelado'
        ? 'cancelled_received'
        : code !== null
          ? 'rejected'
          : status === 'requested'
            ? 'requested'
            : row && row.fecha < oldest
              ? 'unobtainable'
              : 'xml_not_delivered_yet',
    code: direction === 1 && row?.estatus === 'cancelado' ? null : code,
  })
  return paginate(ctx, scope, query.limit, entries, ({ issued_at, uuid }) => [issued_at, uuid], view)
}
