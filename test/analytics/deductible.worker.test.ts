import { sql } from 'drizzle-orm'
import { afterEach, describe, expect, it } from 'vitest'
import defaults from '../../assets/rules.json' with { type: 'json' }
import { assertShort } from '../../scripts/rule-commands.ts'
import { openInsight } from '../../src/analytics/common/insight.ts'
import { deductionsStatement } from '../../src/analytics/deductions/store.ts'
import { usesOf } from '../../src/analytics/deductions/uses.ts'
import type { Sets } from '../../src/analytics/risk/sets.ts'
import { knownSuppliers } from '../../src/analytics/vat/exclusions.ts'
import { statementsOf } from '../../src/analytics/vat/position.ts'
import { NO_USES } from '../../src/analytics/vat/store.ts'
import type { RuleRow } from '../../src/authority/rules/dated.ts'
import { textOf } from '../../src/platform/db/statement.ts'
import { partitionsToRead } from '../../src/taxpayers/visibility/scoped-ledger.ts'
import { contextOf, reaching } from '../support/context.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros, money } from './oracle/amounts.ts'
import { setOwnRules } from './support/facts.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/** Purchases whose deduction and IVA depend on how they are paid and what they are (LISR 27-III, 28-XX, 36-II; LIVA 5-I). */
const [SUPPLIER, CUSTOMER] = ['DDD040404DD3', 'BBB020202BB1']
const id = (n: number) => `0000${n.toString(16).toUpperCase().padStart(4, '0')}-DEDC-4000-8000-000000000000`
const MONTH = 'from=2026-05&to=2026-05'

type Row = Awaited<ReturnType<Organization['ask']>>['body']
type Document = Omit<Written, 'emisor' | 'receptor' | 'uuid'> & { n: number }

async function book(documents: readonly Document[]) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner)
  const sold = { uuid: id(999), fecha: '2026-05-01', emisor: rfc, receptor: CUSTOMER, lines: [{ importe: 1 }] }
  const bought = documents.map(({ n, ...one }): Written => ({ uuid: id(n), emisor: SUPPLIER, receptor: rfc, ...one }))
  await importInto(of, fiscal_entity_id, [...bought, sold])
  const ask = async (path: string): Promise<Row> => {
    const own = path.includes('fiscal_entity_id=') ? '' : `${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}`
    const { status, body } = await of.ask('GET', `/v1/${path}${own}`)
    expect([path, status, body.detail]).toEqual([path, 200, undefined])
    return body
  }
  const sumOf = async (path: string) => money((await ask(path))['data'].reduce((all: bigint, { amount }: Row) => all + micros(amount), 0n))
  return {
    ask,
    /** Of each document: its number, status, deductible amount and reasons. The rows and the entries add up to the totals. */
    async deductions() {
      const { data, totals } = await ask(`cfdi/deductions?${MONTH}&limit=100`)
      for (const total of totals)
        for (const figure of ['gross_amount', 'deductible_amount', 'review_amount'])
          expect([figure, await sumOf(total.drilldown[figure].slice(4))]).toEqual([figure, total[figure]])
      const all = data.reduce((sum: bigint, row: Row) => sum + micros(row.deductible_amount), 0n)
      expect(money(all)).toBe(money(totals.reduce((sum: bigint, row: Row) => sum + micros(row.deductible_amount), 0n)))
      for (const { status, questions } of data) expect(status === 'review').toBe(questions.length > 0)
      return data.map(({ uuid, status, deductible_amount, reasons }: Row) => [
        documents.find(({ n }) => id(n) === uuid)!.n,
        status,
        deductible_amount,
        reasons,
      ])
    },
    /** The excluded IVA of May with its reasons, and what is to be reviewed; entries add up to both. */
    async vat() {
      const [may] = (await ask('analytics/vat-position?period=2026-05'))['data']
      for (const figure of ['no_deducible_excluded', 'por_revisar', 'pagado.iva_16'])
        expect([figure, await sumOf(`analytics/vat-position/entries?period=2026-05&limit=100&figure=${figure}`)]).toEqual([
          figure,
          figure.includes('.') ? may.pagado.iva_16 : may[figure],
        ])
      return {
        excluded: may.no_deducible_excluded,
        by: may.excluded.map(({ reason, iva }: Row) => [reason, iva]),
        review: may.questions.map(({ reason, iva }: Row) => [reason, iva]),
      }
    },
    async flagged(code: string) {
      const { data } = await ask(`cfdi/risk?${MONTH}&limit=100&code=${code}`)
      return data.map(({ uuid }: Row) => documents.find(({ n }) => id(n) === uuid)!.n).sort()
    },
  }
}

