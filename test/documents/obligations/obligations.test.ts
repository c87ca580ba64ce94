import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import { obligationsAt } from '../../../src/authority/sandbox/documents/registration.ts'
import { circleOf } from '../../../src/authority/sandbox/world/taxpayers.ts'
import type { Obligations } from '../../../src/documents/obligations/contract.ts'
import { tellDueSoon } from '../../../src/documents/obligations/due-soon.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { obligationsOf } from '../../insight/oracle/obligations.ts'
import { DEFAULT_RULES } from '../../insight/oracle/rules.ts'
import { basic, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { delivers, type Reader, reader, relay, runsOn } from '../support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const WITH_RETURNS = ['sat_obligations', 'sat_declaracion_mensual', 'sat_declaracion_anual']
const listed = async (of: Reader): Promise<Obligations> => (await of.ask('GET', `${of.path}/obligations`)).body

/** From here on the authority lists these obligations, and delivers the returns of these months only, as if of another. */
const registers = (rfc: string, obligations: object[], isFiled: (period_end: string) => boolean, periodo?: string) =>
  delivers((source) =>
    filesOf(rfc, source as never, new Date())
      .filter(({ period_end }) => period_end === null || isFiled(period_end))
      .map((file) => (file.kind === 'obligations' ? { ...file, fields: { obligations } as never } : file))
      .map((file) => (file.period_end && periodo ? { ...file, attributes: { ...file.attributes, periodo } } : file)),
  )

const IVA = {
  description: 'Pago definitivo mensual de IVA.',
  due_rule: 'A más tardar el día 17 del mes inmediato posterior.',
  from: '2026-01-01',
  to: null,
}
const DIOT = { description: 'DIOT', due_rule: 'A más tardar el último día del mes inmediato posterior.', from: '2026-02-01', to: null }
const GONE = { ...IVA, description: 'Concluida', to: '2026-01-31' }
const ODD = { ...IVA, description: 'Otra', due_rule: 'Cuando se solicite.' }

describe('GET /fiscal-entities/{id}/obligations', () => {
  it('by hand: due dates, the extension by the sixth digit, what is filed, overdue and pending', async () => {
    // The sixth digit is 5: three business days. 2026-03-16 is a holiday, 17 March a Tuesday.
    const rfc = 'EKU900315AB1'
    const one = await reader(rfc, WITH_RETURNS)
    registers(rfc, [IVA, DIOT, GONE, ODD], (end) => end === '2026-01-31')
    await runsOn('2026-03-10', rfc, [one])
    const { data, source, as_of, basis } = await listed(one)
    expect([as_of, source]).toMatchObject(['2026-03-10', { data_source_key: 'sat_obligations', document_date: '2026-03-01' }])
    const [january] = await one.documents('&kind=declaracion')
    const of = ({ description, due_rule }: typeof IVA, periodicity: string) => ({ description, due_rule, periodicity })
    expect(data).toEqual([
      // January was filed; the 17th of February 2026 is a Tuesday, and three business days later it is Friday.
      {
        ...{ ...of(IVA, 'monthly'), period: '2026-01', due_date: '2026-02-17', extended_due_date: '2026-02-20' },
        ...{ status: 'filed', declaration_id: january!.document_id },
      },
      {
        ...{ ...of(IVA, 'monthly'), period: '2026-02', due_date: '2026-03-17', extended_due_date: '2026-03-20' },
        ...{ status: 'pending', declaration_id: null },
      },
      {
        ...{ ...of(DIOT, 'monthly'), period: '2026-02', due_date: '2026-03-31', extended_due_date: null },
        ...{ status: 'pending', declaration_id: null },
      },
      {
        ...{ ...of(IVA, 'monthly'), period: '2026-03', due_date: '2026-04-17', extended_due_date: '2026-04-22' },
        ...{ status: 'pending', declaration_id: null },
      },
      {
        ...{ ...of(DIOT, 'monthly'), period: '2026-03', due_date: '2026-04-30', extended_due_date: null },
        ...{ status: 'pending', declaration_id: null },
      },
      {
        ...{ ...of(ODD, 'unknown'), period: null, due_date: null, extended_due_date: null },
        ...{ status: 'unknown', declaration_id: null },
      },
    ])
    expect(basis.rules.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['obligation.due_day', 'obligation.extension_days', 'obligation.annual_due']),
    )
    at('2026-03-18T18:00:00Z')
    expect((await listed(one)).data[1]).toMatchObject({ period: '2026-02', status: 'overdue' })
  })

  it('is what the oracle says of the documents, on several days, and unknown for who downloads no returns', async () => {
    const rfc = freshRfc()
    const [one, other] = [await reader(rfc, WITH_RETURNS), await reader(rfc, ['sat_csf', 'sat_opinion_32d'])]
    for (const day of ['2026-03-10', '2026-04-16', '2026-05-05']) {
      await runsOn(day, rfc, [one, other])
      const returns = (await one.documents('&kind=declaracion')).map((row) => ({ ...row, period_end: row.period_end! }))
      const { self } = circleOf(rfc)
      const asked = { rfc, today: day, rules: DEFAULT_RULES, obligations: obligationsAt(self, day) as never }
      expect((await listed(one)).data).toEqual(obligationsOf({ ...asked, returns, downloaded: { monthly: true, annual: true } }))
      const seen = await listed(other)
      expect(seen.source!.data_source_key).toBe('sat_csf')
      expect(seen.data).toEqual(obligationsOf({ ...asked, returns: [], downloaded: { monthly: false, annual: false } }))
    }
  })

  it('has no rows without a document, is a table for spreadsheets, and a 404 without a connection', async () => {
    const rfc = freshRfc()
    const [one, other] = [await reader(rfc, ['sat_obligations']), await reader(freshRfc(), ['sat_csf'])]
    expect(await listed(one)).toMatchObject({ source: null, data: [] })
    await runsOn('2026-03-10', rfc, [one])
    const csv = await request('GET', `${one.path}/obligations`, { headers: { authorization: basic(one.owner), accept: 'text/csv' } })
    expect(csv.body).toMatch(/^description,periodicity,due_rule,period,due_date,extended_due_date,status,declaration_id\r\n/)
    expect((await other.ask('GET', `${one.path}/obligations`)).status).toBe(404)
  })
})

