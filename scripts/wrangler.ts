import { type SpawnOptions, spawn } from 'node:child_process'
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

const { d1_databases } = configured('wrangler.toml') as { d1_databases: { binding: string; migrations_dir: string }[] }

export const DATABASES: readonly LocalDatabase[] = d1_databases.map(({ binding, migrations_dir }) => ({
  binding,
  migrations: join(ROOT, migrations_dir),
}))

interface Background {
  triggers: { crons: string[] }
  queues: {
    consumers: { queue: string; max_batch_size: number; max_batch_timeout: number; max_retries: number; dead_letter_queue?: string }[]
  }
}

const background = configured('background/wrangler.toml') as unknown as Background

export const CRONS: readonly string[] = background.triggers.crons

export const { consumers: CONSUMERS } = background.queues

const ATTEMPTS = 10
/** The local storage is busy while the service writes, and nothing was done. The local bucket then answers with an unspecified error. */
const BUSY = /SQLITE_BUSY|database is locked|put: Unspecified error \(0\)/

const HUNG = 'was ended because it hung'

/** Runs a wrangler command to its end, again while the local storage is busy. Returns its output; throws an error with it on failure. */
export const wrangler = (...args: string[]): Promise<string> => repeated(BUSY, () => run(args, {}))

/** Runs a wrangler command that may be run twice, again when it hangs for a minute. */
export const wranglerTwice = (...args: string[]): Promise<string> =>
  repeated(new RegExp(`${BUSY.source}|${HUNG}`), () => run(args, { timeout: 60_000, killSignal: 'SIGKILL' }))

/** Runs a wrangler command once and writes `input` to its standard input, where other processes cannot read it. */
export const wranglerWithInput = (input: string, ...args: string[]): Promise<string> => run(args, {}, input)

async function repeated(passing: RegExp, work: () => Promise<string>): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !passing.test(String(error))) throw error
      await sleep(200 * attempt)
    }
  }
}

const run = (args: string[], options: SpawnOptions, input = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--no-warnings', WRANGLER, ...args], {
      ...options,
      cwd: ROOT,
      env: QUIET,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // A command that ends before it has read its input says itself why.
    child.stdin.on('error', () => null).end(input)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve(said) : reject(new Error(`wrangler ${args.join(' ')} ${child.killed ? HUNG : 'failed'}:\n${said}`)),
    )
  })
