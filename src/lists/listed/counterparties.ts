import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Ctx, System } from '../../platform/context.ts'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { bare, readAll, readRows } from '../../platform/db/statement.ts'
import { log } from '../../platform/log.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { connections } from '../../taxpayers/tables.ts'
import { PUBLIC } from '../catalog.ts'
import { blacklistEntries, blacklistLists } from '../tables.ts'
import { type ListedAs, type ListedParties, parseListed, withChanges, writeListed } from './listed.ts'

const [e, l] = [alias(blacklistEntries, 'e'), alias(blacklistLists, 'l')]

/** A connection whose listed counterparties are kept. */
type Watching = Pick<
  Connection,
  'connection' | 'fiscal_entity_id' | 'entity' | 'shard' | 'state' | 'listed' | 'listed_version' | 'imported_at'
> & {
  organization_id: string
}

const { connection, organization_id, entity, listed, listed_version } = connections
const COLUMNS = sql`${connection}, ${organization_id}, ${connections.fiscal_entity_id}, ${entity}, ${connections.shard}, ${connections.state},
  ${listed}, ${listed_version}, ${connections.imported_at}`

/** The connections to an RFC. */
const connectionsTo = (d1: D1Database, taxpayer: number): Promise<Watching[]> =>
  readRows(d1, sql<Watching>`select ${COLUMNS} from ${connections} indexed by connections_entity where ${entity} = ${taxpayer}`)

/** A page of connections after a number: those of an organization, or all. */
export const connectionsAfter = async (d1: D1Database, owner: string, after: number, limit: number): Promise<Watching[]> => {
  const own = owner === PUBLIC ? undefined : sql`${organization_id} = ${owner} and`
  const query = sql<Watching>`select ${COLUMNS} from ${connections} where ${own} ${connection} > ${after}
    order by ${connection} limit ${limit}`
  return await readRows(d1, query)
}

/**
 * Finds the counterparties in some partitions of a ledger, one seek for each, whoever may see the documents. Before an organization is
 * notified of one, its windows must show a document.
 */
const counterpartiesIn = (ledger: D1Database, partitions: readonly number[]): Promise<{ entity: number; rfc: string }[]> =>
  readRows(
    ledger,
    sql<{ entity: number; rfc: string }>`with recursive found (entity, rfc) as (
           select p.value, (select min(counterparty_rfc) from cfdi indexed by cfdi_cpd where entity = p.value)
             from json_each(${JSON.stringify(partitions)}) p
           union all
           select entity, (select min(own.counterparty_rfc) from cfdi own indexed by cfdi_cpd
             where own.entity = found.entity and own.counterparty_rfc > found.rfc) from found where rfc is not null)
         select entity, rfc from found where rfc is not null`,
  )

/** Which of some RFCs are counterparties in some partitions of a ledger: one seek for each pair. */
const counterpartiesAmong = (
  ledger: D1Database,
  partitions: readonly number[],
  rfcs: readonly string[],
): Promise<{ entity: number; rfc: string }[]> =>
  readRows(
    ledger,
    sql<{ entity: number; rfc: string }>`select p.value as entity, j.value as rfc from json_each(${JSON.stringify(partitions)}) p
        cross join json_each(${JSON.stringify(rfcs)}) j
         where exists (select 1 from cfdi indexed by cfdi_cpd where entity = p.value and counterparty_rfc = j.value)`,
  )

/** An entry as counterparties are marked with it. */
export type FoundListing = ListedAs & { organization_id: string; rfc: string }

/** Finds these RFCs on the public lists and on those of the organizations, in one call. */
const findListed = (d1: D1Database, organizations: readonly string[], rfcs: readonly string[]): Promise<FoundListing[]> => {
  const owners = JSON.stringify([PUBLIC, ...new Set(organizations)])
  const queries = jsonChunks(rfcs).map(
    (json) => sql`select ${e.organization_id}, ${e.source}, ${e.rfc}, ${e.situacion}
      from ${blacklistLists} ${l} cross join json_each(${json}) j
      cross join ${blacklistEntries} ${e} on ${e.organization_id} = ${l.organization_id}
        and ${e.source} = ${l.source} and ${e.rfc} = j.value
      where ${l.organization_id} in (select value from json_each(${owners})) and ${l.version} > 0`,
  )
  return readAll(d1, queries)
}

/** Keeps the listed counterparties of those connections that have not changed since; its result names them as `kept`. */
export const keepListed = (rows: readonly (Watching & { found: string })[]): SQL =>
  sql`update ${connections} set ${bare(listed)} = j.value->>2, ${bare(listed_version)} = ${listed_version} + 1
      from json_each(${JSON.stringify(rows.map((row) => [row.connection, row.listed_version, row.found]))}) j
       where ${connection} = j.value->>0 and ${listed_version} = j.value->>1 returning ${connection} as kept`

