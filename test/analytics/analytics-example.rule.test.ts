import { describe, expect, it } from 'vitest'
import { conceptsOf } from './oracle/analytics/concepts.ts'
import { efosOf } from './oracle/analytics/efos.ts'
import { financingOf } from './oracle/analytics/financing.ts'
import { fxOf } from './oracle/analytics/fx.ts'
import { indicatorsOf } from './oracle/analytics/indicators.ts'
import { balancesAsOf } from './oracle/as-of.ts'
import { rateTable } from './oracle/rules.ts'
import { CUSTOMER, complementOf, documentOf, OTHER, type Spec, SUPPLIER, worldOf } from './support/documents.ts'

const YEAR = { from: '2026-01-01', to: '2026-06-30' }

/**
 * Received: A has 10 pieces of 43211503 for 1,000 in January and 5 for 600 in May, with 100 of discount: 500, and an untaxed line of
 * 01010101 for 250. B is a credit note of 2 pieces for 200. C is in USD, 2 pieces of 43211503 for 10 at 20: 200, from another supplier.
 * 43211503: 1,000 + 500 − 200 + 200 = 1,500 of 1,750 in all, 85.71 %; 10 + 5 − 2 + 2 = 15 pieces. Unit prices of invoices: 100, 100, 100;
 * 1,700 ÷ 17 = 100. Nothing changed from January to May.
 */
describe('concepts by hand', () => {
  const buy = (uuid: string, day: string, lines: Spec['lines'], rest: Spec = {}) =>
    documentOf(uuid, day, { direction: 'received', party: SUPPLIER, lines: lines!, ...rest })
  const world = worldOf([
    buy('A1', '2026-01-05', [{ importe: '1000', cantidad: '10' }]),
    buy('A2', '2026-05-05', [
      { importe: '600', descuento: '100', cantidad: '5' },
      { clave: '01010101', importe: '250', iva: null, descripcion: ' Otro  gasto ' },
    ]),
    buy('B1', '2026-05-06', [{ importe: '200', cantidad: '2' }], { tipo_comprobante: 'E' }),
    buy('C1', '2026-05-07', [{ importe: '10', cantidad: '2' }], { party: OTHER, currency: 'USD', tipo_cambio: '20' }),
  ])

  it('adds up lines by key', () => {
    const { header, rows } = conceptsOf(world, { ...YEAR, direction: 'received' })
    expect(header).toMatchObject({ total: '1750.00', line_count: 5, unclassified_amount: '250.00', unclassified_share: '14.29' })
    expect(rows[0]).toMatchObject({
      ...{ key: '43211503', amount: '1500.00', share: '85.71', quantity: '15.000000', unit: 'H87' },
      ...{ avg_unit_price: '100.00', min_unit_price: '100.00', max_unit_price: '100.00', price_change_pct: '0.00' },
      ...{ invoice_count: 3, counterparty_count: 2, top_counterparty: { rfc: SUPPLIER, amount: '1300.00' } },
      iva_mix: { '16': '1500.00', no_objeto: '0.00' },
      by_month: [
        { month: '2026-01', amount: '1000.00' },
        { month: '2026-05', amount: '500.00' },
      ],
    })
    expect(rows[1]).toMatchObject({ key: '01010101', amount: '250.00', iva_mix: { '16': '0.00', no_objeto: '250.00' } })
  })

  it('adds up by segment and by description', () => {
    expect(conceptsOf(world, { ...YEAR, level: 'segment' }).rows.map(({ key }) => key)).toEqual(['43', '01'])
    expect(conceptsOf(world, { ...YEAR, level: 'description' }).rows.map(({ key }) => key)).toEqual(['PRODUCTO', 'OTRO GASTO'])
  })

  it('finds prices far from the median of a supplier', () => {
    // 100, 101, 102, 103 and 130: the median is 102, the deviations 2, 1, 0, 1 and 28, their median 1. Only 28 is more than 3.
    const prices = ['100', '101', '102', '103', '130'].map((importe, n) => buy(`O${n}`, '2026-03-01', [{ importe }]))
    const { header, tally } = conceptsOf(worldOf(prices), YEAR)
    expect(header.outlier_count).toBe(1)
    expect(tally.entries('outliers')).toEqual([{ uuid: 'O4', amount: '130.000000', applies_to: null }])
  })
})

