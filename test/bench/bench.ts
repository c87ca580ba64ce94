/**
 * `npm run bench`: what the service costs and how fast it is, as a table; with `--json`, one object. Counts are exact and are asserted
 * in tests too; the others are ratios of two things measured in turns in one run, for the machine decides the rest.
 */
import { bundle } from './bundle.ts'
import { deliveries } from './deliveries.ts'
import { ingest } from './ingest.ts'
import { lists } from './lists.ts'
import { type Figure, isMet, type Measure, targetOf } from './measures.ts'
import { pages } from './page.ts'
import { parse } from './parse.ts'
import { repse } from './repse.ts'
import { type Rig, startRig } from './rig.ts'
import { summary } from './summary.ts'
import { ticks } from './ticks.ts'

/** In this order: the largest book, that of the summaries, is filled last. */
const MEASURES: readonly Measure[] = [parse, bundle, ingest, pages, ticks, lists, repse, deliveries, summary]

/** What is printed first. */
const ORDER = ['page.', 'summary.', 'ingest.', 'reingest.', 'tick.', 'lists.', 'repse.', 'delivery.', 'relay.', 'parse.', 'bundle.']

interface Taken {
  key: string
  figure: Figure
  value: number
}

async function takeAll(rig: Rig): Promise<Taken[]> {
  const all: Taken[] = []
  for (const { figures, take } of MEASURES) {
    const taken = await take(rig)
    for (const [key, figure] of Object.entries(figures)) all.push({ key, figure, value: Number(taken[key]!.toFixed(figure.digits ?? 0)) })
  }
  const place = ({ key }: Taken): number => (ORDER.findIndex((prefix) => key.startsWith(prefix)) + ORDER.length + 1) % (ORDER.length + 1)
  return all.sort((a, b) => place(a) - place(b))
}

const lineOf = ({ key, figure, value }: Taken): string =>
  `${key.padEnd(30)} ${String(value).padStart(8)}  ${targetOf(figure).padEnd(14)} ${isMet(figure, value) ? 'met   ' : 'MISSED'}  ${figure.meaning}`

const rig = await startRig()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => rig.stop().finally(() => process.exit(1)))
try {
  const all = await takeAll(rig)
  const isJson = process.argv.includes('--json')
  console.log(isJson ? JSON.stringify(Object.fromEntries(all.map(({ key, value }) => [key, value])), null, 2) : all.map(lineOf).join('\n'))
} finally {
  await rig.stop()
}
