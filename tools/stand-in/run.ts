import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { makeEfirma } from './certificates.ts'
import { type StandIn, startStandIn } from './stand-in.ts'
import { TROUBLE_NAMES, troubleOf } from './trouble.ts'
import { generate } from './truth/generate.ts'
import { literalOf, type Truth } from './truth/truth.ts'

/**
 * Starts the stand-in of the tax authority for trials by hand. It has invented documents of the last months of one RFC, for which it writes
 * e.firmas into a folder. It prints every request and what it answered.
 */

const USAGE = `Usage: npm run stand-in -- [options]

  --rfc EKU9003173C9       whose documents there are, and whose e.firma is written
  --months 36              how many months have documents, this one included
  --each 6                 issued, and as many received, invoices in a month; other documents come with them
  --port 9300              where it listens on 127.0.0.1; 0 is any free port
  --checks 1               how many verifications find a request still waiting
  --folder .state/efirma   where the e.firmas are written: request.json to connect, another.json to PATCH
  --trouble 304            what goes wrong with the next requests, once or as often as html:5 says; may be repeated
  --help

Troubles: ${TROUBLE_NAMES.join(', ')}. While it runs, type one of these and Enter.
`

const OPTIONS = {
  rfc: { type: 'string', default: 'EKU9003173C9' },
  months: { type: 'string', default: '36' },
  port: { type: 'string', default: '9300' },
  checks: { type: 'string', default: '1' },
  each: { type: 'string', default: '6' },
  folder: { type: 'string', default: '.state/efirma' },
  trouble: { type: 'string', multiple: true, default: [] as string[] },
  help: { type: 'boolean', default: false },
} as const

/** Prints how it is used, with what is wrong, and ends. */
function refuse(fault: string): never {
  console.error(`${fault}\n\n${USAGE}`)
  process.exit(1)
}

function optionsOf() {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function numberIn(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : refuse(`--${name} must be a number from ${least} to ${most}, not “${text}”.`)
}

const values = optionsOf()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const { rfc, folder } = values
const [months, each] = [numberIn('months', values.months, 1, 72), numberIn('each', values.each, 0, 10_000)]
const checks = numberIn('checks', values.checks, 0, 1_000)
const port = numberIn('port', values.port, 0, 65_535)
const script = values.trouble.map((text) => troubleOf(text) ?? refuse(`There is no trouble “${text}”.`))

const now = new Date()
const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months + 1, 1)).toISOString().slice(0, 7)
const truth = generate({ rfc, from, months, counts: { issued: each, received: each } })
const standIn = await startStandIn({ port, truth, checks, script }).catch((error: NodeJS.ErrnoException) =>
  refuse(`Port ${port} of 127.0.0.1 is not available (${error.code}).`),
)

mkdirSync(folder, { recursive: true })
/** Writes a new e.firma in the body of a request. */
function writeEfirma(name: string, more: object, number: string): string {
  const { certificate, private_key, password } = makeEfirma(rfc, { number })
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify({ ...more, efirma: { certificate, private_key, password } }, null, 2), { mode: 0o600 })
  return file
}
const [request, another] = [
  writeEfirma('request.json', { rfc }, '30001000000500003415'),
  writeEfirma('another.json', {}, '30001000000500003416'),
]

/** How many documents of each source and month there are, and apart from them those that are not stamped yet. */
function tableOf({ documents }: Truth): string {
  const at = literalOf(new Date())
  const of = (month: string) => {
    const found = documents.filter(({ fecha }) => fecha.startsWith(month))
    const sides = [found.filter(({ emisor }) => emisor.rfc === rfc), found.filter(({ receptor }) => receptor.rfc === rfc)]
    const counts = sides.flatMap((side) => [side.filter(({ stamped }) => stamped <= at), side.filter(({ stamped }) => stamped > at)])
    return `    ${month} ${counts.map(({ length }) => String(length || '–').padStart(12)).join('')}`
  }
  const all = [...new Set(documents.map(({ fecha }) => fecha.slice(0, 7)))].sort()
  const head = ['issued', 'not yet', 'received', 'not yet'].map((word) => word.padStart(12)).join('')
  return [`    month   ${head}`, ...all.map(of)].join('\n')
}

console.log(`
  Documents   ${truth.documents.length} of ${rfc}; “not yet” are those that are stamped later: they appear then
${tableOf(truth)}

  e.firma     ${request}, the body of POST /v1/fiscal-entities
              ${another}, the body of PATCH /v1/fiscal-entities/{id} after a refusal
  Service     TAX_AUTHORITY=sat SAT_STAND_IN=${standIn.url} AUTHORITY_WAIT_FACTOR=0.05 npm start
  Trouble     ${values.trouble.join(', ') || 'none'}; type a name and Enter for more: ${TROUBLE_NAMES.join(' ')}

Press Ctrl-C to stop.
`)

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line.trim() === '') return
  const step = troubleOf(line)
  if (step) standIn.authority.script.steps.push(step)
  console.log(step ? `Trouble from now on: ${line.trim()}` : `There is no trouble “${line.trim()}”. Troubles: ${TROUBLE_NAMES.join(', ')}`)
})

const seen = { entries: 0, violations: 0 }
function print({ log }: StandIn): void {
  for (const { at, operation, family, parameters, answer } of log.entries.slice(seen.entries)) {
    const { TipoSolicitud = '', FechaInicial = '', FechaFinal = '' } = parameters
    console.log(
      [new Date(at).toISOString(), operation, family, TipoSolicitud, FechaInicial, FechaFinal, '→', answer].filter(Boolean).join(' '),
    )
  }
  for (const violation of log.violations.slice(seen.violations)) console.log(`! ${violation}`)
  Object.assign(seen, { entries: log.entries.length, violations: log.violations.length })
}
setInterval(() => print(standIn), 500)
