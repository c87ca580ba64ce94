/** `node scripts/build.ts`: builds the Worker for `npm start`. A process of its own, because wrangler takes memory that the service need not have. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, wrangler } from './wrangler.ts'

/** This script. */
export const BUILD = import.meta.filename
/** Where the Worker lies as it was built last: its modules, and its options for the local runtime (`options.json`). */
export const BUILT = join(ROOT, '.wrangler/built')

/** What the Worker is made from, in one hash: the same sources and packages are built once. */
function sources(): string {
  const hash = createHash('sha256')
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
  for (const file of [...files, join(ROOT, 'wrangler.toml'), join(ROOT, 'package-lock.json')])
    hash.update(file.slice(ROOT.length)).update(readFileSync(file))
  return hash.digest('hex')
}

/** Whether what lies there was built from other sources. */
export function isStale(): boolean {
  const stamp = join(BUILT, 'built-from.txt')
  return !existsSync(stamp) || readFileSync(stamp, 'utf8') !== sources()
}

/** The Worker as it was built last, as Miniflare takes it, without its bindings of text. */
export function builtWorker() {
  const read = (name: string): string => readFileSync(join(BUILT, name), 'utf8')
  const modules = readdirSync(BUILT)
    .filter((name) => /\.m?js$/.test(name))
    // The entry comes first.
    .sort((a, b) => Number(b === 'index.js') - Number(a === 'index.js'))
    .map((name) => ({ type: 'ESModule' as const, path: join(BUILT, name), contents: read(name) }))
  const options: object = JSON.parse(read('options.json'))
  return { ...options, modulesRoot: BUILT, modules }
}

async function build(): Promise<void> {
  const stamp = sources()
  const fresh = `${BUILT}-${process.pid}`
  try {
    const { unstable_getMiniflareWorkerOptions } = await import('wrangler')
    await wrangler('deploy', '--dry-run', '--env', '', '--outdir', fresh)
    // Without the bindings of text, which hold the local secrets.
    const { bindings: _, ...options } = unstable_getMiniflareWorkerOptions(join(ROOT, 'wrangler.toml')).workerOptions
    writeFileSync(join(fresh, 'options.json'), JSON.stringify(options))
    writeFileSync(join(fresh, 'built-from.txt'), stamp)
    mkdirSync(join(BUILT, '..'), { recursive: true })
    rmSync(BUILT, { recursive: true, force: true })
    renameSync(fresh, BUILT)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

if (import.meta.main) await build()
