import { and, asc, count, eq, gt, inArray, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { LoginKind } from '../authority/port/login.ts'
import type { Database } from '../platform/db/commit.ts'
import { assertThat } from '../platform/db/guard.ts'
import { readRows } from '../platform/db/statement.ts'
import { isAbout, isOwn } from '../platform/tenant/bound.ts'
import type { ConnectionState, Tenant } from '../platform/tenant/tenant.ts'
import { connectionColumns, connections, fiscalEntities } from './tables.ts'

const c = alias(connections, 'c')

/** A connection as it is read alone. Lists leave out its granted ranges and listed counterparties, which are long. */
export type WithGrantedRanges = typeof connections.$inferSelect
export type StoredGrantedRanges = Pick<WithGrantedRanges, 'issued_granted_ranges' | 'received_granted_ranges' | 'asked_ranges'>
export type ConnectionRow = Omit<WithGrantedRanges, keyof StoredGrantedRanges | 'listed' | 'listed_version' | 'efirma' | 'metadata'>
export type EntityRow = typeof fiscalEntities.$inferSelect

/** Returns the entity of an RFC, and creates it when no organization connected the RFC before. */
export async function upsertEntity(db: Database, row: Omit<EntityRow, 'entity' | 'ciec_version' | 'efirma_version'>): Promise<EntityRow> {
  await db.insert(fiscalEntities).values(row).onConflictDoNothing()
  return (await db.select().from(fiscalEntities).where(eq(fiscalEntities.rfc, row.rfc)).limit(1))[0]!
}

/** The condition that a connection is of a tenant. */
const isOf = (tenant: Tenant) => and(eq(connections.organization_id, tenant.id), isAbout(tenant, connections.fiscal_entity_id))

const linked = (tenant: Tenant, fiscal_entity_id: string) =>
  and(isOf(tenant), eq(connections.fiscal_entity_id, fiscal_entity_id), ne(connections.state, 'unlinked'))

export const findConnection = async (db: Database, tenant: Tenant, fiscal_entity_id: string): Promise<WithGrantedRanges | undefined> =>
  (await db.select().from(connections).where(linked(tenant, fiscal_entity_id)).limit(1))[0]

/** Returns which of these fiscal entities a tenant is connected to. */
export const findLinked = async ({ $client }: Database, tenant: Tenant, fiscal_entity_ids: readonly string[]): Promise<Set<string>> => {
  const own = fiscal_entity_ids.filter((id) => isOwn(tenant, id))
  const rows = await readRows<{ id: string }>(
    $client,
    sql`select ${c.fiscal_entity_id} as id from json_each(${JSON.stringify(own)}) j
      cross join ${connections} ${c} indexed by connections_organization
      on ${c.organization_id} = ${tenant.id} and ${c.fiscal_entity_id} = j.value and ${c.state} <> 'unlinked'`,
  )
  return new Set(rows.map(({ id }) => id))
}

/** A page of the RFCs with an active connection, in the order of their numbers. */
export const activeEntities = (after: number, limit: number): SQL<{ entity: number; shard: number }> =>
  sql`select ${c.entity}, min(${c.shard}) as shard from ${connections} ${c} indexed by connections_entity
    where ${c.entity} > ${after} and ${c.state} = 'active' group by ${c.entity} order by ${c.entity} limit ${limit}`

const entityOf = (db: Database, rfc: string) =>
  db.select({ entity: fiscalEntities.entity }).from(fiscalEntities).where(eq(fiscalEntities.rfc, rfc))

/** The organization's connection to an RFC in any state, unlinked included. */
export const findConnectionByRfc = async (db: Database, organization_id: string, rfc: string): Promise<ConnectionRow | undefined> =>
  (
    await db
      .select(connectionColumns)
      .from(connections)
      .where(and(eq(connections.organization_id, organization_id), inArray(connections.entity, entityOf(db, rfc))))
      .limit(1)
  )[0]

/** The organization's connections to RFCs in any state, with their metadata. */
export const findConnectionsByRfc = (db: Database, organization_id: string, rfcs: readonly string[]) =>
  db
    .select({ ...connectionColumns, metadata: connections.metadata })
    .from(connections)
    .where(
      and(
        eq(connections.organization_id, organization_id),
        sql`${connections.entity} in (
          select ${fiscalEntities.entity} from ${fiscalEntities}
          where ${fiscalEntities.rfc} in (select value from json_each(${JSON.stringify(rfcs)})))`,
      ),
    )

/** A connection to insert. */
export type NewConnection = Omit<ConnectionRow, 'connection'> & Pick<WithGrantedRanges, 'efirma' | 'metadata'>

export const insertConnection = (db: Database, row: NewConnection) => db.insert(connections).values(row)

/** Refuses its batch unless the connection is still in the state that was read, with a CIEC and an e.firma or without. */
export const assertConnectionUnchanged = ({
  connection,
  state,
  first_active_at,
  paused_from,
  paused_by,
  ciec,
  efirma_number,
}: ConnectionRow): SQL =>
  assertThat(
    sql`exists (select 1 from ${connections} where ${connections.connection} = ${connection} and ${connections.state} = ${state}
      and ${connections.first_active_at} is ${first_active_at?.getTime() ?? null} and ${connections.paused_from} is ${paused_from}
        and ${connections.paused_by} is ${paused_by}
      and (${connections.ciec} is null) = ${Number(ciec === null)}
        and (${connections.efirma_number} is null) = ${Number(efirma_number === null)})`,
    'connection.unchanged',
  )

export const updateConnection = (db: Database, connection: number, changes: Partial<WithGrantedRanges>) =>
  db.update(connections).set(changes).where(eq(connections.connection, connection))

/** Bounds what the runs of a connection ask for. */
export const boundRuns = (
  db: Database,
  { organization_id, fiscal_entity_id }: Pick<ConnectionRow, 'organization_id' | 'fiscal_entity_id'>,
  access_from: string | null,
) =>
  db
    .update(connections)
    .set({ access_from })
    .where(linked({ id: organization_id }, fiscal_entity_id))

/** Whether no CIEC or e.firma was ever given for the connection, also while it is paused. */
export const isDraft = ({ state, paused_from }: Pick<ConnectionRow, 'state' | 'paused_from'>): boolean =>
  state === 'draft' || (state === 'paused' && paused_from === 'draft')

/** The columns of a connection without a login of a kind. */
export const NO_LOGIN = {
  ciec: { ciec: null, ciec_accepted_at: null, ciec_verified_at: null, ciec_verify_at: null, ciec_verify_attempts: 0 },
  efirma: {
    ...{ efirma: null, efirma_number: null, efirma_valid_from: null, efirma_valid_to: null },
    ...{ efirma_accepted_at: null, efirma_verified_at: null, efirma_verify_at: null, efirma_verify_attempts: 0 },
  },
} as const satisfies Record<LoginKind, Partial<WithGrantedRanges>>

/** The columns of a connection without any login. */
export const NO_LOGINS = { ...NO_LOGIN.ciec, ...NO_LOGIN.efirma, invalid_reason: null } as const

/** Whether a connection holds a login of a kind. */
export const holds = ({ ciec, efirma_number }: Pick<ConnectionRow, 'ciec' | 'efirma_number'>, kind: LoginKind): boolean =>
  (kind === 'ciec' ? ciec : efirma_number) !== null

/** Whether a connection has no valid login, also while it is paused. */
export const isInvalid = ({ state, paused_from }: Pick<ConnectionRow, 'state' | 'paused_from'>): boolean =>
  state === 'invalid_ciec' || (state === 'paused' && paused_from === 'invalid_ciec')

/**
 * The refused or ended login that an invalid connection still holds; null without one. A CIEC that is still to be verified was stored after
 * the refused one.
 */
export function refusedLogin(row: ConnectionRow): LoginKind | null {
  if (!isInvalid(row) || row.invalid_reason === null || row.invalid_reason === 'withdrawn') return null
  const kind = row.invalid_reason === 'rejected' ? 'ciec' : 'efirma'
  return holds(row, kind) && (kind === 'efirma' || row.ciec_verify_at === null) ? kind : null
}

/** Unlinks a connection, and erases its logins, external_id and metadata. */
export const unlinkConnection = (db: Database, connection: number, now: Date) =>
  updateConnection(db, connection, { ...NO_LOGINS, external_id: null, metadata: {}, state: 'unlinked', updated_at: now })

/** The filter of a list of connections. */
interface ConnectionFilter {
  status?: ConnectionState | undefined
  rfc?: string | undefined
  external_id?: string | undefined
}

const listed = (db: Database, tenant: Tenant, { status, rfc, external_id }: ConnectionFilter, after: string | undefined) =>
  and(
    isOf(tenant),
    status === undefined ? ne(connections.state, 'unlinked') : eq(connections.state, status),
    rfc === undefined ? undefined : inArray(connections.entity, entityOf(db, rfc)),
    external_id === undefined ? undefined : eq(connections.external_id, external_id),
    after === undefined ? undefined : gt(connections.fiscal_entity_id, after),
  )

/** A page of a tenant's connections, in the order of their ids. */
export const listConnections = (db: Database, tenant: Tenant, after: string | undefined, limit: number) =>
  db
    .select(connectionColumns)
    .from(connections)
    .where(listed(db, tenant, {}, after))
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)

