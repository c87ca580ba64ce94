import { and, asc, sql as drizzleSql, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { assertThat } from '../platform/db/guard.ts'
import { prepared } from '../platform/db/statement.ts'
import { storageConnectors, type storageRefused } from './tables.ts'

export type ConnectorRow = typeof storageConnectors.$inferSelect
export type RefusedRow = typeof storageRefused.$inferSelect

/** A connector with the number of its mirrors that are due. */
export interface CountedConnector extends ConnectorRow {
  pending: number
}

const counted = {
  ...getTableColumns(storageConnectors),
  pending: drizzleSql<number>`(select count(*) from storage_mirrors m indexed by storage_mirrors_due where m.connector = storage_connectors.connector and m.due)`,
}

const oneOf = (organization_id: string, connector_id: string) =>
  and(
    eq(storageConnectors.connector_id, connector_id),
    eq(storageConnectors.organization_id, organization_id),
    isNull(storageConnectors.deleted_at),
  )

export const findConnector = async (db: Database, organization_id: string, connector_id: string): Promise<CountedConnector | undefined> =>
  (await db.select(counted).from(storageConnectors).where(oneOf(organization_id, connector_id)).limit(1))[0]

export const listConnectorRows = (db: Database, organization_id: string, after: number, limit: number): Promise<CountedConnector[]> =>
  db
    .select(counted)
    .from(storageConnectors)
    .where(
      and(
        eq(storageConnectors.organization_id, organization_id),
        isNull(storageConnectors.deleted_at),
        gt(storageConnectors.connector, after),
      ),
    )
    .orderBy(asc(storageConnectors.connector))
    .limit(limit)
    .all()

/** Selects the number of the organization's connectors. */
export const connectorsUsed = (organization_id: string): SQL =>
  sql`select count(*) from storage_connectors indexed by storage_connectors_organization
    where organization_id = ${organization_id} and deleted_at is null`

export const insertConnector = (db: Database, row: Omit<ConnectorRow, 'connector'>) => db.insert(storageConnectors).values(row)

export const updateConnector = (db: Database, connector: number, changes: Partial<ConnectorRow>) =>
  db.update(storageConnectors).set(changes).where(eq(storageConnectors.connector, connector))

/** Refuses the batch if the connector was deleted, changed by another request, or stopped by its failures, since the row was read. */
export const assertConnectorUnchanged = (
  d1: D1Database,
  { connector, config, scope, credentials_version, connector_status }: ConnectorRow,
): D1PreparedStatement =>
  assertThat(
    d1,
    sql`exists (select 1 from storage_connectors where connector = ${connector} and deleted_at is null
      and config = ${config} and scope = ${scope} and credentials_version = ${credentials_version}
      and connector_status = ${connector_status})`,
    'storage_connector.unchanged',
  )

/** Refuses the batch if the connector was deleted, stopped or resumed, or its backfill has changed, since the row was read. */
export const assertBackfillUnchanged = (
  d1: D1Database,
  { connector, connector_status, backfill }: Pick<ConnectorRow, 'connector' | 'connector_status' | 'backfill'>,
): D1PreparedStatement =>
  assertThat(
    d1,
    sql`exists (select 1 from storage_connectors where connector = ${connector} and deleted_at is null
      and connector_status = ${connector_status} and backfill is ${backfill})`,
    'storage_connector.unchanged',
  )

/** Marks every mirror of a connector as due. */
export const markMirrorsDue = (d1: D1Database, connector: number): D1PreparedStatement =>
  prepared(d1, sql`update storage_mirrors set due = 1 where connector = ${connector} and due <> 1`)

/** The statements that let a connector begin at nothing, as if it had never copied anything. Whoever works on it loses it. */
export const forgetCopied = (d1: D1Database, connector: number): D1PreparedStatement[] => [
  prepared(d1, sql`update storage_connectors set token = null, lease_until = 0 where connector = ${connector}`),
  prepared(
    d1,
    sql`update storage_mirrors set due = 1, sequence = 0, import_sequence = 0, windows = null, all_until = 0, documents_since = 0, round = null
      where connector = ${connector}`,
  ),
  prepared(d1, sql`delete from storage_copied where connector = ${connector}`),
  prepared(d1, sql`delete from storage_refused where connector = ${connector}`),
]

/** The statements that let the documents which the destination refused be tried again at once. */
export const retryRefused = (d1: D1Database, connector: number): D1PreparedStatement[] => [
  prepared(d1, sql`update storage_refused set due = 1 where connector = ${connector} and not due`),
  prepared(
    d1,
    sql`update storage_mirrors set due = 1 where connector = ${connector} and due <> 1
      and fiscal_entity in (select fiscal_entity from storage_refused where connector = ${connector})`,
  ),
]

/** Returns a page of the documents that the destination refused, after one of a fiscal entity. */
export const listRefused = async (
  d1: D1Database,
  connector: number,
  [fiscal_entity, document]: readonly [string, string],
  limit: number,
): Promise<RefusedRow[]> =>
  (
    await prepared(
      d1,
      sql`select * from storage_refused where connector = ${connector} and (fiscal_entity, document) > (${fiscal_entity}, ${document})
        order by fiscal_entity, document limit ${limit}`,
    ).all<RefusedRow>()
  ).results

/** Replaces sealed credentials by what a provider has issued in their place, unless the customer has replaced them in the meantime. */
export const replaceCredentials = (
  d1: D1Database,
  { connector, credentials_version }: Pick<ConnectorRow, 'connector' | 'credentials_version'>,
  credentials: string,
): D1PreparedStatement =>
  prepared(
    d1,
    sql`update storage_connectors set credentials = ${credentials}
      where connector = ${connector} and credentials_version = ${credentials_version} and deleted_at is null`,
  )

/** Makes the drive of an account a part of the config, unless the customer has replaced the credentials or named a drive in the meantime. */
export const keepDrive = (
  d1: D1Database,
  { connector, credentials_version }: Pick<ConnectorRow, 'connector' | 'credentials_version'>,
  drive_id: string,
): D1PreparedStatement =>
  prepared(
    d1,
    sql`update storage_connectors set config = json_set(config, '$.drive_id', ${drive_id})
      where connector = ${connector} and credentials_version = ${credentials_version} and config->>'drive_id' is null and deleted_at is null`,
  )

/** Replaces sealed credentials by the same ones under another key, unless they have been replaced in the meantime. */
export const rewrapStatement = (d1: D1Database, { connector, credentials }: ConnectorRow, resealed: string): D1PreparedStatement =>
  prepared(d1, sql`update storage_connectors set credentials = ${resealed} where connector = ${connector} and credentials = ${credentials}`)

/** Returns a page of connectors whose credentials are sealed with another version of the key, in the order of their numbers. */
export const listOutdatedCredentials = (db: Database, version: string, after: number, limit: number): Promise<ConnectorRow[]> =>
  db
    .select()
    .from(storageConnectors)
    .where(
      and(gt(storageConnectors.connector, after), isNull(storageConnectors.deleted_at), drizzleSql`credentials not like ${`${version}:%`}`),
    )
    .orderBy(asc(storageConnectors.connector))
    .limit(limit)
    .all()
