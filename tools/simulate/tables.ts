import { dayOfEpoch, epochDayOf } from '../../src/platform/time/calendar.ts'
import { ASSUMED, CADENCES, CLASSES, FIRST_DAY, ORGANIZATION_SIZES, PLATFORM, ZONES } from './assumptions.ts'
import { FIGURES, KINDS, type Kind } from './costs.ts'
import { QUEUES } from './engine.ts'
import type { Limit } from './limits.ts'
import type { Simulation } from './simulation.ts'

const whole = (value: number): string => Math.round(value).toLocaleString('en')
const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`
const gigabytes = (bytes: number): string => (bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })
const two = (value: number): string => String(value).padStart(2, '0')
const clock = (minute: number): string => `${two(Math.floor(minute / 60))}:${two(minute % 60)} UTC`

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(titles), row(titles.map(() => '---')), ...rows.map(row)].join('\n')

const NAMES: Record<Kind, string> = { control: '`DB`', ledger: '`LEDGER_n`', events: '`EVENTS_n`' }

const AMOUNTS = {
  GB: (value: number): string => `${gigabytes(value)} GB`,
  share: percent,
  '': whole,
}

const thousands = (rfcs: number | null): string => whole(1_000 * Math.floor((rfcs ?? 0) / 1_000))

/** The result in sentences. */
export function summary(simulation: Simulation): string {
  const { settings, organizations, databases, documents, limits, doneBy, longestWait, connectingDays } = simulation
  const { control, ledger, events } = databases
  const fullest = Math.max(...[control, ledger, events].map(({ fullestBytes }) => fullestBytes)) / PLATFORM.databaseBytes.value
  const [first, second] = limits
  const notified = ({ name, used, limit, unit, at, rfcs }: Limit): string =>
    `the ${name[0]!.toLowerCase()}${name.slice(1)} (${AMOUNTS[unit](limit)}), reached with ${thousands(rfcs)} RFCs, ${used < limit ? 'so not here' : `here ${at}`}`
  return [
    `- ${whole(settings.rfcs)} RFCs of ${whole(organizations)} organizations for ${settings.days} days from ${FIRST_DAY}, seed ${settings.seed}: ${whole(documents / 1e6)} million new documents.`,
    `- Their databases are \`DB\`, \`LEDGER_0\` to \`LEDGER_${ledger.count - 1}\` and \`EVENTS_0\` to \`EVENTS_${events.count - 1}\`. On the last day the fullest one is ${percent(fullest)} full.`,
    `- The first limit is ${notified(first!)}. The next one is ${notified(second!)}.`,
    doneBy === null
      ? '- The downloads of a day are never done.'
      : `- The downloads of a day are done by ${clock(doneBy)}, and ${longestWait === 0 ? 'none waits' : `none waits longer than ${longestWait} minutes`} for a consumer.`,
    `- The first downloads of as many RFCs take ${whole(connectingDays)} days.`,
  ].join('\n')
}

/** What the databases of each kind hold at the end, and what one of them does in an average hour (in the busiest one). */
export const databasesTable = ({ databases }: Simulation): string =>
  table(
    ['', 'databases', 'GB (the fullest)', 'full', 'statements an hour', 'rows read', 'rows written', 'busy'],
    KINDS.map((kind) => {
      const { count, averageBytes, fullestBytes, statements, rowsRead, rowsWritten, busy } = databases[kind]
      return [
        ...[NAMES[kind], whole(count), `${gigabytes(averageBytes)} (${gigabytes(fullestBytes)})`],
        percent(fullestBytes / PLATFORM.databaseBytes.value),
        ...[statements, rowsRead, rowsWritten].map((peak) => `${whole(peak.average)} (${whole(peak.most)})`),
        `${percent(busy.average / 3_600_000)} (${percent(busy.most / 3_600_000)})`,
      ]
    }),
  )

export const queuesTable = ({ messages, settings }: Simulation): string =>
  table(
    ['queue', 'messages a day', 'left at the end'],
    QUEUES.map((name) => [`\`${name}\``, whole(messages[name].sent / settings.days), whole(messages[name].left)]),
  )

/** How much of each limit is used, and with how many RFCs it is reached. */
export const limitsTable = ({ limits }: Simulation): string =>
  table(
    ['limit', 'used', 'of', '', 'when', 'reached with'],
    limits.map(({ name, used, limit, unit, at, rfcs }) => [
      ...[name, AMOUNTS[unit](used), AMOUNTS[unit](limit), percent(used / limit), at],
      rfcs === null ? 'later, with more databases' : `${thousands(rfcs)} RFCs`,
    ]),
  )

/** The hours of the busiest day: all messages, and the busiest database of each kind. */
export const hoursTable = ({ busiestDay: { day, hours } }: Simulation): string =>
  table(
    [
      `${dayOfEpoch(epochDayOf(FIRST_DAY) + day)}, UTC`,
      ...['messages', ...KINDS.flatMap((kind) => ['statements', 'read', 'written', 'kB'].map((what) => `${NAMES[kind]} ${what}`))],
    ],
    hours.map(({ messages, busiest }, hour) => [
      ...[`${two(hour)}:00`, whole(messages)],
      ...KINDS.flatMap((kind) => {
        const { statements, rowsRead, rowsWritten, bytes } = busiest[kind]
        return [statements, rowsRead, rowsWritten, bytes / 1_000].map(whole)
      }),
    ]),
  )

const shares = <T extends { share: number }>(things: readonly T[], nameOf: (thing: T) => string | number): string =>
  things.map((thing) => `${nameOf(thing)} (${percent(thing.share)})`).join(', ')

/** Everything that the simulation supposes, and where it comes from. */
export const assumptionsTable = ({ settings, organizations }: Simulation): string =>
  table(
    ['what', 'value', 'from'],
    [
      ['RFCs, each connected by one organization from the first day on', whole(settings.rfcs), '`--rfcs`'],
      [
        'Connections of an organization',
        `${shares(ORGANIZATION_SIZES, (size) => size.connections)}: ${whole(organizations)} organizations`,
        'supposed',
      ],
      ['Documents a month of an RFC', shares(CLASSES, (one) => whole(one.documents)), 'supposed'],
      ['Time zones', shares(ZONES, ({ zone }) => zone.slice('America/'.length)), 'the first as in the bench, the others supposed'],
      ['Cadences', shares(CADENCES, ({ kind }) => `\`${kind}\``), 'supposed'],
      ...Object.values(ASSUMED).map(({ value, means }) => [means, String(value), 'supposed']),
      ...Object.entries(FIGURES).map(([name, value]) => [`\`${name}\``, value.toLocaleString('en'), '`npm run bench`']),
      ['`SPREAD_SECONDS`', whole(settings.spreadSeconds), '`wrangler.toml`'],
      [
        'Consumers of `dispatch`, `downloads-spread` and `downloads`',
        [settings.dispatchers, settings.downloaders, settings.connectors].join(', '),
        '`wrangler.toml`',
      ],
      ...Object.values(PLATFORM).map(({ value, means, source }) => [means, whole(value), `Cloudflare: ${source}`]),
    ],
  )
