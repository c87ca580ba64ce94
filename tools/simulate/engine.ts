import { RUNS_A_MESSAGE } from '../../src/connections/extractors/runs/dispatch.ts'
import { PAGE } from '../../src/connections/extractors/ticks/ticks.ts'
import { slotOf } from '../../src/platform/hash.ts'
import { ASSUMED, OFFICE } from './assumptions.ts'
import { CHANGED_JOB, DELIVERY, DOCUMENT, FORGET, KEPT_DAYS, QUIET_DAY, READ_ROW, REQUEST, SWEEP, type Work } from './costs.ts'
import { Meter, msOf } from './meter.ts'
import type { Population } from './population.ts'
import { documentsOn, type Shards } from './shards.ts'
import { SpreadQueue } from './spread-queue.ts'
import { type Tick, ticksOf } from './ticks.ts'

/** What an environment of wrangler.toml decides. */
export interface Environment {
  spreadSeconds: number
  /** Consumers at once of the queues dispatch and downloads-spread. */
  dispatchers: number
  downloaders: number
}

export interface Load {
  population: Population
  ledgers: Shards
  events: Shards
  /** The ledger of each RFC. */
  ledgerOf: Int32Array
  days: number
}

export const QUEUES = ['dispatch', 'downloads-spread', 'downloads', 'webhooks'] as const
export type QueueName = (typeof QUEUES)[number]

const MINUTE_MS = 60_000
/** The hour, in UTC, of the daily work. */
const DAILY_HOUR = 10
/** RFCs of a ledger that one sweep announces. */
const SWEEP_LIMIT = 1_000

const callsOf = ({ reads, writes }: Work): number => reads + writes
/** Seconds of a consumer for the downloads of an RFC. */
export const DOWNLOAD_SECONDS =
  ASSUMED.authoritySeconds.value +
  ((callsOf(QUIET_DAY.control) + callsOf(QUIET_DAY.ledger) + callsOf(QUIET_DAY.events)) * ASSUMED.callMs.value) / 1_000

/** The share of a day's requests that comes in each minute of an hour. */
function requestsIn(hour: number): number {
  const isOffice = ((hour % 24) - OFFICE.from + 24) % 24 < OFFICE.hours
  const share = isOffice ? ASSUMED.officeShare.value : 1 - ASSUMED.officeShare.value
  return share / (60 * (isOffice ? OFFICE.hours : 24 - OFFICE.hours))
}

/** Jobs of a day of which nothing is kept any more. */
const forgottenOf = ({ runs, changed }: Shards, shard: number): number => runs[shard]! * QUIET_DAY.jobs - changed[shard]!

/** The service with its queues and databases. Only documents come in fractions; RFCs, organizations and messages are whole. */
export class Service {
  readonly #load: Load
  readonly #environment: Environment
  readonly #rfcs: number
  readonly control: Meter
  readonly ledger: Meter
  readonly events: Meter
  /** Messages by queue and hour. */
  readonly sent: Record<QueueName, Float64Array>
  readonly handled: Record<QueueName, number> = { dispatch: 0, 'downloads-spread': 0, downloads: 0, webhooks: 0 }
  readonly spread: SpreadQueue
  /** The minutes after which each RFC's jobs may begin. */
  readonly #cursor: Int32Array
  readonly #ticks: Tick[]
  #nextTick = 0
  /** Ticks whose runs are being dispatched, and how many are. */
  readonly #planned: { tick: Tick; runs: number }[] = []
  /** Seconds of consumers that are left for dispatching and for downloading. */
  #dispatchSeconds = 0
  #downloadSeconds = 0
  /** RFCs of each ledger whose jobs are not done, and those whose jobs have been done in this hour. */
  readonly #open: Float64Array
  readonly #done: Int32Array
  /** RFCs that the sweeps of this hour have read. */
  readonly #swept: Float64Array
  #jobs = QUIET_DAY.jobs
  documents = 0
  /** The most messages of a queue, and the most RFCs that were downloaded, in a minute. */
  mostMessages = 0
  mostDownloads = 0
  /** The latest minute of a day, in UTC, at which nothing was left to download; null when something is left at the end. */
  doneBy: number | null = 0
  #wasBusy = false

