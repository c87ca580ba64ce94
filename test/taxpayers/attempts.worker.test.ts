import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Failure } from '../../src/platform/failures.ts'
import { pruneAttempts, reserveAttempt } from '../../src/taxpayers/attempts/attempts.ts'
import { beforeBatch } from '../authority/support/authority.ts'
import { ISSUED, jobsOf, later, losingMessages, subscriber, work } from '../downloads/support/downloads.ts'
import { basic, type Reply, request } from '../support/client.ts'
import { contextOf } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { audited, freshRfc, type Organization, organization } from '../support/tenants.ts'
import { systemNow, watchLogins } from './support/ciec.ts'
import { efirmaOf } from './support/efirmas.ts'

const PATH = '/v1/fiscal-entities'
const MINUTE = 60
const DAY = 24 * 60 * MINUTE

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const send = (of: Organization, rfc: string, ciec: string) => of.ask('POST', PATH, { rfc, ciec })
const wrong = async (of: Organization, rfc: string, n = 1): Promise<number[]> => {
  const statuses: number[] = []
  for (let made = 0; made < n; made++) statuses.push((await send(of, rfc, `rejected${made}`)).status)
  return statuses
}
const refusals = async (of: Organization) => audited(of, 'fiscal_entity.ciec_refused')
const alertsOf = async (of: Organization) => (await of.ask('GET', '/v1/alerts?kind=connection.ciec_guessed')).body.data

describe('wrong CIECs of one organization for an RFC', () => {
  it('60 at once: exactly three reach the authority, each is audited, and the others are refused with 429', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    const { asked } = watchLogins()
    const replies = await Promise.all(Array.from({ length: 60 }, (_, n) => send(acme, rfc, `rejected-Canario${n}`)))
    expect(replies.filter(({ status }) => status === 422)).toHaveLength(3)
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(57)
    expect(asked).toHaveLength(3)
    const { status, body, headers } = await send(acme, rfc, 'secreta1')
    expect([status, body.code]).toEqual([429, 'fiscal_entity.ciec_attempts'])
    expect(body.detail).toEqual({ message: expect.stringContaining('900 s'), retry_after_seconds: 900 })
    expect(headers.get('retry-after')).toBe('900')
    expect(asked).toHaveLength(3)
    const events = await refusals(acme)
    expect(events).toEqual(Array(3).fill(expect.objectContaining({ resource_id: rfc, changed: ['ciec'] })))
    const { results } = await env.DB.prepare('select * from ciec_attempts where rfc = ?').bind(rfc).all()
    expect(JSON.stringify([events, results])).not.toMatch(/Canario/)
    expect(await env.DB.prepare('select * from fiscal_entities where rfc = ?').bind(rfc).first()).toBeNull()
  })

  it('three in any 15 minutes; another organization and another RFC have their own count', async () => {
    const [acme, other, rfc] = [await organization(), await organization(), freshRfc()]
    expect(await wrong(acme, rfc, 2)).toEqual([422, 422])
    later(5 * MINUTE)
    expect(await wrong(acme, rfc, 2)).toEqual([422, 429])
    expect([await wrong(other, rfc), await wrong(acme, freshRfc())]).toEqual([[422], [422]])
    later(15 * MINUTE - 1)
    expect((await send(acme, rfc, 'rejected')).body.detail.retry_after_seconds).toBe(1)
    later(15 * MINUTE)
    expect(await wrong(acme, rfc, 3)).toEqual([422, 422, 429])
  })

  it('of a PATCH count too, on the connection’s own audit trail; the old CIEC stays', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    for (const status of [422, 422, 422, 429, 429]) expect((await one.give('rejected')).status).toBe(status)
    expect(await refusals(one)).toEqual(Array(3).fill(expect.objectContaining({ resource_id: one.fiscal_entity_id })))
    expect(await one.entity()).toMatchObject({ status: 'active', ciec_set: true })
  })

  it('while others await their answers, is said to wait for these', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    const replies = await Promise.all(Array.from({ length: 8 }, () => send(acme, rfc, 'secreta1')))
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const { body } of refused)
      expect(body.detail).toEqual({
        message: expect.stringMatching(/being verified at this moment, .* Try again in 1 s\.$/),
        retry_after_seconds: 1,
      })
  })

  it('an accepted one neither counts nor clears the wrong ones before it', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const given: number[] = []
    for (const ciec of ['rejected1', 'rejected2', 'secreta2', 'secreta3', 'secreta4', 'rejected3', 'secreta5'])
      given.push((await one.give(ciec)).status)
    expect(given).toEqual([422, 422, 200, 200, 200, 422, 429])
    later(15 * MINUTE)
    expect((await one.give('secreta5')).status).toBe(200)
  })

  it('are refused last: after 402, 404, 409 and 422, none of which asks the authority or counts', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const trial = await organization('diagnostic')
    await trial.ask('POST', '/v1/test-helpers/organization', { trial_ends_at: '2026-01-01T00:00:00Z' })
    const { asked } = watchLogins()
    for (let n = 0; n < 4; n++) {
      expect((await send(trial, freshRfc(), 'rejected')).status).toBe(402)
      expect((await one.ask('POST', PATH, { rfc: (await one.entity()).rfc, ciec: 'rejected' })).status).toBe(409)
      expect((await one.ask('PATCH', one.path, { ciec: 'rejected', data_source_keys: ['nada'] })).status).toBe(422)
    }
    expect(asked).toEqual([])
    expect((await one.give('rejected')).status).toBe(422)
  })

  it('repeated under an Idempotency-Key are one', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    const { asked } = watchLogins()
    for (let n = 0; n < 5; n++) {
      const headers = { authorization: basic(acme.owner), 'content-type': 'application/json', 'idempotency-key': 'the-same-key-1' }
      expect((await request('POST', PATH, { headers, body: JSON.stringify({ rfc, ciec: 'rejected' }) })).status).toBe(422)
    }
    expect([asked.length, (await refusals(acme)).length]).toEqual([1, 1])
  })
})

