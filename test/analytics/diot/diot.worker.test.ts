import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { workOnReports } from '../../../src/analytics/reports/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { basic, request } from '../../support/client.ts'
import { costOf } from '../../support/meter.ts'
import { connect, type Organization, organization } from '../../support/tenants.ts'
import { micros } from '../oracle/amounts.ts'
import { importInto } from '../support/imported.ts'
import type { Written } from '../support/xml.ts'

const [CLIENT, SHOP, BORDER, LANDLORD, CASH] = ['BBB020202BB1', 'DDD040404DD3', 'EEE050505EE4', 'CCC030303CC2', 'FFF060606FF6'] as const
const uuid = (n: number) => `0000${n.toString(16).toUpperCase().padStart(4, '0')}-D107-4000-8000-000000000000`

type Body = Awaited<ReturnType<Organization['ask']>>['body']

/** October 2025: three quarters of what is sold are taxed. */
const documentsOf = (us: string): Written[] => {
  const purchase = (n: number, emisor: string, lines: NonNullable<Written['lines']>, more: Partial<Written> = {}): Written => ({
    ...{ uuid: uuid(n), fecha: `2025-10-${String(n).padStart(2, '0')}`, emisor, receptor: us, lines },
    ...more,
  })
  return [
    { uuid: uuid(1), fecha: '2025-10-01', emisor: us, receptor: CLIENT, lines: [{ importe: 3_000 }, { importe: 1_000, iva: 'exento' }] },
    purchase(2, SHOP, [{ importe: 1_000.5 }, { importe: 70, objeto: '01' }, { importe: 30, iva: 'exento' }]),
    purchase(3, SHOP, [{ importe: 100 }], { tipo: 'E', relacion: ['01', uuid(2)] }),
    purchase(4, LANDLORD, [{ clave: '80131500', importe: 2_000, iva_retenido: 213.33 }]),
    // In cash, above the limit.
    purchase(5, CASH, [{ importe: 5_000 }], { forma: '01' }),
    // The border rate of the north, of the south, and of a place in neither.
    ...['32000', '30700', '06600'].map((lugar, n) => purchase(6 + n, BORDER, [{ importe: 100 * (n + 1), iva: '0.08' }], { lugar })),
    purchase(9, SHOP, [{ importe: 40, objeto: '03' }]),
    { ...purchase(10, SHOP, [{ importe: 500 }]), fecha: '2025-11-10' },
  ]
}

let of: Organization
let fiscal_entity_id: string
let ours: string
const settings = () => `/v1/fiscal-entities/${fiscal_entity_id}/diot-settings`
const check = async (query = 'month=2025-10'): Promise<Body> => {
  const { status, body } = await of.ask('GET', `/v1/reports/diot/check?fiscal_entity_id=${fiscal_entity_id}&${query}`)
  expect([query, status, body.detail]).toEqual([query, 200, undefined])
  return body
}
const file = (query = 'month=2025-10', id = fiscal_entity_id) =>
  request('GET', `/v1/reports/diot/file?fiscal_entity_id=${id}&${query}`, { headers: { authorization: basic(of.owner) } })
const set = async (path: string, json: object) => {
  const { status, body } = await of.ask('PUT', `${settings()}${path}`, json)
  expect([path, status, body.detail]).toEqual([path, 200, undefined])
  return body
}
/** The fields of a line that are not empty, by number. */
const filled = (fields: string[]) => Object.fromEntries(fields.flatMap((text, n) => (text === '' ? [] : [[n + 1, text]])))
const lineOf = (found: Body, rfc: string | null, tipo_operacion?: string): Body =>
  found.data.find((line: Body) => line.rfc === rfc && (tipo_operacion === undefined || line.tipo_operacion === tipo_operacion))
const sumOf = async (link: string): Promise<number> => {
  const { status, body } = await of.ask('GET', link)
  expect([link, status, body.has_more]).toEqual([link, 200, false])
  return Number(body.data.reduce((all: bigint, { amount }: { amount: string }) => all + micros(amount), 0n)) / 1e6
}