  constructor(load: Load, environment: Environment) {
    this.#load = load
    this.#environment = environment
    this.#rfcs = load.population.rfcs.length
    const hours = 24 * load.days
    this.control = new Meter(1, hours)
    this.ledger = new Meter(load.ledgers.count, hours)
    this.events = new Meter(load.events.count, hours)
    const byHour = (): Float64Array => new Float64Array(hours)
    this.sent = { dispatch: byHour(), 'downloads-spread': byHour(), downloads: byHour(), webhooks: byHour() }
    this.spread = new SpreadQueue(load.ledgers.count)
    this.#ticks = ticksOf(load.population.groups, load.days)
    this.#open = new Float64Array(load.ledgers.count)
    this.#done = new Int32Array(load.ledgers.count)
    this.#swept = new Float64Array(load.ledgers.count)
    const places = load.population.rfcs.map((rfc) => 1 + Math.floor(slotOf(rfc, environment.spreadSeconds) / 60))
    this.#cursor = Int32Array.from(places)
  }

  /** Runs it for all of its days. */
  run(): this {
    const minutes = 1_440 * this.#load.days
    for (let minute = 0; minute < minutes; minute++) {
      const hour = Math.floor(minute / 60)
      const before = this.#sentIn(hour)
      this.#plan(minute, hour)
      this.spread.begin(minute)
      const requests = requestsIn(hour) * ASSUMED.requestsADay.value * this.#rfcs
      this.control.add(hour, 0, requests, REQUEST.control)
      const room = this.#download(minute, hour, MINUTE_MS - requests * msOf(REQUEST.control))
      this.#dispatch(minute, hour, room)
      this.#sweep(hour)
      this.mostMessages = Math.max(this.mostMessages, ...this.#sentIn(hour).map((count, n) => count - before[n]!))
      this.#watch(minute)
      if (minute % 60 === 59) this.#endHour(hour)
    }
    if (this.#wasBusy) this.doneBy = null
    return this
  }

  readonly #sentIn = (hour: number): number[] => QUEUES.map((name) => this.sent[name][hour]!)

  #count(name: QueueName, hour: number, messages: number): void {
    this.sent[name][hour]! += messages
    this.handled[name] += messages
  }

  /** Plans the runs of the zones whose midnight has come. */
  #plan(minute: number, hour: number): void {
    for (; this.#ticks[this.#nextTick]?.minute === minute; this.#nextTick++) {
      const tick = this.#ticks[this.#nextTick]!
      const { length } = tick.group.organizations
      this.#jobs = tick.jobs
      this.#planned.push({ tick, runs: 0 })
      this.#count('dispatch', hour, Math.floor(length / PAGE) + 1)
      this.sent.dispatch[hour]! += Math.ceil(length / RUNS_A_MESSAGE)
    }
  }

  /** Downloads what is due, as far as consumers and the control plane's time allow. Returns what is left of that time. */
  #download(minute: number, hour: number, room: number): number {
    const { downloaders } = this.#environment
    const seconds = Math.min(this.#downloadSeconds, DOWNLOAD_SECONDS) + 60 * downloaders
    const most = Math.min(Math.floor(seconds / DOWNLOAD_SECONDS), Math.floor(Math.max(room, 0) / msOf(QUIET_DAY.control)))
    const before = this.spread.handled
    this.spread.handle(minute, most, (ledger, count) => {
      this.#done[ledger]! += count
      this.#open[ledger]! -= count
    })
    const count = this.spread.handled - before
    this.#downloadSeconds = seconds - count * DOWNLOAD_SECONDS
    this.mostDownloads = Math.max(this.mostDownloads, count)
    this.control.add(hour, 0, count, QUIET_DAY.control)
    this.handled['downloads-spread'] += count
    // The relay once for each, and then an endpoint.
    this.#count('webhooks', hour, count + Math.round(count * ASSUMED.listeners.value))
    return room - count * msOf(QUIET_DAY.control)
  }

