/**
 * `npm run simulate`: a million RFCs for 90 days, minute by minute, with the costs that `npm run bench` measures, the rules of the service
 * and the settings of `[env.live]`. It prints tables; with `--json`, one object. `--write` also puts those tables into
 * docs/scaling.md that it has.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { unstable_readConfig } from 'wrangler'
import { ROOT } from '../../scripts/wrangler.ts'
import { simulationOf } from './simulation.ts'
import { assumptionsTable, databasesTable, hoursTable, limitsTable, queuesTable, summary } from './tables.ts'

const number = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = parseArgs({
  options: { seed: number, rfcs: number, days: number, ledgers: number, events: number, json: flag, write: flag },
})

/** A number of the command line; `otherwise` without one. */
function numberOf<T>(name: 'seed' | 'rfcs' | 'days' | 'ledgers' | 'events', otherwise: T): number | T {
  const text = values[name]
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new Error(`--${name} must be a whole number from 1 on.`)
  return Number(text)
}

/** What is used of wrangler's own reading of its configuration, for which its package brings no types. */
interface Read {
  queues: { consumers: { queue: string; max_concurrency: number }[] }
  vars: Record<string, string>
}

const { queues, vars } = unstable_readConfig({ config: join(ROOT, 'wrangler.toml'), env: 'live' }) as unknown as Read
const consumersOf = (name: string): number => queues.consumers.find(({ queue }) => queue === `fiscal-live-${name}`)!.max_concurrency

const simulation = simulationOf({
  rfcs: numberOf('rfcs', 1_000_000),
  days: numberOf('days', 90),
  seed: numberOf('seed', 14),
  ledgers: numberOf('ledgers', undefined),
  events: numberOf('events', undefined),
  spreadSeconds: Number(vars['SPREAD_SECONDS']),
  dispatchers: consumersOf('dispatch'),
  downloaders: consumersOf('downloads-spread'),
  connectors: consumersOf('downloads'),
})

const parts = {
  summary: summary(simulation),
  databases: databasesTable(simulation),
  limits: limitsTable(simulation),
  queues: queuesTable(simulation),
  hours: hoursTable(simulation),
  assumptions: assumptionsTable(simulation),
}

console.log(values.json ? JSON.stringify(simulation, null, 2) : Object.values(parts).join('\n\n'))

if (values.write) {
  const file = join(ROOT, 'docs/scaling.md')
  const written = Object.entries(parts).reduce(
    (all, [part, content]) =>
      all.replace(new RegExp(`(<!-- simulate: ${part} -->\n).*?(<!-- end -->)`, 's'), (_, begin, end) => `${begin}\n${content}\n\n${end}`),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, written)
}
