import { shardOf } from '../../src/platform/hash.ts'
import { KINDS, type Kind, QUIET_DAY } from './costs.ts'
import { DOWNLOAD_SECONDS, type Environment, QUEUES, type QueueName, Service } from './engine.ts'
import { type Limit, limitsOf } from './limits.ts'
import type { Meter } from './meter.ts'
import { populationOf } from './population.ts'
import { controlBytes, eventsBytes, fewest, ledgerBytes, type Shards, shardsOf } from './shards.ts'
import { FIRST_JOBS } from './ticks.ts'

export interface Settings extends Environment {
  rfcs: number
  days: number
  seed: number
  /** Consumers of the queue downloads at once, which first downloads wait for. */
  connectors: number
  /** Databases of each kind. Without a number, the fewest of which none is more than 80 % full at the end. */
  ledgers?: number | undefined
  events?: number | undefined
}

/** An hour of the average database of a kind, and the busiest hour of any. */
export interface Peak {
  average: number
  most: number
  /** Hours since the beginning of the first day, in UTC. */
  hour: number
}

export const MEASURES = ['statements', 'rowsRead', 'rowsWritten', 'bytes', 'busy'] as const
export type MeasureName = (typeof MEASURES)[number]

/** The databases of a kind: how many there are, the bytes of an average and of the fullest one at the end, and what they do in an hour. */
export interface Databases extends Record<MeasureName, Peak> {
  count: number
  averageBytes: number
  fullestBytes: number
  bytesAtStart: number
}

export interface Simulation {
  settings: Settings
  organizations: number
  databases: Record<Kind, Databases>
  messages: Record<QueueName, { sent: number; handled: number; left: number }>
  /** New documents. */
  documents: number
  /** The longest time, in minutes, for which downloads that were due waited for a consumer. */
  longestWait: number
  /** The latest minute of a day, in UTC, at which the downloads of its midnights were done; null when some are left at the end. */
  doneBy: number | null
  /** Days for the first downloads of all RFCs, 36 months of each. */
  connectingDays: number
  /** The hours of the day on which most rows are written. */
  busiestDay: { day: number; hours: Hour[] }
  limits: Limit[]
}

/** What is done in an hour: the messages that are sent, and of each kind all databases together and the busiest one. */
export interface Hour {
  messages: number
  all: Record<Kind, Record<MeasureName, number>>
  busiest: Record<Kind, Record<MeasureName, number>>
}

/** Simulates the service. The same settings have the same result. */
export function simulationOf(settings: Settings): Simulation {
  const { days } = settings
  const population = populationOf(settings.rfcs, settings.seed)
  const shardsBy = (count: number, nameOf: (rfc: number) => string) => shardsOf(population, count, (rfc) => shardOf(nameOf(rfc), count))
  const rfcOf = (rfc: number): string => population.rfcs[rfc]!
  const organizationOf = (rfc: number): string => `org_${population.organizationOf[rfc]}`
  const ledgersWith = (count: number): Shards => shardsBy(count, rfcOf)
  const eventsWith = (count: number): Shards => shardsBy(count, organizationOf)
  const ledgers = settings.ledgers ? ledgersWith(settings.ledgers) : fewest(ledgersWith, (shards, n) => ledgerBytes(shards, n, days))
  const events = settings.events ? eventsWith(settings.events) : fewest(eventsWith, (shards, n) => eventsBytes(shards, n, days))
  const ledgerOf = Int32Array.from(population.rfcs, (rfc) => shardOf(rfc, ledgers.count))
  const service = new Service({ population, ledgers, events, ledgerOf, days }, settings).run()
  const at = (bytes: (shards: Shards, n: number, day: number) => number, shards: Shards) => ({
    end: Array.from({ length: shards.count }, (_, n) => bytes(shards, n, days)),
    start: Array.from({ length: shards.count }, (_, n) => bytes(shards, n, 0)),
  })
  const control = controlBytes(settings.rfcs)
  const databases = {
    control: databasesOf(service.control, { start: [control], end: [control] }),
    ledger: databasesOf(service.ledger, at(ledgerBytes, ledgers)),
    events: databasesOf(service.events, at(eventsBytes, events)),
  }
  const messages = Object.fromEntries(
    QUEUES.map((name) => {
      const sent = sum(service.sent[name])
      return [name, { sent, handled: service.handled[name], left: sent - service.handled[name] }]
    }),
  ) as Simulation['messages']
  const result = {
    ...{ settings, organizations: population.firstRfc.length - 1, databases, messages, documents: service.documents },
    ...{
      longestWait: service.spread.longestWait,
      doneBy: service.doneBy,
      connectingDays: connectingDays(settings),
      busiestDay: busiestDayOf(service, days),
    },
  }
  return { ...result, limits: limitsOf(result, service) }
}

function connectingDays({ rfcs, connectors }: Settings): number {
  const rounds = FIRST_JOBS / QUIET_DAY.jobs
  return (rfcs * rounds * DOWNLOAD_SECONDS) / connectors / 86_400
}

const sum = (values: Float64Array | readonly number[]): number => (values as number[]).reduce((a, b) => a + b, 0)
const most = (values: Float64Array | readonly number[]): number =>
  (values as number[]).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)

function databasesOf(meter: Meter, bytes: { start: readonly number[]; end: readonly number[] }): Databases {
  const peaks = MEASURES.map((name): [MeasureName, Peak] => {
    const values = meter[name]
    const top = most(values)
    return [name, { average: sum(values) / values.length, most: top, hour: Math.floor(values.indexOf(top) / meter.count) }]
  })
  return {
    ...(Object.fromEntries(peaks) as Record<MeasureName, Peak>),
    count: meter.count,
    averageBytes: sum(bytes.end) / meter.count,
    fullestBytes: most(bytes.end),
    bytesAtStart: sum(bytes.start),
  }
}

function busiestDayOf(service: Service, days: number): Simulation['busiestDay'] {
  const written = Array.from({ length: days }, (_, day) =>
    KINDS.map((kind) => sum(service[kind].rowsWritten.subarray(24 * day * service[kind].count, 24 * (day + 1) * service[kind].count))),
  ).map(sum)
  const day = written.indexOf(most(written))
  const measuresOf = (kind: Kind, hour: number, of: (values: Float64Array) => number) => {
    const { count } = service[kind]
    const values = MEASURES.map((name) => [name, of(service[kind][name].subarray(hour * count, (hour + 1) * count))])
    return Object.fromEntries(values) as Record<MeasureName, number>
  }
  const byKind = (hour: number, of: (values: Float64Array) => number) =>
    Object.fromEntries(KINDS.map((kind) => [kind, measuresOf(kind, hour, of)])) as Hour['all']
  const hours = Array.from({ length: 24 }, (_, n) => 24 * day + n).map((hour) => ({
    messages: sum(QUEUES.map((name) => service.sent[name][hour]!)),
    all: byKind(hour, sum),
    busiest: byKind(hour, most),
  }))
  return { day, hours }
}
