import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { all, assignments, bare, readFirst, readRows, type Values } from '../../platform/db/statement.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { storageConnectors as connectors, storageMirrors as mirrors, storageCopied, storageRefused } from '../tables.ts'
import type { Claimant } from './permits.ts'

const m = alias(mirrors, 'm')

/** A connector as its row has it: instants in milliseconds, flags as 0 and 1. */
export type WorkRow = { [Name in keyof typeof connectors.$inferSelect]: Stored<(typeof connectors.$inferSelect)[Name]> }
type Stored<T> = T extends Date ? number : T extends boolean ? 0 | 1 : T
export type MirrorRow = typeof mirrors.$inferSelect & {
  /** Whether the destination has refused documents of it. */
  refused?: 0 | 1
}

const WITH_REFUSED = sql`${m}.*, exists (
  select 1 from ${storageRefused} where ${storageRefused.connector} = ${m.connector}
    and ${storageRefused.fiscal_entity} = ${m.fiscal_entity}) as refused`

const isClaimable = (now: number): SQL =>
  sql`${connectors.lease_until} <= ${now} and (${connectors.deleted_at} is not null or (${connectors.connector_status} = 'active'
    and ${connectors.retry_at} <= ${now}))`

/** Who needs a permit for a connector; null when nobody can work on it. */
export const findClaimant = (connector: number, now: number): SQL<Claimant> =>
  sql<Claimant>`select ${connectors.organization_id}, coalesce(${connectors.config}->>'endpoint', ${connectors.provider}) as host from ${connectors}
      where ${connectors.connector} = ${connector} and ${isClaimable(now)}`

const STOP = '.stop'

/**
 * The lease of a worker on a connector. It loses the connector when a customer changes, pauses or removes it. One for which a change waits
 * stays leased for that change.
 */
export const connectorLease = new RowLease<WorkRow>(connectors, ['connector'], {
  isFree: isClaimable,
  also: ({ updated_at, connector_status }) =>
    sql`${connectors.updated_at} = ${updated_at} and ${connectors.connector_status} = ${connector_status} and ${connectors.deleted_at} is null`,
  release: ({ connector, token }) =>
    sql`update ${connectors} set ${bare(connectors.token)} = iif(${connectors.token} = ${token}, null, 'stopped'),
          ${bare(connectors.lease_until)} = iif(${connectors.token} = ${token}, 0, ${connectors.lease_until})
        where ${connectors.connector} = ${connector} and ${connectors.token} in (${token}, ${token + STOP})`,
})

/** Claims a connector on which nobody works: one that is to be cleaned up, or an active one whose waits are over. */
export const claimConnector = async (d1: D1Database, connector: number): Promise<Leased<WorkRow> | undefined> =>
  (await connectorLease.claim(d1, sql`${connectors.connector} = ${connector}`))[0]

const CHANGE = 'change.'
export const changeToken = (): string => `${CHANGE}${crypto.randomUUID()}`

/**
 * Takes a connector for a change, of whatever status, with such a token. While a worker holds it, asks the worker to commit what it has
 * copied and stop, and returns undefined, unless the change waits no longer.
 */
export const takeConnector = async (
  d1: D1Database,
  connector: number,
  token: string,
  now: number,
  leaseUntil: number,
  isForced: boolean,
) => {
  const own = sql`where ${connectors.connector} = ${connector}`
  const [, taken] = await commit<Leased<WorkRow>>(d1, [
    sql`update ${connectors} set ${bare(connectors.token)} = ${connectors.token} || ${STOP} ${own} and ${connectors.lease_until} > ${now}
      and ${connectors.token} not like ${`%${STOP}`} and ${connectors.token} not like ${`${CHANGE}%`} and ${connectors.token} <> 'stopped'`,
    sql`update ${connectors} set ${assignments(connectors, { token, lease_until: leaseUntil })} ${own} and ${connectors.deleted_at} is null
      and (${connectors.token} is null or ${connectors.lease_until} <= ${now} or ${connectors.token} in ('stopped', ${token})
        or ${Number(isForced)}) returning *`,
  ])
  return taken!.results[0]
}

/** Refuses its batch unless a change has asked this worker to stop, and waits for it. */
export const assertStopping = ({ connector, token }: Leased<WorkRow>): SQL =>
  assertThat(
    sql`exists (select 1 from ${connectors} where ${connectors.connector} = ${connector} and ${connectors.token} = ${token + STOP})`,
    connectorLease.guard,
  )

