import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** What turns a text of the API into a number, or adds numbers up. */
const ARITHMETIC = /\b(Number|BigInt|parseFloat|parseInt)\(|\.reduce\(|\.reduceRight\(|\btoFixed\(|Math\.(round|ceil|floor|sum|trunc)/

/** Where numbers are none of the figures that a page shows. */
const OTHERS: Record<string, string> = {
  'api/client.ts': 'how long to wait',
  'api/standings.ts': 'how often to ask',
  'format.ts': 'the unit of a size',
  'pages/account/days.ts': 'days and their zones',
  'pages/automation/extractor/calendar.tsx': 'the days of a month',
  'pages/automation/extractor/draft.ts': 'what a form sends',
  'pages/automation/webhook/fields.tsx': 'what a form sends',
  'pages/insight/figures/months.ts': 'the month after a month',
  'pages/work/connect/check-digit.ts': 'the check digit of an RFC',
  'pages/work/rfc/coverage.tsx': 'the last day of a month',
  'pages/work/rfc/mailbox.tsx': 'the seconds that an answer says to wait',
  'pages/work/suppliers/suppliers.tsx': 'what the address asks for',
  'parts/read-table.ts': 'the cells of a file',
  'parts/sheet.ts': 'the closing total of a file, exact, of what the page shows',
  'parts/order.ts': 'the order of rows',
}

const files = readdirSync('console', { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.startsWith('charts/') && !file.endsWith('.d.ts') && file !== 'vite.config.ts',
)

it('no page computes a figure: only charts and what is no figure use numbers', () => {
  expect(files.length).toBeGreaterThan(150)
  const found = files.filter((file) => ARITHMETIC.test(readFileSync(join('console', file), 'utf8')))
  expect(found.sort()).toEqual(Object.keys(OTHERS).sort())
})
