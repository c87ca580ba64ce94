import { createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import worker from '../../../src/index.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { randomOf } from '../../support/random.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf, pending, type Sent } from '../support/deliveries.ts'

const PER_CONSUMER = 4
const PER_ENDPOINT = 5
const PER_HOST = 10

let organizations: Organization[] = []
let courier: Courier
let hosts = 0
const host = () => `hooks-${++hosts}.acme.example`

beforeEach(async () => {
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  if (organizations.length === 0) organizations = [await organization(), await organization(), await organization()]
  courier = new Courier()
})
afterEach(restore)

/** A receiver that counts what it is asked at once: by host, by endpoint, and in all. */
class Counting {
  readonly now = new Map<string, number>()
  readonly most = new Map<string, number>()

  async during<T>({ url }: Sent, work: () => Promise<T>): Promise<T> {
    const keys = [`endpoint ${url}`, `host ${new URL(url).hostname}`]
    for (const key of keys) {
      this.now.set(key, (this.now.get(key) ?? 0) + 1)
      this.most.set(key, Math.max(this.most.get(key) ?? 0, this.now.get(key)!))
    }
    try {
      return await work()
    } finally {
      for (const key of keys) this.now.set(key, this.now.get(key)! - 1)
    }
  }

  mostOf = (kind: string): number => Math.max(...[...this.most].filter(([key]) => key.startsWith(kind)).map(([, most]) => most))
}

/** A receiver that answers when it is told to. */
function importSource() {
  const stored: { sent: Sent; answer: () => void }[] = []
  courier.answer = (sent) =>
    new Promise((answer) => {
      stored.push({ sent, answer: () => answer(new Response(null, { status: 200 })) })
    })
  return {
    stored,
    until: (count: number) => vi.waitUntil(() => stored.length >= count, { timeout: 20_000, interval: 5 }),
    release: (count = stored.length) => {
      for (const { answer } of stored.splice(0, count)) answer()
    },
  }
}

const withPending = async (to: Endpoint, count: number): Promise<Endpoint> => {
  for (let n = 0; n < count; n++) await pending(to)
  return to
}

describe('in flight at once', () => {
  it(`are at most ${PER_CONSUMER} of one consumer, ${PER_ENDPOINT} to one endpoint and ${PER_HOST} to one host`, async () => {
    const name = host()
    const all: Endpoint[] = []
    for (const [n, of] of organizations.entries()) all.push(await withPending(await endpoint(of, `https://${name}/${n}`), 12))
    const { stored, until, release } = importSource()
    const to = (n: number) => stored.filter(({ sent }) => sent.url === all[n]!.url).length
    const works = [courier.deliver(all[0]!.webhook)]
    await until(4)
    works.push(courier.deliver(all[0]!.webhook))
    await until(5)
    await courier.deliver(all[0]!.webhook)
    expect([to(0), stored.length]).toEqual([PER_ENDPOINT, 5])
    works.push(courier.deliver(all[1]!.webhook), courier.deliver(all[1]!.webhook), courier.deliver(all[1]!.webhook))
    await until(10)
    for (const { webhook } of all) await courier.deliver(webhook)
    expect([to(0), to(1), to(2), stored.length]).toEqual([5, 5, 0, PER_HOST])
    // The third was sent away: who leaves first calls for it, and it gets in.
    expect(courier.notified).toEqual([])
    release(5)
    await vi.waitUntil(() => courier.notified.some(({ webhook }) => webhook === all[2]!.webhook))
    courier.answer = () => new Response(null, { status: 200 })
    release()
    await Promise.all([...works, courier.settle()])
    await courier.settle()
    expect(courier.sent.length).toBe(36)
    for (const one of all) expect((await keptOf(one)).every(({ status }) => status === 'delivered')).toBe(true)
  })

  it('stay so whatever arrives when, and everything gets there without a sweep', async () => {
    const arrivals = fc.record({
      seed: fc.integer(),
      hosts: fc.integer({ min: 1, max: 3 }),
      counts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 7 }),
      copies: fc.integer({ min: 1, max: 4 }),
    })
    let fullest = { endpoint: 0, host: 0 }
    await fc.assert(
      fc.asyncProperty(arrivals, async (it) => {
        const random = randomOf(it.seed)
        courier = new Courier()
        const counting = new Counting()
        const names = Array.from({ length: it.hosts }, host)
        const all: Endpoint[] = []
        for (const [n, count] of it.counts.entries())
          all.push(await withPending(await endpoint(organizations[n % 3]!, `https://${names[n % it.hosts]!}/${n}`), count))
        courier.answer = (sent) =>
          counting.during(sent, async () => {
            await scheduler.wait(random() * 20)
            return new Response(null, { status: 200 })
          })
        const messages = all.flatMap(({ webhook }) => Array.from({ length: it.copies }, () => webhook)).sort(() => random() - 0.5)
        courier.notified.push(...messages.map((webhook) => ({ webhook, delaySeconds: 0, at: 0 })))
        await courier.settle()
        expect(counting.mostOf('endpoint')).toBeLessThanOrEqual(PER_ENDPOINT)
        expect(counting.mostOf('host')).toBeLessThanOrEqual(PER_HOST)
        fullest = {
          endpoint: Math.max(fullest.endpoint, counting.mostOf('endpoint')),
          host: Math.max(fullest.host, counting.mostOf('host')),
        }
        const kept = (await Promise.all(all.map(keptOf))).flat()
        expect(kept.filter(({ status }) => status !== 'delivered')).toEqual([])
        expect(courier.sent.length).toBe(kept.length)
      }),
      { numRuns: 12, seed: 7 },
    )
    expect(fullest).toEqual({ endpoint: PER_ENDPOINT, host: PER_HOST })
  })
})

