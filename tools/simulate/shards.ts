import { dayOfEpoch, epochDayOf } from '../../src/platform/time/calendar.ts'
import { ASSUMED, FIRST_DAY, PLATFORM } from './assumptions.ts'
import { EVENT_BYTES, FIGURES, JOB_BYTES, KEPT_DAYS, QUIET_DAY } from './costs.ts'
import { DAYS_A_MONTH, type Population } from './population.ts'

/** What lies in each database of a kind, and what it gets a day. */
export interface Shards {
  count: number
  rfcs: Float64Array
  documents: Float64Array
  runs: Float64Array
  /** Jobs in which something changed. */
  changed: Float64Array
}

/** Divides the RFCs over databases. */
export function shardsOf({ rfcs, documents, days }: Population, count: number, shardOfRfc: (rfc: number) => number): Shards {
  const made = (): Float64Array => new Float64Array(count)
  const shards: Shards = { count, rfcs: made(), documents: made(), runs: made(), changed: made() }
  for (let rfc = 0; rfc < rfcs.length; rfc++) {
    const shard = shardOfRfc(rfc)
    shards.rfcs[shard]! += 1
    shards.documents[shard]! += documents[rfc]!
    shards.runs[shard]! += 1 / days[rfc]!
    // One job for the issued documents and one for the received ones, with as many of each.
    shards.changed[shard]! += (2 * (1 - Math.exp((-documents[rfc]! * days[rfc]!) / 2))) / days[rfc]!
  }
  return shards
}

/** Documents of the day against an average day of its month. */
export function documentsOn(day: number): number {
  const date = new Date(`${dayOfEpoch(epochDayOf(FIRST_DAY) + day)}T00:00:00Z`)
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  const isPeak = date.getUTCDate() === 15 || date.getUTCDate() > length - 3
  return ((isPeak ? ASSUMED.monthEnd.value : 1) * length) / (length + 4 * (ASSUMED.monthEnd.value - 1))
}

/** The documents of so many days, in days of an average one. */
export const documentsUntil = (day: number): number => Array.from({ length: day }, (_, n) => documentsOn(n)).reduce((a, b) => a + b, 0)

/** Finished jobs that are kept after so many days. */
function keptJobs({ runs, changed }: Shards, shard: number, day: number): number {
  const [unchanged, all] = [Math.min(day, KEPT_DAYS.unchanged), runs[shard]! * QUIET_DAY.jobs]
  return all * unchanged + changed[shard]! * (Math.min(day, KEPT_DAYS.changed) - unchanged)
}

/** Bytes of a ledger after so many days. */
export const ledgerBytes = (shards: Shards, shard: number, day: number): number =>
  FIGURES['cost.bytes_per_cfdi'] * shards.documents[shard]! * (ASSUMED.historyMonths.value * DAYS_A_MONTH + documentsUntil(day)) +
  JOB_BYTES * keptJobs(shards, shard, day)

/** Bytes of a database of events after so many days. */
export const eventsBytes = (shards: Shards, shard: number, day: number): number =>
  (EVENT_BYTES + ASSUMED.listeners.value * ASSUMED.deliveryBytes.value) * keptJobs(shards, shard, day)

/** Bytes of the control plane, from the first day on as many as after 100 days. */
export const controlBytes = (connections: number): number => FIGURES['control.bytes_per_connection_100_days'] * connections

/** A database is full enough at this share of what it may hold: the others get the new RFCs then. */
export const FULL = 0.8

/** The fewest databases of which none is fuller than that at the end. */
export function fewest(shardsWith: (count: number) => Shards, bytes: (shards: Shards, shard: number) => number): Shards {
  const room = FULL * PLATFORM.databaseBytes.value
  const fullest = (shards: Shards): number => shards.rfcs.reduce((most, _, shard) => Math.max(most, bytes(shards, shard)), 0)
  const whole = shardsWith(1)
  let count = Math.max(1, Math.ceil(bytes(whole, 0) / room))
  for (;;) {
    const shards = shardsWith(count)
    const most = fullest(shards)
    if (most <= room) return shards
    count = Math.max(count + 1, Math.floor(count * (1 + (most / room - 1) / 4)))
  }
}
