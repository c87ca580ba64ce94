import { applyD1Migrations, env } from 'cloudflare:test'
import { Hono } from 'hono'
import { beforeAll, describe, expect, it } from 'vitest'
import { CfdiDetail, CfdiPayments } from '../../../src/cfdi/detail/contract.ts'
import { getCfdi, getPdf, getXml, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { detailRoutes } from '../../../src/cfdi/detail/routes.ts'
import { searchRoutes, summaryRoutes } from '../../../src/cfdi/routes.ts'
import { newConcepto } from '../../../src/cfdi/xml/document.ts'
import type { App } from '../../../src/platform/context.ts'
import { document } from '../../../tools/openapi/document.ts'
import { routesOf } from '../../../tools/openapi/route-table.ts'
import { contextOf, reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { insertApplications, insertCfdi, insertContents, rowOf } from '../support/ledger.ts'

const uuid = (n: number) => `00000000-0000-0000-0000-0000000000${String(n).padStart(2, '0')}`
const FECHA = '2026-01-10T10:00:00'

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="${FECHA}" TipoDeComprobante="I" SubTotal="100" Total="116" Moneda="MXN" LugarExpedicion="06600" Exportacion="01" NoCertificado="00001000000500000001" Sello="abcdefgh12345678">
<cfdi:Emisor Rfc="AAA010101AAA" Nombre="A" RegimenFiscal="601"/><cfdi:Receptor Rfc="XAXX010101000" Nombre="B" UsoCFDI="S01" RegimenFiscalReceptor="616" DomicilioFiscalReceptor="06600"/>
<cfdi:Conceptos><cfdi:Concepto ClaveProdServ="01010101" Cantidad="1" ClaveUnidad="H87" Descripcion="Cosa" ValorUnitario="100" Importe="100" ObjetoImp="02"/></cfdi:Conceptos>
<cfdi:Complemento><tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${uuid(1)}" FechaTimbrado="2026-01-10T10:01:00" RfcProvCertif="SAT970701NN3"/></cfdi:Complemento>
</cfdi:Comprobante>`

const absent = expect.objectContaining({ kind: 'not_found', code: 'cfdi.not_found' })

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const bytes = new TextEncoder().encode(XML)
  await env.FILES.put('xml/one', new Uint8Array([1, 2, 3, ...bytes, 4]))
  await insertCfdi(env.LEDGER_0, [
    rowOf({
      uuid: uuid(1),
      fecha: FECHA,
      xml_object: 'xml/one',
      xml_offset: 3,
      xml_length: bytes.length,
      xml_method: 0,
      xml_size: bytes.length,
    }),
    rowOf({
      uuid: uuid(2),
      fecha: FECHA,
      metodo_pago: 'PPD',
      total: '100.00',
      payment_status: 'partially_paid',
      paid: 50e6,
      ...{ chunk: 1, chunk_at: 1, chunk_parts: 1 },
    }),
    rowOf({ uuid: uuid(3), fecha: FECHA, tipo_comprobante: 'P' }),
    rowOf({ uuid: uuid(4), fecha: FECHA, tipo_comprobante: 'P', estatus: 'cancelado' }),
    rowOf({ uuid: uuid(5), fecha: FECHA, tipo_comprobante: 'E', currency: 'USD', tipo_cambio: '20' }),
    // Imported by connection 9, and the second of them known from the authority since.
    rowOf({ uuid: uuid(6), fecha: '2016-01-10T10:00:00', entity: -9 }),
    rowOf({ uuid: uuid(7), fecha: FECHA, entity: -9, serie: 'IMPORTED' }),
    rowOf({ uuid: uuid(7), fecha: FECHA, serie: 'AUTHORITY' }),
  ])
  const applied = { entity: 1, invoice: uuid(2), n: 1 }
  await insertApplications(env.LEDGER_0, [
    {
      ...applied,
      source: uuid(4),
      kind: 'P',
      amount: 20e6,
      fecha_pago: '2026-01-12T00:00:00',
      num_parcialidad: '2',
      imp_saldo_insoluto: '0',
    },
    {
      ...applied,
      source: uuid(3),
      kind: 'P',
      amount: 30e6,
      fecha_pago: '2026-01-11T00:00:00',
      num_parcialidad: '1',
      imp_saldo_insoluto: '70.00',
    },
    { ...applied, source: uuid(5), kind: 'E', amount: 1e6, currency: 'USD', tipo_cambio: '20', fecha_pago: '2026-01-13T00:00:00' },
  ])
  await insertContents(env.LEDGER_0, 1, 1, [
    { complementos: ['OTHER:1.0'] },
    { complementos: ['X:1.0'], conceptos: ['uno', 'dos'].map((descripcion) => ({ ...newConcepto(), descripcion })) },
  ])
})

describe('GET /v1/cfdi/{uuid}', () => {
  it('answers columns, lines and the rest in one call', async () => {
    const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => getCfdi(contextOf(), uuid(2)))
    expect(cost).toMatchObject({ d1_calls: 1, r2_gets: 0 })
    const detail = CfdiDetail.parse(result)
    expect(detail.conceptos.map(({ descripcion }) => descripcion)).toEqual(['uno', 'dos'])
    expect(detail.complementos).toEqual(['X:1.0'])
    expect(detail.issued_at).toBe('2026-01-10T10:00:00-06:00')
    expect(detail).toMatchObject({ currency: 'MXN', moneda: 'MXN', has_pdf: false })
    expect(detail).toMatchObject({ es_cancelable: null, estatus_cancelacion: null, status_checked_at: null })
  })

  it('reads what only the XML says out of it, with one get', async () => {
    const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => getCfdi(contextOf(), uuid(1)))
    expect(cost).toMatchObject({ d1_calls: 1, r2_gets: 1 })
    const { xml, complement_trees, xml_left_out } = CfdiDetail.parse(result)
    expect(xml!.attributes).toMatchObject({ Sello: 'abcdefgh12345678', Exportacion: '01' })
    expect(xml!.children.map(({ name }) => name)).toEqual(['Emisor', 'Receptor'])
    expect(complement_trees.map(({ name, attributes }) => [name, attributes['UUID']])).toEqual([['TimbreFiscalDigital', uuid(1)]])
    expect(xml_left_out).toEqual({ xml: 0, conceptos: 0, complement_trees: 0 })
  })

  it('has no detail and no lines while only metadata is known', async () => {
    const detail = CfdiDetail.parse(await getCfdi(contextOf(), uuid(3)))
    expect(detail).toMatchObject({ impuestos: null, has_addenda: null, no_certificado: null })
    expect(detail).toMatchObject({ xml: null, xml_left_out: null, complement_trees: [] })
    expect(detail).toMatchObject({ conceptos: [], pagos: [], nominas: [], relacionados: [], complementos: [], repairs: [] })
  })

  it('is 404 alike for what is absent and for what is outside the window', async () => {
    const bounded = contextOf(reaching(['2026-01-11', '2026-02-01T00:00:00Z']), { extractor_count: 1 })
    await expect(getCfdi(bounded, uuid(1))).rejects.toEqual(absent)
    await expect(getCfdi(bounded, uuid(99))).rejects.toEqual(absent)
    await expect(listPayments(bounded, uuid(2))).rejects.toEqual(absent)
    await expect(getXml(bounded, uuid(1))).rejects.toEqual(absent)
    await expect(getPdf(bounded, uuid(1), 'es')).rejects.toEqual(absent)
    await expect(getCfdi(contextOf({}, { extractor_count: 1 }), uuid(1))).rejects.toEqual(absent)
    await expect(getCfdi(contextOf({ entity: 2 }), uuid(1))).rejects.toEqual(absent)
  })

  it('shows an import to its organization, until the authority’s is in the window', async () => {
    await expect(getCfdi(contextOf(), uuid(6))).rejects.toEqual(absent)
    await expect(getCfdi(contextOf({ connection: 8, imported_at: 1 }), uuid(6))).rejects.toEqual(absent)
    const blind = contextOf({ imported_at: 1 }, { extractor_count: 1 })
    expect(await getCfdi(blind, uuid(6))).toMatchObject({ origin: 'import' })
    expect(await getCfdi(blind, uuid(7))).toMatchObject({ origin: 'import', serie: 'IMPORTED' })
    expect(await getCfdi(contextOf({ imported_at: 1 }), uuid(7))).toMatchObject({ origin: 'authority', serie: 'AUTHORITY' })
  })
})

describe('GET /v1/cfdi/{uuid}/payments', () => {
  it('counts what is valid, in the invoice’s currency, and compares it with what was reported', async () => {
    const payments = CfdiPayments.parse(await listPayments(contextOf(), uuid(2)))
    expect(payments).toMatchObject({ paid_amount: '30.00', credited_amount: '20.00', balance: '50.00', payment_status: 'partially_paid' })
    expect(payments).toMatchObject({ reported_balance: '70.00', balance_mismatch: true })
    expect(payments.data.map(({ source_uuid, amount, estatus }) => [source_uuid, amount, estatus])).toEqual([
      [uuid(3), '30.00', 'vigente'],
      [uuid(4), '20.00', 'cancelado'],
      [uuid(5), '20.00', 'vigente'],
    ])
  })

  it.each([
    ['50.00', false],
    ['50.01', false],
    ['49.99', false],
    ['50.010001', true],
    ['49.989999', true],
  ])('allows one cent between the balance, 50.00, and a reported %s: mismatch %s', async (reported, isMismatch) => {
    const report = (text: string) =>
      env.LEDGER_0.prepare('update cfdi_payments set imp_saldo_insoluto = ? where source = ?').bind(text, uuid(3)).run()
    await report(reported)
    expect(await listPayments(contextOf(), uuid(2))).toMatchObject({ reported_balance: reported, balance_mismatch: isMismatch })
    await report('70.00')
  })
})

describe('GET /v1/cfdi/{uuid}/xml', () => {
  it('answers the bytes as they came', async () => {
    const { bytes, name } = await getXml(contextOf(), uuid(1))
    expect(await new Response(bytes).text()).toBe(XML)
    expect(name).toBe(`${uuid(1)}.xml`)
  })

  it('says when only metadata is known', async () => {
    await expect(getXml(contextOf(), uuid(2))).rejects.toMatchObject({ kind: 'not_found', code: 'cfdi.xml_not_available' })
  })
})

describe('GET /v1/cfdi/{uuid}/pdf', () => {
  it('answers the same bytes for the same document, in one call and one get', async () => {
    const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => getPdf(contextOf(), uuid(1), 'es'))
    expect(cost).toMatchObject({ d1_calls: 1, r2_gets: 1 })
    expect(result.name).toBe(`${uuid(1)}.pdf`)
    expect(new TextDecoder().decode(result.bytes.subarray(0, 8))).toBe('%PDF-1.7')
    expect(await getPdf(contextOf(), uuid(1), 'es')).toEqual(result)
    expect(await getPdf(contextOf(), uuid(1), 'en')).not.toEqual(result)
  })

  it('changes with the state of the document', async () => {
    const before = await getPdf(contextOf(), uuid(1), 'es')
    const set = (estatus: string) => env.LEDGER_0.prepare('update cfdi set estatus = ? where uuid = ?').bind(estatus, uuid(1)).run()
    await set('cancelado')
    expect(await getPdf(contextOf(), uuid(1), 'es')).not.toEqual(before)
    await set('vigente')
    expect(await getPdf(contextOf(), uuid(1), 'es')).toEqual(before)
  })

  it('is 409 while only metadata is known, and 404 before the day of the document', async () => {
    await expect(getPdf(contextOf(), uuid(2), 'es')).rejects.toMatchObject({ kind: 'conflict', code: 'cfdi.xml_not_held' })
    await expect(getPdf(contextOf(), uuid(1), 'es', '2026-01-09')).rejects.toEqual(absent)
    expect((await getPdf(contextOf(), uuid(1), 'es', '2026-01-10')).bytes.length).toBeGreaterThan(10_000)
  })
})

it('describes every route, and takes only the parameters that it describes', () => {
  const routes = new Hono<App>().route('/v1/cfdi', searchRoutes).route('/v1/cfdi', summaryRoutes).route('/v1/cfdi', detailRoutes)
  const { paths } = document(routesOf(routes), {})
  expect(Object.keys(paths)).toEqual([
    '/v1/cfdi',
    '/v1/cfdi/summary',
    '/v1/cfdi/summary/monthly',
    '/v1/cfdi/{uuid}',
    '/v1/cfdi/{uuid}/pdf',
    '/v1/cfdi/{uuid}/payments',
    '/v1/cfdi/{uuid}/xml',
  ])
  const search = paths['/v1/cfdi']!['get'] as { parameters: { name: string; description?: string; schema: object }[] }
  for (const { schema } of search.parameters) expect(schema).not.toEqual({})
})
