import { describe, expect, it } from 'vitest'
import { dueSoon, obligationsOf, type Registry } from './oracle/obligations.ts'
import { qualityOf } from './oracle/quality.ts'
import { compliance } from './oracle/reports/compliance.ts'
import { diot, payroll } from './oracle/reports/filings.ts'
import { cancellations, counterpartyNetwork, paymentBehavior } from './oracle/reports/parties.ts'
import { annualComparison, fiscalSummary, revenueExpenses } from './oracle/reports/sums.ts'
import { DEFAULT_RULES, rateTable } from './oracle/rules.ts'
import { CUSTOMER, complementOf, documentOf, OTHER, PERSON, SELF, type Spec, SUPPLIER, worldOf } from './support/documents.ts'

type Nomina = NonNullable<Spec['nominas']>[number]
const nomina = (fecha_pago: string, total_percepciones: string, salario_diario_integrado: string) =>
  [
    { fecha_pago, total_percepciones, total_deducciones: '50', total_otros_pagos: null, isr_retenido: '40', salario_diario_integrado },
  ] as Nomina[]
const wage = (uuid: string, day: string, party: string, amount: string, sdi: string) =>
  documentOf(uuid, day, {
    ...{ tipo_comprobante: 'N', party, isr_retenido: '40', lines: [{ importe: amount, iva: null }], nominas: nomina(day, amount, sdi) },
  })

/**
 * A1: sold 1,000 + 160 in May 2025. A2: sold 3,000 + 480 in May 2026, PPD, 1,740 paid 10 days later in time. A3: a credit note of 500 + 80 in
 * June 2026. A4: goods (G01) for 800 + 128 in May 2026, PUE. A5: a fee of 1,000 + 160 − 100 − 106.67 in June 2026, PUE. A6, A7: payroll of
 * June, 400 and 600. A8: sold 70 + 11.20 in May 2026, cancelled after 20 days in June for reason 02.
 */
const a1 = documentOf('A1', '2025-05-10', { lines: [{ importe: '1000' }] })
const a2 = documentOf('A2', '2026-05-10', { metodo_pago: 'PPD', forma_pago: '99', lines: [{ importe: '3000' }] })
const world = worldOf([
  ...[a1, a2, complementOf('P2', '2026-05-20', [[a2, '1740']])],
  documentOf('A3', '2026-06-02', {
    tipo_comprobante: 'E',
    lines: [{ importe: '500' }],
    relacionados: [{ tipo_relacion: '01', uuid: 'A1' }],
  }),
  documentOf('A4', '2026-05-11', { direction: 'received', party: SUPPLIER, uso_cfdi: 'G01', lines: [{ importe: '800' }] }),
  documentOf('A5', '2026-06-03', {
    ...{ direction: 'received', party: PERSON, emisor_regimen_fiscal: '612' },
    lines: [{ clave: '84111500', importe: '1000', isr: '0.10', iva_retenido: '0.106667' }],
  }),
  ...[wage('A6', '2026-06-15', PERSON, '400', '30'), wage('A7', '2026-06-15', OTHER, '600', '45')],
  documentOf('A8', '2026-05-12', {
    ...{ estatus: 'cancelado', cancelled_at: '2026-06-01T10:00:00-06:00', cancellation_reason: '02', lines: [{ importe: '70' }] },
  }),
])

