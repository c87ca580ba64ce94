import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type MetadataLine, MetadataReader, type MetadataRow, openMetadata } from '../../../src/cfdi/package/package.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'

const HEADER =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'
const UUID = 'C0FFEE00-1111-4222-8333-444455556666'
const row = (changes: Record<number, string> = {}): string => {
  const fields = [UUID, 'EKU9003173C9', 'FERRETERIA', 'URE180429TM6', 'COMPRADOR', 'SAT970701NN3']
  fields.push('2025-02-03 10:00:00', '2025-02-03 10:00:09', '116.00', 'I', '1', '')
  return Object.assign(fields, changes).join('~')
}
/** Reads a text that comes in parts of so many characters. */
const linesOf = (text: string, part = Math.max(text.length, 1)): MetadataLine[] => {
  const reader = new MetadataReader()
  const parts = Array.from({ length: Math.ceil(text.length / part) }, (_, i) => text.slice(i * part, (i + 1) * part))
  return [...parts.flatMap((one) => reader.push(one)), ...reader.end()]
}
const rows = (text: string): MetadataRow[] => linesOf(text).flatMap((line) => line.row ?? [])
const rejected = (text: string) => linesOf(text).flatMap((line) => line.rejected ?? [])

async function rowsOfFile(bytes: Uint8Array): Promise<MetadataRow[]> {
  const lines: MetadataLine[] = []
  for await (const some of (await openMetadata(bytesInMemory(bytes))).lines()) lines.push(...some)
  return lines.flatMap((line) => line.row ?? [])
}

const READ: MetadataRow = {
  uuid: UUID,
  emisor_rfc: 'EKU9003173C9',
  emisor_nombre: 'FERRETERIA',
  receptor_rfc: 'URE180429TM6',
  receptor_nombre: 'COMPRADOR',
  pac_rfc: 'SAT970701NN3',
  fecha: '2025-02-03T10:00:00',
  certified_at: '2025-02-03T10:00:09',
  total: '116.00',
  kind: 'cfdi',
  tipo_comprobante: 'I',
  cancelled: false,
  cancelled_at: null,
  cancellation_reason: null,
  folio_sustitucion: null,
}

