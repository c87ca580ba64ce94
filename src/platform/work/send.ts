import type { System } from '../context.ts'
import { log } from '../log.ts'

/** Cloudflare's limits: of a batch in messages and in bytes, and of a message in bytes. */
const MAX_BATCH = 100
const MAX_BATCH_BYTES = 250_000
const MAX_MESSAGE_BYTES = 128_000

export interface Message<Body> {
  body: Body
  delaySeconds?: number
}

const utf8 = new TextEncoder()

function bytesOf({ body }: Message<unknown>): number {
  const { length } = utf8.encode(JSON.stringify(body))
  if (length > MAX_MESSAGE_BYTES) throw new RangeError(`A queue message has ${length} bytes. The limit is ${MAX_MESSAGE_BYTES}. Cut it.`)
  return length
}

/** Sends any number of messages, in batches that the platform accepts. Throws RangeError for a message of more than 128 KB. */
export async function sendAll<Body>(queue: Queue<Body>, messages: readonly Message<Body>[]): Promise<void> {
  let batch: Message<Body>[] = []
  let weight = 0
  for (const message of messages) {
    const bytes = bytesOf(message)
    if (batch.length === MAX_BATCH || (batch.length > 0 && weight + bytes > MAX_BATCH_BYTES)) {
      await queue.sendBatch(batch)
      batch = []
      weight = 0
    }
    batch.push(message)
    weight += bytes
  }
  if (batch.length > 0) await queue.sendBatch(batch)
}

/** Sends messages that only hasten work that a sweep would find. A failure is only logged. */
export async function sendHints<Body>(system: System, queue: Queue<Body>, messages: readonly Message<Body>[]): Promise<void> {
  try {
    await sendAll(queue, messages)
  } catch (error) {
    log.error(system, 'Queue messages could not be sent. The next sweep finds the work.', {}, error)
  }
}
