import { describe, expect, it } from 'vitest'
import { concentrationOf } from './oracle/drilldowns/concentration.ts'
import { deductionsOf } from './oracle/drilldowns/deductions.ts'
import { riskOf } from './oracle/drilldowns/risk.ts'
import { withholdingsOf } from './oracle/drilldowns/withholdings.ts'
import { CUSTOMER, complementOf, documentOf, OTHER, PERSON, type Spec, SUPPLIER, worldOf } from './support/documents.ts'

const YEAR = { from: '2026-01-01', to: '2026-06-30' }
const HUMAN = 'AAAA800101AA1'

/**
 * W1: a fee of 10,000 of a person with regime 612, PUE in January. Expected: ISR 1,000; IVA two thirds of 1,600 = 1,066.666667. Withheld:
 * 1,000 and 1,066.67.
 * W2: rent of 20,000 (606), PPD, paid by half in March. Withheld: ISR 2,000 and no IVA. The event has half of each: net 10,000, ISR 1,000 of
 * 1,000; IVA 0 of two thirds of 1,600 = 1,066.666667, which is missing.
 * W3: freight of 5,000 of a company in February, 4 % = 200 is expected and withheld.
 * W4: goods of a person with regime 612: nothing is expected, and no row.
 * W5: our own fee could not be withheld from, because a company issues it: none. W6: payroll, ISR 300, issued in March.
 * W7: a CFDI de retenciones that we received for May: ISR 450 of 4,500.
 */
describe('withholdings by hand', () => {
  const fee: Spec = { direction: 'received', party: PERSON, emisor_regimen_fiscal: '612' }
  const w1 = documentOf('W1', '2026-01-15', {
    ...fee,
    lines: [{ clave: '84111500', importe: '10000', isr: '0.10', iva_retenido: '0.106667' }],
  })
  const w2 = documentOf('W2', '2026-02-01', {
    ...{ ...fee, emisor_regimen_fiscal: '606', metodo_pago: 'PPD', forma_pago: '99' },
    lines: [{ clave: '80131502', importe: '20000', isr: '0.10' }],
  })
  const w3 = documentOf('W3', '2026-02-20', {
    ...{ direction: 'received', party: SUPPLIER, lines: [{ clave: '78101802', importe: '5000', iva_retenido: '0.04' }] },
  })
  const w4 = documentOf('W4', '2026-02-21', { ...fee, lines: [{ clave: '44121701', importe: '700' }] })
  const w5 = documentOf('W5', '2026-02-22', { lines: [{ clave: '84111500', importe: '900' }] })
  const w6 = documentOf('W6', '2026-03-31', {
    ...{ tipo_comprobante: 'N', party: PERSON, isr_retenido: '300', lines: [{ importe: '4000', iva: null }] },
    nominas: [{ fecha_pago: '2026-03-30', total_gravado: '4000' } as Spec['nominas'] extends (infer N)[] | undefined ? N : never],
  })
  const w7 = documentOf('W7', '2026-06-05', {
    ...{ direction: 'received', party: CUSTOMER, kind: 'retenciones', tipo_comprobante: null },
    retencion: {
      ...{ clave: '01', descripcion: null, mes_inicial: '05', mes_final: '05', ejercicio: '2026', nacionalidad_receptor: null },
      ...{ monto_total_operacion: '4500', monto_total_gravado: '4500', monto_total_exento: '0', monto_total_retenido: '450' },
      impuestos: [{ base: '4500', impuesto: '001', monto: '450', tipo_pago: '04' }],
    },
  })
  const half = complementOf('P2', '2026-03-10', [[w2, '10600']])
  const { rows, totals, tally } = withholdingsOf(worldOf([w1, w2, w3, w4, w5, w6, w7, half]), YEAR)

  it('has a row for each tax of each payment', () => {
    expect(
      rows.map((one) => [
        one.date,
        one.uuid,
        one.source,
        one.impuesto,
        one.concept_class,
        one.base,
        one.amount,
        one.expected_amount,
        one.missing,
      ]),
    ).toEqual([
      ['2026-05-31', 'W7', 'retencion_cfdi', 'ISR', null, '4500.00', '450.00', null, false],
      ['2026-03-30', 'W6', 'cfdi', 'ISR', 'sueldos', '4000.00', '300.00', null, false],
      ['2026-03-10', 'P2', 'pago', 'ISR', 'arrendamiento', '10000.00', '1000.00', '1000.00', false],
      ['2026-03-10', 'P2', 'pago', 'IVA', 'arrendamiento', '10000.00', '0.00', '1066.67', true],
      ['2026-02-20', 'W3', 'cfdi', 'IVA', 'autotransporte', '5000.00', '200.00', '200.00', false],
      ['2026-01-15', 'W1', 'cfdi', 'ISR', 'honorarios', '10000.00', '1000.00', '1000.00', false],
      ['2026-01-15', 'W1', 'cfdi', 'IVA', 'honorarios', '10000.00', '1066.67', '1066.67', false],
    ])
    expect(rows[2]).toMatchObject({
      role: 'withheld_by_us',
      due_date: '2026-04-17',
      rate: '0.100000',
      applies_to: 'W2',
      difference: '0.00',
    })
    expect(rows[0]).toMatchObject({ role: 'withheld_from_us', due_date: null })
  })

  it('adds them up by month', () => {
    const none = { isr_a_favor: '0.00', iva_a_favor: '0.00', missing_count: 0, missing_amount: '0.00' }
    expect(totals).toEqual([
      { ...none, period: '2026-01', isr_por_enterar: '1000.00', iva_por_enterar: '1066.67' },
      { ...none, period: '2026-02', isr_por_enterar: '0.00', iva_por_enterar: '200.00' },
      { ...none, period: '2026-03', isr_por_enterar: '1300.00', iva_por_enterar: '0.00', missing_count: 1, missing_amount: '1066.67' },
      { ...none, period: '2026-05', isr_a_favor: '450.00', isr_por_enterar: '0.00', iva_por_enterar: '0.00' },
    ])
    expect(tally.entries('missing_amount|2026-03')).toEqual([{ uuid: 'P2', amount: '1066.666667', applies_to: 'W2' }])
  })
})

