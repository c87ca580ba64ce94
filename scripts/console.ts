/** `npm run console`: builds the console into assets/console, which git ignores. Everything that serves it calls this first. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ROOT } from './wrangler.ts'

const BUILT = join(ROOT, 'assets/console')

/** What the console is made from, in one hash: the same sources and packages are built once. */
function sources(): string {
  const hash = createHash('sha256')
  const files = readdirSync(join(ROOT, 'console'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
  for (const file of [...files, join(ROOT, 'package-lock.json')]) hash.update(file.slice(ROOT.length)).update(readFileSync(file))
  return hash.digest('hex')
}

/** Builds the console unless what lies there was built from the same sources. Throws an error with the reason when it cannot be built. */
export function buildConsole(): void {
  const stamp = sources()
  const stamped = join(BUILT, 'built-from.txt')
  if (existsSync(stamped) && readFileSync(stamped, 'utf8') === stamp) return
  // A service may be serving the folder, and another process may be building it: each builds a folder of its own and puts it there whole.
  const [fresh, old] = ['new', 'old'].map((name) => join(ROOT, `.wrangler/console-${name}-${process.pid}`)) as [string, string]
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, 'build', '--config', 'console/vite.config.ts'], {
    cwd: ROOT,
    env: { ...process.env, CONSOLE_OUT: fresh, NODE_ENV: 'production' },
    encoding: 'utf8',
  })
  try {
    if (status !== 0) throw new Error(`The console could not be built:\n${stdout}${stderr}`)
    writeFileSync(join(fresh, 'built-from.txt'), stamp)
    mkdirSync(dirname(BUILT), { recursive: true })
    if (existsSync(BUILT)) renameSync(BUILT, old)
    renameSync(fresh, BUILT)
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) buildConsole()
