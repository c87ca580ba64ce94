/**
 * `npm run lists -- <file>`: brings a file of the authority's list of article 69-B in by hand. It goes into the bucket and is judged
 * like any other: the list that is held stays when the file is none, is older, or lost more than a tenth of its rows. With
 * `--env test` or `--env live` into the hosted service, whose next daily work (10:00 UTC) takes it; else into the local one, at once
 * where that runs. Without a file it says what is held.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { scheduledPath } from './crons.ts'
import { runnerOf } from './leftovers.ts'
import { placeOf } from './service.ts'
import { wrangler } from './wrangler.ts'

const OBJECT = 'lists/sat_69b.csv'
const DAILY = '0 10 * * *'
const STATE = `select source, list_date, row_count, datetime(fetched_at / 1000, 'unixepoch') as fetched_at,
  refused_code, refused_detail, datetime(refused_at / 1000, 'unixepoch') as refused_at from blacklist_lists where organization_id = ''`

interface ListState {
  source: string
  list_date: string | null
  row_count: number
  fetched_at: string | null
  refused_code: string | null
  refused_detail: string | null
  refused_at: string | null
}

const tell = ({ source, list_date, row_count, fetched_at, refused_code, refused_detail, refused_at }: ListState): void => {
  console.log(
    list_date === null ? `${source}: none is held.` : `${source}: of ${list_date}, ${row_count} rows, received ${fetched_at} (UTC).`,
  )
  if (refused_code !== null) console.log(`  Refused since, ${refused_at} (UTC): ${refused_code}. ${refused_detail}`)
}

/** Puts the file where the daily work looks for it. */
async function put(file: string, bucket: string, where: readonly string[]): Promise<void> {
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  await wrangler('r2', 'object', 'put', `${bucket}/${OBJECT}`, '--file', file, '--content-type', 'text/csv', ...where)
  console.log(`${file} is in the bucket ${bucket} as ${OBJECT}.`)
}

/** Has the local service do its daily work now, if it runs. */
async function work(stateDir: string): Promise<void> {
  const running = runnerOf(stateDir)
  if (!running) return console.log('The service does not run: its next start takes the file.')
  const { ok, status } = await fetch(running.url + scheduledPath(DAILY, Date.now()))
  if (!ok) throw new Error(`The daily work answered ${status}; the log of the service says why.`)
}

try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { env: { type: 'string' } } })
  const [given, ...rest] = positionals
  const environment = values.env
  if (rest.length > 0 || (environment !== undefined && environment !== 'test' && environment !== 'live'))
    throw new Error('npm run lists -- [<file>] [--env test|live]')
  const { stateDir } = placeOf(process.env)
  const where = environment === undefined ? ['--local', '--persist-to', stateDir] : ['--remote', '--env', environment]
  if (given !== undefined) {
    await put(resolve(process.env['INIT_CWD'] ?? '.', given), `fiscal-${environment ?? 'local'}-files`, where)
    if (environment === undefined) await work(stateDir)
    else console.log('The daily work at 10:00 UTC takes it; ask again then, without a file.')
  }
  const said = await wrangler('d1', 'execute', 'DB', '--json', '--command', STATE, ...where)
  const [answer] = JSON.parse(said.slice(said.indexOf('['))) as { results: ListState[] }[]
  if (answer?.results.length === 0) console.log('No list is held.')
  answer?.results.forEach(tell)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
