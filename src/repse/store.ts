import { eq, sql } from 'drizzle-orm'
import { type Database, jsonChunks } from '../platform/db/commit.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { repseRecords } from './tables.ts'

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

export const findRow = async (db: Database, rfc: string): Promise<RepseRow | undefined> =>
  (await db.select().from(repseRecords).where(eq(repseRecords.rfc, rfc)).limit(1))[0]

/** The columns from which a supplier's status follows, as SQLite returns them: instants are milliseconds, flags 0 or 1. */
export interface SupplierStatusRow {
  rfc: string
  checked_at: number | null
  is_registered: 0 | 1 | null
  folio: string | null
  razon_social: string | null
  vigencia_hasta: string | null
  due_at: number | null
  /** Consecutive look-ups without an answer. */
  attempts: number
}

const SUPPLIERS = `select r.rfc, r.checked_at, r.is_registered, r.folio, r.razon_social, r.vigencia_hasta, r.due_at, r.attempts
  from json_each(?1) j cross join repse_records r where r.rfc = j.value`

/** Returns the existing rows of these RFCs by RFC, with one seek each. */
export async function findSupplierRows(db: Database, rfcs: readonly string[]): Promise<Map<string, SupplierStatusRow>> {
  const chunks = jsonChunks(rfcs)
  const results =
    chunks.length === 0 ? [] : await db.$client.batch<SupplierStatusRow>(chunks.map((chunk) => db.$client.prepare(SUPPLIERS).bind(chunk)))
  return new Map(results.flatMap(({ results: rows }) => rows).map((row) => [row.rfc, row]))
}

/** A look-up to request; `name` is the taxpayer's name if it is known. */
export interface LookupRequest {
  rfc: string
  name: string | null
}

/** Requests look-ups now. A look-up that waits for its next attempt becomes due; one that is running stays as it is. */
export const requestLookups = (db: Database, requests: readonly LookupRequest[], now: Date): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into repse_records (rfc, name, due_at, attempts)
       select value->>0, value->>1, ?2, 0 from json_each(?1) where true
       on conflict (rfc) do update set due_at = excluded.due_at, attempts = 0, name = coalesce(excluded.name, name) where token is null`,
    )
    .bind(JSON.stringify(requests.map(({ rfc, name }) => [rfc, name])), now.getTime())

/** Claims a look-up that is requested and due. Returns undefined when there is none. */
export const claimLookup = async (db: Database, rfc: string, token: string, now: Date, leaseUntil: Date): Promise<RepseRow | undefined> =>
  (await db.update(repseRecords).set({ token, due_at: leaseUntil }).where(sql`rfc = ${rfc} and due_at <= ${now.getTime()}`).returning())[0]

const answer = ({ is_registered, actividades, ...texts }: RegistryRecord, checked_at: Date) => {
  const { folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta } = texts
  return {
    ...{ is_registered, folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta, actividades },
    checked_at,
  }
}

/** Records the answer of a claimed look-up. Does nothing when the claim is lost. */
export const finishLookup = (db: Database, rfc: string, token: string, record: RegistryRecord, now: Date) =>
  db
    .update(repseRecords)
    .set({ ...answer(record, now), due_at: null, token: null, attempts: 0 })
    .where(sql`rfc = ${rfc} and token = ${token}`)

/** Postpones a claimed look-up that got no answer until `retryAt`; null abandons it. The previous answer stays. */
export const postponeLookup = (db: Database, rfc: string, token: string, retryAt: Date | null) =>
  db.update(repseRecords).set({ due_at: retryAt, token: null, attempts: sql`attempts + 1` }).where(sql`rfc = ${rfc} and token = ${token}`)

/** Look-ups that have been due since `before`, the longest waiting first. */
export const overdueLookups = async (db: Database, before: Date, limit: number): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        'select rfc from repse_records indexed by repse_records_due where due_at is not null and due_at <= ?1 order by due_at limit ?2',
      )
      .bind(before.getTime(), limit)
      .all<{ rfc: string }>()
  ).results.map(({ rfc }) => rfc)

/** Records an answer that the daily round received. */
export const recordAnswer = (db: Database, rfc: string, record: RegistryRecord, now: Date) =>
  db.update(repseRecords).set(answer(record, now)).where(eq(repseRecords.rfc, rfc))
