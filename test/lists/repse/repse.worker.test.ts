import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { api } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc, signUp } from '../../support/tenants.ts'
import { cron, deliver, holdMessages, type RepseMessage, type Subscriber, settle, subscriber, watchRegistry } from './support/repse.ts'

let sent: RepseMessage[]
beforeEach(() => {
  at('2026-11-18T18:00:00Z')
  sent = holdMessages()
})
afterEach(restore)

const FULL = {
  folio: '48213',
  razon_social: 'LIMPIEZA DEL NORTE, S.A. DE C.V.',
  entidad: 'Nuevo León',
  municipio: 'San Pedro Garza García',
  vigencia_hasta: '2027-03-01',
  actividades: [{ descripcion: 'Servicios de limpieza', folio: '48213' }],
}
const NOTHING = { folio: null, razon_social: null, entidad: null, municipio: null, num_aviso: null, fecha_aviso: null }

async function looked(of: Subscriber) {
  expect((await of.repse()).status).toBe(202)
  await settle(sent)
  return (await of.repse()).body
}

describe('an RFC that the registry was never asked about', () => {
  it('is 202 with the delay in header and body, and is asked about once however often one looks', async () => {
    const of = await subscriber()
    const asked = watchRegistry()
    for (const _ of [1, 2, 3]) {
      const { status, headers, body } = await of.repse()
      expect([status, headers.get('retry-after'), body]).toEqual([202, '15', { status: 'checking', rfc: of.rfc, retry_after_seconds: 15 }])
    }
    expect(sent).toEqual([{ rfcs: [of.rfc] }])
    await settle(sent)
    expect((await of.repse()).status).toBe(200)
    expect(asked).toEqual([of.rfc])
  })

  it('stays so while the registry does not answer, and is asked again after growing waits, then when somebody wants it', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const of = await subscriber()
    const asked = watchRegistry(() => true)
    await of.repse()
    const began = Date.now()
    const times: number[] = []
    for (let minute = 0; minute < 60 * 12; minute += minute < 50 ? 1 : 10) {
      await cron('* * * * *', new Date(began + minute * 60_000).toISOString())
      await settle(sent)
      if (asked.length > times.length) times.push(minute)
    }
    // A minute passes until the sweep looks for what has been due.
    expect(times).toEqual([0, 2, 8, 39, 160])
    expect((await of.repse()).status).toBe(202)
    await settle(sent)
    expect(asked.length).toBe(6)
  })

  it('is found by the sweep when the message is lost, or its worker dies', async () => {
    const of = await subscriber()
    await of.repse()
    sent.splice(0)
    await env.DB.prepare(`update repse_records set token = 'dead', due_at = due_at + 150000 where rfc = ?`).bind(of.rfc).run()
    await cron('* * * * *', '2026-11-18T18:02:00Z')
    await settle(sent)
    expect((await of.repse()).status).toBe(202)
    await cron('* * * * *', '2026-11-18T18:04:00Z')
    await settle(sent)
    expect((await of.repse()).status).toBe(200)
  })
})

describe('the status object', () => {
  it('has every member, as the registry says them', async () => {
    const of = await subscriber()
    await of.publish({ ...FULL, num_aviso: 'AR12003', fecha_aviso: '2024-03-01' })
    expect(await looked(of)).toEqual({
      rfc: of.rfc,
      is_registered: true,
      is_stale: false,
      checked_at: '2026-11-18T18:00:00.000Z',
      ...FULL,
      num_aviso: 'AR12003',
      fecha_aviso: '2024-03-01',
      is_expired: false,
      days_to_expiry: 103,
    })
  })

  it('of an RFC that is not there says so, and nothing else', async () => {
    const of = await subscriber()
    await of.publish({ ...FULL, is_registered: false })
    expect(await looked(of)).toEqual({
      ...{ rfc: of.rfc, is_registered: false, is_stale: false, checked_at: '2026-11-18T18:00:00.000Z' },
      ...NOTHING,
      ...{ vigencia_hasta: null, is_expired: false, days_to_expiry: null, actividades: [] },
    })
  })

  it.each([
    ['2026-11-18', 'America/Mexico_City', '2026-11-19T05:59:59Z', false, 0],
    ['2026-11-18', 'America/Mexico_City', '2026-11-19T06:00:00Z', true, -1],
    ['2026-11-18', 'Asia/Tokyo', '2026-11-18T14:59:59Z', false, 0],
    ['2026-11-18', 'Asia/Tokyo', '2026-11-18T15:00:00Z', true, -1],
    ['2026-11-18', 'America/Tijuana', '2026-11-19T07:59:59Z', false, 0],
    ['2027-03-01', 'America/Mexico_City', '2026-12-31T18:00:00Z', false, 60],
    ['2024-02-28', 'America/Mexico_City', '2024-03-01T18:00:00Z', true, -2],
    [null, 'America/Mexico_City', '2026-11-18T18:00:00Z', false, null],
  ])('until %s in %s at %s: expired %s, days %s', async (vigencia_hasta, timezone, now, is_expired, days_to_expiry) => {
    const of = await subscriber()
    await env.DB.prepare('update organizations set timezone = ? where id = ?').bind(timezone, of.id).run()
    await of.publish({ ...FULL, vigencia_hasta })
    await looked(of)
    at(now)
    expect((await of.repse()).body).toMatchObject({ is_registered: true, vigencia_hasta, is_expired, days_to_expiry })
  })

  it('is stale once it is older than a day, and is what was last known', async () => {
    const of = await subscriber()
    await of.publish(FULL)
    await looked(of)
    await of.publish({ is_registered: false })
    at('2026-11-19T18:00:00Z')
    expect((await of.repse()).body).toMatchObject({ is_stale: false, is_registered: true })
    at('2026-11-19T18:00:01Z')
    expect((await of.repse()).body).toMatchObject({ is_stale: true, is_registered: true, folio: '48213' })
    expect(sent).toEqual([])
  })

  it('is what was last known when the registry does not answer: no answer is not absence', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const of = await subscriber()
    await of.publish(FULL)
    const before = await looked(of)
    watchRegistry(() => true)
    expect((await of.refresh()).status).toBe(202)
    await settle(sent)
    expect((await of.repse()).body).toEqual(before)
  })
})

