import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../src/authority/adapters.ts'
import { AuthorityFailed } from '../../src/authority/port/authority.ts'
import { delivering } from '../authority/support/packages.ts'
import { restore } from '../support/clock.ts'
import { costOf } from '../support/meter.ts'
import { freshRfc } from '../support/tenants.ts'
import {
  callOf,
  deliver,
  expectDone,
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

const cfdiJobs = async (one: Awaited<ReturnType<typeof subscriber>>) => (await one.jobs()).filter(({ period }) => period !== null)

describe('a job that the authority is not done with', () => {
  it('waits without an attempt, is shown as waiting with the time of the next one, and is done after it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'slow300')
    await one.run()
    await work(rfc)
    expect(await one.sync()).toMatchObject({ state: 'waiting', status: 'running', jobs: { queued: 0, waiting: 2, running: 0, failed: 0 } })
    for (const job of await cfdiJobs(one))
      expect(job).toMatchObject({
        ...{ status: 'waiting', attempts: 0, error_class: null, started_at: null },
        next_attempt_at: new Date(Date.now() + 300_000).toISOString(),
      })
    // The sweep has nothing to do before.
    queue.announced()
    later(200)
    await sweep()
    expect(queue.announced()).toEqual([])
    later(301)
    await work(rfc)
    await expectDone(rfc)
    for (const { attempts, next_attempt_at } of await cfdiJobs(one))
      expect({ attempts, next_attempt_at }).toEqual({ attempts: 1, next_attempt_at: null })
  })

  it('leaves the lease, writes one row, and one message wakes the RFC for all its jobs', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'slow300')
    await one.run()
    const ledger = await ledgerOf(rfc)
    const call = await callOf(rfc)
    await work(rfc)
    queue.delays()
    // Somebody asks again.
    for (const sql of [
      'update sync_work set due_at = 0 where entity = ?',
      'update sync_jobs set not_before = 0 where open = 1 and entity = ?',
    ])
      await ledger.prepare(sql).bind(call.entity).run()
    // Taking and leaving the lease writes the row of the work twice.
    const { cost } = await costOf(ledger, env.FILES, () => deliver([call]))
    expect(cost.rows_written).toBe(2 + 2)
    expect(queue.delays()).toEqual([300])
    expect(await ledger.prepare('select token, lease_until from sync_work where entity = ?').bind(call.entity).first()).toEqual({
      ...{ token: null, lease_until: null },
    })
  })

  it('is done earlier by nobody: who joins it is told of no wait from before, and waits then as if alone', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, ISSUED, 'slow300'), await subscriber(rfc, ISSUED, 'slow300')]
    await first.run()
    await work(rfc)
    later(60)
    await second.run()
    for (const { next_attempt_at } of await cfdiJobs(second)) expect(next_attempt_at).toBeNull()
    await work(rfc)
    expect((await jobsOf(rfc)).filter(({ status }) => status === 'queued')).toHaveLength(2)
    for (const one of [first, second]) for (const { attempts } of await cfdiJobs(one)) expect(attempts).toBe(0)
    later(301)
    await work(rfc)
    await expectDone(rfc)
  })
})

describe('a job that the authority will not deliver', () => {
  const failingWith = (step: 'at once' | 'after its metadata') => {
    const real = adapters.authorityOf
    const failed = new AuthorityFailed('sat_unavailable', 'The test makes the authority give up.')
    vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
      ...(await real(system)),
      async step(request) {
        const usual = await (await real(system)).step(request)
        if (step === 'at once' || usual.state !== 'ready') throw failed
        const packages = async function* () {
          for await (const one of usual.packages) {
            if (one.kind === 'xml') throw failed
            yield one
          }
        }
        return delivering(request, packages())
      },
    }))
  }

  it('fails without another attempt', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    failingWith('at once')
    await one.run()
    await work(rfc)
    for (const job of await cfdiJobs(one)) expect(job).toMatchObject({ status: 'failed', attempts: 1, error_class: 'sat_unavailable' })
    expect((await one.page()).body.data).toEqual([])
  })

  it('keeps what was delivered before', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    failingWith('after its metadata')
    await one.run()
    await work(rfc)
    for (const job of await cfdiJobs(one)) expect(job).toMatchObject({ status: 'failed', error_class: 'sat_unavailable' })
    const { data } = (await one.page()).body
    expect(data.length).toBeGreaterThan(20)
    for (const { has_xml } of data) expect(has_xml).toBe(false)
  })
})
