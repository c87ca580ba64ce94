import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../src/app/tasks.ts'
import * as logins from '../../src/authority/logins.ts'
import { Unavailable } from '../../src/platform/failures.ts'
import { beforeBatch } from '../authority/support/authority.ts'
import { runsOf } from '../connections/extractors/support/ticks.ts'
import { callOf, deliver, ISSUED, jobsOf, later, losingMessages, subscriber, sweep, work } from '../downloads/support/downloads.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { beforeCommit } from '../support/commits.ts'
import { audited, freshRfc, organization } from '../support/tenants.ts'
import { ciecsOf, secretOf, systemNow, watchLogins } from './support/ciec.ts'

let queue: ReturnType<typeof losingMessages>

beforeEach(() => {
  later(0)
  queue = losingMessages()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

type Subscriber = Awaited<ReturnType<typeof subscriber>>

const expire = async (one: Subscriber) =>
  expect((await one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`)).status).toBe(200)
const statusOf = async (one: Subscriber) => (await one.entity()).status
const audits = async (one: Subscriber) => (await audited(one, 'fiscal_entity.ciec_invalid')).length
const notified = async (rfc: string) =>
  (await factsOf((await callOf(rfc)).entity, 'connection.ciec_invalid')).map(({ organizations }) => organizations![0]).sort()
const pass = async (rfc: string) => deliver([await callOf(rfc)])
const row = async (one: Subscriber) =>
  (await env.DB.prepare('select * from connections where organization_id = ?').bind(one.id).first<Record<string, unknown>>())!

/** Ana and Beto hold the same CIEC, Carla another one, and all have read the RFC. */
async function three() {
  const rfc = freshRfc()
  const [ana, beto, carla] = [
    await subscriber(rfc, ISSUED, 'deAmbos1'),
    await subscriber(rfc, ISSUED, 'deAmbos1'),
    await subscriber(rfc, ISSUED, 'deCarla1'),
  ]
  for (const one of [ana, beto, carla]) await one.run()
  await work(rfc)
  later(3_600)
  return { rfc, ana, beto, carla }
}

describe('a CIEC that no run uses', () => {
  const DAY = 86_400
  const daily = async (rfc: string) => {
    await runTask(systemNow(), { task: 'verifyIdle', at: Date.now(), cursor: '' })
    await sweep()
    await pass(rfc)
  }
  /** Ana's extractor has downloaded the RFC. Beto has no extractors, and reads everything. */
  async function anaAndBeto() {
    const rfc = freshRfc()
    const ana = await subscriber(rfc, ISSUED, 'deAna1')
    await ana.run()
    await work(rfc)
    const of = await organization('enterprise_gold')
    const { body } = await of.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'deBeto1' })
    const path = `/v1/fiscal-entities/${body.fiscal_entity_id}`
    const beto = {
      ...of,
      page: async () => (await of.ask('GET', `/v1/cfdi?fiscal_entity_id=${body.fiscal_entity_id}`)).status,
      status: async () => (await of.ask('GET', path)).body.status,
    }
    await pass(rfc)
    expect((await of.ask('POST', `/v1/test-helpers${path.slice(3)}/expire-ciec`)).status).toBe(200)
    return { rfc, ana, beto }
  }

  it('is verified after seven days: the organization without extractors reads no longer with a dead one', async () => {
    const { rfc, ana, beto } = await anaAndBeto()
    const { asked } = watchLogins()
    later(7 * DAY - 1)
    await daily(rfc)
    expect([asked, await beto.page()]).toEqual([[], 200])
    later(7 * DAY)
    await daily(rfc)
    expect([await beto.status(), await beto.page(), await notified(rfc)]).toEqual(['invalid_ciec', 404, [beto.id]])
    // Ana's, too, was not used for so long. Hers is right.
    expect([new Set(ciecsOf(asked)), await statusOf(ana)]).toEqual([new Set(['deAna1', 'deBeto1']), 'active'])
  })

  it('is asked about once in seven days while it is accepted, and not at all while runs use it, which costs no row', async () => {
    const rfc = freshRfc()
    const ana = await subscriber(rfc, ISSUED, 'deAna1')
    const { asked } = watchLogins()
    const questions: number[] = []
    for (let day = 1; day <= 15; day++) {
      later(day * DAY)
      await daily(rfc)
      questions.push(asked.length)
    }
    expect(questions).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2])
    const before = await row(ana)
    for (let day = 16; day <= 32; day++) {
      later(day * DAY)
      await ana.run()
      await daily(rfc)
    }
    expect(asked.length).toBe(2)
    expect((await row(ana))['ciec_verified_at']).toBe(before['ciec_verified_at'])
  })
})

describe('when another CIEC is accepted for an RFC', () => {
  it('every other one is verified: the refused one ends its connections, and the accepted one goes on', async () => {
    const { rfc, ana, beto, carla } = await three()
    await expire(ana)
    queue.announced()
    expect((await ana.give('deAna2')).body.status).toBe('active')
    // What Beto and Carla could read stays readable until the authority has answered.
    expect([(await beto.page()).status, (await carla.page()).status]).toEqual([200, 200])
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    const { asked } = watchLogins()
    await pass(rfc)
    expect(await Promise.all([ana, beto, carla].map(statusOf))).toEqual(['active', 'invalid_ciec', 'active'])
    expect((await beto.entity()).invalid_reason).toBe('rejected')
    expect(await Promise.all([ana, beto, carla].map(audits))).toEqual([0, 1, 0])
    expect(await notified(rfc)).toEqual([beto.id])
    expect(new Set(ciecsOf(asked))).toEqual(new Set(['deAmbos1', 'deCarla1', 'deAna2']))
    expect((await beto.page()).status).toBe(404)
    await pass(rfc)
    expect([await notified(rfc), await audits(beto)]).toEqual([[beto.id], 1])
    const questions = asked.length
    await pass(rfc)
    expect(asked.length).toBe(questions)
  })

  it('an equal one of another organization stays verified, and the authority is not asked about it', async () => {
    const { rfc, ana, beto } = await three()
    const { asked } = watchLogins()
    await ana.give('deAmbos1')
    await pass(rfc)
    expect(ciecsOf(asked)).toEqual(['deAmbos1', 'deCarla1'])
    expect(await row(beto)).toMatchObject({ state: 'active', ciec_verify_at: null })
  })

  it('a connection that is not verified yet neither runs nor widens; what it could read stays readable, and the run is made up for', async () => {
    const { rfc, ana, beto } = await three()
    const before = await beto.entity()
    const visible = (await beto.page()).body.data.length
    vi.spyOn(console, 'error').mockImplementation(() => {})
    let hasUnrelayedChanges = true
    const { asked, used } = watchLogins((login) => (hasUnrelayedChanges && secretOf(login) === 'deAmbos1' ? 'unavailable' : undefined))
    await ana.give('deAna2')
    await pass(rfc)
    const jobs = (await jobsOf(rfc)).length
    later(7_200)
    expect(await beto.run()).toMatchObject({ status: 'no_connections', connections: 0, dispatched: 0 })
    const silent = ciecsOf(asked).filter((ciec) => ciec === 'deAmbos1').length
    expect(silent).toBe(2)
    expect(await beto.run()).toMatchObject({ status: 'no_connections', connections: 0, dispatched: 0 })
    expect(ciecsOf(asked).filter((ciec) => ciec === 'deAmbos1')).toHaveLength(silent)
    expect(await jobsOf(rfc)).toHaveLength(jobs)
    expect(await beto.entity()).toEqual(before)
    expect((await beto.page()).body.data).toHaveLength(visible)
    expect(used).toEqual([])

    hasUnrelayedChanges = false
    later(7_400)
    await sweep()
    await pass(rfc)
    await sweep()
    await work(rfc)
    expect((await beto.entity()).visible_to).toBe('2026-05-20T11:00:00.000Z')
    const [madeUp] = (await runsOf(beto, beto.extractor_id)).filter(({ fiscal_entity_id }) => fiscal_entity_id !== null)
    expect(madeUp).toMatchObject({ trigger: 'manual', status: 'dispatched', connections: 1, started_at: '2026-05-20T11:00:00.000Z' })
    expect(new Set(ciecsOf(used))).toEqual(new Set(['deAmbos1']))
  })

  it('the authority is asked again after waits that double, to one hour', async () => {
    const { rfc, ana } = await three()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { asked } = watchLogins((login) => (secretOf(login) === 'deAmbos1' ? 'unavailable' : undefined))
    const questions = () => ciecsOf(asked.splice(0)).filter((ciec) => ciec === 'deAmbos1').length
    await ana.give('deAna2')
    await pass(rfc)
    expect(questions()).toBe(1)
    let clock = 3_600
    for (const wait of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
      later(clock + wait - 1)
      await pass(rfc)
      expect([wait, questions()]).toEqual([wait, 0])
      clock += wait
      later(clock)
      await pass(rfc)
      await pass(rfc)
      expect([wait, questions()]).toEqual([wait, 1])
    }
  })

  it('a run verifies what is to be verified first, so that it does not wait for the consumer', async () => {
    const { rfc, ana, beto } = await three()
    await expire(beto)
    await ana.give('deAna2')
    // No consumer has passed: the run itself asks.
    expect(await beto.run()).toMatchObject({ status: 'no_connections', connections: 0 })
    expect([await statusOf(beto), await notified(rfc)]).toEqual(['invalid_ciec', [beto.id]])
  })

  it('a run covers the other RFCs before it asks', async () => {
    const { ana, beto } = await three()
    const other = freshRfc()
    expect((await beto.ask('POST', '/v1/fiscal-entities', { rfc: other, ciec: 'secreta1' })).status).toBe(201)
    await ana.give('deAna2')
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const asked: unknown[] = []
    const real = logins.loginsOf
    vi.spyOn(logins, 'loginsOf').mockImplementation((system) => ({
      ...real(system),
      async verify(login) {
        asked.push([secretOf(login), (await jobsOf(other)).length > 0])
        throw new Unavailable('sat_unavailable', 'The test makes the authority silent.')
      },
    }))
    expect(await beto.run()).toMatchObject({ status: 'dispatched', connections: 1, dispatched: 1 })
    expect(asked).toEqual([['deAmbos1', true]])
  })
})

describe('a window', () => {
  it('does not widen when the CIEC has to be verified again in the moment of the dispatch', async () => {
    const { ana, beto, rfc } = await three()
    const before = (await beto.entity()).visible_to
    later(7_200)
    const met = beforeCommit(() => ana.give('deAna2'))
    expect(await beto.run()).toMatchObject({ connections: 0 })
    expect([met(), (await beto.entity()).visible_to]).toEqual([1, before])
    await pass(rfc)
    later(7_300)
    await sweep()
    expect((await beto.entity()).visible_to).toBe('2026-05-20T11:00:00.000Z')
  })
})

describe('a job', () => {
  it('logs in with a CIEC of an organization that asked for it, never with another’s', async () => {
    const { rfc, ana, beto, carla } = await three()
    const { used } = watchLogins()
    await carla.run()
    await work(rfc)
    expect(new Set(ciecsOf(used))).toEqual(new Set(['deCarla1']))
    used.length = 0
    later(7_200)
    await beto.run()
    await env.DB.prepare("update connections set ciec = '9:AAAA' where organization_id = ?").bind(beto.id).run()
    await work(rfc)
    expect(used).toEqual([])
    expect((await beto.sync()).jobs.waiting).toBeGreaterThan(0)
    // Ana asks for the same months, so that they are downloaded with her CIEC.
    await ana.run()
    await work(rfc)
    expect(new Set(ciecsOf(used))).toEqual(new Set(['deAmbos1']))
    expect((await beto.sync()).jobs.waiting).toBe(0)
  })

  it('goes on with the CIEC of another organization that asked for it when the first is refused', async () => {
    const { rfc, ana, carla } = await three()
    await ana.run()
    await carla.run()
    await expire(carla)
    await pass(rfc)
    expect([await statusOf(carla), await statusOf(ana)]).toEqual(['invalid_ciec', 'active'])
    expect((await ana.sync()).status).toBe('idle')
    expect((await ana.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
    // The refused login is no attempt of Ana's.
    expect((await ana.jobs()).every(({ attempts }) => attempts === 1)).toBe(true)
  })

  it('that only an organization with an invalid CIEC asked for waits, while another’s go on', async () => {
    const { rfc, ana, carla } = await three()
    await carla.run()
    await expire(carla)
    await pass(rfc)
    later(7_200)
    const waiting = (await carla.jobs('&status=waiting')).length
    expect(waiting).toBeGreaterThan(0)
    await pass(rfc)
    expect((await carla.jobs('&status=waiting')).length).toBe(waiting)
    await ana.run()
    await work(rfc)
    expect((await ana.sync()).status).toBe('idle')
  })
})

describe('a crash', () => {
  it('before an accepted CIEC is committed leaves everything as it was', async () => {
    const { rfc, ana, beto } = await three()
    const before = [await row(ana), await row(beto)]
    beforeBatch('ciec_version', 'spoil')
    expect((await ana.give('deAna2')).status).toBe(500)
    expect([await row(ana), await row(beto)]).toEqual(before)
    expect((await ana.give('deAna2')).status).toBe(200)
    await pass(rfc)
    expect(await statusOf(beto)).toBe('active')
  })

  it('after the commit, with its message lost, has the sweep find the CIECs to verify', async () => {
    const { rfc, ana, beto } = await three()
    await expire(beto)
    await ana.give('deAna2')
    queue.announced()
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await pass(rfc)
    expect([await statusOf(beto), await notified(rfc)]).toEqual(['invalid_ciec', [beto.id]])
    queue.announced()
    await sweep()
    expect(queue.announced()).not.toContainEqual(await callOf(rfc))
  })

  it('between the refusal and its commit has it found again, and told once', async () => {
    const { rfc, ana, beto } = await three()
    await expire(beto)
    await ana.give('deAna2')
    beforeBatch('json_array(connection, state, has_other)', 'spoil')
    await pass(rfc)
    expect([await statusOf(beto), await notified(rfc), await audits(beto)]).toEqual(['active', [], 0])
    later(3_600 + 31)
    queue.announced()
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await pass(rfc)
    await pass(rfc)
    expect([await statusOf(beto), await notified(rfc), await audits(beto)]).toEqual(['invalid_ciec', [beto.id], 1])
  })

  it('between an acceptance and its commit leaves the CIEC unverified until it is asked again', async () => {
    const { rfc, ana, beto } = await three()
    await ana.give('deAna2')
    beforeBatch('ciec_verify_at = null, ciec_verify_attempts = 0', 'spoil')
    await pass(rfc)
    later(3_600 + 3_601)
    await pass(rfc)
    await pass(rfc)
    expect(await row(beto)).toMatchObject({ state: 'active', ciec_verify_at: null })
  })
})