/** Whether the worker still holds the connector. */
export const isLeased = async (d1: D1Database, row: Leased<WorkRow>): Promise<boolean> =>
  (await readFirst(d1, sql`select 1 where ${connectorLease.holds(row)}`)) !== null

export const setConnector = (connector: number, changes: Values<typeof connectors>): SQL =>
  sql`update ${connectors} set ${assignments(connectors, changes)} where ${connectors.connector} = ${connector}`

export const setMirror = (
  { connector, fiscal_entity }: Pick<MirrorRow, 'connector' | 'fiscal_entity'>,
  changes: Values<typeof mirrors>,
): SQL =>
  sql`update ${mirrors} set ${assignments(mirrors, changes)}
    where ${mirrors.connector} = ${connector} and ${mirrors.fiscal_entity} = ${fiscal_entity}`

/** The first mirror after a fiscal entity on which there is work; undefined without one. */
export const nextDue = (connector: number, after: string): SQL<MirrorRow> =>
  sql<MirrorRow>`select ${WITH_REFUSED} from ${mirrors} ${m} indexed by storage_mirrors_due where ${m.connector} = ${connector} and ${m.due}
          and ${m.fiscal_entity} > ${after}
         order by ${m.fiscal_entity} limit 1`

/** The first mirror that is due and has no round yet. */
export const nextUnbegun = (connector: number): SQL<MirrorRow> =>
  sql<MirrorRow>`select * from ${mirrors} indexed by storage_mirrors_due where ${mirrors.connector} = ${connector} and ${mirrors.due}
          and ${mirrors.round} is null limit 1`

const ofBackfill = (connector: number): SQL =>
  sql`from ${mirrors} where ${mirrors.connector} = ${connector} and ${mirrors.due} and ${mirrors.round}->>'total' is not null`

/** Says that the rounds of a backfill have begun, and how many documents they copy. */
export const startBackfill = (connector: number): SQL =>
  setConnector(connector, {
    backfill: sql`json_set(${connectors.backfill}, '$.status', 'running', '$.total', (
      select coalesce(sum(${mirrors.round}->>'total'), 0) ${ofBackfill(connector)}))`,
  })

/** Whether a backfill has copied everything. */
export const isCopied = async (d1: D1Database, connector: number): Promise<boolean> =>
  (await readFirst(d1, sql`select 1 ${ofBackfill(connector)} limit 1`)) === null

/** Completes a backfill. Counted documents that it did not copy are no longer visible. */
export const completeBackfill = (connector: number, now: Date): SQL =>
  setConnector(connector, {
    backfill: sql`json_set(${connectors.backfill}, '$.status', 'completed', '$.total', ${connectors.backfill}->>'copied'
      + coalesce(${connectors.backfill}->>'failed', 0), '$.completed_at', ${now.toISOString()})`,
  })

export const findMirrors = async (d1: D1Database, connector: number, entities: readonly string[]): Promise<Map<string, MirrorRow>> =>
  new Map(
    (
      await readRows(
        d1,
        sql<MirrorRow>`select ${WITH_REFUSED} from json_each(${JSON.stringify(entities)}) j cross join ${mirrors} ${m}
          on ${m.connector} = ${connector} and ${m.fiscal_entity} = j.value`,
      )
    ).map((row) => [row.fiscal_entity, row]),
  )

const { connector, fiscal_entity, due, sequence, import_sequence, windows, documents_since } = mirrors
const MIRROR = [connector, fiscal_entity, due, sequence, import_sequence, windows, documents_since].map(bare)

/** Inserts mirrors that do not exist. */
export const insertMirrors = (
  connector: number,
  rows: readonly Pick<MirrorRow, 'fiscal_entity' | 'due' | 'sequence' | 'import_sequence' | 'windows' | 'documents_since'>[],
): SQL[] =>
  jsonChunks(rows.map((row) => [row.fiscal_entity, row.due, row.sequence, row.import_sequence, row.windows, row.documents_since])).map(
    (json) =>
      sql`insert into ${mirrors} ${MIRROR}
        select ${connector}, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(${json}) where true
          on conflict do nothing`,
  )

