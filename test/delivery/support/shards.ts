import { env } from 'cloudflare:workers'
import { endpointKey } from '../../../src/delivery/endpoints/endpoints.ts'

/** The events shards, in order. */
export const SHARDS: readonly D1Database[] = Object.keys(env)
  .filter((name) => /^EVENTS_\d+$/.test(name))
  .map((_, n) => (env as unknown as Record<string, D1Database>)[`EVENTS_${n}`]!)

/** The number of an organization's events shard. */
export const shardOf = async (organization_id: string): Promise<number> =>
  (await env.DB.prepare('select events_shard from organizations where id = ?').bind(organization_id).first<number>('events_shard')) ?? 0

export const eventsOf = async (organization_id: string): Promise<D1Database> => SHARDS[await shardOf(organization_id)]!

/** The rows of a query in every shard, one shard after the other. */
export const inShards = async <Row>(sql: string, ...values: unknown[]): Promise<Row[]> =>
  (
    await Promise.all(
      SHARDS.map((d1) =>
        d1
          .prepare(sql)
          .bind(...values)
          .all<Row>(),
      ),
    )
  ).flatMap(({ results }) => results)

/** The name of an endpoint in messages. */
export const keyOf = async (webhook_id: string): Promise<string> => {
  for (const [shard, d1] of SHARDS.entries()) {
    const webhook = await d1.prepare('select webhook from webhooks where webhook_id = ?').bind(webhook_id).first<number>('webhook')
    if (webhook !== null) return endpointKey(shard, webhook)
  }
  throw new Error(`There is no webhook ${webhook_id}.`)
}
