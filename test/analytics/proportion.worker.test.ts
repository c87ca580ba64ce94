import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { workOnReports } from '../../src/analytics/reports/work.ts'
import { systemOf } from '../../src/platform/context.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros } from './oracle/amounts.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/** Sets of documents with what the law gives: the proportion (LIVA 5-V, 5-C), sales of third parties, and the DIOT. */
const [CLIENT, SUPPLIER, OTHER, THIRD] = ['BBB020202BB1', 'DDD040404DD3', 'EEE050505EE4', 'CCC030303CC2'] as const
const uuid = (n: number) => `0000${n.toString(16).toUpperCase().padStart(4, '0')}-2B4C-4000-8000-000000000000`

type Row = Awaited<ReturnType<Organization['ask']>>['body']

async function book(documentsOf: (rfc: string) => readonly Written[]) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, undefined, { ciec: 'empty' })
  await importInto(of, fiscal_entity_id, documentsOf(rfc))
  const get = async (path: string): Promise<Row> => {
    const { status, body } = await of.ask('GET', `/v1/${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}`)
    expect([path, status < 300, body.detail]).toEqual([path, true, undefined])
    return body
  }
  const status = async (path: string) => (await of.ask('GET', `/v1/${path}&fiscal_entity_id=${fiscal_entity_id}`)).status
  /** What the entries of a link add up to. */
  const sumOf = async (link: string): Promise<number> => {
    const { status, body } = await of.ask('GET', link)
    expect([link, status, body.has_more]).toEqual([link, 200, false])
    return Number(body.data.reduce((all: bigint, { amount }: { amount: string }) => all + micros(amount), 0n)) / 1e6
  }
  return { get, status, sumOf, fiscal_entity_id }
}
type Book = Awaited<ReturnType<typeof book>>

const vat = async ({ get }: Book, query: string): Promise<Row[]> => (await get(`analytics/vat-position?${query}`)).data

const sale = (n: number, emisor: string, fecha: string, lines: NonNullable<Written['lines']>, more: Partial<Written> = {}): Written => ({
  ...{ uuid: uuid(n), fecha, emisor, receptor: CLIENT, lines },
  ...more,
})
const purchase = (
  n: number,
  receptor: string,
  fecha: string,
  lines: NonNullable<Written['lines']>,
  more: Partial<Written> = {},
): Written => ({
  ...{ uuid: uuid(n), fecha, emisor: SUPPLIER, receptor, lines },
  ...more,
})