export const markMirrors = (connector: number, entities: readonly string[]): SQL[] =>
  jsonChunks(entities).map(
    (json) =>
      sql`update ${mirrors} set ${bare(mirrors.due)} = 1 where ${mirrors.connector} = ${connector} and ${mirrors.due} <> 1
          and ${mirrors.fiscal_entity} in (select value from json_each(${json}))`,
  )

/** Marks the documents of these mirrors that were refused, so that the next round tries them again. */
export const markRefused = (connector: number, entities: readonly string[]): SQL[] =>
  jsonChunks(entities).map(
    (json) =>
      sql`update ${storageRefused} set ${bare(storageRefused.due)} = 1 where ${storageRefused.connector} = ${connector}
          and not ${storageRefused.due} and ${storageRefused.fiscal_entity} in (select value from json_each(${json}))`,
  )

/** Which of these documents are copied, or were refused and are not to be tried again yet. */
export const doneAmong = (
  { connector, fiscal_entity }: Pick<MirrorRow, 'connector' | 'fiscal_entity'>,
  document_ids: readonly string[],
): SQL<string> =>
  sql<string>`select j.value as id from json_each(${JSON.stringify(document_ids)}) j
          where exists (select 1 from ${storageCopied} where ${storageCopied.connector} = ${connector}
            and ${storageCopied.document_id} = j.value)
            or exists (select 1 from ${storageRefused}
              where ${storageRefused.connector} = ${connector} and ${storageRefused.fiscal_entity} = ${fiscal_entity}
                and ${storageRefused.document} = j.value and not ${storageRefused.due})`

export const insertCopied = (connector: number, document_ids: readonly string[]): SQL[] =>
  jsonChunks(document_ids).map(
    (json) =>
      sql`insert into ${storageCopied} ${[storageCopied.connector, storageCopied.document_id].map(bare)} select ${connector}, value
          from json_each(${json}) where true on conflict do nothing`,
  )

const OWNED = [
  [mirrors, mirrors.fiscal_entity],
  [storageCopied, storageCopied.document_id],
  [storageRefused, storageRefused.document],
] as const

/** Deletes some rows of a deleted connector, and the connector itself once none is left. */
export const clearStatements = (connector: number, rows: number): SQL[] => [
  ...OWNED.map(
    ([table, key]) =>
      sql`delete from ${table} where ${table.connector} = ${connector} and ${key} in (
        select ${key} from ${table} where ${table.connector} = ${connector} limit ${rows})`,
  ),
  sql`delete from ${connectors} where ${connectors.connector} = ${connector} and ${connectors.deleted_at} is not null
      and ${all(OWNED.map(([table]) => sql`not exists (select 1 from ${table} where ${table.connector} = ${connector})`))}`,
]

/**
 * Returns connectors after a number on which somebody could work: with a mirror or a manifest that is due, or that are to be planned or cleaned up.
 * Costs one seek for each connector that has anything due.
 */
export const findIdle = (now: number, after: number, limit: number): SQL<number> =>
  sql<number>`with recursive waiting(connector) as (
          select min(${mirrors.connector}) from ${mirrors} indexed by storage_mirrors_due where ${mirrors.due}
            and ${mirrors.connector} > ${after}
          union all
          select (select min(${mirrors.connector}) from ${mirrors} indexed by storage_mirrors_due where ${mirrors.due}
            and ${mirrors.connector} > waiting.connector)
          from waiting where waiting.connector is not null)
        select ${connectors.connector} from waiting cross join ${connectors} on ${connectors.connector} = waiting.connector
          where ${isClaimable(now)}
        union
        select ${connectors.connector} from ${connectors} indexed by storage_connectors_unfinished
        where (not ${connectors.is_planned} or ${connectors.deleted_at} is not null or ${connectors.backfill}->>'status' <> 'completed'
          or ${connectors.manifest}->>'due' is not null) and ${connectors.connector} > ${after} and ${isClaimable(now)}
        order by connector limit ${limit}`

/** Returns the active connectors after a number that are planned. */
export const activeConnectors = (after: number, limit: number): SQL<WorkRow> =>
  sql<WorkRow>`select * from ${connectors} where ${connectors.connector} > ${after} and ${connectors.deleted_at} is null
          and ${connectors.connector_status} = 'active' and ${connectors.is_planned}
        order by ${connectors.connector} limit ${limit}`
