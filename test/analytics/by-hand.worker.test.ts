import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { importsOf, post, zipWith } from '../cfdi/imports/support/imports.ts'
import { type Plain, plainOf } from '../cfdi/support/documents.ts'
import { documents, insertCfdi } from '../cfdi/support/ledger.ts'
import { api, basic, request } from '../support/client.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros } from './oracle/amounts.ts'

const random = randomOf(1616)
const [C1, C2, PUBLIC, S1, S2] = ['BBB020202BB1', 'CCC030303CC2', 'XAXX010101000', 'DDD040404DD3', 'EEE050505EE4'] as const
const RANGE = 'from=2025-01&to=2025-06'

let of: Organization
let fiscal_entity_id: string
let book: Record<'a' | 'b' | 'c' | 'd' | 'e' | 's1' | 's2' | 's3' | 'p1', Plain>

/** An invoice with one line of 84111506 and 16 % of IVA, unless said otherwise. */
const plain = (fecha: string, subtotal: string, more: Partial<Plain>): Plain => {
  const iva = (Number(subtotal) * 0.16).toFixed(2)
  const total = (Number(subtotal) * 1.16).toFixed(2)
  return plainOf(random, '2025-01', { tipo: 'I', metodo: 'PUE', fecha: `${fecha}T12:00:00`, subtotal, iva, total, lines: 1, ...more })
}

/**
 * Issued: a 1,000 to C1 in January, of which 600 are services (84) and 400 computers (43); b 500 to C1 in April; c 100 dollars at 20 to C2 in
 * February; d 700 to the public in March; e, a credit note of 200 to C1 in April. Received: s1 1,000 of S1 in January, PUE; s2 2,000 of S1 in
 * March, PPD, of which p1 pays half, 1,160 of 2,320; s3 500 of S2 in March. S1 is presumed since 2025-02-01 and definitive since 2025-05-02.
 */
beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  const us = connected.rfc
  const sale = (party: string) => ({ emisor: us, receptor: party })
  const purchase = (party: string) => ({ emisor: party, receptor: us })
  const s2 = plain('2025-03-15', '2000.00', { ...purchase(S1), metodo: 'PPD' })
  book = {
    a: plain('2025-01-10', '1000.00', {
      ...sale(C1),
      productos: [
        { clave: '84111506', importe: '600.00', descuento: null },
        { clave: '43211503', importe: '400.00', descuento: null },
      ],
    }),
    b: plain('2025-04-10', '500.00', sale(C1)),
    c: plain('2025-02-05', '100.00', { ...sale(C2), moneda: 'USD', tipo_cambio: '20' }),
    d: plain('2025-03-01', '700.00', sale(PUBLIC)),
    e: plain('2025-04-20', '200.00', { ...sale(C1), tipo: 'E' }),
    s1: plain('2025-01-15', '1000.00', purchase(S1)),
    s2,
    s3: plain('2025-03-16', '500.00', purchase(S2)),
    p1: plainOf(random, '2025-03', {
      ...{ tipo: 'P', fecha: '2025-03-21T12:00:00', ...purchase(S1) },
      pagos: [{ fecha: '2025-03-20T12:00:00', documentos: [{ uuid: s2.uuid, pagado: '1160.00', moneda: 'MXN' }] }],
    }),
  }
  const { body } = await post(of.owner, fiscal_entity_id, zipWith(Object.values(book)))
  await vi.waitUntil(async () => (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body.status === 'completed', {
    timeout: 30_000,
    interval: 50,
  })
  const history = JSON.stringify([
    ['presunto', '2025-01-30', '2025-02-01', '500-05'],
    ['definitivo', '2025-05-01', '2025-05-02', '500-06'],
  ])
  await env.DB.batch([
    env.DB.prepare("insert or replace into blacklist_lists (organization_id, source, version, row_count) values ('', 'sat_69b', 1, 1)"),
    env.DB.prepare(
      "insert or replace into blacklist_entries (organization_id, source, rfc, name, situacion, history) values ('', 'sat_69b', ?, 'S1', 'definitivo', ?)",
    ).bind(S1, history),
    // The list came past the loader, which would have kept who is on it with the connection.
    env.DB.prepare('update connections set listed = null where fiscal_entity_id = ?').bind(fiscal_entity_id),
  ])
})

