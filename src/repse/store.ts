import { eq, sql } from 'drizzle-orm'
import { type Database, jsonChunks } from '../platform/db/commit.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { repseRecords } from './tables.ts'

export type RepseRow = typeof repseRecords.$inferSelect

/** A row that the registry has answered for. */
export type CheckedRow = RepseRow & { checked_at: Date }

export const isChecked = (row: RepseRow | undefined): row is CheckedRow => row !== undefined && row.checked_at !== null

/** What the registry said, out of a row that it has answered for. */
export const recordOf = (row: CheckedRow): RegistryRecord => ({
  ...row,
  is_registered: row.is_registered === true,
  actividades: row.actividades ?? [],
})

export const findRow = async (db: Database, rfc: string): Promise<RepseRow | undefined> =>
  (await db.select().from(repseRecords).where(eq(repseRecords.rfc, rfc)).limit(1))[0]

/** What of a row the standing of a supplier depends on, as SQL has it: milliseconds, 0 and 1. */
export interface StandingRow {
  rfc: string
  checked_at: number | null
  is_registered: 0 | 1 | null
  folio: string | null
  razon_social: string | null
  vigencia_hasta: string | null
  due_at: number | null
  /** Look-ups in a row that gave no answer. */
  attempts: number
}

const STANDING = `select r.rfc, r.checked_at, r.is_registered, r.folio, r.razon_social, r.vigencia_hasta, r.due_at, r.attempts
  from json_each(?1) j cross join repse_records r where r.rfc = j.value`

/** The rows of these RFCs that exist, one seek each. */
export async function findStandings(db: Database, rfcs: readonly string[]): Promise<Map<string, StandingRow>> {
  const chunks = jsonChunks(rfcs)
  const results =
    chunks.length === 0 ? [] : await db.$client.batch<StandingRow>(chunks.map((chunk) => db.$client.prepare(STANDING).bind(chunk)))
  return new Map(results.flatMap(({ results: rows }) => rows).map((row) => [row.rfc, row]))
}

export interface Wish {
  rfc: string
  name: string | null
}

/** Look-ups are wanted now; one that waits for its next attempt waits no longer, one that is being done stays as it is. */
export const wantLookups = (db: Database, wishes: readonly Wish[], now: Date): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into repse_records (rfc, name, due_at, attempts)
       select value->>0, value->>1, ?2, 0 from json_each(?1) where true
       on conflict (rfc) do update set due_at = excluded.due_at, attempts = 0, name = coalesce(excluded.name, name) where token is null`,
    )
    .bind(JSON.stringify(wishes.map(({ rfc, name }) => [rfc, name])), now.getTime())

/** Begins a look-up that is wanted and due; nothing when somebody else has. */
export const claimLookup = async (db: Database, rfc: string, token: string, now: Date, leaseUntil: Date): Promise<RepseRow | undefined> =>
  (await db.update(repseRecords).set({ token, due_at: leaseUntil }).where(sql`rfc = ${rfc} and due_at <= ${now.getTime()}`).returning())[0]

const answer = ({ is_registered, actividades, ...texts }: RegistryRecord, checked_at: Date) => {
  const { folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta } = texts
  return {
    ...{ is_registered, folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta, actividades },
    checked_at,
  }
}

/** Keeps what the registry answered to whoever has the claim. */
export const finishLookup = (db: Database, rfc: string, token: string, record: RegistryRecord, now: Date) =>
  db
    .update(repseRecords)
    .set({ ...answer(record, now), due_at: null, token: null, attempts: 0 })
    .where(sql`rfc = ${rfc} and token = ${token}`)

/** The registry did not answer: what was known stays. Tried again at `again`, or with null no more. */
export const postponeLookup = (db: Database, rfc: string, token: string, again: Date | null) =>
  db.update(repseRecords).set({ due_at: again, token: null, attempts: sql`attempts + 1` }).where(sql`rfc = ${rfc} and token = ${token}`)

/** Look-ups that have been due since before, the longest waiting first. */
export const leftLookups = async (db: Database, before: Date, limit: number): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        'select rfc from repse_records indexed by repse_records_due where due_at is not null and due_at <= ?1 order by due_at limit ?2',
      )
      .bind(before.getTime(), limit)
      .all<{ rfc: string }>()
  ).results.map(({ rfc }) => rfc)

/** Keeps what the registry answered to the day's round. */
export const keepAnswer = (db: Database, rfc: string, record: RegistryRecord, now: Date) =>
  db.update(repseRecords).set(answer(record, now)).where(eq(repseRecords.rfc, rfc))
