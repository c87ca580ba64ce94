import type { System } from '../../platform/context.ts'
import { errorMessage } from '../../platform/log.ts'

const MESSAGES_A_BATCH = 100

/** Says that endpoints have something to be sent, now or after a wait: hints, which the sweep repeats where they are missed. */
export async function wakeEndpoints({ env, requestId }: System, webhooks: Iterable<number>, delaySeconds = 0): Promise<void> {
  const messages = [...webhooks].map((webhook) => ({ body: { webhook }, delaySeconds }))
  try {
    for (let at = 0; at < messages.length; at += MESSAGES_A_BATCH) await env.WEBHOOKS.sendBatch(messages.slice(at, at + MESSAGES_A_BATCH))
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: requestId, message: 'Deliveries were not announced.', error: errorMessage(error) }),
    )
  }
}