const invoice = (n: number, net: number, more: Partial<Document> = {}): Document => ({
  ...{ n, fecha: '2026-05-02', metodo: 'PPD', lines: [{ importe: net }] },
  ...more,
})
const paid = (n: number, forma: string, of: [n: number, pagado: number][], day = '2026-05-10'): Document => ({
  ...{ n, fecha: day, tipo: 'P', forma, pago: [day, of.map(([one, pagado]) => ({ uuid: id(one), pagado }))] },
})
const note = (n: number, of: number, net: number, more: Partial<Document> = {}): Document => ({
  ...{ n, fecha: '2026-05-20', tipo: 'E', uso: 'G02', forma: '03', relacion: ['01', id(of)], lines: [{ importe: net }] },
  ...more,
})

afterEach(() => setOwnRules([]))

describe('cash', () => {
  it('is judged by the amount of the payment, whatever invoices it pays', async () => {
    // 3,480 in one payment, of three invoices of 1,160 each.
    const set = await book([
      ...[1, 2, 3].map((n) => invoice(n, 1_000)),
      paid(4, '01', [
        [1, 1_160],
        [2, 1_160],
        [3, 1_160],
      ]),
    ])
    expect(await set.deductions()).toEqual([1, 2, 3].map((n) => [n, 'not_deductible', '0.00', ['cash_over_2000']]))
    expect(await set.vat()).toEqual({ excluded: '480.00', by: [['cash_over_2000', '480.00']], review: [] })
    expect(await set.flagged('cash_over_2000')).toEqual([1, 2, 3])
  })

  it('is judged by Monto, which pays more than the invoice that is known', async () => {
    const payment = (n: number, of: number, monto: number): Document => ({
      ...paid(n, '01', [[of, 1_160]]),
      pago: ['2026-05-10', [{ uuid: id(of), pagado: 1_160 }], ['MXN', '1'], monto],
    })
    const set = await book([invoice(1, 1_000), payment(2, 1, 2_000.01), invoice(3, 1_000), payment(4, 3, 2_000)])
    expect((await set.deductions()).map(([n, status]: Row) => [n, status])).toEqual([
      [1, 'not_deductible'],
      [3, 'eligible'],
    ])
    expect([(await set.vat()).excluded, await set.flagged('cash_over_2000')]).toEqual(['160.00', [1]])
  })

  it('excludes the same part of an invoice from the deduction and from the IVA', async () => {
    const set = await book([invoice(1, 10_000), paid(2, '01', [[1, 5_800]]), paid(3, '03', [[1, 5_800]], '2026-05-11')])
    expect(await set.deductions()).toEqual([[1, 'eligible', '5000.00', ['cash_over_2000']]])
    expect(await set.vat()).toEqual({ excluded: '800.00', by: [['cash_over_2000', '800.00']], review: [] })
    expect(await set.flagged('cash_over_2000')).toEqual([1])
  })

  it('excludes a credit note in the part of the payments that it returns, and not in what it takes off the balance', async () => {
    // Of 11,600, 5,800 are paid in cash: nothing remains deductible when the rest is taken off.
    const open = await book([invoice(1, 10_000), paid(2, '01', [[1, 5_800]]), note(3, 1, 5_000)])
    expect(await open.deductions()).toEqual([
      [1, 'eligible', '5000.00', ['cash_over_2000']],
      [3, 'eligible', '-5000.00', []],
    ])
    // Half in cash and half by transfer: half of what is returned was never deducted.
    const returned = await book([
      invoice(1, 10_000),
      paid(2, '01', [[1, 5_800]]),
      paid(3, '03', [[1, 5_800]], '2026-05-11'),
      note(4, 1, 2_000),
    ])
    expect(await returned.deductions()).toEqual([
      [1, 'eligible', '5000.00', ['cash_over_2000']],
      [4, 'eligible', '-1000.00', ['cash_over_2000']],
    ])
    expect(await returned.vat()).toMatchObject({ excluded: '640.00' })
  })

  it('of several payments of at most 2,000 on a larger invoice is to be reviewed, and excluded by an option', async () => {
    const documents = [
      invoice(1, 3_000),
      paid(2, '01', [[1, 1_740]]),
      paid(3, '01', [[1, 1_740]], '2026-05-11'),
      // One payment, or an invoice of at most 2,000, is no question.
      invoice(4, 3_000),
      paid(5, '01', [[4, 1_740]]),
      paid(6, '03', [[4, 1_740]], '2026-05-11'),
      invoice(7, 1_000),
      paid(8, '01', [[7, 580]]),
      paid(9, '01', [[7, 580]], '2026-05-11'),
    ]
    const set = await book(documents)
    expect(await set.deductions()).toEqual([
      [1, 'review', '0.00', ['cash_in_parts']],
      [4, 'eligible', '3000.00', []],
      [7, 'eligible', '1000.00', []],
    ])
    expect(await set.vat()).toEqual({ excluded: '0.00', by: [], review: [['cash_in_parts', '480.00']] })
    expect([await set.flagged('cash_in_parts'), await set.flagged('cash_over_2000')]).toEqual([[1], []])
    await setOwnRules([
      {
        ...{ key: 'cash.several_payments', value: 'excluded', valid_from: '2020-01-01', valid_to: null },
        ...{ rule_ref: 'Own', source: 'An operator', confidence: 'proposed' },
      },
    ])
    const strict = await book(documents)
    expect((await strict.deductions())[0]).toEqual([1, 'not_deductible', '0.00', ['cash_over_2000']])
    expect(await strict.vat()).toEqual({ excluded: '480.00', by: [['cash_over_2000', '480.00']], review: [] })
    expect([await strict.flagged('cash_in_parts'), await strict.flagged('cash_over_2000')]).toEqual([[], [1]])
  })
})

