import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Database, jsonChunks } from '../../platform/db/commit.ts'
import { bare, prepared, readAll } from '../../platform/db/statement.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { repseRecords } from './tables.ts'

const r = alias(repseRecords, 'r')
const { rfc, name, due_at, attempts, token } = repseRecords

export type RepseRow = typeof repseRecords.$inferSelect

/** A row of an RFC about which the registry has answered. */
export type CheckedRow = RepseRow & { checked_at: Date }

export const isChecked = (row: RepseRow | undefined): row is CheckedRow => row !== undefined && row.checked_at !== null

/** Returns the registry's answer that a row contains. */
export const recordOf = (row: CheckedRow): RegistryRecord => ({
  ...row,
  is_registered: row.is_registered === true,
  actividades: row.actividades ?? [],
})

export const findRow = async (db: Database, of: string): Promise<RepseRow | undefined> =>
  (await db.select().from(repseRecords).where(eq(rfc, of)).limit(1))[0]

/** The columns from which a supplier's status follows, as SQLite returns them: instants are milliseconds, flags 0 or 1. */
export type SupplierStatusRow = Pick<RepseRow, 'rfc' | 'folio' | 'razon_social' | 'vigencia_hasta' | 'attempts'> &
  Record<'checked_at' | 'due_at', number | null> & { is_registered: 0 | 1 | null }

/** Returns the existing rows of these RFCs by RFC, with one seek each. */
export async function findSupplierRows({ $client }: Database, rfcs: readonly string[]): Promise<Map<string, SupplierStatusRow>> {
  const rows = await readAll<SupplierStatusRow>(
    $client,
    jsonChunks(rfcs).map(
      (chunk) =>
        sql`select ${r.rfc}, ${r.checked_at}, ${r.is_registered}, ${r.folio}, ${r.razon_social}, ${r.vigencia_hasta}, ${r.due_at}, ${r.attempts}
          from json_each(${chunk}) j cross join ${repseRecords} ${r} where ${r.rfc} = j.value`,
    ),
  )
  return new Map(rows.map((row) => [row.rfc, row]))
}

/** A look-up to request; `name` is the taxpayer's name if it is known. */
export interface LookupRequest {
  rfc: string
  name: string | null
}

/** Requests look-ups now. A look-up that waits for its next attempt becomes due; one that is running stays as it is. */
export const requestLookups = ({ $client }: Database, requests: readonly LookupRequest[], now: Date): D1PreparedStatement =>
  prepared(
    $client,
    sql`insert into ${repseRecords} ${[rfc, name, due_at, attempts].map(bare)}
      select value->>0, value->>1, ${now.getTime()}, 0 from json_each(${JSON.stringify(requests.map((one) => [one.rfc, one.name]))}) where true
      on conflict (${bare(rfc)}) do update set ${bare(due_at)} = excluded.${bare(due_at)}, ${bare(attempts)} = 0,
        ${bare(name)} = coalesce(excluded.${bare(name)}, ${name}) where ${token} is null`,
  )

/** The lease of a worker on a requested look-up, which is not due before the lease ends. */
export const lookupLease = new RowLease<Pick<RepseRow, 'rfc' | 'name' | 'attempts'>>(repseRecords, ['rfc'], {
  milliseconds: 150_000,
  until: due_at,
})
export type LeasedLookup = Leased<Pick<RepseRow, 'rfc' | 'name' | 'attempts'>>

/** Claims a look-up that is requested and due. Returns undefined when there is none. */
export const claimLookup = async ({ $client }: Database, of: string): Promise<LeasedLookup | undefined> =>
  (await lookupLease.claim($client, sql`${rfc} = ${of} and ${due_at} <= ${Date.now()}`))[0]

const answer = ({ is_registered, actividades, ...texts }: RegistryRecord, checked_at: Date) => {
  const { folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta } = texts
  return {
    ...{ is_registered, folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta, actividades },
    checked_at,
  }
}

/** Records the answer of a claimed look-up. Does nothing when the claim is lost. */
export const finishLookup = (db: Database, row: LeasedLookup, record: RegistryRecord, now: Date) =>
  db
    .update(repseRecords)
    .set({ ...answer(record, now), due_at: null, token: null, attempts: 0 })
    .where(lookupLease.isLeased(row))

/** Postpones a claimed look-up that got no answer until `retryAt`; null abandons it. The previous answer stays. */
export const postponeLookup = (db: Database, row: LeasedLookup, retryAt: Date | null) =>
  db
    .update(repseRecords)
    .set({ due_at: retryAt, token: null, attempts: sql`${attempts} + 1` })
    .where(lookupLease.isLeased(row))

/** Look-ups that have been due since `before`, the longest waiting first. */
export const overdueLookups = async ({ $client }: Database, before: Date, limit: number): Promise<string[]> => {
  const due = sql`select ${r.rfc} from ${repseRecords} ${r} indexed by repse_records_due
    where ${r.due_at} is not null and ${r.due_at} <= ${before.getTime()} order by ${r.due_at} limit ${limit}`
  return (await readAll<{ rfc: string }>($client, [due])).map((row) => row.rfc)
}

/** Records an answer that the daily round received. */
export const recordAnswer = (db: Database, of: string, record: RegistryRecord, now: Date) =>
  db.update(repseRecords).set(answer(record, now)).where(eq(rfc, of))
