import { type Appended, ofAppended } from '../deliveries/insert-store.ts'

/** Keeps the events of organizations that have further endpoints, which have no delivery yet to these. Returns the organizations. */
export const insertFanOuts = (d1: D1Database, appended: readonly Appended[]): D1PreparedStatement[] =>
  ofAppended(d1, appended, [
    'fan_outs (organization_id, webhook, seq)',
    't.organization_id, t.beyond, e.seq',
    'where t.beyond is not null returning organization_id',
  ])

/** The next endpoint, and the events that have no delivery from it on. */
export interface FanOut {
  webhook: number
  seqs: number[]
}

/** Finds the events of an organization that are furthest behind, at most `limit`; null when there is none. */
export async function findFanOut(d1: D1Database, organization_id: string, limit: number): Promise<FanOut | null> {
  const { results } = await d1
    .prepare(
      `select webhook, seq from fan_outs
       where organization_id = ?1 and webhook = (select min(webhook) from fan_outs where organization_id = ?1) order by seq limit ?2`,
    )
    .bind(organization_id, limit)
    .all<{ webhook: number; seq: number }>()
  const [first] = results
  return first ? { webhook: first.webhook, seqs: results.map(({ seq }) => seq) } : null
}

/** Returns the endpoint that follows this many endpoints of an organization, from one on; null when there are no more. */
export const findEndpointAfter = async (d1: D1Database, organization_id: string, from: number, count: number): Promise<number | null> => {
  const { results } = await d1
    .prepare(
      `select webhook from webhooks indexed by webhooks_organization
       where organization_id = ?1 and deleted_at is null and webhook >= ?2 order by webhook limit ?3 + 1`,
    )
    .bind(organization_id, from, count)
    .all<{ webhook: number }>()
  return results[count]?.webhook ?? null
}

/** Moves events on to a later endpoint, or forgets them when there is none. */
export const moveFanOut = (
  d1: D1Database,
  organization_id: string,
  { webhook, seqs }: FanOut,
  next: number | null,
): D1PreparedStatement[] => {
  const where = 'where organization_id = ?1 and webhook = ?2 and seq in (select value from json_each(?3))'
  const keys = [organization_id, webhook, JSON.stringify(seqs)]
  return [
    ...(next === null
      ? []
      : [
          d1
            .prepare(
              `insert or ignore into fan_outs (organization_id, webhook, seq) select organization_id, ?4, seq from fan_outs ${where}`,
            )
            .bind(...keys, next),
        ]),
    d1.prepare(`delete from fan_outs ${where}`).bind(...keys),
  ]
}

/** Returns organizations with events that lack deliveries. Costs one seek for each. */
export const organizationsToFanOut = async (d1: D1Database, limit: number): Promise<string[]> =>
  (
    await d1
      .prepare(
        `with recursive pending (id) as (
           select min(organization_id) from fan_outs
           union all
           select (select min(organization_id) from fan_outs where organization_id > pending.id) from pending where id is not null limit ?)
         select id from pending where id is not null`,
      )
      .bind(limit)
      .all<{ id: string }>()
  ).results.map(({ id }) => id)
