/**
 * `npm run console`: builds the console into assets/console, and puts the viewer of /docs beside its page. Git ignores both. Everything that
 * serves them calls this first.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ROOT, runScript } from './wrangler.ts'

const BUILT = join(ROOT, 'assets/console')
const VIEWER = join(ROOT, 'assets/docs/scalar.js')

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
export async function buildConsole(): Promise<void> {
  const stamp = sources()
  const stamped = join(BUILT, 'built-from.txt')
  if (existsSync(VIEWER) && existsSync(stamped) && readFileSync(stamped, 'utf8') === stamp) return
  const fresh = join(ROOT, `.wrangler/console-${process.pid}`)
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')
  try {
    await runScript(vite, ['build', '--config', 'console/vite.config.ts'], { CONSOLE_OUT: fresh, NODE_ENV: 'production' })
    replace(fresh)
    const { viewerScript } = await import('../tools/reference/viewer.ts')
    writeFileSync(VIEWER, await viewerScript())
    writeFileSync(stamped, stamp)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/**
 * A service may be serving the folder, and watching it: new files come first, under names of their content, then the page that names them, and
 * the old files go last.
 */
function replace(fresh: string): void {
  const [from, to] = [fresh, BUILT].map((folder) => join(folder, 'assets')) as [string, string]
  mkdirSync(to, { recursive: true })
  const names = readdirSync(from)
  for (const name of names) renameSync(join(from, name), join(to, name))
  renameSync(join(fresh, 'index.html'), join(BUILT, 'index.html'))
  for (const name of readdirSync(to)) if (!names.includes(name)) rmSync(join(to, name), { force: true })
}

/** The page and the files of what was built last. */
export const consoleFiles = () => ({
  page: readFileSync(join(BUILT, 'index.html'), 'utf8'),
  files: readdirSync(join(BUILT, 'assets')).map((name) => ({ name, content: readFileSync(join(BUILT, 'assets', name)) })),
})

if (import.meta.main) await buildConsole()