/** The same with their granted ranges. */
export const listWithGrantedRanges = (db: Database, tenant: Tenant, after: string | undefined, limit: number) => {
  const { issued_granted_ranges, received_granted_ranges, asked_ranges } = connections
  return db
    .select({ ...connectionColumns, issued_granted_ranges, received_granted_ranges, asked_ranges })
    .from(connections)
    .where(listed(db, tenant, {}, after))
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)
}

/** A page of the connections of a filter, with metadata. */
export const listShown = (db: Database, tenant: Tenant, filter: ConnectionFilter, after: string | undefined, limit: number) =>
  db
    .select({ ...connectionColumns, metadata: connections.metadata })
    .from(connections)
    .where(listed(db, tenant, filter, after))
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)

/** Returns the organization's connection that has an external_id. */
export const findByExternalId = async (db: Database, organization_id: string, external_id: string): Promise<string | undefined> =>
  (
    await db
      .select({ fiscal_entity_id: connections.fiscal_entity_id })
      .from(connections)
      .where(and(eq(connections.organization_id, organization_id), eq(connections.external_id, external_id)))
      .limit(1)
  )[0]?.fiscal_entity_id

/** Refuses its batch when the metadata of a connection has changed since it was read. */
export const assertMetadataUnchanged = ({ connection, metadata }: WithGrantedRanges) =>
  assertThat(
    sql`exists (select 1 from ${connections} where ${connections.connection} = ${connection}
      and ${connections.metadata} = ${JSON.stringify(metadata)})`,
    'connection.metadata',
  )

