import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/**
 * What a company was told by its customers and suppliers in May 2026, all of it odd: a supplier credits more than it ever invoiced, a complement
 * says that far more was paid than its invoice is of, and rates are zero.
 */
const [CUSTOMER, SUPPLIER] = ['BBB020202BB1', 'DDD040404DD3']
const uuid = (n: number) => `0000000${n}-0000-4000-8000-00000000000${n}`
const documentsOf = (rfc: string): Written[] => {
  const sale = { emisor: rfc, receptor: CUSTOMER }
  const purchase = { emisor: SUPPLIER, receptor: rfc }
  return [
    { ...purchase, uuid: uuid(1), fecha: '2026-05-04', lines: [{ importe: 1_000 }] },
    { ...purchase, uuid: uuid(2), fecha: '2026-05-05', tipo: 'E', relacion: ['01', uuid(1)], lines: [{ importe: 3_000 }] },
    { ...sale, uuid: uuid(3), fecha: '2026-05-06', metodo: 'PPD', lines: [{ importe: 1_000 }] },
    { ...sale, uuid: uuid(4), fecha: '2026-05-07', tipo: 'P', pago: ['2026-05-07', [{ uuid: uuid(3), pagado: 116_000 }]] },
    { ...sale, uuid: uuid(5), fecha: '2026-05-08', moneda: ['USD', '0'], lines: [{ importe: 100 }] },
  ]
}

let of: Organization
let query: string
let id: string
beforeAll(async () => {
  of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner)
  id = fiscal_entity_id
  query = `fiscal_entity_id=${fiscal_entity_id}`
  await importInto(of, fiscal_entity_id, documentsOf(rfc))
})
const get = async (path: string) => {
  const { status, body } = await of.ask('GET', `/v1${path}${path.includes('?') ? '&' : '?'}${query}`)
  return { status, body, faults: (body.errors ?? []).map((one: { path: string; message: string }) => [one.path, one.message]) }
}

describe('entries refuse what they would answer with nothing, or with too much', () => {
  const RANGE = 'from=2026-03-10&to=2026-06'
  it.each([
    ['/cfdi/deductions/entries', 'figure=gross_amount&year=2026', 'category', 'Is required with this figure.'],
    ['/cfdi/deductions/entries', 'figure=gross_amount&category=expense', 'year', 'Is required with this figure.'],
    ['/cfdi/deductions/entries', 'figure=not_counted&year=2026', 'year', /^Can be given with these figures only: gross_amount, /],
    ['/cfdi/concentration/entries', 'direction=issued&figure=not_counted&rfc=BBB020202BB1', 'rfc', /: total, invoice_count\.$/],
    ['/cfdi/withholdings/entries', 'figure=missing_rate&period=2026-05', 'period', /only: isr_a_favor/],
    ['/analytics/concepts/entries', 'figure=amount', 'key', 'Is required with this figure.'],
    ['/analytics/concepts/entries', 'figure=total&key=43211503', 'key', /only: amount, invoice_count\.$/],
    ['/analytics/concepts/entries', 'figure=outliers&month=2026-05', 'month', /only: total/],
    ['/analytics/efos-exposure/entries', 'figure=active_amount&rfc=DDD040404DD3', 'rfc', /only: amount/],
    ['/analytics/fx-exposure/entries', 'figure=open_receivable', 'currency', 'Is required with this figure.'],
    ['/analytics/fx-exposure/entries', 'figure=total_sales&currency=USD', 'currency', /only: issued_amount/],
    ['/analytics/financing/entries', 'figure=receivables.outstanding&month=2026-05', 'month', /only: receivables\.expected/],
    ['/analytics/vat-position/entries', 'figure=cobrado.iva_16&rfc=BBB020202BB1', 'rfc', /only: pagado\./],
  ])('%s?%s', async (path, asked, key, message) => {
    const { status, faults } = await get(`${path}?${asked}`)
    expect([status, faults]).toEqual([422, [[key, typeof message === 'string' ? message : expect.stringMatching(message)]]])
  })

  it.each([
    ['/cfdi/concentration/entries', 'direction=issued&figure=total', 'month', '2026-02'],
    ['/cfdi/concentration/entries', 'direction=issued&figure=total', 'month', '2026-07'],
    ['/analytics/concepts/entries', 'figure=total', 'month', '2010-01'],
    ['/cfdi/withholdings/entries', 'figure=isr_por_enterar', 'period', '2026-02'],
  ])('%s?%s with the %s %s, which is not in the range', async (path, asked, key, value) => {
    const { status, body, faults } = await get(`${path}?${RANGE}&${asked}&${key}=${value}`)
    expect([status, body.code, faults]).toEqual([422, 'range.invalid', [[key, 'Must be in the range, from 2026-03 to 2026-06.']]])
    expect((await get(`${path}?${RANGE}&${asked}&${key}=2026-05`)).status).toBe(200)
  })

  it('a year of deductions, and a month in which nothing can be expected', async () => {
    const year = await get('/cfdi/deductions/entries?from=2026-03&to=2026-06&figure=gross_amount&category=expense&year=2025')
    expect([year.status, year.faults]).toEqual([422, [['year', 'Must be 2026.']]])
    const month = await get('/analytics/financing/entries?as_of=2026-05-20&figure=receivables.expected&month=2026-04')
    expect([month.status, month.faults]).toEqual([422, [['month', 'Must not be before 2026-05, the month of as_of.']]])
  })

  it('a range that begins after as_of, of which nothing was known then', async () => {
    for (const path of ['/analytics/efos-exposure', '/analytics/fx-exposure', '/analytics/efos-exposure/entries?figure=total_purchases']) {
      const separator = path.includes('?') ? '&' : '?'
      const { status, faults } = await get(`${path}${separator}from=2026-05&to=2026-06&as_of=2026-04-30`)
      expect([path, status, faults]).toEqual([path, 422, [['as_of', 'Must not be before the range, which begins on 2026-05-01.']]])
    }
  })
})

