import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unzip } from '../authority/support/unzip.ts'

/** It knows tables of the browser, whose types the program of the tests does not have. */
const FILE = '../../console/parts/sheet.ts'
interface Cell {
  text: string
  figure: { digits: string; unit: string } | null
}
interface Table {
  headings: string[]
  rows: Cell[][]
}
const { cellOf, totalOf, workbookOf, csvOf } = (await import(FILE)) as {
  cellOf: (text: string, isFigure: boolean) => Cell
  totalOf: (cells: readonly Cell[]) => Cell['figure']
  workbookOf: (total: string, sheets: readonly { name: string; table: Table; isSummed: boolean }[]) => Promise<Blob>
  csvOf: (table: Table) => Blob
}

describe('a cell of a table', () => {
  it.each([
    ['$1,234.56', '1234.56', 'MXN'],
    ['−$0.01', '-0.01', 'MXN'],
    ['$1,234.567891', '1234.567891', 'MXN'],
    ['$12.30 USD', '12.30', 'USD'],
    ['12.5 %', '12.5', '%'],
    ['1,200', '1200', ''],
  ])('%s is the figure %s %s', (text, digits, unit) => {
    expect(cellOf(text, true)).toEqual({ text, figure: { digits, unit } })
  })
  it.each(['—', 'F-26101885', '2026-10-01', 'XAXX010101000', '', '3 de 4'])('%s is text', (text) => {
    expect(cellOf(text, true).figure).toBeNull()
  })
  it('keeps digits that are no figure as text', () => expect(cellOf('00123', false).figure).toBeNull())
})

const amount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
const shown = (cents: bigint): string => {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0')
  return `${cents < 0n ? '−' : ''}$${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-2)}`
}

describe('a closing total', () => {
  it('is the exact sum of amounts', () => {
    fc.assert(
      fc.property(fc.array(amount, { minLength: 1, maxLength: 40 }), (cents) => {
        const sum = cents.reduce((all, one) => all + one, 0n)
        expect(totalOf(cents.map((one) => cellOf(shown(one), true)))).toEqual(cellOf(shown(sum), true).figure)
      }),
    )
  })
  it('is not made of two currencies, of percentages or of counts', () => {
    expect(totalOf([cellOf('$1.00', true), cellOf('$1.00 USD', true)])).toBeNull()
    expect(totalOf([cellOf('1 %', true)])).toBeNull()
    expect(totalOf([cellOf('7', true)])).toBeNull()
  })
})

const table: Table = {
  headings: ['RFC', 'Importe'],
  rows: [
    [cellOf('AAA010101AAA', false), cellOf('$0.10', true)],
    [cellOf('=1+1', false), cellOf('$0.20', true)],
  ],
}

describe('a file of a table', () => {
  it('is a workbook with numbers and a total', async () => {
    const files = unzip(new Uint8Array(await (await workbookOf('Total', [{ name: 'IVA: [2026]', table, isSummed: true }])).arrayBuffer()))
    const text = (name: string) => files.get(name) ?? ''
    expect(text('xl/workbook.xml')).toContain('name="IVA   2026 "')
    const sheet = text('xl/worksheets/sheet1.xml')
    expect([...sheet.matchAll(/<v>(0\.\d+)<\/v>/g)].map(([, value]) => value)).toEqual(['0.1', '0.2', '0.3'])
    expect(sheet).not.toContain('<f>')
  })
  it('is one workbook of several tables, whose sheets have names of their own, and totals where they mean something', async () => {
    const name = 'Documentos de ingresos que se cobraron'
    const sheets = [false, true].map((isSummed) => ({ name, table, isSummed }))
    const files = unzip(new Uint8Array(await (await workbookOf('Total', sheets)).arrayBuffer()))
    const names = [...files.get('xl/workbook.xml')!.matchAll(/ name="(\d [^"]+)"/g)].map(([, one]) => one!)
    expect(names).toEqual(['1 Documentos de ingresos que se', '2 Documentos de ingresos que se'])
    expect([1, 2].map((n) => files.get(`xl/worksheets/sheet${n}.xml`)!.includes('<v>0.3</v>'))).toEqual([false, true])
  })
  it('is CSV with plain digits, in which nothing is a formula', async () => {
    const bytes = new Uint8Array(await csvOf(table).arrayBuffer())
    expect(new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes)).toBe(
      "\uFEFFRFC,Importe\r\nAAA010101AAA,0.10\r\n'=1+1,0.20\r\n",
    )
  })
})
