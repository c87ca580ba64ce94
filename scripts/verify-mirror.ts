import { existsSync, readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { DestinationError } from '../src/copies/drivers/port.ts'
import { openCopy, Refusal } from './mirror/connector.ts'
import { type Days, dayOf, latestOf, type Manifest, type MirrorCopy, type Verification, verifyCopy } from './mirror/verification.ts'

const USAGE = `Checks what a storage connector has copied against its manifests.

  npm run verify-mirror -- <folder>                        a copy on this computer: the folder that holds manifests/
  npm run verify-mirror -- --connector file.json           the destination itself

The file is what GET /v1/storage-connectors/{id} answers, with the credentials added. --since 2026-01-31 and --until 2026-12-31 choose the
days of the manifests. The exit code is 1 if something is missing or different, and 2 if the copy could not be checked.
STORAGE_SINK=http://127.0.0.1:{port} sends every request to that server instead of the provider.`

const FIRST_DAY = '0000-01-01'

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** Reads the command line. Throws Refusal. */
function readCommand() {
  const options = {
    connector: { type: 'string' },
    since: { type: 'string' },
    until: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  const read = () => {
    try {
      return parseArgs({ allowPositionals: true, options })
    } catch (error) {
      throw new Refusal(`${(error as Error).message.split('. ')[0]}. --help shows how to use the command.`)
    }
  }
  const { values, positionals } = read()
  const { connector, since = FIRST_DAY, until = new Date().toISOString().slice(0, 10) } = values
  const [folder, ...more] = positionals
  if (values.help || more.length > 0 || (folder === undefined) === (connector === undefined)) {
    console.error(USAGE)
    process.exit(values.help ? 0 : 2)
  }
  for (const day of [since, until]) if (!isDay(day)) throw new Refusal(`“${day}” must be a day such as 2026-01-31.`)
  return { folder, connector, days: { since, until } }
}

/** A copy on this computer. A path that leads out of the folder is not there. */
const ofFolder = (root: string): MirrorCopy => ({
  read: async (path) => {
    const file = resolve(root, path)
    return file.startsWith(root + sep) && existsSync(file) ? readFile(file) : null
  },
})

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const namesIn = (of: string): string[] => (isFolder(of) ? readdirSync(of) : [])

/** Checks what a folder has of every connector. */
async function verifyFolder(folder: string, days: Days): Promise<Verification> {
  const root = resolve(folder)
  if (!isFolder(root)) throw new Refusal(`There is no folder ${folder}.`)
  const copy = ofFolder(root)
  const known: Manifest[] = []
  const unnamed: string[] = []
  for (const connector of namesIn(join(root, 'manifests')).filter((name) => name.startsWith('stc_'))) {
    const below = `manifests/${connector}`
    const paths = namesIn(join(root, below)).flatMap((day) => namesIn(join(root, below, day)).map((name) => `${below}/${day}/${name}`))
    const latest = await latestOf(copy, connector)
    if (latest) known.push(latest)
    else unnamed.push(`${below}/latest.json`)
    // Later ones are only read for what they name.
    known.push(...paths.filter((path) => dayOf(path) !== '').map((path) => ({ path, sha256: null })))
  }
  if (known.length === 0) throw new Refusal(`There is no manifest in ${folder}: it must be the folder that holds manifests/.`)
  const found = await verifyCopy(copy, known, days)
  return { ...found, missing: [...unnamed, ...found.missing] }
}

/** Checks a destination, from the last manifest of its connector on. */
async function verifyDestination(file: string, days: Days): Promise<Verification> {
  const copy = openCopy(file, process.env['STORAGE_SINK'] ?? '')
  const latest = await latestOf(copy, copy.connector_id)
  const known = [latest, copy.last_manifest].filter((one) => one !== undefined)
  const found = await verifyCopy(copy, known, days)
  const { read, denied } = copy.seen
  if (denied && read === 0) throw denied
  if (known.length === 0)
    throw new Refusal(
      'There is no manifest at the destination: no latest.json, and the file has no last_manifest. Is the place the right one?',
    )
  if (denied)
    console.error(`What may not be read counts as missing. ${denied.message} Without s3:ListBucket, S3 answers so for what is missing.`)
  return found
}

async function verified(): Promise<Verification> {
  try {
    const { folder, connector, days } = readCommand()
    const found = await (folder === undefined ? verifyDestination(connector!, days) : verifyFolder(folder, days))
    if (found.manifests === 0 && found.missing.length === 0) throw new Refusal('There is no manifest of these days.')
    return found
  } catch (error) {
    if (error instanceof DestinationError) console.error(`The copy could not be checked (${error.code}). ${error.message}`)
    else if (error instanceof Refusal) console.error(error.message)
    else throw error
    process.exit(2)
  }
}

const { manifests, listed, missing, different, unreadable } = await verified()
for (const path of missing) console.log(`missing    ${path}`)
for (const path of different) console.log(`different  ${path}`)
for (const line of unreadable) console.log(`unreadable ${line}`)
if (missing.some((path) => dayOf(path) !== ''))
  console.log('A manifest is missing: what only it lists, and manifests that only it names, are not checked.')
console.log(`${manifests} manifests list ${listed} objects: ${missing.length} are missing, and ${different.length} are different.`)
process.exit(missing.length + different.length + unreadable.length > 0 ? 1 : 0)