it.each([
  ['from=2026-02-30', 'Must be a month, YYYY-MM, or a day, YYYY-MM-DD, in a year from 2000 to 2199.'],
  ['from=1900-01', 'Must be a month, YYYY-MM, or a day, YYYY-MM-DD, in a year from 2000 to 2199.'],
  ['from=2026-01&from=2026-02', 'Must be given only once.'],
  ['from=2026-05&to=2026-01', 'Must not be after `to`, 2026-01.'],
])('%s is refused with what it must be', async (asked, message) => {
  expect((await get(`/cfdi/risk?${asked}`)).faults).toEqual([['from', message]])
})

describe('what is odd in documents', () => {
  const MAY = 'from=2026-05&to=2026-05'

  it('nothing is a part of a total that credit notes made negative', async () => {
    const { body: concepts } = await get(`/analytics/concepts?${MAY}`)
    expect(concepts).toMatchObject({ total: '-2000.00', unclassified_share: null, data: [{ amount: '-2000.00', share: null }] })
    const { body: concentration } = await get(`/cfdi/concentration?${MAY}&direction=received`)
    expect(concentration).toMatchObject({ total: '-2000.00', hhi: null, data: [{ rank: null, share: null, total: '-2000.00' }] })
  })

  it('a paid part counts as it is stated, and a rate of zero is none', async () => {
    const { body: vat } = await get('/analytics/vat-position?period=2026-05')
    // 116,000 ÷ 1,160 = 100 times the IVA of the invoice, and 100 USD at the published rate.
    const { data } = (await get(`/cfdi/concentration/entries?${MAY}&direction=issued&figure=total`)).body
    const dollars = data.find((one: { uuid: string }) => one.uuid === uuid(5)).amount
    expect(Number(dollars)).toBeGreaterThan(1_000)
    expect(Number(vat.data[0].cobrado.iva_16)).toBeCloseTo(16_000 + 0.16 * Number(dollars), 2)
    expect(vat.data_quality).toMatchObject({ dof_rate: 1, missing_rate: 0 })
    const { body: owed } = await get('/analytics/financing')
    expect(owed.receivables).toMatchObject({ outstanding: '0.00', invoice_count: 0 })
  })
})

describe('what is not known', () => {
  it('no counterparty was looked for on the list of article 69-B: that is null, and no zero', async () => {
    const indicator = async (range: string) =>
      (await get(`/analytics/risk?${range}`)).body.data.find((one: { key: string }) => one.key === 'blacklisted_counterparties')
    expect(await indicator('from=2026-01&to=2026-02')).toMatchObject({ value: null, sample_size: 0, risky: false })
    expect(await indicator('from=2026-05&to=2026-05')).toMatchObject({ value: 0, sample_size: 2, risky: false })
  })

  it('months of which the window shows only some days are named, with these days', async () => {
    const window = "issued_from = '2026-04-10', issued_to = ?, received_from = '2026-05-01', received_to = ?"
    await env.DB.batch([
      env.DB.prepare('update organizations set extractor_count = 1 where id = ?').bind(of.owner.organization_id),
      env.DB.prepare(`update connections set ${window} where fiscal_entity_id = ?`).bind(
        Date.parse('2026-06-15T12:00:00Z'),
        Date.parse('2026-07-20T12:00:00Z'),
        id,
      ),
    ])
    const cut = async (path: string) => (await get(path)).body.data_quality.cut_months
    expect(await cut('/cfdi/risk?from=2026-03&to=2026-06')).toEqual({
      issued: [
        { month: '2026-04', from: '2026-04-10', to: '2026-04-30' },
        { month: '2026-06', from: '2026-06-01', to: '2026-06-15' },
      ],
      received: [],
    })
    expect(await cut('/cfdi/concentration?direction=received&from=2026-03&to=2026-06')).toEqual({ issued: [], received: [] })
    // What the range leaves out is not what the window hides.
    expect(await cut('/cfdi/risk?from=2026-04-10&to=2026-06-10')).toEqual({ issued: [], received: [] })
  })
})
