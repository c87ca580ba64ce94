import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { draftsOf } from '../../console/pages/work/connect-table/drafts.ts'
import { csvLine } from '../../src/platform/csv.ts'

/** They know files of the browser, whose types the program of the tests does not have. */
const [READ, WRITE] = ['../../console/parts/read-table.ts', '../../console/parts/sheet.ts']
type Rows = string[][]
const { readTable, rowsOfText } = (await import(READ!)) as {
  readTable: (file: Blob) => Promise<Rows | null>
  rowsOfText: (text: string) => Rows
}
const { workbookOf } = (await import(WRITE!)) as { workbookOf: (total: string, sheets: readonly object[]) => Promise<Blob> }

describe('the rows of a file', () => {
  it('of a workbook are the texts of its first sheet, with empty cells, numbers and marks of XML', async () => {
    const text = (one: string) => ({ text: one, figure: null })
    const rows = [
      [text('EKU9003173C9'), text('a & b <c> "d"')],
      [text('DEM050101AB9'), { text: '12345678', figure: { digits: '12345678', unit: '' } }],
      [text('ÑAN080101AB1'), text('ñandú')],
    ]
    const file = await workbookOf('Total', [{ name: 'RFC', isSummed: false, table: { headings: ['RFC', 'CIEC'], rows } }])
    expect(await readTable(file)).toEqual([
      ['RFC', 'CIEC'],
      ['EKU9003173C9', 'a & b <c> "d"'],
      ['DEM050101AB9', '12345678'],
      ['ÑAN080101AB1', 'ñandú'],
    ])
  })

  it('of a CSV are its cells, whatever stands between them', () => {
    const cell = fc
      .string({ minLength: 1, maxLength: 6 })
      .filter((one) => !/^[\s\p{Cf}]*[=+\-@|＝＋－＠｜]|^[\t\r]|[;\t\r]/u.test(one) && one !== '\n')
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }), (rows) => {
        expect(rowsOfText(['a,b,c\r\n', ...rows.map(csvLine)].join('')).slice(1)).toEqual(rows)
      }),
    )
    for (const separator of [',', ';', '\t'])
      expect(rowsOfText(`RFC${separator}CIEC\r\nEKU9003173C9${separator}"a""b"\n\nx${separator}`)).toEqual([
        ['RFC', 'CIEC'],
        ['EKU9003173C9', 'a"b'],
        ['x', ''],
      ])
  })

  it('of an old spreadsheet are in Windows-1252, and a picture has none', async () => {
    expect(await readTable(new Blob([new Uint8Array([...'RFC,CIEC\nA'].map((one) => one.charCodeAt(0)).concat(0xd1))]))).toEqual([
      ['RFC', 'CIEC'],
      ['AÑ'],
    ])
    expect(await readTable(new Blob([new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0])]))).toBeNull()
    expect(await readTable(new Blob(['PK\u0003\u0004 broken']))).toBeNull()
  })
})

describe('what a table connects', () => {
  const faultsOf = (rows: Rows, known: string[] = []) => draftsOf(rows, new Set(known))?.map(({ row, rfc, fault }) => [row, rfc, fault])

  it('is checked row by row before anything is sent', () => {
    const rows = [
      ['Nombre', 'rfc ', 'Contraseña'],
      ['Escuela', 'eku-900317 3c9', 'secreta1'],
      ['', 'EKU9003173C9', 'secreta1'],
      ['', 'DEM050101AB9', ''],
      ['', 'NADA', 'x'],
      ['', 'URE180429TM6', 'x'],
    ]
    expect(faultsOf(rows, ['URE180429TM6'])).toEqual([
      [2, 'EKU9003173C9', null],
      [3, 'EKU9003173C9', 'twice'],
      [4, 'DEM050101AB9', 'empty'],
      [5, 'NADA', 'shape'],
      [6, 'URE180429TM6', 'known'],
    ])
    expect(draftsOf(rows, new Set())![0]).toMatchObject({ ciec: 'secreta1', name: 'Escuela', isOdd: false })
  })

  it('needs no heading, and is nothing without a column of RFCs', () => {
    expect(faultsOf([['EKU9003173C9', 'secreta1']])).toEqual([[1, 'EKU9003173C9', null]])
    expect(faultsOf([['hola', 'mundo']])).toBeUndefined()
  })
})
