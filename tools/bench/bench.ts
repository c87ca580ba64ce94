/**
 * `npm run bench`: what the service costs and how fast it is, as a table; with `--json`, one object; with `-- cost. page.`, only these; with
 * `--short`, in small sizes. Counts are exact and are asserted in tests too; the others are ratios of two things measured in turns in one run, for
 * the machine decides the rest.
 */
import { parseArgs } from 'node:util'
import { bundle } from './bundle.ts'
import { authority } from './costs/authority.ts'
import { cancellations } from './costs/cancellations.ts'
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
import { parse, print } from './parse.ts'
import { PRICES } from './platform/prices.ts'
import { repse } from './repse.ts'
import { runningRigs, stopRigs } from './rig.ts'
import { IS_SHORT } from './sizes.ts'
import { start } from './start.ts'
import { summary } from './summary.ts'
import { type Table, type Taken, takeAll } from './take.ts'
import { ticks } from './ticks.ts'

/** Each starts what it needs for itself, so that their order means nothing. */
const MEASURES: Readonly<Record<string, Measure>> = {
  history,
  quietDay,
  cancellations,
  growth,
  relayDelay,
  authority,
  parse,
  print,
  bundle,
  start,
  ingest,
  pages,
  ticks,
  lists,
  repse,
  deliveries,
  mirror,
  insight,
  summary,
}

/** What is printed first. */
const ORDER = [
  'cost.',
  'quiet_day.',
  'cancellations.',
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
  'print.',
  'bundle.',
  'start.',
]

/** Everything, or the measures with a figure that begins as one of the prefixes does. */
function measuresOf(prefixes: readonly string[]): Record<string, Measure> {
  const isWanted = ({ figures }: Measure): boolean =>
    prefixes.length === 0 || Object.keys(figures).some((key) => prefixes.some((prefix) => key.startsWith(prefix)))
  const wanted = Object.entries(MEASURES).filter(([, it]) => isWanted(it))
  if (wanted.length === 0) throw new Error(`No figure begins with ${prefixes.join(' or ')}.`)
  return Object.fromEntries(wanted)
}

/** The pace of the authority makes its measure wait for minutes, in which the short form takes the others. */
function lanesOf({ authority, ...others }: Record<string, Measure>): Record<string, Measure>[] {
  if (authority === undefined) return [others]
  return IS_SHORT ? [{ authority }, others] : [{ ...others, authority }]
}

const placeOf = ({ key }: Taken): number => (ORDER.findIndex((prefix) => key.startsWith(prefix)) + ORDER.length + 1) % (ORDER.length + 1)

/** In the short form the machine has other things to do, so that a ratio of times says nothing. */
const isJudged = ({ isRatioOfTimes }: Figure): boolean => !(IS_SHORT && isRatioOfTimes)
const isMissed = ({ figure, value }: Taken): boolean => value !== null && !isMet(figure, value)

function verdictOf(it: Taken): string {
  if (it.value === null) return 'FAILED'
  if (targetOf(it.figure) === '') return ''
  if (!isMissed(it)) return 'met'
  return isJudged(it.figure) ? 'MISSED' : 'missed'
}

const lineOf = (it: Taken): string =>
  `${it.key.padEnd(38)} ${String(it.value ?? '').padStart(9)}  ${targetOf(it.figure).padEnd(15)} ${verdictOf(it).padEnd(6)}  ${it.figure.meaning}`

const tableOf = (all: readonly Taken[]): string => {
  const prices = Object.entries(PRICES).map(([what, usd]) => `${what.padEnd(38)} ${String(usd).padStart(9)}`)
  return [...all.map(lineOf), '', 'List prices in USD, of a million where nothing else is said:', ...prices].join('\n')
}

const objectOf = (all: readonly Taken[], missed: readonly string[], failed: Table['failed']): string =>
  JSON.stringify(
    {
      ...Object.fromEntries(all.map(({ key, value }) => [key, value])),
      ...{ prices: PRICES, missed, failed: Object.fromEntries(failed.map(({ name, error }) => [name, String(error)])) },
    },
    null,
    2,
  )

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopRigs().finally(() => process.exit(1)))
try {
  const { values, positionals } = parseArgs({ options: { json: { type: 'boolean' }, short: { type: 'boolean' } }, allowPositionals: true })
  const { taken, failed } = await takeAll(lanesOf(measuresOf(positionals)), {
    running: runningRigs,
    notify: console.error,
  })
  const all = taken.sort((a, b) => placeOf(a) - placeOf(b))
  const missed = all.filter((it) => isMissed(it) && isJudged(it.figure)).map(({ key }) => key)
  console.log(values.json ? objectOf(all, missed, failed) : tableOf(all))
  for (const { name, error } of failed) console.error(`\n${name} failed:`, error)
  if (missed.length > 0) console.error(`\nMissed: ${missed.join(', ')}`)
  if (missed.length + failed.length > 0) process.exitCode = 1
} finally {
  await stopRigs()
}
