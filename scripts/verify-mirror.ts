import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { DestinationError } from '../src/storage/drivers/port.ts'
import { openCopy, Refusal } from './mirror/connector.ts'
import { daysBetween, type MirrorCopy, type Verification, verifyCopy } from './mirror/verification.ts'

const USAGE = `Checks what a storage connector has copied against its manifests.

  npm run verify-mirror -- <folder>                                        a copy on this computer: the folder that holds manifests/
  npm run verify-mirror -- --connector file.json --since 2026-01-31        the destination itself

The file has connector_id, provider and config, as GET /v1/storage-connectors/{id} answers them, and credentials. With --since, and --until,
only the manifests of these days are checked; at the destination, the first day is needed. The exit code is 1 if something is missing or different, and 2 if the copy
could not be checked. STORAGE_SINK=http://127.0.0.1:{port} sends every request to that server instead of the provider.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { connector: { type: 'string' }, since: { type: 'string' }, until: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
})
const { connector, since, until = new Date().toISOString().slice(0, 10) } = values
const [folder] = positionals
const isDay = (text: string | undefined): boolean =>
  text === undefined || (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)))
if (values.help || (folder === undefined) === (connector === undefined) || (connector && !since) || !isDay(since) || !isDay(until)) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}

/** A copy on this computer. A path that leads out of the folder is not there. */
function ofFolder(root: string): MirrorCopy {
  return {
    read: async (path) => {
      const file = resolve(root, path)
      return file.startsWith(root + sep) && existsSync(file) ? readFile(file) : null
    },
    // A part of the copy may have been downloaded.
    lastManifest: (folder) =>
      Math.max(0, ...namesIn(join(root, folder)).map((name) => Number(/^manifest(?:-(\d{1,6}))?\.jsonl$/.exec(name)?.[1] ?? 1))),
  }
}

function namesIn(of: string): string[] {
  return existsSync(of) ? readdirSync(of) : []
}

function verify(): Promise<Verification> {
  if (folder === undefined) {
    const copy = openCopy(connector!, process.env['STORAGE_SINK'] ?? '')
    return verifyCopy(copy, [copy.connector_id], daysBetween(since!, until))
  }
  const root = resolve(folder)
  const connectors = namesIn(join(root, 'manifests')).filter((name) => name.startsWith('stc_'))
  const days = new Set(connectors.flatMap((name) => namesIn(join(root, 'manifests', name))).filter(isDay))
  const chosen = [...days].filter((day) => (!since || day >= since) && day <= until).sort()
  return verifyCopy(ofFolder(root), connectors, chosen)
}

async function verified(): Promise<Verification> {
  try {
    return await verify()
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
console.log(`${manifests} manifests list ${listed} objects: ${missing.length} are missing, and ${different.length} are different.`)
if (manifests === 0) console.error('There is no manifest of these days.')
process.exit(missing.length + different.length + unreadable.length > 0 || manifests === 0 ? 1 : 0)