describe('fuel in cash', () => {
  const stop = (n: number, forma: string, fuel: number, other: number, more: Partial<Document> = {}): Document => ({
    ...{ n, fecha: '2026-05-02', forma },
    lines: [
      { clave: '15101514', importe: fuel },
      { clave: '50202306', importe: other },
    ],
    ...more,
  })

  it('takes out the lines of fuel of an invoice, and not what was bought with it', async () => {
    const set = await book([
      stop(1, '01', 333.33, 100),
      stop(2, '03', 500, 100),
      invoice(3, 100, { metodo: 'PUE', forma: '01', lines: [{ clave: '15101514', importe: 100 }] }),
      // Above 2,000 all of it is out.
      stop(4, '01', 500, 1_500),
      // Of 696, 348 are paid in cash, of which 5/6 are fuel.
      stop(5, '99', 500, 100, { metodo: 'PPD' }),
      paid(6, '01', [[5, 348]]),
      paid(7, '03', [[5, 348]], '2026-05-11'),
      // Half of the fuel was never deducted, and half of the note returns what was.
      note(8, 1, 43.33),
      note(9, 5, 60),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'eligible', '100.00', ['fuel_not_electronic']],
      [2, 'eligible', '600.00', []],
      [3, 'not_deductible', '0.00', ['fuel_not_electronic']],
      [4, 'not_deductible', '0.00', ['cash_over_2000', 'fuel_not_electronic']],
      [5, 'eligible', '350.00', ['fuel_not_electronic']],
      [8, 'eligible', '-10.00', ['fuel_not_electronic']],
      [9, 'eligible', '-35.00', ['fuel_not_electronic']],
    ])
    // 53.33 + 16 + 320 + 40 − 5.33 − 4.
    expect((await set.vat()).by).toEqual([
      ['cash_over_2000', '320.00'],
      ['fuel_not_electronic', '100.00'],
    ])
  })
})

