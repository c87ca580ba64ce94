import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { obligationsAt } from '../../../src/authority/sandbox/documents/constancia.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import { circleOf } from '../../../src/authority/sandbox/world/taxpayers.ts'
import type { Document } from '../../../src/documents/contract.ts'
import type { Obligations } from '../../../src/documents/obligations/contract.ts'
import { notifyDueSoon } from '../../../src/documents/obligations/due-soon.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { obligationsOf } from '../../analytics/oracle/obligations.ts'
import { DEFAULT_RULES } from '../../analytics/oracle/rules.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { basic, request } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { delivers, type Reader, reader, relay, runsOn } from '../support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

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

const ISR = { ...IVA, description: 'Pago provisional mensual de ISR personas morales régimen general' }
const WAGES = { ...IVA, description: 'Entero de retenciones mensuales de ISR por sueldos y salarios' }
const SUPPLIERS = { ...DIOT, description: 'Declaración de proveedores de IVA', from: '2026-01-01' }
const YEARLY = {
  description: 'Declaración anual de ISR del ejercicio Personas morales.',
  due_rule: 'Dentro de los tres meses siguientes al cierre del ejercicio.',
}
const INFORMATIVE = {
  description: 'Declaración informativa de IVA con la anual de ISR',
  due_rule: 'Conjuntamente con la declaración anual del ejercicio.',
}

/** The statuses of a period by the descriptions of the obligations. */
const statusesOf = async (of: Reader, period: string) =>
  Object.fromEntries((await listed(of)).data.filter((row) => row.period === period).map((row) => [row.description, row.status]))

describe('what a return files', () => {
  it('is the obligation that it shows: a return for IVA with an amount of ISR files these, and neither the DIOT nor what is withheld of wages', async () => {
    const rfc = 'EKU900315AC1'
    const one = await reader(rfc, WITH_RETURNS)
    registers(rfc, [IVA, ISR, WAGES, SUPPLIERS], (end) => end === '2026-01-31')
    await runsOn('2026-03-10', rfc, [one])
    const [{ attributes, document_id }] = (await one.documents('&kind=declaracion')) as [Document]
    expect(attributes).toMatchObject({ impuesto: 'IVA', isr_a_cargo: expect.any(String) })
    const [unknown, isFiled] = [
      { status: 'unknown', declaration_id: null },
      { status: 'filed', declaration_id: document_id },
    ]
    const january = (await listed(one)).data.filter(({ period }) => period === '2026-01')
    expect(january).toMatchObject([
      { description: WAGES.description, ...unknown, due_date: '2026-02-17' },
      { description: IVA.description, ...isFiled },
      { description: ISR.description, ...isFiled },
      { description: SUPPLIERS.description, ...unknown, due_date: '2026-03-02' },
    ])
    // Nothing at all was filed for February. The DIOT is not among the returns that the authority lists.
    at('2026-04-10T18:00:00Z')
    expect(await statusesOf(one, '2026-02')).toEqual({
      ...{ [IVA.description]: 'overdue', [ISR.description]: 'overdue', [WAGES.description]: 'overdue', [SUPPLIERS.description]: 'unknown' },
    })
  })

  it('is what its impuesto names, alone or between commas', async () => {
    const rfc = 'EKU900315AC2'
    const one = await reader(rfc, WITH_RETURNS)
    const obligations = [IVA, ISR, WAGES, SUPPLIERS]
    const as = async (impuesto: string, day: string) => {
      delivers((source) =>
        filesOf(rfc, source as never, new Date())
          .filter(({ period_end }) => period_end === null || period_end === '2026-01-31')
          .map((file) => (file.kind === 'obligations' ? { ...file, fields: { obligations } as never } : file))
          .map((file) =>
            file.period_end ? { ...file, ...named(impuesto), attributes: { ejercicio: '2026', periodo: '01', impuesto } } : file,
          ),
      )
      await runsOn(day, rfc, [one])
      return Object.values(await statusesOf(one, '2026-01'))
    }
    // A return by itself makes what it does not name unknown. Each of these is a document of its own.
    const named = (impuesto: string) => ({ name: `${impuesto}.pdf`, bytes: new TextEncoder().encode(impuesto) })
    expect(await as('Impuesto especial sobre producción y servicios', '2026-03-10')).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
    expect(await as('ISR retenciones por salarios, DIOT', '2026-03-11')).toEqual(['filed', 'unknown', 'unknown', 'filed'])
    expect(await as('IMPUESTO AL VALOR AGREGADO', '2026-03-12')).toEqual(['filed', 'filed', 'unknown', 'filed'])
  })

  it('is of a year the annual return for the tax, and not what is informative beside it', async () => {
    const rfc = 'EKU900315AC3'
    const one = await reader(rfc, WITH_RETURNS)
    const since = { from: '2024-01-01', to: null }
    registers(
      rfc,
      [
        { ...YEARLY, ...since },
        { ...INFORMATIVE, ...since },
      ],
      (end) => end === '2024-12-31',
    )
    await runsOn('2026-04-10', rfc, [one])
    expect(await statusesOf(one, '2024')).toEqual({ [YEARLY.description]: 'filed', [INFORMATIVE.description]: 'unknown' })
    expect(await statusesOf(one, '2025')).toEqual({ [YEARLY.description]: 'overdue', [INFORMATIVE.description]: 'unknown' })
  })

  it('is neither of two obligations for the same tax, because it does not say which', async () => {
    const rfc = 'EKU900315AC4'
    const one = await reader(rfc, WITH_RETURNS)
    const RENT = { ...ISR, description: 'Pago provisional mensual de ISR por arrendamiento' }
    registers(rfc, [IVA, ISR, RENT], (end) => end === '2026-01-31')
    await runsOn('2026-03-10', rfc, [one])
    expect(await statusesOf(one, '2026-01')).toEqual({
      ...{ [IVA.description]: 'filed', [ISR.description]: 'unknown', [RENT.description]: 'unknown' },
    })
  })
})

