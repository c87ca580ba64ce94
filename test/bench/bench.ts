/**
 * `npm run bench`: what the service costs and how fast it is, as a table; with `--json`, one object; with `-- cost. page.`, only these. Counts are exact and are asserted
 * in tests too; the others are ratios of two things measured in turns in one run, for the machine decides the rest.
 */
import { bundle } from './bundle.ts'
import { authority } from './costs/authority.ts'
import { growth } from './costs/growth.ts'
import { history } from './costs/history.ts'
import { quietDay } from './costs/quiet-day.ts'
import { relayDelay } from './costs/relay.ts'
import { deliveries } from './deliveries.ts'
import { ingest } from './ingest.ts'
import { insight } from './insight.ts'
import { lists } from './lists.ts'
import { type Figure, isMet, type Measure, targetOf } from './measures.ts'
import { mirror } from './mirror.ts'
import { pages } from './page.ts'
import { parse } from './parse.ts'
import { PRICES } from './platform/prices.ts'
import { repse } from './repse.ts'
import { type Rig, startRig, stopRigs } from './rig.ts'
import { summary } from './summary.ts'
import { ticks } from './ticks.ts'

/** In this order: the costs first, in services of their own; the largest book, that of the summaries, is filled last. */
const MEASURES: readonly Measure[] = [
  history,
  quietDay,
  growth,
  relayDelay,
  authority,
  parse,
  bundle,
  ingest,
  pages,
  ticks,
  lists,
  repse,
  deliveries,
  mirror,
  insight,
  summary,
]

/** What is printed first. */
const ORDER = [
  'cost.',
  'quiet_day.',
  'control.',
  'events.',
  'ledger.',
  'page.',
  'summary.',
  'insight.',
  'ingest.',
  'reingest.',
  'tick.',
  'lists.',
  'repse.',
  'delivery.',
  'relay.',
  'sat.',
  'mirror.',
  'parse.',
  'bundle.',
]

interface Taken {
  key: string
  figure: Figure
  value: number
}

/** Of everything, or of the measures with a figure that begins as one of the arguments does. */
async function takeAll(rig: Rig, wanted: readonly string[]): Promise<Taken[]> {
  const all: Taken[] = []
  const isWanted = ({ figures }: Measure): boolean =>
    wanted.length === 0 || Object.keys(figures).some((key) => wanted.some((prefix) => key.startsWith(prefix)))
  for (const { figures, take } of MEASURES.filter(isWanted)) {
    const taken = await take(rig)
    for (const [key, figure] of Object.entries(figures)) all.push({ key, figure, value: Number(taken[key]!.toFixed(figure.digits ?? 0)) })
  }
  const place = ({ key }: Taken): number => (ORDER.findIndex((prefix) => key.startsWith(prefix)) + ORDER.length + 1) % (ORDER.length + 1)
  return all.sort((a, b) => place(a) - place(b))
}

const verdictOf = (figure: Figure, value: number): string => (targetOf(figure) === '' ? '' : isMet(figure, value) ? 'met' : 'MISSED')

const lineOf = ({ key, figure, value }: Taken): string =>
  `${key.padEnd(38)} ${String(value).padStart(9)}  ${targetOf(figure).padEnd(15)} ${verdictOf(figure, value).padEnd(6)}  ${figure.meaning}`

const tableOf = (all: readonly Taken[]): string => {
  const prices = Object.entries(PRICES).map(([what, usd]) => `${what.padEnd(38)} ${String(usd).padStart(9)}`)
  return [...all.map(lineOf), '', 'List prices in USD, of a million where nothing else is said:', ...prices].join('\n')
}

const objectOf = (all: readonly Taken[]): string =>
  JSON.stringify({ ...Object.fromEntries(all.map(({ key, value }) => [key, value])), prices: PRICES }, null, 2)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopRigs().finally(() => process.exit(1)))
try {
  const args = process.argv.slice(2)
  const all = await takeAll(
    await startRig(),
    args.filter((arg) => arg !== '--json'),
  )
  console.log(args.includes('--json') ? objectOf(all) : tableOf(all))
} finally {
  await stopRigs()
}
