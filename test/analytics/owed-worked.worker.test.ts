import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { importsOf, post, zipWith } from '../cfdi/imports/support/imports.ts'
import { type Plain, plainOf } from '../cfdi/support/documents.ts'
import { basic, request } from '../support/client.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros } from './oracle/amounts.ts'

const random = randomOf(1618)
const [C1, C2, S1] = ['BBB020202BB1', 'CCC030303CC2', 'DDD040404DD3'] as const

let of: Organization
let fiscal_entity_id: string
let book: Record<'f1' | 'f2' | 'f3' | 'f4' | 'f6' | 'x1' | 'x2' | 'x3', Plain>

/** An invoice with 16 % of IVA, to be paid later. */
const plain = (fecha: string, subtotal: string, more: Partial<Plain>): Plain => {
  const iva = (Number(subtotal) * 0.16).toFixed(2)
  const total = (Number(subtotal) * 1.16).toFixed(2)
  return plainOf(random, '2026-01', { tipo: 'I', metodo: 'PPD', fecha: `${fecha}T12:00:00`, subtotal, iva, total, lines: 1, ...more })
}
const paymentOf = (fecha: string, invoice: Plain, pagado: string, moneda?: [string, string]): Plain =>
  plainOf(random, '2026-01', {
    ...{ tipo: 'P', fecha: `${fecha}T13:00:00`, emisor: invoice.emisor, receptor: invoice.receptor },
    pagos: [
      { fecha: `${fecha}T12:00:00`, ...(moneda && { moneda }), documentos: [{ uuid: invoice.uuid, pagado, moneda: invoice.moneda }] },
    ],
  })

/**
 * Issued, with IVA. f1: 1,160 to C1 on 1 June, without terms: due on 1 July. f2: 2,320 to C1 on 1 April, 15 days: due on 16 April; 1,160 of it
 * is paid on 21 April. f3: 580 to C2 on 1 May, at once; a credit note of 116 on 15 May. f4: 580 to C2 on 5 May, net 30: due on 4 June; paid on
 * 10 May. f6: 232 to C2 on 15 January, without terms: due on 14 February. In dollars: x1, 1,160 to C1 on 2 March at 18, of which 580 are paid
 * on 10 April at 19; x2, 232 of S1 on 5 March at 17. x3: 6,960 to C2 on 3 March, at once (PUE).
 */
beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  const us = connected.rfc
  const sale = (receptor: string, condiciones?: string) => ({ emisor: us, receptor, ...(condiciones && { condiciones }) })
  book = {
    f1: plain('2026-06-01', '1000.00', sale(C1)),
    f2: plain('2026-04-01', '2000.00', sale(C1, '15 DÍAS')),
    f3: plain('2026-05-01', '500.00', sale(C2, 'Contado')),
    f4: plain('2026-05-05', '500.00', sale(C2, 'net 30')),
    f6: plain('2026-01-15', '200.00', sale(C2)),
    x1: plain('2026-03-02', '1000.00', { ...sale(C1), moneda: 'USD', tipo_cambio: '18' }),
    x2: plain('2026-03-05', '200.00', { emisor: S1, receptor: us, moneda: 'USD', tipo_cambio: '17' }),
    x3: plain('2026-03-03', '6000.00', { ...sale(C2), metodo: 'PUE' }),
  }
  const { f2, f3, f4, x1 } = book
  const note = plain('2026-05-15', '100.00', { ...sale(C2), tipo: 'E', metodo: 'PUE', relacion: { tipo: '01', uuids: [f3.uuid] } })
  const paid = [
    paymentOf('2026-04-21', f2, '1160.00'),
    paymentOf('2026-05-10', f4, '580.00'),
    paymentOf('2026-04-10', x1, '580.00', ['USD', '19']),
  ]
  const { body } = await post(of.owner, fiscal_entity_id, zipWith([...Object.values(book), note, ...paid]))
  await vi.waitUntil(async () => (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body.status === 'completed', {
    timeout: 30_000,
    interval: 50,
  })
  // The rate of 30 June was published on the 29th.
  await env.DB.prepare(
    "insert or replace into fx_rates (currency, date, rate, source) values ('USD', '2026-06-29', '20', 'DOF'), ('USD', '2026-06-30', '99', 'DOF')",
  ).run()
})

