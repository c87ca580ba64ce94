import type { Ctx, System } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'
import { PUBLIC } from '../catalog.ts'
import { type ListedParties, parseListed, withChanges, writeListed } from './listed.ts'
import { connectionsTo, counterpartiesAmong, counterpartiesIn, findListed, keepListed, type Watched } from './watched.ts'

/** How often what was found out is found out again, because a connection changed meanwhile. */
const ATTEMPTS = 3

/** A connection with its counterparties, and with those that are listed as `writeListed` writes them; null when that stays unknown. */
export type Marked<Found = string> = Watched & { counterparties: readonly string[]; found: Found }

type Find = (ledger: D1Database, partitions: readonly number[]) => Promise<{ entity: number; rfc: string }[]>

/** Returns the counterparties of each connection that `find` finds: one call to each of their ledgers. */
async function findCounterparties(system: System, connections: readonly Watched[], find: Find): Promise<(of: Watched) => string[]> {
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

/** From so many RFCs on, looking for each is more work than reading all counterparties. */
const FEW_RFCS = 100

/** A change of a list, of a counterparty or not. */
type Change = Parameters<typeof withChanges>[1][number]

/** The connections with those of their counterparties that changes of lists concern: one call to each of their ledgers and none else. */
export async function findChanged(
  system: System,
  connections: readonly Watched[],
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
export async function findMarked(system: System, connections: readonly Watched[]): Promise<Marked[]> {
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

const partitionsOf = ({ entity, connection, imported_at }: Watched): number[] => (imported_at === null ? [entity] : [entity, -connection])

/** Those of the connections of which something else is kept. */
export const outdatedOf = (marked: readonly Marked<string | null>[]): Marked[] =>
  marked.filter((one): one is Marked => one.found !== null && one.listed !== one.found)

/** Keeps the listed counterparties of all connections to an RFC, when documents came or an organization imported some. */
export async function refreshListed(system: System, entity: number): Promise<void> {
  const d1 = system.db.$client
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const outdated = outdatedOf(await findMarked(system, await connectionsTo(d1, entity)))
    if (outdated.length === 0) return
    const { results } = await keepListed(d1, outdated).all()
    if (results.length === outdated.length) return
  }
  log.info(system, { message: 'The listed counterparties of an RFC keep changing. They are found out with its next documents.', entity })
}

/**
 * The listed counterparties of the connection that a request reads. They are kept with it; when they are not, they are found out with two
 * further calls, and kept.
 */
export async function listedOf(ctx: Ctx): Promise<ListedParties> {
  const { connection, organization, db } = ctx
  if (connection === null) return new Map()
  if (connection.listed !== null) return parseListed(connection.listed)
  const [marked] = await findMarked(ctx, [{ ...connection, organization_id: organization.id }])
  await keepListed(db.$client, [marked!]).run()
  return parseListed(marked!.found)
}