it('the proportion has sales that are not taxed, without what is out of it, and what may be is a question', async () => {
  const all = await book((rfc) => [
    sale(1, rfc, '2025-03-03', [{ importe: 1_000 }]),
    // Not subject; given away with a discount of 100 %.
    sale(2, rfc, '2025-03-04', [
      { importe: 1_000, objeto: '01' },
      { importe: 500, descuento: 500, objeto: '01' },
    ]),
    // Interest of a loan is out.
    sale(3, rfc, '2025-03-05', [{ clave: '84121500', importe: 5_000, iva: 'exento' }]),
    // Subject without a tax.
    sale(4, rfc, '2025-03-06', [{ importe: 300, objeto: '04' }]),
    purchase(11, rfc, '2025-03-07', [{ importe: 1_000 }]),
    // In April land that may be inventory.
    sale(21, rfc, '2025-04-03', [{ importe: 1_000 }]),
    sale(22, rfc, '2025-04-04', [{ clave: '95101500', importe: 3_000, iva: 'exento' }]),
    purchase(31, rfc, '2025-04-07', [{ importe: 1_000 }]),
  ])
  const [march, april] = await vat(all, 'from=2025-03&to=2025-04')
  expect(march).toMatchObject({
    cobrado: { base_16: '1000.00', base_exento: '5000.00', base_no_objeto: '1000.00', base_sin_traslado: '300.00' },
    proporcion: { gravado: '1000.00', exento: '0.00', no_objeto: '1000.00', fuera: '5000.00', por_revisar: '0.00' },
    ...{ prorrateo: '0.500000', acreditable: '80.00', saldo: '80.00' },
  })
  expect(april).toMatchObject({
    proporcion: { gravado: '1000.00', exento: '3000.00', no_objeto: '0.00', fuera: '0.00', por_revisar: '3000.00' },
    ...{ prorrateo: '0.250000', acreditable: '40.00' },
  })
  const { data } = await all.get('analytics/concepts?direction=issued&level=segment&from=2025-03&to=2025-03')
  expect(data.find(({ key }: Row) => key === '43').iva_mix).toMatchObject({ '16': '1000.00', no_objeto: '1000.00', sin_traslado: '300.00' })
  for (const name of ['gravado', 'no_objeto', 'fuera'])
    expect(await all.sumOf(march.drilldown[`proporcion.${name}`])).toBe(Number(march.proporcion[name]))
  expect(await all.sumOf(april.drilldown['proporcion.por_revisar'])).toBe(3_000)
  expect(await all.sumOf(march.drilldown['cobrado.base_sin_traslado'])).toBe(300)
  // The taxpayer's own choices.
  expect(await vat(all, 'period=2025-03&no_objeto=left_out')).toMatchObject([{ prorrateo: '1.000000', acreditable: '160.00' }])
  expect(await vat(all, 'period=2025-03&prorrateo=0.8512')).toMatchObject([{ prorrateo: '0.851200', acreditable: '136.19' }])
  expect(await vat(all, `period=2025-03&prorrateo=attributed&taxed_suppliers=${SUPPLIER}`)).toMatchObject([{ acreditable: '160.00' }])
  expect(await vat(all, `period=2025-03&prorrateo=attributed&exempt_suppliers=${OTHER},${SUPPLIER}`)).toMatchObject([
    { acreditable: '0.00' },
  ])
  expect(await vat(all, `period=2025-03&prorrateo=attributed&exempt_suppliers=${OTHER}`)).toMatchObject([{ acreditable: '80.00' }])
  for (const query of [
    'prorrateo=1.1',
    'prorrateo=0.1234567',
    'prorrateo=half',
    `taxed_suppliers=${SUPPLIER}`,
    'prorrateo=attributed&taxed_suppliers=x',
  ])
    expect([query, await all.status(`analytics/vat-position?period=2025-03&${query}`)]).toEqual([query, 422])
})

it('interest in an invoice of goods is out of the proportion by its lines, and where these do not tell it is a question', async () => {
  const interest = (importe: number, iva?: 'exento') => ({ clave: '84121500', importe, ...(iva && { iva }) })
  const all = await book((rfc) => [
    // Goods and interest, both taxed: paid at once, and half of it.
    sale(1, rfc, '2025-03-03', [{ importe: 1_000 }, interest(100)]),
    sale(2, rfc, '2025-03-04', [{ importe: 2_000 }, interest(200)], { metodo: 'PPD' }),
    { ...sale(3, rfc, '2025-03-05', []), tipo: 'P', pago: ['2025-03-05', [{ uuid: uuid(2), pagado: 1_276 }]] },
    // Services and interest that are both exempt.
    sale(4, rfc, '2025-03-06', [{ importe: 1_000, iva: 'exento' }, interest(50, 'exento')]),
    // A note of the first one takes back a tenth of each.
    { ...sale(5, rfc, '2025-03-07', [{ importe: 110 }]), tipo: 'E', relacion: ['01', uuid(1)] },
    // Goods are taxed and interest is exempt: no product key says which base is whose.
    sale(6, rfc, '2025-04-03', [{ importe: 900 }, interest(100, 'exento')]),
  ])
  const [march, april] = await vat(all, 'from=2025-03&to=2025-04')
  expect(march.proporcion).toEqual({ gravado: '1900.00', exento: '1000.00', no_objeto: '0.00', fuera: '240.00', por_revisar: '0.00' })
  expect(march).toMatchObject({ prorrateo: '0.655172', cobrado: { base_16: '2090.00', base_exento: '1050.00' } })
  for (const name of ['gravado', 'exento', 'fuera'])
    expect([name, await all.sumOf(march.drilldown[`proporcion.${name}`])]).toEqual([name, Number(march.proporcion[name])])
  expect(april.proporcion).toMatchObject({ gravado: '900.00', exento: '100.00', fuera: '0.00', por_revisar: '1000.00' })
})

