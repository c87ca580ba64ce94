import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import { connections } from '../../taxpayers/tables.ts'
import { PUBLIC } from '../catalog.ts'
import { blacklistEntries, blacklistLists } from '../tables.ts'
import type { ListedAs } from './listed.ts'

const [e, l] = [alias(blacklistEntries, 'e'), alias(blacklistLists, 'l')]

/** A connection whose listed counterparties are kept. */
export interface Watched {
  connection: number
  organization_id: string
  fiscal_entity_id: string
  entity: number
  shard: number
  state: string
  listed: string | null
  listed_version: number
  /** Null without imports, which have a partition of their own. */
  imported_at: number | null
}

const { connection, organization_id, entity, listed, listed_version } = connections
const COLUMNS = sql`${connection}, ${organization_id}, ${connections.fiscal_entity_id}, ${entity}, ${connections.shard}, ${connections.state},
  ${listed}, ${listed_version}, ${connections.imported_at}`

/** The connections to an RFC. */
export const connectionsTo = async (d1: D1Database, taxpayer: number): Promise<Watched[]> =>
  (
    await prepared(
      d1,
      sql`select ${COLUMNS} from ${connections} indexed by connections_entity where ${entity} = ${taxpayer}`,
    ).all<Watched>()
  ).results

/** A page of connections after a number: those of an organization, or all. */
export const connectionsAfter = async (d1: D1Database, owner: string, after: number, limit: number): Promise<Watched[]> => {
  const own = owner === PUBLIC ? undefined : sql`${organization_id} = ${owner} and`
  const query = sql`select ${COLUMNS} from ${connections} where ${own} ${connection} > ${after} order by ${connection} limit ${limit}`
  return (await prepared(d1, query).all<Watched>()).results
}

/**
 * Finds the counterparties of some partitions of a ledger, whoever may see the documents: one seek for each. Whoever tells an organization of
 * one asks first whether its windows show a document.
 */
export const counterpartiesIn = async (ledger: D1Database, partitions: readonly number[]): Promise<{ entity: number; rfc: string }[]> =>
  (
    await prepared(
      ledger,
      sql`with recursive found (entity, rfc) as (
           select p.value, (select min(counterparty_rfc) from cfdi indexed by cfdi_cpd where entity = p.value)
             from json_each(${JSON.stringify(partitions)}) p
           union all
           select entity, (select min(own.counterparty_rfc) from cfdi own indexed by cfdi_cpd
             where own.entity = found.entity and own.counterparty_rfc > found.rfc) from found where rfc is not null)
         select entity, rfc from found where rfc is not null`,
    ).all<{ entity: number; rfc: string }>()
  ).results

/** Which of some RFCs are counterparties in some partitions of a ledger: one seek for each pair. */
export const counterpartiesAmong = async (
  ledger: D1Database,
  partitions: readonly number[],
  rfcs: readonly string[],
): Promise<{ entity: number; rfc: string }[]> =>
  (
    await prepared(
      ledger,
      sql`select p.value as entity, j.value as rfc from json_each(${JSON.stringify(partitions)}) p
        cross join json_each(${JSON.stringify(rfcs)}) j
         where exists (select 1 from cfdi indexed by cfdi_cpd where entity = p.value and counterparty_rfc = j.value)`,
    ).all<{ entity: number; rfc: string }>()
  ).results

/** An entry as counterparties are marked with it. */
export type FoundListing = ListedAs & { organization_id: string; rfc: string }

/** Finds these RFCs on the public lists and on those of the organizations, in one call. */
export async function findListed(d1: D1Database, organizations: readonly string[], rfcs: readonly string[]): Promise<FoundListing[]> {
  const chunks = jsonChunks(rfcs)
  if (chunks.length === 0) return []
  const owners = JSON.stringify([PUBLIC, ...new Set(organizations)])
  const results = await d1.batch<FoundListing>(
    chunks.map((json) =>
      prepared(
        d1,
        sql`select ${e.organization_id}, ${e.source}, ${e.rfc}, ${e.situacion}
           from ${blacklistLists} ${l} cross join json_each(${json}) j
           cross join ${blacklistEntries} ${e} on ${e.organization_id} = ${l.organization_id} and ${e.source} = ${l.source}
             and ${e.rfc} = j.value
           where ${l.organization_id} in (select value from json_each(${owners})) and ${l.version} > 0`,
      ),
    ),
  )
  return results.flatMap((result) => result.results)
}

/** Keeps what was found out about connections that are as they were read; `kept` of its result names these. */
export const keepListed = (d1: D1Database, rows: readonly (Watched & { found: string })[]): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${connections} set ${bare(listed)} = j.value->>2, ${bare(listed_version)} = ${listed_version} + 1
      from json_each(${JSON.stringify(rows.map((row) => [row.connection, row.listed_version, row.found]))}) j
       where ${connection} = j.value->>0 and ${listed_version} = j.value->>1 returning ${connection} as kept`,
  )

/** Forgets the listed counterparties of an organization's connections, because its own lists have changed. */
export const forgetListed = (d1: D1Database, owner: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update ${connections} set ${bare(listed)} = null, ${bare(listed_version)} = ${listed_version} + 1 where ${organization_id} = ${owner}`,
  )
