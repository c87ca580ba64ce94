import { type SQL, sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { storageConnectors, storageMirrors } from '../tables.ts'
import type { Claimant } from './places.ts'

/** A connector as its row has it: instants in milliseconds, flags as 0 and 1. */
export type WorkRow = { [Name in keyof typeof storageConnectors.$inferSelect]: Stored<(typeof storageConnectors.$inferSelect)[Name]> }
type Stored<T> = T extends Date ? number : T extends boolean ? 0 | 1 : T
export type MirrorRow = typeof storageMirrors.$inferSelect & {
  /** Whether the destination has refused documents of it. */
  refused?: 0 | 1
}

const WITH_REFUSED = `m.*, exists (
  select 1 from storage_refused r where r.connector = m.connector and r.fiscal_entity = m.fiscal_entity) as refused`

const isClaimable = (now: number): SQL =>
  sql`lease_until <= ${now} and (deleted_at is not null or (connector_status = 'active' and retry_at <= ${now}))`

/** Who needs a place for a connector; null when nobody can work on it. */
export const findClaimant = (d1: D1Database, connector: number, now: number): Promise<Claimant | null> =>
  prepared(
    d1,
    sql`select organization_id, coalesce(config->>'endpoint', provider) as host from storage_connectors
      where connector = ${connector} and ${isClaimable(now)}`,
  ).first<Claimant>()

/** Takes a connector on which nobody works: one that is to be cleaned up, or an active one whose waits are over. */
export const claimConnector = async (d1: D1Database, connector: number, token: string, now: number, leaseUntil: number) =>
  (
    await prepared(
      d1,
      sql`update storage_connectors set token = ${token}, lease_until = ${leaseUntil}
        where connector = ${connector} and ${isClaimable(now)} returning *`,
    ).all<WorkRow>()
  ).results[0]

/** Releases a connector. One of which a change has asked for it stays leased for that change. */
export const releaseConnector = (d1: D1Database, connector: number, token: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update storage_connectors set token = iif(token = ${token}, null, 'stopped'), lease_until = iif(token = ${token}, 0, lease_until)
      where connector = ${connector} and token in (${token}, ${token + STOP})`,
  )

const STOP = '.stop'
const CHANGE = 'change.'
export const changeToken = (): string => `${CHANGE}${crypto.randomUUID()}`

/**
 * Takes a connector for a change, of whatever status, with such a token. While a worker holds it, asks the worker to commit what it has
 * copied and stop, and returns undefined, unless the change waits no longer.
 */
export const takeConnector = async (d1: D1Database, connector: number, token: string, now: number, leaseUntil: number, isForced: boolean) =>
  (
    await d1.batch<WorkRow>([
      prepared(
        d1,
        sql`update storage_connectors set token = token || ${STOP} where connector = ${connector} and lease_until > ${now}
          and token not like ${`%${STOP}`} and token not like ${`${CHANGE}%`} and token <> 'stopped'`,
      ),
      prepared(
        d1,
        sql`update storage_connectors set token = ${token}, lease_until = ${leaseUntil} where connector = ${connector} and deleted_at is null
          and (token is null or lease_until <= ${now} or token in ('stopped', ${token}) or ${isForced ? 1 : 0}) returning *`,
      ),
    ])
  )[1]!.results[0]

/** Refuses its batch unless a change has asked this worker to stop, and waits for it. */
export const assertStopping = (d1: D1Database, { connector, token }: WorkRow): D1PreparedStatement =>
  assertThat(d1, sql`exists (select 1 from storage_connectors where connector = ${connector} and token = ${token + STOP})`, HELD)

export const HELD = 'storage_connector.held'

/** Refuses its batch when the token no longer holds the connector, or a customer has changed, paused or removed it since it was claimed. */
export const assertHeld = (d1: D1Database, row: WorkRow): D1PreparedStatement => assertThat(d1, held(row), HELD)

/** Whether it still is. */
export const isHeld = async (d1: D1Database, row: WorkRow): Promise<boolean> =>
  (await prepared(d1, sql`select 1 where ${held(row)}`).first()) !== null

const held = ({ connector, token, updated_at, connector_status }: WorkRow): SQL =>
  sql`exists (select 1 from storage_connectors where connector = ${connector} and token = ${token} and updated_at = ${updated_at}
    and connector_status = ${connector_status} and deleted_at is null)`

/** Sets columns of a connector. */
export const setConnector = (d1: D1Database, connector: number, changes: SQL): D1PreparedStatement =>
  prepared(d1, sql`update storage_connectors set ${changes} where connector = ${connector}`)

/** Sets columns of a mirror. */
export const setMirror = (
  d1: D1Database,
  { connector, fiscal_entity }: Pick<MirrorRow, 'connector' | 'fiscal_entity'>,
  changes: SQL,
): D1PreparedStatement =>
  prepared(d1, sql`update storage_mirrors set ${changes} where connector = ${connector} and fiscal_entity = ${fiscal_entity}`)

/** The first mirror after a fiscal entity on which there is work; undefined without one. */
export const nextDue = async (d1: D1Database, connector: number, after: string): Promise<MirrorRow | undefined> =>
  (
    await d1
      .prepare(
        `select ${WITH_REFUSED} from storage_mirrors m indexed by storage_mirrors_due where connector = ?1 and due and fiscal_entity > ?2
         order by fiscal_entity limit 1`,
      )
      .bind(connector, after)
      .all<MirrorRow>()
  ).results[0]

/** The first mirror that is due and has no round yet. */
export const nextUnbegun = async (d1: D1Database, connector: number): Promise<MirrorRow | undefined> =>
  (
    await d1
      .prepare('select * from storage_mirrors indexed by storage_mirrors_due where connector = ?1 and due and round is null limit 1')
      .bind(connector)
      .all<MirrorRow>()
  ).results[0]

const OF_BACKFILL = "due and round->>'total' is not null"

/** Says that the rounds of a backfill have begun, and how many documents they copy. */
export const startBackfill = (d1: D1Database, connector: number): D1PreparedStatement =>
  setConnector(
    d1,
    connector,
    sql`backfill = json_set(backfill, '$.status', 'running', '$.total', (
      select coalesce(sum(round->>'total'), 0) from storage_mirrors where connector = ${connector} and ${sql.raw(OF_BACKFILL)}))`,
  )

/** Whether a backfill has copied everything. */
export const isCopied = async (d1: D1Database, connector: number): Promise<boolean> =>
  (await prepared(d1, sql`select 1 from storage_mirrors where connector = ${connector} and ${sql.raw(OF_BACKFILL)} limit 1`).first()) ===
  null

/** Completes a backfill. What it did not copy of what was counted is no longer visible. */
export const completeBackfill = (d1: D1Database, connector: number, now: Date): D1PreparedStatement =>
  setConnector(
    d1,
    connector,
    sql`backfill = json_set(backfill, '$.status', 'completed', '$.total', backfill->>'copied' + coalesce(backfill->>'failed', 0), '$.completed_at', ${now.toISOString()})`,
  )

export const findMirrors = async (d1: D1Database, connector: number, entities: readonly string[]): Promise<Map<string, MirrorRow>> =>
  new Map(
    (
      await prepared(
        d1,
        sql`select ${sql.raw(WITH_REFUSED)} from json_each(${JSON.stringify(entities)}) j cross join storage_mirrors m
          on m.connector = ${connector} and m.fiscal_entity = j.value`,
      ).all<MirrorRow>()
    ).results.map((row) => [row.fiscal_entity, row]),
  )

/** Inserts mirrors that do not exist. */
export const insertMirrors = (
  d1: D1Database,
  connector: number,
  rows: readonly Pick<MirrorRow, 'fiscal_entity' | 'due' | 'sequence' | 'import_sequence' | 'windows' | 'documents_since'>[],
): D1PreparedStatement[] =>
  jsonChunks(rows.map((row) => [row.fiscal_entity, row.due, row.sequence, row.import_sequence, row.windows, row.documents_since])).map(
    (json) =>
      prepared(
        d1,
        sql`insert into storage_mirrors (connector, fiscal_entity, due, sequence, import_sequence, windows, documents_since)
        select ${connector}, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(${json}) where true on conflict do nothing`,
      ),
  )

export const markMirrors = (d1: D1Database, connector: number, entities: readonly string[]): D1PreparedStatement[] =>
  jsonChunks(entities).map((json) =>
    prepared(
      d1,
      sql`update storage_mirrors set due = 1 where connector = ${connector} and due <> 1 and fiscal_entity in (select value from json_each(${json}))`,
    ),
  )

/** Marks the documents of these mirrors that were refused, so that the next round tries them again. */
export const markRefused = (d1: D1Database, connector: number, entities: readonly string[]): D1PreparedStatement[] =>
  jsonChunks(entities).map((json) =>
    prepared(
      d1,
      sql`update storage_refused set due = 1 where connector = ${connector} and not due and fiscal_entity in (select value from json_each(${json}))`,
    ),
  )

/** Which of these documents are copied, or were refused and are not to be tried again yet. */
export const doneAmong = async (
  d1: D1Database,
  { connector, fiscal_entity }: Pick<MirrorRow, 'connector' | 'fiscal_entity'>,
  document_ids: readonly string[],
): Promise<Set<string>> =>
  new Set(
    (
      await prepared(
        d1,
        sql`select j.value as id from json_each(${JSON.stringify(document_ids)}) j
          where exists (select 1 from storage_copied where connector = ${connector} and document_id = j.value)
            or exists (select 1 from storage_refused
              where connector = ${connector} and fiscal_entity = ${fiscal_entity} and document = j.value and not due)`,
      ).all<{ id: string }>()
    ).results.map(({ id }) => id),
  )

export const insertCopied = (d1: D1Database, connector: number, document_ids: readonly string[]): D1PreparedStatement[] =>
  jsonChunks(document_ids).map((json) =>
    prepared(
      d1,
      sql`insert into storage_copied (connector, document_id) select ${connector}, value from json_each(${json}) where true on conflict do nothing`,
    ),
  )

const OWNED = [
  ['storage_mirrors', 'fiscal_entity'],
  ['storage_copied', 'document_id'],
  ['storage_refused', 'document'],
] as const

/** Deletes some of what is left of a deleted connector, and the connector itself once nothing is left. */
export const clearStatements = (d1: D1Database, connector: number, rows: number): D1PreparedStatement[] => [
  ...OWNED.map(([table, key]) =>
    prepared(
      d1,
      sql`delete from ${sql.raw(table)} where connector = ${connector} and ${sql.raw(key)} in (
        select ${sql.raw(key)} from ${sql.raw(table)} where connector = ${connector} limit ${rows})`,
    ),
  ),
  prepared(
    d1,
    sql`delete from storage_connectors where connector = ${connector} and deleted_at is not null
      and not exists (select 1 from storage_mirrors where connector = ${connector})
      and not exists (select 1 from storage_copied where connector = ${connector})
      and not exists (select 1 from storage_refused where connector = ${connector})`,
  ),
]

/**
 * Returns connectors after a number on which somebody could work: with a mirror or a manifest that is due, or that are to be planned or cleaned up.
 * Costs one seek for each connector that has anything due.
 */
export const findIdle = async (d1: D1Database, now: number, after: number, limit: number): Promise<number[]> =>
  (
    await prepared(
      d1,
      sql`with recursive waiting(connector) as (
          select min(connector) from storage_mirrors indexed by storage_mirrors_due where due and connector > ${after}
          union all
          select (select min(connector) from storage_mirrors indexed by storage_mirrors_due where due and connector > waiting.connector)
          from waiting where waiting.connector is not null)
        select c.connector from waiting cross join storage_connectors c on c.connector = waiting.connector where ${isClaimable(now)}
        union
        select c.connector from storage_connectors c indexed by storage_connectors_unfinished
        where (not c.is_planned or c.deleted_at is not null or c.backfill->>'status' <> 'completed' or c.manifest->>'due' is not null) and c.connector > ${after} and ${isClaimable(now)}
        order by connector limit ${limit}`,
    ).all<{ connector: number }>()
  ).results.map(({ connector }) => connector)

/** Returns the active connectors after a number that are planned. */
export const activeConnectors = async (d1: D1Database, after: number, limit: number): Promise<WorkRow[]> =>
  (
    await prepared(
      d1,
      sql`select * from storage_connectors where connector > ${after} and deleted_at is null and connector_status = 'active' and is_planned
        order by connector limit ${limit}`,
    ).all<WorkRow>()
  ).results
