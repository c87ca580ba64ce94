import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consume } from '../../../src/app/work.ts'
import { sweepConnectors } from '../../../src/copies/mirror/review.ts'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { all } from '../../cfdi/support/book.ts'
import { packageOf, plainOf } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { callOf } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { connectorOf, type Shelf, shelves, startBackfill, stateOf } from '../support/shelf.ts'

const random = randomOf(150)
let shelfOf: (key: string) => Shelf
let sent: { connector: number }[]

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  sent = silenceQueues() as typeof sent
  shelfOf = shelves()
})
afterEach(restore)

interface Mirrored {
  connector: number
  shelf: Shelf
}

/** An organization with documents of one RFC, and planned connectors to which all of them are to be copied. */
async function waiting(documents: number, connectors: number): Promise<Mirrored[]> {
  const of = await organization('enterprise_gold')
  const { rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
  const { entity } = await callOf(rfc)
  const target = { ledger: env.LEDGER_0, files: env.FILES, entity, rfc, now: new Date(), provenance: 'authority' } as const
  const content = Array.from({ length: documents }, () => plainOf(random, '2026-04', { emisor: rfc }))
  await all(ingestZip(target, packageOf(content)))
  const made: Mirrored[] = []
  for (let n = 0; n < connectors; n++) {
    const { connector, connector_id } = await connectorOf({ organization_id: of.id })
    await workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector })
    await startBackfill(connector)
    made.push({ connector, shelf: shelfOf(connector_id) })
  }
  sent.length = 0
  return made
}

const copiedTo = async ({ connector }: Mirrored): Promise<number> => (await stateOf(connector)).copied_count

/** A clock that has gone forward, and goes forward with each put to these shelves: four at once are as quick as one. */
function slowClock(shelves: readonly Mirrored[], milliseconds: number, gone = 0): void {
  const real = performance.now.bind(performance)
  let more = gone
  vi.spyOn(performance, 'now').mockImplementation(() => real() + more)
  for (const { shelf } of shelves)
    shelf.before = () => {
      more += milliseconds / 4
    }
}

/** Delivers messages one after the other, in their order, as a queue with one consumer. Returns the connectors in the order of their turns. */
async function deliverAll(first: readonly Mirrored[], afterTurn: (connector: number) => Promise<void>): Promise<number[]> {
  const queue = first.map(({ connector }) => connector)
  const turns: number[] = []
  while (queue.length > 0) {
    if (turns.length === 200) throw new Error('The messages never end.')
    const connector = queue.shift()!
    await workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector })
    turns.push(connector)
    queue.push(...sent.splice(0).map((message) => message.connector))
    await afterTurn(connector)
  }
  return turns
}

describe('a destination that takes three seconds a document', () => {
  it('has turns of ten seconds: 20 documents of another organization are copied in one turn, after one of each that came before', async () => {
    const slow = await waiting(200, 2)
    const [fast] = (await waiting(20, 1)) as [Mirrored]
    slowClock(slow, 3_000)
    let before: number[] = []
    const turns = await deliverAll([...slow, fast], async (connector) => {
      if (connector !== fast.connector) return
      expect(await copiedTo(fast)).toBe(20)
      before = await Promise.all(slow.map(copiedTo))
    })
    const of = (one: Mirrored) => turns.filter((connector) => connector === one.connector).length
    expect(turns.slice(0, 4)).toEqual([slow[0]!.connector, slow[1]!.connector, fast.connector, slow[0]!.connector])
    expect(of(fast)).toBe(1)
    // Ten seconds, and what is then under way.
    for (const copied of before) expect([copied, copied >= 12 && copied <= 18]).toEqual([copied, true])
    expect(await Promise.all(slow.map(copiedTo))).toEqual([200, 200])
    for (const one of slow) expect([of(one), of(one) >= 12 && of(one) <= 17]).toEqual([of(one), true])
    // What a turn leaves is not sent twice.
    for (const { shelf } of slow) expect(shelf.puts.filter((path) => path.endsWith('.xml'))).toHaveLength(200)
  })

  it('counts its turn from its place on, not from when its message came', async () => {
    const [one] = (await waiting(8, 1)) as [Mirrored]
    const system = systemOf(env, new Date(), 'test')
    // The invocation has waited for 24 seconds.
    slowClock([one], 1_000, 24_000)
    await workOnConnector(system, { shard: 0, connector: one.connector })
    expect(await copiedTo(one)).toBe(8)
  })
})

