import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { created } from '../connections/extractors/support/extractors.ts'
import { restore } from '../support/clock.ts'
import { audited, freshRfc } from '../support/tenants.ts'
import {
  before,
  bookOf,
  breakingAt,
  callOf,
  deliver,
  expectDone,
  ISSUED,
  issuedBy,
  jobsOf,
  later,
  leasedOf,
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

describe('an authority that fails', () => {
  it('is asked again after waits that double, and given up after twelve attempts, until the next run', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    await one.run()
    let clock = 0
    const waits = [5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900]
    for (const [n, wait] of waits.entries()) {
      await work(rfc)
      // Asked at once again nothing happens: a wait is a wait.
      await work(rfc)
      const jobs = await one.jobs()
      expect(jobs).toHaveLength(3)
      const next_attempt_at = new Date(Date.parse('2026-05-20T09:00:00Z') + (clock + wait) * 1_000).toISOString()
      for (const job of jobs)
        expect(job).toMatchObject({ status: 'waiting', attempts: n + 1, error_class: 'sat_unavailable', next_attempt_at })
      expect(queue.delays()).toEqual([wait, wait, wait])
      clock += wait
      later(clock)
    }
    await work(rfc)
    for (const job of await one.jobs())
      expect(job).toMatchObject({ status: 'failed', attempts: 12, error_class: 'sat_unavailable', next_attempt_at: null })
    expect(await one.sync()).toMatchObject({ status: 'idle', percent: 100, jobs: { failed: 3, total: 3 }, last_success_at: null })
    await one.give('secreta1')
    expect(await one.run()).toMatchObject({ dispatched: 1 })
    await work(rfc)
    expect(await one.sync()).toMatchObject({ status: 'idle', jobs: { failed: 0, succeeded: 3, total: 3 } })
    expect((await leasedOf(rfc)).length).toBeGreaterThanOrEqual(issuedBy(rfc).length)
  })
})

describe('a CIEC that the authority rejects while downloading', () => {
  it('stops the downloads of everybody who holds it, and another one revives its own organization alone', async () => {
    const rfc = freshRfc()
    const [ana, beto, draft] = [
      await subscriber(rfc, ISSUED, 'deAmbos1'),
      await subscriber(rfc, ISSUED, 'deAmbos1'),
      await subscriber(rfc, ISSUED, null),
    ]
    await ana.run()
    await work(rfc)
    later(660)
    await ana.run()
    await beto.ask('POST', `/v1/test-helpers/fiscal-entities/${beto.fiscal_entity_id}/expire-ciec`)
    await work(rfc)
    await work(rfc)
    const states = async () => Promise.all([ana, beto, draft].map(async (one) => (await one.entity()).status))
    expect(await states()).toEqual(['invalid_ciec', 'invalid_ciec', 'draft'])
    for (const one of [ana, beto]) {
      expect(await audited(one, 'fiscal_entity.ciec_invalid')).toHaveLength(1)
      expect((await one.page()).status).toBe(404)
    }
    expect(await audited(draft, 'fiscal_entity.ciec_invalid')).toHaveLength(0)
    for (const job of await ana.jobs('&status=waiting'))
      expect(job).toMatchObject({ error_class: 'invalid_credentials', next_attempt_at: null })
    expect(await ana.sync()).toMatchObject({ state: 'blocked', status: 'running', jobs: { waiting: 3 } })
    later(3_000)
    queue.announced()
    await sweep()
    expect(queue.announced()).not.toContainEqual(await callOf(rfc))
    const before = await jobsOf(rfc)
    await work(rfc)
    expect(await jobsOf(rfc)).toEqual(before)

    expect((await beto.give('deAmbos1')).status).toBe(422)
    expect((await ana.give('deAna2')).body.status).toBe('active')
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await work(rfc)
    await expectDone(rfc)
    expect(await states()).toEqual(['active', 'invalid_ciec', 'draft'])
    expect([(await ana.page()).status, (await beto.page()).status]).toEqual([200, 404])
    expect((await beto.give('deBeto2')).body.status).toBe('active')
    expect((await beto.entity()).visible_to).not.toBeNull()
  })

  it('ends its own connection alone when another CIEC was accepted after it', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, ISSUED, 'deAna1'), await subscriber(rfc, ISSUED, 'deBeto1')]
    await ana.run()
    await beto.ask('POST', `/v1/test-helpers/fiscal-entities/${beto.fiscal_entity_id}/expire-ciec`)
    later(5)
    await ana.give('deAna2')
    await work(rfc)
    await expectDone(rfc)
    expect([(await ana.entity()).status, (await beto.entity()).status]).toEqual(['active', 'invalid_ciec'])
  })
})

