import { and, desc, eq, isNotNull, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { LoginKind } from '../authority/port/login.ts'
import { commit, type Database } from '../platform/db/commit.ts'
import { assertThat } from '../platform/db/guard.ts'
import { bare, changesOf, readRows } from '../platform/db/statement.ts'
import type { InvalidReason } from '../platform/tenant/tenant.ts'
import { clock } from '../platform/time/clock.ts'
import { connectionColumns, connections, fiscalEntities } from './tables.ts'
import { type ConnectionRow, holds, NO_LOGIN, type WithGrantedRanges } from './taxpayers.ts'

/** A connection with its sealed logins. */
export type LoginRow = ConnectionRow & Pick<WithGrantedRanges, 'efirma'>

/** The same with the versions of its RFC's logins. */
export interface VersionedRow {
  row: LoginRow
  versions: Record<LoginKind, number>
}

const VERSIONS = { ciec: 'ciec_version', efirma: 'efirma_version' } as const
const other = (kind: LoginKind): LoginKind => (kind === 'ciec' ? 'efirma' : 'ciec')
const column = (kind: LoginKind, name: 'verify_at' | 'verify_attempts' | 'verified_at' | 'accepted_at') => connections[`${kind}_${name}`]

const c = alias(connections, 'c')
const loginColumns = { ...connectionColumns, efirma: connections.efirma }

const versioned = (db: Database) =>
  db
    .select({
      row: loginColumns,
      versions: { ciec: fiscalEntities.ciec_version, efirma: fiscalEntities.efirma_version },
    })
    .from(connections)
    .innerJoin(fiscalEntities, eq(fiscalEntities.entity, connections.entity))

const wasActive = or(eq(connections.state, 'active'), and(eq(connections.state, 'paused'), eq(connections.paused_from, 'active')))

/** The connections to an RFC whose stored login of a kind counts: active ones, and those that were paused while they were active. */
export const connectionsWithLogin = (db: Database, entity: number, kind: LoginKind): Promise<VersionedRow[]> =>
  versioned(db)
    .where(and(eq(connections.entity, entity), isNotNull(connections[kind]), wasActive))
    .orderBy(desc(connections[`${kind}_accepted_at`]), desc(connections.connection))
    .all()

/** The active connections of these organizations to an RFC. */
export const activeConnections = (db: Database, entity: number, organizations: readonly string[]): Promise<VersionedRow[]> =>
  versioned(db)
    .where(
      and(
        eq(connections.entity, entity),
        eq(connections.state, 'active'),
        sql`${connections.organization_id} in (select value from json_each(${JSON.stringify(organizations)}))`,
      ),
    )
    .all()

/** Selects columns of the connections with a login that is to be verified now, each by the index of its kind. */
const due = (columns: SQL, now: number, withCiecs: boolean, more = sql``): SQL => sql`
  select ${columns} from ${connections} ${c} indexed by connections_unverified
    where ${c.ciec_verify_at} <= ${now} and ${Number(withCiecs)} ${more} union all
  select ${columns} from ${connections} ${c} indexed by connections_efirmas_unverified where ${c.efirma_verify_at} <= ${now} ${more} union all
  select ${columns} from ${connections} ${c} indexed by connections_efirmas_ending
    where ${c.state} = 'active' and ${c.efirma_valid_to} < ${now} ${more}`

/** The RFC's connections with a login that is to be verified now, of CIECs if `withCiecs`, or with an e.firma that has ended. */
export const dueConnections = (db: Database, entity: number, now: number, withCiecs: boolean): Promise<VersionedRow[]> =>
  versioned(db)
    .where(sql`${connections.connection} in (${due(sql`${c.connection}`, now, withCiecs, sql`and ${c.entity} = ${entity}`)})`)
    .all()

/** RFCs with a login that is to be verified now, or with an e.firma that has ended. */
export const dueEntities = (db: Database, now: number, limit: number, withCiecs: boolean): Promise<{ shard: number; entity: number }[]> =>
  readRows<{ shard: number; entity: number }>(
    db.$client,
    sql`select distinct shard, entity from (${due(sql`${c.shard}, ${c.entity}`, now, withCiecs)}) limit ${limit}`,
  )

/** The version of an RFC's logins of a kind; 0 while no organization connected the RFC. */
export const loginVersion = async (db: Database, rfc: string, kind: LoginKind): Promise<number> =>
  (await db.select({ version: fiscalEntities[VERSIONS[kind]] }).from(fiscalEntities).where(eq(fiscalEntities.rfc, rfc)).limit(1))[0]
    ?.version ?? 0

/** Refuses its batch when a login of the RFC and kind was accepted or refused since. */
export const assertLoginVersion = (rfc: string, kind: LoginKind, version: number): SQL =>
  assertThat(
    sql`exists (select 1 from ${fiscalEntities} where ${fiscalEntities.rfc} = ${rfc} and ${fiscalEntities[VERSIONS[kind]]} = ${version})`,
    `fiscal_entity.${kind}_version`,
  )

export const bumpLoginVersion = (rfc: string, kind: LoginKind): SQL => {
  const version = fiscalEntities[VERSIONS[kind]]
  return sql`update ${fiscalEntities} set ${bare(version)} = ${version} + 1 where ${fiscalEntities.rfc} = ${rfc}`
}

const numbers = (rows: readonly ConnectionRow[]) => JSON.stringify(rows.map(({ connection }) => connection))
const listed = (rows: readonly ConnectionRow[]) => sql`${connections.connection} in (select value from json_each(${numbers(rows)}))`
const counts = (kind: LoginKind) => sql`${connections[kind]} is not null
  and (${connections.state} = 'active' or (${connections.state} = 'paused' and ${connections.paused_from} = 'active'))`

/** Refuses its batch when one of these connections has changed its state since, or has lost its login of a kind, or lost or got another. */
export const assertStatesUnchanged = (rows: readonly ConnectionRow[], kind: LoginKind): SQL => {
  const read = rows.map((row) => [row.connection, row.state, Number(holds(row, other(kind)))]).sort(([a], [b]) => Number(a) - Number(b))
  return assertThat(
    sql`${JSON.stringify(read)} = (
      select json_group_array(json_array(connection, state, has_other)) from (
        select ${connections.connection}, ${connections.state}, ${connections[other(kind)]} is not null as has_other from ${connections}
        where ${listed(rows)} and ${counts(kind)} order by ${connections.connection}))`,
    'connection.state_unchanged',
  )
}

/** Marks the only logins of these connections, of a kind, as refused. Its batch guards the connections with assertStatesUnchanged. */
export const invalidateLogin = (rows: readonly ConnectionRow[], kind: LoginKind, reason: InvalidReason, now: Date): SQL =>
  sql`update ${connections} set
        ${bare(connections.state)} = case ${connections.state} when 'active' then 'invalid_ciec' else ${connections.state} end,
        ${bare(connections.paused_from)} = case ${connections.state} when 'paused' then 'invalid_ciec' else ${connections.paused_from} end,
        ${bare(connections.invalid_reason)} = ${reason}, ${bare(column(kind, 'verify_at'))} = null,
        ${bare(column(kind, 'verify_attempts'))} = 0, ${bare(connections.updated_at)} = ${now.getTime()}
      where ${listed(rows)} and ${counts(kind)}`

/** Erases the logins of a kind of connections that keep another one. Its batch guards them with assertStatesUnchanged. */
export const eraseLogin = (db: Database, rows: readonly ConnectionRow[], kind: LoginKind, now: Date) =>
  db
    .update(connections)
    .set({ ...NO_LOGIN[kind], updated_at: now })
    .where(listed(rows))

/** Makes the logins of a kind of these connections wait for a verification, from now on. */
export const requireVerification = (rows: readonly ConnectionRow[], kind: LoginKind, now: Date): SQL =>
  sql`update ${connections} set ${bare(column(kind, 'verify_at'))} = ${now.getTime()},
        ${bare(column(kind, 'verify_attempts'))} = 0
      where ${listed(rows)} and ${counts(kind)}`

/**
 * Makes the logins of a page of active connections, behind `after`, wait for a verification, if they were neither accepted since an instant
 * nor used by a run. Returns the last connection of the page; 0 behind the last one.
 */
export async function requireIdle(db: Database, after: number, limit: number, since: Date): Promise<number> {
  const page = sql`select ${connections.connection} from ${connections} where ${connections.connection} > ${after}
    order by ${connections.connection} limit ${limit}`
  const idle = (kind: LoginKind) =>
    sql`(${connections[kind]} is not null and ${column(kind, 'verify_at')} is null
      and max(coalesce(${column(kind, 'accepted_at')}, 0), coalesce(${column(kind, 'verified_at')}, 0),
        coalesce(${connections.issued_to}, 0), coalesce(${connections.received_to}, 0)) <= ${since.getTime()})`
  const asked = (kind: LoginKind) =>
    sql`${bare(column(kind, 'verify_at'))} = iif(${idle(kind)}, ${clock.now()}, ${column(kind, 'verify_at')}),
      ${bare(column(kind, 'verify_attempts'))} = iif(${idle(kind)}, 0, ${column(kind, 'verify_attempts')})`
  const [last] = await commit<{ connection: number | null }>(db.$client, [
    sql`select max(connection) as connection from (${page}) having count(*) = ${limit}`,
    sql`update ${connections} set ${asked('ciec')}, ${asked('efirma')}
        where ${connections.connection} in (${page}) and ${connections.state} = 'active'
          and (${idle('ciec')} or ${idle('efirma')})`,
  ])
  return last!.results[0]?.connection ?? 0
}

/** Marks the logins of a kind of these connections as verified. */
export const markVerified = (rows: readonly ConnectionRow[], kind: LoginKind): SQL =>
  sql`update ${connections}
      set ${bare(column(kind, 'verify_at'))} = null, ${bare(column(kind, 'verify_attempts'))} = 0,
        ${bare(column(kind, 'verified_at'))} = ${clock.now()}
      where ${listed(rows)} and ${column(kind, 'verify_at')} is not null`

/** Postpones due verifications until `next`. Returns false when another worker has taken them. */
export const claimVerification = async (
  db: Database,
  rows: readonly ConnectionRow[],
  kind: LoginKind,
  now: Date,
  next: Date,
): Promise<boolean> =>
  (await changesOf(
    db.$client,
    sql`update ${connections}
        set ${bare(column(kind, 'verify_at'))} = ${next.getTime()},
          ${bare(column(kind, 'verify_attempts'))} = ${column(kind, 'verify_attempts')} + 1
        where ${listed(rows)} and ${column(kind, 'verify_at')} <= ${now.getTime()}`,
  )) > 0

/** Replaces a stored login by the same one under another key, unless a new one has been stored since. */
export const resealStored = (db: Database, connection: number, kind: LoginKind, stored: string, sealed: string) =>
  db
    .update(connections)
    .set({ [kind]: sealed })
    .where(and(eq(connections.connection, connection), eq(connections[kind], stored)))

/** A page of the connections, behind `after`, with a login that another key than this one sealed. */
export const outdatedLogins = (db: Database, version: string, after: number, limit: number): Promise<LoginRow[]> =>
  db
    .select(loginColumns)
    .from(connections)
    .where(
      sql`${connections.connection} > ${after} and (${connections.ciec} not like ${`${version}:%`}
        or ${connections.efirma} not like ${`${version}:%`})`,
    )
    .orderBy(connections.connection)
    .limit(limit)
    .all()
