import { connect, type Database } from './db/commit.ts'
import { type Settings, settingsOf } from './settings.ts'
import type { Actor, Connection, Organization } from './tenant.ts'

/** What a verb needs to act for the service as a whole, in a cron or a consumer. */
export interface System {
  env: Env
  settings: Settings
  db: Database
  now: Date
  requestId: string
}

/** A request's claim on an Idempotency-Key. Its token lets it commit a change, once. */
export interface KeyClaim {
  organization_id: string
  key: string
  token: string
  /** The id of what an earlier, interrupted attempt began to make; null when there is none. */
  begun: string | null
}

/** What a verb needs to act for one organization, whose id every query takes from here. */
export interface Ctx extends System {
  organization: Organization
  actor: Actor
  /** The organization's connection to the fiscal entity that the request names, whatever its state; null without one. */
  connection: Connection | null
  claim?: KeyClaim
}

export interface App {
  Bindings: Env
  /** route: the pattern that the request matched, for the log. upload: the raw body, where a route takes one. */
  Variables: { system: System; ctx: Ctx; requestId: string; route: string; upload: Uint8Array }
}

/** What every entry point of the Worker starts with. Throws UnusableSettings. */
export const systemOf = (env: Env, now: Date, requestId: string): System => ({
  env,
  settings: settingsOf(env),
  db: connect(env.DB),
  now,
  requestId,
})
