import { type SQL, sql } from 'drizzle-orm'
import { bare, prepared } from '../../platform/db/statement.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { exports_ } from './tables.ts'

export type ExportRow = typeof exports_.$inferSelect

/** Exports that count against the quota: those being made and those kept. */
export const exportsUsed = (organization_id: string, now: Date): SQL =>
  sql`select count(*) as n from ${exports_} where ${exports_.organization_id} = ${organization_id}
    and (${exports_.status} in ('queued', 'running') or (${exports_.status} = 'ready' and ${exports_.expires_at} > ${now.getTime()}))`

type NewRow = Pick<
  ExportRow,
  'export_id' | 'organization_id' | 'fiscal_entity_id' | 'created_by' | 'kind' | 'format' | 'headings' | 'filters' | 'start' | 'created_at'
>

const COLUMNS = [
  ...[exports_.export_id, exports_.organization_id, exports_.fiscal_entity_id, exports_.created_by, exports_.kind, exports_.format],
  ...[exports_.headings, exports_.filters, exports_.start, exports_.status, exports_.rows, exports_.documents],
  ...[exports_.without_xml, exports_.bytes, exports_.lease_until, exports_.attempts, exports_.created_at],
].map(bare)

export const insertExport = (d1: D1Database, row: NewRow): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into ${exports_} ${COLUMNS}
      values (${row.export_id}, ${row.organization_id}, ${row.fiscal_entity_id}, ${row.created_by}, ${row.kind}, ${row.format},
        ${row.headings},
        ${row.filters}, ${row.start}, 'queued', 0, 0, 0, 0, ${Date.now()}, 0, ${row.created_at})`,
  )

/** Finds an export of an organization that is not being deleted. */
export const findExport = (d1: D1Database, organization_id: string, export_id: string): Promise<ExportRow | null> =>
  prepared(
    d1,
    sql`select * from ${exports_} where ${exports_.export_id} = ${export_id} and ${exports_.organization_id} = ${organization_id}
      and ${exports_.status} <> 'deleting'`,
  ).first<ExportRow>()

/** Sorts after every identifier of an export. */
const LAST = 'exq'

/** Returns a page of an organization's exports, newest first, before one. */
export const listExportRows = async (d1: D1Database, organization_id: string, before: string | undefined, limit: number) =>
  (
    await prepared(
      d1,
      sql`select * from ${exports_} indexed by exports_organization where ${exports_.organization_id} = ${organization_id}
        and ${exports_.export_id} < ${before ?? LAST} and ${exports_.status} <> 'deleting' order by ${exports_.export_id} desc
          limit ${limit}`,
    ).all<ExportRow>()
  ).results

/** Has an export deleted, even while a worker has it: the worker loses its token. */
export const markDeleting = (d1: D1Database, export_id: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${exports_} set ${bare(exports_.status)} = 'deleting', ${bare(exports_.token)} = null, ${bare(exports_.lease_until)} = 0
      where ${exports_.export_id} = ${export_id}`,
  )

/** The lease of a worker on an export. */
export const exportLease = new RowLease<ExportRow>(exports_, ['export_id'])

/** Claims an export that is to be made or deleted. Undefined when another worker holds it, or when there is nothing to do. */
export const claimExport = async (d1: D1Database, export_id: string): Promise<Leased<ExportRow> | undefined> => {
  const { status, attempts } = exports_
  const [row] = await exportLease.claim(
    d1,
    sql`${exports_.export_id} = ${export_id} and ${status} in ('queued', 'running', 'deleting')`,
    sql`${bare(status)} = iif(${status} = 'deleting', ${status}, 'running'), ${bare(attempts)} = ${attempts} + 1`,
  )
  return row
}

/** Marks an export as expired, without its file. */
export const markExpired = (d1: D1Database, export_id: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${exports_} set ${bare(exports_.status)} = 'expired', ${bare(exports_.object)} = null, ${bare(exports_.etag)} = null
      where ${exports_.export_id} = ${export_id}`,
  )

export const deleteExportRow = (d1: D1Database, row: Leased<ExportRow>): D1PreparedStatement =>
  prepared(d1, sql`delete from ${exports_} where ${exportLease.isLeased(row)}`)

/** Finds exports that are to be made or deleted and on which nobody has worked since. */
export const openExports = async (d1: D1Database, before: number, limit: number): Promise<string[]> =>
  (
    await prepared(
      d1,
      sql`select ${exports_.export_id} from ${exports_} indexed by exports_open
        where ${exports_.status} in ('queued', 'running', 'deleting') and ${exports_.lease_until} < ${before}
        order by ${exports_.lease_until} limit ${limit}`,
    ).all<{ export_id: string }>()
  ).results.map(({ export_id }) => export_id)

/** Deletes the rows of exports that failed or expired before an instant. */
export const forgetExports = (d1: D1Database, before: number, limit: number): D1PreparedStatement =>
  prepared(
    d1,
    sql`delete from ${exports_} where ${exports_.export_id} in (
      select ${exports_.export_id} from ${exports_} indexed by exports_ended where ${exports_.status} in ('failed', 'expired')
        and ${exports_.completed_at} < ${before} limit ${limit})`,
  )

/** Finds exports whose content has expired. */
export const expiredExports = async (d1: D1Database, now: number, limit: number): Promise<string[]> =>
  (
    await prepared(
      d1,
      sql`select ${exports_.export_id} from ${exports_} indexed by exports_expiring where ${exports_.status} = 'ready'
        and ${exports_.expires_at} <= ${now} order by ${exports_.expires_at} limit ${limit}`,
    ).all<{ export_id: string }>()
  ).results.map(({ export_id }) => export_id)