it('of an RFC that has imports only, the figures take them as complete, and say so', async () => {
  const all = await book((rfc) => [sale(1, rfc, '2025-03-03', [{ importe: 1_000 }])])
  const [march, april] = await vat(all, 'from=2025-03&to=2025-04')
  const data_status = { issued: 'imported', received: 'imported' }
  expect(march).toMatchObject({ acreditable: '0.00', saldo: '160.00', resultado: 'a_cargo', data_status })
  expect(april).toMatchObject({ acreditable: '0.00', saldo: '0.00', data_status })
  const summary = await all.get('cfdi/summary/monthly?from=2025-03&to=2025-04')
  expect(summary.data_quality).toMatchObject({ months_missing: 0, months_downloading: 0 })
  expect(new Set(summary.data.map((row: Row) => row.data_status))).toEqual(new Set(['imported']))
  expect(await all.get('cfdi?issued_from=2025-03-01')).toMatchObject({ data_status: 'imported' })
})

it('withheld IVA is credited the month after by the proportion of its month, and of each use', async () => {
  const all = await book((rfc) => [
    sale(1, rfc, '2025-03-03', [{ importe: 1_000 }]),
    sale(2, rfc, '2025-03-04', [{ importe: 1_000, iva: 'exento' }]),
    purchase(11, rfc, '2025-03-07', [{ importe: 1_500, iva_retenido: 160 }]),
    sale(21, rfc, '2025-04-03', [{ importe: 1_000 }]),
    purchase(31, rfc, '2025-04-07', [{ importe: 100, iva: '0.00' }]),
  ])
  const credited = async (query: string) => (await vat(all, `from=2025-03&to=2025-04&${query}`)).map(({ acreditable }) => acreditable)
  expect(await credited('')).toEqual(['40.00', '80.00'])
  expect(await credited('prorrateo=0.25')).toEqual(['20.00', '40.00'])
  expect(await credited(`prorrateo=attributed&taxed_suppliers=${SUPPLIER}`)).toEqual(['80.00', '160.00'])
  expect(await credited(`prorrateo=attributed&exempt_suppliers=${SUPPLIER}`)).toEqual(['0.00', '0.00'])
})

it('of what is paid of an invoice, what its lines tell is in proportion, whatever its complement states', async () => {
  const all = await book((rfc) => [
    sale(1, rfc, '2025-03-03', [{ importe: 1_000 }, { importe: 1_000, objeto: '01' }], { metodo: 'PPD' }),
    {
      uuid: uuid(2),
      tipo: 'P',
      fecha: '2025-03-20',
      emisor: rfc,
      receptor: CLIENT,
      pago: ['2025-03-20', [{ uuid: uuid(1), pagado: 1_080, iva: 80 }]],
    },
    // Half of an invoice with IVA that its complement does not transfer (08).
    sale(11, rfc, '2025-03-04', [{ importe: 1_000 }], { metodo: 'PPD' }),
    {
      uuid: uuid(12),
      tipo: 'P',
      fecha: '2025-03-21',
      emisor: rfc,
      receptor: CLIENT,
      pago: ['2025-03-21', [{ uuid: uuid(11), pagado: 580, objeto: '08' }]],
    },
  ])
  const [march] = await vat(all, 'period=2025-03')
  expect(march).toMatchObject({
    cobrado: { base_16: '500.00', iva_16: '80.00', base_no_objeto: '500.00' },
    ...{ proporcion: { gravado: '500.00', no_objeto: '500.00' }, prorrateo: '0.500000' },
  })
  expect(await all.sumOf(march.drilldown['cobrado.base_no_objeto'])).toBe(500)
})