describe('wrong CIECs of organizations that never had one accepted for the RFC', () => {
  const from = async (address: string, of: Organization, rfc: string, ciec = 'rejected') =>
    (await request('POST', PATH, {
      headers: { authorization: basic(of.owner), 'content-type': 'application/json', 'cf-connecting-ip': address },
      body: JSON.stringify({ rfc, ciec }),
    })) as Reply<{ code: string; detail: { message: string; retry_after_seconds: number } }>
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => organization()))

  it('from one network: four sign-ups send eight, and neither the owner nor who was connected before is held up', async () => {
    const rfc = freshRfc()
    const own = await subscriber(rfc, ISSUED)
    const { asked } = watchLogins()
    const [a, b, c, d, owner, late] = (await several(6)) as [Organization, ...Organization[]] & Organization[]
    const statuses: number[][] = []
    for (const [n, of] of [a, b!, c!, d!].entries()) {
      const mine: number[] = []
      for (let made = 0; made < 4; made++) mine.push((await from(`203.0.113.${n}`, of, rfc)).status)
      statuses.push(mine)
    }
    expect(statuses).toEqual([
      [422, 422, 422, 429],
      [422, 422, 422, 429],
      [422, 429, 429, 429],
      [422, 429, 429, 429],
    ])
    expect(asked).toHaveLength(8)
    later(60)
    const { status, body } = await from('203.0.113.77', c!, rfc, 'secreta1')
    expect([status, body.code, body.detail]).toEqual([
      429,
      'fiscal_entity.ciec_attempts',
      { message: expect.stringMatching(/An e\.firma of the RFC is not held up: send it instead\./), retry_after_seconds: DAY - 60 },
    ])
    // The private key proves whose an e.firma is.
    expect(await c!.ask('POST', PATH, { rfc, efirma: efirmaOf(rfc) })).toMatchObject({ status: 201 })
    expect((await from('203.0.113.5', owner!, rfc, 'secreta1')).status).toBe(201)
    expect((await own.give('rejected')).status).toBe(422)
    expect((await own.give('secreta2')).status).toBe(200)
    later(DAY)
    expect((await from('203.0.113.5', late!, rfc, 'secreta1')).status).toBe(201)
  })

  it('from many networks: ten a day, and then only the first of an organization from a network without one', async () => {
    const rfc = freshRfc()
    const { asked } = watchLogins()
    const [a, b, c, d, e, owner] = (await several(6)) as [Organization, ...Organization[]] & Organization[]
    for (const [n, of] of [a, b!, c!].entries())
      for (let made = 0; made < 3; made++) expect((await from(`2001:db8:${n}::${made}`, of, rfc)).status).toBe(422)
    expect((await from('198.51.100.1', d!, rfc)).status).toBe(422)
    expect((await from('198.51.100.2', d!, rfc)).status).toBe(429)
    expect((await from('192.0.2.1', d!, rfc)).status).toBe(429)
    expect((await from('198.51.100.3', e!, rfc)).status).toBe(429)
    expect(asked).toHaveLength(10)
    expect((await from('192.0.2.1', owner!, rfc, 'secreta1')).status).toBe(201)
    const { results } = await env.DB.prepare('select * from ciec_attempts where rfc = ?').bind(rfc).all<{ network: string }>()
    expect(JSON.stringify(results)).not.toMatch(/2001:db8|198\.51/)
    expect(new Set(results.map(({ network }) => network)).size).toBe(4)
  })

  it('all at once are no more than one after the other', async () => {
    const rfc = freshRfc()
    const { asked } = watchLogins()
    const strangers = await several(5)
    await Promise.all(strangers.flatMap((of) => Array.from({ length: 4 }, () => from('203.0.113.1', of, rfc))))
    // Six of any, and the first of each organization that has none among these.
    expect([asked.length >= 6, asked.length <= 9]).toEqual([true, true])
  })

  it('are admitted as a plain count admits them, and Retry-After is when they are', async () => {
    interface Sent {
      organization: string
      network: string
      at: number
    }
    const isAdmitted = (sent: readonly Sent[], { organization, network, at }: Sent): boolean => {
      const day = sent.filter((one) => one.at > at - DAY * 1_000)
      const quarter = sent.filter((one) => one.at > at - 15 * MINUTE * 1_000 && one.organization === organization)
      const near = day.filter((one) => one.network === network).length
      const isFirst = !day.some((one) => one.organization === organization)
      if (quarter.length >= 3) return false
      if (day.length >= 10 && !(isFirst && near === 0 && day.length < 20)) return false
      return near < 6 || (isFirst && near < 10)
    }
    const one = fc.record({ organization: fc.nat({ max: 6 }), network: fc.nat({ max: 3 }), pause: fc.integer({ min: 61, max: 9_000 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 20, maxLength: 40 }), async (moves) => {
        await env.DB.prepare('delete from ciec_attempts').run()
        const sent: Sent[] = []
        let passed = 0
        for (const { organization: of, network, pause } of moves) {
          passed += pause
          later(passed)
          const next = { organization: `org_${of}`, network: `10.0.${network}.1`, at: Date.now() }
          const ctx = { ...contextOf(null, { organization: next.organization }), network: next.network }
          const refused = await reserveAttempt(ctx, { rfc: 'X', kind: 'ciec' }, undefined).then(
            () => null,
            (error: Failure) => error.extra.retry_after_seconds!,
          )
          if (refused === null) {
            expect(isAdmitted(sent, next)).toBe(true)
            sent.push(next)
          } else {
            expect(isAdmitted(sent, next)).toBe(false)
            expect(isAdmitted(sent, { ...next, at: next.at + refused * 1_000 })).toBe(true)
            for (let wait = 1; wait < refused; wait += 997)
              expect(isAdmitted(sent, { ...next, at: next.at + wait * 1_000 }), `${wait} of ${refused}`).toBe(false)
          }
        }
      }),
      { numRuns: runs(8, 100) },
    )
  })

  it('alert everybody who is connected after the third, once a day, without naming anybody', async () => {
    const rfc = freshRfc()
    const [active, paused, draft] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED, null)]
    await paused.ask('PATCH', `/v1/billing/rfcs/${paused.fiscal_entity_id}`, { active: false })
    const [one, two] = [await organization(), await organization()]
    await wrong(one, rfc, 2)
    // Its own mistakes tell an organization nothing, and those of a member count for the others.
    expect((await active.give('rejected')).status).toBe(422)
    expect([await alertsOf(active), (await alertsOf(paused)).length]).toEqual([[], 1])
    await wrong(two, rfc, 2)
    const [alert, ...more] = await alertsOf(active)
    expect(more).toEqual([])
    expect(alert).toMatchObject({
      kind: 'connection.ciec_guessed',
      severity: 'warning',
      resource_id: active.fiscal_entity_id,
      read_at: null,
    })
    expect(alert.message).toBe(
      `On 2026-05-20, others sent wrong CIECs or e.firmas for the RFC ${rfc}: 3 or more within 24 hours. Your organization did not send them.`,
    )
    expect([(await alertsOf(paused)).length, await alertsOf(draft), await alertsOf(one), await alertsOf(two)]).toEqual([1, [], [], []])
    later(DAY)
    await wrong(one, rfc, 3)
    expect([(await alertsOf(active)).length, (await alertsOf(paused)).length]).toEqual([2, 2])
  })

  it('alert on the next day at the latest when the alerts cannot be raised at once, and the sender notices nothing', async () => {
    const rfc = freshRfc()
    const own = await subscriber(rfc, ISSUED)
    await env.EVENTS_0.prepare("create trigger refuse before insert on alerts begin select raise(abort, 'not today'); end").run()
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await wrong(await organization(), rfc, 3)).toEqual([422, 422, 422])
    await env.EVENTS_0.prepare('drop trigger refuse').run()
    expect([await alertsOf(own), error.mock.calls.length]).toEqual([[], 1])
    later(DAY - 1)
    for (let n = 0; n < 2; n++) await pruneAttempts(systemNow())
    const alerts = await alertsOf(own)
    expect(alerts.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringMatching(/^On 2026-05-20, others sent wrong CIECs or e.firmas /),
    ])
  })

  it('three at once alert as well', async () => {
    const rfc = freshRfc()
    const own = await subscriber(rfc, ISSUED)
    const strangers = await Promise.all(Array.from({ length: 3 }, () => organization()))
    await Promise.all(strangers.map((of) => send(of, rfc, 'rejected')))
    expect(await alertsOf(own)).toHaveLength(1)
  })
})