const pathOf = (path: string, query: string) => `/v1${path}?fiscal_entity_id=${fiscal_entity_id}&${query}`
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
const get = async (path: string): Promise<any> => {
  const { status, body } = await of.ask('GET', path)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Follows the drilldowns of an answer that lead to entries, two a page. Returns what each adds up to, as decimal text. */
async function followed(drilldown: Record<string, string>): Promise<Record<string, string>> {
  const sums: Record<string, string> = {}
  for (const [figure, path] of Object.entries(drilldown)) {
    let sum = 0n
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof get>> = await get(`${path}&limit=2${cursor && `&cursor=${cursor}`}`)
      for (const { amount } of page.data) sum += micros(amount)
      cursor = page.next_cursor
    }
    sums[figure] = (Number(sum) / 1_000_000).toFixed(2)
  }
  return sums
}

describe('financing by hand', () => {
  it('is what the search that docs/insight.md recommends lists, of either side', async () => {
    const owed = 'as_of=2026-06-30&estatus=vigente&is_substituted=false&to_itself=false&metodo_pago=PPD&balance_min=0.005'
    const { receivables, payables } = await get(pathOf('/analytics/financing', 'as_of=2026-06-30'))
    for (const [direction, { outstanding, invoice_count }] of [
      ['issued', receivables],
      ['received', payables],
    ] as const) {
      const { data } = await get(pathOf('/cfdi', `${owed}&direction=${direction}&limit=100`))
      const pesos = data.map((one: Record<string, string | null>) => Number(one['balance']) * Number(one['tipo_cambio'] ?? 1))
      expect([direction, data.length]).toEqual([direction, invoice_count])
      expect(pesos.reduce((sum: number, one: number) => sum + one, 0).toFixed(2)).toBe(outstanding)
    }
  })

  /**
   * On 30 June x1 is owed too: 580 dollars at 18, 10,440, due on 1 April, 90 days late. 3,016 + 10,440 = 13,456. Sales in the 90 days from 2
   * April: f1, f3 and f4, 2,000: 13,456 ÷ 2,000 × 90 = 605.52. Paid: f2 1,160 in 20 days, f4 580 in 5, x1 10,440 in 39: (23,200 + 2,900 +
   * 407,160) ÷ 12,180 = 35.57 days; in time 580 ÷ 12,180 = 4.76 %. Payable: x2, 232 × 17 = 3,944, due on 4 April, 87 days late. The pool has f1
   * alone: f6 and x1 are at most 120 days old and overdue, or older: x1 of 2 March is 120 days old, f6 166.
   */
  it('says what is owed, how late, and what a lender would advance, as of a past day', async () => {
    const { receivables, payables, pool, data, data_quality, as_of } = await get(pathOf('/analytics/financing', 'as_of=2026-06-30'))
    expect(as_of).toBe('2026-06-30')
    expect(receivables).toMatchObject({
      ...{
        outstanding: '13456.00',
        overdue: '12296.00',
        invoice_count: 5,
        dso: '605.52',
        weighted_days_to_pay: '35.57',
        on_time_rate: '4.76',
      },
      aging: { current: '1160.00', d1_30: '0.00', d31_60: '464.00', d61_90: '11600.00', d90_plus: '232.00' },
      due_sources: { parsed: 2, default: 3 },
      expected_inflows: [
        { month: '2026-06', amount: '12296.00' },
        { month: '2026-07', amount: '1160.00' },
      ],
    })
    expect(payables).toMatchObject({ outstanding: '3944.00', aging: { d61_90: '3944.00' }, dpo: null, weighted_days_to_pay: null })
    expect(pool).toMatchObject({ eligible_amount: '1160.00', eligible_count: 1, haircut: '870.00', fundable: '232.00' })
    expect(pool.ineligible.map((one: Record<string, string>) => [one['reason'], one['count'], one['amount']])).toEqual([
      ['overdue_30', 3, '12064.00'],
      ['too_old', 1, '232.00'],
    ])
    const [first, second] = data
    expect(first).toMatchObject({
      rfc: C1,
      outstanding: '12760.00',
      invoice_count: 3,
      oldest_due_date: '2026-04-01',
      capped_amount: '290.00',
    })
    expect(second).toMatchObject({
      rfc: C2,
      outstanding: '696.00',
      eligible_amount: '0.00',
      oldest_due_date: '2026-02-14',
      on_time_rate: '100.00',
    })
    expect(data_quality).toMatchObject({ unreconciled_payments: 0, missing_rate: 0 })
    for (const side of [receivables, payables]) {
      const { 'aging.current': current, outstanding, overdue } = await followed(side.drilldown)
      expect([current, outstanding, overdue]).toEqual([side.aging.current, side.outstanding, side.overdue])
    }
    const sums = await Promise.all(pool.ineligible.map((one: { drilldown: Record<string, string> }) => followed(one.drilldown)))
    expect(sums.map(({ amount }) => amount)).toEqual(['12064.00', '232.00'])
    expect(await followed(pool.drilldown)).toEqual({ eligible_amount: '1160.00' })
    expect(await followed(first.drilldown)).toMatchObject({
      outstanding: '12760.00',
      'aging.d61_90': '11600.00',
      eligible_amount: '1160.00',
    })
  })

  it('says the same of today out of what is stored, and pages debtors', async () => {
    const page = await get(pathOf('/analytics/financing', 'limit=1&advance_rate=0.5&debtor_cap=1&max_age_days=9999'))
    expect(page.receivables).toMatchObject({
      outstanding: '13456.00',
      overdue: '13456.00',
      aging: { d90_plus: '13456.00' },
      invoice_count: 5,
    })
    expect(page).toMatchObject({ has_more: true, pool: { eligible_amount: '0.00', advance_rate: '0.500000', max_age_days: 9999 } })
    const next = await get(
      pathOf('/analytics/financing', `limit=1&advance_rate=0.5&debtor_cap=1&max_age_days=9999&cursor=${page.next_cursor}`),
    )
    expect([...page.data, ...next.data].map(({ rfc }) => rfc)).toEqual([C1, C2])
    expect(next.has_more).toBe(false)
    expect(await followed({ overdue: page.receivables.drilldown.overdue })).toEqual({ overdue: '13456.00' })
  })

  it('says what was owed before a payment, and nothing of what was not there yet', async () => {
    // On 15 April f2 is not paid and due tomorrow; f6 is 60 days late; of x1 580 are owed, due on 1 April: 14 days late.
    const { receivables } = await get(pathOf('/analytics/financing', 'as_of=2026-04-15'))
    expect(receivables).toMatchObject({
      ...{ outstanding: '12992.00', invoice_count: 3 },
      aging: { current: '2320.00', d1_30: '10440.00', d31_60: '232.00', d90_plus: '0.00' },
    })
    const owed = await get(pathOf('/cfdi', 'as_of=2026-04-15&balance_min=0.01&direction=issued'))
    expect(owed.data.map((one: Record<string, string>) => [one['uuid'], one['balance']])).toEqual([
      [book.f2.uuid, '2320.00'],
      [book.x1.uuid, '580.00'],
      [book.f6.uuid, '232.00'],
    ])
    expect(await get(pathOf(`/cfdi/${book.f2.uuid}`, 'as_of=2026-04-20'))).toMatchObject({ payment_status: 'unpaid', aplicaciones: [] })
    expect(await get(pathOf(`/cfdi/${book.f2.uuid}`, 'as_of=2026-04-21'))).toMatchObject({
      payment_status: 'partially_paid',
      balance: '1160.00',
    })
  })

  it('takes five D1 calls at most with authentication, and entries as many', async () => {
    const calls = async (query: string, path = '/analytics/financing') =>
      (await costOf(env.LEDGER_0, env.FILES, () => get(pathOf(path, query)))).cost.d1_calls
    await calls('limit=1')
    expect(await calls('limit=1')).toBe(4)
    expect(await calls('as_of=2026-06-30')).toBe(4)
    expect(await calls('as_of=2026-06-30&figure=pool.eligible_amount', '/analytics/financing/entries')).toBe(4)
    expect(await calls('from=2026-01&to=2026-06', '/analytics/fx-exposure')).toBe(3)
    expect(await calls('figure=booked_mxn&currency=USD', '/analytics/fx-exposure/entries')).toBe(2)
  })

  it('refuses what it does not know, and gives debtors as CSV', async () => {
    for (const query of ['as_of=2099-01-01', 'advance_rate=1.5', 'debtor_cap=x', 'max_age_days=-1', 'from=2026-01'])
      expect((await of.ask('GET', pathOf('/analytics/financing', query))).status, query).toBe(422)
    const response = await request('GET', pathOf('/analytics/financing', 'as_of=2026-06-30&limit=1'), {
      headers: { authorization: basic(of.owner), accept: 'text/csv' },
    })
    expect(String(response.body).split('\r\n')[1]).toMatch(
      /^BBB020202BB1,CLIENTE DE PRUEBA,12760\.00,11600\.00,3,1160\.00,0\.00,0\.00,11600\.00,/,
    )
    expect(response.headers.get('link')).toContain('rel="next"')
  })
})

