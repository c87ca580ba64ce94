import { objectOf, PUBLIC_SOURCES, type PublicSource } from '../src/lists/catalog.ts'
import { givenFile, locationOfFile, operatorRequest } from './control-plane.ts'
import { scheduledPath } from './crons.ts'
import { runnerOf } from './leftovers.ts'
import { placeOf } from './service.ts'
import { wrangler } from './wrangler.ts'

const USAGE = `Loads a file of one of the authority's lists, and shows which lists are held (docs/operating.md).

  npm run lists                          shows the lists with their days
  npm run lists -- file.csv              loads a file of the list of article 69-B (sat_69b)
  npm run lists -- file.csv <list>       loads one of another list: ${PUBLIC_SOURCES.join(', ')}

  --env test | live   uses a hosted service, which loads the file in its next daily cron (10:00 UTC); without it, the local one, at once if it runs

A file is checked like a fetched one: the held list stays when the file is not such a list, is older, or lost too many of its rows.`

const isPublicSource = (text: string): text is PublicSource => (PUBLIC_SOURCES as readonly string[]).includes(text)

const DAILY = '0 10 * * *'
const LOADING_MS = 3_000
const STATE = `select source, list_date, row_count, datetime(fetched_at / 1000, 'unixepoch') as fetched_at,
  refused_code, refused_detail, datetime(refused_at / 1000, 'unixepoch') as refused_at from blacklist_lists where organization_id = '' order by source`

interface ListState {
  source: string
  list_date: string | null
  row_count: number
  fetched_at: string | null
  refused_code: string | null
  refused_detail: string | null
  refused_at: string | null
}

const show = ({ source, list_date, row_count, fetched_at, refused_code, refused_detail, refused_at }: ListState): void => {
  console.log(
    list_date === null
      ? `${source}: no list is held.`
      : `${source}: list of ${list_date}, ${row_count} ${row_count === 1 ? 'row' : 'rows'}, received at ${fetched_at} (UTC).`,
  )
  if (refused_code !== null) console.log(`  A file was refused at ${refused_at} (UTC): ${refused_code}. ${refused_detail}`)
}

/** Uploads the file to the place where the daily cron looks for it. */
async function put(file: string, source: PublicSource, bucket: string, where: readonly string[]): Promise<void> {
  givenFile(file)
  await wrangler('r2', 'object', 'put', `${bucket}/${objectOf(source)}`, '--file', file, '--content-type', 'text/csv', ...where)
  console.log(`${file} is in the bucket ${bucket} as ${objectOf(source)}.`)
}

/** Fires the local service's daily cron now, if the service runs. */
async function work(stateDir: string): Promise<void> {
  const running = runnerOf(stateDir)
  if (!running) return console.log('The service is not running. It loads the file at its next start.')
  const { ok, status } = await fetch(running.url + scheduledPath(DAILY, Date.now()))
  if (!ok) throw new Error(`The daily cron answered ${status}. The service's log has the reason.`)
  // The cron sends a message, and the service loads the list when that arrives.
  await new Promise((resolve) => setTimeout(resolve, LOADING_MS))
}

/** The file and list that the words of a command line give; null when they give none. Throws an error that names the lists. */
function commandOf([file, source = 'sat_69b', ...rest]: readonly string[]): { file: string; source: PublicSource } | null {
  if (file === undefined || rest.length > 0) return null
  if (!isPublicSource(source)) throw new Error(`There is no list ${source}. The lists are ${PUBLIC_SOURCES.join(', ')}.`)
  return { file, source }
}

const { command, env: environment } = operatorRequest(USAGE, commandOf)
try {
  const { stateDir } = placeOf(process.env)
  const where = environment === undefined ? ['--local', '--persist-to', stateDir] : ['--remote', '--env', environment]
  if (command) {
    await put(locationOfFile(command.file), command.source, `fiscal-${environment ?? 'local'}-files`, where)
    if (environment === undefined) await work(stateDir)
    else console.log('The daily cron at 10:00 UTC loads it. Run this command without a file after that to see the result.')
  }
  const output = await wrangler('d1', 'execute', 'DB', '--json', '--command', STATE, ...where)
  const [answer] = JSON.parse(output.slice(output.indexOf('['))) as { results: ListState[] }[]
  if (answer?.results.length === 0) console.log('No list is held.')
  answer?.results.forEach(show)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