const pathOf = (path: string, query: string) => `/v1${path}?fiscal_entity_id=${fiscal_entity_id}&${query}`
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
const get = async (path: string, query: string): Promise<any> => {
  const { status, body } = await of.ask('GET', pathOf(path, query))
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Follows the drilldowns of an answer that lead to entries. Returns what each adds up to, in cents. */
async function followed(drilldown: Record<string, string>): Promise<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const [figure, path] of Object.entries(drilldown)) {
    let sum = 0n
    for (let cursor = ''; ; ) {
      const { body } = await of.ask('GET', `${path}&limit=1${cursor}`)
      for (const { amount } of body.data) sum += micros(amount)
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    sums[figure] = Number(sum) / 1e6
  }
  return sums
}

describe('concentration by hand', () => {
  it('ranks customers by what they bought before taxes, net of credit notes; the public takes no part', async () => {
    const { data, ...header } = await get('/cfdi/concentration', `${RANGE}&direction=issued`)
    // C1 1,000 + 500 − 200; C2 100 × 20; the public 700. (2,000² + 1,300²) × 10,000 ÷ 3,300² = 5,224.98; 10,000 ÷ 5,225 = 1.91.
    expect(header).toMatchObject({
      ...{ total: '4000.00', concentration_total: '3300.00', counterparty_count: 3, hhi: 5225, effective_n: '1.91', level: 'high' },
      ...{ top1_share: '60.61', top3_share: '100.00', has_more: false, from: '2025-01', to: '2025-06', currency: 'MXN' },
      data_quality: { cfdi_total: 5, with_xml: 5, missing_rate: 0, dof_rate: 0, unreconciled_payments: null },
    })
    expect(header.basis.rules.map(({ key }: { key: string }) => key)).toEqual(['concentration.levels', 'concentration.trend_months'])
    expect(data.map(({ drilldown: _, first_issued_at: __, ...row }: Record<string, unknown>) => row)).toEqual([
      {
        ...{ rank: 1, rfc: C2, name: 'CLIENTE DE PRUEBA', total: '2000.00', share: '60.61', cumulative_share: '60.61', invoice_count: 1 },
        // Nothing in April to June, 2,000 in the three months before.
        ...{ last_issued_at: '2025-02-05T12:00:00-06:00', active_months: 1, trend_pct: '-100.00', cancelled_rate: '0.00', blacklist: null },
        by_month: [{ month: '2025-02', total: '2000.00' }],
      },
      {
        ...{ rank: 2, rfc: C1, name: 'CLIENTE DE PRUEBA', total: '1300.00', share: '39.39', cumulative_share: '100.00', invoice_count: 2 },
        // 300 after 1,000.
        ...{ last_issued_at: '2025-04-10T12:00:00-06:00', active_months: 2, trend_pct: '-70.00', cancelled_rate: '0.00', blacklist: null },
        by_month: [
          { month: '2025-01', total: '1000.00' },
          { month: '2025-04', total: '300.00' },
        ],
      },
      {
        ...{ rank: null, rfc: PUBLIC, name: 'CLIENTE DE PRUEBA', total: '700.00', share: null, cumulative_share: null, invoice_count: 1 },
        ...{ last_issued_at: '2025-03-01T12:00:00-06:00', active_months: 1, trend_pct: '-100.00', cancelled_rate: '0.00', blacklist: null },
        by_month: [{ month: '2025-03', total: '700.00' }],
      },
    ])
    expect(await followed(header.drilldown)).toEqual({ total: 4000 })
    expect(await followed(data[1].drilldown)).toEqual({
      total: 1300,
      invoice_count: 1500,
      'by_month.2025-01': 1000,
      'by_month.2025-04': 300,
    })
  })

  it('counts the public on request, pages by rank, and says who is listed', async () => {
    const query = `${RANGE}&direction=issued&include_generic=true`
    const whole = await get('/cfdi/concentration', query)
    // 700 of 4,000.
    expect(whole).toMatchObject({ concentration_total: '4000.00', data: [{}, {}, { rank: 3, share: '17.50', cumulative_share: '100.00' }] })
    const first = await get('/cfdi/concentration', `${query}&limit=2`)
    const second = await get('/cfdi/concentration', `${query}&limit=2&cursor=${first.next_cursor}`)
    expect([...first.data, ...second.data]).toEqual(whole.data)
    expect(second).toMatchObject({ has_more: false, hhi: whole.hhi })
    const suppliers = await get('/cfdi/concentration', `${RANGE}&direction=received`)
    expect(suppliers.data.map(({ rfc, blacklist }: Record<string, unknown>) => [rfc, blacklist])).toEqual([
      [S1, { source: 'sat_69b', situacion: 'definitivo' }],
      [S2, null],
    ])
  })

  it('is a table in CSV with a next page', async () => {
    const { headers, body } = await request('GET', pathOf('/cfdi/concentration', `${RANGE}&direction=issued&limit=1`), {
      headers: { authorization: basic(of.owner), accept: 'text/csv' },
    })
    expect(headers.get('link')).toMatch(/rel="next"/)
    const [heading, row] = String(body).split('\r\n')
    expect(heading).toBe(
      'rank,rfc,name,total,share,cumulative_share,invoice_count,first_issued_at,last_issued_at,active_months,trend_pct,cancelled_rate,blacklist.source,blacklist.situacion',
    )
    expect(row).toMatch(/^1,CCC030303CC2,CLIENTE DE PRUEBA,2000\.00,60\.61/)
  })
})

