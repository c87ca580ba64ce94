import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { costOf } from '../support/meter.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros, money } from './oracle/amounts.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/**
 * April to June 2026 of a company, imported as XML, by hand.
 *
 * May, collected: S1 is PUE, 10,000 + 1,600. S2 is PPD, 5,000 at 16 % and 2,000 at 0 %: 7,800; half is paid in May, so half of each:
 * 2,500 + 400, and 1,000. S3 is PUE and exempt, 1,500. N1 credits 1,000 + 160 of S1.
 *   base_16 = 10,000 + 2,500 − 1,000 = 11,500; iva_16 = 1,600 + 400 − 160 = 1,840; base_0 = 1,000; base_exento = 1,500.
 * May, paid: R1 is PUE, 4,000 + 640. R2 is a person's fee of April, PPD, 3,000 + 480 − 300 ISR − 320 IVA = 2,860, paid in May as a whole.
 * R3 is fuel paid in cash, 500 + 80. R4 is in USD at 18.5, 100 + 16, paid in dollars at 19: 1,900 + 304.
 *   base_16 = 4,000 + 3,000 + 500 + 1,900 = 9,400; iva_16 = 640 + 480 + 80 + 304 = 1,504; retenido = 320; excluded = 80.
 * In April, R0, a fee of 1,000 + 160 − 100 − 106.67, was PUE: 106.67 was withheld and is paid to the authority in May. Nothing exempt was
 * collected in April, so that it is credited whole.
 *   prorrateo = (11,500 + 1,000) ÷ (12,500 + 1,500) = 0.892857
 *   acreditable = (1,504 − 80 − 320) × 0.892857 + 106.67 × 1 = 985.714128 + 106.67 = 1,092.384128
 *   saldo = 1,840 − 1,092.384128 − 0 = 747.615872
 * At the end of May half of S2 is to be collected: 400 of IVA. Accrued: 1,600 + 800 + 0 − 160 = 2,240, and received in May R1, R3 and R4 at
 * 18.5: 640 + 80 + 296 = 1,016. P9 pays an invoice that nobody knows and states 50 of IVA, which are in no sum.
 *
 * Withheld, all by the company: April R0 100 and 106.67; May R2 300 and 320. In June R5 is a fee of 1,000 + 160 of which nothing is withheld:
 * 10 % of 1,000 and two thirds of 160 are missing, 100 + 106.666667. R6 is freight of 2,000 + 320 less 4 % of IVA, 80, as it should be.
 */
const [CUSTOMER, SUPPLIER, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'EEEE850505EE4']
const uuid = (n: number) => `0000000${n.toString(16).toUpperCase()}-0000-4000-8000-00000000000${n.toString(16).toUpperCase()}`
const [S1, S2, S3, N1, R0, R1, R2, R3, R4, R5, R6, P2, P3, P4, P9] = Array.from({ length: 15 }, (_, n) => uuid(n)) as [string, ...string[]]

const documentsOf = (rfc: string): Written[] => {
  const sale = { emisor: rfc, receptor: CUSTOMER }
  const purchase = { emisor: SUPPLIER, receptor: rfc }
  const fee = { emisor: PERSON, receptor: rfc, regimen: '612' }
  return [
    { ...sale, uuid: S1, fecha: '2026-05-04', lines: [{ importe: 10_000 }] },
    { ...sale, uuid: S2!, fecha: '2026-05-05', metodo: 'PPD', lines: [{ importe: 5_000 }, { importe: 2_000, iva: '0.00' }] },
    { ...sale, uuid: S3!, fecha: '2026-05-06', lines: [{ importe: 1_500, iva: 'exento' }] },
    { ...sale, uuid: N1!, fecha: '2026-05-20', tipo: 'E', relacion: ['01', S1], lines: [{ importe: 1_000 }] },
    { ...fee, uuid: R0!, fecha: '2026-04-10', lines: [{ clave: '84111500', importe: 1_000, isr: 100, iva_retenido: 106.67 }] },
    { ...purchase, uuid: R1!, fecha: '2026-05-07', lines: [{ importe: 4_000 }] },
    { ...fee, uuid: R2!, fecha: '2026-04-15', metodo: 'PPD', lines: [{ clave: '84111500', importe: 3_000, isr: 300, iva_retenido: 320 }] },
    { ...purchase, uuid: R3!, fecha: '2026-05-09', forma: '01', lines: [{ clave: '15101514', importe: 500 }] },
    { ...purchase, uuid: R4!, fecha: '2026-05-10', metodo: 'PPD', moneda: ['USD', '18.5'], lines: [{ importe: 100 }] },
    { ...fee, uuid: R5!, fecha: '2026-06-03', lines: [{ clave: '84111500', importe: 1_000 }] },
    { ...purchase, uuid: R6!, fecha: '2026-06-04', lines: [{ clave: '78101802', importe: 2_000, iva_retenido: 80 }] },
    { ...sale, uuid: P2!, fecha: '2026-05-28', tipo: 'P', pago: ['2026-05-28', [{ uuid: S2!, pagado: 3_900 }]] },
    { ...fee, uuid: P3!, fecha: '2026-05-15', tipo: 'P', pago: ['2026-05-15', [{ uuid: R2!, pagado: 2_860 }]] },
    {
      ...purchase,
      uuid: P4!,
      fecha: '2026-05-30',
      tipo: 'P',
      pago: ['2026-05-30', [{ uuid: R4!, pagado: 116, moneda: 'USD' }], ['USD', '19']],
    },
    { ...sale, uuid: P9!, fecha: '2026-05-31', tipo: 'P', pago: ['2026-05-31', [{ uuid: uuid(15), pagado: 362.5, iva: 50 }]] },
  ]
}