describe('jobs that nobody can log in for', () => {
  it('go on also when a CIEC is given in the moment in which they are laid aside', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    await one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`)
    const given = before(/'invalid_credentials',\s+not_before/, () => one.give('secreta2'))
    await deliver([await callOf(rfc)])
    expect(given()).toBe(true)
    await work(rfc)
    await expectDone(rfc)
  })
})

describe('the sweep', () => {
  it('announces jobs whose message is lost, once they have waited a minute', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    queue.announced()
    later(59)
    await sweep()
    expect(queue.announced()).not.toContainEqual(await callOf(rfc))
    later(61)
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await work(rfc)
    await expectDone(rfc)
    later(7_200)
    await sweep()
    expect(queue.announced()).not.toContainEqual(await callOf(rfc))
  })

  it('announces a job whose worker died, and the dead worker’s word no longer counts', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    // The first worker gets stuck with its bytes on the way to the bucket.
    const proto = Object.getPrototypeOf(env.FILES) as R2Bucket
    const put = proto.put
    const { promise: stuck, resolve: release } = Promise.withResolvers<void>()
    const puts = vi.spyOn(proto, 'put').mockImplementationOnce(async function (this: R2Bucket, ...given: Parameters<R2Bucket['put']>) {
      await stuck
      return put.apply(this, given) as never
    } as never)
    const dead = deliver([await callOf(rfc)])
    await vi.waitUntil(() => puts.mock.calls.length > 0)
    // The lease is on all jobs that were due, and no attempt of them is counted yet.
    expect((await one.sync()).jobs).toMatchObject({ queued: 0, running: 3 })
    expect((await jobsOf(rfc)).map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(Array(3).fill('queued 0'))
    for (const job of await one.jobs('&status=running'))
      expect(job).toMatchObject({ attempts: 1, started_at: expect.stringMatching(/^2026-05-20T09:00:00/) })
    queue.announced()
    later(20)
    await sweep()
    expect(queue.announced()).not.toContainEqual(await callOf(rfc))
    later(100)
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await work(rfc)
    await expectDone(rfc)
    const [book, jobs] = [await bookOf(rfc), await jobsOf(rfc)]
    release()
    await dead
    expect(await bookOf(rfc)).toEqual(book)
    expect(await jobsOf(rfc)).toEqual(jobs)
  })

  it.each([
    ['before its jobs', /insert into sync_jobs/],
    ['between its jobs and the window', /issued_from = min/],
    ['after the window, before its word on how it went', /update runs set/],
  ])('finishes a run that ended %s', async (_, where) => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, null)
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { trigger_kind: 'connection_created' })
    const breaking = breakingAt(where)
    // The plan is committed with the connection: the customer is told that it is active, and it is.
    expect((await one.give('secreta1')).body.status).toBe('active')
    expect(breaking.happened()).toBe(true)
    later(29)
    await sweep()
    later(31)
    await sweep()
    const run = await env.DB.prepare('select status, connections, dispatched from runs where organization_id = ?').bind(one.id).all()
    expect(run.results).toEqual([{ status: 'dispatched', connections: 1, dispatched: 1 }])
    // It is the run of its own instant, however late.
    expect(await one.entity()).toMatchObject({ visible_from: '2026-04-20', visible_to: '2026-05-20T09:00:00.000Z' })
    expect(await jobsOf(rfc)).toHaveLength(3)
    await work(rfc)
    await expectDone(rfc)
    later(7_200)
    await sweep()
    expect(await jobsOf(rfc)).toHaveLength(3)
  })
})

describe('an extractor', () => {
  it('that was deleted before its planned run was carried out downloads nothing, and the run ends', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, null)
    const { extractor_id } = await created(one, { ...ISSUED, name: 'Dos' })
    breakingAt(/insert into sync_jobs/)
    await one.give('secreta1')
    await one.ask('DELETE', `/v1/extractors/${extractor_id}`)
    later(31)
    await sweep()
    expect(await jobsOf(rfc)).toEqual([])
    const run = await env.DB.prepare('select status from runs where organization_id = ?').bind(one.id).first()
    expect(run).toEqual({ status: 'no_connections' })
  })
})