/**
 * As of 30 June. F1: CUSTOMER, 1,000 + 160 of 1 June, 30 days by default: due on 1 July, current. F2: CUSTOMER, 2,000 + 320 of 1 April,
 * "15 días": due on 16 April, 75 days late; 1,160 were paid on 21 April, 5 days late, after 20 days: 1,160 are left. F3: OTHER, 500 + 80 of
 * 1 May, "contado": due then, 60 days late; a credit note of 100 + 16 leaves 464. F4: OTHER, paid in full on 10 May, 5 days after 5 May, in
 * time: 580. F6: 232 in January, too old for the pool.
 * Outstanding: 1,160 + 1,160 + 464 + 232 = 3,016. Overdue: 1,856. Net of PPD from 2 April on: 1,000 + 500 + 500 = 2,000: 3,016 ÷ 2,000 × 90 =
 * 135.72. Days to pay: (1,160 × 20 + 580 × 5) ÷ 1,740 = 15; in time 580 ÷ 1,740 = 33.33 %.
 * Pool: only F1 is eligible, 1,160. F2 and F3 are more than 30 days overdue. A debtor may have a quarter: 290; 80 % of it: 232.
 */
describe('financing by hand', () => {
  const sale = (uuid: string, day: string, party: string, importe: string, condiciones_pago: string | null = null) =>
    documentOf(uuid, day, { party, metodo_pago: 'PPD', forma_pago: '99', condiciones_pago, lines: [{ importe }] })
  const [f1, f2, f3] = [
    sale('F1', '2026-06-01', CUSTOMER, '1000'),
    sale('F2', '2026-04-01', CUSTOMER, '2000', '15 días'),
    sale('F3', '2026-05-01', OTHER, '500', 'Contado'),
  ]
  const [f4, f6] = [sale('F4', '2026-05-05', OTHER, '500', 'net 30'), sale('F6', '2026-01-15', OTHER, '200')]
  const world = worldOf([
    ...[f1, f2, f3, f4, f6, complementOf('P2', '2026-04-21', [[f2, '1160']]), complementOf('P4', '2026-05-10', [[f4, '580']])],
    documentOf('N3', '2026-05-15', {
      ...{ party: OTHER, tipo_comprobante: 'E', lines: [{ importe: '100' }], relacionados: [{ tipo_relacion: '01', uuid: 'F3' }] },
    }),
  ])

  it('says what is owed, how late, and what a factor would advance', () => {
    const { receivables, payables, pool, rows } = financingOf(world, {})
    expect(receivables).toMatchObject({
      ...{ outstanding: '3016.00', overdue: '1856.00', invoice_count: 4, days_outstanding: '135.72' },
      aging: { current: '1160.00', d1_30: '0.00', d31_60: '464.00', d61_90: '1160.00', d90_plus: '232.00' },
      ...{ weighted_days_to_pay: '15.00', on_time_rate: '33.33', due_sources: { parsed: 2, default: 2 } },
      expected: [
        { month: '2026-06', amount: '1856.00' },
        { month: '2026-07', amount: '1160.00' },
      ],
    })
    expect(payables).toMatchObject({ outstanding: '0.00', days_outstanding: null, weighted_days_to_pay: null })
    expect(pool).toMatchObject({ eligible_amount: '1160.00', eligible_count: 1, haircut: '870.00', fundable: '232.00' })
    expect(pool.ineligible.map(({ reason, count, amount }) => [reason, count, amount])).toEqual([
      ['overdue_30', 2, '1624.00'],
      ['too_old', 1, '232.00'],
    ])
    expect(rows.map((one) => [one.rfc, one.outstanding, one.eligible_amount, one.capped_amount, one.oldest_due_date])).toEqual([
      [CUSTOMER, '2320.00', '1160.00', '290.00', '2026-04-16'],
      [OTHER, '696.00', '0.00', '0.00', '2026-02-14'],
    ])
  })

  it('says what was owed on an earlier day', () => {
    // On 15 April F2 is not paid yet and due tomorrow; F6 is 60 days late. Of F1, F3 and F4 nothing is there.
    expect(financingOf(world, { as_of: '2026-04-15' }).receivables).toMatchObject({
      ...{ outstanding: '2552.00', overdue: '232.00', invoice_count: 2, weighted_days_to_pay: null },
      aging: { current: '2320.00', d31_60: '232.00' },
    })
    const balances = balancesAsOf(world, '2026-05-09', '1').map(({ uuid, balance, payment_status }) => [uuid, balance, payment_status])
    expect(balances).toEqual([
      ['F4', '580.00', 'unpaid'],
      ['F3', '580.00', 'unpaid'],
      ['F2', '1160.00', 'partially_paid'],
      ['F6', '232.00', 'unpaid'],
    ])
  })

  it('holds as of a day what was cancelled or replaced later', () => {
    const older = { ...sale('G1', '2026-03-01', CUSTOMER, '100'), estatus: 'cancelado' as const, cancelled_at: '2026-03-20T09:00:00-06:00' }
    const newer = { ...sale('G2', '2026-03-15', CUSTOMER, '100'), relacionados: [{ tipo_relacion: '04', uuid: 'G1' }] }
    const owed = (as_of: string) => financingOf(worldOf([older, newer]), { as_of }).receivables.outstanding
    expect(['2026-03-14', '2026-03-18', '2026-03-25'].map(owed)).toEqual(['116.00', '116.00', '116.00'])
    expect(financingOf(worldOf([older]), { as_of: '2026-03-25' }).receivables.outstanding).toBe('0.00')
  })
})

