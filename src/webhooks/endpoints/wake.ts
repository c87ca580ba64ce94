import type { System } from '../../platform/context.ts'
import { sendHints } from '../../platform/queues/send.ts'

/** Asks the queue to deliver what these endpoints have due, now or after a wait. The sweep finds endpoints whose message is lost. */
export const wakeEndpoints = (system: System, webhooks: Iterable<number>, delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    [...webhooks].map((webhook) => ({ body: { webhook }, delaySeconds })),
  )