describe('the reports by hand', () => {
  it('fiscal-summary: each year', () => {
    expect(fiscalSummary(world)).toMatchObject([
      { year: '2025', ingresos: '1000.00', egresos: '0.00', iva_trasladado: '160.00', nomina: '0.00' },
      {
        ...{ year: '2026', ingresos: '2500.00', egresos: '1800.00', iva_trasladado: '400.00', iva_acreditable: '288.00' },
        ...{ iva_retenido_a_terceros: '106.67', isr_retenido_a_terceros: '100.00', nomina: '1000.00', nomina_isr: '80.00' },
      },
    ])
  })

  it('revenue-expenses: each month', () => {
    // May: 3,000 − 800 = 2,200 of gross profit, 73.33 %. June: −500 − 1,000 − 1,000 = −2,500.
    expect(revenueExpenses(world).slice(1)).toMatchObject([
      {
        month: '2026-05',
        revenue: '3000.00',
        cost_of_goods: '800.00',
        gross_profit: '2200.00',
        gross_margin: '73.33',
        operating_result: '2200.00',
      },
      {
        ...{ month: '2026-06', credit_notes: '500.00', net_revenue: '-500.00', expenses: '1000.00', payroll: '1000.00' },
        ...{ gross_margin: null, operating_result: '-2500.00' },
      },
    ])
  })

  it('annual-comparison: each month against the year before', () => {
    expect(annualComparison(world)).toMatchObject([
      { year: '2025', month: '05', issued: '1000.00', issued_change_pct: null },
      {
        ...{ year: '2026', month: '05', issued: '3000.00', received: '800.00', cancelled_issued: '81.20', cancelled_issued_count: 1 },
        issued_change_pct: '200.00',
      },
      { year: '2026', month: '06', issued: '-500.00', received: '1000.00', issued_count: 1 },
    ])
  })

  it('counterparty-network: each counterparty', () => {
    expect(counterpartyNetwork(world)).toMatchObject([
      {
        rfc: CUSTOMER,
        relation: 'customer',
        issued: '3500.00',
        issued_share: '100.00',
        invoice_count: 2,
        credit_note_count: 1,
        cancelled_count: 1,
      },
      { rfc: PERSON, relation: 'supplier', received: '1000.00', received_share: '55.56' },
      { rfc: SUPPLIER, relation: 'supplier', received: '800.00', received_share: '44.44', active_months: 1 },
    ])
  })

  it('cancellations: each reason', () => {
    expect(cancellations(world)).toEqual([
      {
        direction: 'issued',
        reason: '02',
        count: 1,
        amount: '81.20',
        without_amount: 0,
        share: '100.00',
        lag_days: '20.00',
        after_month_close: 1,
      },
    ])
  })

  it('payment-behavior: each counterparty', () => {
    expect(paymentBehavior(world)).toMatchObject([
      {
        ...{ direction: 'issued', rfc: CUSTOMER, paid: '1740.00', weighted_days_to_pay: '10.00', on_time_rate: '100.00' },
        ...{ average_installments: '1.00', outstanding: '1740.00', overdue: '1740.00' },
      },
    ])
  })

  it('diot: what each supplier was paid', () => {
    expect(diot(world)).toMatchObject([
      { period: '2026-05', rfc: SUPPLIER, tipo_tercero: '04', tipo_operacion: '02', base_16: '800.00', iva_16: '128.00' },
      { period: '2026-06', rfc: PERSON, tipo_operacion: '03', base_16: '1000.00', iva_16: '160.00', iva_retenido: '106.67' },
    ])
  })

  it('payroll: each month', () => {
    expect(payroll(world)).toEqual([
      {
        ...{
          month: '2026-06',
          headcount: 2,
          receipts: 2,
          percepciones: '1000.00',
          deducciones: '100.00',
          otros_pagos: '0.00',
          isr: '80.00',
        },
        average_salario_diario_integrado: '37.50',
      },
    ])
  })
})

describe('what figures leave out, by hand', () => {
  it('is counted and can be listed', () => {
    // Q1 counts at the table's rate, Q2 has none, Q3 is metadata, Q4 is substituted by Q5, Q6 pays another issuer's invoice.
    const q7 = documentOf('Q7', '2026-05-07', { direction: 'received', party: SUPPLIER, metodo_pago: 'PPD', lines: [{ importe: '10' }] })
    const documents = [
      documentOf('Q1', '2026-05-01', { currency: 'USD', lines: [{ importe: '1' }] }),
      documentOf('Q2', '2026-05-02', { currency: 'EUR', lines: [{ importe: '2' }] }),
      documentOf('Q3', '2026-05-03', { has_xml: false, version: null, currency: null, total: '3.00' }),
      documentOf('Q4', '2026-05-04', { is_substituted: true, lines: [{ importe: '4' }] }),
      documentOf('Q5', '2026-05-05', { relacionados: [{ tipo_relacion: '04', uuid: 'Q4' }], lines: [{ importe: '5' }] }),
      complementOf(
        'Q6',
        '2026-05-06',
        [[q7, '11.60']],
        {},
        { emisor_rfc: OTHER, counterparty: { rfc: OTHER, nombre: null, blacklist: null } },
      ),
      q7,
    ]
    const rates = rateTable([{ currency: 'USD', date: '2026-04-30', rate: '20', source: 'DOF' }])
    const { counts, tally } = qualityOf(worldOf(documents, { rates }), { from: '2026-05-01', to: '2026-05-31' })
    expect(counts).toEqual({
      ...{ cfdi_total: 7, with_xml: 6, without_xml: 1, missing_rate: 1, dof_rate: 1, unreconciled_payments: 1, other_parties: 1 },
      ...{ substituted: 1, not_counted: 0 },
    })
    expect(tally.entries('other_parties')).toEqual([{ uuid: 'Q6', amount: '11.600000', applies_to: 'Q7' }])
    expect(tally.entries('missing_rate')).toMatchObject([{ uuid: 'Q2', amount: '2.320000' }])
  })
})