describe('restaurants', () => {
  const ate = (n: number, forma: string, clave = '90101501', more: Partial<Document> = {}): Document => ({
    ...{ n, fecha: '2026-05-02', forma, lines: [{ clave, importe: 1_000 }] },
    ...more,
  })

  it('have their IVA credited in the part that is deducted, and a credit note follows its purchase', async () => {
    const set = await book([
      ate(1, '04'),
      ate(2, '03'),
      ate(3, '28', '90101502'),
      // Notes with a key that says nothing.
      note(4, 1, 100),
      note(5, 2, 100),
      note(6, 3, 100),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'eligible', '85.00', []],
      [2, 'not_deductible', '0.00', ['restaurant_not_by_card']],
      [3, 'not_deductible', '0.00', ['bar']],
      [4, 'eligible', '-8.50', []],
      [5, 'not_deductible', '0.00', ['restaurant_not_by_card']],
      [6, 'not_deductible', '0.00', ['bar']],
    ])
    // 480 less 48 are paid; 8.5 % of 160 less 16 are credited.
    expect(await set.vat()).toEqual({
      excluded: '419.76',
      by: [
        ['bar', '144.00'],
        ['restaurant_not_by_card', '144.00'],
        ['restaurant', '131.76'],
      ],
      review: [],
    })
  })

  it('are judged by each payment, and in another state there is a question', async () => {
    const set = await book([
      ate(1, '99', '90101501', { metodo: 'PPD' }),
      paid(2, '04', [[1, 580]]),
      paid(3, '03', [[1, 580]], '2026-05-11'),
      ate(4, '04', '90101501', { lugar: '64000' }),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'eligible', '42.50', ['restaurant_not_by_card']],
      [4, 'review', '0.00', ['possible_travel']],
    ])
    // 80 by transfer; 91.5 % of 80 and of 160.
    expect(await set.vat()).toEqual({
      excluded: '299.60',
      by: [
        ['restaurant_not_by_card', '80.00'],
        ['restaurant', '219.60'],
      ],
      review: [['possible_travel', '160.00']],
    })
  })
})

describe('restaurants whose form of payment is not known', () => {
  const ate = (n: number, more: Partial<Document>): Document => ({
    ...{ n, fecha: '2026-05-02', lines: [{ clave: '90101501', importe: 1_000 }] },
    ...more,
  })

  it('are a question while something is owed, or if the invoice says 99', async () => {
    const set = await book([
      ate(1, { metodo: 'PPD' }),
      ate(2, { metodo: 'PPD' }),
      paid(3, '04', [[2, 580]]),
      ate(4, { metodo: 'PPD' }),
      paid(5, '04', [[4, 1_160]]),
      ate(6, { forma: '99' }),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'review', '0.00', ['restaurant_form_unknown']],
      [2, 'review', '0.00', ['restaurant_form_unknown']],
      [4, 'eligible', '85.00', []],
      [6, 'review', '0.00', ['restaurant_form_unknown']],
    ])
    const { data } = await set.ask(`cfdi/deductions?${MONTH}`)
    expect(data[0].questions).toEqual(['Is it paid by card or electronic wallet (LISR 28-XX)?'])
    expect((await set.vat()).review).toEqual([['restaurant_form_unknown', '160.00']])
  })
})

