import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../../src/app/tasks.ts'
import { rulesAt } from '../../../src/authority/rules/rules.ts'
import { Unavailable } from '../../../src/platform/failures.ts'
import { statusAnswer } from '../../authority/support/sat-answers.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { type Holder, holder, type Notified, settled, systemNow } from './support/status.ts'

const NOW = '2026-03-17T18:00:00Z'
const STEP_MS = 4 * 3_600_000

let sent: unknown[]
beforeEach(async () => {
  at(NOW)
  sent = silenceQueues()
  const tables = ['status_rechecks', 'cancellation_requests', 'cancellation_watches']
  await env.LEDGER_0.batch(tables.map((name) => env.LEDGER_0.prepare(`delete from ${name}`)))
  // Those of earlier tests.
  await env.DB.prepare("update connections set state = 'paused' where state = 'active'").run()
})
afterEach(restore)

const task = (name: 'watchCancellations' | 'sweepRechecks' | 'resolveAlerts', through: Env = env) =>
  runTask(systemNow(through), { task: name, at: Date.now(), cursor: '' })

/** What happens until an instant: the daily task, and the sweep every four hours. */
async function until(instant: string, through: Env = env): Promise<void> {
  const [tenth, end] = [Date.parse('2026-03-17T10:00:00Z'), Date.parse(instant)]
  for (let now = tenth + Math.ceil((Date.now() - tenth) / STEP_MS) * STEP_MS; now <= end; now += STEP_MS) {
    at(new Date(now).toISOString())
    if (new Date(now).getUTCHours() === 10) await task('watchCancellations', through)
    await task('sweepRechecks', through)
    while ((await settled(sent, through)) > 0);
  }
}

/** Received invoices that may have a request, the largest first. */
const invoicesOf = async (of: Holder): Promise<Notified[]> =>
  (await of.list('&estatus=vigente&direction=received&tipo_comprobante=I&issued_from=2026-02-01'))
    .filter(({ total_mxn, is_substituted }) => Number(total_mxn) > 1_000 && !is_substituted)
    .sort((a, b) => Number(b.total_mxn) - Number(a.total_mxn))

const PATH = '/v1/cancellation-requests'
const requestsOf = async (of: Holder, filter = ''): Promise<Notified[]> =>
  (await pagesOf<Notified>(of, `${PATH}?limit=100&fiscal_entity_id=${of.fiscal_entity_id}${filter}`)).items
const requestOf = async (of: Holder, uuid: string): Promise<Notified> =>
  (await of.ask('GET', `${PATH}/${uuid}?fiscal_entity_id=${of.fiscal_entity_id}`)).body
const answer = (of: Holder, uuid: string, what: string) =>
  of.ask('POST', `${PATH}/${uuid}/answer?fiscal_entity_id=${of.fiscal_entity_id}`, { answer: what })
const feedOf = async (of: Holder): Promise<Notified[]> => (await pagesOf<Notified>(of, '/v1/events?limit=100')).items
const alertsOf = async (of: Holder, state: string): Promise<Notified[]> =>
  (await pagesOf<Notified>(of, `/v1/alerts?limit=100&kind=cancellation.requested&state=${state}`)).items
const watchOf = (of: Holder) =>
  env.LEDGER_0.prepare('select * from cancellation_watches where entity = ?')
    .bind(of.entity)
    .first<{ searched: number; followed: number; answers: string }>()

/** The service with the real authority, which answers so. Counts the questions by document. */
function authority(answerTo: (uuid: string, n: number) => Response | Promise<Response>) {
  const asked: string[] = []
  const EGRESS = {
    fetch: async (_: string, init: RequestInit) => {
      const uuid = /id=([0-9A-F-]{36})/i.exec(String(init.body))![1]!.toUpperCase()
      asked.push(uuid)
      return answerTo(uuid, asked.length)
    },
  }
  return { through: { ...env, TAX_AUTHORITY: 'sat', EGRESS } as unknown as Env, asked }
}
const says = (Estado: string, EstatusCancelacion = '', EsCancelable = 'Cancelable con aceptación') =>
  new Response(statusAnswer({ CodigoEstatus: 'S - Comprobante obtenido satisfactoriamente.', Estado, EstatusCancelacion, EsCancelable }))