describe('obligation.due_soon', () => {
  const dailyOn = async (day: string) => {
    at(`${day}T10:00:00Z`)
    await tellDueSoon(systemOf(env, new Date(), 'test'))
    await relay()
  }
  const toldTo = async (of: Reader): Promise<Record<string, unknown>[]> =>
    (await of.ask('GET', '/v1/events?limit=100')).body.data.filter(({ event }: { event: string }) => event === 'obligation.due_soon')

  it('comes five days and one day before, once each, to organizations that can read the obligation and no return', async () => {
    const rfc = 'EKU900315AB2'
    const [one, filed, left, none] = [
      await reader(rfc, ['sat_obligations']),
      await reader(rfc, WITH_RETURNS),
      await reader(rfc),
      await reader(rfc, ['sat_certificates']),
    ]
    registers(rfc, [IVA, DIOT, GONE, ODD], (end) => end === '2026-01-31', '02')
    await runsOn('2026-03-10', rfc, [one, filed, left, none])
    await left.ask('PATCH', `/v1/billing/rfcs/${left.fiscal_entity_id}`, { active: false })
    for (const day of ['2026-03-11', '2026-03-12', '2026-03-12', '2026-03-13', '2026-03-16', '2026-03-16', '2026-03-17']) await dailyOn(day)
    const told = await toldTo(one)
    const head = { fiscal_entity_id: expect.any(String), rfc, description: IVA.description, periodicity: 'monthly', period: '2026-02' }
    const days = { due_date: '2026-03-17', extended_due_date: '2026-03-20' }
    expect(told).toMatchObject([
      { ...head, ...days, days_left: 5, occurred_at: '2026-03-12T10:00:00.000Z' },
      { ...head, ...days, days_left: 1, occurred_at: '2026-03-16T10:00:00.000Z' },
    ])
    for (const of of [filed, left, none]) expect(await toldTo(of)).toEqual([])
    await dailyOn('2026-03-30')
    expect((await toldTo(one)).slice(2)).toMatchObject([
      { description: 'DIOT', due_date: '2026-03-31', extended_due_date: null, days_left: 1 },
    ])
  })

  it('a crash before or after the relay loses nothing and repeats nothing', async () => {
    const rfc = 'EKU900315AB3'
    const one = await reader(rfc, ['sat_obligations'])
    registers(rfc, [IVA], () => true)
    await runsOn('2026-03-10', rfc, [one])
    at('2026-03-12T10:00:00Z')
    const system = () => systemOf(env, new Date(), 'test')
    const batch = vi.spyOn(Object.getPrototypeOf(env.LEDGER_0) as D1Database, 'batch')
    await tellDueSoon(system())
    // The events of the outbox are there twice, and are told once.
    await tellDueSoon(system())
    expect(batch).toHaveBeenCalled()
    await relay()
    await tellDueSoon(system())
    await relay()
    expect(await toldTo(one)).toHaveLength(1)
  })
})
