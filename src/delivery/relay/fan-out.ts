import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { each } from '../../platform/each.ts'
import { repeatAlone } from '../../platform/locks/alone.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { insertDeliveriesInRange } from '../deliveries/insert-store.ts'
import { endpointKey, wakeEndpoints } from '../endpoints/wake.ts'
import { findEndpointAfter, findFanOut, moveFanOut, organizationsToFanOut } from './fan-out-store.ts'

/** Events and deliveries of one page. */
const EVENTS = 50
const DELIVERIES = 1_000
const PAGES_PER_MESSAGE = 20
const SWEEP_ORGANIZATIONS = 1_000

/**
 * Creates the deliveries of an organization's events to its many endpoints, page by page. The commit of a page moves its
 * events on to the next endpoint, where another message continues after a crash. Each organization has messages of its own, and none waits
 * for another's.
 */
export async function fanOut(system: System, shard: number, organization_id: string): Promise<void> {
  let pages = 0
  const isMore = await repeatAlone(
    system.env.MUTEXES.getByName(`fan-out:${organization_id}`),
    () => fanOutPage(system, shard, organization_id),
    () => pages++ < PAGES_PER_MESSAGE,
  )
  if (isMore) await wakeFanOuts(system, shard, [organization_id])
}

/** Creates the deliveries of the events that are furthest behind to their next endpoints. Returns whether more may follow. */
async function fanOutPage(system: System, shard: number, organization_id: string): Promise<boolean> {
  const d1 = system.settings.events[shard]!
  const found = await findFanOut(d1, organization_id, EVENTS)
  if (found === null) return false
  const next = await findEndpointAfter(d1, organization_id, found.webhook, Math.floor(DELIVERIES / found.seqs.length))
  const range = { from: found.webhook, before: next ?? Number.MAX_SAFE_INTEGER }
  const [inserted] = await commit<{ webhook: number }>(d1, [
    insertDeliveriesInRange(d1, organization_id, found.seqs, range, Date.now()),
    ...moveFanOut(d1, organization_id, found, next),
  ])
  await wakeEndpoints(system, new Set(inserted!.results.map(({ webhook }) => endpointKey(shard, webhook))))
  return true
}

/** Asks the queue to go on with the events of these organizations of a shard. The sweep finds those whose message is lost. */
export const wakeFanOuts = (system: System, shard: number, organization_ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    organization_ids.map((fan_out) => ({ body: { shard, fan_out } })),
  )

/** Wakes the organizations whose events lack deliveries. */
export const sweepFanOuts = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) =>
    wakeFanOuts(system, shard, await organizationsToFanOut(d1, SWEEP_ORGANIZATIONS)),
  )