/**
 * SUPPLIER was presumed on 1 March and definitive on 1 May. E1: 1,000 + 160 in February, PUE. E2: 2,000 + 320 in April, PPD, half paid: 160 of
 * IVA. E3: a credit note of 500 + 80 in May, PUE. Amount: 1,000 + 2,000 − 500 = 2,500; IVA: 160 + 160 − 80 = 240; 30 %: 750. Unpaid: 1,160;
 * paid: 1,160 + 2,320 − 580 − 1,160 = 1,740. Before 1 March: 1,000; after: 1,500. Thirty business days after 1 May 2026, without 5 May: 15 June.
 * OTHER disproved it. Purchases: 2,500 + 7,500 = 10,000: 25 %.
 */
describe('exposure to 69-B by hand', () => {
  const buy = (uuid: string, day: string, party: string, importe: string, rest: Spec = {}) =>
    documentOf(uuid, day, { direction: 'received', party, lines: [{ importe }], ...rest })
  const e2 = buy('E2', '2026-04-01', SUPPLIER, '2000', { metodo_pago: 'PPD', forma_pago: '99' })
  const step = (situacion: 'presunto' | 'definitivo' | 'desvirtuado', dof_at: string) => ({ situacion, sat_at: null, dof_at, oficio: null })
  const world = worldOf(
    [
      ...[buy('E1', '2026-02-01', SUPPLIER, '1000'), e2, complementOf('P2', '2026-04-20', [[e2, '1160']])],
      buy('E3', '2026-05-10', SUPPLIER, '500', { tipo_comprobante: 'E' }),
      buy('E4', '2026-05-11', OTHER, '7500'),
    ],
    {
      lists: [
        { source: 'sat_69b', rfc: SUPPLIER, name: 'X', history: [step('presunto', '2026-03-01'), step('definitivo', '2026-05-01')] },
        { source: 'sat_69b', rfc: OTHER, name: 'Y', history: [step('presunto', '2025-03-01'), step('desvirtuado', '2025-09-01')] },
      ],
    },
  )

  it('says what was bought, paid and credited, before and after', () => {
    const { header, rows } = efosOf(world, YEAR)
    expect(rows[1]).toMatchObject({
      ...{ rfc: SUPPLIER, situacion: 'definitivo', presunto_dof_at: '2026-03-01', definitivo_dof_at: '2026-05-01', resolved_at: null },
      ...{ invoice_count: 2, amount: '2500.00', iva_acreditado: '240.00', isr_effect: '750.00', paid_amount: '1740.00' },
      ...{ unpaid_amount: '1160.00', before_listing_amount: '1000.00', after_listing_amount: '1500.00' },
      ...{ correction_deadline: '2026-06-15', is_active: true },
    })
    expect(rows[0]).toMatchObject({
      rfc: OTHER,
      situacion: 'desvirtuado',
      resolved_at: '2025-09-01',
      is_active: false,
      correction_deadline: null,
    })
    expect(header).toMatchObject({ total_purchases: '10000.00', share_of_purchases: '25.00' })
  })

  it('says how it stood on the day of a payment', () => {
    const { rows } = efosOf(world, { ...YEAR, as_of: '2026-04-20' })
    expect(rows).toMatchObject([
      { rfc: SUPPLIER, situacion: 'presunto', amount: '3000.00', iva_acreditado: '320.00', unpaid_amount: '1160.00' },
    ])
    expect(efosOf(world, { ...YEAR, as_of: '2026-02-20' }).rows).toEqual([])
  })
})

/**
 * X1: sold for 1,000 + 160 USD at 18, PPD; 580 USD were paid with dollars at 19: realized 580 × (19 − 18) = 580. X2: bought for 200 + 32 USD
 * at 17, PPD, open. X3: sold for 4,000 pesos. Open: 580 − 232 = 348 USD, booked 580 × 18 − 232 × 17 = 6,496. On 29 June the rate was 20:
 * 6,960; unrealized 464. X4 is sold for 100 + 16 EUR at 21, without a rate in the table: 116 open. Of sales 18,000 of 18,000 + 4,000 + 2,100
 * are in USD: 74.69 %.
 */
