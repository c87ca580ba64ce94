import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BUILD, BUILT, isStale } from '../../scripts/build.ts'
import { runScript } from '../../scripts/wrangler.ts'
import { CONFIG } from './bindings.ts'

export const ROOT = join(import.meta.dirname, '..', '..')

const require = createRequire(import.meta.url)
const run = promisify(execFile)

const dryRun = (outdir: string, more: readonly string[]) =>
  run(
    process.execPath,
    [join(require.resolve('wrangler/package.json'), '..', 'bin', 'wrangler.js'), 'deploy', '--dry-run', '--outdir', outdir, ...more],
    {
      cwd: ROOT,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', PREPARED: '1' },
    },
  )

type Built = 'service' | 'metered' | 'storage' | 'work' | 'outside' | 'empty'

/** Bundles a Worker of the bench. */
async function buildWorker(folder: string, name: Exclude<Built, 'service'>): Promise<string> {
  const config = join(folder, `${name}.json`)
  const main = join(import.meta.dirname, 'workers', `${name}.ts`)
  await writeFile(config, JSON.stringify({ name, main, compatibility_date: CONFIG.compatibility_date, minify: name === 'empty' }))
  await dryRun(join(folder, name), ['--config', config])
  return join(folder, name, `${name}.js`)
}

/** Once a year the sandbox has an invoice of 20 to 120 lines. Here it has 20, because costs are told without longer documents. */
const LINES = { usual: '.int(20, 120)', here: '.int(20, 20)' }

/** Bundles the service with its meter. */
async function buildMetered(folder: string): Promise<string> {
  const file = await buildWorker(folder, 'metered')
  const [before, after, ...others] = (await readFile(file, 'utf8')).split(LINES.usual)
  if (after === undefined || others.length > 0) throw new Error('The sandbox decides otherwise how many lines its long invoices have.')
  await writeFile(file, before + LINES.here + after)
  return file
}

/** Bundles a Worker: its file. The service is bundled as a deployment would, and again only when its sources have changed. */
export async function build(folder: string, name: Built): Promise<string> {
  if (name !== 'service') return name === 'metered' ? buildMetered(folder) : buildWorker(folder, name)
  if (isStale()) await runScript(BUILD)
  return join(BUILT, 'index.js')
}
