import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import rules from '../../assets/rules.json' with { type: 'json' }
import { CAP_REASONS } from '../../src/analytics/deductions/contract.ts'
import { NOT_DEDUCTIBLE, REVIEW } from '../../src/analytics/deductions/uses.ts'
import { FILE_FINDINGS } from '../../src/analytics/diot/contract.ts'
import { LINE_FINDINGS } from '../../src/analytics/diot/lines.ts'
import { INELIGIBLE } from '../../src/analytics/financing/contract.ts'
import { FLAG_CODES } from '../../src/analytics/risk/flags.ts'

/** The rows of tables of docs/codes.md: the codes of the first cell, and the other cells. */
const rowsIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '))
    .map(([codes = '', ...cells]) => ({ codes: codes.split(', ').map((code) => code.slice(1, -1)), cells }))
const [BEFORE = '', FINDINGS = ''] = readFileSync('docs/codes.md', 'utf8').split('## Findings of the DIOT\n')
const ROWS = rowsIn(BEFORE)
const rowsOf = (columns: number) => ROWS.filter(({ cells }) => cells.length === columns)

it('each flag is explained with its weight, criterion, evidence and rule', () => {
  const weights = rules.find(({ key }) => key === 'risk.weights')!.value as unknown as Record<string, number>
  const explained = rowsOf(4)
  expect(explained.flatMap(({ codes }) => codes)).toEqual(FLAG_CODES)
  for (const { codes, cells } of explained) expect([codes, cells[0]]).toEqual([codes, String(weights[codes[0]!])])
})

it('each reason of a deduction is explained with the status that it leads to', () => {
  const statusOf = new Map(rowsOf(2).flatMap(({ codes, cells }) => codes.map((code) => [code, cells[0]!.split(' ')[0]])))
  const wanted = [
    ...NOT_DEDUCTIBLE.map((code) => [code, 'not_deductible']),
    ...REVIEW.map((code) => [code, 'review']),
    ...CAP_REASONS.map((code) => [code, 'capped']),
  ]
  expect([...statusOf].sort()).toEqual(wanted.sort())
})

it('each reason that keeps an invoice out of the pool is explained, in their order', () => {
  expect(rowsOf(1).flatMap(({ codes }) => codes)).toEqual([...INELIGIBLE])
})

it('each finding of the DIOT is explained, with what it is of', () => {
  const wanted = [...LINE_FINDINGS.map((code) => [code, 'a line']), ...FILE_FINDINGS.map((code) => [code, 'the file'])]
  expect(rowsIn(FINDINGS).map(({ codes, cells }) => [codes[0], cells[0]])).toEqual(wanted)
})