describe('vehicles', () => {
  const car = (n: number, clave: string, net: number, more: Partial<Document> = {}): Document =>
    invoice(n, net, { metodo: 'PUE', uso: 'I03', lines: [{ clave, importe: net }], ...more })

  it('have 175,000 of cost each, 250,000 with an electric motor, and their IVA in the same proportion', async () => {
    const set = await book([
      car(1, '25101503', 400_000),
      car(2, '25101509', 400_000),
      car(3, '25101503', 150_000),
      // Goods of a dealer, a pickup, two cars of 200,000, and two of 100,000 and 350,000.
      car(4, '25101503', 400_000, { uso: 'G01' }),
      car(5, '25101507', 400_000),
      car(6, '25101503', 400_000, { lines: [{ clave: '25101503', importe: 400_000, cantidad: 2 }] }),
      car(7, '25101503', 450_000, { lines: [100_000, 350_000].map((importe) => ({ clave: '25101503', importe })) }),
      note(8, 1, 40_000),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '43750.00', ['cap_vehicle']],
      [2, 'capped', '62500.00', ['cap_vehicle']],
      [3, 'eligible', '37500.00', []],
      [4, 'eligible', '400000.00', []],
      [5, 'review', '0.00', ['vehicle_review']],
      [6, 'capped', '87500.00', ['cap_vehicle']],
      [7, 'capped', '68750.00', ['cap_vehicle']],
      [8, 'capped', '0.00', ['cap_vehicle']],
    ])
    // 36,000 + 24,000 + 8,000 + 28,000 − 6,400: what the note takes off was beyond the limit.
    expect(await set.vat()).toEqual({
      excluded: '89600.00',
      by: [['cap_vehicle', '89600.00']],
      review: [['vehicle_review', '64000.00']],
    })
  })

  it('have their limit in MXN, to the cent, in another currency and as a fleet', async () => {
    const set = await book([
      // With tyres of 1,000.
      car(1, '25101503', 370_000, {
        ...{ moneda: ['USD', '17.8078'] },
        lines: [
          { clave: '25101503', importe: 370_000 },
          { clave: '25172504', importe: 1_000 },
        ],
      }),
      car(2, '25101503', 100_000_000, { lines: [{ clave: '25101503', importe: 100_000_000, cantidad: 200 }] }),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '48201.95', ['cap_vehicle']],
      [2, 'capped', '8750000.00', ['cap_vehicle']],
    ])
    // 16 % of 6,588,886 − 175,000 and of 100,000,000 − 35,000,000.
    expect((await set.vat()).excluded).toBe('11426221.76')
  })

  it('without a stated exchange rate are a question, also beside other lines', async () => {
    const lines = [
      { clave: '25101503', importe: 20_000 },
      { clave: '25172504', importe: 1_000 },
    ]
    const set = await book([car(1, '25101503', 0, { moneda: ['USD', null], lines })])
    expect((await set.deductions()).map(([, status, , reasons]: Row) => [status, reasons.includes('vehicle_review')])).toEqual([
      ['review', true],
    ])
  })

  it('have their limit on the price after discounts: of the line, and of credit notes before and after the payment', async () => {
    const set = await book([
      // 400,000 less 200,000: 175,000 of 200,000.
      car(1, '25101503', 0, { lines: [{ clave: '25101503', importe: 400_000, descuento: 200_000 }] }),
      // 25,000 beyond the limit, then two notes of 20,000: the second one takes back 15,000.
      car(2, '25101503', 200_000),
      note(3, 2, 20_000),
      note(4, 2, 20_000, { fecha: '2026-05-21' }),
      // The note lowers the price before anything is paid.
      car(5, '25101503', 200_000, { metodo: 'PPD' }),
      note(6, 5, 50_000, { fecha: '2026-05-03' }),
      paid(7, '03', [[5, 174_000]]),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '43750.00', ['cap_vehicle']],
      [2, 'capped', '43750.00', ['cap_vehicle']],
      [5, 'capped', '43750.00', ['cap_vehicle']],
      // At the annual rate of the car.
      [6, 'capped', '-6250.00', ['cap_vehicle']],
      [3, 'capped', '0.00', ['cap_vehicle']],
      [4, 'capped', '-3750.00', ['cap_vehicle']],
    ])
    // 4,000; 4,000 less 3,200 and 800; nothing of the third, which cost 150,000.
    expect(await set.vat()).toEqual({ excluded: '4000.00', by: [['cap_vehicle', '4000.00']], review: [] })
  })
})

describe('a note on a car', () => {
  it('takes off what was beyond the limit in the currency of the car, and none of other parties does', async () => {
    const other = { emisor: 'EEE050505EE5' } as object
    const set = await book([
      invoice(1, 0, { metodo: 'PUE', uso: 'I03', moneda: ['USD', '20'], lines: [{ clave: '25101503', importe: 20_000 }] }),
      note(2, 1, 200_000, { ...other, fecha: '2026-05-19' }),
      // 225,000 were beyond it: 100,000, and 125,000 of 200,000.
      note(3, 1, 100_000),
      note(4, 1, 200_000, { fecha: '2026-05-21' }),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '43750.00', ['cap_vehicle']],
      [2, 'eligible', '-200000.00', []],
      [3, 'capped', '0.00', ['cap_vehicle']],
      [4, 'capped', '-18750.00', ['cap_vehicle']],
    ])
    expect(await set.vat()).toEqual({ excluded: '0.00', by: [], review: [] })
  })
})

