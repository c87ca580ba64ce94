import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvLine } from '../../src/platform/csv.ts'
import { cellXml, letterOf } from '../../src/platform/workbook.ts'
import { csvRows } from '../copies/exports/support/readers.ts'

const numberOf = (xml: string) => /<v>(.*)<\/v>/.exec(xml)?.[1]

describe('a cell of a sheet', () => {
  it('is a number only when a spreadsheet shows all of its digits', () => {
    const cases: [string, boolean][] = [
      ['0', true],
      ['-12.50', true],
      ['123456789012345', true],
      ['1234567890123456', false],
      ['1234567890.123456', false],
      ['123456789.123456', true],
      ['1000000000.000000', true],
      ['0.000001', true],
      ['1e5', false],
      ['', false],
    ]
    for (const [text, isNumber] of cases) expect([text, numberOf(cellXml('A1', 'number', text)) === text]).toEqual([text, isNumber])
    expect(cellXml('A1', 'number', '1234.50')).toBe('<c r="A1" s="4"><v>1234.50</v></c>')
    expect(cellXml('A1', 'number', '12')).toBe('<c r="A1"><v>12</v></c>')
    expect(cellXml('A1', 'text', '00123')).toContain('>00123<')
  })

  it('is the time that a document says, whatever its offset', () => {
    expect(numberOf(cellXml('A1', 'time', '2026-05-20T12:00:00'))).toBe('46162.5')
    expect(numberOf(cellXml('A1', 'time', '2026-05-20T12:00:00-06:00'))).toBe('46162.5')
    expect(cellXml('A1', 'time', '2026-05-20')).toBe('<c r="A1" s="3"><v>46162</v></c>')
    for (const text of ['1900-02-28', '2026-13-01', 'pronto', '2026-05-20 12:00'])
      expect(cellXml('A1', 'time', text)).toContain(`>${text}<`)
  })

  it('holds no character that XML forbids, and no more than fits', () => {
    expect(cellXml('A1', 'text', 'a\u0001<b>&_x0041_\ud800')).toContain('>a_x0001_&lt;b&gt;&amp;_x005F_x0041_\ufffd<')
    expect(cellXml('A1', 'text', 'x'.repeat(40_000)).length).toBeLessThan(32_900)
  })

  it('has a column for each number', () => {
    expect([0, 25, 26, 51, 52, 701, 702].map(letterOf)).toEqual(['A', 'Z', 'AA', 'AZ', 'BA', 'ZZ', 'AAA'])
  })
})

/** What breaks without it: a supplier who writes a formula into a description has it run where an accountant opens the file. */
describe('a line of CSV', () => {
  it('has no cell that a spreadsheet takes for a formula, and says everything', () => {
    const beginnings = fc.constantFrom('', '=', '+', '-', '@', '\t', '\r', '"', ',', '\n', ' =', '-1', '1')
    fc.assert(
      fc.property(fc.array(fc.tuple(beginnings, fc.string()), { minLength: 1 }), (parts) => {
        const cells = parts.map(([first, rest]) => first + rest)
        const [read] = csvRows(csvLine(cells))
        for (const [n, cell] of read!.entries()) {
          expect(/^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell)).toBe(false)
          expect([cells[n], `'${cells[n]}`]).toContain(cell)
        }
      }),
    )
  })
})
