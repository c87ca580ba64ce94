import type { System } from '../context.ts'
import { log } from '../log.ts'

/** Cloudflare's limit of one sendBatch. */
const MAX_BATCH = 100

export interface Message<Body> {
  body: Body
  delaySeconds?: number
}

/** Sends any number of messages, 100 at a time. */
export async function sendAll<Body>(queue: Queue<Body>, messages: readonly Message<Body>[]): Promise<void> {
  for (let at = 0; at < messages.length; at += MAX_BATCH) await queue.sendBatch(messages.slice(at, at + MAX_BATCH))
}

/** Sends messages that only hasten work that a sweep would find. A failure is only logged. */
export async function sendHints<Body>(system: System, queue: Queue<Body>, messages: readonly Message<Body>[]): Promise<void> {
  try {
    await sendAll(queue, messages)
  } catch (error) {
    log.error(system, 'Queue messages could not be sent. The next sweep finds the work.', {}, error)
  }
}