describe('exposure to currencies by hand', () => {
  const ppd = (uuid: string, day: string, rest: Spec) => documentOf(uuid, day, { metodo_pago: 'PPD', forma_pago: '99', ...rest })
  const x1 = ppd('X1', '2026-02-01', { currency: 'USD', tipo_cambio: '18', lines: [{ importe: '1000' }] })
  const x2 = ppd('X2', '2026-02-02', {
    direction: 'received',
    party: SUPPLIER,
    currency: 'USD',
    tipo_cambio: '17',
    lines: [{ importe: '200' }],
  })
  const x4 = ppd('X4', '2026-02-04', { currency: 'EUR', tipo_cambio: '21', lines: [{ importe: '100' }] })
  const paid = complementOf('P1', '2026-03-01', [[x1, '580']], { moneda_p: 'USD', tipo_cambio_p: '19' })
  const rates = rateTable([
    { currency: 'USD', date: '2026-06-29', rate: '20', source: 'DOF' },
    { currency: 'USD', date: '2026-06-30', rate: '99', source: 'DOF' },
  ])
  const { rows, header } = fxOf(
    worldOf([x1, x2, documentOf('X3', '2026-02-03', { lines: [{ importe: '4000' }] }), x4, paid], { rates }),
    YEAR,
  )

  it('says what is open, booked and gained', () => {
    expect(rows[1]).toEqual({
      ...{ currency: 'USD', issued_amount: '1000.00', received_amount: '200.00', share_of_sales: '74.69', share_of_purchases: '100.00' },
      // 1,000 at 18 and 200 at 17, of 18,000 + 2,100 + 4,000.
      ...{ issued_mxn: '18000.00', received_mxn: '3400.00' },
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
    expect(rows[0]).toMatchObject({
      currency: 'EUR',
      open_receivable: '116.00',
      booked_mxn: '2436.00',
      current_mxn: null,
      sensitivity: null,
    })
    expect(header).toEqual({ missing_rates: ['EUR'], total_sales: '24100.00', total_purchases: '3400.00' })
  })
})

/**
 * Sold: 6,000 to CUSTOMER, which the same organization connected, 2,000 to OTHER in cash (2,320 of 9,280: 25 %), one of three invoices cancelled.
 * Bought: 2,000 of SUPPLIER, on 69-B. Shares: related 6,000 of 10,000; HHI of 75 and 25 %: 6,250; of one supplier 10,000.
 */
describe('the indicators of risk by hand', () => {
  const world = worldOf(
    [
      documentOf('R1', '2026-05-01', { lines: [{ importe: '6000' }] }),
      documentOf('R2', '2026-05-02', { party: OTHER, forma_pago: '01', lines: [{ importe: '2000' }] }),
      documentOf('R3', '2026-05-03', { estatus: 'cancelado', lines: [{ importe: '9' }] }),
      documentOf('R4', '2026-05-04', { direction: 'received', party: SUPPLIER, lines: [{ importe: '2000' }] }),
    ],
    {
      intercompany: [CUSTOMER],
      opinions: [
        { date: '2026-06-01', sense: 'negativo' },
        { date: '2026-05-01', sense: 'positivo' },
      ],
      lists: [
        {
          source: 'sat_69b',
          rfc: SUPPLIER,
          name: 'X',
          history: [{ situacion: 'presunto', sat_at: null, dof_at: '2026-03-01', oficio: null }],
        },
      ],
    },
  )

  it('has twelve indicators', () => {
    expect(indicatorsOf(world, YEAR).map(({ key, value, risky, sample_size }) => [key, value, risky, sample_size])).toEqual([
      ['tax_compliance', 'negativo', true, 1],
      ['blacklist_status', null, false, 1],
      ['blacklisted_counterparties', 1, true, 3],
      ['intercompany_share', '60.00', true, 3],
      ['customer_concentration', 6250, true, 2],
      ['supplier_concentration', 10000, true, 1],
      ['foreign_exchange_share', '0.00', false, 2],
      ['cash_share', '25.00', true, 2],
      ['cancelled_issued_rate', '33.33', true, 3],
      ['cancelled_received_rate', '0.00', false, 1],
      ['ppd_overdue_share', null, false, 0],
      ['repse_at_risk_share', '0.00', false, 1],
    ])
  })
})
