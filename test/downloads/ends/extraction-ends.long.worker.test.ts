import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { breakingAt, callOf, cfdiOf, ISSUED, jobsOf, later, losingMessages, NOW, subscriber, work } from '../support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any
type Subscriber = Awaited<ReturnType<typeof subscriber>>

const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)
const ended = async (one: Subscriber): Promise<Notified[]> =>
  (await pagesOf<Notified>(one, '/v1/events?limit=100')).items.filter(({ event }) => event.startsWith('extraction.'))
const readable = async (one: Subscriber): Promise<number> =>
  (await pagesOf<Notified>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items.length
const runOf = async (one: Subscriber, run_id: string) => (await one.ask('GET', `/v1/runs/${run_id}`)).body

describe('the end of an extraction', () => {
  it('is told once for each RFC and run, with what became readable, and the run says the same', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const { run_id } = await one.run()
    expect(await runOf(one, run_id)).toMatchObject({
      status: 'dispatched',
      outcome: null,
      jobs: { queued: 5, total: 5 },
      completed_at: null,
    })
    await work(rfc)
    await relay(rfc)
    await relay(rfc)
    const [first, ...more] = await ended(one)
    expect(more).toEqual([])
    expect(first).toMatchObject({
      ...{ event: 'extraction.completed', run_id, rfc, succeeded_jobs: 5, failed_jobs: 0, readable_count: await readable(one) },
      ...{ document_count: 1, updated_count: 0, cancelled_count: 0 },
      data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_miinformacion'],
    })
    expect(first.readable_count).toBeGreaterThan(20)
    expect(await runOf(one, run_id)).toMatchObject({
      outcome: 'succeeded',
      jobs: { succeeded: 5, total: 5 },
      completed_at: first.completed_at,
    })
    // A later run tells only of what came since.
    const before = await readable(one)
    later(3 * 86_400)
    const second = await one.run()
    await work(rfc)
    await relay(rfc)
    const events = await ended(one)
    expect(events.map((it) => it.run_id)).toEqual([run_id, second.run_id])
    expect(events[1].readable_count).toBe((await readable(one)) - before)
    const { body } = await one.ask('GET', `${one.path}/runs`)
    expect(body.data.map((it: Notified) => [it.run_id, it.outcome, it.jobs.total])).toEqual([
      [second.run_id, 'succeeded', 5],
      [run_id, 'succeeded', 5],
    ])
  })

  it('counts what a widened window newly shows, although another organization had downloaded it', async () => {
    const rfc = freshRfc()
    const [wide, narrow] = [await subscriber(rfc, cfdiOf(4)), await subscriber(rfc, cfdiOf(4))]
    await wide.run()
    await work(rfc)
    await relay(rfc)
    // It finds everything finished.
    await narrow.run()
    await relay(rfc)
    const [event, ...more] = await ended(narrow)
    expect(more).toEqual([])
    expect(event).toMatchObject({ event: 'extraction.completed', readable_count: await readable(narrow) })
    expect(event.readable_count).toBe((await ended(wide))[0].readable_count)
    expect(event.readable_count).toBeGreaterThan(50)
  })

  it('counts what a range newly shows of the months after it, which it did not ask for, and nothing twice', async () => {
    const rfc = freshRfc()
    const [wide, one] = [await subscriber(rfc, cfdiOf(8)), await subscriber(rfc, cfdiOf(1))]
    await wide.run()
    await work(rfc)
    await one.run()
    await relay(rfc)
    const before = await readable(one)
    later(900)
    const data_source_keys = ['sat_cfdi_issued', 'sat_cfdi_received']
    const { body } = await one.ask('POST', `${one.path}/extractions`, { data_source_keys, from: '2025-11-10', to: '2025-12-31' })
    await work(rfc)
    await relay(rfc)
    const [notified] = (await ended(one)).filter(({ run_id }) => run_id === body.run_id)
    expect(notified).toMatchObject({ readable_count: (await readable(one)) - before, succeeded_jobs: 4 })
    const items = (await pagesOf<Notified>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items
    expect(notified.readable_count).toBeGreaterThan(items.filter(({ fecha }) => fecha < '2026-01').length + 10)
  })

  it('counts what one download brought for the first of the runs that waited for it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const runs = [await one.run()]
    for (const seconds of [700, 1_400]) {
      later(seconds)
      runs.push(await one.run())
    }
    await work(rfc)
    await relay(rfc)
    const notified = (await ended(one)).toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1))
    expect(notified.map(({ run_id, readable_count, document_count }) => [run_id, readable_count, document_count])).toEqual([
      [runs[0]!.run_id, await readable(one), 1],
      [runs[1]!.run_id, 0, 0],
      [runs[2]!.run_id, 0, 0],
    ])
  })

  it('is told as failed with the reason when a job failed', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    const { run_id } = await one.run()
    for (let n = 0; n < 12; n++) {
      later(n * 1_000)
      await work(rfc)
      await relay(rfc)
    }
    expect(await ended(one)).toMatchObject([
      { event: 'extraction.failed', run_id, failed_jobs: 3, succeeded_jobs: 0, error_class: 'sat_unavailable', readable_count: 0 },
    ])
    expect(await runOf(one, run_id)).toMatchObject({ outcome: 'failed', error_class: 'sat_unavailable', jobs: { failed: 3 } })
  })

  it('is told once by whatever commit a crash prevents', async () => {
    for (const like of [/insert into outbox/, /delete from outbox/, /delete from sync_work/]) {
      const rfc = freshRfc()
      const one = await subscriber(rfc, cfdiOf(1))
      await one.run()
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const crash = breakingAt(like)
      for (let n = 0; n < 3; n++) {
        later(n * 600)
        await work(rfc).catch(() => {})
        await relay(rfc).catch(() => {})
      }
      expect(crash.happened()).toBe(true)
      vi.restoreAllMocks()
      losingMessages()
      later(3_000)
      await work(rfc)
      await relay(rfc)
      expect(await ended(one)).toMatchObject([{ event: 'extraction.completed', readable_count: await readable(one) }])
      later(0)
    }
  })
})

