import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RuleRow, Rules } from '../src/authority/rules/dated.ts'
import { loadSql, RatesRefused, ratesIn } from '../src/authority/rules/rates/rates-csv.ts'
import { executeInControlPlane, executeStatementsInControlPlane, givenFile, operatorRequest } from './control-plane.ts'
import { ROOT } from './wrangler.ts'

const USAGE = `Loads exchange rates, and shows which are held (docs/rules.md).

  npm run rates                    lists the currencies with their first and last day
  npm run rates -- file.csv        loads an export of the SIE of Banco de México (Fecha,SF43718,…) or currency,date,rate

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR

The rates of the file replace what is held between their first and last day, for each currency.`

type Environment = 'test' | 'live' | undefined

const LEASED = `select currency, source, count(*) as days, min(date) as first, max(date) as last from fx_rates group by currency, source
  order by currency, first`
const OWN_SERIES = `select * from rules where key = 'fx.series'`

async function load(env: Environment, file: string): Promise<void> {
  const text = givenFile(file).toString('utf8')
  const own = await executeInControlPlane<Omit<RuleRow, 'value'> & { value: string }>(env, OWN_SERIES)
  const defaults = JSON.parse(readFileSync(join(ROOT, 'assets/rules.json'), 'utf8')) as RuleRow[]
  const parsed = own.map((row) => ({ ...row, value: JSON.parse(row.value) }))
  const today = new Date().toISOString().slice(0, 10)
  const { rates, source } = ratesIn(text, Rules.of(parsed, defaults, today).get('fx.series'), today)
  await executeStatementsInControlPlane(env, loadSql(rates, source))
  console.log(rates.length === 1 ? '1 rate was loaded.' : `${rates.length} rates were loaded.`)
}

const { command, env } = operatorRequest(USAGE, ([file, ...rest]) => (file === undefined || rest.length > 0 ? null : { file }))
try {
  if (command) await load(env, command.file)
  const stored = await executeInControlPlane<{ currency: string; source: string; days: number; first: string; last: string }>(env, LEASED)
  for (const { currency, source, days, first, last } of stored)
    console.log(`${currency}: ${days === 1 ? `the rate of ${first}` : `${days} rates from ${first} to ${last}`} (${source})`)
  if (stored.length === 0) console.log('No rates are loaded. The sandbox has rates of its own.')
} catch (error) {
  if (error instanceof RatesRefused) console.error(`The file was refused, and nothing was changed.\n${error.message}`)
  else console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
