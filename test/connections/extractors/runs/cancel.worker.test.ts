import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  breakingAt,
  callOf,
  cfdiOf,
  deliver,
  ISSUED,
  jobsOf,
  later,
  losingMessages,
  NOW,
  subscriber,
  work,
} from '../../../downloads/support/downloads.ts'
import { extractionEvents, relay, type Subscriber } from '../../../downloads/support/ends.ts'
import { restore } from '../../../support/clock.ts'
import { freshRfc } from '../../../support/tenants.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

const at = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1_000).toISOString()
const runOf = async (one: Subscriber, run_id: string) => (await one.ask('GET', `/v1/runs/${run_id}`)).body
const cancel = async (one: Subscriber, run_id: string) => (await one.ask('POST', `/v1/runs/${run_id}/cancel`)).body
const RANGE = { data_source_keys: ['sat_cfdi_issued'], from: '2026-02-10', to: '2026-03-31' }
const extract = (one: Subscriber) => one.ask('POST', `${one.path}/extractions`, RANGE)

describe('a run that is cancelled', () => {
  it('ends as cancelled when it was, if nothing of it is left, and stays so', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    const { run_id } = await one.run()
    expect(await runOf(one, run_id)).toMatchObject({ status: 'dispatched', outcome: null })
    later(60)
    const end = { status: 'cancelled', outcome: 'cancelled', error_class: null, completed_at: at(60), jobs: { total: 0 } }
    expect(await cancel(one, run_id)).toMatchObject({ withdrawn_jobs: 3, ...end })
    later(120)
    expect(await cancel(one, run_id)).toMatchObject({ withdrawn_jobs: 0, ...end })
    expect((await one.ask('GET', `/v1/extractors/${one.extractor_id}/runs`)).body.data).toMatchObject([{ run_id, status: 'cancelled' }])
    expect((await one.ask('GET', `${one.path}/runs`)).body.data).toMatchObject([{ run_id, ...end }])
  })

  it('ends as its downloads do when any are left, and stays as it is when it had ended before', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, ISSUED)]
    const { run_id } = await one.run()
    const { run_id: theirs } = await other.run()
    expect(await cancel(one, run_id)).toMatchObject({ status: 'cancelled', outcome: null, withdrawn_jobs: 2, completed_at: null })
    await work(rfc)
    expect(await runOf(one, run_id)).toMatchObject({ status: 'cancelled', outcome: 'succeeded', jobs: { succeeded: 3, total: 3 } })
    expect(await cancel(other, theirs)).toMatchObject({ status: 'dispatched', outcome: 'succeeded', withdrawn_jobs: 0 })
  })

  it('wants nothing any more for other organizations either: the last that cancels withdraws what they shared, and all are told', async () => {
    const rfc = freshRfc()
    const all = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED), await subscriber(rfc, cfdiOf(1))]
    const runs: string[] = []
    for (const one of all) runs.push((await one.run()).run_id)
    // Nothing is withdrawn while another organization wants it.
    expect((await cancel(all[1]!, runs[1]!)).withdrawn_jobs).toBe(0)
    expect((await cancel(all[2]!, runs[2]!)).withdrawn_jobs).toBe(2)
    expect(await jobsOf(rfc)).toHaveLength(3)
    later(60)
    expect(await cancel(all[0]!, runs[0]!)).toMatchObject({ withdrawn_jobs: 3, outcome: 'cancelled' })
    expect(await jobsOf(rfc)).toEqual([])
    await relay(rfc)
    await relay(rfc)
    for (const [n, one] of all.entries()) {
      expect(await runOf(one, runs[n]!)).toMatchObject({ outcome: 'cancelled', jobs: { total: 0 } })
      expect(await one.sync()).toMatchObject({ state: 'idle', jobs: { total: 0 } })
      expect(await extractionEvents(one)).toMatchObject([
        { event: 'extraction.completed', run_id: runs[n], succeeded_jobs: 0, data_source_keys: [] },
      ])
    }
  })

  it('is wanted again by a later run of an organization that cancelled an earlier one', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    const { run_id } = await one.run()
    const { run_id: theirs } = await other.run()
    await cancel(other, theirs)
    later(700)
    const { run_id: again } = await other.run()
    expect((await cancel(one, run_id)).withdrawn_jobs).toBe(0)
    await work(rfc)
    expect(await runOf(other, again)).toMatchObject({ outcome: 'succeeded', jobs: { succeeded: 3 } })
  })
})

describe('the cooldown of a range', () => {
  it('is lifted when its run is withdrawn whole before anything began, and only that of this run', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const first = (await extract(one)).body
    expect((await extract(one)).status).toBe(429)
    expect(await cancel(one, first.run_id)).toMatchObject({ outcome: 'cancelled', withdrawn_jobs: 2 })
    const second = await extract(one)
    expect(second.status).toBe(202)
    // The cooldown that runs now is of the second run.
    await cancel(one, first.run_id)
    expect((await extract(one)).status).toBe(429)
    later(700)
    const third = await extract(one)
    expect(third).toMatchObject({ status: 202, body: { jobs: { total: 2 } } })
    await cancel(one, second.body.run_id)
    await cancel(one, third.body.run_id)
    expect((await extract(one)).status).toBe(202)
  })

  it('stays when a download had been tried, was shared with another organization, or had ended', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    const tried = (await extract(one)).body
    await deliver([await callOf(rfc)])
    expect((await jobsOf(rfc)).map(({ attempts }) => attempts)).toContain(1)
    expect(await cancel(one, tried.run_id)).toMatchObject({ outcome: 'cancelled', withdrawn_jobs: 2 })
    expect((await extract(one)).status).toBe(429)

    const shared = freshRfc()
    const [mine, other] = [await subscriber(shared, ISSUED), await subscriber(shared, ISSUED)]
    await extract(other)
    expect((await cancel(mine, (await extract(mine)).body.run_id)).withdrawn_jobs).toBe(0)
    expect((await extract(mine)).status).toBe(429)
    await work(shared)
    expect((await extract(mine)).status).toBe(429)
  })

  it('stays when the request crashed and is repeated, because nobody knows any more what had begun', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const { run_id } = (await extract(one)).body
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const crash = breakingAt(/delete from sync_jobs/)
    expect((await one.ask('POST', `/v1/runs/${run_id}/cancel`)).status).toBe(500)
    expect(crash.happened()).toBe(true)
    expect(await cancel(one, run_id)).toMatchObject({ outcome: 'cancelled', withdrawn_jobs: 2 })
    expect((await extract(one)).status).toBe(429)
  })
})
