import type { System } from '../../platform/context.ts'
import { sendHints } from '../../platform/queues/send.ts'

/** Names an endpoint outside its database: the number of its events shard, and its own number there. */
export const endpointKey = (shard: number, webhook: number): string => `${shard}.${webhook}`

/** Asks the queue to deliver what these endpoints have due, now or after a wait. The sweep finds endpoints whose message is lost. */
export const wakeEndpoints = (system: System, endpoints: Iterable<string>, delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    [...endpoints].map((endpoint) => ({ body: { endpoint }, delaySeconds })),
  )