describe('rented cars', () => {
  const rented = (n: number, importe: number, cantidad: number, more: Partial<Document> = {}, unidad = 'DAY'): Document =>
    invoice(n, importe, { metodo: 'PUE', lines: [{ clave: '78111808', importe, cantidad, unidad }], ...more })

  it('have 200 a day, and their IVA in the same part; how many days a month or a service has is a question', async () => {
    const set = await book([
      rented(1, 2_500, 5),
      rented(2, 1_000, 5),
      rented(3, 12_000, 1, {}, 'MON'),
      // With a driver's seat for a child, which has no limit.
      rented(4, 0, 0, {
        lines: [
          { clave: '78111808', importe: 1_000, cantidad: 2, unidad: 'DAY' },
          { clave: '56101805', importe: 1_000 },
        ],
      }),
      // Two cars, of 150 and of 700 a day.
      rented(5, 0, 0, {
        lines: [
          { clave: '78111808', importe: 300, cantidad: 2, unidad: 'DAY' },
          { clave: '78111808', importe: 1_400, cantidad: 2, unidad: 'DAY' },
        ],
      }),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '1000.00', ['cap_car_rental']],
      [2, 'eligible', '1000.00', []],
      [3, 'review', '0.00', ['car_rental_review']],
      [4, 'capped', '1400.00', ['cap_car_rental']],
      [5, 'capped', '700.00', ['cap_car_rental']],
    ])
    // 1,500 + 600 + 1,000, at 16 %.
    expect(await set.vat()).toEqual({
      excluded: '496.00',
      by: [['cap_car_rental', '496.00']],
      review: [['car_rental_review', '1920.00']],
    })
  })

  it('have a lower price after a credit note, unless it takes off days, which is a question', async () => {
    const set = await book([
      rented(1, 2_500, 5),
      // 1,500 are beyond the limit: the first note takes 1,200 off, the second 300 of 500.
      note(2, 1, 1_200),
      note(3, 1, 500, { fecha: '2026-05-21' }),
      // All is returned: nothing remains to be asked.
      rented(4, 2_500, 5),
      note(5, 4, 2_500),
      // A note that comes before the payment.
      rented(6, 2_500, 5, { metodo: 'PPD' }),
      note(7, 6, 1_000, { fecha: '2026-05-03' }),
      paid(8, '03', [[6, 1_740]]),
      // Without anything beyond the limit there is no question.
      rented(9, 1_000, 5),
      note(10, 9, 100),
    ])
    expect(await set.deductions()).toEqual([
      [1, 'capped', '1000.00', ['cap_car_rental']],
      [4, 'capped', '1000.00', ['cap_car_rental']],
      [6, 'capped', '1000.00', ['cap_car_rental']],
      [9, 'eligible', '1000.00', []],
      [7, 'review', '0.00', ['car_rental_review']],
      [2, 'review', '0.00', ['car_rental_review']],
      [5, 'capped', '-1000.00', ['cap_car_rental']],
      [10, 'eligible', '-100.00', []],
      [3, 'review', '0.00', ['car_rental_review']],
    ])
    // 240 − 192 − 48; 240 − 240; 500 of 1,500 at 16 %.
    expect(await set.vat()).toEqual({
      excluded: '80.00',
      by: [['cap_car_rental', '80.00']],
      review: [['car_rental_review', '-32.00']],
    })
  })

  it('with fuel in cash lose both parts, and no more', async () => {
    const lines = [
      { clave: '78111808', importe: 1_000, cantidad: 2, unidad: 'DAY' },
      { clave: '15101514', importe: 300 },
    ]
    const set = await book([rented(1, 0, 0, { forma: '01', lines })])
    expect(await set.deductions()).toEqual([[1, 'capped', '400.00', ['fuel_not_electronic', 'cap_car_rental']]])
    // 600 + 300, at 16 %.
    expect((await set.vat()).excluded).toBe('144.00')
  })

  it('follow the rule of the day of the invoice', async () => {
    await setOwnRules([
      {
        ...{ key: 'deduction.car_rental', value: { claves: ['78111808'], limit: '300' }, valid_from: '2026-05-10', valid_to: null },
        ...{ rule_ref: 'LISR 28-XIII', source: 'A reform', confidence: 'proposed' },
      },
    ])
    const set = await book([rented(1, 2_500, 5), rented(2, 2_500, 5, { fecha: '2026-05-11' })])
    expect((await set.deductions()).map((row: Row) => row[2])).toEqual(['1000.00', '1500.00'])
    expect((await set.vat()).excluded).toBe('400.00')
  })
})