async function imported(): Promise<{ of: Organization; fiscal_entity_id: string; rfc: string }> {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner)
  await importInto(of, fiscal_entity_id, documentsOf(rfc))
  return { of, fiscal_entity_id, rfc }
}

/** The sum of all entries of a drilldown, as the figure is written; of a count, how many they are. */
async function addedUp(of: Organization, drilldown: string, name: string): Promise<string | number> {
  let [sum, n] = [0n, 0]
  for (let cursor = ''; ; ) {
    const { body, status } = await of.ask('GET', `${drilldown}&limit=2${cursor}`)
    expect([status, body.detail]).toEqual([200, undefined])
    n += body.data.length
    for (const { amount } of body.data) sum += micros(amount ?? '0')
    if (!body.has_more) return name.endsWith('count') ? n : money(sum)
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

type Row = Awaited<ReturnType<Organization['ask']>>['body']
const valueAt = (row: unknown, path: string): unknown => path.split('.').reduce((one, name) => (one as Record<string, unknown>)[name], row)

describe('April to June 2026 of a company, by hand', async () => {
  const { of, fiscal_entity_id, rfc } = await imported()
  const query = `fiscal_entity_id=${fiscal_entity_id}`

  it('has the VAT position of May, and every figure is what its documents add up to', async () => {
    await of.ask('GET', `/v1/analytics/vat-position?${query}&period=2026-05`)
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () =>
      of.ask('GET', `/v1/analytics/vat-position?${query}&period=2026-05`),
    )
    expect(cost).toMatchObject({ d1_calls: 4, rows_written: 0 })
    const { data, data_quality, basis } = result.body
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({
      cobrado: { base_16: '11500.00', iva_16: '1840.00', base_0: '1000.00', base_exento: '1500.00', base_8: '0.00', iva_otras: '0.00' },
      pagado: { base_16: '9400.00', iva_16: '1504.00', retenido_a_terceros: '320.00' },
      ...{ no_deducible_excluded: '80.00', at_risk_69b: '0.00', at_risk_repse: '0.00', prorrateo: '0.892857' },
      ...{ acreditable: '1092.38', saldo: '747.62', resultado: 'a_cargo' },
      ...{ pendiente_por_cobrar_iva: '400.00', pendiente_por_acreditar_iva: '0.00' },
      devengado: { trasladado: '2240.00', acreditable: '1016.00' },
      pagos_sin_conciliar: { count: 1, iva: '50.00', iva_cobrado: '50.00', iva_pagado: '0.00' },
      ...{ declarado: null, diferencia: null, is_partial: false, through_date: '2026-05-31' },
    })
    expect(data_quality).toMatchObject({ unreconciled_payments: 1, missing_rate: 0, other_parties: 0 })
    expect(basis.rules.map(({ key }: { key: string }) => key)).toEqual([
      'cash.several_payments',
      'cash.threshold',
      'deduction.car_rental',
      'deduction.fuel',
      'deduction.restaurants',
      'deduction.vehicles',
      'payment_forms',
      'repse.claves',
      'vat.proportion',
    ])
    for (const [figure, drilldown] of Object.entries<string>(data[0].drilldown))
      expect([figure, await addedUp(of, drilldown, figure)]).toEqual([figure, valueAt(data[0], figure)])
    expect(await addedUp(of, data_quality.drilldown.unreconciled_payments, 'amounts')).toBe('362.50')
  })

  it('says of a month of which nothing was downloaded that it is not known, and of one that was empty that it is zero', async () => {
    const path = `/v1/analytics/vat-position?${query}&from=2026-01&to=2026-03`
    const unknown = {
      saldo: null,
      resultado: null,
      acreditable: null,
      prorrateo: null,
      diferencia: null,
      data_status: { issued: 'missing', received: 'missing' },
    }
    const { entity } = (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?')
      .bind(fiscal_entity_id)
      .first<{ entity: number }>())!
    const covered = (...months: string[]) => JSON.stringify(Object.fromEntries(months.map((month) => [month, [[0, 'over']]])))
    const cover = (issued: string[], received: string[]) =>
      env.LEDGER_0.prepare(
        "insert or replace into coverage (entity, source, months) values (?1, 'sat_cfdi_issued', ?2), (?1, 'sat_cfdi_received', ?3)",
      )
        .bind(entity, covered(...issued), covered(...received))
        .run()
    // Until anything is downloaded, imports are all that there is.
    const imported = { saldo: '0.00', data_status: { issued: 'imported', received: 'imported' } }
    expect((await of.ask('GET', path)).body.data).toMatchObject([imported, imported, imported])
    await cover(['2025-12'], ['2025-12'])
    const before = (await of.ask('GET', path)).body
    expect(before.data).toMatchObject([unknown, unknown, unknown])
    const all = ['2026-01', '2026-02', '2026-03']
    expect(before.data_quality).toMatchObject({ months_missing: 6, missing_months: { issued: all, received: all } })
    // February was downloaded, of March only what was issued.
    await cover(['2026-02', '2026-03'], ['2026-02'])
    const after = (await of.ask('GET', path)).body
    expect(after.data).toMatchObject([
      unknown,
      {
        saldo: '0.00',
        resultado: 'a_cargo',
        acreditable: '0.00',
        prorrateo: '1.000000',
        data_status: { issued: 'complete', received: 'complete' },
      },
      { saldo: null, resultado: null, acreditable: null, prorrateo: '1.000000', data_status: { issued: 'complete', received: 'missing' } },
    ])
    expect(after.data_quality).toMatchObject({
      months_missing: 3,
      missing_months: { issued: ['2026-01'], received: ['2026-01', '2026-03'] },
    })
  })

  it('counts the suppliers of whom the REPSE registry has not answered, until it has', async () => {
    const unknownIn = async (path: string) =>
      (await of.ask('GET', `/v1/${path}${query}&from=2026-04&to=2026-06`)).body.data_quality.repse_unknown
    const surfaces = ['cfdi/deductions?', 'analytics/vat-position?', 'cfdi/risk?', 'analytics/risk?']
    const counts = async () => Promise.all(surfaces.map(unknownIn))
    expect(await counts()).toEqual([2, 2, 2, 2])
    await env.DB.prepare('insert into repse_records (rfc, checked_at, is_registered, attempts) values (?, ?, 1, 0)')
      .bind(PERSON!, Date.now())
      .run()
    expect(await counts()).toEqual([1, 1, 1, 1])
    expect(await Promise.all(['cfdi/risk?direction=issued&', 'cfdi/withholdings?'].map(unknownIn))).toEqual([null, null])
  })

  it('lists what is withheld by the day of cash, with what is missing, and its totals', async () => {
    const path = `/v1/cfdi/withholdings?${query}&from=2026-04&to=2026-06`
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => of.ask('GET', path))
    expect(cost).toMatchObject({ d1_calls: 2, rows_written: 0 })
    const { data, totals } = result.body
    const common = { iva_a_favor: '0.00', isr_a_favor: '0.00' }
    expect(totals).toMatchObject([
      { ...common, period: '2026-04', isr_por_enterar: '100.00', iva_por_enterar: '106.67', missing_count: 0, missing_amount: '0.00' },
      { ...common, period: '2026-05', isr_por_enterar: '300.00', iva_por_enterar: '320.00', missing_count: 0, missing_amount: '0.00' },
      { ...common, period: '2026-06', isr_por_enterar: '0.00', iva_por_enterar: '80.00', missing_count: 2, missing_amount: '206.67' },
    ])
    expect(
      data.map(({ uuid: one, impuesto, amount, expected_amount, concept_class, missing }: Record<string, unknown>) => [
        one,
        impuesto,
        amount,
        expected_amount,
        concept_class,
        missing,
      ]),
    ).toEqual([
      [R6, 'IVA', '80.00', '80.00', 'autotransporte', false],
      [R5, 'ISR', '0.00', '100.00', 'honorarios', true],
      [R5, 'IVA', '0.00', '106.67', 'honorarios', true],
      [P3, 'ISR', '300.00', '300.00', 'honorarios', false],
      [P3, 'IVA', '320.00', '320.00', 'honorarios', false],
      [R0, 'ISR', '100.00', '100.00', 'honorarios', false],
      [R0, 'IVA', '106.67', '106.67', 'honorarios', false],
    ])
    expect(data[3]).toMatchObject({
      ...{ applies_to: R2, source: 'pago', role: 'withheld_by_us', date: '2026-05-15', period: '2026-05', due_date: '2026-06-17' },
      ...{ base: '3000.00', rate: '0.100000', expected_rate: '0.100000', difference: '0.00', counterparty_rfc: PERSON },
    })
    for (const { drilldown, ...sums } of totals)
      for (const [figure, path_] of Object.entries<string>(drilldown)) expect(await addedUp(of, path_, figure)).toBe(sums[figure])
    const page = await of.ask('GET', `${path}&missing=true&impuesto=IVA`)
    expect(page.body.data.map((one: { uuid: string }) => one.uuid)).toEqual([R5])
  })

  it('reads no more rows when there are documents outside the range', async () => {
    const paths = [`/v1/analytics/vat-position?${query}&period=2026-05`, `/v1/cfdi/withholdings?${query}&from=2026-04&to=2026-06`]
    const rowsOf = async () => {
      const read = []
      for (const path of paths) read.push((await costOf(env.LEDGER_0, env.FILES, () => of.ask('GET', path))).cost.rows_read)
      return read
    }
    const before = await rowsOf()
    const older = Array.from({ length: 40 }, (_, n): Written => {
      const id = `00000000-0000-4000-8000-0000000001${String(n).padStart(2, '0')}`
      const [emisor, receptor] = n % 2 === 0 ? [rfc, CUSTOMER!] : [PERSON!, rfc]
      return { uuid: id, emisor, receptor, regimen: '612', fecha: '2025-03-04', lines: [{ clave: '84111500', importe: 100 }] }
    })
    await importInto(of, fiscal_entity_id, older)
    expect(await rowsOf()).toEqual(before)
  })

  it('refuses a period beside a range, half a month, and an unknown figure', async () => {
    const path = `/v1/analytics/vat-position?${query}`
    expect((await of.ask('GET', `${path}&period=2026-05&from=2026-04`)).body).toMatchObject({ errors: [{ path: 'period' }] })
    expect((await of.ask('GET', `${path}&from=2026-04-02`)).status).toBe(422)
    expect((await of.ask('GET', `/v1/analytics/vat-position/entries?${query}&figure=saldo`)).status).toBe(422)
    expect((await of.ask('GET', `/v1/cfdi/withholdings?${query}&missing=false`)).status).toBe(422)
    const { status, body } = await of.ask('GET', `/v1/cfdi/withholdings?${query}&concept_class=foo`)
    expect([status, body.errors[0].path, body.errors[0].message]).toEqual([
      422,
      'concept_class',
      'Must be one of autotransporte, resico_pf, arrendamiento, comision, honorarios, desperdicios, servicios_personal, otros, sueldos.',
    ])
  })

  it('says whether all is known of the month before, of which IVA is credited', async () => {
    // February was downloaded whole. Then it pays an invoice that nobody knows: IVA may have been withheld on it.
    const path = `/v1/analytics/vat-position?${query}&from=2026-01&to=2026-03`
    const knownBefore = async () => (await of.ask('GET', path)).body.data.map((row: Row) => row.month_before.is_known)
    expect(await knownBefore()).toEqual([false, false, true])
    const payment = { uuid: uuid(14).replace('4000', '4001'), emisor: SUPPLIER!, receptor: rfc, fecha: '2026-02-10', tipo: 'P' } as const
    await importInto(of, fiscal_entity_id, [{ ...payment, pago: ['2026-02-10', [{ uuid: uuid(15), pagado: 116 }]] }])
    expect(await knownBefore()).toEqual([false, false, false])
  })
})