/** Returns the granted ranges of connections in their stored form, by connection number. */
export const storedGrantedRangesOf = async (db: Database, numbers: readonly number[]): Promise<Map<number, StoredGrantedRanges>> =>
  new Map(
    (
      await readRows<StoredGrantedRanges & { connection: number }>(
        db.$client,
        sql`select ${c.connection}, ${c.issued_granted_ranges}, ${c.received_granted_ranges}, ${c.asked_ranges}
           from json_each(${JSON.stringify(numbers)}) j cross join ${connections} ${c} on ${c.connection} = j.value`,
      )
    ).map((row) => [row.connection, row]),
  )

/** Up to five active connections to an RFC. */
export const activeConnectionsOf = (db: Database, rfc: string) =>
  db
    .select({ organization_id: connections.organization_id, fiscal_entity_id: connections.fiscal_entity_id })
    .from(fiscalEntities)
    .innerJoin(connections, and(eq(connections.entity, fiscalEntities.entity), eq(connections.state, 'active')))
    .where(eq(fiscalEntities.rfc, rfc))
    .limit(5)

/** Records that the organization imported files for the RFC. */
export const markImported = (db: Database, connection: number, now: Date) =>
  db
    .update(connections)
    .set({ imported_at: now })
    .where(and(eq(connections.connection, connection), isNull(connections.imported_at)))

/** A page of the active connections that a run covers, behind `after`. */
export const connectionsOfRun = (
  db: Database,
  run: { organization_id: string; fiscal_entity_id: string | null },
  after: string,
  limit: number,
) =>
  db
    .select(connectionColumns)
    .from(connections)
    .where(
      and(
        eq(connections.organization_id, run.organization_id),
        eq(connections.state, 'active'),
        run.fiscal_entity_id === null ? gt(connections.fiscal_entity_id, after) : eq(connections.fiscal_entity_id, run.fiscal_entity_id),
      ),
    )
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)

/** The connections among these that are still active, as they are now, in the order of their ids. */
export const activeOf = (db: Database, rows: readonly ConnectionRow[]) =>
  db
    .select(connectionColumns)
    .from(connections)
    .where(
      and(
        eq(connections.state, 'active'),
        inArray(
          connections.connection,
          rows.map(({ connection }) => connection),
        ),
      ),
    )
    .orderBy(asc(connections.fiscal_entity_id))

/** Selects the number of the organization's drafts, paused ones included. */
export const draftsUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${connections} indexed by connections_drafts
    where ${connections.organization_id} = ${organization_id} and (${connections.state} = 'draft' or (${connections.state} = 'paused'
      and ${connections.paused_from} = 'draft'))`

/** Counts a tenant's active connections, as `n` of one row. */
export const countActiveConnections = (db: Database, tenant: Tenant) =>
  db
    .select({ n: count() })
    .from(connections)
    .where(and(isOf(tenant), eq(connections.state, 'active')))

/** The RFCs that a tenant is connected to, or the one of a fiscal entity. */
export const connectionsOfOrganization = (db: Database, tenant: Tenant, fiscal_entity_id: string | null) =>
  db
    .select({
      entity: connections.entity,
      fiscal_entity_id: connections.fiscal_entity_id,
      shard: connections.shard,
      state: connections.state,
    })
    .from(connections)
    .where(
      and(
        isOf(tenant),
        fiscal_entity_id === null ? undefined : eq(connections.fiscal_entity_id, fiscal_entity_id),
        ne(connections.state, 'unlinked'),
      ),
    )
