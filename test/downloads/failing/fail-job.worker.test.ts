import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { basic, request } from '../../support/client.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { breakingAt, callOf, ISSUED, later, losingMessages, subscriber, work } from '../support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any
type Subscriber = Awaited<ReturnType<typeof subscriber>>

const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)
const notified = async (one: Subscriber): Promise<Notified[]> =>
  (await pagesOf<Notified>(one, '/v1/events?limit=100')).items.filter(({ event }) => /^(sync\.failed|extraction\.)/.test(event))
const fail = (one: Subscriber, job_id: string, more: object = {}, key?: string) =>
  request('POST', `/v1/test-helpers/sync-jobs/${job_id}/fail`, {
    headers: { authorization: basic(one.owner), 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
    body: JSON.stringify({ fiscal_entity_id: one.fiscal_entity_id, ...more }),
  })

describe('the test helper that makes a download fail', () => {
  it('ends one job for all who asked for it, with the events of that, and leaves the others as they are', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, ISSUED, 'slow600'), await subscriber(rfc, ISSUED, 'slow600')]
    const { run_id } = await one.run()
    await other.run()
    await work(rfc)
    const jobs = await one.jobs()
    const issued = jobs.filter(({ data_source_key }) => data_source_key === 'sat_cfdi_issued')
    expect(issued.map(({ status }) => status)).toEqual(['waiting', 'waiting'])
    const { job_id, period } = issued[0]!
    expect(await fail(one, job_id, { error_class: 'rate_limited' })).toMatchObject({ status: 200, body: { status: 'accepted' } })
    expect((await one.jobs()).find((job) => job.job_id === job_id)).toMatchObject({ status: 'failed', error_class: 'rate_limited' })
    expect((await other.jobs()).filter(({ status }) => status === 'failed').map((job) => job.period)).toEqual([period])
    // The month is not complete, and the job is not run any more.
    later(700)
    await work(rfc)
    await relay(rfc)
    for (const each of [one, other]) {
      const events = (await notified(each)).sort((a, b) => (a.event > b.event ? -1 : 1))
      expect(events.map(({ event }) => event)).toEqual(['sync.failed', 'extraction.failed'])
      expect(events[0]).toMatchObject({ period, data_source_key: 'sat_cfdi_issued', error_class: 'rate_limited', will_retry: false })
      expect(events[1]).toMatchObject({ failed_jobs: 1, succeeded_jobs: 2, error_class: 'rate_limited' })
    }
    expect((await one.ask('GET', `/v1/runs/${run_id}`)).body).toMatchObject({ outcome: 'partly_failed', jobs: { failed: 1, succeeded: 2 } })
    const coverage = (await one.ask('GET', `${one.path}/coverage`)).body
    expect(JSON.stringify(coverage)).toContain('rate_limited')
    // The next run asks for the month again.
    later(1_400)
    await one.run()
    expect((await one.jobs()).filter(({ status }) => status === 'queued').map((job) => job.period)).toContain(period)
  })

  it('says what it does not know, what has ended, and what others keep', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await one.run()
    const [job] = await one.jobs()
    // Another organization knows the job by no identifier before it asks for it.
    expect(await fail(other, job!.job_id)).toMatchObject({ status: 404, body: { code: 'sync_job.not_found' } })
    expect(await fail(one, job!.job_id, { fiscal_entity_id: other.fiscal_entity_id })).toMatchObject({ status: 404 })
    expect(await fail(one, job!.job_id, { error_class: 'tired' })).toMatchObject({ status: 422 })
    await work(rfc)
    expect(await fail(one, job!.job_id)).toMatchObject({ status: 409, body: { code: 'sync_job.ended' } })
  })

  it('goes on under its Idempotency-Key where it was killed', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'slow600')
    await one.run()
    await work(rfc)
    const { job_id } = (await one.jobs()).find(({ data_source_key }) => data_source_key === 'sat_cfdi_issued')!
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const like of [/^update sync_jobs set error_class/, /^insert into outbox/]) {
      const broken = breakingAt(like)
      expect((await fail(one, job_id, {}, 'once')).status).toBe(500)
      expect(broken.happened()).toBe(true)
      vi.restoreAllMocks()
      losingMessages()
      vi.spyOn(console, 'error').mockImplementation(() => {})
      later(60)
    }
    expect((await fail(one, job_id, {}, 'once')).status).toBe(200)
    expect((await fail(one, job_id, {}, 'once')).status).toBe(200)
    later(700)
    await work(rfc)
    await relay(rfc)
    expect((await notified(one)).map(({ event }) => event).sort()).toEqual(['extraction.failed', 'sync.failed'])
  })
})
