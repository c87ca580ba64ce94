import { expect } from 'vitest'
import { qualityOf } from '../oracle/quality.ts'
import type { Direction } from '../oracle/shapes.ts'
import { addMonths, lastDayOf, monthOf, type Range, type World } from '../oracle/world.ts'
import { type Ask, expectEntries, figureOf } from './compare.ts'
import type { Asked } from './surfaces.ts'

/** Surfaces of which no figure rests on payments. */
const WITHOUT_PAYMENTS = ['/cfdi/concentration', '/analytics/concepts']
const DIRECTIONS: Partial<Record<Asked['path'], Direction>> = {
  '/cfdi/deductions': 'received',
  '/analytics/concepts': 'received',
  '/analytics/efos-exposure': 'received',
}
const COUNTED = ['missing_rate', 'dof_rate', 'not_counted', 'unreconciled_payments', 'other_parties']

/** The days that a query with months or days means. The default is the last twelve months. */
function rangeOf({ today }: World, { period, from, to }: Record<string, string>): Range {
  const last = period ?? to ?? monthOf(today)
  const first = period ?? from ?? addMonths(monthOf(last), -11)
  return { from: first.length === 7 ? `${first}-01` : first, to: last.length === 7 ? lastDayOf(last) : last }
}

interface Month {
  direction: Direction
  data_status: string
}

/** Compares what an answer says that it leaves out, and the lists of it, with the oracle. */
export async function expectLeftOut(ask: Ask, world: World, { path, query }: Asked, answer: Record<string, unknown>): Promise<void> {
  const range = rangeOf(world, query)
  const direction = (query['direction'] as Direction | undefined) ?? DIRECTIONS[path]
  const { counts, tally } = qualityOf(world, range, direction)
  const none = WITHOUT_PAYMENTS.includes(path) ? { unreconciled_payments: null, other_parties: null } : {}
  const { months_missing, months_downloading, drilldown, ...found } = answer['data_quality'] as Record<string, unknown>
  const what = `data_quality of ${path} ${JSON.stringify(query)}`
  expect(found, what).toEqual({ ...counts, ...none })
  for (const url of Object.values(drilldown as Record<string, string>)) {
    const { figure } = figureOf(url)
    if (COUNTED.includes(figure)) await expectEntries(ask, url, tally.entries(figure))
  }
  const months = (await ask('/cfdi/summary/monthly', { ...range, ...(direction && { direction }) })).data as unknown as Month[]
  const having = (status: string) => months.filter(({ data_status }) => data_status === status).length
  expect([months_missing, months_downloading], what).toEqual([having('missing'), having('downloading')])
}
