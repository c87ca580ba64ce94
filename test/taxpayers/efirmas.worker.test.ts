import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../src/app/tasks.ts'
import { loginVersionOf, rejectLogin } from '../../src/taxpayers/login-answers.ts'
import { beforeBatch } from '../authority/support/authority.ts'
import { before, callOf, deliver, ISSUED, jobsOf, later, losingMessages, subscriber, sweep, work } from '../downloads/support/downloads.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { audited, freshRfc, organization } from '../support/tenants.ts'
import { ciecFor, refusedLogin, secretOf, systemNow, watchLogins } from './support/ciec.ts'
import { efirmaLogin, efirmaOf, numberOf } from './support/efirmas.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const DAY = 86_400

/** An active connection with the e.firma whose number ends so, with a CIEC, or with both. */
async function holder(rfc: string, end: string | null, ciec: string | null = null, more: Parameters<typeof efirmaOf>[1] = {}) {
  const efirma = (of: string) => ({ efirma: efirmaOf(rfc, { ...more, number: numberOf(of) }) })
  const one = await subscriber(rfc, ISSUED, ciec, end === null ? {} : efirma(end))
  return {
    ...one,
    giveEfirma: async (of: string) => one.ask('PATCH', one.path, efirma(of)),
    expire: async (kind: 'ciec' | 'efirma' = 'efirma') => one.ask('POST', `/v1/test-helpers${one.path.slice(3)}/expire-${kind}`),
    state: async () => {
      const { status, credential_kind, invalid_reason } = await one.entity()
      return [status, credential_kind, invalid_reason]
    },
    row: async () =>
      (await env.DB.prepare('select * from connections where organization_id = ?').bind(one.id).first<Record<string, unknown>>())!,
    notified: async () => {
      const facts = await factsOf((await callOf(rfc)).entity, 'connection.ciec_invalid')
      return facts.filter(({ organizations }) => organizations![0] === one.id).length
    },
    alerts: async () => ((await one.ask('GET', '/v1/alerts')).body.data as { kind: string; message: string }[]).map(({ kind }) => kind),
  }
}

const pass = async (rfc: string) => deliver([await callOf(rfc)])
const [A, B, C] = [numberOf('1001'), numberOf('1002'), numberOf('1003')]

