import { addMonths, centralDayOf } from '../../platform/time/months.ts'
import type { DataStatus } from '../../visibility/coverage.ts'
import type { DirectionNumber, ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { EARLIEST_DAY } from '../../visibility/window.ts'
import { isDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatuses } from '../quality/data-status.ts'
import type { Filters } from './contract.ts'

const dayOf = (bound: string): string => (isDay(bound) ? bound : centralDayOf(Date.parse(bound)))

/** The severest data status of the months that a search asks for and that the windows show. */
export function dataStatusOf(ledger: ScopedLedger, filters: Filters, rows: readonly DataStatusRow[], now: number): DataStatus {
  const statusOf = dataStatuses(ledger, rows, now)
  const { direction, issued_from, issued_to, last_day } = filters
  const directions: DirectionNumber[] = direction === undefined ? [0, 1] : [direction === 'issued' ? 0 : 1]
  const statuses = directions.flatMap((one): DataStatus[] => {
    const { isEmpty, floor, ceiling } = one === 0 ? ledger.windows.issued : ledger.windows.received
    const source = one === 0 ? 'sat_cfdi_issued' : 'sat_cfdi_received'
    if (isEmpty) return [rows.some((row) => row.source === source && row.month !== null) ? 'downloading' : 'missing']
    const from = [floor ?? EARLIEST_DAY, ...(issued_from ? [dayOf(issued_from)] : [])].sort().at(-1)!
    const to = [centralDayOf(ceiling ?? now), ...(issued_to ? [dayOf(issued_to)] : []), ...(last_day ? [last_day] : [])].sort()[0]!
    const found: DataStatus[] = []
    for (let month = from.slice(0, 7); month <= to.slice(0, 7); month = addMonths(month, 1)) found.push(statusOf(month, one))
    return found
  })
  return statuses.includes('missing') ? 'missing' : statuses.includes('downloading') ? 'downloading' : 'complete'
}
