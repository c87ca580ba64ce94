import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import defaults from '../../assets/rules.json' with { type: 'json' }
import type { RuleKey, RuleRow } from '../../src/authority/rules/dated.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { expectAddedUp, linksIn } from './support/added-up.ts'
import { setOwnRules } from './support/facts.ts'
import { importInto } from './support/imported.ts'
import { requesterOf } from './support/served.ts'
import type { Written } from './support/xml.ts'

/**
 * An operator sets new values in 2025; each document is judged by those of its own day. From 1 July: cash above 500 is not deductible, fees
 * have 20 % of ISR withheld, an invoice without terms is due after 60 days, and complements by the 25th. From 15 June: the 20th is the due day.
 * From 1 June: 25 % of ISR, of which the year counts.
 */
const honorarios = (defaults as RuleRow[]).find(({ key }) => key === 'withholding.honorarios')!.value as object
const own = (key: RuleKey, valid_from: string, value: unknown): RuleRow => ({
  ...{ key, value, valid_from, valid_to: null, rule_ref: 'Own', source: 'An operator', confidence: 'proposed' },
})
const OWN: RuleRow[] = [
  own('cash.threshold', '2025-07-01', '500'),
  own('withholding.honorarios', '2025-07-01', { ...honorarios, isr: { numerator: 1, denominator: 5 } }),
  own('financing.default_terms_days', '2025-07-01', 60),
  own('rep.due_day', '2025-07-01', 25),
  own('obligation.due_day', '2025-06-15', 20),
  own('isr.company', '2025-06-01', '0.25'),
]

const [CLIENT, SHOP, LISTED, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'FFF060606FF6', 'PEPJ800101AB1'] as const
const uuid = (n: number) => `000000${n.toString().padStart(2, '0')}-DA7E-4000-8000-000000000000`
const [C1, C2, H1, H2, F1, F2, P1, P2, E1, E2, C3] = Array.from({ length: 11 }, (_, n) => uuid(n + 1)) as [string, ...string[]]

const documentsOf = (us: string): Written[] => {
  const cash = { emisor: SHOP, receptor: us, forma: '01', lines: [{ importe: 1_000 }] }
  const fee = {
    emisor: PERSON,
    receptor: us,
    regimen: '612',
    lines: [{ clave: '84111506', importe: 1_000, isr: 100, iva_retenido: 106.67 }],
  }
  const sale = { emisor: us, receptor: CLIENT, metodo: 'PPD' as const }
  const paid = { emisor: us, receptor: CLIENT, tipo: 'P' as const }
  return [
    { ...cash, uuid: C1, fecha: '2025-06-10' },
    { ...cash, uuid: C2!, fecha: '2025-07-10' },
    { ...cash, uuid: C3!, fecha: '2025-06-11', lines: [{ importe: 3_000 }] },
    { ...fee, uuid: H1!, fecha: '2025-06-20' },
    { ...fee, uuid: H2!, fecha: '2025-07-20' },
    { ...sale, uuid: F1!, fecha: '2025-06-01', lines: [{ importe: 1_000 }] },
    { ...sale, uuid: F2!, fecha: '2025-07-01', lines: [{ importe: 2_000 }] },
    // Both are paid on a 10th, and their complements are of the 8th of the next month.
    { ...paid, uuid: P1!, fecha: '2025-07-08', pago: ['2025-06-10', [{ uuid: F1!, pagado: 160 }]] },
    { ...paid, uuid: P2!, fecha: '2025-08-08', pago: ['2025-07-10', [{ uuid: F2!, pagado: 320 }]] },
    { uuid: E1!, emisor: LISTED, receptor: us, fecha: '2024-11-05', lines: [{ importe: 1_000 }] },
    { uuid: E2!, emisor: LISTED, receptor: us, fecha: '2025-03-05', lines: [{ importe: 2_000 }] },
  ]
}

let of: Organization
let fiscal_entity_id: string

beforeAll(async () => {
  await setOwnRules(OWN)
  vi.useRealTimers()
  await env.DB.batch([
    env.DB.prepare("insert or replace into blacklist_lists (organization_id, source, version, row_count) values ('', 'sat_69b', 1, 1)"),
    env.DB.prepare(
      "insert or replace into blacklist_entries (organization_id, source, rfc, name, situacion, history) values ('', 'sat_69b', ?, 'L', 'definitivo', ?)",
    ).bind(LISTED, JSON.stringify([['definitivo', '2025-05-01', '2025-05-02', '500-06']])),
  ])
  of = await organization('enterprise_gold')
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  await importInto(of, fiscal_entity_id, documentsOf(connected.rfc))
})