/**
 * A person in 2026 with an income of 400,000. Global limit: the lesser of 5 × 42,794.64 = 213,973.20 and 15 % of 400,000 = 60,000.
 * D1: a doctor, 50,000 by transfer: deductible. D2: a hospital, 20,000 by card: only 10,000 are left. D3: a dentist in cash: not at all.
 * D4: tuition of a primary school, 15,000: 12,900. D5: G03, PPD, 1,000 + 160, of which 580 are paid: half of the net is 500. D6: G03 and
 * metadata only. D7: a computer, I04: 30 % of 10,000 = 3,000. D8: a credit note of 5,000 on D1: 65,000 in all are still more than 60,000.
 */
describe('deductions of a person by hand', () => {
  const received: Spec = { direction: 'received', party: SUPPLIER, receptor_rfc: HUMAN, receptor_regimen_fiscal: '612' }
  const own = (uuid: string, day: string, uso_cfdi: string, importe: string, rest: Spec = {}) =>
    documentOf(uuid, day, { ...received, uso_cfdi, ...rest, lines: [{ importe, iva: 'exento', ...rest.lines?.[0] }] })
  const d1 = own('D1', '2026-01-10', 'D01', '50000')
  const d5 = documentOf('D5', '2026-05-01', { ...received, metodo_pago: 'PPD', forma_pago: '99', lines: [{ importe: '1000' }] })
  const documents = [
    d1,
    own('D2', '2026-02-10', 'D01', '20000', { forma_pago: '04' }),
    own('D3', '2026-03-10', 'D01', '800', { forma_pago: '01' }),
    own('D4', '2026-04-10', 'D10', '15000', {
      lines: [{ importe: '15000', iva: 'exento', iedu: { curp: 'CURP', nivel_educativo: 'Primaria' } }],
    }),
    d5,
    complementOf('P5', '2026-05-20', [[d5, '580']]),
    documentOf('D6', '2026-05-02', { ...received, has_xml: false, version: null, currency: null, uso_cfdi: null }),
    own('D7', '2026-05-03', 'I04', '10000'),
    own('D8', '2026-06-01', 'G02', '5000', { tipo_comprobante: 'E', relacionados: [{ tipo_relacion: '01', uuid: 'D1' }] }),
  ]
  const uses = { D01: ['605', '612'], D10: ['605', '612'], G03: ['612'], I04: ['612'], G02: ['612'] }
  const base = worldOf(documents, { rfc: HUMAN })
  const world = { ...base, rules: (day: string) => ({ ...base.rules(day), uso_regimes: uses }) }
  const { rows, totals } = deductionsOf(world, { ...YEAR, annual_income: '400000' })

  it('says of each document what can be deducted, and why not', () => {
    expect(rows.map((one) => [one.uuid, one.category, one.gross_amount, one.deductible_amount, one.status, one.reasons])).toEqual([
      ['D1', 'health', '50000.00', '50000.00', 'eligible', []],
      ['D2', 'health', '20000.00', '10000.00', 'capped', ['cap_global']],
      ['D3', 'health', '800.00', '0.00', 'not_deductible', ['not_electronic']],
      ['D4', 'tuition', '15000.00', '12900.00', 'capped', ['cap_tuition']],
      ['D5', 'expense', '1000.00', '500.00', 'eligible', ['not_paid']],
      ['D6', null, null, '0.00', 'not_deductible', ['missing_xml']],
      ['D7', 'investment', '10000.00', '3000.00', 'eligible', []],
      ['D8', 'health', '-5000.00', '0.00', 'eligible', []],
    ])
  })

  it('adds them up by category, with what is left of the limits', () => {
    const of = (category: string) => totals.find((one) => one.category === category)
    expect(of('health')).toMatchObject({
      gross_amount: '65800.00',
      deductible_amount: '60000.00',
      limit: '60000.00',
      used: '60000.00',
      remaining: '0.00',
    })
    expect(of('tuition')).toMatchObject({ limit: '12900.00', used: '12900.00', remaining: '0.00' })
    expect(of('expense')).toMatchObject({ gross_amount: '1000.00', deductible_amount: '500.00', limit: null, remaining: null })
  })

  it('does without an income that nothing shows', () => {
    const answer = deductionsOf(world, YEAR)
    expect(answer.rows[1]).toMatchObject({ status: 'eligible', deductible_amount: '20000.00' })
    expect(answer.totals.find((one) => one.category === 'health')).toMatchObject({ limit: '213973.20', cap_unknown: true })
  })
})

