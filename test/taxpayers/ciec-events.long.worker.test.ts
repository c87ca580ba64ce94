import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { beforeBatch, drainNow } from '../authority/support/authority.ts'
import { connected, factsOf, fetching, jobsOf, runNow, statusOf } from '../platform/outbox/support/outbox-events.ts'
import { at } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { audited, type Organization } from '../support/tenants.ts'
import { refusedNow } from './support/ciec.ts'

const INVALID = 'connection.ciec_invalid'

beforeEach(() => {
  at('2026-03-15T18:00:00Z')
  silenceQueues()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const wait = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000)
const sweep = () => worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), env)
const audits = async (of: Organization) => (await audited(of, 'fiscal_entity.ciec_invalid')).length

/** The jobs that name an organization. */
const jobsFor = async ({ id }: Organization, entity: number) =>
  (await jobsOf(entity)).filter(({ organizations }) => String(organizations).includes(id))

/** Two organizations with the same RFC, and a CIEC that the authority refuses from now on. */
async function refused(data_source_keys = ['sat_csf', 'sat_opinion_32d', 'sat_certificates']) {
  const [one, two] = [await fetching(data_source_keys), await fetching(data_source_keys)]
  const first = await connected(one)
  const { entity, rfc } = first
  wait(1)
  const second = await connected(two, rfc)
  const idOf = (of: Organization): string => (of === one ? first : second).fiscal_entity_id
  const expire = async (of: Organization) => {
    expect((await of.ask('POST', `/v1/test-helpers/fiscal-entities/${idOf(of)}/expire-ciec`)).status).toBe(200)
  }
  const renew = async (of: Organization, ciec: string) => {
    wait(1)
    expect((await of.ask('PATCH', `/v1/fiscal-entities/${idOf(of)}`, { ciec })).status).toBe(200)
  }
  await expire(two)
  const states = async () => [await statusOf(one, idOf(one)), await statusOf(two, idOf(two))]
  const notified = async () => (await factsOf(entity, INVALID)).map(({ organizations }) => organizations![0])
  return { one, two, entity, rfc, expire, renew, states, notified }
}

describe('a refused CIEC', () => {
  it('is told to each organization once, however many jobs meet it and however often', async () => {
    const { one, two, entity, states, notified } = await refused()
    for (let again = 0; again < 4; again++) {
      await Promise.all([drainNow(entity), drainNow(entity)])
      await sweep()
      wait(3_600)
    }
    expect(await states()).toEqual(['invalid_ciec', 'invalid_ciec'])
    expect((await notified()).sort()).toEqual([one.id, two.id].sort())
    expect([await audits(one), await audits(two)]).toEqual([1, 1])
    expect(await jobsOf(entity)).toMatchObject(
      Array(4).fill({ status: 'queued', error_class: 'invalid_credentials', attempts: expect.any(Number) }),
    )
    expect((await jobsOf(entity)).reduce((sum, { attempts }) => sum + attempts, 0)).toBe(0)
    expect(await factsOf(entity, 'sync.')).toEqual([])
    const [fact] = await factsOf(entity, INVALID)
    expect(fact!.body).toEqual({ rejected_at: '2026-03-15T18:00:01.000Z', invalid_reason: 'rejected' })
  })

  it('makes way for a new one, which resumes what waited; the next refusal is another', async () => {
    const { one, two, entity, expire, renew, states, notified } = await refused()
    await drainNow(entity)
    await renew(one, 'nueva123')
    await drainNow(entity)
    // The jobs of the other one are new.
    await drainNow(entity)
    expect(await jobsFor(one, entity)).toMatchObject(Array(4).fill({ status: 'succeeded', error_class: null, attempts: 1 }))
    expect(await jobsFor(two, entity)).toMatchObject(Array(4).fill({ status: 'queued', error_class: 'invalid_credentials', attempts: 0 }))
    expect(await states()).toEqual(['active', 'invalid_ciec'])
    expect(await notified()).toHaveLength(2)
    await expire(one)
    wait(11 * 60)
    await runNow(one)
    await drainNow(entity)
    expect(await states()).toEqual(['invalid_ciec', 'invalid_ciec'])
    expect((await notified()).sort()).toEqual([one.id, one.id, two.id].sort())
    expect([await audits(one), await audits(two)]).toEqual([2, 1])
  })

  it('found by several workers at once is one invalidation', async () => {
    const { one, two, rfc, states, notified } = await refused()
    await Promise.all(Array.from({ length: 5 }, () => refusedNow(rfc, 'secreta1')))
    expect(await states()).toEqual(['invalid_ciec', 'invalid_ciec'])
    expect((await notified()).sort()).toEqual([one.id, two.id].sort())
    expect([await audits(one), await audits(two)]).toEqual([1, 1])
  })

  it('says nothing of an organization whose new CIEC was accepted just then', async () => {
    const { one, two, entity, renew, states, notified } = await refused()
    beforeBatch('outbox', () => renew(one, 'nueva123'))
    await drainNow(entity)
    await drainNow(entity)
    expect([await audits(one), (await states())[0]]).toEqual([0, 'active'])
    expect(await notified()).not.toContain(one.id)
    expect(await jobsFor(one, entity)).toMatchObject(Array(4).fill({ status: 'succeeded' }))
    expect((await notified()).length).toBe(await audits(two))
  })

  it('leaves no job waiting when a new one is accepted just before the jobs are put to wait', async () => {
    const { one, entity, renew } = await refused()
    beforeBatch('"attempts" = 0, "started_at" = null', () => renew(one, 'nueva123'))
    await drainNow(entity)
    await drainNow(entity)
    expect(await jobsFor(one, entity)).toMatchObject(Array(4).fill({ status: 'succeeded' }))
  })

  it('whose successor was accepted, with a crash before anything was resumed, has the next run resume it', async () => {
    const { one, entity, renew } = await refused()
    await drainNow(entity)
    beforeBatch(`"status" = 'queued' and "sync_jobs"."error_class" = 'invalid_credentials'`, () => Promise.reject(new Error('killed')))
    await renew(one, 'nueva123')
    await drainNow(entity)
    expect(await jobsOf(entity)).toMatchObject(Array(4).fill({ status: 'queued', error_class: 'invalid_credentials' }))
    await runNow(one)
    await drainNow(entity)
    expect(await jobsFor(one, entity)).toMatchObject(Array(4).fill({ status: 'succeeded' }))
  })

  it('that cannot be read any more keeps nobody busy', async () => {
    const { one, entity, rfc } = await refused()
    const other = await fetching(['sat_csf'])
    wait(1)
    await connected(other, rfc, 'otra1234')
    await env.DB.prepare("update connections set ciec = '99:AAAA' where organization_id = ?").bind(other.id).run()
    await drainNow(entity)
    expect(await audits(one)).toBe(1)
    expect(await audits(other)).toBe(0)
    expect((await jobsOf(entity)).every(({ attempts }) => attempts <= 1)).toBe(true)
  })
})