  /** Dispatches planned runs, in the order of their ticks. */
  #dispatch(minute: number, hour: number, room: number): void {
    const { population, ledgerOf, ledgers } = this.#load
    this.#dispatchSeconds = Math.min(this.#dispatchSeconds, 1) + 60 * this.#environment.dispatchers
    let left = Math.floor(room / msOf(QUIET_DAY.run))
    let dispatched = 0
    for (;;) {
      const first = this.#planned[0]
      if (!first || left === 0) break
      const { tick, runs } = first
      const { organizations } = tick.group
      if (runs === organizations.length) {
        this.#planned.shift()
        continue
      }
      const organization = organizations[runs]!
      const [from, to] = [population.firstRfc[organization]!, population.firstRfc[organization + 1]!]
      const seconds = ((callsOf(QUIET_DAY.run) + Math.min(to - from, ledgers.count)) * ASSUMED.callMs.value) / 1_000
      if (seconds > this.#dispatchSeconds) break
      this.#dispatchSeconds -= seconds
      left--
      dispatched++
      for (let rfc = from; rfc < to; rfc++) {
        const ledger = ledgerOf[rfc]!
        this.spread.send(minute + this.#cursor[rfc]!, ledger)
        this.#open[ledger]!++
      }
      this.sent['downloads-spread'][hour]! += to - from
      first.runs++
      if (first.runs % RUNS_A_MESSAGE === 0 || first.runs === organizations.length) this.handled.dispatch++
    }
    this.control.add(hour, 0, dispatched, QUIET_DAY.run)
  }

  /** The sweep of the minute reads every RFC whose jobs are not done, and announces those whose jobs should have begun a minute ago. */
  #sweep(hour: number): void {
    if (this.spread.sent === this.spread.handled) return
    let announced = 0
    for (let ledger = 0; ledger < this.ledger.count; ledger++) {
      this.#swept[ledger]! += this.#open[ledger]!
      if (this.spread.wait > 0) announced += Math.min(SWEEP_LIMIT, this.spread.waitingOf(ledger))
    }
    this.#count('downloads', hour, announced)
  }

  /** Notes when the downloads of the midnights were done. */
  #watch(minute: number): void {
    const isBusy = this.#planned.length > 0 || this.spread.sent > this.spread.handled
    if (this.#wasBusy && !isBusy) this.doneBy = Math.max(this.doneBy ?? 0, minute % 1_440)
    this.#wasBusy = isBusy
  }

  /** Accounts for what each ledger, and each database of events, did in the hour. */
  #endHour(hour: number): void {
    const { ledgers, events } = this.#load
    const day = Math.floor(hour / 24)
    const requests = 60 * requestsIn(hour) * ASSUMED.requestsADay.value
    const factor = documentsOn(day)
    const isForgetting = hour % 24 === DAILY_HOUR && day >= KEPT_DAYS.unchanged
    const share = this.#jobs / QUIET_DAY.jobs
    let done = 0
    let documents = 0
    for (let ledger = 0; ledger < ledgers.count; ledger++) {
      const rfcs = this.#done[ledger]!
      this.#done[ledger] = 0
      const days = rfcs / Math.max(ledgers.runs[ledger]!, 1)
      const created = days * ledgers.documents[ledger]! * factor
      this.ledger.add(hour, ledger, 60, SWEEP)
      this.ledger.add(hour, ledger, this.#swept[ledger]!, READ_ROW)
      this.#swept[ledger] = 0
      this.ledger.add(hour, ledger, rfcs * share, QUIET_DAY.ledger)
      this.ledger.add(hour, ledger, days * ledgers.changed[ledger]!, CHANGED_JOB)
      this.ledger.add(hour, ledger, created, DOCUMENT.ledger)
      this.ledger.add(hour, ledger, requests * ledgers.rfcs[ledger]!, REQUEST.ledger)
      if (isForgetting) this.ledger.add(hour, ledger, forgottenOf(ledgers, ledger), FORGET.job)
      done += rfcs
      documents += created
    }
    const runs = events.runs.reduce((a, b) => a + b, 0)
    for (let database = 0; database < events.count; database++) {
      const part = events.runs[database]! / runs
      this.events.add(hour, database, part * done * share, QUIET_DAY.events)
      this.events.add(hour, database, part * documents, DOCUMENT.events)
      this.events.add(hour, database, part * done * this.#jobs * ASSUMED.listeners.value, DELIVERY)
      if (!isForgetting) continue
      this.events.add(hour, database, forgottenOf(events, database), FORGET.event)
      this.events.add(hour, database, forgottenOf(events, database) * ASSUMED.listeners.value, FORGET.delivery)
    }
    this.documents += documents
  }
}