describe('a refresh', () => {
  it('of fifty at once by two organizations is queued once; the others are told how long to wait, twice the same', async () => {
    const [one, two] = [await subscriber(), await subscriber()]
    const other = await subscriber(one.rfc)
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? one : other).refresh()))
    const queued = replies.filter(({ status }) => status === 202)
    expect(queued.map(({ body }) => body)).toEqual([{ status: 'queued', rfc: one.rfc }])
    for (const { status, headers, body } of replies.filter((reply) => !queued.includes(reply))) {
      expect([status, body.code, body.detail.retry_after_seconds]).toEqual([429, 'repse.cooldown', 3600])
      expect(headers.get('retry-after')).toBe('3600')
      expect(body.detail.message).toEqual(expect.any(String))
    }
    expect(sent).toEqual([{ rfcs: [one.rfc] }])
    expect((await two.refresh()).status).toBe(202)
  })

  it('is read with the GET once it is done, and again possible after an hour', async () => {
    const of = await subscriber()
    await of.publish(FULL)
    await looked(of)
    await of.publish({ ...FULL, vigencia_hasta: '2029-11-01' })
    at('2026-11-18T18:10:00Z')
    await of.refresh()
    await settle(sent)
    expect((await of.repse()).body).toMatchObject({ vigencia_hasta: '2029-11-01', checked_at: '2026-11-18T18:10:00.000Z' })
    at('2026-11-18T19:09:59Z')
    expect((await of.refresh()).body.detail.retry_after_seconds).toBe(1)
    at('2026-11-18T19:10:00Z')
    expect((await of.refresh()).status).toBe(202)
  })

  it('does not wait for the next attempt of a look-up that failed', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const of = await subscriber()
    let isClosed = true
    const asked = watchRegistry(() => isClosed)
    await of.repse()
    await settle(sent)
    isClosed = false
    await of.refresh()
    await settle(sent)
    expect([asked.length, (await of.repse()).status]).toEqual([2, 200])
  })

  it('may be asked for by any role', async () => {
    for (const role of ['member', 'admin', 'owner'] as const) {
      const of = await subscriber()
      expect((await of.ask('POST', `${of.path}/repse/refresh`, undefined, role)).status).toBe(202)
    }
  })

  it('that cannot be committed starts no pause', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const of = await subscriber()
    await env.DB.prepare("create trigger refuse before insert on repse_records begin select raise(abort, 'not today'); end").run()
    expect((await of.refresh()).status).toBe(500)
    await env.DB.prepare('drop trigger refuse').run()
    expect((await of.refresh()).status).toBe(202)
  })
})

describe('whoever has no active connection', () => {
  it('is told that there is none, whatever is held of the RFC, and starts nothing', async () => {
    const of = await subscriber()
    await of.publish(FULL)
    await looked(of)
    const stranger = await signUp()
    const { body: draft } = await api(of.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    for (const [caller, path, code] of [
      [stranger, of.path, 'fiscal_entity.not_found'],
      [of.owner, `/v1/fiscal-entities/${draft.fiscal_entity_id}`, 'fiscal_entity.not_active'],
    ] as const)
      for (const [method, action] of [
        ['GET', '/repse'],
        ['POST', '/repse/refresh'],
      ] as const) {
        const { status, body } = await api(caller, method, `${path}${action}`)
        expect([status, body.code]).toEqual([404, code])
      }
    expect((await of.refresh()).status).toBe(202)
  })
})

describe('a look-up’s message', () => {
  it('delivered twice, at once, for nobody or late changes nothing', async () => {
    const of = await subscriber()
    const asked = watchRegistry()
    await of.repse()
    const [message] = sent.splice(0)
    await Promise.all([deliver([message, message]), deliver([message, { rfcs: ['nobody'] }])])
    expect(asked).toEqual([of.rfc])
    const before = (await of.repse()).body
    await deliver([message])
    expect((await of.repse()).body).toEqual(before)
    expect(await env.DB.prepare(`select 1 from repse_records where rfc = 'nobody'`).first()).toBeNull()
  })
})