// Other tests have the defaults.
afterAll(async () => {
  await setOwnRules([])
  vi.useRealTimers()
})

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
const get = async (path: string, query: string): Promise<any> => {
  const { status, body } = await of.ask('GET', `/v1${path}?fiscal_entity_id=${fiscal_entity_id}&${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
/** The values of a rule that an answer cites, with their first days. */
const cited = ({ basis }: { basis: { rules: RuleRow[] } }, key: RuleKey) =>
  basis.rules.filter((one) => one.key === key).map(({ value, valid_from }) => [value, valid_from])
const followed = async (body: object) => {
  for (const link of linksIn(body as never)) await expectAddedUp(requesterOf(of.owner, fiscal_entity_id), link)
}

const TERMS = 'financing.default_terms_days'

describe('a rule that an operator changes says of each document what it said on its day', () => {
  it('VAT of cash above the limit of the day of payment is excluded: 1,160 in July, in June only 3,480', async () => {
    const both = await get('/analytics/vat-position', 'from=2025-06&to=2025-07')
    expect(both.data).toMatchObject([{ no_deducible_excluded: '480.00' }, { no_deducible_excluded: '160.00' }])
    expect(cited(both, 'cash.threshold')).toEqual([
      ['2000', '2010-01-01'],
      ['500', '2025-07-01'],
    ])
    await followed(both)
    // A value that begins after the range is not among its rules.
    expect(cited(await get('/analytics/vat-position', 'period=2025-06'), 'cash.threshold')).toEqual([['2000', '2010-01-01']])
    expect(cited(await get('/analytics/vat-position', 'period=2025-07'), 'cash.threshold')).toEqual([['500', '2025-07-01']])
  })

  it('flags are of the day of the document, those of complements of the month of their payment', async () => {
    const { data, basis } = await get('/cfdi/risk', 'from=2025-06&to=2025-08&limit=100')
    const having = (code: string) =>
      data.flatMap((row: { uuid: string; flags: { code: string }[] }) => (row.flags.some((flag) => flag.code === code) ? [row.uuid] : []))
    expect(having('cash_over_2000').sort()).toEqual([C2, C3])
    // 100 of ISR are 10 % of 1,000 in June, and half of what 20 % are in July.
    expect(having('withholding_missing')).toEqual([H2])
    // Paid on 10 June, due on 5 July; paid on 10 July, due on 25 August.
    expect(having('complement_late')).toEqual([P1])
    const limitOf = (id: string) =>
      data.find((row: { uuid: string }) => row.uuid === id).flags.find((flag: { code: string }) => flag.code === 'cash_over_2000').evidence
        .limit
    expect([limitOf(C2!), limitOf(C3!)]).toEqual(['500.00', '2000.00'])
    const withheld = data
      .find((row: { uuid: string }) => row.uuid === H2)
      .flags.find((flag: { code: string }) => flag.code === 'withholding_missing')
    expect(withheld.evidence).toMatchObject({ expected_isr: '200.00', isr_retenido: '100.00' })
    expect(basis.notes.at(-1)).toContain('on the document’s day')
  })

  it('deductions are of the day of the document', async () => {
    const body = await get('/cfdi/deductions', 'from=2025-06&to=2025-07')
    const statusOf = (id: string) => body.data.find((row: { uuid: string }) => row.uuid === id)
    expect(statusOf(C1)).toMatchObject({ status: 'eligible', reasons: [] })
    expect(statusOf(C2!)).toMatchObject({ status: 'not_deductible', reasons: ['cash_over_2000'] })
    await followed(body)
  })

  it('withholdings are of the day of payment, and due when the obligations of the period are', async () => {
    const body = await get('/cfdi/withholdings', 'from=2025-05&to=2025-07&impuesto=ISR')
    expect(body.data).toMatchObject([
      { uuid: H2, expected_amount: '200.00', difference: '-100.00', missing: true, due_date: '2025-08-20' },
      // The 20th of July is a Sunday.
      { uuid: H1, expected_amount: '100.00', difference: '0.00', missing: false, due_date: '2025-07-21' },
    ])
    expect(body.totals).toMatchObject([
      { period: '2025-06', missing_count: 0, missing_amount: '0.00' },
      { period: '2025-07', missing_count: 1, missing_amount: '100.00' },
    ])
    await followed(body)
  })

  it('an invoice without terms is due by the rule of its own day', async () => {
    // 1,160 of 1 June less 160 are due on 1 July; 2,320 of 1 July less 320 on 30 August.
    const body = await get('/analytics/financing', 'as_of=2025-08-15')
    expect(body.receivables).toMatchObject({ outstanding: '3000.00', overdue: '1000.00', aging: { current: '2000.00', d31_60: '1000.00' } })
    expect(cited(body, TERMS)).toEqual([
      [30, '2010-01-01'],
      [60, '2025-07-01'],
    ])
    await followed(body)
    expect(cited(await get('/analytics/financing', 'as_of=2025-06-30'), TERMS)).toEqual([[30, '2010-01-01']])
  })

  it('ISR is lost at the rate of the year: 30 % of 1,000 in 2024 and 25 % of 2,000 in 2025', async () => {
    const body = await get('/analytics/efos-exposure', 'from=2024-01&to=2025-12')
    expect(body.data).toMatchObject([{ rfc: LISTED, amount: '3000.00', isr_effect: '800.00' }])
    expect(body.by_situacion[1]).toMatchObject({ situacion: 'definitivo', isr_effect: '800.00' })
    expect(cited(body, 'isr.company')).toEqual([
      ['0.30', '2010-01-01'],
      ['0.25', '2025-06-01'],
    ])
    const earlier = await get('/analytics/efos-exposure', 'from=2024-01&to=2024-12')
    expect(earlier.data).toMatchObject([{ amount: '1000.00', isr_effect: '300.00' }])
    expect(cited(earlier, 'isr.company')).toEqual([['0.30', '2010-01-01']])
  })
})

/**
 * A natural person earns 1,000,000 in 2025, so that 150,000 can be deducted. Hospitals: 100,000 in March, of which 10,000 are credited in April,
 * and 80,000 in August: 60,000 of these.
 */
describe('the limit of a year is used up from 1 January on', () => {
  const [M, N, A, B] = Array.from({ length: 4 }, (_, n) => uuid(20 + n)) as [string, ...string[]]
  let person: Organization
  let query: string

  beforeAll(async () => {
    person = await organization()
    const connected = await connect(person.owner, 'PEPJ850505AB3', { ciec: 'empty' })
    query = `fiscal_entity_id=${connected.fiscal_entity_id}&annual_income=1000000`
    const hospital = { emisor: SHOP, receptor: connected.rfc, uso: 'D01', regimenReceptor: '605' }
    const line = (importe: number) => [{ importe, iva: 'exento' as const }]
    await importInto(person, connected.fiscal_entity_id, [
      { ...hospital, uuid: M, fecha: '2025-03-10', lines: line(100_000) },
      {
        ...hospital,
        uuid: N!,
        fecha: '2025-04-10',
        tipo: 'E',
        uso: 'G02',
        regimenReceptor: '612',
        relacion: ['01', M],
        lines: line(10_000),
      },
      { ...hospital, uuid: A!, fecha: '2025-08-10', lines: line(80_000) },
      // It is of no personal deduction, and before the range.
      { ...hospital, uuid: B!, fecha: '2025-02-10', uso: 'G03', regimenReceptor: '612', lines: line(50_000) },
    ])
  })

  it('also by documents before the range, which is all that is shown', async () => {
    const { status, body } = await person.ask('GET', `/v1/cfdi/deductions?${query}&from=2025-07&to=2025-12`)
    expect(status).toBe(200)
    expect(body.data).toMatchObject([{ uuid: A, deductible_amount: '60000.00', status: 'capped', reasons: ['cap_global'] }])
    expect(body.totals).toMatchObject([
      { year: '2025', gross_amount: '80000.00', deductible_amount: '60000.00', limit: '150000.00', used: '150000.00', remaining: '0.00' },
    ])
    expect(body.data_quality).toMatchObject({ cfdi_total: 1 })
    const { drilldown } = body.totals[0]
    const entries = await person.ask('GET', drilldown.deductible_amount)
    expect(entries.body.data).toEqual([{ uuid: A, amount: '60000.000000', applies_to: null }])
  })

  it('and the parts of a year deduct together what the year does', async () => {
    const deducted = async (range: string) => {
      const { body } = await person.ask('GET', `/v1/cfdi/deductions?${query}&profile=personal&${range}`)
      return body.totals.map((one: { category: string; deductible_amount: string }) => [one.category, one.deductible_amount])
    }
    expect(await deducted('from=2025-01&to=2025-06')).toEqual([['health', '90000.00']])
    expect(await deducted('from=2025-07&to=2025-12')).toEqual([['health', '60000.00']])
    expect(await deducted('from=2025-01&to=2025-12')).toEqual([['health', '150000.00']])
  })
})