describe('a request that the issuer of a large invoice has made', () => {
  it.each([
    ['accepted', 'cancelado', ['cfdi.cancelled']],
    ['expired', 'cancelado', ['cfdi.cancelled']],
    ['rejected', 'vigente', []],
  ])('is found, listed, told with its deadline, and followed until it is %s', async (outcome, estatus, events) => {
    const of = await holder(2)
    const [{ uuid, total, currency, payment_status, paid_amount, emisor_rfc }] = await invoicesOf(of)
    await of.cancel(uuid, '2026-03-20T18:00:00Z', outcome)
    await until('2026-03-18T18:00:00Z')
    const [request, ...others] = await requestsOf(of, '&status=pending')
    expect(others.filter((one) => one.uuid === uuid)).toEqual([])
    const detected = request.detected_at
    expect(request).toMatchObject({
      ...{ uuid, total, currency, payment_status, paid_amount, direction: 'received', status: 'pending', clear_at: null },
      ...{
        deadline: '2026-03-18',
        latest_deadline: '2026-03-23',
        deadline_basis: 'published',
        days_left: 0,
        if_silent: 'cancelled',
        answer: null,
      },
    })
    expect(detected >= '2026-03-18T10:00:00.000Z' && detected <= '2026-03-18T18:00:00.000Z').toBe(true)
    const told = (await feedOf(of)).filter(({ event }) => event === 'cancellation.requested')
    expect(told).toMatchObject([
      {
        cfdi_uuid: uuid,
        detected_at: detected,
        deadline: '2026-03-18',
        latest_deadline: '2026-03-23',
        direction: 'received',
        emisor_rfc,
        payment_status,
      },
    ])
    const [alert] = await alertsOf(of, 'open')
    expect(alert).toMatchObject({
      resource_id: uuid,
      rfc: of.rfc,
      amount: total,
      currency,
      severity: payment_status === 'unpaid' ? 'warning' : 'critical',
    })
    // Nobody knows since when it is in process.
    expect(alert.message).toContain('any day up to 2026-03-23. Answer now: silence accepts')
    expect(alert.message_es).toContain('a más tardar el 2026-03-23. Responda ya: el silencio acepta')
    await until('2026-03-21T02:00:00Z')
    await task('resolveAlerts')
    expect(await requestOf(of, uuid)).toMatchObject({
      uuid,
      status: outcome,
      estatus,
      days_left: null,
      if_silent: null,
      aplicaciones: expect.any(Array),
    })
    expect((await requestsOf(of, `&status=${outcome}`)).map((one) => one.uuid)).toContain(uuid)
    expect([await alertsOf(of, 'open'), (await alertsOf(of, 'resolved')).map((one) => one.resource_id)]).toEqual([[], [uuid]])
    const after = (await feedOf(of)).filter(({ cfdi_uuid }) => cfdi_uuid === uuid).map(({ event }) => event)
    expect(after.filter((event) => event !== 'cfdi.cancelled_after_payment')).toEqual(['cancellation.requested', ...events])
  })

  it('that a status check shows is listed and told at once', async () => {
    const of = await holder(1)
    const [{ uuid }] = await invoicesOf(of)
    await of.cancel(uuid, '2026-03-20T18:00:00Z', 'accepted')
    expect((await of.check(uuid)).body.estatus_cancelacion).toBe('en_proceso')
    await settled(sent)
    expect(await requestsOf(of)).toMatchObject([{ uuid, status: 'pending', detected_at: '2026-03-17T18:00:00.000Z' }])
    expect((await feedOf(of)).filter(({ event }) => event === 'cancellation.requested')).toHaveLength(1)
    // The daily questions that the check left follow it too.
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    await until('2026-03-21T10:00:00Z', { ...env, CANCELLATION_QUESTIONS_PER_DAY: '0' } as unknown as Env)
    expect(await requestOf(of, uuid)).toMatchObject({ status: 'accepted', estatus: 'cancelado', decided_at: '2026-03-21T10:00:00.000Z' })
    expect(logged.mock.calls).toEqual([])
  })

  it('whose cancellation a download brings is cancelled until the authority says how', async () => {
    const of = await holder(1)
    const [{ uuid }] = await invoicesOf(of)
    await of.cancel(uuid, '2026-03-17T20:00:00Z', 'expired')
    await of.check(uuid)
    at('2026-03-17T21:00:00Z')
    await of.download()
    expect((await requestsOf(of, '&status=cancelled')).map((one) => one.uuid)).toEqual([uuid])
    expect(await requestsOf(of, '&status=pending')).toEqual([])
    await until('2026-03-18T18:00:00Z')
    expect(await requestOf(of, uuid)).toMatchObject({ status: 'expired', estatus: 'cancelado' })
  })

  it('is listed page by page, by direction, and within the windows of whoever asks', async () => {
    const of = await holder(2)
    const uuids = (await invoicesOf(of)).slice(0, 5).map((one) => one.uuid as string)
    const [issued] = await of.list('&estatus=vigente&direction=issued&tipo_comprobante=I')
    for (const [n, uuid] of [...uuids, issued.uuid].entries()) {
      at(new Date(Date.parse(NOW) + n * 60_000).toISOString())
      await of.cancel(uuid, '2026-03-20T18:00:00Z')
      await of.check(uuid)
    }
    const { items, pages } = await pagesOf<Notified>(of, `${PATH}?limit=2&fiscal_entity_id=${of.fiscal_entity_id}`)
    expect([items.map((one) => one.uuid), pages]).toEqual([[issued.uuid, ...uuids.toReversed()], 3])
    expect((await requestsOf(of, '&direction=issued')).map((one) => one.uuid)).toEqual([issued.uuid])
    expect(await requestsOf(of, '&direction=received')).toHaveLength(5)
    expect((await feedOf(of)).filter(({ event }) => event === 'cancellation.requested')).toHaveLength(0)
    await settled(sent)
    // Of one that the RFC itself made there is an event and no alert.
    expect((await feedOf(of)).filter(({ event }) => event === 'cancellation.requested')).toHaveLength(6)
    expect(await alertsOf(of, 'open')).toHaveLength(5)
    at('2026-03-18T02:00:00Z')
    const stranger = await holder(1)
    expect(await requestsOf(stranger)).toEqual([])
    expect((await stranger.ask('GET', `${PATH}/${uuids[0]}?fiscal_entity_id=${stranger.fiscal_entity_id}`)).body.code).toBe(
      'cancellation_request.not_found',
    )
    // Another organization of the RFC learns of a request as of its own first run, of no question before, and of none that had ended.
    await env.LEDGER_0.prepare("update cancellation_requests set status = 'rejected', decided_at = ? where entity = ? and uuid = ?")
      .bind(Date.parse('2026-03-18T01:00:00Z'), of.entity, uuids[1])
      .run()
    const other = await holder(2, of.rfc)
    expect(await requestOf(other, uuids[0]!)).toMatchObject({
      ...{ detected_at: '2026-03-18T02:00:00.000Z', clear_at: null, checked_at: '2026-03-18T02:00:00.000Z' },
    })
    expect((await requestOf(other, uuids[1]!)).code).toBe('cancellation_request.not_found')
    expect([(await requestsOf(other)).length, (await requestsOf(of)).length]).toEqual([5, 6])
  })
})