describe('concepts by hand', () => {
  it('adds lines up by segment, with quantities and prices', async () => {
    const { data, ...header } = await get('/analytics/concepts', `${RANGE}&direction=issued&level=segment`)
    expect(header).toMatchObject({
      ...{ total: '4000.00', line_count: 6, unclassified_amount: '0.00', unclassified_share: '0.00', outlier_count: 0 },
      has_line_figures: true,
    })
    // 84: 600 + 500 + 2,000 + 700 − 200. Prices of invoices: (600 + 500 + 2,000 + 700) ÷ 4; January 600, April 500: −16.67 %.
    expect(data).toMatchObject([
      {
        ...{ key: '84', amount: '3600.00', share: '90.00', quantity: '3.000000', unit: 'E48', invoice_count: 4, counterparty_count: 3 },
        ...{ avg_unit_price: '950.00', min_unit_price: '500.00', max_unit_price: '2000.00', price_change_pct: '-16.67' },
        ...{
          top_counterparty: { rfc: C2, nombre: 'CLIENTE DE PRUEBA', amount: '2000.00' },
          iva_mix: { '16': '3600.00', no_objeto: '0.00' },
        },
      },
      {
        key: '43',
        amount: '400.00',
        share: '10.00',
        quantity: '1.000000',
        price_change_pct: null,
        by_month: [{ month: '2025-01', amount: '400.00' }],
      },
    ])
    expect(data[0].label).toBe('Servicios financieros y de seguros')
    expect(await followed(header.drilldown)).toEqual({ total: 4000, unclassified_amount: 0, outlier_count: 0 })
    expect(await followed(data[0].drilldown)).toMatchObject({ amount: 3600, invoice_count: 3800, 'by_month.2025-04': 300 })
  })

  it('adds them up by description, without differences of case', async () => {
    const { data } = await get('/analytics/concepts', `${RANGE}&direction=issued&level=description`)
    expect(data).toMatchObject([
      {
        key: 'SERVICIOS PROFESIONALES DE CONSULTORÍA',
        label: 'Servicios profesionales de consultoría',
        amount: '4000.00',
        invoice_count: 4,
      },
    ])
    expect(await followed(data[0].drilldown)).toMatchObject({ amount: 4000, 'by_month.2025-04': 300 })
  })

  it('refuses a figure of a row without its key, an unknown parameter and an unknown figure', async () => {
    const status = async (query: string) => (await of.ask('GET', pathOf('/analytics/concepts/entries', query))).status
    expect([await status('figure=amount'), await status('figure=total&keys=84'), await status('figure=nothing')]).toEqual([422, 422, 422])
  })
})

