import { and, asc, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../platform/db/commit.ts'
import { assertThat } from '../platform/db/guard.ts'
import { uuidOf } from '../platform/db/id.ts'
import { all, assignments, bare } from '../platform/db/statement.ts'
import { hasOnly, isAbout } from '../platform/tenant/bound.ts'
import type { Tenant } from '../platform/tenant/tenant.ts'
import { storageConnectors as connectors, storageMirrors as mirrors, storageCopied, storageRefused } from './tables.ts'

export type ConnectorRow = typeof connectors.$inferSelect
export type RefusedRow = typeof storageRefused.$inferSelect

/** A connector with the number of its mirrors that are due. */
export interface CountedConnector extends ConnectorRow {
  pending: number
}

const m = alias(mirrors, 'm')
// A column that stands in the selection itself loses its table.
const PENDING = sql`select count(*) from ${mirrors} ${m} indexed by storage_mirrors_due where ${m.connector} = ${connectors.connector} and ${m.due}`

const counted = {
  ...getTableColumns(connectors),
  pending: sql<number>`(${PENDING})`,
}

/** The condition that a connector is of a tenant. Who is bound to RFCs has those that copy none but these. */
const isOf = (tenant: Tenant) =>
  and(
    eq(connectors.organization_id, tenant.id),
    isNull(connectors.deleted_at),
    hasOnly(tenant, sql`(${connectors.scope}->>'fiscal_entity_ids')`),
  )

export const findConnector = async (db: Database, tenant: Tenant, connector_id: string): Promise<CountedConnector | undefined> =>
  (
    await db
      .select(counted)
      .from(connectors)
      .where(and(eq(connectors.connector_id, connector_id), isOf(tenant)))
      .limit(1)
  )[0]

export const listConnectorRows = (db: Database, tenant: Tenant, after: number, limit: number): Promise<CountedConnector[]> =>
  db
    .select(counted)
    .from(connectors)
    .where(and(isOf(tenant), gt(connectors.connector, after)))
    .orderBy(asc(connectors.connector))
    .limit(limit)
    .all()

/** Selects the number of the organization's connectors. */
export const connectorsUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${connectors} indexed by storage_connectors_organization
    where ${connectors.organization_id} = ${organization_id} and ${connectors.deleted_at} is null`

export const insertConnector = (db: Database, row: Omit<ConnectorRow, 'connector'>) => db.insert(connectors).values(row)

export const updateConnector = (db: Database, connector: number, changes: Partial<ConnectorRow>) =>
  db.update(connectors).set(changes).where(eq(connectors.connector, connector))

/** Refuses the batch if the connector was deleted, changed by another request, or stopped by its failures, since the row was read. */
export const assertConnectorUnchanged = ({ connector, config, scope, credentials_version, connector_status }: ConnectorRow): SQL =>
  assertThat(
    sql`exists (select 1 from ${connectors} where ${connectors.connector} = ${connector} and ${connectors.deleted_at} is null
      and ${connectors.config} = ${config} and ${connectors.scope} = ${scope} and ${connectors.credentials_version} = ${credentials_version}
      and ${connectors.connector_status} = ${connector_status})`,
    'storage_connector.unchanged',
  )

/** Refuses the batch if the connector was deleted, stopped or resumed, or its backfill has changed, since the row was read. */
export const assertBackfillUnchanged = ({
  connector,
  connector_status,
  backfill,
}: Pick<ConnectorRow, 'connector' | 'connector_status' | 'backfill'>): SQL =>
  assertThat(
    sql`exists (select 1 from ${connectors} where ${connectors.connector} = ${connector} and ${connectors.deleted_at} is null
      and ${connectors.connector_status} = ${connector_status} and ${connectors.backfill} is ${backfill})`,
    'storage_connector.unchanged',
  )

/** Marks every mirror of a connector as due. */
export const markMirrorsDue = (connector: number): SQL =>
  sql`update ${mirrors} set ${bare(mirrors.due)} = 1 where ${mirrors.connector} = ${connector} and ${mirrors.due} <> 1`

/** The progress of a mirror that has copied nothing. */
const UNCOPIED = { sequence: 0, import_sequence: 0, windows: null, all_until: 0, documents_since: 0 }

/** The statements that reset a connector, as if it had never copied anything. Whoever works on it loses it. */
export const forgetCopied = (connector: number): SQL[] => [
  sql`update ${connectors} set ${assignments(connectors, { token: null, lease_until: 0 })} where ${connectors.connector} = ${connector}`,
  sql`update ${mirrors} set ${assignments(mirrors, { due: 1, round: null, ...UNCOPIED })} where ${mirrors.connector} = ${connector}`,
  sql`delete from ${storageCopied} where ${storageCopied.connector} = ${connector}`,
  sql`delete from ${storageRefused} where ${storageRefused.connector} = ${connector}`,
]

/** The statements that let the documents which the destination refused be tried again at once. */
export const retryRefused = (connector: number): SQL[] => [
  sql`update ${storageRefused} set ${bare(storageRefused.due)} = 1 where ${storageRefused.connector} = ${connector}
        and not ${storageRefused.due}`,
  sql`update ${mirrors} set ${bare(mirrors.due)} = 1 where ${mirrors.connector} = ${connector} and ${mirrors.due} <> 1
      and ${mirrors.fiscal_entity} in (select ${storageRefused.fiscal_entity} from ${storageRefused}
        where ${storageRefused.connector} = ${connector})`,
]

/** Returns a page of the documents that the destination refused, after one of a fiscal entity. */
export const listRefused = (
  tenant: Tenant,
  connector: number,
  [fiscal_entity, document]: readonly [string, string],
  limit: number,
): SQL<RefusedRow> =>
  sql<RefusedRow>`select * from ${storageRefused}
        where ${all([sql`${storageRefused.connector} = ${connector}`, isAbout(tenant, storageRefused.fiscal_entity, uuidOf)])}
          and (${storageRefused.fiscal_entity}, ${storageRefused.document}) > (${fiscal_entity}, ${document})
        order by ${storageRefused.fiscal_entity}, ${storageRefused.document} limit ${limit}`

/**
 * Replaces sealed credentials by those that a provider has issued in their place, unless the customer has replaced them in the meantime.
 */
export const replaceCredentials = (
  { connector, credentials_version }: Pick<ConnectorRow, 'connector' | 'credentials_version'>,
  credentials: string,
): SQL =>
  sql`update ${connectors} set ${bare(connectors.credentials)} = ${credentials}
      where ${connectors.connector} = ${connector} and ${connectors.credentials_version} = ${credentials_version}
        and ${connectors.deleted_at} is null`

/** Makes the drive of an account a part of the config, unless the customer has replaced the credentials or named a drive in the meantime. */
export const keepDrive = (
  { connector, credentials_version }: Pick<ConnectorRow, 'connector' | 'credentials_version'>,
  drive_id: string,
): SQL =>
  sql`update ${connectors} set ${bare(connectors.config)} = json_set(${connectors.config}, '$.drive_id', ${drive_id})
      where ${connectors.connector} = ${connector} and ${connectors.credentials_version} = ${credentials_version}
        and ${connectors.config}->>'drive_id' is null and ${connectors.deleted_at} is null`

/** Replaces sealed credentials by the same ones under another key, unless they have been replaced in the meantime. */
export const rewrapStatement = ({ connector, credentials }: ConnectorRow, resealed: string): SQL =>
  sql`update ${connectors} set ${bare(connectors.credentials)} = ${resealed} where ${connectors.connector} = ${connector}
        and ${connectors.credentials} = ${credentials}`

/** Returns a page of connectors whose credentials are sealed with another version of the key, in the order of their numbers. */
export const listOutdatedCredentials = (db: Database, version: string, after: number, limit: number): Promise<ConnectorRow[]> =>
  db
    .select()
    .from(connectors)
    .where(and(gt(connectors.connector, after), isNull(connectors.deleted_at), sql`${connectors.credentials} not like ${`${version}:%`}`))
    .orderBy(asc(connectors.connector))
    .limit(limit)
    .all()