/**
 * Issued: CUSTOMER 6,000 − 1,000 of a credit note = 5,000; OTHER 3,000; the general public 2,000; SUPPLIER, only a credit note: −500.
 * Shares are of 5,000 + 3,000 = 8,000: 62.5 % and 37.5 %. HHI = (0.625² + 0.375²) × 10,000 = 5,312.5, so 5,313; 10,000 ÷ 5,313 = 1.88.
 * With the public: 10,000 in all, 50, 30 and 20 %: 2,500 + 900 + 400 = 3,800. CUSTOMER: April to June 4,000 − 1,000 = 3,000 against January
 * to March 2,000: +50 %. One of its three invoices is cancelled: 33.33 %.
 */
describe('concentration by hand', () => {
  const sale = (uuid: string, day: string, party: string, importe: string, rest: Spec = {}) =>
    documentOf(uuid, day, { party, lines: [{ importe }], ...rest })
  const world = worldOf([
    sale('C1', '2026-02-01', CUSTOMER, '2000'),
    sale('C2', '2026-05-01', CUSTOMER, '4000'),
    sale('C3', '2026-05-02', CUSTOMER, '9000', { estatus: 'cancelado' }),
    sale('C4', '2026-06-01', CUSTOMER, '1000', { tipo_comprobante: 'E', relacionados: [{ tipo_relacion: '01', uuid: 'C2' }] }),
    sale('C5', '2026-03-01', OTHER, '3000'),
    sale('C6', '2026-03-02', 'XAXX010101000', '2000'),
    sale('C7', '2026-03-03', SUPPLIER, '500', { tipo_comprobante: 'E' }),
    sale('C8', '2025-12-31', OTHER, '70000'),
  ])
  const { header, rows } = concentrationOf(world, { ...YEAR, direction: 'issued' })

  it('has shares and an index of those that take part', () => {
    expect(header).toEqual({
      ...{ direction: 'issued', total: '9500.00', concentration_total: '8000.00', counterparty_count: 4, hhi: 5313, effective_n: '1.88' },
      ...{ top1_share: '62.50', top3_share: '100.00', top5_share: '100.00', top10_share: '100.00', level: 'high' },
    })
    expect(rows.map((one) => [one.rank, one.rfc, one.total, one.share, one.cumulative_share])).toEqual([
      [1, CUSTOMER, '5000.00', '62.50', '62.50'],
      [2, OTHER, '3000.00', '37.50', '100.00'],
      [null, 'XAXX010101000', '2000.00', null, null],
      [null, SUPPLIER, '-500.00', null, null],
    ])
    expect(rows[0]).toMatchObject({ invoice_count: 2, active_months: 2, trend_pct: '50.00', cancelled_rate: '33.33' })
    expect(rows[0]!.by_month).toEqual([
      { month: '2026-02', total: '2000.00' },
      { month: '2026-05', total: '4000.00' },
      { month: '2026-06', total: '-1000.00' },
    ])
  })

  it('includes the general public on request', () => {
    expect(concentrationOf(world, { ...YEAR, direction: 'issued', include_generic: true }).header).toMatchObject({
      hhi: 3800,
      top1_share: '50.00',
    })
  })
})