describe('exposure to article 69-B by hand', () => {
  it('divides what was bought by what was published when, and by what was paid', async () => {
    const { data, ...header } = await get('/analytics/efos-exposure', '')
    // 1,000 + 2,000 of 3,500. IVA of s1, 160, and of half of s2, 160. Thirty business days after 2025-05-02, of which 5 May is none.
    expect(header).toMatchObject({
      ...{ total_purchases: '3500.00', share_of_purchases: '85.71', total_sales: null, share_of_sales: null, active_amount: '3000.00' },
      by_situacion: [
        { situacion: 'presunto', counterparty_count: 0, amount: '0.00' },
        {
          situacion: 'definitivo',
          counterparty_count: 1,
          invoice_count: 2,
          amount: '3000.00',
          iva_acreditado: '320.00',
          isr_effect: '900.00',
        },
        { situacion: 'desvirtuado' },
        { situacion: 'sentencia_favorable' },
      ],
    })
    expect(data).toMatchObject([
      {
        ...{ rfc: S1, situacion: 'definitivo', presunto_dof_at: '2025-02-01', definitivo_dof_at: '2025-05-02', resolved_at: null },
        ...{ invoice_count: 2, amount: '3000.00', iva_acreditado: '320.00', isr_effect: '900.00', is_active: true },
        ...{ paid_amount: '2320.00', unpaid_amount: '1160.00', before_listing_amount: '1000.00', after_listing_amount: '2000.00' },
        ...{ correction_deadline: '2025-06-16', deadline_basis: 'published' },
      },
    ])
    expect(await followed(header.drilldown)).toEqual({ active_amount: 3000, total_purchases: 3500 })
    expect(await followed(data[0].drilldown)).toEqual({
      ...{ amount: 3000, invoice_count: 3000, iva_acreditado: 320, paid_amount: 2320, unpaid_amount: 1160 },
      ...{ before_listing_amount: 1000, after_listing_amount: 2000 },
    })
  })

  it('names sales of customers, and payments and notes that match no invoice', async () => {
    const { data, data_quality, ...header } = await get('/analytics/efos-exposure', 'direction=issued')
    // 1,000 + 500 + 2,000 + 700 − 200.
    expect(header).toMatchObject({ total_sales: '4000.00', share_of_sales: '0.00', total_purchases: null, share_of_purchases: null })
    expect([data, data_quality]).toMatchObject([[], { unreconciled_payments: 0, other_parties: 0 }])
    expect(await followed(header.drilldown)).toEqual({ active_amount: 0, total_sales: 4000 })
  })

  it('does not show on a day what the Diario Oficial published after it, nor what follows from that', async () => {
    const { data } = await get('/analytics/efos-exposure', 'as_of=2025-05-01')
    expect(data).toMatchObject([
      { situacion: 'definitivo', presunto_dof_at: '2025-02-01', definitivo_dof_at: null, correction_deadline: null, deadline_basis: null },
    ])
  })

  it('misses no month before 2018, of which nothing can be downloaded', async () => {
    const imported = (await get('/analytics/efos-exposure', 'from=2016-06&to=2018-02')).data_quality
    expect(imported.months_missing).toBe(0)
    // Something was downloaded: imports are not all that there is.
    const { entity } = (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?')
      .bind(fiscal_entity_id)
      .first<{ entity: number }>())!
    await env.LEDGER_0.prepare(`insert into coverage (entity, source, months) values (?, 'sat_cfdi_received', '{"2026-01":[[0,"over"]]}')`)
      .bind(entity)
      .run()
    const { data_quality } = await get('/analytics/efos-exposure', 'from=2016-06&to=2018-02')
    expect([data_quality.missing_months, data_quality.months_missing]).toEqual([{ issued: [], received: ['2018-01', '2018-02'] }, 2])
  })

  it('tells what was known on an earlier day', async () => {
    const { data, as_of } = await get('/analytics/efos-exposure', 'as_of=2025-03-18')
    expect([as_of, data]).toMatchObject([
      '2025-03-18',
      [
        {
          situacion: 'presunto',
          definitivo_dof_at: null,
          correction_deadline: null,
          amount: '3000.00',
          unpaid_amount: '2320.00',
          paid_amount: '1160.00',
        },
      ],
    ])
    expect((await get('/analytics/efos-exposure', 'as_of=2025-01-20')).data).toEqual([])
    expect((await of.ask('GET', pathOf('/analytics/efos-exposure', 'as_of=2999-01-01'))).status).toBe(422)
  })
})

describe('what an answer costs', () => {
  const cost = async (path: string, query: string) =>
    (await costOf(env.LEDGER_0, env.FILES, () => api(of.owner, 'GET', pathOf(path, query)))).cost
  const SURFACES = [
    ['/cfdi/concentration', `${RANGE}&direction=issued`, 3],
    ['/cfdi/concentration/entries', `${RANGE}&direction=issued&figure=total`, 2],
    ['/analytics/concepts', `${RANGE}&direction=issued&level=key`, 3],
    ['/analytics/concepts/entries', `${RANGE}&direction=issued&level=key&figure=amount&key=84111506`, 2],
    ['/analytics/efos-exposure', RANGE, 3],
    ['/analytics/efos-exposure/entries', `${RANGE}&figure=amount&rfc=${S1}`, 3],
  ] as const

  it('is at most five D1 calls, with authentication, and grows with the documents of the range alone', async () => {
    for (const [path, query] of SURFACES) await cost(path, query)
    const partition = await env.DB.prepare('select -connection as number from connections where organization_id = ?')
      .bind(of.id)
      .first<number>('number')
    /** What each reads when there are so many documents of another year. */
    const readBeside = async (count: number): Promise<unknown[]> => {
      await insertCfdi(env.LEDGER_0, documents(count, count, '2023-01-01', 60, partition!))
      const read: unknown[] = []
      for (const [path, query, calls] of SURFACES) {
        const { d1_calls, rows_read, rows_written } = await cost(path, query)
        expect([path, d1_calls, rows_written]).toEqual([path, calls, 0])
        read.push([path, rows_read])
      }
      return read
    }
    expect(await readBeside(400)).toEqual(await readBeside(20))
  })
})