describe('the search for requests', () => {
  it('asks about what is worth most within the budget of the day, whatever dies, and remembers the answers', async () => {
    const of = await holder(2)
    const { through, asked } = authority(() => says('Vigente'))
    await until('2026-03-18T18:00:00Z', { ...through, CANCELLATION_QUESTIONS_PER_DAY: '8' } as unknown as Env)
    expect([asked.length, new Set(asked).size, await watchOf(of)]).toMatchObject([6, 6, { searched: 6, followed: 0 }])
    const worth = (await invoicesOf(of)).map((one) => one.uuid)
    expect(worth.slice(0, Math.ceil(worth.length / 2)).filter((uuid) => asked.includes(uuid)).length).toBeGreaterThanOrEqual(3)
    const answers = new Map(JSON.parse((await watchOf(of))!.answers) as [string, number[]][])
    expect(asked.map((uuid) => answers.get(uuid)?.slice(2))).toEqual(asked.map(() => [1]))
    await until('2026-03-19T18:00:00Z', { ...through, CANCELLATION_QUESTIONS_PER_DAY: '8' } as unknown as Env)
    expect(asked).toHaveLength(12)
  })

  it('asks about no document that is cancelled without acceptance by the rule of the day', async () => {
    const of = await holder(2)
    const { through, asked } = authority(() => says('Vigente'))
    const most = Math.max(...(await invoicesOf(of)).map(({ total_mxn }) => Number(total_mxn)))
    const rule = ['cancellation.without_acceptance', JSON.stringify(String(most - 1)), 'RMF', '2026-01-01', 'A test', 'proposed']
    await env.DB.prepare('insert into rules (key, value, rule_ref, valid_from, source, confidence) values (?, ?, ?, ?, ?, ?)')
      .bind(...rule)
      .run()
    try {
      await until('2026-03-18T18:00:00Z', through)
    } finally {
      await env.DB.prepare('delete from rules').run()
      // An isolate keeps what it has read for a minute.
      at('2026-03-18T18:02:00Z')
      await rulesAt(systemNow(env), '2026-03-18')
    }
    expect(asked).toEqual([(await invoicesOf(of))[0]!['uuid']])
  })

  it('says since when a document was without a request, so that its deadline is later', async () => {
    const of = await holder(2)
    let isAsked = false
    const { through, asked } = authority((uuid) => says('Vigente', isAsked && uuid === asked[0] ? 'En proceso' : ''))
    const asking = { ...through, CANCELLATION_QUESTIONS_PER_DAY: '200' } as unknown as Env
    await until('2026-03-18T18:00:00Z', asking)
    isAsked = true
    await until('2026-03-19T18:00:00Z', asking)
    const request = await requestOf(of, asked[0]!)
    expect(request).toMatchObject({ status: 'pending', deadline: '2026-03-23', latest_deadline: '2026-03-24' })
    expect(request.clear_at.slice(0, 10)).toBe('2026-03-18')
    const [alert] = await alertsOf(of, 'open')
    expect(alert.message).toContain('Answer by 2026-03-23: silence accepts')
  })

  it('stops when the authority does not answer, and goes on within the budget of the day', async () => {
    const of = await holder(2)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { through, asked } = authority((_, n) => (n === 3 || n === 4 ? new Response('<html></html>', { status: 503 }) : says('Vigente')))
    const limited = { ...through, CANCELLATION_QUESTIONS_PER_DAY: '8' } as unknown as Env
    await until('2026-03-19T02:00:00Z', limited)
    expect([asked.length, (await watchOf(of))!.searched]).toEqual([6, 6])
  })

  it('counts what a dead worker may have asked', async () => {
    const of = await holder(2)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { through, asked } = authority(() => {
      throw new Error('The worker died.')
    })
    const { askRound } = await import('../../../src/downloads/status/watch.ts')
    const system = systemNow({ ...through, CANCELLATION_QUESTIONS_PER_DAY: '8' } as unknown as Env)
    const batch = Object.getPrototypeOf(env.LEDGER_0).batch
    let n = 0
    vi.spyOn(Object.getPrototypeOf(env.LEDGER_0), 'batch').mockImplementation(function (this: D1Database, ...args: unknown[]) {
      // The round reads, counts, and dies at its first question.
      if (++n > 2) throw new Error('The worker died.')
      return batch.apply(this, args)
    })
    await expect(askRound(system, env.LEDGER_0, of.entity, async () => false)).rejects.toThrow('died')
    vi.restoreAllMocks()
    at(NOW)
    expect([asked.length, await watchOf(of)]).toMatchObject([0, { searched: 6 }])
  })

  it('is off with a budget of none, and only of RFCs with an active connection', async () => {
    const of = await holder(1)
    const { through, asked } = authority(() => says('Vigente'))
    await until('2026-03-18T18:00:00Z', { ...through, CANCELLATION_QUESTIONS_PER_DAY: '0' } as unknown as Env)
    expect([asked, await watchOf(of)]).toEqual([[], null])
    await of.ask('PATCH', `/v1/billing/rfcs/${of.fiscal_entity_id}`, { active: false })
    await until('2026-03-19T18:00:00Z', through)
    expect(asked).toEqual([])
  })
})

