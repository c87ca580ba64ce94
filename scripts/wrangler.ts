import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const ROOT = resolve(import.meta.dirname, '..')

/** Run by itself and not through wrangler's launcher, which would be one more process to look after. */
export const WRANGLER = createRequire(import.meta.url).resolve('wrangler')

/** Local, silent about itself, asking nobody anything and nothing. */
export const QUIET: NodeJS.ProcessEnv = {
  ...process.env,
  CI: '1',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
  WRANGLER_WRITE_LOGS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  X_LOCAL_EXPLORER: 'false',
  // A trace of every call, kept for ever: half of the local service's time.
  X_LOCAL_OBSERVABILITY: 'false',
  // Our own commands prepare what the build command of wrangler.toml would (scripts/prepare.ts).
  PREPARED: '1',
}

const configuration = readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')
/** What is said before the first environment, which is what runs here. */
const local = configuration.slice(0, configuration.search(/^\[env\./m))

interface LocalDatabase {
  binding: string
  migrations: string
}

export const DATABASES: readonly LocalDatabase[] = [...local.matchAll(/^ *\{ binding = "(\w+)", .*migrations_dir = "(.+)" \},$/gm)].map(
  ([, binding, directory]) => ({ binding: binding!, migrations: join(ROOT, directory!) }),
)

export const CRONS: readonly string[] = JSON.parse(/^crons = (\[.*\])$/m.exec(local)?.[1] ?? '[]')

const ATTEMPTS = 10
/** The local storage is busy while the service writes, and nothing was done. The local bucket then answers with an unspecified error. */
const BUSY = /SQLITE_BUSY|database is locked|put: Unspecified error \(0\)/

/** Runs a wrangler command to its end, again while the local storage is busy. Returns its output; throws an error with it on failure. */
export async function wrangler(...args: string[]): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await wranglerWithInput('', ...args)
    } catch (error) {
      if (attempt === ATTEMPTS || !BUSY.test(String(error))) throw error
      await sleep(200 * attempt)
    }
  }
}

/** Runs a wrangler command once and writes `input` to its standard input, where other processes cannot read it. */
export const wranglerWithInput = (input: string, ...args: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--no-warnings', WRANGLER, ...args], {
      cwd: ROOT,
      env: QUIET,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // A command that ends before it has read its input says itself why.
    child.stdin.on('error', () => null).end(input)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(said) : reject(new Error(`wrangler ${args.join(' ')} failed:\n${said}`))))
  })
