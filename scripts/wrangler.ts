import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'smol-toml'

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

/** A section of a configuration of wrangler, as it stands in the file. */
export type Section = Record<string, unknown>

/** A configuration of wrangler, without what wrangler itself would add. Its top level is what runs here. */
export const configured = (file: string): Section => parse(readFileSync(join(ROOT, file), 'utf8'))

interface LocalDatabase {
  binding: string
  migrations: string
}

const { d1_databases, triggers } = configured('wrangler.toml') as {
  d1_databases: { binding: string; migrations_dir: string }[]
  triggers: { crons: string[] }
}

export const DATABASES: readonly LocalDatabase[] = d1_databases.map(({ binding, migrations_dir }) => ({
  binding,
  migrations: join(ROOT, migrations_dir),
}))

export const CRONS: readonly string[] = triggers.crons

const ATTEMPTS = 10
/** The local storage is busy while the service writes, and nothing was done. The local bucket then answers with an unspecified error. */
const BUSY = /SQLITE_BUSY|database is locked|put: Unspecified error \(0\)/

const HUNG = 'was ended because it hung'

/** Runs a wrangler command to its end, again while the local storage is busy. Returns its output; throws an error with it on failure. */
export const wrangler = (...args: string[]): Promise<string> => repeated(BUSY, () => run(args, {}))

/** Runs a wrangler command that may be run twice, again when it hangs for a minute. */
export const wranglerTwice = (...args: string[]): Promise<string> =>
  repeated(new RegExp(`${BUSY.source}|${HUNG}`), () => run(args, { ...OWN_GROUP, timeout: 60_000 }))

/** Runs a wrangler command once and writes `input` to its standard input, where other processes cannot read it. */
export const wranglerWithInput = (input: string, ...args: string[]): Promise<string> => run(args, {}, input)

async function repeated(passing: RegExp, work: () => Promise<string>): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (isEnding || attempt === ATTEMPTS || !passing.test(String(error))) throw error
      await sleep(200 * attempt)
    }
  }
}

/** Runs a script of ours to its end, in a process group of its own. Throws an error with its output on failure. */
export const runScript = (file: string, args: string[] = [], environment: Record<string, string> = {}): Promise<string> =>
  runNode([file, ...args], { ...OWN_GROUP, env: { ...QUIET, ...environment } }, '')

const OWN_GROUP: SpawnOptions = { detached: true, killSignal: 'SIGKILL' }
/** The commands that run in process groups of their own. */
const running = new Set<ChildProcess>()
let isEnding = false

/** Ends these commands, and lets none of them be repeated. */
export function endCommands(): void {
  isEnding = true
  for (const { pid } of running)
    try {
      process.kill(-pid!, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
}

const run = (args: string[], options: SpawnOptions, input = ''): Promise<string> => runNode([WRANGLER, ...args], options, input)

const runNode = (args: string[], options: SpawnOptions, input: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--no-warnings', ...args], {
      env: QUIET,
      ...options,
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (options.detached && child.pid !== undefined) running.add(child)
    // A command that ends before it has read its input says itself why.
    child.stdin.on('error', () => null).end(input)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      running.delete(child)
      const command = args.join(' ').replace(WRANGLER, 'wrangler')
      code === 0 ? resolve(said) : reject(new Error(`${command} ${child.killed ? HUNG : 'failed'}:\n${said}`))
    })
  })