describe('an attempt', () => {
  it('whose answer a crash lost counts as refused until its time has passed', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let n = 0; n < 3; n++) {
      beforeBatch('ciec_attempts', 'spoil')
      expect((await send(acme, rfc, 'rejected')).status).toBe(500)
    }
    expect((await send(acme, rfc, 'secreta1')).body.detail.retry_after_seconds).toBe(1)
    later(61)
    expect((await send(acme, rfc, 'secreta1')).body.detail.retry_after_seconds).toBe(15 * MINUTE - 61)
    later(15 * MINUTE)
    expect((await send(acme, rfc, 'secreta1')).status).toBe(201)
  })

  it('without an answer of the authority does not count', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    const { asked } = watchLogins(() => 'unavailable')
    for (let n = 0; n < 5; n++) expect((await send(acme, rfc, 'secreta1')).status).toBe(503)
    expect([asked.length, (await refusals(acme)).length]).toEqual([5, 0])
  })

  it('is forgotten after a day', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    await wrong(acme, rfc, 2)
    const left = () => env.DB.prepare('select count(*) from ciec_attempts where rfc = ?').bind(rfc).first('count(*)')
    later(DAY - 1)
    await pruneAttempts(systemNow())
    expect(await left()).toBe(2)
    later(DAY)
    await pruneAttempts(systemNow())
    expect(await left()).toBe(0)
  })
})

describe('an account that the authority has locked', () => {
  it('is unavailable and not refused: nothing is stored, counted or ended', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    for (let n = 0; n < 4; n++) {
      const { status, body, headers } = await send(acme, rfc, 'locked1')
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'authority.account_locked', '3600'])
    }
    expect(await refusals(acme)).toEqual([])
    const one = await subscriber(freshRfc(), ISSUED)
    expect((await one.give('locked2')).body.code).toBe('authority.account_locked')
    expect(await one.entity()).toMatchObject({ status: 'active' })
  })

  it('while a job downloads makes the job wait, and leaves the connection active', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const rfc = freshRfc()
    watchLogins(() => true)
    const one = await subscriber(rfc, ISSUED, 'locked1')
    await one.run()
    await work(rfc)
    for (const job of await jobsOf(rfc)) expect(job).toMatchObject({ status: 'queued', attempts: 1, error_class: 'login_failed' })
    expect(await one.entity()).toMatchObject({ status: 'active' })
  })
})