describe('obligations by hand', () => {
  const registry: Registry = {
    ...{ rfc: SELF, today: '2026-06-12', rules: () => DEFAULT_RULES, downloaded: { monthly: true, annual: true } },
    obligations: [
      {
        description: 'IVA',
        due_rule: 'A más tardar el día 17 del mes inmediato posterior al periodo que corresponda.',
        from: '2026-03-01',
        to: null,
      },
      {
        description: 'Anual de ISR',
        due_rule: 'Dentro de los tres meses siguientes al cierre del ejercicio.',
        from: '2025-01-01',
        to: null,
      },
      { description: 'Otra', due_rule: 'Cuando se solicite.', from: null, to: null },
      { description: 'Baja', due_rule: 'A más tardar el día 17 del mes inmediato posterior.', from: null, to: '2020-12-31' },
    ],
    returns: [
      { document_id: 'doc_3', version: 1, period_end: '2026-03-31', attributes: { ejercicio: '2026', periodo: '03', impuesto: 'IVA' } },
      {
        document_id: 'doc_3b',
        version: 2,
        period_end: '2026-03-31',
        attributes: { ejercicio: '2026', periodo: '03', impuesto: 'ISR, IVA' },
      },
      { document_id: 'doc_3c', version: 3, period_end: '2026-03-31', attributes: { ejercicio: '2026', periodo: '03', impuesto: 'ISR' } },
      {
        document_id: 'doc_a',
        version: 1,
        period_end: '2025-12-31',
        attributes: { ejercicio: '2025', periodo: 'del ejercicio', impuesto: 'ISR' },
      },
    ],
  }

  it('says what is filed, overdue and pending', () => {
    // The sixth digit of AAA010101AAA is 1: one business day more. 17 May 2026 is a Sunday, so 18 May; 17 June is a Wednesday, so
    // 18 June; 17 July is a Friday, and the authority's vacation from 20 to 31 July does not count for returns.
    expect(
      obligationsOf(registry).map((one) => [
        one.description,
        one.period,
        one.due_date,
        one.extended_due_date,
        one.status,
        one.declaration_id,
      ]),
    ).toEqual([
      ['Anual de ISR', '2025', '2026-03-31', null, 'filed', 'doc_a'],
      ['IVA', '2026-03', '2026-04-17', '2026-04-20', 'filed', 'doc_3b'],
      ['IVA', '2026-04', '2026-05-18', '2026-05-18', 'overdue', null],
      ['IVA', '2026-05', '2026-06-17', '2026-06-18', 'pending', null],
      ['IVA', '2026-06', '2026-07-17', '2026-07-20', 'pending', null],
      ['Anual de ISR', '2026', '2027-03-31', null, 'pending', null],
      ['Otra', null, null, null, 'unknown', null],
    ])
  })

  it('tells five days and one day before, and nothing that is filed', () => {
    const on = (today: string) => dueSoon({ ...registry, today }).map(({ period }) => period)
    expect(['2026-06-12', '2026-06-13', '2026-06-16', '2026-04-12', '2026-05-13'].map(on)).toEqual([
      ['2026-05'],
      [],
      ['2026-05'],
      [],
      ['2026-04'],
    ])
  })

  it('does not know what is overdue without the returns', () => {
    const rows = obligationsOf({ ...registry, downloaded: { monthly: false, annual: true } })
    expect(rows.find(({ period }) => period === '2026-04')).toMatchObject({ status: 'unknown' })
  })

  it('compliance: opinions, changes, returns and certificates', () => {
    const rows = compliance({
      ...registry,
      opinions: [
        { date: '2026-05-01', sense: 'positivo' },
        { date: '2026-06-01', sense: 'negativo' },
      ],
      changes: [{ date: '2026-04-01', field: 'address.postal_code', from: '06600', to: '03100' }],
      certificates: [{ serial: '00001', kind: 'csd', status: 'active', valid_from: '2022-06-22', valid_to: '2026-06-22' }],
    })
    expect(rows.map((one) => one.kind)).toEqual([
      'opinion',
      'opinion',
      'csf_change',
      ...Array.from({ length: 6 }, () => 'return'),
      'certificate',
    ])
    expect(rows[0]).toEqual({ kind: 'opinion', date: '2026-06-01', sense: 'negativo' })
    expect(rows[3]).toMatchObject({ periodicity: 'annual', period: '2026', due_date: '2027-03-31' })
    expect(rows.at(-1)).toMatchObject({ certificate_kind: 'csd', days_to_expiry: 10 })
  })
})
