import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { buildConsole } from '../../scripts/console.ts'
import { type Configuration, DeployError } from './configuration.ts'
import type { Area, Platform } from './platform.ts'
import type { DatabaseIds } from './resources.ts'
import type { Step } from './step.ts'

/** Runs a wrangler command with a standard input and returns its output. */
export type Wrangler = (input: string, ...args: string[]) => Promise<string>

export interface HealthCheck {
  /** Where the service is reached: an origin. */
  origin: string
  withinMs: number
}

const SCRIPTS: Area = { permission: 'Workers Scripts: Edit' }
const D1: Area = { permission: 'D1: Edit' }
/** Uploading needs the first, the consumers of queues the second. */
const DEPLOYMENT: Area = { permission: 'Workers Scripts: Edit” or “Queues: Edit' }

const STRIPE_SECRETS = ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET']

/**
 * Secrets that exist are never touched: data is encrypted with them. Those that are missing go to wrangler over its standard input, never
 * over its arguments or a file. It sets them in one call, and makes an empty Worker to hold them where there is none.
 */
export const secretsStep = (platform: Platform, { environment, worker, secrets, variables }: Configuration, wrangler: Wrangler): Step => ({
  title: 'Secrets',
  async tasks() {
    const existing = await platform.find<{ name: string }[]>(SCRIPTS, `/workers/scripts/${worker}/secrets`)
    const isMissing = (name: string) => !existing?.some((one) => one.name === name)
    const missing = secrets.filter(isMissing)
    const generate = {
      what: `generate ${missing.join(', ')}`,
      make: () => run(wrangler, SCRIPTS, keyrings(missing), 'secret', 'bulk', '--env', environment),
    }
    const others = variables['BILLING_PROVIDER'] === 'stripe' ? STRIPE_SECRETS.filter(isMissing) : []
    return [
      ...(missing.length > 0 ? [generate] : []),
      ...others.map((name) => ({
        what: `${name}, which you have from Stripe, must be set`,
        make: () =>
          Promise.reject(new DeployError(`Set ${name}: \`npx wrangler secret put ${name} --env ${environment}\`, then run this again.`)),
      })),
    ]
  },
})

const keyrings = (names: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, `1:${randomBytes(32).toString('base64')}`])))

export const migrationsStep = (
  platform: Platform,
  { environment, databases }: Configuration,
  ids: DatabaseIds,
  wrangler: Wrangler,
): Step => ({
  title: 'Migrations',
  async tasks() {
    const pending = await Promise.all(
      databases.map(async ({ binding, name, migrations }) => {
        const id = ids.get(name)
        const applied = id === undefined ? [] : await appliedTo(platform, id)
        const missing = readdirSync(migrations).filter((file) => file.endsWith('.sql') && !applied.includes(file))
        return { binding, name, count: missing.length }
      }),
    )
    return pending
      .filter(({ count }) => count > 0)
      .map(({ binding, name, count }) => ({
        what: `apply ${count} ${count === 1 ? 'migration' : 'migrations'} to ${name}`,
        make: () => run(wrangler, D1, '', 'd1', 'migrations', 'apply', binding, '--remote', '--env', environment),
      }))
  },
})

/** Names of the migrations in wrangler's own table, which a new database does not have. */
async function appliedTo(platform: Platform, database: string): Promise<string[]> {
  const ask = async (sql: string) => {
    const [answer] = await platform.send<[{ results: { name: string }[] }]>(D1, 'POST', `/d1/database/${database}/query`, { sql })
    return answer.results.map(({ name }) => name)
  }
  const [table] = await ask(`select name from sqlite_master where type = 'table' and name = 'd1_migrations'`)
  return table === undefined ? [] : ask('select name from d1_migrations')
}

/** Always: what runs is what lies here. Wrangler also sets the crons and the consumers of the queues. */
export const workerStep = ({ environment, worker }: Configuration, wrangler: Wrangler): Step => ({
  title: 'Worker',
  tasks: async () => [
    {
      what: `deploy ${worker}`,
      make: async () => {
        await buildConsole()
        return run(wrangler, DEPLOYMENT, '', 'deploy', '--env', environment)
      },
    },
  ],
})

const AGAIN_AFTER_MS = 1_000

export const healthStep = ({ environment }: Configuration, { origin, withinMs }: HealthCheck): Step => ({
  title: 'Health',
  tasks: async () => [
    {
      what: `wait until ${origin}/health answers`,
      async make() {
        let said = ''
        for (const until = Date.now() + withinMs; ; await sleep(AGAIN_AFTER_MS)) {
          try {
            const response = await fetch(`${origin}/health`, { signal: AbortSignal.timeout(10_000), redirect: 'manual' })
            const text = await response.text()
            if (response.ok && environmentIn(text) === environment) return
            said = `${response.status} ${text.slice(0, 500)}`
          } catch (error) {
            const { cause, message } = error as Error & { cause?: { code?: string } }
            said = cause?.code ?? message
          }
          if (Date.now() + AGAIN_AFTER_MS > until) break
        }
        throw new DeployError(
          `The Worker is deployed, but ${origin}/health does not answer as the service in \`${environment}\` (${said}): check that the first ` +
            'host of PUBLIC_HOSTS leads to the Worker, by a route in wrangler.toml or as its workers.dev name, and run the command again.',
        )
      },
    },
  ],
})

function environmentIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { environment?: unknown }).environment
  } catch {
    return undefined
  }
}

/** Runs wrangler; of what it prints on a failure the operator gets the error alone. */
async function run(wrangler: Wrangler, { permission }: Area, input: string, ...args: string[]): Promise<void> {
  try {
    await wrangler(input, ...args)
  } catch (error) {
    const text = stripVTControlCharacters((error as Error).message)
    const command = `\`wrangler ${args.join(' ')}\``
    // "Authentication error", which is also what a valid token without the permission gets.
    if (/\[code: (10000|9109)\]/.test(text))
      throw new DeployError(
        `CLOUDFLARE_API_TOKEN lacks the permission “${permission}”, which ${command} needs: add it and run the command again.`,
      )
    const said = /\[ERROR\] ([\s\S]*?)(?:\n\s*If you think this is a bug|\n🪵|$)/.exec(text)?.[1] ?? text
    throw new DeployError(`${command} failed: ${said.replace(/\s+/g, ' ').trim()}\nCorrect that and run the command again.`)
  }
}
