import { expect } from 'vitest'
import { monthsBefore } from '../oracle/analytics/financing.ts'
import { creditsOfUnpaid, qualityOf } from '../oracle/quality.ts'
import type { Direction } from '../oracle/shapes.ts'
import { addDays, addMonths, lastDayOf, monthOf, monthsOf, type Range, type World } from '../oracle/world.ts'
import { type Ask, expectEntries, figureOf } from './compare.ts'
import type { Asked } from './surfaces.ts'

/** What surfaces do not count, because no figure of theirs rests on it. */
const NO_PAYMENTS = { unreconciled_payments: null, other_parties: null }
const BLIND: Partial<Record<Asked['path'], object>> = {
  '/cfdi/concentration': NO_PAYMENTS,
  '/cfdi/risk': NO_PAYMENTS,
  '/analytics/concepts': NO_PAYMENTS,
  '/analytics/risk': NO_PAYMENTS,
}
const DIRECTIONS: Partial<Record<Asked['path'], Direction>> = {
  '/cfdi/deductions': 'received',
  '/analytics/concepts': 'received',
  '/analytics/efos-exposure': 'received',
}
/** The surfaces with figures on the REPSE registry. */
const OF_SUPPLIERS: Asked['path'][] = ['/cfdi/deductions', '/analytics/vat-position', '/cfdi/risk', '/analytics/risk']
const CREDITS_OF_UNPAID = 'credit_notes_of_unpaid'
const COUNTED = ['missing_rate', 'dof_rate', 'not_counted', 'unreconciled_payments', 'other_parties']

/** The days that a query means: those of its months, up to `as_of`. The default is the last twelve months. */
function rangeOf({ today }: World, { path, query: { period, from, to, as_of = '9999-12-31' } }: Asked): Range {
  if (path === '/analytics/financing') return { from: addDays(monthsBefore(as_of, 12), 1), to: as_of }
  const last = period ?? to ?? monthOf(today)
  const first = period ?? from ?? addMonths(monthOf(last), -11)
  const end = last.length === 7 ? lastDayOf(last) : last
  return { from: first.length === 7 ? `${first}-01` : first, to: as_of < end ? as_of : end }
}

type Visible = Record<'visible_from' | 'visible_to', string | null>
const windowOf = (answer: Record<string, unknown>, side: Direction): Visible =>
  (answer['windows'] as Record<string, Visible>)[`sat_cfdi_${side}`]!

const HOUR = 3_600_000

/** The months of a range of which the window shows some of the days and hides others: Mexico's days end from 5 to 8 hours after UTC's. */
function cutMonths({ from, to }: Range, { visible_from, visible_to }: Visible, now: number) {
  const end = visible_to === null ? now : Date.parse(visible_to)
  return monthsOf({ from, to }).flatMap((month) => {
    const first = from > `${month}-01` ? from : `${month}-01`
    const last = to < lastDayOf(month) ? to : lastDayOf(month)
    const shown = visible_from !== null && visible_from > first ? visible_from : first
    if (shown > last || Date.parse(first) + 5 * HOUR > end) return []
    const isOver = Date.parse(last) + 32 * HOUR - 1_000 <= end
    const through = [new Date(end - 6 * HOUR).toISOString().slice(0, 10), last].sort()[0]!
    return shown === first && isOver ? [] : [{ month, from: shown, to: through < first ? first : through }]
  })
}

interface Month {
  month: string
  direction: Direction
  data_status: string
}

/** Compares what an answer says that it leaves out, and the lists of it, with the oracle. */
export async function expectLeftOut(ask: Ask, world: World, asked: Asked, answer: Record<string, unknown>): Promise<void> {
  const { path, query } = asked
  const range = rangeOf(world, asked)
  const direction = (query['direction'] as Direction | undefined) ?? DIRECTIONS[path]
  const past = path === '/analytics/financing' && query['as_of'] !== undefined && query['as_of'] < world.today ? query['as_of'] : null
  const { counts, tally } = qualityOf(world, range, direction, past)
  const { months_missing, months_downloading, missing_months, cut_months, repse_unknown, drilldown, ...found } = answer[
    'data_quality'
  ] as Record<string, unknown>
  const what = `data_quality of ${path} ${JSON.stringify(query)}`
  const unpaid = path === '/analytics/vat-position' ? creditsOfUnpaid(world, range) : null
  const own = unpaid && { [CREDITS_OF_UNPAID]: unpaid.count(CREDITS_OF_UNPAID) }
  expect(found, what).toEqual({ ...counts, ...BLIND[path], ...own })
  expect(repse_unknown !== null, what).toBe(OF_SUPPLIERS.includes(path) && direction !== 'issued')
  for (const url of Object.values(drilldown as Record<string, string>)) {
    const { figure } = figureOf(url)
    if (figure === CREDITS_OF_UNPAID) await expectEntries(ask, url, unpaid!.entries(figure))
    if (COUNTED.includes(figure)) await expectEntries(ask, url, tally.entries(figure))
  }
  // A month without a row in the summary is outside the window.
  const rows = (await ask('/cfdi/summary/monthly', { ...range, ...(direction && { direction }) })).data as unknown as Month[]
  const begun = monthsOf(range).filter((month) => month <= monthOf(world.today))
  const statusOf = (month: string, side: Direction) =>
    rows.find((one) => one.month === month && one.direction === side)?.data_status ??
    (rows[0]?.data_status === 'imported' ? 'imported' : 'missing')
  const having = (status: string, side: Direction) =>
    direction === undefined || direction === side ? begun.filter((month) => statusOf(month, side) === status) : []
  const missing = { issued: having('missing', 'issued'), received: having('missing', 'received') }
  expect(missing_months, what).toEqual(missing)
  const cutIn = (side: Direction) =>
    (direction === undefined || direction === side) && !world.hidden?.includes(side)
      ? cutMonths(range, windowOf(answer, side), world.now)
      : []
  expect(cut_months, what).toEqual({ issued: cutIn('issued'), received: cutIn('received') })
  expect(months_missing, what).toBe(missing.issued.length + missing.received.length)
  expect(months_downloading, what).toBe(having('downloading', 'issued').length + having('downloading', 'received').length)
}
