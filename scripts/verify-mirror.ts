import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { type DestinationSpec, destinationOf } from '../src/storage/drivers/adapters.ts'
import type { Network } from '../src/storage/drivers/call.ts'
import { withPrefix } from '../src/storage/template.ts'
import { daysBetween, type MirrorCopy, verifyCopy } from './mirror/verification.ts'

const USAGE = `Checks what a storage connector has copied against its manifests.

  npm run verify-mirror -- <folder>                                        a copy on this computer: the folder that holds manifests/
  npm run verify-mirror -- --connector file.json --since 2026-01-31        the destination itself

The file has provider, config and credentials, as for POST /v1/storage-connectors. With --since, and --until, only the manifests of these
days are checked; at the destination, the first day is needed. The exit code is 1 if something is missing or different.`

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
    lastManifest: (day) =>
      Math.max(
        0,
        ...readdirSync(join(root, 'manifests', day)).map((name) => Number(/^manifest(?:-(\d{1,6}))?\.jsonl$/.exec(name)?.[1] ?? 1)),
      ),
  }
}

/** The destination itself, over the public network. */
function ofConnector(file: string): MirrorCopy {
  const spec = JSON.parse(readFileSync(file, 'utf8')) as DestinationSpec & { config: { prefix?: string } }
  const network: Network = { publicHosts: [], fetch: (url, init) => fetch(url, { ...init, redirect: 'manual' }) }
  const destination = destinationOf(network, spec, async () => {
    console.error('The provider has replaced the refresh token: the one in the file may no longer be valid.')
  })
  return { read: (path) => destination.read(withPrefix(spec.config.prefix ?? '', path)) }
}

const root = folder === undefined ? '' : resolve(folder)
const days = folder === undefined ? daysBetween(since!, until) : daysIn(root).filter((day) => (!since || day >= since) && day <= until)
function daysIn(of: string): string[] {
  const manifests = join(of, 'manifests')
  return existsSync(manifests) ? readdirSync(manifests).filter(isDay).sort() : []
}

const { manifests, listed, missing, different, unreadable } = await verifyCopy(
  folder === undefined ? ofConnector(connector!) : ofFolder(root),
  days,
)
for (const path of missing) console.log(`missing    ${path}`)
for (const path of different) console.log(`different  ${path}`)
for (const line of unreadable) console.log(`unreadable ${line}`)
console.log(`${manifests} manifests list ${listed} objects: ${missing.length} are missing, and ${different.length} are different.`)
if (manifests === 0) console.error('There is no manifest of these days.')
process.exit(missing.length + different.length + unreadable.length > 0 || manifests === 0 ? 1 : 0)
