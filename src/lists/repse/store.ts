import { and, eq, lte, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Database, jsonChunks, type Statement } from '../../platform/db/commit.ts'
import { bare, readAll } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { clock } from '../../platform/time/clock.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { connections } from '../../taxpayers/tables.ts'
import { repseRecords, repseRounds } from '../tables.ts'
import type { RegistryRecord } from './registry/registry.ts'
import type { Registration } from './status.ts'

const [c, o, r] = [alias(connections, 'c'), alias(organizations, 'o'), alias(repseRecords, 'r')]
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
export const requestLookups = (requests: readonly LookupRequest[], now: Date): SQL =>
  sql`insert into ${repseRecords} ${[rfc, name, due_at, attempts].map(bare)}
      select value->>0, value->>1, ${now.getTime()}, 0 from json_each(${JSON.stringify(requests.map((one) => [one.rfc, one.name]))}) where true
      on conflict (${bare(rfc)}) do update set ${bare(due_at)} = excluded.${bare(due_at)}, ${bare(attempts)} = 0,
        ${bare(name)} = coalesce(excluded.${bare(name)}, ${name}) where ${token} is null`

/** The lease of a worker on a requested look-up, which is not due before the lease ends. */
export const lookupLease = new RowLease<Pick<RepseRow, 'rfc' | 'name' | 'attempts'>>(repseRecords, ['rfc'], {
  milliseconds: 150_000,
  until: due_at,
})
export type LeasedLookup = Leased<Pick<RepseRow, 'rfc' | 'name' | 'attempts'>>

/** Claims a look-up that is requested and due. Returns undefined when there is none. */
export const claimLookup = async ({ $client }: Database, of: string): Promise<LeasedLookup | undefined> =>
  (await lookupLease.claim($client, sql`${rfc} = ${of} and ${due_at} <= ${clock.now()}`))[0]

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

export type Round = typeof repseRounds.$inferSelect

/** Returns statements that open the day's round, or reopen it when it is done. An open round continues; rounds of other days end. */
export const openRound = (db: Database, day: string, instant: Date, now: Date): Statement[] => {
  const opened = { instant, after: 0, is_done: false, moved_at: now }
  return [
    db.delete(repseRounds).where(ne(repseRounds.day, day)),
    db
      .insert(repseRounds)
      .values({ day, ...opened })
      .onConflictDoUpdate({ target: repseRounds.day, set: opened, setWhere: sql`${repseRounds.is_done} = 1` }),
  ]
}

export const findRound = async (db: Database, day: string): Promise<Round | undefined> =>
  (await db.select().from(repseRounds).where(eq(repseRounds.day, day)).limit(1))[0]

/** Advances a round past the entity `after`. Does nothing when a concurrent worker has advanced it. */
export const advanceRound = (db: Database, { day, after, instant }: Round, next: number, is_done: boolean, now: Date): Statement =>
  db
    .update(repseRounds)
    .set({ after: next, is_done, moved_at: now })
    .where(and(eq(repseRounds.day, day), eq(repseRounds.after, after), eq(repseRounds.instant, instant), eq(repseRounds.is_done, false)))

/** The day of the open round, if it has not advanced since `before`; else null. */
export const stalledRound = async (db: Database, before: Date): Promise<string | null> =>
  (
    await db
      .select({ day: repseRounds.day })
      .from(repseRounds)
      .where(and(eq(repseRounds.is_done, false), lte(repseRounds.moved_at, before)))
      .limit(1)
  )[0]?.day ?? null

/** The next entities with an active connection, in ascending order. */
export const nextEntities = ({ $client }: Database, after: number, limit: number): Promise<{ entity: number; rfc: string }[]> =>
  readAll($client, [
    sql`select ${c.entity}, ${c.rfc} from ${connections} ${c} indexed by connections_entity
      where ${c.entity} > ${after} and ${c.state} = 'active' group by ${c.entity} order by ${c.entity} limit ${limit}`,
  ])

/** The RFCs among these that have no answer newer than `since` and no requested look-up. */
export const dueRows = ({ $client }: Database, rfcs: readonly string[], since: Date): Promise<{ rfc: string; name: string | null }[]> =>
  readAll($client, [
    sql`select j.value as rfc, ${r.name} from json_each(${JSON.stringify(rfcs)}) j left join ${repseRecords} ${r} on ${r.rfc} = j.value
      where ${r.rfc} is null or (${r.due_at} is null and (${r.checked_at} is null or ${r.checked_at} <= ${since.getTime()}))`,
  ])

/** Claims an RFC for the day's round. Returns false when it has been claimed for that day. */
export const claimForDay = async (db: Database, rfc: string, asked_day: string): Promise<boolean> =>
  (
    await db
      .insert(repseRecords)
      .values({ rfc, attempts: 0, asked_day })
      .onConflictDoUpdate({ target: repseRecords.rfc, set: { asked_day }, setWhere: sql`${repseRecords.asked_day} is not ${asked_day}` })
      .returning({ rfc: repseRecords.rfc })
  ).length > 0

/** The registrations of these entities that end, one per active connection. */
export const registrationsOf = ({ $client }: Database, entities: readonly number[]): Promise<Registration[]> =>
  readAll($client, [
    sql`select ${c.organization_id}, ${o.events_shard}, ${o.timezone}, ${c.fiscal_entity_id}, ${c.rfc}, ${r.vigencia_hasta}
      from json_each(${JSON.stringify(entities)}) j cross join ${connections} ${c} indexed by connections_entity
      cross join ${repseRecords} ${r} cross join ${organizations} ${o}
      where ${c.entity} = j.value and ${c.state} = 'active' and ${r.rfc} = ${c.rfc} and ${r.is_registered} = 1 and ${r.vigencia_hasta} is not null
        and ${o.id} = ${c.organization_id}`,
  ])