/** Forgets the listed counterparties of an organization's connections, because its own lists have changed. */
export const forgetListed = (owner: string): SQL =>
  sql`update ${connections} set ${bare(listed)} = null, ${bare(listed_version)} = ${listed_version} + 1 where ${organization_id} = ${owner}`

/** How often listed counterparties are found while a connection keeps changing. */
const ATTEMPTS = 3

/** A connection with its counterparties, and with the listed ones in the form of `writeListed`; null when they stay unknown. */
export type Marked<Found = string> = Watching & { counterparties: readonly string[]; found: Found }

type Find = (ledger: D1Database, partitions: readonly number[]) => Promise<{ entity: number; rfc: string }[]>

/** Returns the counterparties of each connection that `find` finds: one call to each of their ledgers. */
async function findCounterparties(system: System, connections: readonly Watching[], find: Find): Promise<(of: Watching) => string[]> {
  const counterparties = new Map<string, string[]>()
  for (const [shard, some] of Map.groupBy(connections, (one) => one.shard)) {
    const pairs = await find(system.settings.ledgers[shard]!, [...new Set(some.flatMap(partitionsOf))])
    for (const [entity, own] of Map.groupBy(pairs, (pair) => pair.entity))
      counterparties.set(
        `${shard} ${entity}`,
        own.map(({ rfc }) => rfc),
      )
  }
  return (of) => [...new Set(partitionsOf(of).flatMap((number) => counterparties.get(`${of.shard} ${number}`) ?? []))]
}

/** Up to so many RFCs, looking for each is less work than reading all counterparties. */
const FEW_RFCS = 100

/** A change of a list, of any RFC. */
type Change = Parameters<typeof withChanges>[1][number]

/** The connections, each with its counterparties that changes of lists concern: one call to each of their ledgers and none else. */
export async function findChanged(
  system: System,
  connections: readonly Watching[],
  changes: ReadonlyMap<string, readonly Change[]>,
): Promise<Marked<string | null>[]> {
  const rfcs = [...changes.keys()]
  const isFew = rfcs.length <= FEW_RFCS
  const find: Find = isFew ? (ledger, partitions) => counterpartiesAmong(ledger, partitions, rfcs) : counterpartiesIn
  const counterpartiesOf = await findCounterparties(system, connections, find)
  return connections.map((connection) => {
    const counterparties = counterpartiesOf(connection).filter((rfc) => changes.has(rfc))
    const { listed } = connection
    const found =
      listed &&
      withChanges(
        listed,
        counterparties.flatMap((rfc) => changes.get(rfc)!),
      )
    return { ...connection, counterparties, found }
  })
}

/** Finds out which counterparties of connections are listed: one call to each of their ledgers and one to the control database. */
export async function findMarked(system: System, connections: readonly Watching[]): Promise<Marked[]> {
  const counterpartiesOf = await findCounterparties(system, connections, counterpartiesIn)
  const rfcs = [...new Set(connections.flatMap(counterpartiesOf))]
  const organizations = connections.map(({ organization_id }) => organization_id)
  const listings = Map.groupBy(await findListed(system.db.$client, organizations, rfcs), ({ rfc }) => rfc)
  return connections.map((connection) => {
    const own = counterpartiesOf(connection)
    const isOwn = ({ organization_id }: { organization_id: string }) => [PUBLIC, connection.organization_id].includes(organization_id)
    return { ...connection, counterparties: own, found: writeListed(own.flatMap((rfc) => (listings.get(rfc) ?? []).filter(isOwn))) }
  })
}

const partitionsOf = ({ entity, connection, imported_at }: Watching): number[] => (imported_at === null ? [entity] : [entity, -connection])

/** The connections that keep something else. */
export const outdatedOf = (marked: readonly Marked<string | null>[]): Marked[] =>
  marked.filter((one): one is Marked => one.found !== null && one.listed !== one.found)

/** Keeps the listed counterparties of all connections to an RFC, when documents came or an organization imported some. */
export async function refreshListed(system: System, entity: number): Promise<void> {
  const d1 = system.db.$client
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const outdated = outdatedOf(await findMarked(system, await connectionsTo(d1, entity)))
    if (outdated.length === 0) return
    const results = await readRows(d1, keepListed(outdated))
    if (results.length === outdated.length) return
  }
  log.info(system, { message: 'The listed counterparties of an RFC keep changing. They are found out with its next documents.', entity })
}

/**
 * The listed counterparties of the connection that a request reads. They are kept with the connection; otherwise two further calls find
 * them, and they are kept.
 */
export async function listedOf(ctx: Ctx): Promise<ListedParties> {
  const { connection, organization } = ctx
  if (connection === null) return new Map()
  if (connection.listed !== null) return parseListed(connection.listed)
  const [marked] = await findMarked(ctx, [{ ...connection, organization_id: organization.id }])
  await commit(ctx.db.$client, [keepListed([marked!])])
  return parseListed(marked!.found)
}