beforeAll(async () => {
  of = await organization('enterprise_gold')
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  ours = connected.rfc
  await importInto(of, fiscal_entity_id, documentsOf(connected.rfc))
})

describe('the file of the DIOT', () => {
  it('has the purchases of the month in the fields of the layout, and supposes the proportion of the month', async () => {
    const { status, headers, body } = await file()
    expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      200,
      'text/plain; charset=utf-8',
      `attachment; filename="DIOT_${ours}_202510.txt"`,
    ])
    const lines = (body as string).split('\r\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => line.split('|').length)).toEqual([54, 54, 54, 54])
    expect(lines.map((line) => filled(line.split('|')))).toEqual([
      { 1: '04', 2: '06', 3: LANDLORD, 12: '2000', 23: '240', 36: '80', 48: '213', 54: '01' },
      { 1: '04', 2: '02', 3: SHOP, 12: '1001', 13: '100', 23: '108', 36: '36', 50: '30', 52: '70', 54: '01' },
      { 1: '04', 2: '02', 3: BORDER, 8: '100', 10: '200', 19: '6', 21: '12', 28: '2', 32: '4', 54: '01' },
      { 1: '04', 2: '02', 3: CASH, 12: '5000', 37: '800', 54: '01' },
    ])
  })

  it('is checked by line and field, with the documents of what it leaves out', async () => {
    const found = await check()
    expect(found).toMatchObject({ proportion: { value: '0.750000', source: 'computed' }, line_count: 4, incomplete: [], has_more: false })
    expect(found.findings.map(({ code }: Body) => code)).toEqual(['customs_not_covered'])
    expect(found.data.map(({ line, supposed }: Body) => [line, supposed])).toEqual(
      [1, 2, 3, 4].map((n) => [n, ['tipo_operacion', 'use', 'manifest']]),
    )
    expect(lineOf(found, SHOP).exact).toEqual({
      ...{ 12: '1000.50', 13: '100.00', 23: '108.06', 36: '36.02', 50: '30.00', 52: '70.00' },
    })
    expect(lineOf(found, SHOP).findings).toMatchObject([{ code: 'sin_traslado', field: 52, amount: '40.00' }])
    expect(lineOf(found, BORDER).findings).toMatchObject([{ code: 'region_unknown', field: null, amount: '300.00' }])
    expect(await sumOf(lineOf(found, SHOP).findings[0].drilldown)).toBe(40)
    const { drilldown } = lineOf(found, BORDER).findings[0]
    expect(await sumOf(drilldown)).toBe(300)
    for (const [region, base] of [
      ['norte', 100],
      ['sur', 200],
    ] as const)
      expect(await sumOf(drilldown.replace('unknown', region))).toBe(base)
    const fields = (await file()).body as string
    expect(found.data.map((line: Body) => line.fields.join('|'))).toEqual(fields.trim().split('\r\n'))
  })

  it('ties to the VAT position, but for what the findings say', async () => {
    const { ties } = await check()
    const { data } = (await of.ask('GET', `/v1/analytics/vat-position?fiscal_entity_id=${fiscal_entity_id}&period=2025-10`)).body
    const tie = Object.fromEntries(ties.map(({ figure, ...rest }: Body) => [figure, rest]))
    for (const [figure, { vat_position }] of Object.entries(tie) as [string, Body][]) {
      const [group = '', name] = figure.split('.')
      expect([figure, vat_position]).toEqual([figure, name === undefined ? data[0][group] : data[0][group][name]])
    }
    expect(tie['pagado.base_16']).toMatchObject({
      vat_position: '7900.50',
      file: '7901.00',
      rounding: '0.50',
      left_out: '0.00',
      is_tied: true,
    })
    expect(tie['pagado.iva_16']).toMatchObject({ vat_position: '1264.08', file: '1264.00', rounding: '-0.08', is_tied: true })
    expect(tie['no_deducible_excluded']).toMatchObject({ vat_position: '800.00', file: '800.00', is_tied: true, drilldown: null })
    const untied = ties.filter(({ is_tied }: Body) => !is_tied)
    expect(untied.map(({ figure, left_out }: Body) => [figure, left_out])).toEqual([
      ['pagado.base_8', '300.00'],
      ['pagado.iva_8', '24.00'],
      ['pagado.base_sin_traslado', '40.00'],
    ])
    for (const { drilldown, vat_position } of untied) expect(await sumOf(drilldown)).toBe(Number(vat_position))
  })

  it('has the exact figures of the report, and takes a dozen calls to the databases', async () => {
    const { connection, shard } = (await env.DB.prepare('select connection, shard from connections where fiscal_entity_id = ?')
      .bind(fiscal_entity_id)
      .first<{ connection: number; shard: number }>())!
    const path = `/v1/reports/diot?fiscal_entity_id=${fiscal_entity_id}&from=2025-10&to=2025-10`
    await of.ask('GET', path)
    await workOnReports(systemOf(env, new Date(), 'test'), { shard, connection })
    const { rows } = (await of.ask('GET', path)).body.data
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, check)
    expect(cost.d1_calls).toBeLessThanOrEqual(12)
    expect(rows).toHaveLength(result.data.length)
    const FIELDS = { base_16: 12, devuelto_base_16: 13, no_acreditable_iva_16: 37, iva_retenido: 48, base_exento: 50, base_no_objeto: 52 }
    for (const row of rows) {
      const { exact } = lineOf(result, row.rfc, row.tipo_operacion)
      for (const [name, field] of Object.entries(FIELDS))
        expect([row.rfc, name, exact[field] ?? '0.00']).toEqual([row.rfc, name, row[name]])
      const credited = [23, 36].map((field) => micros(exact[field] ?? '0.00'))
      expect([row.rfc, credited[0]! + credited[1]!]).toEqual([row.rfc, micros(row.acreditable_iva_16)])
    }
  })

  it('has pages of lines, each with the findings and ties of the whole file', async () => {
    const whole = await check()
    const lines: Body[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Body = await check(`month=2025-10&limit=3${cursor && `&cursor=${cursor}`}`)
      expect([page.line_count, page.ties.length]).toEqual([4, whole.ties.length])
      lines.push(...page.data)
      cursor = page.next_cursor
    }
    expect(lines).toEqual(whole.data)
  })

  it('is refused for a month that is not complete, unless it is asked for', async () => {
    const other = await connect(of.owner, undefined, { ciec: 'empty' })
    const refused = await file('month=2025-10', other.fiscal_entity_id)
    expect([refused.status, (refused.body as Body).code]).toEqual([409, 'diot.month_incomplete'])
    expect((refused.body as Body).detail).toContain('issued CFDIs of 2025-10 are missing, and received CFDIs of 2025-10 are missing')
    expect(await file('month=2025-10&incomplete=allow', other.fiscal_entity_id)).toMatchObject({ status: 200, body: '' })
    const { body } = await of.ask('GET', `/v1/reports/diot/check?fiscal_entity_id=${other.fiscal_entity_id}&month=2025-10`)
    expect(body.incomplete).toEqual(['issued', 'received'].map((direction) => ({ month: '2025-10', direction, data_status: 'missing' })))
    expect(body).toMatchObject({ proportion: { value: '1', source: 'unknown' }, line_count: 0 })
    expect(body.findings.map(({ code }: Body) => code)).toEqual(['month_incomplete', 'proportion_unknown', 'customs_not_covered'])
    // What was issued matters for the proportion alone.
    await of.ask('PUT', `/v1/fiscal-entities/${other.fiscal_entity_id}/diot-settings`, { proportion: '0.5' })
    expect(((await file('month=2025-10', other.fiscal_entity_id)).body as Body).detail).not.toContain('issued')
    // The current month is not over.
    const now = new Date().toISOString().slice(0, 7)
    expect((await file(`month=${now}`)).status).toBe(409)
    expect((await check(`month=${now}`)).findings.map(({ code }: Body) => code)).toContain('complements_to_come')
  })

  it('is refused before 2025 and after today', async () => {
    for (const month of ['2024-12', '2199-01']) {
      const { status, body } = await file(`month=${month}`)
      expect([month, status, (body as Body).code]).toEqual([month, 422, 'range.invalid'])
    }
  })
})

