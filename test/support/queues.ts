import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { Turns } from '../../src/downloads/turns/turns.ts'
import worker from '../../src/index.ts'

/** From here on each message about downloads is handled by itself, because messages that are lost leave RFCs waiting for their turns. */
export const takingNoTurns = (): void => void vi.spyOn(Turns.prototype, 'enter').mockReturnValue(undefined)

/**
 * From here on no message of any queue arrives, not even one that an earlier test sent: the test does the work itself. Returns the messages
 * as they are sent.
 */
export function silenceQueues(): unknown[] {
  const kept: unknown[] = []
  takingNoTurns()
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
  takingNoTurns()
  for (const queue of [env.DOWNLOADS, env.DOWNLOADS_SPREAD]) {
    vi.spyOn(queue, 'send').mockResolvedValue(undefined as never)
    vi.spyOn(queue, 'sendBatch').mockResolvedValue(undefined as never)
  }
}
