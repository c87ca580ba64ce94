import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { DAILY } from '../../../src/app/schedule.ts'
import { HEADINGS, WORDS } from '../../../src/copies/exports/making/columns.ts'
import { expireExports } from '../../../src/copies/exports/making/work.ts'
import { labelOf } from '../../../src/lists/catalog.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api, basic, request } from '../../support/client.ts'
import { connect, organization, synced } from '../../support/tenants.ts'
import { credentialOf } from '../../support/world.ts'
import { csvRows, entriesOf, sheetsOf } from './support/readers.ts'
import { begun, bytesAt, exported, objectsOf, walked } from './support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

/** The Spanish of a value of the API. */
const saidOf = (name: string, value: string): string => {
  if (name === 'counterparty.blacklist.source') return value === '' ? '' : labelOf(value, null)
  return value === 'true' ? 'Sí' : value === 'false' ? 'No' : (WORDS[name]?.[value] ?? value)
}

let of: Awaited<ReturnType<typeof organization>>
let fiscal_entity_id: string
let all: Record<string, unknown>[]
let details: Map<string, Record<string, unknown>>

beforeAll(async () => {
  of = await organization('enterprise_gold')
  await api(of.owner, 'POST', '/v1/extractors', {
    ...{ name: 'Al conectar', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 4 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })
  fiscal_entity_id = (await connect(of.owner)).fiscal_entity_id
  await synced(of.owner, fiscal_entity_id)
  all = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id })
  expect(all.length).toBeGreaterThan(150)
  details = new Map()
  for (const { uuid } of all) {
    const { body } = await api(of.owner, 'GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`)
    details.set(uuid as string, body)
  }
}, 120_000)

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
const lines = (bytes: Uint8Array) =>
  text(bytes)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Filters of every kind: served by an index, scanned, by party, by day, none that finds anything. */
const FILTERS: Record<string, string>[] = [
  {},
  { direction: 'issued' },
  { direction: 'received', estatus: 'cancelado' },
  { tipo_comprobante: 'I,E' },
  { tipo_comprobante: 'P,N' },
  { payment_status: 'unpaid,partially_paid' },
  { metodo_pago: 'PPD' },
  { total_min: '5000' },
  { has_xml: 'false' },
  { has_xml: 'true', estatus: 'vigente' },
  { blacklist: 'sat_69b' },
  { is_substituted: 'true' },
  { serie: 'nobody has it' },
]

/** The lines of a document without what its XML alone says, which lists and rows of lines do not read. */
const linesOf = (uuid: unknown): object[] =>
  (details.get(uuid as string)!['conceptos'] as Record<string, unknown>[]).map(
    ({ a_cuenta_terceros: _, complement_trees: __, other_elements: ___, ...line }) => line,
  )