describe('an answer of the receiver', () => {
  const pending = async () => {
    const of = await holder(1)
    const [{ uuid }] = await invoicesOf(of)
    await of.cancel(uuid, '2026-03-20T18:00:00Z', 'expired')
    await of.check(uuid)
    return { of, uuid: uuid as string }
  }

  it.each([
    ['accept', 'accepted', 'cancelado'],
    ['reject', 'rejected', 'vigente'],
  ])('%s is sent once, and the authority soon says so', async (what, status, estatus) => {
    const { of, uuid } = await pending()
    at('2026-03-17T19:00:00Z')
    expect(await answer(of, uuid, what)).toMatchObject({
      status: 200,
      body: { status: 'pending', answer: { answer: what, sent_at: '2026-03-17T19:00:00.000Z' } },
    })
    expect((await answer(of, uuid, what)).status).toBe(200)
    expect((await answer(of, uuid, what === 'accept' ? 'reject' : 'accept')).body.code).toBe('cancellation_request.answered')
    while ((await settled(sent)) > 0);
    expect(await requestOf(of, uuid)).toMatchObject({ status, estatus, answer: { answer: what } })
    expect((await answer(of, uuid, what)).status).toBe(200)
    expect((await answer(of, uuid, what === 'accept' ? 'reject' : 'accept')).body.code).toBe('cancellation_request.not_pending')
  })

  it('stays the only one while nobody knows whether it arrived, and is sent again', async () => {
    const { of, uuid } = await pending()
    at('2026-03-17T19:00:00Z')
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const database = Object.getPrototypeOf(env.DB)
    const prepare = database.prepare
    const provider = vi.spyOn(database, 'prepare').mockImplementation(function (this: D1Database, ...args: unknown[]) {
      if (/insert into "?sandbox_cancellations/i.test(String(args[0]))) throw new Unavailable('sat_unavailable', 'There is no answer.')
      return prepare.apply(this, args)
    })
    expect((await answer(of, uuid, 'accept')).status).toBe(503)
    provider.mockRestore()
    expect((await requestOf(of, uuid)).answer).toEqual({ answer: 'accept', sent_at: null })
    expect((await answer(of, uuid, 'reject')).body.code).toBe('cancellation_request.answered')
    expect((await answer(of, uuid, 'accept')).body.answer).toEqual({ answer: 'accept', sent_at: '2026-03-17T19:00:00.000Z' })
  })

  it('is refused with a sentence where no provider is configured', async () => {
    const { of, uuid } = await pending()
    const { answerRequest } = await import('../../../src/downloads/status/requests.ts')
    const { contextOf } = await import('../../support/context.ts')
    const row = (await env.DB.prepare('select * from connections where fiscal_entity_id = ?').bind(of.fiscal_entity_id).first<Notified>())!
    const ctx = contextOf(row)
    await expect(
      answerRequest({ ...ctx, settings: { ...ctx.settings, taxAuthority: 'sat' } }, uuid, { answer: 'accept' }),
    ).rejects.toMatchObject({
      code: 'cancellation_request.no_provider',
    })
  })

  it('is refused of a document that the RFC issued, and of one that nobody asked to cancel', async () => {
    const of = await holder(1)
    const [issued] = await of.list('&estatus=vigente&direction=issued&tipo_comprobante=I')
    await of.cancel(issued.uuid, '2026-03-20T18:00:00Z')
    await of.check(issued.uuid)
    expect((await answer(of, issued.uuid, 'accept')).body.code).toBe('cancellation_request.not_received')
    const [{ uuid }] = await invoicesOf(of)
    expect((await answer(of, uuid, 'accept')).body.code).toBe('cancellation_request.not_found')
  })
})