describe('exposure to exchange rates by hand', () => {
  /**
   * Issued: 1,000 dollars × 18 = 18,000 of 18,000 + 5 invoices of 4,200 + 6,000 − 100 = 28,100 pesos. Open: 580 − 232 = 348 dollars; booked
   * 10,440 − 3,944 = 6,496; at 20: 6,960, which is 464 more. Paid: 580 × (19 − 18) = 580.
   */
  it('says what is invoiced, open and gained in a currency', async () => {
    const { data, ...header } = await get(pathOf('/analytics/fx-exposure', 'from=2026-01&as_of=2026-06-30'))
    expect(header).toMatchObject({ missing_rates: [], total_sales: '28100.00', total_purchases: '3400.00' })
    expect(await followed(header.drilldown)).toEqual({ total_sales: '28100.00', total_purchases: '3400.00' })
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({
      ...{ currency: 'USD', issued_amount: '1000.00', received_amount: '200.00', share_of_sales: '64.06', share_of_purchases: '100.00' },
      ...{ open_receivable: '580.00', open_payable: '232.00', net_open: '348.00', booked_mxn: '6496.00', current_rate: '20' },
      ...{
        rate_date: '2026-06-29',
        rate_source: 'DOF',
        current_mxn: '6960.00',
        unrealized_gain_loss: '464.00',
        realized_gain_loss: '580.00',
      },
      sensitivity: { plus_1pct: '69.60', plus_5pct: '348.00', plus_10pct: '696.00' },
    })
    expect(await followed(data[0].drilldown)).toMatchObject({
      ...{ booked_mxn: '6496.00', realized_gain_loss: '580.00', issued_amount: '1000.00', open_payable: '232.00' },
      ...{ issued_mxn: '18000.00', received_mxn: '3400.00' },
    })
  })

  it('does not know on a day what came later', async () => {
    const { data } = await get(pathOf('/analytics/fx-exposure', 'from=2026-01&as_of=2026-04-09'))
    expect(data[0]).toMatchObject({ open_receivable: '1160.00', realized_gain_loss: '0.00', booked_mxn: '16936.00' })
  })
})