describe('a receiver that hangs', () => {
  it('holds nobody: the queue goes on, and who answers has everything before it is over', async () => {
    const name = host()
    const hanging: Endpoint[] = []
    // Some share a host, and fill it; others have one of their own.
    for (let n = 0; n < 6; n++)
      hanging.push(await withPending(await endpoint(organizations[n % 3]!, `https://${n < 3 ? name : host()}/${n}`), 6))
    const healthy = await withPending(await endpoint(organizations[0]!, `https://${host()}/in`), 9)
    const ends: (() => void)[] = []
    courier.answer = ({ url }) =>
      url === healthy.url
        ? new Response(null, { status: 200 })
        : new Promise((_, refuse) => {
            ends.push(() => refuse(new TypeError('Hung up.')))
          })
    let messages = 0
    // One message after the other, as a consumer that is alone takes them.
    for (const { webhook } of [...hanging, healthy]) {
      const batch = createMessageBatch('fiscal-local-webhooks', [
        { id: `m${++messages}`, timestamp: new Date(), attempts: 1, body: { endpoint: `0.${webhook}` } },
      ])
      await worker.queue(batch, courier.env)
    }
    const inFlight = ends.length
    expect((await keptOf(healthy)).map(({ status }) => status)).toEqual(Array(9).fill('delivered'))
    expect((await Promise.all(hanging.map(keptOf))).flat().every(({ attempts }) => attempts.length === 0)).toBe(true)
    expect(inFlight).toBe(PER_HOST + 3 * PER_CONSUMER)
    courier.answer = () => new Response(null, { status: 200 })
    for (const end of ends) end()
    // Those that hung are tried again a minute later; those behind them are attempted now.
    const all = async () => (await Promise.all(hanging.map(keptOf))).flat()
    await vi.waitUntil(async () => {
      await courier.settle()
      return (await all()).every(({ attempts }) => attempts.length === 1)
    })
    expect((await all()).filter(({ status }) => status === 'pending').length).toBe(inFlight)
  })
})

describe('the limiter of a host', () => {
  const keys = (...webhooks: number[]) => webhooks.map((webhook) => `0.${webhook}`)
  const ours = (webhook: number) => ({ endpoint: `0.${webhook}`, organization_id: 'org_a' })
  const got = (permits: number, next: number[] = []) => ({ permits, next: keys(...next) })

  it('calls the endpoints that wait, in turn, keeps a place for each, and never calls more than it has room for', async () => {
    const limiter = env.HOST_LIMITERS.getByName(host())
    expect(await limiter.acquire('first', ours(1), 4, 20_000)).toEqual(got(4))
    expect(await limiter.acquire('second', ours(2), 4, 20_000)).toEqual(got(4))
    expect(await limiter.acquire('third', ours(3), 2, 20_000)).toEqual(got(2))
    for (let webhook = 4; webhook < 304; webhook++)
      expect(await limiter.acquire(`other ${webhook}`, ours(webhook), 4, 20_000)).toEqual(got(0))
    expect(await limiter.release('third', ours(3), 0)).toEqual(keys(4, 5))
    expect(await limiter.release('nobody', ours(304), 0)).toEqual([])
    // Who comes uncalled finds the permits kept for others.
    expect(await limiter.acquire('again', ours(6), 4, 20_000)).toEqual(got(0))
    expect(await limiter.acquire('called', ours(4), 1, 20_000)).toEqual(got(1))
    expect(await limiter.release('first', ours(1), 0)).toEqual(keys(6, 7, 8, 9))
    // A place that is not wanted any more goes on to the next.
    expect(await limiter.release('not due', ours(9), 0)).toEqual(keys(10))
    expect(await limiter.release('second', ours(2), 0)).toEqual(keys(11, 12, 13, 14))
  })

  it('forgets who never left, after a time, and calls those that waited', async () => {
    at('2027-03-01T00:00:00Z')
    const limiter = env.HOST_LIMITERS.getByName(host())
    for (const n of [1, 2, 3]) await limiter.acquire(`dead ${n}`, ours(n), 4, 20_000)
    expect(await limiter.acquire('new', ours(9), 4, 20_000)).toEqual(got(0))
    at('2027-03-01T00:00:20Z')
    // The third had got two permits of the four that it wanted.
    expect(await limiter.acquire('newer', ours(10), 4, 20_000)).toEqual(got(4, [3, 9]))
  })
})