it('sales on behalf of third parties stand apart, and can be left out', async () => {
  const all = await book((rfc) => [
    sale(1, rfc, '2025-03-03', [{ importe: 100 }, { importe: 1_000, tercero: THIRD }, { importe: 500, iva: 'exento', tercero: THIRD }]),
    sale(2, rfc, '2025-03-04', [{ importe: 200, iva: 'exento' }]),
    purchase(11, rfc, '2025-03-07', [{ importe: 100, iva: '0.00' }]),
  ])
  const [whole] = await vat(all, 'period=2025-03')
  expect(whole).toMatchObject({
    cobrado: { base_16: '1100.00', iva_16: '176.00', base_exento: '700.00' },
    terceros: { base_16: '1000.00', iva_16: '160.00', base_8: '0.00', base_exento: '500.00', base_no_objeto: '0.00' },
    ...{ prorrateo: '0.611111', saldo: '176.00' },
  })
  const [own] = await vat(all, 'period=2025-03&terceros=exclude')
  expect(own).toMatchObject({
    cobrado: { base_16: '100.00', iva_16: '16.00', base_exento: '200.00' },
    terceros: { base_16: '1000.00', iva_16: '160.00' },
    ...{ prorrateo: '0.333333', saldo: '16.00' },
  })
  const concepts = async (query: string): Promise<Row> => all.get(`analytics/concepts?direction=issued&from=2025-03&to=2025-03${query}`)
  const sold = { total: '1800.00', third_party_amount: '1500.00', line_count: 4 }
  expect(await concepts('')).toMatchObject(sold)
  const agent = await concepts('&terceros=exclude')
  expect(agent).toMatchObject({
    ...sold,
    total: '300.00',
    line_count: 2,
    data: [{ amount: '300.00', iva_mix: { '16': '100.00', exento: '200.00' } }],
  })
  expect([await all.sumOf(agent.drilldown.total), await all.sumOf(agent.data[0].drilldown.amount)]).toEqual([300, 300])
  for (const name of ['cobrado.iva_16', 'terceros.iva_16', 'proporcion.exento'])
    for (const row of [whole, own]) {
      const [group = '', member = ''] = name.split('.')
      expect([name, await all.sumOf(row.drilldown[name])]).toEqual([name, Number(row[group][member])])
    }
})