describe('rows', () => {
  /** What breaks without it: an export of 76,000 rows holds every other request up for six seconds. */
  it('are written a thousand at a time, and other requests are answered in between', async () => {
    const wait = vi.spyOn(scheduler, 'wait')
    const { made } = await exported(of.owner, { fiscal_entity_id, kind: 'complementos', format: 'csv' })
    expect(made['rows']).toBeGreaterThan(3_000)
    expect(wait.mock.calls.length).toBeGreaterThan(Math.floor((made['rows'] as number) / 1_000))
    wait.mockRestore()
  })

  it.each(FILTERS)('are those of the list, with %j', async (filters) => {
    const expected = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id, ...filters })
    const { made, bytes } = await exported(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'ndjson', filters })
    expect(lines(bytes)).toEqual(expected)
    expect(made).toMatchObject({ status: 'ready', rows: expected.length, documents: expected.length, bytes: bytes.length, filters })
  })

  it('are found by numbers and booleans of JSON as by their texts', async () => {
    const body = { fiscal_entity_id, kind: 'cfdi', format: 'csv', filters: { total_min: 5000.5, balance_min: 0, has_xml: true } }
    expect((await api(of.owner, 'POST', '/v1/exports', body)).body['filters']).toEqual({
      total_min: '5000.5',
      balance_min: '0',
      has_xml: 'true',
    })
  })

  it('are lines and payments as the details have them', async () => {
    const conceptos = await exported(of.owner, { fiscal_entity_id, kind: 'conceptos', format: 'ndjson' })
    const expected = all.flatMap(({ uuid, fecha, estatus }) =>
      linesOf(uuid).map((line, n) => ({ uuid, fecha, estatus, concepto: n + 1, ...line })),
    )
    expect(expected.length).toBeGreaterThan(all.length / 2)
    expect(conceptos.made.rows).toBe(expected.length)
    expect(lines(conceptos.bytes)).toEqual(expected.map((one) => expect.objectContaining(one)))
    const pagos = await exported(of.owner, { fiscal_entity_id, kind: 'pagos', format: 'ndjson' })
    const paid = all.flatMap(({ uuid }) =>
      (details.get(uuid as string)!['pagos'] as { monto: string; documentos: { uuid: string; imp_pagado: string }[] }[]).flatMap(
        ({ monto, documentos }, n) =>
          documentos.map((one, at) => ({
            uuid,
            pago: n + 1,
            monto,
            documento: at + 1,
            documento_uuid: one.uuid,
            imp_pagado: one.imp_pagado,
          })),
      ),
    )
    expect(paid.length).toBeGreaterThan(5)
    expect(lines(pagos.bytes)).toEqual(paid.map((one) => expect.objectContaining(one)))
    const none = await exported(of.owner, { fiscal_entity_id, kind: 'pagos', format: 'csv', filters: { tipo_comprobante: 'I' } })
    expect([none.made.rows, csvRows(text(none.bytes).slice(1))]).toEqual([0, [expect.arrayContaining(['documento_uuid'])]])
  })

  it('are payroll lines as the details have them', async () => {
    const nominas = await exported(of.owner, { fiscal_entity_id, kind: 'nominas', format: 'ndjson' })
    const receipts = all.filter(({ tipo_comprobante }) => tipo_comprobante === 'N')
    const expected = receipts.flatMap(({ uuid, estatus }) =>
      (details.get(uuid as string)!['nominas'] as Record<string, Record<string, string>[]>[]).flatMap((one, n) => {
        const row = (linea: string, at: number, tipo: unknown, rest: object) => ({
          ...{ uuid, estatus, nomina: n + 1, num_empleado: one['num_empleado'], fecha_pago: one['fecha_pago'] },
          ...{ linea, numero: at + 1, tipo, ...rest },
        })
        return [
          ...one['percepciones']!.map(({ tipo_percepcion, clave, concepto, importe_gravado, importe_exento }, at) =>
            row('percepcion', at, tipo_percepcion, { clave, descripcion: concepto, importe_gravado, importe_exento }),
          ),
          ...one['deducciones']!.map(({ tipo_deduccion, concepto, importe }, at) =>
            row('deduccion', at, tipo_deduccion, { descripcion: concepto, importe }),
          ),
          ...one['otros_pagos']!.map(({ tipo_otro_pago, importe, subsidio_causado }, at) =>
            row('otro_pago', at, tipo_otro_pago, { importe, subsidio_causado }),
          ),
        ]
      }),
    )
    expect(expected.length).toBeGreaterThan(5)
    expect(lines(nominas.bytes)).toEqual(expected.map((one) => expect.objectContaining(one)))
    expect(nominas.made).toMatchObject({ rows: expected.length, documents: receipts.length })
  })

  it('are the attributes of complements as the details have them', async () => {
    const complementos = await exported(of.owner, { fiscal_entity_id, kind: 'complementos', format: 'ndjson' })
    interface Tree {
      name: string
      attributes: Record<string, string>
      children: Tree[]
    }
    const valuesOf = ({ attributes, children }: Tree): [string, string][] => [...Object.entries(attributes), ...children.flatMap(valuesOf)]
    const expected = all.flatMap(({ uuid }) => {
      const { complement_trees, conceptos } = details.get(uuid as string) as {
        complement_trees: Tree[]
        conceptos: typeof complement_trees
      }
      const ofLines = (conceptos as unknown as { complement_trees: Tree[] }[]).map((line, n) => [n + 1, line.complement_trees] as const)
      return [[null, complement_trees] as const, ...ofLines].flatMap(([concepto, trees]) =>
        trees.flatMap(valuesOf).map(([atributo, valor]) => [uuid, concepto, atributo, valor].join(' ')),
      )
    })
    expect(expected.length).toBeGreaterThan(all.length)
    const rows = lines(complementos.bytes)
    expect(rows.map(({ uuid, concepto, atributo, valor }) => [uuid, concepto, atributo, valor].join(' ')).sort()).toEqual(expected.sort())
    const stamp = rows.find(({ atributo }) => atributo === 'SelloSAT')
    expect(stamp).toMatchObject({ complemento: 'TimbreFiscalDigital:1.1', nodo: 'TimbreFiscalDigital', concepto: null })
    const paid = new Set(rows.filter(({ atributo }) => atributo === 'IdDocumento').map(({ nodo }) => nodo as string))
    expect([...paid].every((nodo) => /^Pagos\/Pago(\[\d+\])?\/DoctoRelacionado(\[\d+\])?$/.test(nodo))).toBe(true)
    const without = all.filter(({ has_xml }) => !has_xml).length
    expect(complementos.made).toMatchObject({ rows: expected.length, documents: all.length, documents_without_xml: without })
  })
})