describe('a destination that hangs', () => {
  /** Delivers a message as the platform does. Returns whether it was acknowledged. */
  async function delivered({ connector }: Mirrored): Promise<boolean> {
    let isAcknowledged = false
    const message = {
      ...{ id: crypto.randomUUID(), timestamp: new Date(), body: { shard: 0, connector }, attempts: 1 },
      ack: () => {
        isAcknowledged = true
      },
      retry: () => {},
    }
    await consume({ queue: 'fiscal-local-storage', messages: [message], ackAll: () => {}, retryAll: () => {} } as never, env)
    return isAcknowledged
  }

  it('holds up no message, and takes two places at most: another organization is copied to meanwhile', async () => {
    const slow = await waiting(12, 4)
    const [fast] = (await waiting(20, 1)) as [Mirrored]
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    let begun = 0
    for (const { shelf } of slow)
      shelf.before = () => {
        begun++
        return opened
      }
    for (const one of slow) expect(await delivered(one)).toBe(true)
    expect(await delivered(fast)).toBe(true)
    await vi.waitUntil(async () => (await copiedTo(fast)) === 20, { timeout: 10_000, interval: 20 })
    // Four documents at once to each of two connectors.
    expect(begun).toBe(8)
    expect(await Promise.all(slow.map(copiedTo))).toEqual([0, 0, 0, 0])
    open()
    const isDone = async () => {
      for (const message of sent.splice(0)) await delivered(message as Mirrored)
      return (await Promise.all(slow.map(copiedTo))).every((count) => count === 12)
    }
    await vi.waitUntil(isDone, { timeout: 30_000, interval: 50 })
    await vi.waitUntil(async () =>
      (await Promise.all([...slow, fast].map(({ connector }) => stateOf(connector)))).every(({ token }) => !token),
    )
  })

  it('again, of four organizations, leaves a place to one whose destination has not failed: it waits for none of them', async () => {
    const hanging = (await Promise.all(Array.from({ length: 4 }, () => waiting(4, 1)))).flat()
    const [fast] = (await waiting(20, 1)) as [Mirrored]
    for (const one of hanging) {
      one.shelf.refuse('timeout')
      await workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector: one.connector })
      expect((await stateOf(one.connector)).failures).toBe(1)
    }
    await env.EVENTS_0.prepare('update storage_connectors set retry_at = 0').run()
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    let begun = 0
    for (const { shelf } of hanging)
      shelf.before = () => {
        begun++
        return opened
      }
    for (const one of hanging) expect(await delivered(one)).toBe(true)
    await vi.waitUntil(() => begun === 8, { timeout: 5_000 })
    const began = performance.now()
    expect(await delivered(fast)).toBe(true)
    await vi.waitUntil(async () => (await copiedTo(fast)) === 20, { timeout: 10_000, interval: 20 })
    expect(performance.now() - began).toBeLessThan(5_000)
    // Two connectors with four documents each: the others wait for one of them.
    expect(begun).toBe(8)
    open()
    const isDone = async () => {
      for (const message of sent.splice(0)) await delivered(message as Mirrored)
      return (await Promise.all(hanging.map(copiedTo))).every((count) => count === 4)
    }
    await vi.waitUntil(isDone, { timeout: 20_000, interval: 50 })
    await vi.waitUntil(async () => (await Promise.all(hanging.map(({ connector }) => stateOf(connector)))).every(({ token }) => !token))
  })

  it('loses nothing when its worker is ended from outside after the message was acknowledged: the sweep finds it', async () => {
    const [one] = (await waiting(12, 1)) as [Mirrored]
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    one.shelf.before = () => opened
    expect(await delivered(one)).toBe(true)
    sent.length = 0
    const isSwept = async () => {
      await sweepConnectors(systemOf(env, new Date(), 'test'))
      return sent.some(({ connector }) => connector === one.connector)
    }
    expect(await isSwept()).toBe(false)
    at('2026-05-20T09:01:00Z')
    expect(await isSwept()).toBe(true)
    one.shelf.before = () => {}
    await workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector: one.connector })
    expect(await copiedTo(one)).toBe(12)
    // The other worker is late: it counts nothing.
    sent.length = 0
    open()
    await vi.waitUntil(() => sent.length > 0, { timeout: 10_000 })
    expect([await copiedTo(one), one.shelf.documents().length]).toEqual([12, 12])
  })

  it('leaves a connector that finds no place to the back of the queue', async () => {
    const slow = await waiting(4, 3)
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    for (const { shelf } of slow) shelf.before = () => opened
    for (const one of slow.slice(0, 2)) expect(await delivered(one)).toBe(true)
    const real = performance.now.bind(performance)
    const work = workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector: slow[2]!.connector })
    await scheduler.wait(20)
    vi.spyOn(performance, 'now').mockImplementation(() => real() + 5_000)
    await work
    expect(sent).toEqual([{ shard: 0, connector: slow[2]!.connector }])
    expect(await stateOf(slow[2]!.connector)).toMatchObject({ token: null, copied_count: 0 })
    open()
    await vi.waitUntil(async () => (await Promise.all(slow.slice(0, 2).map(copiedTo))).every((count) => count === 4), { timeout: 10_000 })
  })
})
