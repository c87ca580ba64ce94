import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type MetadataRow, parseMetadata } from '../../../src/cfdi/package/metadata.ts'

const HEADER =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'
const UUID = 'C0FFEE00-1111-4222-8333-444455556666'
const row = (changes: Record<number, string> = {}): string => {
  const fields = [UUID, 'EKU9003173C9', 'FERRETERIA', 'URE180429TM6', 'COMPRADOR', 'SAT970701NN3']
  fields.push('2025-02-03 10:00:00', '2025-02-03 10:00:09', '116.00', 'I', '1', '')
  return Object.assign(fields, changes).join('~')
}
const rows = (input: string | Uint8Array): MetadataRow[] => [...parseMetadata(input)].flatMap((line) => line.row ?? [])
const rejected = (input: string) => [...parseMetadata(input)].flatMap((line) => line.rejected ?? [])

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
  tipo_comprobante: 'I',
  cancelled: false,
  cancelled_at: null,
  cancellation_reason: null,
  folio_sustitucion: null,
}

describe('metadata', () => {
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
  ])('with %s', (_, text) => {
    expect(rows(text)).toEqual([READ])
    expect(rows(new TextEncoder().encode(text))).toEqual([READ])
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
    expect(rows(`Uuid~RfcEmisor~RfcReceptor\n${UUID}~EKU9003173C9~URE180429TM6`)).toEqual([
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

  it('a cancelled one says when, and why if the file does', () => {
    const other = 'badbad00-1111-4222-8333-444455556666'
    const text = `${HEADER}~Motivo~FolioSustitucion\n${row({ 10: '0', 11: '2025-03-01 00:00:00' })}~01~${other}\n${row({ 10: '0' })}~9~`
    expect(rows(text)).toMatchObject([
      { cancelled: true, cancelled_at: '2025-03-01T00:00:00', cancellation_reason: '01', folio_sustitucion: other.toUpperCase() },
      { cancelled: true, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null },
    ])
  })

  it('dates that do not exist are null', () => {
    expect(rows(`${HEADER}\n${row({ 6: '2025-02-30 10:00:00', 7: 'ayer' })}`)).toMatchObject([{ fecha: null, certified_at: null }])
  })

  it('a bad row is told by its line and costs only itself', () => {
    const lines = [HEADER, row({ 2: 'A\nB' }), row({ 0: 'x' }), row({ 3: 'NO ES RFC' }), row({ 8: '1e9' }), row()]
    expect(rejected(lines.join('\r\n'))).toEqual([
      { line: 4, code: 'metadata.invalid_uuid' },
      { line: 5, code: 'metadata.invalid_rfc' },
      { line: 6, code: 'metadata.invalid_amount' },
    ])
    expect(rows(lines.join('\r\n'))).toHaveLength(2)
  })

  it.each([
    ['nothing', ''],
    ['only a header', HEADER],
    ['third parties', `Uuid~RfcACuentaTerceros~NombreACuentaTerceros\n${UUID}~AAA010101AAA~Otro`],
    ['something else', 'hola\nadiós'],
  ])('%s has no rows', (_, text) => {
    expect([...parseMetadata(text)]).toEqual([])
  })

  it('rows come one at a time', () => {
    const lines = parseMetadata(`${HEADER}\n${`${row()}\n`.repeat(100_000)}`)
    expect(lines.next().value).toEqual({ row: READ })
    let count = 1
    for (const _ of lines) count++
    expect(count).toBe(100_000)
  })
})
