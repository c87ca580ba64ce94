import { type SQL, sql } from 'drizzle-orm'
import { all, assignments, bare, insertion } from '../../platform/db/statement.ts'
import { isAbout } from '../../platform/tenant/bound.ts'
import type { Tenant } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
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

export const insertExport = (row: NewRow): SQL =>
  insertion(exports_, {
    ...row,
    ...{ status: 'queued', rows: 0, documents: 0, without_xml: 0, bytes: 0 },
    lease_until: clock.now(),
    attempts: 0,
  })

/** The condition that an export is of a tenant. */
const isOf = (tenant: Tenant): SQL => all([sql`${exports_.organization_id} = ${tenant.id}`, isAbout(tenant, exports_.fiscal_entity_id)])

/** Finds an export of a tenant that is not being deleted. */
export const findExport = (tenant: Tenant, export_id: string): SQL<ExportRow> =>
  sql<ExportRow>`select * from ${exports_} where ${exports_.export_id} = ${export_id} and ${isOf(tenant)} and ${exports_.status} <> 'deleting'`

/** Sorts after every identifier of an export. */
const LAST = 'exq'

/** Returns a page of a tenant's exports, newest first, before one. */
export const listExportRows = (tenant: Tenant, before: string | undefined, limit: number): SQL<ExportRow> =>
  sql<ExportRow>`select * from ${exports_} indexed by exports_organization where ${isOf(tenant)}
        and ${exports_.export_id} < ${before ?? LAST} and ${exports_.status} <> 'deleting' order by ${exports_.export_id} desc
          limit ${limit}`

/** Has an export deleted, even while a worker has it: the worker loses its token. */
export const markDeleting = (export_id: string): SQL =>
  sql`update ${exports_} set ${assignments(exports_, { status: 'deleting', token: null, lease_until: 0 })}
    where ${exports_.export_id} = ${export_id}`

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
export const markExpired = (export_id: string): SQL =>
  sql`update ${exports_} set ${assignments(exports_, { status: 'expired', object: null, etag: null })}
    where ${exports_.export_id} = ${export_id}`

export const deleteExportRow = (row: Leased<ExportRow>): SQL => sql`delete from ${exports_} where ${exportLease.isLeased(row)}`

/** Finds exports that are to be made or deleted and on which nobody has worked since. */
export const openExports = (before: number, limit: number): SQL<string> =>
  sql<string>`select ${exports_.export_id} from ${exports_} indexed by exports_open
        where ${exports_.status} in ('queued', 'running', 'deleting') and ${exports_.lease_until} < ${before}
        order by ${exports_.lease_until} limit ${limit}`

/** Deletes the rows of exports that failed or expired before an instant. */
export const forgetExports = (before: number, limit: number): SQL =>
  sql`delete from ${exports_} where ${exports_.export_id} in (
      select ${exports_.export_id} from ${exports_} indexed by exports_ended where ${exports_.status} in ('failed', 'expired')
        and ${exports_.completed_at} < ${before} limit ${limit})`

/** Finds exports whose content has expired. */
export const expiredExports = (now: number, limit: number): SQL<string> =>
  sql<string>`select ${exports_.export_id} from ${exports_} indexed by exports_expiring where ${exports_.status} = 'ready'
        and ${exports_.expires_at} <= ${now} order by ${exports_.expires_at} limit ${limit}`
