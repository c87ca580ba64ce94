import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { bookOf, callOf, deliver, expectDone, ISSUED, jobsOf, later, losingMessages, subscriber, work } from './support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(restore)

interface DeadLetterRow {
  dead_letter_id: string
  queue: string
  body: string
  reason: string
}

const deadLetters = async (): Promise<DeadLetterRow[]> => (await env.DB.prepare('select * from dead_letters').all<DeadLetterRow>()).results

describe('messages', () => {
  it('that come many times, at once and out of order, bring each document once', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await deliver([await callOf(rfc)])
    await one.run()
    const call = await callOf(rfc)
    await Promise.all([deliver([call, call, call]), deliver([call, call]), deliver([call])])
    await work(rfc)
    await expectDone(rfc)
    expect((await jobsOf(rfc)).every(({ attempts }) => attempts === 1)).toBe(true)
    const [book, jobs] = [await bookOf(rfc), await jobsOf(rfc)]
    await Promise.all([deliver([call, call]), deliver([call])])
    expect([await bookOf(rfc), await jobsOf(rfc)]).toEqual([book, jobs])
  })

  it('that are none of the queue’s leave a record, and their batch mates are done', async () => {
    const [rfc, other] = [freshRfc(), freshRfc()]
    const [one, two] = [await subscriber(rfc, ISSUED), await subscriber(other, ISSUED)]
    await one.run()
    await two.run()
    const before = new Set((await deadLetters()).map(({ dead_letter_id }) => dead_letter_id))
    const bad = ['nonsense', { shard: 0 }, { shard: 0, entity: 1, more: true }, null]
    const result = await deliver([await callOf(rfc), ...bad, await callOf(other)])
    expect(result.retryMessages).toEqual([])
    expect(result.explicitAcks).toHaveLength(6)
    const made = (await deadLetters()).filter(({ dead_letter_id }) => !before.has(dead_letter_id))
    expect(made.map(({ body }) => body).sort()).toEqual(bad.map((body) => JSON.stringify(body)).sort())
    expect(made.every(({ queue: name, reason }) => name === 'downloads' && reason === 'Not a message of this queue.')).toBe(true)
    await expectDone(rfc)
    await expectDone(other)
  })

  it('that fail are tried again later, alone, and end as a record that an operator can read', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    const nowhere = { shard: 9, entity: 1 }
    const result = await deliver([nowhere, await callOf(rfc)])
    expect(result.retryMessages).toHaveLength(1)
    expect(result.explicitAcks).toHaveLength(1)
    await expectDone(rfc)
    const recorded = async () => (await deadLetters()).filter(({ body }) => body === JSON.stringify(nowhere))
    expect(await recorded()).toHaveLength(0)
    await deliver([nowhere], 'dead-letters')
    expect(await recorded()).toMatchObject([
      { queue: expect.stringContaining('dead-letters'), reason: expect.stringContaining('Every attempt failed') },
    ])
  })
})