describe('a job logs in', () => {
  it('with the e.firma of an organization that asked for it, the last accepted one first, and only then with a CIEC', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001')
    later(1)
    const beto = await holder(rfc, '1002', 'deBeto1')
    later(2)
    const carla = await holder(rfc, null, 'deCarla1')
    await work(rfc)
    const of = (...all: { id: string }[]) =>
      ciecFor(
        rfc,
        all.map(({ id }) => id),
      )
    expect([await of(ana, beto, carla), await of(ana, carla), await of(carla), await of(ana)]).toEqual([B, A, 'deCarla1', A])
    expect(await of({ id: 'org_without' })).toBeNull()
  })

  it('for all who have any verified login, whatever the kind of it', async () => {
    const rfc = freshRfc()
    const [ana, carla] = [await holder(rfc, '1001'), await holder(rfc, null, 'deCarla1')]
    const { used } = watchLogins()
    await ana.run()
    await carla.run()
    await work(rfc)
    expect(new Set(used.map(secretOf))).toEqual(new Set([A]))
    for (const one of [ana, carla]) expect((await one.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
  })
})

describe('an e.firma is compared with e.firmas, and a CIEC with CIECs', () => {
  it('another certificate has every other e.firma of the RFC verified at once, and no CIEC', async () => {
    const rfc = freshRfc()
    const [ana, beto, carla] = [await holder(rfc, '1001'), await holder(rfc, '1002', 'deBeto1'), await holder(rfc, null, 'deCarla1')]
    await pass(rfc)
    await ana.expire()
    const { asked } = watchLogins()
    await beto.giveEfirma('1003')
    await pass(rfc)
    // A refusal, too, has the others verified.
    expect(asked.map(secretOf)).toEqual([C, A, C])
    expect([await ana.state(), await beto.state(), await carla.state()]).toEqual([
      ['invalid_ciec', 'efirma', 'efirma_refused'],
      ['active', 'both', null],
      ['active', 'ciec', null],
    ])
    expect([await ana.notified(), await beto.notified(), await carla.notified()]).toEqual([1, 0, 0])
  })

  it('another CIEC has every other CIEC verified, and no e.firma', async () => {
    const rfc = freshRfc()
    const [ana, beto, carla] = [await holder(rfc, '1001', 'deAna1'), await holder(rfc, '1002'), await holder(rfc, null, 'deAna1')]
    await pass(rfc)
    await ana.expire('ciec')
    const { asked } = watchLogins()
    await carla.give('deCarla2')
    await pass(rfc)
    expect(asked.map(secretOf)).toEqual(['deCarla2', 'deAna1', 'deCarla2'])
    // Ana goes on with her e.firma, and is told so.
    expect([await ana.state(), await beto.state(), await ana.notified()]).toEqual([
      ['active', 'efirma', null],
      ['active', 'efirma', null],
      0,
    ])
    expect(await ana.alerts()).toEqual(['connection.login_refused'])
    expect((await audited(ana, 'fiscal_entity.ciec_invalid')).map(({ changed }) => changed)).toEqual([['ciec']])
  })

  it('the same certificate again has none verified; an answer that came before another was accepted has it verified instead', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await holder(rfc, '1001'), await holder(rfc, '1001')]
    const { asked } = watchLogins()
    await beto.giveEfirma('1001')
    await pass(rfc)
    expect([asked.map(secretOf), (await ana.row())['efirma_verify_at']]).toEqual([[A], null])
    const login = await efirmaLogin(rfc, '1001')
    const old = { login, version: await loginVersionOf(systemNow(), login) }
    await ana.giveEfirma('1002')
    await pass(rfc)
    await rejectLogin(systemNow(), (await callOf(rfc)).entity, old)
    expect([await beto.state(), (await beto.row())['efirma_verify_at'], await beto.notified()]).toEqual([
      ['active', 'efirma', null],
      expect.any(Number),
      0,
    ])
    expect(await env.DB.prepare('select ciec_version from fiscal_entities where rfc = ?').bind(rfc).first('ciec_version')).toBe(0)
  })
})

describe('when the authority refuses an e.firma at the login of a download', () => {
  it('all who hold it become invalid_ciec together, each with one event, and the others are verified; runs go on for these', async () => {
    const rfc = freshRfc()
    const [carla, ana, beto] = [await holder(rfc, '1003'), await holder(rfc, '1001'), await holder(rfc, '1001')]
    await pass(rfc)
    later(700)
    await ana.expire()
    for (const one of [ana, beto, carla]) await one.run()
    await work(rfc)
    for (const one of [ana, beto]) {
      expect([await one.state(), await one.notified()]).toEqual([['invalid_ciec', 'efirma', 'efirma_refused'], 1])
      expect((await audited(one, 'fiscal_entity.efirma_invalid')).map(({ changed }) => changed)).toEqual([['status']])
      expect([(await one.page()).status, (await one.row())['issued_granted_ranges']]).toEqual([404, '[]'])
    }
    expect([await carla.state(), (await carla.jobs()).every(({ status }) => status === 'succeeded')]).toEqual([
      ['active', 'efirma', null],
      true,
    ])
    expect((await ana.giveEfirma('1003')).body).toMatchObject({ status: 'active', credential_kind: 'efirma', invalid_reason: null })
  })

  it('a connection with a good CIEC goes on with that, in the same job: nothing waits, and an alert tells', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', 'deAna1')
    await ana.expire()
    const { used } = watchLogins()
    await ana.run()
    await work(rfc)
    expect([...new Set(used.map(secretOf))]).toEqual([A, 'deAna1'])
    expect([await ana.state(), await ana.notified(), await ana.alerts()]).toEqual([
      ['active', 'ciec', null],
      0,
      ['connection.login_refused'],
    ])
    expect((await ana.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
    expect((await ana.page()).body.data.length).toBeGreaterThan(0)
    expect((await ana.entity()).visible_to).not.toBeNull()
  })

  it('a crash between the alert and the commit repeats both, and tells once', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', 'deAna1')
    await ana.expire()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await ana.run()
    beforeBatch('"efirma_number" = ?', 'spoil')
    await pass(rfc).catch(() => {})
    expect([await ana.state(), await ana.alerts()]).toEqual([['active', 'both', null], ['connection.login_refused']])
    later(60)
    await work(rfc)
    expect([await ana.state(), await ana.alerts()]).toEqual([['active', 'ciec', null], ['connection.login_refused']])
  })

  it('first the e.firma and then the CIEC: only then the connection is invalid, and told once', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', 'deAna1')
    await refusedLogin(await efirmaLogin(rfc, '1001'))
    await refusedLogin(await efirmaLogin(rfc, '1001'))
    expect([await ana.state(), await ana.notified()]).toEqual([['active', 'ciec', null], 0])
    await refusedLogin({ rfc, ciec: 'deAna1' })
    expect([await ana.state(), await ana.notified(), (await ana.alerts()).length]).toEqual([['invalid_ciec', 'ciec', 'rejected'], 1, 1])
  })
})