describe('a range of one RFC', () => {
  it('is downloaded at once, widens the windows, moves no watermark, and has a cooldown of its own', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    await one.run()
    await work(rfc)
    const before = await one.sync()
    later(900)
    const body = { data_source_keys: ['sat_cfdi_issued'], from: '2025-11-10', to: '2025-12-31' }
    const { status, body: run } = await one.ask('POST', `${one.path}/extractions`, body)
    expect(status).toBe(202)
    expect(run).toMatchObject({ trigger: 'extraction', extractor_id: null, ...body, jobs: { queued: 2, total: 2 }, outcome: null })
    const again = await one.ask('POST', `${one.path}/extractions`, body)
    expect(again).toMatchObject({ status: 429, body: { code: 'extraction.cooldown', detail: { retry_after_seconds: 600 } } })
    await work(rfc)
    await relay(rfc)
    expect(await runOf(one, run.run_id)).toMatchObject({ outcome: 'succeeded', jobs: { succeeded: 2 } })
    const { windows } = await one.entity()
    expect([windows.sat_cfdi_issued.visible_from, windows.sat_cfdi_received.visible_from]).toEqual(['2025-11-10', '2026-04-20'])
    expect((await one.sync()).downloaded_to).toBe(before.downloaded_to)
    const notified = (await ended(one)).find(({ run_id }) => run_id === run.run_id)
    const months = (await pagesOf<Notified>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}&direction=issued`)).items
    // The first days of April were downloaded with the rest of it, below the floor.
    expect(notified.readable_count).toBe(months.filter(({ fecha }) => fecha < '2026-04-20').length)
    // The window shows the running month up to the range's run, which did not ask for it.
    const coverage = async (source: string): Promise<Notified[]> =>
      (await one.ask('GET', `${one.path}/coverage?source=${source}&limit=2`)).body.data
    const [current] = await coverage('sat_cfdi_issued')
    expect(current).toMatchObject({ status: 'partial', visible_to: windows.sat_cfdi_issued.visible_to })
    expect(current.last_success_at < current.visible_to).toBe(true)
    expect(await coverage('sat_cfdi_received')).toMatchObject([{ status: 'complete' }, { status: 'complete' }])
    later(1_800)
    await one.run()
    await work(rfc)
    expect(await coverage('sat_cfdi_issued')).toMatchObject([{ status: 'complete' }, { status: 'complete' }])
  })

  it('joins what others have asked for, and pauses this RFC for this organization alone, for ten minutes', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    const body = { data_source_keys: ['sat_cfdi_issued'], from: '2026-02-10', to: '2026-03-31' }
    const ask = (of: typeof one, path = of.path) => of.ask('POST', `${path}/extractions`, body)
    expect(await ask(one)).toMatchObject({ status: 202, body: { dispatched: 1, jobs: { queued: 2, total: 2 } } })
    const before = await jobsOf(rfc)
    // It is downloaded once: nothing is sent to the authority a second time.
    expect(await ask(other)).toMatchObject({ status: 202, body: { dispatched: 0, jobs: { queued: 2, total: 2 } } })
    expect((await jobsOf(rfc)).map(({ job_id, month }) => [job_id, month])).toEqual(before.map(({ job_id, month }) => [job_id, month]))
    const { fiscal_entity_id } = (await one.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'secreta1' })).body
    expect((await ask(one, `/v1/fiscal-entities/${fiscal_entity_id}`)).status).toBe(202)
    later(599)
    expect(await ask(one)).toMatchObject({ status: 429, body: { detail: { retry_after_seconds: 1 } } })
    later(600)
    expect((await ask(one)).status).toBe(202)
    await work(rfc)
    await relay(rfc)
    for (const of of [one, other]) {
      expect((await of.entity()).windows.sat_cfdi_issued.visible_from).toBe('2026-02-10')
      expect((await ended(of)).map(({ event }) => event)).toEqual(Array(of === one ? 2 : 1).fill('extraction.completed'))
    }
  })

  it('refuses days and sources that cannot be asked for, and a connection that is not active with what makes it so', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const post = (body: object) => one.ask('POST', `${one.path}/extractions`, body)
    const keys = { data_source_keys: ['sat_cfdi_issued'] }
    for (const [body, path] of [
      [{ ...keys, from: '2017-12-31' }, 'from'],
      [{ ...keys, from: '2026-05-01', to: '2026-06-01' }, 'to'],
      [{ ...keys, from: '2026-05-02', to: '2026-05-01' }, 'from'],
      [{ data_source_keys: ['sat_rug'], from: '2026-05-01' }, 'data_source_keys[0]'],
    ] as const)
      expect(await post(body)).toMatchObject({ status: 422, body: { errors: [{ path }] } })
    await one.ask('PATCH', one.path, { ciec: null })
    const refused = await post({ ...keys, from: '2026-05-01' })
    expect(refused).toMatchObject({ status: 404, body: { code: 'fiscal_entity.not_active' } })
  })

  it('can be cancelled: what has not begun and nobody else wants is withdrawn, and the rest is told', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, ISSUED)]
    const { run_id } = await one.run()
    const { run_id: theirs } = await other.run()
    const cancelled = await one.ask('POST', `/v1/runs/${run_id}/cancel`)
    // The other organization asked for the issued months, and for the mandatory source.
    expect(cancelled).toMatchObject({ status: 200, body: { withdrawn_jobs: 2, jobs: { queued: 3, total: 3 } } })
    expect((await one.ask('POST', `/v1/runs/${run_id}/cancel`)).body.withdrawn_jobs).toBe(0)
    expect((await other.ask('POST', `/v1/runs/${run_id}/cancel`)).status).toBe(404)
    await work(rfc)
    await relay(rfc)
    expect(await runOf(one, run_id)).toMatchObject({ outcome: 'succeeded', jobs: { succeeded: 3, total: 3 } })
    expect(await runOf(other, theirs)).toMatchObject({ outcome: 'succeeded', jobs: { succeeded: 3 } })
    expect((await ended(one)).map((it) => [it.event, it.succeeded_jobs])).toEqual([['extraction.completed', 3]])
    // A run that is withdrawn whole leaves nothing to do.
    later(700)
    const free = freshRfc()
    const alone = { ...(await subscriber(free, ISSUED)), rfc: free }
    const { run_id: whole } = await alone.run()
    expect((await alone.ask('POST', `/v1/runs/${whole}/cancel`)).body).toMatchObject({ withdrawn_jobs: 3, outcome: 'cancelled' })
    expect(await alone.sync()).toMatchObject({ state: 'idle', jobs: { total: 0 } })
    // Whoever waits for the end of the run is told of it, once.
    await relay(alone.rfc)
    await relay(alone.rfc)
    expect(await ended(alone)).toEqual([
      expect.objectContaining({
        ...{ event: 'extraction.completed', run_id: whole, data_source_keys: [], succeeded_jobs: 0, failed_jobs: 0 },
        ...{
          readable_count: 0,
          document_count: 0,
          updated_count: 0,
          cancelled_count: 0,
          completed_at: new Date(Date.parse(NOW) + 700_000).toISOString(),
        },
      }),
    ])
    // The next run asks for it again.
    later(1_400)
    await alone.run()
    expect(await alone.sync()).toMatchObject({ state: 'running', jobs: { queued: 3 } })
  })

  it('wants nothing any more when it is cancelled: what only such runs asked for is withdrawn with the last, and all of them end', async () => {
    const shared = freshRfc()
    const several = await subscriber(shared, ISSUED)
    const runs: string[] = []
    for (let n = 0; n < 3; n++) {
      later(700 * (n + 1))
      runs.push((await several.run()).run_id)
    }
    const withdrawn = async (n: number) => (await several.ask('POST', `/v1/runs/${runs[n]}/cancel`)).body.withdrawn_jobs
    expect([await withdrawn(0), await withdrawn(2), await withdrawn(0), await withdrawn(1)]).toEqual([0, 0, 0, 3])
    for (const run of runs) expect(await runOf(several, run)).toMatchObject({ outcome: 'cancelled', jobs: { total: 0 } })
    expect(await several.sync()).toMatchObject({ state: 'idle', jobs: { total: 0 } })
    await relay(shared)
    expect((await ended(several)).map((it) => it.run_id).sort()).toEqual([...runs].sort())
  })
})
