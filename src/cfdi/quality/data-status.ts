import { type SQL, sql } from 'drizzle-orm'
import { type Coverage, type DataStatus, dataStatusFor, type MonthState, monthStateOf } from '../../taxpayers/visibility/coverage.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
import type { DirectionNumber, ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTION_NAMES, DIRECTIONS } from '../../taxpayers/visibility/window.ts'

/** A row of the statement: the months of a source, or an open job. */
export type DataStatusRow =
  | { source: string; months: string; month: null; as_of: null }
  | { source: string; months: null; month: string; as_of: number }

/** Selects which months were downloaded completely, and the queued and running jobs of the organization's own runs. */
export const dataStatusRows = ({ entity, organization_id }: ScopedLedger): SQL =>
  sql`select source, months, null as month, null as as_of from coverage where entity = ${entity}
    union all
    select s.source, null, s.month, as_of
    from sync_work w cross join json_each(w.jobs) j
    cross join sync_jobs s on s.entity = w.entity and s.source = j.value->>0 and s.month = j.value->>1 and s.job_id = j.value->>2
    where w.entity = ${entity} and open = 1 and s.month <> ''
      and (deferred ->> ${organization_id} is not null or exists (select 1 from json_each(${requestersOf({ organizations: sql`s.organizations`, entity: sql`s.entity` })}) where value = ${organization_id}))`

/** Tells the state of any month of a direction from these rows. `now` in milliseconds; `missingXml` as in `monthStateOf`. */
export function monthStates(
  { windows, grantedRangesOf, oldestAt }: ScopedLedger,
  rows: readonly DataStatusRow[],
  now: number,
): (month: string, direction: DirectionNumber, missingXml?: number) => MonthState {
  const sources = DIRECTION_NAMES.map((name, n) => {
    const own = rows.filter(({ source }) => source === `sat_cfdi_${name}`)
    const coverage = JSON.parse(own.find(({ months }) => months !== null)?.months ?? '{}') as Coverage
    const open = Object.fromEntries(own.flatMap(({ month, as_of }) => (month === null ? [] : [[month, as_of]])))
    return { coverage, open, window: windows[name], grantedRanges: grantedRangesOf(n as DirectionNumber), oldest: oldestAt(now) }
  })
  return (month, direction, missingXml) => monthStateOf(month, sources[direction]!, now, missingXml)
}

/**
 * The status of a month that no run of the organization asked for: all that it has of the RFC can be its imports, of which it alone knows
 * whether they are complete.
 */
export const statusWithoutRuns = (ledger: ScopedLedger, rows: readonly DataStatusRow[]): 'missing' | 'imported' =>
  ledger.importPartition !== null &&
  DIRECTIONS.every((direction) => ledger.grantedRangesOf(direction).length === 0) &&
  (ledger.window.isEmpty ? rows.every(({ month }) => month === null) : ledger.window.ceiling === null && rows.length === 0)
    ? 'imported'
    : 'missing'

/** Tells the data status of any month of a direction from these rows. */
export function dataStatuses(
  ...asked: Parameters<typeof monthStates>
): (month: string, direction: DirectionNumber, missingXml?: number) => DataStatus {
  const [stateOf, [ledger, rows]] = [monthStates(...asked), asked]
  return (month, direction, missingXml) => {
    const status = dataStatusFor(stateOf(month, direction, missingXml).status)
    return status === 'missing' ? statusWithoutRuns(ledger, rows) : status
  }
}
