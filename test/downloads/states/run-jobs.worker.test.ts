import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunJob } from '../../../src/connections/extractors/runs/contract.ts'
import type { SyncJob } from '../../../src/downloads/contract.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { basic, request } from '../../support/client.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc, organization } from '../../support/tenants.ts'
import { callOf, cfdiOf, later, ledgerOf, losingMessages, subscriber, work } from '../support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>

const jobsOf = async (one: Subscriber, run_id: string, query = 'limit=100'): Promise<RunJob[]> =>
  (await pagesOf<RunJob>(one, `/v1/runs/${run_id}/jobs?${query}`)).items

/** The RFC's own list says the same of a job that no other run of the organization asked for. */
async function ownJobs(one: Subscriber, fiscal_entity_id: string): Promise<RunJob[]> {
  const { body } = await one.ask('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync-jobs?limit=100`)
  return (body.data as SyncJob[]).map(({ created_count, updated_count, cancelled_count, rejected_count, rejected_files, ...state }) => ({
    fiscal_entity_id,
    ...state,
  }))
}

const keyOf = ({ fiscal_entity_id, data_source_key }: RunJob) => `${fiscal_entity_id} ${data_source_key}`
/** By RFC and source, the latest month first. */
const inOrder = (jobs: readonly RunJob[]): RunJob[] =>
  jobs.toSorted((a, b) => {
    if (keyOf(a) !== keyOf(b)) return keyOf(a) < keyOf(b) ? -1 : 1
    return (b.period ?? '') < (a.period ?? '') ? -1 : 1
  })

async function fail(one: Subscriber, { job_id, fiscal_entity_id }: RunJob): Promise<void> {
  const reply = await request('POST', `/v1/test-helpers/sync-jobs/${job_id}/fail`, {
    headers: { authorization: basic(one.owner), 'content-type': 'application/json' },
    body: JSON.stringify({ fiscal_entity_id, error_class: 'rate_limited' }),
  })
  expect(reply.status).toBe(200)
}

const STATUSES = ['queued', 'running', 'waiting', 'succeeded', 'failed'] as const

describe('the downloads of a run', () => {
  it('are those that its counts count, of all its RFCs, each once and as the RFC’s own list says it', async () => {
    const rfcs = [freshRfc(), freshRfc(), freshRfc(), freshRfc()]
    const one = await subscriber(rfcs[0]!, cfdiOf(2))
    const ids = [one.fiscal_entity_id]
    for (const rfc of rfcs.slice(1)) {
      const { body } = await one.ask('POST', '/v1/fiscal-entities', { rfc, ciec: rfc === rfcs[3] ? 'unavailable1' : 'secreta1' })
      ids.push(body.fiscal_entity_id)
    }
    const { run_id } = await one.run()
    const agree = async () => {
      const own = (await Promise.all(ids.map((id) => ownJobs(one, id)))).flat()
      const listed = await jobsOf(one, run_id)
      expect(listed).toEqual(inOrder(own))
      expect(await jobsOf(one, run_id, 'limit=4')).toEqual(listed)
      const { jobs } = (await one.ask('GET', `/v1/runs/${run_id}`)).body
      for (const status of STATUSES) {
        const some = listed.filter((job) => job.status === status)
        expect([status, some.length]).toEqual([status, jobs[status]])
        expect(await jobsOf(one, run_id, `limit=3&status=${status}`)).toEqual(some)
      }
      return jobs
    }
    const { total } = await agree()
    expect(total).toBeGreaterThan(20)
    await work(rfcs[0]!)
    await work(rfcs[3]!)
    await fail(one, (await jobsOf(one, run_id)).find((job) => job.fiscal_entity_id === ids[1])!)
    const jobs = await agree()
    for (const status of ['queued', 'waiting', 'succeeded', 'failed']) expect([status, jobs[status] > 0]).toEqual([status, true])
    const [failed] = await jobsOf(one, run_id, 'status=failed')
    expect(failed).toMatchObject({ fiscal_entity_id: ids[1], error_class: 'rate_limited' })
    // One waits for a connection that is active.
    await one.ask('PATCH', `/v1/billing/rfcs/${ids[2]}`, { active: false })
    expect((await agree()).queued).toBeLessThan(jobs.queued)
    for (const job of await jobsOf(one, run_id))
      if (job.fiscal_entity_id === ids[2]) expect(job).toMatchObject({ status: 'waiting', attempts: 0, error_class: 'invalid_credentials' })
  })

  it('tell nothing from before the run that asked for them', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1), 'unavailable1')
    const first = await one.run()
    await work(rfc)
    later(700)
    await work(rfc)
    const second = await one.run()
    const now = new Date(Date.now()).toISOString()
    const before = await jobsOf(one, first.run_id)
    const after = await jobsOf(one, second.run_id)
    expect(after.map(({ job_id }) => job_id)).toEqual(before.map(({ job_id }) => job_id))
    for (const job of before) expect(job).toMatchObject({ attempts: 2, error_class: 'sat_unavailable' })
    for (const job of after) expect(job).toMatchObject({ attempts: 0, error_class: null, started_at: null, created_at: now })
  })

  it('that are forgotten have succeeded, as the counts say', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const { run_id } = await one.run()
    await work(rfc)
    const before = await jobsOf(one, run_id)
    const { entity } = await callOf(rfc)
    await (await ledgerOf(rfc)).prepare('delete from sync_jobs where entity = ? and source = ?').bind(entity, 'sat_cfdi_issued').run()
    const after = await jobsOf(one, run_id)
    expect(after).toEqual(
      before.map((job) => (job.data_source_key === 'sat_cfdi_issued' ? { ...job, attempts: 0, started_at: null, finished_at: null } : job)),
    )
    expect(await jobsOf(one, run_id, 'status=succeeded&limit=2')).toEqual(after)
  })

  it('are nobody else’s, and a cursor is of its run', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const { run_id } = await one.run()
    later(700)
    const { run_id: other } = await one.run()
    expect((await (await organization()).ask('GET', `/v1/runs/${run_id}/jobs`)).body.code).toBe('run.not_found')
    const { next_cursor } = (await one.ask('GET', `/v1/runs/${run_id}/jobs?limit=2`)).body
    expect((await one.ask('GET', `/v1/runs/${run_id}/jobs?limit=2&cursor=${next_cursor}`)).status).toBe(200)
    expect((await one.ask('GET', `/v1/runs/${other}/jobs?limit=2&cursor=${next_cursor}`)).body.code).toBe('cursor.invalid')
    expect((await one.ask('GET', `/v1/runs/${run_id}/jobs?status=lost`)).status).toBe(422)
  })
})