/**
 * K1: received, 3,000 + 480 in cash: 25. K2: issued, PPD of January, nothing paid: 30; forma 03: 15; 45. K3: cancelled PUE: 80.
 * K4: a supplier on 69-B as presunto, and metadata only: 50 + 5. K5, K6: the same invoice twice: 20 each. K7: paid on 10 March, stamped on
 * 7 April, after the 5th: 15. K8: nothing.
 */
describe('risk by hand', () => {
  const k2 = documentOf('K2', '2026-01-10', { metodo_pago: 'PPD', forma_pago: '03', lines: [{ importe: '100' }] })
  const k8 = documentOf('K8', '2026-03-01', { metodo_pago: 'PPD', forma_pago: '99', lines: [{ importe: '50' }] })
  const world = worldOf(
    [
      documentOf('K1', '2026-02-01', { direction: 'received', party: OTHER, forma_pago: '01', lines: [{ importe: '3000' }] }),
      k2,
      documentOf('K3', '2026-02-03', { estatus: 'cancelado', cancelled_at: '2026-02-20T10:00:00-06:00', lines: [{ importe: '10' }] }),
      documentOf('K4', '2026-02-04', { direction: 'received', party: SUPPLIER, has_xml: false, version: null, currency: null }),
      documentOf('K5', '2026-02-05', { lines: [{ importe: '77' }] }),
      documentOf('K6', '2026-02-05', { lines: [{ importe: '77' }] }),
      complementOf('K7', '2026-03-10', [[k8, '58']], {}, { certified_at: '2026-04-07T09:00:00' }),
      k8,
    ],
    {
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

  it('flags and ranks the documents', () => {
    expect(riskOf(world, YEAR).map(({ uuid, score, level, flags }) => [uuid, score, level, flags.map(({ code }) => code)])).toEqual([
      ['K3', 80, 'critical', ['cancelled_after_payment']],
      ['K4', 55, 'high', ['counterparty_69b_presunto', 'metadata_only']],
      ['K2', 45, 'high', ['ppd_missing_complement', 'ppd_forma_not_99']],
      ['K1', 25, 'medium', ['cash_over_2000']],
      ['K5', 20, 'medium', ['duplicate_suspected']],
      ['K6', 20, 'medium', ['duplicate_suspected']],
      ['K7', 15, 'low', ['complement_late']],
    ])
  })

  it('filters by level, code, direction and amount', () => {
    const uuids = (query: object) => riskOf(world, { ...YEAR, ...query }).map(({ uuid }) => uuid)
    expect(uuids({ level: ['high'] })).toEqual(['K4', 'K2'])
    expect(uuids({ code: ['cash_over_2000', 'complement_late'] })).toEqual(['K1', 'K7'])
    expect(uuids({ direction: 'received' })).toEqual(['K4', 'K1'])
    expect(uuids({ min_total: '116' })).toEqual(['K2', 'K1'])
  })
})