/** What breaks without it: D1 refuses statements of more than 100,000 bytes, and each rule that changes within the range makes them longer. */
const widestRange = () => {
  const windows = reaching(['2018-01-01', '2026-03-01T00:00:00Z'])
  const ctx = contextOf({ rfc: 'PEPJ800101AB1', imported_at: 1, ...windows } as never, { extractor_count: 1 })
  return openInsight(ctx, { from: '2018-01', to: '2026-03', direction: 'received' })
}
const deductionsOf = (insight: Awaited<ReturnType<typeof widestRange>>): string => {
  const sets = {
    ctes: sql``,
    sets: new Set(['list_definitivo', 'repse_absent', 'repse_active', 'repse_expired']),
  } as unknown as Sets
  const uses = usesOf(insight.rules, insight.ledger.rfc, insight.span)
  expect([partitionsToRead(insight.ledger).length, uses.personal.length]).toEqual([2, 10])
  return textOf(deductionsStatement(insight, sets, uses, ['2026-01-01', 'A'], 101)!).sql
}

it('the statement of deductions is small for the widest range, both partitions and every list', async () => {
  expect(deductionsOf(await widestRange()).length).toBeLessThan(60_000)
})

const ofVatPosition = async () => {
  const windows = reaching(['2018-01-01', '2026-03-01T00:00:00Z'])
  const ctx = contextOf({ rfc: 'EKU9003173C9', imported_at: 1, ...windows } as never, { extractor_count: 1 })
  const insight = await openInsight(ctx, { from: '2018-01', to: '2026-03' })
  const { statements } = statementsOf(insight, await knownSuppliers(insight), {
    ...NO_USES,
    taxed: ['JES900109Q90'],
    exempt: ['URE180429TM6'],
  })
  return statements.map((one) => textOf(one).sql.length)
}

it('and so are those of the VAT position', async () => {
  const lengths = await ofVatPosition()
  expect(lengths.length).toBeGreaterThan(4)
  expect(Math.max(...lengths)).toBeLessThan(72_000)
})

describe('the widest own rules that an operator can set', () => {
  const keys = (first: number, count: number) => Array.from({ length: count }, (_, n) => String(first + n))
  const row = (key: string, value: unknown, valid_from = '2018-02-01'): RuleRow =>
    ({ key, value, valid_from, valid_to: null, rule_ref: 'Own', source: 'An operator', confidence: 'proposed' }) as RuleRow
  const defaultOf = (key: string) => defaults.find((one) => one.key === key)!.value as object
  const isShort = (rows: readonly RuleRow[]) => {
    try {
      assertShort(rows, defaults as RuleRow[])
      return true
    } catch (error) {
      expect((error as Error).message).toContain('at most 20000 fit into a statement')
      return false
    }
  }
  /** Values of a growing size, until one more is refused. */
  const widest = (made: (size: number) => RuleRow[]) => {
    let size = 1
    while (size < 2_000 && isShort(made(size + 1))) size++
    expect(size).toBeLessThan(2_000)
    return made(size)
  }
  const vehicles = defaultOf('deduction.vehicles')
  const wide = {
    'one list of keys': (size: number) => [row('deduction.vehicles', { ...vehicles, claves: keys(25_101_503, size) })],
    'many values on days of their own': (size: number) =>
      Array.from({ length: size }, (_, n) =>
        row(
          'deduction.vehicles',
          { ...vehicles, claves: keys(25_101_503, 5 + n) },
          `20${18 + (n >> 3)}-${String(1 + (n & 7)).padStart(2, '0')}-15`,
        ),
      ),
    'restaurants and fuel': (size: number) => [
      row('deduction.restaurants', { ...defaultOf('deduction.restaurants'), claves: keys(90_101_501, size), bars: [] }),
      row('deduction.fuel', { claves: keys(15_101_500, size) }),
    ],
    'what is out of the proportion': (size: number) => [
      row('vat.proportion', [{ reason: 'interest', treatment: 'out', claves: keys(84_121_500, size) }]),
    ],
  }

  it.each(Object.entries(wide))('of %s make statements that D1 carries out', async (_, made) => {
    const rows = widest(made)
    await setOwnRules(rows)
    expect(Math.max(...(await ofVatPosition()))).toBeLessThan(100_000)
    expect(deductionsOf(await widestRange()).length).toBeLessThan(100_000)
    const set = await book([invoice(1, 200_000, { metodo: 'PUE', uso: 'I03', lines: [{ clave: '25101503', importe: 200_000 }] })])
    expect((await set.deductions()).map((one: Row) => one.slice(0, 2))).toEqual([[1, 'capped']])
    expect((await set.vat()).by).toEqual([['cap_vehicle', '4000.00']])
  })
})
