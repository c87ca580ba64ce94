import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import worker from '../../src/index.ts'

/**
 * From here on no message of any queue arrives, not even one that an earlier test sent: the test does the work itself. Returns the messages
 * as they are sent.
 */
export function silenceQueues(): unknown[] {
  const kept: unknown[] = []
  const queue = Object.getPrototypeOf(env.DOWNLOADS)
  vi.spyOn(worker, 'queue').mockResolvedValue(undefined)
  vi.spyOn(queue, 'send').mockImplementation(async (body) => {
    kept.push(body)
  })
  vi.spyOn(queue, 'sendBatch').mockImplementation(async (messages) => {
    for (const { body } of messages as Iterable<MessageSendRequest>) kept.push(body)
  })
  return kept
}

/** From here on no message about downloads arrives. Everything else that queues do goes on. */
export function silenceDownloads(): void {
  for (const queue of [env.DOWNLOADS, env.DOWNLOADS_SPREAD]) {
    vi.spyOn(queue, 'send').mockResolvedValue(undefined as never)
    vi.spyOn(queue, 'sendBatch').mockResolvedValue(undefined as never)
  }
}
