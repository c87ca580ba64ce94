import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../src/authority/adapters.ts'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { systemOf } from '../../src/platform/context.ts'
import { pagesOf } from '../delivery/support/feed.ts'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import {
  breakingAt,
  callOf,
  deliver,
  ISSUED,
  jobsOf,
  later,
  ledgerOf,
  losingMessages,
  subscriber,
  sweep,
  work,
} from './support/downloads.ts'

let queue: ReturnType<typeof losingMessages>
beforeEach(() => {
  later(0)
  queue = losingMessages()
})
afterEach(restore)

/** Downloads of this month never end, as if they ended their worker. */
function killingBy(month: string): void {
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => {
    const authority = await real(system)
    return {
      ...authority,
      step: (asked) => (asked.month === month ? new Promise<never>(() => {}) : authority.step(asked)),
    } as typeof authority
  })
}

/** Delivers a message whose worker may die, until it is done or dead. */
async function deliverToMortal(rfc: string): Promise<void> {
  const [call, ledger] = [await callOf(rfc), await ledgerOf(rfc)]
  let isDone = false
  void deliver([call]).then(() => {
    isDone = true
  })
  const lease = () => ledger.prepare('select lease_until from sync_work where entity = ?').bind(call.entity).first('lease_until')
  for (let n = 0; n < 60 && !isDone; n++) await scheduler.wait(10)
  // The lease of a dead worker runs out.
  if ((await lease()) !== null) await ledger.prepare('update sync_work set lease_until = 0 where entity = ?').bind(call.entity).run()
}

const notified = async (one: Awaited<ReturnType<typeof subscriber>>, key: string) =>
  (await pagesOf<{ period: string | null; data_source_key: string }>(one, `/v1/events?limit=100&event_key=${key}`)).items
const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)

/** What breaks without it: a document that kills its worker keeps an RFC from everything else, for ever. */
describe('a job that kills its worker', () => {
  it('fails alone after twelve attempts, and who waits for a login meanwhile gets a job of its own', async () => {
    const rfc = freshRfc()
    const [one, waits] = [await subscriber(rfc, ISSUED, 'empty1'), await subscriber(rfc, ISSUED, 'empty1')]
    await one.run()
    await waits.run()
    const attempts: number[] = []
    killingBy('2026-04')
    const deadly = async () => (await jobsOf(rfc)).filter(({ source, month }) => source === 'sat_cfdi_issued' && month === '2026-04')
    for (let n = 0; n < 20 && (await deadly()).length === 1; n++) {
      later(n)
      // Nobody has learned of it before the last attempt.
      if (n === 13) await waits.ask('PATCH', `/v1/billing/rfcs/${waits.fiscal_entity_id}`, { active: false })
      await deliverToMortal(rfc)
      attempts.push((await deadly())[0]!.attempts)
    }
    // The first worker held all jobs. From then on each job is claimed by itself, before it is begun.
    expect(attempts.slice(0, 13)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(await deadly()).toMatchObject([
      { status: 'failed', error_class: 'internal_error', organizations: JSON.stringify([one.id]) },
      { status: 'queued', attempts: expect.any(Number), organizations: JSON.stringify([waits.id]) },
    ])
    const others = (await jobsOf(rfc)).filter(({ month, source }) => month !== '2026-04' || source !== 'sat_cfdi_issued')
    expect(others.map(({ status, attempts: all }) => `${status} ${all}`)).toEqual(others.map(() => 'succeeded 1'))
    await relay(rfc)
    expect(await notified(one, 'sync.failed')).toMatchObject([{ data_source_key: 'sat_cfdi_issued', period: '2026-04' }])
    expect(await notified(waits, 'sync.failed')).toEqual([])
  })
})

describe('an organization that joins a job which fails for another', () => {
  it('does not wait for the attempt of the other, and the other is told of the same wait', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, ISSUED, 'unavailable1'), await subscriber(rfc, ISSUED, 'unavailable1')]
    await first.run()
    for (const seconds of [0, 5, 15, 35]) {
      later(seconds)
      await work(rfc)
    }
    later(40)
    await work(rfc)
    const waits = (await first.jobs()).map(({ next_attempt_at }) => next_attempt_at)
    expect(new Set(waits)).toEqual(new Set(['2026-05-20T09:01:15.000Z']))
    await second.run()
    expect((await first.jobs()).map(({ next_attempt_at }) => next_attempt_at)).toEqual(waits)
    await work(rfc)
    for (const job of await second.jobs()) expect(job).toMatchObject({ attempts: 1, error_class: 'sat_unavailable' })
    // Asking again does not shorten a wait that one knows of.
    later(700)
    await first.give('unavailable2')
    const before = await jobsOf(rfc)
    await first.run()
    expect((await jobsOf(rfc)).map(({ not_before }) => not_before)).toEqual(before.map(({ not_before }) => not_before))
  })
})

