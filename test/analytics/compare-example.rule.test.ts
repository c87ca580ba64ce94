import { describe, expect, it } from 'vitest'
import type { Range, World } from './oracle/world.ts'
import { type Ask, expectSurface, expectSurfaces, figureOf } from './support/compare.ts'
import { type Asked, surfacesOf } from './support/surfaces.ts'
import { worldOfYear } from './years/readable.ts'
import { rangesOf } from './years/sights.ts'
import { yearOf } from './years/year.ts'

const answers = new Map<string, Asked[]>()
const known = (world: World, range: Range): Asked[] => {
  const key = JSON.stringify(range)
  const all = answers.get(key) ?? surfacesOf(world, range)
  answers.set(key, all)
  return all
}

/** A service that answers what the oracle says, two rows a page, with drilldowns of months, or what it is told to change. */
function serviceOf(world: World, range: Range, change: (text: string) => string = (text) => text): Ask {
  const all = known(world, range)
  const surfaces = new Map<string, Asked>(all.map((one) => [one.path + JSON.stringify(one.query), one]))
  const vat = all.find(({ path }) => path === '/analytics/vat-position')!
  const rowsOf = (path: string, query: Record<string, string>): { head: object; rows: readonly object[] } => {
    if (path.endsWith('/entries')) return { head: {}, rows: vat.tally.entries(`${query['figure']}|${query['period']}`) }
    const { head, rows } = surfaces.get(path + JSON.stringify(query))!
    const of = (row: object) => `/v1${path}/entries?figure=cobrado.iva_16&period=${(row as { period: string }).period}`
    return { head, rows: path === vat.path ? rows.map((row) => ({ ...row, drilldown: { 'cobrado.iva_16': of(row) } })) : rows }
  }
  return async (path, { cursor, ...query }) => {
    const { head, rows } = rowsOf(path, query)
    const at = Number(cursor ?? 0)
    const has_more = at + 2 < rows.length
    const page = { ...head, data: rows.slice(at, at + 2), has_more, next_cursor: has_more ? String(at + 2) : null }
    return JSON.parse(change(JSON.stringify(page)))
  }
}

describe('the comparison of a service with the oracle', () => {
  const year = yearOf(2)
  const world = worldOfYear(year)
  const [whole] = rangesOf(year) as [Range]

  it('accepts what the oracle says, of each range', async () => {
    for (const range of rangesOf(year)) await expectSurfaces(serviceOf(world, range), world, range)
  })

  it.each(known(world, whole).map((asked) => [`${asked.path} ${JSON.stringify(asked.query)}`, asked] as const))(
    'refuses another figure in %s',
    async (_, asked) => {
      // The last digit of the first amount, percentage or score that there is.
      const change = (text: string) => text.replace(/(\d)(",?|,"level)/, (_all, digit, rest) => `${(Number(digit) + 1) % 10}${rest}`)
      await expect(expectSurface(serviceOf(world, whole, change), asked)).rejects.toThrow()
    },
  )

  it('refuses entries of which one is missing', async () => {
    const vat = known(world, whole).find(({ path }) => path === '/analytics/vat-position')!
    const honest = serviceOf(world, whole)
    const ask: Ask = async (path, query) => {
      const answer = await honest(path, query)
      return path.endsWith('/entries') ? { ...answer, data: answer.data.slice(1) } : answer
    }
    await expect(expectSurface(ask, vat)).rejects.toThrow()
  })

  it('knows a figure by the path of its entries', () => {
    const url = '/v1/cfdi/deductions/entries?fiscal_entity_id=fe_1&from=2026-01&figure=gross_amount&category=health&year=2026'
    expect(figureOf(url)).toEqual({
      ...{ path: '/cfdi/deductions/entries', figure: 'gross_amount|2026|health' },
      query: { from: '2026-01', figure: 'gross_amount', category: 'health', year: '2026' },
    })
  })
})