describe('metadata', () => {
  it.each([
    ['the issuer', { 2: 'A ~ B' }, { emisor_nombre: 'A ~ B' }],
    ['the receiver', { 4: '~ B ~' }, { receptor_nombre: '~ B ~' }],
    ['both', { 2: 'A~B~C', 4: 'D~' }, { emisor_nombre: 'A~B~C', receptor_nombre: 'D~' }],
  ])('with the separator in the name of %s', (_, changes, names) => {
    const text = `${HEADER}\r\n${row(changes)}\r\n${row()}\r\n`
    expect(rows(text)).toEqual([{ ...READ, ...names }, READ])
    expect(rejected(text)).toEqual([])
  })

  it('with more separators than names have, or an amount that is none, is rejected', () => {
    for (const changes of [{ 2: '~'.repeat(9) }, { 2: 'A~B', 8: 'mucho' }])
      expect([rows(`${HEADER}\n${row(changes)}`), rejected(`${HEADER}\n${row(changes)}`).length]).toEqual([[], 1])
  })

  it.each([
    ['line feeds', `${HEADER}\n${row()}\n`],
    ['no line end after the last row', `${HEADER}\n${row()}`],
    ['CR LF and blank lines', `${HEADER}\r\n${row()}\r\n\r\n`],
    ['a byte order mark', `\ufeff${HEADER}\r\n${row()}\r\n`],
    ['blank lines before the header', `\r\n\r\n${HEADER}\r\n${row()}`],
    ['a lower-case UUID and spaces', `${HEADER}\n${row({ 0: ` ${UUID.toLowerCase()} `, 1: ' eku9003173c9' })}`],
    ['a line feed inside a name', `${HEADER}\r\n${row({ 2: 'FERRE\nTERIA' })}\r\n`],
    ['a column that is not known', `${HEADER}~Otra\n${row()}~x`],
    ['fields beyond the header', `${HEADER}\n${row()}~x~y`],
  ])('with %s', async (_, text) => {
    expect(rows(text.replace(/^\ufeff/, ''))).toEqual([READ])
    expect(await rowsOfFile(new TextEncoder().encode(text))).toEqual([READ])
  })

  it('in whatever parts it comes', () => {
    const lines = [HEADER, row({ 2: 'A' }), row({ 0: 'x' }), '', row({ 3: 'NO ES RFC' }), row({ 10: '0' }), row()]
    for (const end of ['\n', '\r\n']) {
      const text = `${end}${lines.join(end)}${end}`
      const whole = linesOf(text)
      expect(whole.map(({ row, rejected }) => row?.uuid ?? rejected?.line)).toEqual([
        UUID,
        expect.any(Number),
        expect.any(Number),
        UUID,
        UUID,
      ])
      fc.assert(
        fc.property(fc.integer({ min: 1, max: text.length }), (part) => {
          expect(linesOf(text, part)).toEqual(whole)
        }),
      )
    }
  })

  it('that is not valid UTF-8 is read as windows-1252, also when only its end is not', async () => {
    const text = `${HEADER}\r\n${`${row({ 2: 'CIA' })}\r\n`.repeat(2_000)}${row({ 2: 'A\u00f1O' })}\r\n`
    const latin1 = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const names = (await rowsOfFile(latin1)).map(({ emisor_nombre }) => emisor_nombre)
    expect([names.length, names[0], names.at(-1)]).toEqual([2_001, 'CIA', 'A\u00f1O'])
    expect((await rowsOfFile(new TextEncoder().encode(text))).at(-1)?.emisor_nombre).toBe('A\u00f1O')
  })

  it('a row without an end costs only itself, and is not gathered', () => {
    const reader = new MetadataReader()
    const lines = reader.push(`${HEADER}\r\n${row()}\r\n`)
    for (let i = 0; i < 20; i++) lines.push(...reader.push('x'.repeat(64 * 1024)))
    lines.push(...reader.push(`\r\n${row()}`), ...reader.end())
    expect(lines).toEqual([
      { row: READ, line: 2 },
      { rejected: { line: 3, month: null, code: 'metadata.too_long' } },
      { row: READ, line: 4 },
    ])
  })

  it('a name cannot forge a row with a line feed', () => {
    const forged = row({ 0: 'BADBAD00-1111-4222-8333-444455556666' })
    expect(rows(`${HEADER}\r\n${row({ 2: `X\n${forged.replaceAll('~', ' ')}` })}\r\n`).map(({ uuid }) => uuid)).toEqual([UUID])
  })

  it('columns are found by name, in whatever order', () => {
    const fields = row().split('~')
    fc.assert(
      fc.property(
        fc.shuffledSubarray(
          fields.map((_, i) => i),
          { minLength: 12 },
        ),
        (order) => {
          const line = (values: string[]) => order.map((i) => values[i]).join('~')
          expect(rows(`${line(HEADER.split('~'))}\r\n${line(fields)}`)).toEqual([READ])
        },
      ),
    )
  })

  it('columns and fields that are not there are null', () => {
    const header = 'Estatus~Uuid~RfcEmisor~RfcReceptor~FechaEmision~Monto'
    expect(rows(`${header}\n1~${UUID}~EKU9003173C9~URE180429TM6`)).toEqual([
      {
        ...READ,
        emisor_nombre: null,
        receptor_nombre: null,
        pac_rfc: null,
        fecha: null,
        certified_at: null,
        total: null,
        tipo_comprobante: null,
      },
    ])
    expect(rows(`${HEADER}\n${row().split('~').slice(0, 11).join('~')}`)).toEqual([READ])
  })

  /** What breaks without it: cancelled documents are kept as valid ones, or rows vanish and their month is complete. */
  it('a header without a column that a list must have is told of as a line, and its rows are not read', () => {
    for (const name of ['RfcEmisor', 'RfcReceptor', 'FechaEmision', 'Estatus']) {
      const text = `\r\n${HEADER.replace(name, 'Otro')}\r\n${row()}\r\n`
      expect([rows(text), rejected(text)]).toEqual([[], [{ line: 2, month: null, code: 'metadata.missing_column' }]])
    }
    expect(rejected(`Uuid~RfcEmisor\n${UUID}~EKU9003173C9`)).toMatchObject([{ code: 'metadata.missing_column' }])
    expect(linesOf(`Uuid~RfcACuentaTerceros~NombreACuentaTerceros\n${UUID}~EKU9003173C9~A`)).toEqual([])
  })

  it('a cancelled one says when, and why if the file does', () => {
    const other = 'badbad00-1111-4222-8333-444455556666'
    const text = `${HEADER}~Motivo~FolioSustitucion\n${row({ 10: '0', 11: '2025-03-01 00:00:00' })}~01~${other}\n${row({ 10: '0' })}~9~`
    expect(rows(text)).toMatchObject([
      { cancelled: true, cancelled_at: '2025-03-01T00:00:00', cancellation_reason: '01', folio_sustitucion: other.toUpperCase() },
      { cancelled: true, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null },
    ])
  })

  it('only a CFDI de retenciones has an empty EfectoComprobante', () => {
    expect(rows(`${HEADER}\n${row({ 9: '' })}\n${row({ 9: 'E' })}`)).toMatchObject([
      { kind: 'retenciones', tipo_comprobante: null },
      { kind: 'cfdi', tipo_comprobante: 'E' },
    ])
  })

  it.each([
    ['1', false],
    ['Vigente', false],
    ['0', true],
    ['Cancelado', true],
  ])('Estatus %s is valid or cancelled', (estatus, cancelled) => {
    expect(rows(`${HEADER}\n${row({ 10: estatus })}`)).toMatchObject([{ cancelled }])
  })

  it('dates that do not exist are null', () => {
    expect(rows(`${HEADER}\n${row({ 6: '2025-02-30 10:00:00', 7: 'ayer' })}`)).toMatchObject([{ fecha: null, certified_at: null }])
  })

  it('a row is told by the line on which it begins, whatever line feeds are in the names before it', () => {
    const linesOfRows = (text: string) => linesOf(text).flatMap((one) => (one.row ? [one.line] : []))
    // Line 1 is the header; the second row has a line feed in a name, so that the third begins two lines later; line 6 is blank.
    expect(linesOfRows([HEADER, row(), row({ 2: 'A\nB' }), row(), '', row()].join('\r\n'))).toEqual([2, 3, 5, 7])
    expect(linesOfRows(`\r\n\r\n${HEADER}\r\n${row()}`)).toEqual([4])
  })

  it('of retenciones to a foreigner without an RFC names the generic one, and of a CFDI nobody', () => {
    const foreign = { ...READ, receptor_rfc: 'XEXX010101000', kind: 'retenciones', tipo_comprobante: null }
    expect(rows(`${HEADER}\r\n${row({ 3: '', 9: '' })}\r\n`)).toEqual([foreign])
    const without = HEADER.replace('EfectoComprobante~', '')
    const fields = row({ 3: '' })
      .split('~')
      .filter((_, n) => n !== 9)
    // Where there is no such column, the family of the request says what its documents are.
    expect(rows(`${without}\r\n${fields.join('~')}\r\n`)).toEqual([{ ...foreign, kind: 'cfdi' }])
    expect(rejected(`${HEADER}\r\n${row({ 3: '' })}\r\n`)).toMatchObject([{ code: 'metadata.invalid_rfc' }])
    expect(rejected(`${HEADER}\r\n${row({ 1: '', 9: '' })}\r\n`)).toMatchObject([{ code: 'metadata.invalid_rfc' }])
  })

  it('a bad row is told by its line and costs only itself', () => {
    const lines = [
      HEADER,
      row({ 2: 'A\nB' }),
      row({ 0: 'x' }),
      row({ 3: 'NO ES RFC' }),
      row({ 8: '1e9' }),
      row({ 10: '2' }),
      row({ 10: '' }),
      row(),
    ]
    expect(rejected(lines.join('\r\n'))).toEqual([
      { line: 4, month: READ.fecha!.slice(0, 7), code: 'metadata.invalid_uuid' },
      { line: 5, month: READ.fecha!.slice(0, 7), code: 'metadata.invalid_rfc' },
      { line: 6, month: READ.fecha!.slice(0, 7), code: 'metadata.invalid_amount' },
      { line: 7, month: READ.fecha!.slice(0, 7), code: 'metadata.invalid_status' },
      { line: 8, month: READ.fecha!.slice(0, 7), code: 'metadata.invalid_status' },
    ])
    expect(rows(lines.join('\r\n'))).toHaveLength(2)
  })

  it.each([
    ['nothing', ''],
    ['only a header', HEADER],
    ['a line that never ends', 'x'.repeat(10 * 1024 * 1024)],
    ['third parties', `Uuid~RfcACuentaTerceros~NombreACuentaTerceros\n${UUID}~AAA010101AAA~Otro`],
    ['something else', 'hola\nadiós'],
  ])('%s has no rows', (_, text) => {
    expect(linesOf(text)).toEqual([])
  })

  it('rows come one at a time', () => {
    const reader = new MetadataReader()
    expect(reader.push(`${HEADER}\n${row()}`)).toEqual([])
    for (let i = 0; i < 1_000; i++) expect(reader.push(`\n${row()}`)).toEqual([{ row: READ, line: i + 2 }])
    expect(reader.end()).toEqual([{ row: READ, line: 1_002 }])
  })
})