describe('until an e.firma is verified', () => {
  it('its connection neither runs nor widens; one with a verified CIEC runs with that', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await holder(rfc, '1001'), await holder(rfc, '1002', 'deBeto1')]
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { used } = watchLogins((login) => ([A, B].includes(secretOf(login)) ? 'unavailable' : undefined))
    const carla = await holder(rfc, '1003')
    await carla.run()
    expect(await ana.run()).toMatchObject({ status: 'no_connections' })
    expect(await beto.run()).toMatchObject({ status: 'dispatched', connections: 1 })
    const { entity } = await callOf(rfc)
    await env.DB.prepare("update connections set state = 'paused', paused_from = 'active' where entity = ? and organization_id = ?")
      .bind(entity, carla.id)
      .run()
    await work(rfc)
    expect([...new Set(used.map(secretOf))]).toEqual(['deBeto1'])
    expect([(await ana.entity()).window_state, (await beto.entity()).visible_to]).toEqual(['empty', expect.any(String)])
    vi.restoreAllMocks()
    later(60)
    losingMessages()
    await sweep()
    await pass(rfc)
    expect(await ana.run()).toMatchObject({ status: 'dispatched' })
    expect((await ana.entity()).visible_to).not.toBeNull()
  })

  it('because another was accepted while the run was dispatched, its window does not widen, and a run is made up for at once', async () => {
    const rfc = freshRfc()
    const [beto, ana] = [await holder(rfc, '1002'), await holder(rfc, '1001')]
    await pass(rfc)
    later(700)
    const met = before(/^update connections set\s+issued_granted_ranges/, () => beto.giveEfirma('1003'))
    await ana.run()
    expect([met(), (await ana.entity()).visible_to]).toEqual([true, null])
    const planned = env.DB.prepare("select moved_at from runs where organization_id = ? and status = 'planned'").bind(ana.id)
    expect(await planned.first('moved_at')).toBe(Date.now())
    await pass(rfc)
    later(740)
    await sweep()
    expect((await ana.entity()).visible_to).not.toBeNull()
  })

  it('that no run has used for seven days, it is asked about', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001')
    await ana.expire()
    later(7 * DAY - 1)
    const daily = async () => {
      await runTask(systemNow(), { task: 'verifyIdle', at: Date.now(), cursor: '' })
      await sweep()
      await pass(rfc)
    }
    await daily()
    expect(await ana.state()).toEqual(['active', 'efirma', null])
    later(7 * DAY)
    await daily()
    expect([await ana.state(), await ana.notified()]).toEqual([['invalid_ciec', 'efirma', 'efirma_refused'], 1])
  })

  it('after a suspension, it is asked about before it runs', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001')
    const { resumePaused } = await import('../../src/taxpayers/suspended-connections.ts')
    const { findConnection } = await import('../../src/taxpayers/taxpayers.ts')
    const { db } = systemNow()
    await env.DB.prepare("update connections set state = 'paused', paused_from = 'active', paused_by = 'payment' where organization_id = ?")
      .bind(ana.id)
      .run()
    await resumePaused(db, [(await findConnection(db, { id: ana.id }, ana.fiscal_entity_id))!], new Date())
    expect(await ana.row()).toMatchObject({ state: 'active', efirma_verify_at: Date.now(), ciec_verify_at: null })
    await ana.expire()
    await pass(rfc)
    expect(await ana.state()).toEqual(['invalid_ciec', 'efirma', 'efirma_refused'])
  })
})

