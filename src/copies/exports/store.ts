import { type SQL, sql } from 'drizzle-orm'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import { exports_ } from './tables.ts'

export type ExportRow = typeof exports_.$inferSelect

/** Those that take a place of the quota: what is made, and what is kept. */
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

/** Has an export deleted, also by a worker that has it now: it loses its token. */
export const markDeleting = (d1: D1Database, export_id: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${exports_} set ${bare(exports_.status)} = 'deleting', ${bare(exports_.token)} = null, ${bare(exports_.lease_until)} = 0
      where ${exports_.export_id} = ${export_id}`,
  )

/** Claims an export that is to be made or deleted and that nobody holds. Null when there is nothing to do. */
export const claimExport = (d1: D1Database, export_id: string, token: string, now: number, leaseUntil: number): Promise<ExportRow | null> =>
  prepared(
    d1,
    sql`update ${exports_} set ${bare(exports_.status)} = iif(${exports_.status} = 'deleting', ${exports_.status}, 'running'),
      ${bare(exports_.token)} = ${token}, ${bare(exports_.lease_until)} = ${leaseUntil},
      ${bare(exports_.attempts)} = ${exports_.attempts} + 1
      where ${exports_.export_id} = ${export_id} and ${exports_.status} in ('queued', 'running', 'deleting') and (${exports_.token} is null
        or ${exports_.lease_until} < ${now}) returning *`,
  ).first<ExportRow>()

/** The guard of `assertLeased`. */
export const LEASED = 'export.leased'

/** Refuses its batch unless the token holds the export. */
export const assertLeased = (d1: D1Database, { export_id, token }: ExportRow): D1PreparedStatement =>
  assertThat(
    d1,
    sql`exists (select 1 from ${exports_} where ${exports_.export_id} = ${export_id} and ${exports_.token} = ${token})`,
    LEASED,
  )

/** Sets members of an export. */
export const setExport = (d1: D1Database, export_id: string, set: SQL): D1PreparedStatement =>
  prepared(d1, sql`update ${exports_} set ${set} where ${exports_.export_id} = ${export_id}`)

/** Leaves an export to the next worker, if the token still holds it. */
export const releaseExport = (d1: D1Database, { export_id, token }: ExportRow): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${exports_} set ${bare(exports_.token)} = null, ${bare(exports_.lease_until)} = ${Date.now()}
      where ${exports_.export_id} = ${export_id} and ${exports_.token} = ${token}`,
  )

export const deleteExportRow = (d1: D1Database, { export_id, token }: ExportRow): D1PreparedStatement =>
  prepared(d1, sql`delete from ${exports_} where ${exports_.export_id} = ${export_id} and ${exports_.token} = ${token}`)

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
