import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import type { DataStatus } from '../../taxpayers/visibility/coverage.ts'
import type { DirectionNumber, ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { EARLIEST_DAY, earliestOf } from '../../taxpayers/visibility/window.ts'
import { isDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatuses } from '../quality/data-status.ts'
import type { Filters } from './contract.ts'

const dayOf = (bound: string): string => (isDay(bound) ? bound : centralDayOf(Date.parse(bound)))
const earlier = (one: string, other: string | undefined): string => (other !== undefined && other < one ? other : one)

/**
 * The severest data status of the months that a search asks for. Without a bound of its own it asks for what the window shows. Of a month
 * whose days the window does not show nothing is known, as in the summary.
 */
export function dataStatusOf(ledger: ScopedLedger, filters: Filters, rows: readonly DataStatusRow[], now: number): DataStatus {
  const statusOf = dataStatuses(ledger, rows, now)
  const { direction, issued_from, issued_to, last_day } = filters
  const directions: DirectionNumber[] = direction === undefined ? [0, 1] : [direction === 'issued' ? 0 : 1]
  let severest: DataStatus = 'complete'
  for (const one of directions) {
    const { isEmpty, floor, ceiling } = one === 0 ? ledger.windows.issued : ledger.windows.received
    const source = one === 0 ? 'sat_cfdi_issued' : 'sat_cfdi_received'
    if (isEmpty) {
      if (!rows.some((row) => row.source === source && row.month !== null)) return 'missing'
      severest = 'downloading'
      continue
    }
    const end = ceiling ?? now
    const given = issued_from === undefined ? (floor ?? EARLIEST_DAY) : dayOf(issued_from)
    const from = given < EARLIEST_DAY ? EARLIEST_DAY : given
    const to = earlier(issued_to === undefined ? centralDayOf(end) : earlier(centralDayOf(now), dayOf(issued_to)), last_day)
    if (from > to) return 'missing'
    for (let first = from; first <= to; first = `${addMonths(first.slice(0, 7), 1)}-01`) {
      const month = first.slice(0, 7)
      const isShown = (floor === null || earlier(lastDayOf(month), to) >= floor) && earliestOf(first) * 1_000 <= end
      const status = isShown ? statusOf(month, one) : 'missing'
      if (status === 'missing') return status
      if (status === 'downloading') severest = status
    }
  }
  return severest
}
