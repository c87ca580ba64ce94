import { sql } from 'drizzle-orm'
import { bare, prepared } from '../../platform/db/statement.ts'
import { type Appended, ofAppended } from '../deliveries/insert-store.ts'
import { webhooks } from '../endpoints/tables.ts'
import { fanOuts } from './tables.ts'

const COLUMNS = [fanOuts.organization_id, fanOuts.webhook, fanOuts.seq].map(bare)

/** Keeps the events of organizations that have further endpoints, which have no delivery yet to these. Returns the organizations. */
export const insertFanOuts = (d1: D1Database, appended: readonly Appended[]): D1PreparedStatement[] =>
  ofAppended(d1, appended, [
    sql`${fanOuts} ${COLUMNS}`,
    sql`t.organization_id, t.beyond, e.seq`,
    sql`where t.beyond is not null returning ${bare(fanOuts.organization_id)}`,
  ])

/** The next endpoint, and the events that have no delivery from it on. */
export interface FanOut {
  webhook: number
  seqs: number[]
}

/** Finds the events of an organization that are furthest behind, at most `limit`; null when there is none. */
export async function findFanOut(d1: D1Database, organization_id: string, limit: number): Promise<FanOut | null> {
  const own = sql`from ${fanOuts} where ${fanOuts.organization_id} = ${organization_id}`
  const { results } = await prepared(
    d1,
    sql`select ${fanOuts.webhook}, ${fanOuts.seq} ${own} and ${fanOuts.webhook} = (select min(${fanOuts.webhook}) ${own})
      order by ${fanOuts.seq} limit ${limit}`,
  ).all<{ webhook: number; seq: number }>()
  const [first] = results
  return first ? { webhook: first.webhook, seqs: results.map(({ seq }) => seq) } : null
}

/** Returns the endpoint that follows this many endpoints of an organization, from one on; null when there are no more. */
export const findEndpointAfter = async (d1: D1Database, organization_id: string, from: number, count: number): Promise<number | null> => {
  const { results } = await prepared(
    d1,
    sql`select ${webhooks.webhook} from ${webhooks} indexed by webhooks_organization
      where ${webhooks.organization_id} = ${organization_id} and ${webhooks.deleted_at} is null and ${webhooks.webhook} >= ${from}
      order by ${webhooks.webhook} limit ${count} + 1`,
  ).all<{ webhook: number }>()
  return results[count]?.webhook ?? null
}

/** Moves events on to a later endpoint, or forgets them when there is none. */
export const moveFanOut = (
  d1: D1Database,
  organization_id: string,
  { webhook, seqs }: FanOut,
  next: number | null,
): D1PreparedStatement[] => {
  const moved = sql`from ${fanOuts} where ${fanOuts.organization_id} = ${organization_id} and ${fanOuts.webhook} = ${webhook}
    and ${fanOuts.seq} in (select value from json_each(${JSON.stringify(seqs)}))`
  const copied = sql`insert or ignore into ${fanOuts} ${COLUMNS} select ${fanOuts.organization_id}, ${next}, ${fanOuts.seq} ${moved}`
  return [...(next === null ? [] : [copied]), sql`delete ${moved}`].map((statement) => prepared(d1, statement))
}

/** Returns organizations with events that lack deliveries. Costs one seek for each. */
export const organizationsToFanOut = async (d1: D1Database, limit: number): Promise<string[]> => {
  const first = sql`select min(${fanOuts.organization_id}) from ${fanOuts}`
  const { results } = await prepared(
    d1,
    sql`with recursive pending (id) as (
        ${first}
        union all
        select (${first} where ${fanOuts.organization_id} > pending.id) from pending where id is not null limit ${limit})
      select id from pending where id is not null`,
  ).all<{ id: string }>()
  return results.map(({ id }) => id)
}