const at = (row: Record<string, unknown>, heading: string): unknown =>
  heading.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name] ?? null, row)

describe('a list', () => {
  it('includes lines, payments and relations as the details have them', async () => {
    const path = '/v1/cfdi'
    const include = ['conceptos', 'pagos', 'relacionados']
    const rows = await walked(of.owner, path, { fiscal_entity_id, include: include.join() })
    const pick = (from: Record<string, unknown>) => Object.fromEntries(include.map((name) => [name, from[name]]))
    expect(rows.map(pick)).toEqual(all.map(({ uuid }) => ({ ...pick(details.get(uuid as string)!), conceptos: linesOf(uuid) })))
    expect(rows.map(({ conceptos: _, pagos: __, relacionados: ___, ...row }) => row)).toEqual(all)
    const [one] = await walked(of.owner, path, { fiscal_entity_id, include: 'relacionados', uuid: all[0]!['uuid'] as string })
    expect(Object.keys(one!).filter((name) => include.includes(name))).toEqual(['relacionados'])
    expect((await api(of.owner, 'GET', `${path}?fiscal_entity_id=${fiscal_entity_id}&include=nominas`)).status).toBe(422)
  })
})

describe('the formats', () => {
  it('csv has a byte order mark, ends of lines as RFC 4180 has them, and the columns of the list', async () => {
    const { bytes } = await exported(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'csv' })
    expect(bytes.subarray(0, 3)).toEqual(new Uint8Array([0xef, 0xbb, 0xbf]))
    const [headings, ...rows] = csvRows(text(bytes).slice(1))
    expect(rows.length).toBe(all.length)
    for (const [n, row] of rows.entries())
      expect(Object.fromEntries(headings!.map((heading, i) => [heading, row[i]!.replace(/^'(?=[=+\-@])/, '')]))).toEqual(
        Object.fromEntries(headings!.map((heading) => [heading, String(at(all[n]!, heading) ?? '')])),
      )
    const list = await request('GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=1`, {
      headers: { authorization: basic(of.owner), accept: 'text/csv' },
    })
    expect(csvRows(list.body as string)[0]).toEqual(headings)
  })

  it.each(['cfdi', 'conceptos', 'pagos', 'nominas'])(
    'xlsx of %s says what csv says, amounts as numbers and times as times',
    async (kind) => {
      const csv = await exported(of.owner, { fiscal_entity_id, kind, format: 'csv' })
      const xlsx = await exported(of.owner, { fiscal_entity_id, kind, format: 'xlsx' })
      const [sheet, ...others] = sheetsOf(xlsx.bytes)
      expect(others).toEqual([])
      // Every column has a width, and a filter of all rows.
      const xml = text(entriesOf(xlsx.bytes).find(({ name }) => name === 'xl/worksheets/sheet1.xml')!.bytes)
      expect(xml.match(/<col /g)).toHaveLength(sheet!.rows[0]!.length)
      expect(xml).toMatch(new RegExp(`</sheetData><autoFilter ref="A1:[A-Z]+${sheet!.rows.length}"/></worksheet>$`))
      const [headings, ...rows] = csvRows(text(csv.bytes).slice(1))
      expect(sheet!.name).toBe(kind)
      expect(sheet!.rows[0]).toEqual(headings)
      expect(sheet!.rows.length).toBe(rows.length + 1)
      const types = new Map<string, Set<string>>()
      for (const [n, row] of rows.entries())
        for (const [i, heading] of headings!.entries()) {
          const cell = sheet!.rows[n + 1]![i] ?? null
          const said = row[i]!.replace(/^'(?=[=+\-@])/, '')
          if (cell !== null) types.set(heading, (types.get(heading) ?? new Set()).add(cell instanceof Date ? 'time' : typeof cell))
          if (cell instanceof Date)
            expect(cell.toISOString().slice(0, 19)).toBe(said.length === 10 ? `${said}T00:00:00` : said.slice(0, 19))
          else if (typeof cell === 'number') expect(cell).toBe(Number(said))
          else expect(String(cell ?? '')).toBe(said)
        }
      const typeOf = (heading: string) => [...(types.get(heading) ?? [])]
      expect(typeOf('issued_at')).toEqual(['time'])
      if (kind === 'cfdi') expect([...typeOf('due_date'), ...typeOf('balance_mxn')]).toEqual(['time', 'number'])
      expect(typeOf('folio')).toEqual(['string'])
      expect(typeOf({ cfdi: 'total', conceptos: 'importe', pagos: 'imp_pagado', nominas: 'importe_gravado' }[kind]!)).toEqual(['number'])
    },
  )

  it.each(['cfdi', 'conceptos', 'pagos', 'nominas', 'complementos'] as const)(
    'in Spanish have the columns of %s in their order, with words for values',
    async (kind) => {
      const api = await exported(of.owner, { fiscal_entity_id, kind, format: 'csv', headings: 'api' })
      const csv = await exported(of.owner, { fiscal_entity_id, kind, format: 'csv', headings: 'es' })
      expect([api.made.headings, csv.made.headings]).toEqual(['api', 'es'])
      const only = { pagos: 'P', nominas: 'N', cfdi: null, conceptos: null, complementos: null }[kind]
      const without = all.filter(({ has_xml, tipo_comprobante }) => !has_xml && [null, tipo_comprobante].includes(only)).length
      expect(csv.made.documents_without_xml).toBe(without)
      const [names, ...plain] = csvRows(text(api.bytes).slice(1))
      const [headings, ...rows] = csvRows(text(csv.bytes).slice(1))
      expect(headings).toEqual(names!.map((name) => HEADINGS[name]))
      expect(rows).toEqual(plain.map((row) => row.map((value, n) => saidOf(names![n]!, value))))
      expect(new Set(rows.map((row) => row[headings!.indexOf('Sentido')]))).toEqual(
        new Set(kind === 'pagos' || kind === 'nominas' ? plain.map((row) => saidOf('direction', row[1]!)) : ['Emitido', 'Recibido']),
      )
      const xlsx = await exported(of.owner, { fiscal_entity_id, kind, format: 'xlsx', headings: 'es' })
      const [sheet] = sheetsOf(xlsx.bytes)
      expect([sheet!.name, sheet!.rows[0], sheet!.rows.length]).toEqual([
        { cfdi: 'CFDI', conceptos: 'Conceptos', pagos: 'Pagos', nominas: 'Nóminas', complementos: 'Complementos' }[kind],
        ...[headings, rows.length + 1],
      ])
      const inSheet = (heading: string) => sheet!.rows.slice(1).map((row) => row[headings!.indexOf(heading)])
      expect(inSheet('Estado')).toEqual(rows.map((row) => row[headings!.indexOf('Estado')]))
      expect(inSheet('Sustituido').every((value) => value === 'Sí' || value === 'No')).toBe(true)
      expect(inSheet('Fecha de emisión').every((value) => value instanceof Date)).toBe(true)
    },
  )

  it('zip has the bytes of each XML under a name of its own, with the time of the start', async () => {
    const { made, bytes } = await exported(of.owner, { fiscal_entity_id, kind: 'xml', format: 'zip' })
    const entries = entriesOf(bytes)
    const known = all.filter(({ has_xml }) => has_xml)
    expect(made).toMatchObject({ rows: known.length, documents: all.length, documents_without_xml: all.length - known.length })
    expect(entries.map(({ name }) => name).sort()).toEqual(
      known.map(({ direction, fecha, uuid }) => `${direction}/${(fecha as string).slice(0, 7)}/${uuid}.xml`).sort(),
    )
    expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length)
    for (const { bytes, modified, name } of entries) {
      expect(Math.abs(modified.getTime() - Date.parse(made.created_at))).toBeLessThan(2_000)
      const xml = await bytesAt(of.owner, `/v1/cfdi/${name.slice(-40, -4)}/xml?fiscal_entity_id=${fiscal_entity_id}`)
      expect(text(bytes)).toBe(text(xml.bytes))
    }
  })

  it('zip has the PDF of each document, alone or beside its XML, as the API answers it', async () => {
    const month = (all[0]!['fecha'] as string).slice(0, 7)
    const asked = { fiscal_entity_id, kind: 'xml', format: 'zip', filters: { issued_from: `${month}-01`, has_pdf: 'true' } }
    const both = await exported(of.owner, { ...asked, content: ['xml', 'pdf'] })
    const names = entriesOf(both.bytes).map(({ name }) => name)
    expect(both.made).toMatchObject({ content: ['xml', 'pdf'], rows: names.length })
    const xmls = names.filter((name) => name.endsWith('.xml'))
    expect(xmls.length).toBeGreaterThan(2)
    expect(names.sort()).toEqual(xmls.flatMap((name) => [name, name.replace(/xml$/, 'pdf')]).sort())
    const alone = await exported(of.owner, { ...asked, content: ['pdf'] })
    const pdfs = entriesOf(alone.bytes)
    expect(pdfs.map(({ name }) => name).sort()).toEqual(xmls.map((name) => name.replace(/xml$/, 'pdf')).sort())
    for (const { bytes, name } of pdfs.slice(0, 5)) {
      const pdf = await bytesAt(of.owner, `/v1/cfdi/${name.slice(-40, -4)}/pdf?fiscal_entity_id=${fiscal_entity_id}`)
      expect(bytes).toEqual(pdf.bytes)
    }
  })
})

describe('an export', () => {
  it('is called after the period that its filters ask for', async () => {
    const { made } = await exported(of.owner, {
      ...{ fiscal_entity_id, kind: 'cfdi', format: 'xlsx', headings: 'es' },
      filters: { issued_from: '2026-10-01', issued_to: '2026-10-31' },
    })
    const { headers } = await bytesAt(of.owner, `/v1/exports/${made.export_id}/content`)
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="\w{12,13}-cfdi-2026-10\.xlsx"$/)
  })

  it('is followed, downloaded in ranges, and deleted with its objects', async () => {
    const post = await api(of.owner, 'POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv' })
    expect([post.status, post.headers.get('location')]).toEqual([202, `/v1/exports/${post.body.export_id}`])
    expect(post.body).toMatchObject({ status: 'queued', rows: 0, expires_at: null })
    const { made, bytes } = await exported(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'csv' })
    const path = `/v1/exports/${made.export_id}/content`
    expect(Date.parse(made.expires_at) - Date.parse(made.completed_at)).toBe(7 * 86_400_000)
    const whole = await bytesAt(of.owner, path)
    const etag = whole.headers.get('etag')!
    expect(whole.headers.get('content-disposition')).toMatch(/^attachment; filename="\w{12,13}-cfdi-\d{4}-\d\d-\d\d\.csv"$/)
    expect(whole.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const parts = [
      await bytesAt(of.owner, path, { range: 'bytes=0-999' }),
      await bytesAt(of.owner, path, { range: 'bytes=1000-', 'if-range': etag }),
    ]
    expect(parts.map(({ status }) => status)).toEqual([206, 206])
    expect(parts[1]!.headers.get('content-range')).toBe(`bytes 1000-${bytes.length - 1}/${bytes.length}`)
    expect(text(new Uint8Array([...parts[0]!.bytes, ...parts[1]!.bytes]))).toBe(text(bytes))
    expect((await bytesAt(of.owner, path, { range: `bytes=${bytes.length}-` })).status).toBe(416)
    expect((await bytesAt(of.owner, path, { 'if-none-match': etag })).status).toBe(304)
    expect(await objectsOf(made.export_id)).toHaveLength(1)
    expect((await api(of.owner, 'DELETE', `/v1/exports/${made.export_id}`)).status).toBe(204)
    expect((await api(of.owner, 'GET', `/v1/exports/${made.export_id}`)).status).toBe(404)
    await vi.waitUntil(async () => (await objectsOf(made.export_id)).length === 0, { timeout: 10_000 })
  })

  it('is begun and deleted by owners and admins; a member only reads it', async () => {
    const [admin, member] = await Promise.all((['admin', 'member'] as const).map((role) => credentialOf(of.owner, role)))
    const json = { fiscal_entity_id, kind: 'pagos', format: 'csv' }
    const begin = await api(member!, 'POST', '/v1/exports', json)
    expect([begin.status, begin.body.code]).toEqual([403, 'credential.role'])
    const { made } = await exported(admin!, json)
    const path = `/v1/exports/${made.export_id}`
    expect((await api(member!, 'GET', path)).body.created_by).toBe(admin!.api_key)
    expect((await bytesAt(member!, `${path}/content`)).status).toBe(200)
    const remove = await api(member!, 'DELETE', path)
    expect([remove.status, remove.body.code]).toEqual([403, 'credential.role'])
    expect((await api(of.owner, 'DELETE', path)).status).toBe(204)
  })

  it('is for nobody of another organization', async () => {
    const { made } = await exported(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'ndjson' })
    const other = await organization()
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/content'],
      ['DELETE', ''],
    ])
      expect((await api(other.owner, method!, `/v1/exports/${made.export_id}${path}`)).body.code).toBe('export.not_found')
    expect((await api(other.owner, 'GET', '/v1/exports')).body.data).toEqual([])
    expect((await api(other.owner, 'POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv' })).body.code).toBe(
      'fiscal_entity.not_found',
    )
    const listed = await walked(of.owner, '/v1/exports', {})
    expect(listed.map(({ export_id }) => export_id)).toContain(made.export_id)
  })

  it.each([
    [{ kind: 'xml', format: 'csv' }, ['format']],
    [{ kind: 'cfdi', format: 'zip' }, ['format']],
    [{ kind: 'facturas', format: 'csv' }, ['kind']],
    [{ kind: 'cfdi', format: 'ndjson', headings: 'es' }, ['headings']],
    [{ kind: 'xml', format: 'zip', headings: 'es' }, ['headings']],
    [{ kind: 'cfdi', format: 'csv', content: ['pdf'] }, ['content']],
    [{ kind: 'xml', format: 'zip', content: [] }, ['content']],
    [{ kind: 'xml', format: 'zip', content: ['pdf', 'pdf'] }, ['content']],
    [{ kind: 'cfdi', format: 'xlsx', headings: 'fr' }, ['headings']],
    [{ kind: 'cfdi', format: 'csv', filters: { tipo_comprobante: 'Z' } }, ['filters.tipo_comprobante[0]']],
    [{ kind: 'cfdi', format: 'csv', filters: { emisor: 'x' } }, ['filters.emisor']],
    [{ kind: 'cfdi', format: 'csv', filters: { as_of: '2190-01-01' } }, ['filters.as_of']],
    [{ kind: 'cfdi', format: 'csv', filters: { issued_from: '2026-02-01', issued_to: '2026-01-01' } }, ['filters.issued_from']],
  ])('is refused with %j', async (json, paths) => {
    const { status, body } = await api(of.owner, 'POST', '/v1/exports', { fiscal_entity_id, ...json })
    expect([status, body.errors.map(({ path }: { path: string }) => path)]).toEqual([422, paths])
  })

  it('takes a place of the plan while it is made or kept', async () => {
    const small = await organization('diagnostic')
    const { fiscal_entity_id: own } = await connect(small.owner, undefined, { ciec: 'empty' })
    const one = { fiscal_entity_id: own, kind: 'cfdi', format: 'csv' }
    const ids = []
    for (let n = 0; n < 5; n++) ids.push(await begun(small.owner, one))
    const refused = await api(small.owner, 'POST', '/v1/exports', one)
    expect([refused.status, refused.body.code]).toEqual([409, 'export.plan_limit'])
    expect((await api(small.owner, 'GET', '/v1/billing/usage')).body.quotas.exports).toMatchObject({ used: 5, limit: 5 })
    await api(small.owner, 'DELETE', `/v1/exports/${ids[0]}`)
    await begun(small.owner, one)
  })

  it('expires after seven days, and its objects are removed', async () => {
    const { made } = await exported(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'ndjson' })
    await env.DB.prepare('update exports set expires_at = ? where export_id = ?')
      .bind(Date.now() - 1, made.export_id)
      .run()
    const look = async () => (await api(of.owner, 'GET', `/v1/exports/${made.export_id}`)).body.status
    expect(await look()).toBe('expired')
    expect((await api(of.owner, 'GET', `/v1/exports/${made.export_id}/content`)).body.code).toBe('export.expired')
    expect(DAILY).toContain('expireExports')
    expect(await expireExports(systemOf(env, new Date(), 'req_test'))).toBeNull()
    expect([await look(), await objectsOf(made.export_id)]).toEqual(['expired', []])
    await expireExports(systemOf(env, new Date(Date.now() + 91 * 86_400_000), 'req_test'))
    expect((await api(of.owner, 'GET', `/v1/exports/${made.export_id}`)).status).toBe(404)
  })
})