describe('a due date', () => {
  it('on a Saturday, Sunday or holiday is the next business day, by which it is overdue; the extension counts from the 17th', async () => {
    // The sixth digit is 5: three business days.
    const rfc = 'EKU900315AD1'
    const one = await reader(rfc, WITH_RETURNS)
    const since = { from: '2025-10-01', to: null }
    const FIFTH = { description: 'IEPS', due_rule: 'A más tardar el día 5 del mes inmediato posterior.' }
    registers(
      rfc,
      [
        { ...IVA, ...since },
        { ...DIOT, ...since },
        { ...FIFTH, ...since },
      ],
      () => false,
    )
    await runsOn('2026-01-10', rfc, [one])
    const dates = async () =>
      (await listed(one)).data.map(({ description, period, due_date, extended_due_date }) => [
        ...[description.slice(0, 4), period, due_date, extended_due_date],
      ])
    expect(await dates()).toEqual([
      ['IEPS', '2025-10', '2025-11-05', null],
      // Monday 17 November is a holiday.
      ['Pago', '2025-10', '2025-11-18', '2025-11-20'],
      // Sunday 30 November.
      ['DIOT', '2025-10', '2025-12-01', null],
      ['IEPS', '2025-11', '2025-12-05', null],
      ['Pago', '2025-11', '2025-12-17', '2025-12-22'],
      // The authority is on vacation from 18 December to 2 January, which counts for returns.
      ['DIOT', '2025-11', '2025-12-31', null],
      ['IEPS', '2025-12', '2026-01-05', null],
      // Saturday 17 January: Monday, and three business days from the 17th.
      ['Pago', '2025-12', '2026-01-19', '2026-01-21'],
      // Saturday 31 January, and Monday 2 February is a holiday.
      ['DIOT', '2025-12', '2026-02-03', null],
      ['IEPS', '2026-01', '2026-02-05', null],
      ['Pago', '2026-01', '2026-02-17', '2026-02-20'],
      ['DIOT', '2026-01', '2026-03-02', null],
    ])
    const december = async (day: string) => {
      at(`${day}T18:00:00Z`)
      return (await statusesOf(one, '2025-12'))[IVA.description]
    }
    expect([await december('2026-01-17'), await december('2026-01-19'), await december('2026-01-20')]).toEqual([
      'pending',
      'pending',
      'overdue',
    ])
  })
})

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
    // None of them is annual.
    expect(basis.rules.map(({ key }) => key)).toEqual(['obligation.due_day', 'obligation.extension_days'])
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
      const asked = { rfc, today: day, rules: () => DEFAULT_RULES, obligations: obligationsAt(self, day) as never }
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
    await notifyDueSoon(systemOf(env, new Date(), 'test'))
    await relay()
  }
  const notifiedTo = async (of: Reader): Promise<Record<string, unknown>[]> =>
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
    const notified = await notifiedTo(one)
    const head = { fiscal_entity_id: expect.any(String), rfc, description: IVA.description, periodicity: 'monthly', period: '2026-02' }
    const days = { due_date: '2026-03-17', extended_due_date: '2026-03-20' }
    expect(notified).toMatchObject([
      { ...head, ...days, days_left: 5, occurred_at: '2026-03-12T10:00:00.000Z' },
      { ...head, ...days, days_left: 1, occurred_at: '2026-03-16T10:00:00.000Z' },
    ])
    for (const of of [filed, left, none]) expect(await notifiedTo(of)).toEqual([])
    await dailyOn('2026-03-30')
    expect((await notifiedTo(one)).slice(2)).toMatchObject([
      { description: 'DIOT', due_date: '2026-03-31', extended_due_date: null, days_left: 1 },
    ])
  })

  it('goes by the due date after a weekend, also across the end of a month, and comes although a return for another tax is there', async () => {
    const rfc = 'EKU900315AB4'
    const one = await reader(rfc, WITH_RETURNS)
    // The DIOT of January is due on Saturday 28 February, and so on Monday 2 March.
    registers(rfc, [IVA, SUPPLIERS], (end) => end === '2026-01-31')
    await runsOn('2026-02-20', rfc, [one])
    for (const day of ['2026-02-23', '2026-02-25', '2026-02-27', '2026-03-01']) await dailyOn(day)
    expect(await notifiedTo(one)).toMatchObject(
      [5, 1].map((days_left) => ({ description: SUPPLIERS.description, period: '2026-01', due_date: '2026-03-02', days_left })),
    )
  })

  it('a crash before or after the relay loses nothing and repeats nothing', async () => {
    const rfc = 'EKU900315AB3'
    const one = await reader(rfc, ['sat_obligations'])
    registers(rfc, [IVA], () => true)
    await runsOn('2026-03-10', rfc, [one])
    at('2026-03-12T10:00:00Z')
    const system = () => systemOf(env, new Date(), 'test')
    const batch = vi.spyOn(Object.getPrototypeOf(env.LEDGER_0) as D1Database, 'batch')
    await notifyDueSoon(system())
    // The events of the outbox are there twice, and are told once.
    await notifyDueSoon(system())
    expect(batch).toHaveBeenCalled()
    await relay()
    await notifyDueSoon(system())
    await relay()
    expect(await notifiedTo(one)).toHaveLength(1)
  })
})
