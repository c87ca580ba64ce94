import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DestinationFault } from '../../../src/copies/drivers/port.ts'
import { cfdiOf, subscriber } from '../../downloads/support/downloads.ts'
import { Messages } from '../../journeys/support/messages.ts'
import { at, restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { freshRfc } from '../../support/tenants.ts'
import { connectorOf, emptied, type Shelf, shelves, startBackfill, stateOf } from '../support/shelf.ts'

const BEGIN = '2026-05-20T09:00:00Z'
let messages: Messages
let shelfOf: ReturnType<typeof shelves>

beforeEach(() => {
  at(BEGIN)
  messages = new Messages()
  shelfOf = shelves()
  vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response('Thank you.'))
})
afterEach(restore)

const minute = () => messages.cron('* * * * *')
/** So many minutes after the beginning. */
const later = (minutes: number) => at(new Date(Date.parse(BEGIN) + minutes * 60_000).toISOString())

/** An organization whose downloads are done, and a connector that is to copy them all. */
async function waiting() {
  const one = await subscriber(freshRfc(), cfdiOf(1, { data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf'] }))
  await one.run()
  await messages.deliverAll()
  const { connector, connector_id } = await connectorOf({ organization_id: one.id })
  await minute()
  await startBackfill(connector)
  return { ...one, connector, connector_id, shelf: shelfOf(connector_id) }
}

/** How many documents the organization may read: CFDIs, tax documents, and those of the mailbox that nobody has to open first. */
const shownIn = async (one: Awaited<ReturnType<typeof waiting>>): Promise<number> => {
  const all = async (path: string) => {
    const rows: Record<string, unknown>[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await one.ask('GET', `${path}limit=100${cursor && `&cursor=${cursor}`}`)
      rows.push(...body.data)
      cursor = body.next_cursor
    }
    return rows
  }
  const [cfdi, documents, notifications] = [
    await all(`/v1/cfdi?fiscal_entity_id=${one.fiscal_entity_id}&has_xml=true&`),
    await all(`${one.path}/documents?`),
    await all(`${one.path}/buzon/notifications?`),
  ]
  const open = notifications.filter(({ status, has_document }) => status !== 'pending' && has_document)
  expect(Math.min(cfdi.length, documents.length, open.length)).toBeGreaterThan(0)
  return cfdi.length + documents.length + open.length
}

const documentsPut = ({ puts }: Shelf): string[] => puts.filter((path) => !path.startsWith('manifests/'))

describe('a destination that fails', () => {
  it('is tried again after its wait, or after what it asks for if that is longer, and what it says is shown', async () => {
    const one = await waiting()
    const count = await shownIn(one)
    const faults: [DestinationFault, number | null, number][] = [
      ['access_denied', null, 60],
      ['rate_limited', 1_800, 1_800],
      ['rate_limited', 30, 60],
      ['unavailable', 1_000_000, 86_400],
      ['timeout', null, 60],
      ['connection_failed', null, 60],
    ]
    for (const [n, [code, retryAfter, wait]] of faults.entries()) {
      later(2_000 * n)
      one.shelf.puts.length = 0
      await startBackfill(one.connector)
      one.shelf.refuse(code, retryAfter)
      const before = await stateOf(one.connector)
      await minute()
      const failed = await stateOf(one.connector)
      expect(failed).toMatchObject({ connector_status: 'active', failures: 1, copied_count: before.copied_count, token: null })
      expect(failed.retry_at, code).toBe(Date.now() + wait * 1_000)
      expect(failed.failed_count).toBeGreaterThan(before.failed_count)
      expect(JSON.parse(failed.last_error!)).toEqual({ code, message: 'The destination does not want this.', at: new Date().toISOString() })
      one.shelf.before = () => {}
      await minute()
      expect(documentsPut(one.shelf)).toEqual([])
      at(new Date(failed.retry_at).toISOString())
      await minute()
      expect(new Set(documentsPut(one.shelf)).size).toBe(count)
      const { failed_count } = failed
      expect(await stateOf(one.connector)).toMatchObject({ failures: 0, last_error: null, copied_count: (n + 1) * count, failed_count })
    }
  })

  it('five times in a row ends in an error, with one alert and one event, and goes on where it stopped when it is resumed', async () => {
    const one = await waiting()
    const { body } = await one.ask('POST', '/v1/webhooks', {
      name: 'W',
      url: 'https://hooks.example.com/x',
      event_keys: ['storage.failed'],
    })
    const fetched = vi.mocked(env.EGRESS.fetch)
    // Some go through before it fails for good.
    let allowed = 30
    one.shelf.before = () => {
      if (allowed-- <= 0) one.shelf.refuse('access_denied')
      if (allowed < 0) return one.shelf.before('')
    }
    const waits = [1, 5, 15, 60]
    let now = 0
    for (const [n, wait] of waits.entries()) {
      await minute()
      const state = await stateOf(one.connector)
      expect(state).toMatchObject({ connector_status: 'active', failures: n + 1, retry_at: Date.now() + wait * 60_000 })
      now += wait
      later(now - 1 / 60)
      await minute()
      expect((await stateOf(one.connector)).failures).toBe(n + 1)
      later(now)
    }
    const copied = (await stateOf(one.connector)).copied_count
    expect(copied).toBeGreaterThan(20)
    await minute()
    expect(await stateOf(one.connector)).toMatchObject({ connector_status: 'error', failures: 5, copied_count: copied })
    later(now + 100_000)
    await minute()
    await minute()
    expect((await one.ask('GET', '/v1/alerts?kind=storage.failed')).body.data).toMatchObject([
      { kind: 'storage.failed', severity: 'critical', resource_id: one.connector_id },
    ])
    expect((await one.ask('GET', '/v1/events?event_key=storage.failed')).body.data).toMatchObject([
      { event: 'storage.failed', connector_id: one.connector_id, error_code: 'access_denied' },
    ])
    expect(fetched.mock.calls.filter(([url]) => String(url).includes('hooks.example.com'))).toHaveLength(1)
    expect(body.webhook_id).toBeDefined()

    one.shelf.before = () => {}
    await env.EVENTS_0.prepare(
      `update storage_connectors set connector_status = 'active', failures = 0, retry_at = 0, updated_at = updated_at + 1 where connector = ?`,
    )
      .bind(one.connector)
      .run()
    await minute()
    const count = await shownIn(one)
    expect(await stateOf(one.connector)).toMatchObject({ connector_status: 'active', failures: 0, copied_count: count })
    expect(new Set(documentsPut(one.shelf)).size).toBe(count)
    // What was committed is not sent again.
    expect(documentsPut(one.shelf).length - count).toBeLessThan(4)
  })

  it('costs the download beside it no statement: that takes as many as beside a destination that works, and writes as much', async () => {
    const costs = []
    const rfc = freshRfc()
    for (const isBroken of [false, true]) {
      await emptied()
      at(BEGIN)
      const one = await subscriber(rfc, cfdiOf(1))
      const { connector, connector_id } = await connectorOf({ organization_id: one.id })
      await minute()
      if (isBroken) shelfOf(connector_id).refuse('unavailable')
      await one.run()
      await messages.deliverAll()
      await minute()
      expect((await stateOf(connector)).failures).toBe(isBroken ? 1 : 0)
      at('2026-05-21T09:00:00Z')
      const { cost } = await costOf(env.LEDGER_0, env.FILES, async () => {
        await one.run()
        await messages.deliverAll()
      })
      costs.push(cost)
    }
    expect(costs[0]!.d1_statements).toBeGreaterThan(20)
    expect(costs[1]).toEqual(costs[0])
  })
})

/** What can be interrupted: calls of D1, of the bucket, and puts at the destination. */
const proto = (object: object): Record<string, (...args: unknown[]) => Promise<unknown>> => Object.getPrototypeOf(object)

/** The nth call from here on fails, before or after what it does, as if the isolate ended there; and so does all after it, until `heal`. */
function dyingAt(n: number, isAfter: boolean, shelf: Shelf): { calls: () => number; heal: () => void } {
  let calls = 0
  let isDead = false
  const dying = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead) throw new Error('The isolate has ended.')
    const isHere = ++calls === n
    if (isHere && !isAfter) isDead = true
    if (isDead) throw new Error('The isolate ends here.')
    const result = await work()
    if (isHere) {
      isDead = true
      throw new Error('The isolate ends here.')
    }
    return result
  }
  const spies = [
    ...(['batch'] as const).map((name) => {
      const original = proto(env.DB)[name]!
      return vi.spyOn(proto(env.DB), name).mockImplementation(function (this: unknown, ...args) {
        return dying(() => original.apply(this, args))
      })
    }),
    ...(['all'] as const).map((name) => {
      const statement = env.DB.prepare('select 1')
      const original = proto(statement)[name]!
      return vi.spyOn(proto(statement), name).mockImplementation(function (this: unknown, ...args) {
        return dying(() => original.apply(this, args))
      })
    }),
    ...(['get', 'put', 'delete'] as const).map((name) => {
      const original = proto(env.FILES)[name]!
      return vi.spyOn(proto(env.FILES), name).mockImplementation(function (this: unknown, ...args) {
        return dying(() => original.apply(this, args))
      })
    }),
  ]
  const { put } = Object.getPrototypeOf(shelf) as Shelf
  shelf.put = (path, object) => dying(() => put.call(shelf, path, object))
  return {
    calls: () => calls,
    heal: () => {
      for (const spy of spies) spy.mockRestore()
      Reflect.deleteProperty(shelf, 'put')
    },
  }
}

describe('a worker that ends anywhere', () => {
  it('loses nothing, counts nothing twice, and leaves no object twice', { timeout: 300_000 }, async () => {
    const one = await waiting()
    const count = await shownIn(one)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const whole = dyingAt(Number.POSITIVE_INFINITY, false, one.shelf)
    await messages.cron('* * * * *')
    const calls = whole.calls()
    whole.heal()
    expect(calls).toBeGreaterThan(count)
    expect(await stateOf(one.connector)).toMatchObject({ copied_count: count })
    let total = count
    const places = Array.from({ length: calls }, (_, n) => n + 1)
    const tried = places.filter((n) => n <= 8 || n > calls - 10 || n % runs(40, 1) === 0)
    for (const [k, n] of tried.entries()) {
      one.shelf.objects.clear()
      one.shelf.puts.length = 0
      later(20 * k + 10)
      await startBackfill(one.connector)
      const dying = dyingAt(n, k % 2 === 1, one.shelf)
      await messages.cron('* * * * *').catch(() => {})
      dying.heal()
      // The lease has run out by then.
      later(20 * k + 20)
      await minute()
      await minute()
      total += count
      const state = await stateOf(one.connector)
      const notified = `ended at call ${n} of ${calls}`
      expect(one.shelf.documents().length, notified).toBe(count)
      expect(state.copied_count, notified).toBe(total)
      expect(JSON.parse(state.backfill!), notified).toMatchObject({ status: 'completed', total: count, copied: count })
      expect([state.token, state.failures], notified).toEqual([null, 0])
      // At most a batch is sent again.
      expect(documentsPut(one.shelf).length - count, notified).toBeLessThanOrEqual(100)
      expect(
        one.shelf
          .lines()
          .map(({ path }) => path)
          .sort(),
        notified,
      ).toEqual(one.shelf.documents())
    }
  })
})
