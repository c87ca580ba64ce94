import type { SQL } from 'drizzle-orm'
import type { System } from '../../platform/context.ts'
import { sendHints } from '../../platform/work/send.ts'
import { type Appended, insertDeliveries } from '../deliveries/insert-store.ts'
import { endpointKey, wakeEndpoints } from '../endpoints/endpoints.ts'
import { insertEvents, type NewEvent } from '../events/store.ts'
import { insertFanOuts } from './fan-out-store.ts'

/** The results of the statements that append events. */
export interface Appending {
  webhook?: number
  organization_id?: string
  /** An organization with something new of an RFC. */
  new_of?: string
  fiscal_entity?: string
}

/** The statements that append events to the feeds of their organizations, with their deliveries. */
export const appendStatements = (events: readonly NewEvent[], now: number): SQL[] => {
  const feeds = Map.groupBy(events, ({ organization_id }) => organization_id)
  const appended = [...feeds].map(([organization_id, own]): Appended => [organization_id, own.length])
  return [...insertEvents(events, now), ...insertDeliveries(appended, now), ...insertFanOuts(appended)]
}

/** Wakes the endpoints that got deliveries, and the organizations with endpoints that did not. */
export async function wakeAppended(system: System, shard: number, rows: readonly Appending[]): Promise<void> {
  await wakeEndpoints(system, new Set(rows.flatMap(({ webhook }) => (webhook === undefined ? [] : [endpointKey(shard, webhook)]))))
  await wakeFanOuts(system, shard, [...new Set(rows.flatMap(({ organization_id }) => organization_id ?? []))])
}

/** Asks the queue to continue with the events of these organizations of a shard. The sweep finds those whose message is lost. */
export const wakeFanOuts = (system: System, shard: number, organization_ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    organization_ids.map((fan_out) => ({ body: { shard, fan_out } })),
  )