describe('a clock that is behind', () => {
  it('makes no job older than the one before', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'empty1')
    await one.run()
    await work(rfc)
    const [before, ledger, { entity }] = [await jobsOf(rfc), await ledgerOf(rfc), await callOf(rfc)]
    // The jobs were made by a clock that is hours ahead.
    const ahead = 'job_7zzzzzzzzzzzzzzzzzzzzzzzzz'
    await ledger.batch([
      ledger.prepare('update sync_jobs set job_id = ? where entity = ?').bind(ahead, entity),
      ledger.prepare('update extractions set jobs = replace(json(jobs), ?, ?) where entity = ?').bind(before[0]!.job_id, ahead, entity),
    ])
    later(700)
    expect(await one.run()).toMatchObject({ connections: 1 })
    await one.run()
    await work(rfc)
    const jobs = await jobsOf(rfc)
    expect(jobs).toHaveLength(2 * before.length)
    expect(jobs.every(({ status }) => status === 'succeeded')).toBe(true)
    expect(await one.sync()).toMatchObject({ status: 'idle', last_success_at: '2026-05-20T09:11:40.000Z' })
    expect(await one.jobs()).toHaveLength(2 * before.length)
  })
})

/** What breaks without it: an organization is told twice of a download, or never. */
describe('the end of a job', () => {
  it('is told once to who asked before, to who found it finished before it was told, and to who found it after', async () => {
    const rfc = freshRfc()
    const [one, early, late] = [
      await subscriber(rfc, ISSUED, 'empty1'),
      await subscriber(rfc, ISSUED, 'empty1'),
      await subscriber(rfc, ISSUED, 'empty1'),
    ]
    await one.run()
    await work(rfc)
    await early.run()
    await relay(rfc)
    await late.run()
    for (let n = 0; n < 2; n++) await relay(rfc)
    for (const of of [one, early, late]) {
      const cells = (await notified(of, 'sync.completed')).map(({ data_source_key, period }) => `${data_source_key} ${period}`)
      expect(cells.sort()).toEqual(['sat_cfdi_issued 2026-04', 'sat_cfdi_issued 2026-05', 'sat_miinformacion null'])
    }
    expect(await (await ledgerOf(rfc)).prepare('select count(*) as n from outbox').first('n')).toBe(0)
  })

  it('is told also when its worker dies before it hands its jobs over, or the relay before it strikes them off', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'empty1')
    await one.run()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const handing = breakingAt(/delete from sync_work/)
    await deliver([await callOf(rfc)])
    expect(handing.happened()).toBe(true)
    expect(await one.sync()).toMatchObject({ status: 'idle', jobs: { succeeded: 3 } })
    vi.restoreAllMocks()
    queue = losingMessages()
    later(60)
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await work(rfc)
    const striking = breakingAt(/delete from outbox/)
    await relay(rfc).catch(() => {})
    expect(striking.happened()).toBe(true)
    await relay(rfc)
    expect(await notified(one, 'sync.completed')).toHaveLength(3)
  })

  it('calls the relay at once when the job changed something, and else once for all jobs of the lease', async () => {
    const calls = vi.spyOn(Object.getPrototypeOf(env.WEBHOOKS) as Queue, 'sendBatch')
    const relays = () => calls.mock.calls.splice(0).filter(([batch]) => [...batch].some(({ body }) => 'outbox' in (body as object))).length
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    relays()
    await deliver([await callOf(rfc)])
    expect(relays()).toBe(3)
    later(700)
    await one.run()
    await deliver([await callOf(rfc)])
    expect(relays()).toBe(1)
  })
})