describe('an e.firma that expires', () => {
  const to = new Date('2026-05-21T09:00:00Z')

  it('is not used from its end on: the sweep makes the connection invalid_ciec, efirma_expired, with one event, and asks nobody', async () => {
    const rfc = freshRfc()
    const [ana, other] = [await holder(rfc, '1001', null, { to }), await holder(rfc, '1003')]
    await pass(rfc)
    const { asked } = watchLogins()
    later(DAY)
    expect(await ciecFor(rfc, [ana.id])).toBe(A)
    await sweep()
    await pass(rfc)
    expect(await ana.state()).toEqual(['active', 'efirma', null])
    later(DAY + 1)
    expect(await ciecFor(rfc, [ana.id])).toBeNull()
    const queue = losingMessages()
    await sweep()
    expect(queue.announced()).toContainEqual(await callOf(rfc))
    await pass(rfc)
    await pass(rfc)
    expect([await ana.state(), await ana.notified(), asked]).toEqual([['invalid_ciec', 'efirma', 'efirma_expired'], 1, []])
    expect([await other.state(), (await other.row())['efirma_verify_at']]).toEqual([['active', 'efirma', null], null])
    await sweep()
    expect(queue.announced().filter(({ entity }) => entity === undefined)).toEqual([])
    expect((await ana.giveEfirma('1004')).body.code).toBe('efirma.expired')
  })

  it('is found by a run that comes before the sweep, and leaves the connection out', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', null, { to })
    later(2 * DAY)
    expect(await ana.run()).toMatchObject({ status: 'no_connections' })
    expect([await ana.state(), (await jobsOf(rfc)).length]).toEqual([['invalid_ciec', 'efirma', 'efirma_expired'], 0])
  })

  it('is erased where a CIEC goes on, with an alert; runs are not left out before that', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', 'deAna1', { to })
    later(2 * DAY)
    const { used } = watchLogins()
    expect(await ana.run()).toMatchObject({ status: 'dispatched', connections: 1 })
    await work(rfc)
    expect([...new Set(used.map(secretOf))]).toEqual(['deAna1'])
    expect([await ana.state(), await ana.notified(), await ana.alerts()]).toEqual([
      ['active', 'ciec', null],
      0,
      ['connection.login_refused'],
    ])
  })

  it('is not ended by an earlier one that another took the place of in the same moment', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001', null, { to })
    later(2 * DAY)
    const { beforeCommit } = await import('../support/commits.ts')
    const met = beforeCommit(() => ana.ask('PATCH', ana.path, { efirma: efirmaOf(rfc, { number: B }) }))
    await pass(rfc)
    expect([met(), await ana.state(), await ana.notified()]).toEqual([1, ['active', 'efirma', null], 0])
  })
})

describe('wrong e.firmas', () => {
  const send = async (of: { ask: Awaited<ReturnType<typeof organization>>['ask'] }, rfc: string, end: string) =>
    (await of.ask('POST', '/v1/fiscal-entities', { rfc, efirma: efirmaOf(rfc, { number: numberOf(end) }) })).status

  it('of strangers hold up nobody else, however many; who is connected is alerted', async () => {
    const rfc = freshRfc()
    const ana = await holder(rfc, '1001')
    for (let strangers = 0; strangers < 5; strangers++) {
      const stranger = await organization('enterprise_gold')
      for (let n = 0; n < 3; n++) expect(await send(stranger, rfc, '0305')).toBe(422)
      expect(await send(stranger, rfc, '0305')).toBe(429)
    }
    expect(await send(await organization('enterprise_gold'), rfc, '1001')).toBe(201)
    expect([(await ana.giveEfirma('1002')).status, await ana.alerts()]).toEqual([200, ['connection.ciec_guessed']])
  })
})
