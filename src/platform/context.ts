import type { Connection } from '../taxpayers/connection.ts'
import { connect, type Database } from './db/commit.ts'
import { type Keyring, keyring } from './db/keyring.ts'

/** The environment, read once an isolate and refused with a clear word when it is not usable. */
export interface Settings {
  environment: 'test' | 'live'
  apiSecretKeys: Keyring
  ciecKeys: Keyring
  cursorKeys: Keyring
  webhookKeys: Keyring
  /** Names under which the service itself is reached. */
  publicHosts: readonly string[]
  ledgers: readonly D1Database[]
}

export type Role = 'owner' | 'admin' | 'member'

export interface Organization {
  id: string
  name: string
  timezone: string
  plan: string
  /** How many extractors are configured; none at all means that everything is visible (service.md, Visibility window, 4). */
  extractor_count: number
}

/** Who does something: a credential of the organization, or the service itself on its behalf. */
export type Actor = { kind: 'credential'; api_key: string; role: Role } | { kind: 'system'; process: string }

/** What a verb needs that acts for the service as a whole: a cron, a consumer. */
export interface System {
  env: Env
  settings: Settings
  db: Database
  now: Date
  requestId: string
}

/** A request's hold on an Idempotency-Key: with the token it may commit a change, once. */
export interface Hold {
  organization_id: string
  key: string
  token: string
  /** What an attempt before this one has begun to make, and did not live to finish. */
  begun: string | null
}

/** What a verb needs that acts for one organization. Its tenant comes from here, in every query. */
export interface Ctx extends System {
  organization: Organization
  actor: Actor
  /** The organization's connection to the fiscal entity that the request names, whatever its state; null without one. */
  connection: Connection | null
  hold?: Hold
}

export interface App {
  Bindings: Env
  /** route: the pattern of the route that a request matched, for the log. upload: the raw body, where a route takes one. */
  Variables: { system: System; ctx: Ctx; requestId: string; route: string; upload: Uint8Array }
}

const known = new WeakMap<object, Settings>()

export function settingsOf(env: Env): Settings {
  const settings = known.get(env) ?? read(env)
  known.set(env, settings)
  return settings
}

function read(env: Env): Settings {
  if (env.ENVIRONMENT !== 'test' && env.ENVIRONMENT !== 'live') throw new Error('ENVIRONMENT must be test or live.')
  const bindings = env as unknown as Record<string, unknown>
  const names = Object.keys(bindings).filter((name) => /^LEDGER_\d+$/.test(name))
  const ledgers = names.map((_, n) => bindings[`LEDGER_${n}`] as D1Database)
  if (ledgers.length === 0 || ledgers.includes(undefined as never)) throw new Error('LEDGER_0 … LEDGER_n must be bound without a gap.')
  return {
    environment: env.ENVIRONMENT,
    apiSecretKeys: keyring('API_SECRET_KEYS', env.API_SECRET_KEYS),
    ciecKeys: keyring('CIEC_KEYS', env.CIEC_KEYS),
    cursorKeys: keyring('CURSOR_KEYS', env.CURSOR_KEYS),
    webhookKeys: keyring('WEBHOOK_KEYS', env.WEBHOOK_KEYS),
    publicHosts: env.PUBLIC_HOSTS.toLowerCase()
      .split(',')
      .map((host) => host.trim())
      .filter((host) => host !== ''),
    ledgers,
  }
}

/** What every way into the Worker starts with. */
export const systemOf = (env: Env, now: Date, requestId: string): System => ({
  env,
  settings: settingsOf(env),
  db: connect(env.DB),
  now,
  requestId,
})