it('the DIOT has operations by supply, and apart what was returned and what is not creditable', async () => {
  const all = await book((rfc) => [
    purchase(1, rfc, '2025-03-03', [{ importe: 1_000 }]),
    purchase(2, rfc, '2025-03-04', [{ importe: 100 }], { tipo: 'E', relacion: ['01', uuid(1)] }),
    // Cash above the limit.
    purchase(3, rfc, '2025-03-05', [{ importe: 5_000 }], { emisor: OTHER, forma: '01' }),
    purchase(4, rfc, '2025-03-06', [{ clave: '80131500', importe: 2_000, iva_retenido: 213.33 }], { emisor: THIRD, regimen: '601' }),
    purchase(5, rfc, '2025-03-07', [{ importe: 70, objeto: '01' }]),
    // 8 % of both border regions, and of a place in none.
    ...['32000', '30700', '06600', '32000'].map((lugar, n) =>
      purchase(8 + n, rfc, '2025-03-08', [{ importe: 100 * (n + 1), iva: '0.08' }], { emisor: OTHER, lugar }),
    ),
    purchase(12, rfc, '2025-03-09', [{ importe: 40, iva: '0.08' }], { emisor: OTHER, tipo: 'E', relacion: ['01', uuid(8)] }),
    // An advance, and its application, which is no return.
    purchase(13, rfc, '2025-02-07', [{ importe: 1_000 }]),
    purchase(14, rfc, '2025-03-08', [{ importe: 3_000 }], { relacion: ['07', uuid(13)] }),
    purchase(15, rfc, '2025-03-08', [{ importe: 1_000 }], { tipo: 'E', forma: '30', relacion: ['07', uuid(13)] }),
    purchase(6, rfc, '2024-12-07', [{ importe: 400 }]),
    purchase(7, rfc, '2024-12-08', [{ clave: '78111808', importe: 300 }], { emisor: OTHER }),
  ])
  const { connection, shard } = (await env.DB.prepare('select connection, shard from connections where fiscal_entity_id = ?')
    .bind(all.fiscal_entity_id)
    .first<{ connection: number; shard: number }>())!
  await all.get('reports/diot')
  await workOnReports(systemOf(env, new Date(), 'test'), { shard, connection })
  const rows = async (query = ''): Promise<Row[]> => (await all.get(`reports/diot?from=2024-12&to=2025-03${query}`)).data.rows
  const found = await rows()
  expect(found.map(({ period, rfc, tipo_tercero, tipo_operacion }) => [period, rfc, tipo_tercero, tipo_operacion])).toEqual([
    ['2024-12', SUPPLIER, '04', '85'],
    ['2024-12', OTHER, '04', '85'],
    ['2025-02', SUPPLIER, '04', '02'],
    ['2025-03', THIRD, '04', '06'],
    ['2025-03', SUPPLIER, '04', '02'],
    ['2025-03', OTHER, '04', '02'],
  ])
  expect(found.slice(3)).toMatchObject([
    { base_16: '2000.00', iva_16: '320.00', iva_retenido: '213.33', acreditable_iva_16: '320.00' },
    {
      ...{ base_16: '3000.00', iva_16: '480.00', devuelto_base_16: '100.00', devuelto_iva_16: '16.00', base_no_objeto: '70.00' },
      ...{ no_acreditable_iva_16: '0.00', acreditable_iva_16: '464.00' },
    },
    {
      ...{ base_16: '5000.00', iva_16: '800.00', devuelto_base_16: '0.00', no_acreditable_iva_16: '800.00', acreditable_iva_16: '0.00' },
      ...{ base_8: '1000.00', iva_8: '80.00', devuelto_base_8: '40.00', acreditable_iva_8: '76.80' },
      ...{ base_8_norte: '500.00', iva_8_norte: '40.00', devuelto_base_8_norte: '40.00', devuelto_iva_8_norte: '3.20' },
      ...{
        base_8_sur: '200.00',
        iva_8_sur: '16.00',
        devuelto_base_8_sur: '0.00',
        acreditable_iva_8_norte: '36.80',
        acreditable_iva_8_sur: '16.00',
      },
    },
  ])
  for (const row of found)
    for (const [name, link] of Object.entries(row.drilldown as Record<string, string>))
      expect([row.rfc, name, await all.sumOf(link)]).toEqual([row.rfc, name, Number(row[name])])
  expect(Object.keys(found[4].drilldown).sort()).toEqual(['base_16', 'base_no_objeto', 'devuelto_base_16', 'devuelto_iva_16', 'iva_16'])
  // A grouping of the taxpayer.
  const grouped = (await rows(`&global_suppliers=${OTHER},${SUPPLIER}`)).map(
    ({ period, rfc, tipo_tercero, tipo_operacion, base_16, drilldown }) => {
      return [period, rfc, tipo_tercero, tipo_operacion, base_16, Object.keys(drilldown).length]
    },
  )
  expect(grouped).toEqual([
    ['2024-12', null, '15', '85', '700.00', 0],
    ['2025-02', null, '15', '87', '1000.00', 0],
    ['2025-03', THIRD, '04', '06', '2000.00', 3],
    ['2025-03', null, '15', '87', '8000.00', 0],
  ])
  expect(await all.status(`reports/payroll?global_suppliers=${OTHER}`)).toBe(422)
})
