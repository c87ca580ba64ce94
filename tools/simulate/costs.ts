import { KEPT_DAYS as CHANGED_DAYS, UNCHANGED_DAYS } from '../../src/delivery/deliveries/prune.ts'
import { ASSUMED } from './assumptions.ts'

/** Figures that `npm run bench` prints, under its names. When they change, they are replaced here, and everything else follows. */
export const FIGURES = {
  'cost.rows_written_per_cfdi': 5.58,
  'cost.bytes_per_cfdi': 1_435,
  'quiet_day.rows_written.day_1': 68,
  'quiet_day.rows_read.day_1': 1_567,
  'quiet_day.rows_forgotten': 33,
  'control.bytes_per_connection_100_days': 1_638,
  'events.bytes_per_connection_100_days': 183_501,
  'ledger.bytes_per_rfc_100_quiet_days': 93_389,
}

/** Days for which a job and its event are kept: those in which nothing changed, and the others. */
export const KEPT_DAYS = { unchanged: UNCHANGED_DAYS, changed: CHANGED_DAYS }
const QUIET_JOBS = 15

/** Documents that the RFC of the figure gets in its 100 days. */
const FEW_DOCUMENTS = 29

/** Bytes of a job and of its event. The figures are those of quiet days, of which so many are kept. */
export const JOB_BYTES =
  (FIGURES['ledger.bytes_per_rfc_100_quiet_days'] - FEW_DOCUMENTS * FIGURES['cost.bytes_per_cfdi']) / (KEPT_DAYS.unchanged * QUIET_JOBS)
export const EVENT_BYTES = FIGURES['events.bytes_per_connection_100_days'] / (KEPT_DAYS.unchanged * QUIET_JOBS)

/** What a piece of work asks of a database: calls that only read, calls that write, the statements of both, rows, and bytes that stay. */
export interface Work {
  reads: number
  writes: number
  statements: number
  rowsRead: number
  rowsWritten: number
  bytes: number
}

export const KINDS = ['control', 'ledger', 'events'] as const
export type Kind = (typeof KINDS)[number]

const work = (reads: number, writes: number, statements: number, rowsRead: number, rowsWritten: number, bytes = 0): Work => ({
  ...{ reads, writes, statements, rowsRead, rowsWritten, bytes },
})

/** A quiet day by database, as quiet-day.test.ts counts it: the run of an organization, and 15 jobs of an RFC in which nothing changed. */
export const QUIET_DAY = {
  /** In the control database, once for all RFCs of the organization. */
  run: work(3, 2, 7, 12, 4),
  /** Of each RFC: a login for all jobs, what is to be verified, and the recipients of its events. */
  control: work(4, 0, 4, 30, 0),
  ledger: work(47, 19, 126, 2_140, 36, JOB_BYTES * QUIET_JOBS),
  events: work(1, 2, 7, 120, 18, EVENT_BYTES * QUIET_JOBS),
  jobs: QUIET_JOBS,
}

/** A job in which something changed, beside the rows of its documents. */
export const CHANGED_JOB = work(1, 1, 12, 100, 2)

/** The rows of a new CFDI. */
export const DOCUMENT = {
  ledger: work(0, 0, 0, 8, FIGURES['cost.rows_written_per_cfdi'] - 0.1, FIGURES['cost.bytes_per_cfdi']),
  events: work(0, 0, 0, 0.1, 0.1),
}

/** A request of a customer: its credential, and a page of documents. */
export const REQUEST = { control: work(1, 0, 1, 3, 0), ledger: work(1, 0, 1, 29, 0) }

/** A delivery: its endpoint and its place, the claim, the record of the attempt. */
export const DELIVERY = work(2, 2, 6, 10, 5, ASSUMED.deliveryBytes.value)

/** What the sweep of every minute asks of a ledger, beside a row for each RFC whose jobs are not done. */
export const SWEEP = work(3, 0, 3, 3, 0)

export const READ_ROW = work(0, 0, 0, 1, 0)

/** To forget a job or an event. */
const forgotten = FIGURES['quiet_day.rows_forgotten'] / QUIET_JOBS / 2
export const FORGET = {
  job: work(0.01, 0.01, 0.02, 2 * forgotten, forgotten, -JOB_BYTES),
  event: work(0.01, 0.01, 0.02, 2 * forgotten, forgotten, -EVENT_BYTES),
  delivery: work(0, 0, 0, 1, 1, -ASSUMED.deliveryBytes.value),
}
