import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Turns } from '../../../src/downloads/turns/turns.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { callOf, cfdiOf, deliver, jobsOf, later, losingMessages, subscriber } from '../support/downloads.ts'

beforeEach(() => later(0))
afterEach(restore)

/** More than a message does at once: 25. */
const LONG = cfdiOf(30)

/** Handles messages in the order in which they were sent. Returns after how many turns nothing of the RFC was left, and how many there were. */
async function handled(messages: ReturnType<typeof losingMessages>, rfc: string): Promise<{ done: number; all: number }> {
  const next = vi.spyOn(Turns.prototype, 'next')
  next.mockClear()
  const queue: unknown[] = messages.announced()
  const { shard, entity } = await callOf(rfc)
  const key = `${shard}:${entity}`
  let done = 0
  while (queue.length > 0) {
    await deliver([queue.shift()])
    queue.push(...messages.announced())
    if (done > 0 || (await jobsOf(rfc)).some(({ status }) => status !== 'succeeded')) continue
    done = 1 + next.mock.results.map(({ value }) => value).lastIndexOf(key)
  }
  return { done, all: next.mock.calls.length }
}

it('an organization with one RFC waits beside one with many for twice its turns alone, not behind all of them', async () => {
  const messages = losingMessages({ areInTurn: true })
  const own = freshRfc()
  const waits = await subscriber(own, LONG, 'empty1')
  await waits.run()
  const alone = await handled(messages, own)
  expect(alone.done).toBe(3)

  const flood = await subscriber(freshRfc(), LONG, 'empty1')
  for (let n = 0; n < 4; n++) await flood.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'empty1' })
  later(700)
  messages.announced()
  await flood.run()
  await waits.run()
  const beside = await handled(messages, own)
  expect(beside.all).toBeGreaterThanOrEqual(6 * alone.all)
  expect(beside.done).toBeLessThanOrEqual(2 * alone.done)
}, 120_000)