describe('the settings of the DIOT', () => {
  it('say what purchases are used for, in the file and in the VAT position', async () => {
    expect((await of.ask('GET', settings())).body).toEqual({ fiscal_entity_id, proportion: null, default_use: null })
    expect(await set('', { proportion: '0.6', default_use: 'proportion' })).toEqual({
      fiscal_entity_id,
      proportion: '0.6',
      default_use: 'proportion',
    })
    expect(await set(`/suppliers/${LANDLORD.toLowerCase()}`, { use: 'taxed' })).toMatchObject({
      rfc: LANDLORD,
      use: 'taxed',
      manifest: null,
    })
    await set(`/suppliers/${SHOP}`, { use: 'exempt' })
    await set(`/suppliers/${BORDER}`, { region: 'norte', manifest: '02' })
    const found = await check()
    expect(found.proportion).toEqual({ value: '0.6', source: 'set' })
    expect(filled(lineOf(found, LANDLORD).fields)).toMatchObject({ 22: '320', 48: '213' })
    expect(filled(lineOf(found, SHOP).fields)).toMatchObject({ 38: '144' })
    // 300 of no border region are in the north now: 60 % of 32 and of 16.
    expect(filled(lineOf(found, BORDER).fields)).toMatchObject({ 8: '400', 10: '200', 19: '19', 28: '13', 21: '10', 32: '6', 54: '02' })
    expect(lineOf(found, BORDER)).toMatchObject({ findings: [], supposed: ['tipo_operacion'] })
    expect(found.ties.filter(({ is_tied }: Body) => !is_tied).map(({ figure }: Body) => figure)).toEqual(['pagado.base_sin_traslado'])
    // What is credited in the VAT position: 320 − 213.33 whole, and 60 % of the 48 of the border; nothing of what is for exempt sales.
    const { data } = (
      await of.ask('GET', `/v1/analytics/vat-position?fiscal_entity_id=${fiscal_entity_id}&period=2025-10&prorrateo=attributed`)
    ).body
    expect(data[0]).toMatchObject({ prorrateo: '0.600000', acreditable: '135.47' })
  })

  it('of all others are those of the RFC', async () => {
    await set('', { default_use: 'taxed' })
    const vat = async () =>
      (await of.ask('GET', `/v1/analytics/vat-position?fiscal_entity_id=${fiscal_entity_id}&period=2025-10&prorrateo=attributed`)).body
        .data[0]
    expect(filled(lineOf(await check(), BORDER).fields)).toMatchObject({ 18: '32', 20: '16' })
    expect((await vat()).acreditable).toBe('154.67')
    await set('', { default_use: 'no_object' })
    expect(filled(lineOf(await check(), BORDER).fields)).toMatchObject({ 31: '32', 35: '16' })
    expect((await vat()).acreditable).toBe('106.67')
  })

  it('say the operation, the identity of who is foreign, and who is grouped', async () => {
    await set(`/suppliers/${LANDLORD}`, { tipo_tercero: '05', tipo_operacion: '85', tax_id: 'US-1', name: 'Acme Inc', country: 'USA' })
    await set(`/suppliers/${SHOP}`, { tipo_tercero: '15', use: 'exempt' })
    await set(`/suppliers/${CASH}`, { tipo_tercero: '15', use: 'taxed' })
    const found = await check()
    expect(filled(lineOf(found, LANDLORD).fields)).toMatchObject({ 1: '05', 2: '85', 4: 'US-1', 5: 'Acme Inc', 6: 'USA', 12: '2000' })
    const global = lineOf(found, null)
    expect([global.tipo_tercero, global.tipo_operacion, global.name]).toEqual(['15', '87', null])
    expect(filled(global.fields)).toEqual({
      ...{ 1: '15', 2: '87', 3: 'XAXX010101000', 12: '6001', 13: '100', 37: '800', 38: '144', 50: '30', 52: '70', 54: '01' },
    })
    expect(found.line_count).toBe(3)
  })

  it('are listed by RFC in pages, replaced as a whole, and deleted', async () => {
    const first = (await of.ask('GET', `${settings()}/suppliers?limit=3`)).body
    expect([first.data.map(({ rfc }: Body) => rfc), first.has_more]).toEqual([[LANDLORD, SHOP, BORDER], true])
    const rest = (await of.ask('GET', `${settings()}/suppliers?limit=3&cursor=${first.next_cursor}`)).body
    expect([rest.data.map(({ rfc }: Body) => rfc), rest.next_cursor]).toEqual([[CASH], null])
    expect((await of.ask('GET', settings())).body.default_use).toBe('no_object')
    expect(await set(`/suppliers/${CASH}`, {})).toMatchObject({ rfc: CASH, tipo_tercero: null, use: null })
    expect((await of.ask('DELETE', `${settings()}/suppliers/${CASH}`)).status).toBe(204)
    const again = await of.ask('DELETE', `${settings()}/suppliers/${CASH}`)
    expect([again.status, again.body.code]).toEqual([404, 'supplier.not_found'])
    expect(lineOf(await check(), CASH)).toMatchObject({ tipo_tercero: '04', tipo_operacion: '02' })
  })

  it('are of at most 2,000 suppliers', async () => {
    const other = await connect(of.owner, undefined, { ciec: 'empty' })
    const path = `/v1/fiscal-entities/${other.fiscal_entity_id}/diot-settings/suppliers`
    await env.DB.prepare(
      `insert into diot_settings (organization_id, fiscal_entity_id, supplier, settings, updated_at)
         select organization_id, ?1, 'AAA' || printf('%06d', value) || 'AA1', '{}', 0 from connections
           join json_each(?2) where fiscal_entity_id = ?1`,
    )
      .bind(other.fiscal_entity_id, JSON.stringify(Array.from({ length: 1_999 }, (_, n) => n)))
      .run()
    expect((await of.ask('PUT', `${path}/${SHOP}`, { use: 'taxed' })).status).toBe(200)
    const refused = await of.ask('PUT', `${path}/${CASH}`, { use: 'taxed' })
    expect([refused.status, refused.body.code]).toEqual([409, 'diot_settings.full'])
    expect((await of.ask('PUT', `${path}/${SHOP}`, { use: 'exempt' })).body.use).toBe('exempt')
  })

  it('refuse what no line could have, and members', async () => {
    for (const body of [
      { use: 'other' },
      { tipo_operacion: '87' },
      { tax_id: 'A' },
      { country: 'mx', tipo_tercero: '05' },
      { proportion: '0.5' },
    ])
      expect([body, (await of.ask('PUT', `${settings()}/suppliers/${SHOP}`, body)).status]).toEqual([body, 422])
    for (const body of [{ proportion: '1.5' }, { default_use: 'other' }])
      expect([body, (await of.ask('PUT', settings(), body)).status]).toEqual([body, 422])
    expect((await of.ask('PUT', `${settings()}/suppliers/ABC`, {})).status).toBe(400)
    expect((await of.ask('PUT', settings(), {}, 'member')).status).toBe(403)
    expect((await of.ask('GET', settings(), undefined, 'member')).status).toBe(200)
  })
})
