import { connect, counted, type Database } from './db/commit.ts'
import type { CountedLimit } from './failures.ts'
import { type Settings, settingsOf } from './settings.ts'
import type { Scope } from './tenant/scopes.ts'
import type { ActingOrganization, Actor, Connection, PresentedCredential } from './tenant/tenant.ts'
import { Budget } from './work/budget.ts'

/** The context of a verb that acts for the service as a whole, in a cron or a consumer. */
export interface System {
  env: Env
  settings: Settings
  /** Every statement of `db`, of `settings.ledgers` and of `settings.events` counts against it. */
  budget: Budget
  db: Database
  now: Date
  requestId: string
  /** The address that the request comes from, and its network (network.ts); empty in the background. */
  address: string
  network: string
}

/** A request's claim on an Idempotency-Key. Its token allows it to commit one change, or several when `isSeveral`. */
export interface KeyClaim {
  organization_id: string
  key: string
  token: string
  /** The id of the resource that an earlier, interrupted request with the key began to make; null when there is none. */
  begun: string | null
  /** The request makes several changes, each of which can be repeated: none of them ends it. */
  isSeveral?: true
  /** The resource that it has changed in the events shard. */
  changed?: string
  /** The request was carried out before, and its answer was not kept: it is answered from what there is, and changes nothing. */
  isCarriedOut?: true
}

/** The context of a verb that acts for one organization. Every query takes the organization's id from here. */
export interface Ctx extends System {
  organization: ActingOrganization
  actor: Actor
  /** The organization's connection to the fiscal entity that the request names, whatever its state; null when there is none. */
  connection: Connection | null
  claim?: KeyClaim
}

/** The events shard of the organization: the database with its events, deliveries, alerts and webhooks. */
export const eventsOf = ({ settings, organization }: Pick<Ctx, 'settings' | 'organization'>): Database =>
  connect(settings.events[organization.events_shard]!)

/** Whether the organization has to confirm the e-mail address of its sign-up before it connects and imports. */
export const awaitsConfirmation = ({ settings, organization }: Pick<Ctx, 'settings' | 'organization'>): boolean =>
  settings.mail !== null && organization.email_confirmed_at === null

/** Who sent a request, and what is to be noted about it after its answer, if anything. */
export interface Authenticated {
  ctx: Ctx
  afterwards: (() => Promise<void>) | null
}

/** Finds out who sent a request. Throws Failure 401 unless the presented credential is valid. */
export type Authenticate = (
  system: System,
  presented: PresentedCredential | undefined,
  fiscal_entity_id: string | undefined,
) => Promise<Authenticated>

/** A body that went into the bucket as it came. It is deleted at the end of the request unless it is kept. */
export interface StoredUpload {
  key: string
  size: number
  /** Hexadecimal. */
  sha256: string
  isKept: boolean
}

export interface App {
  Bindings: Env
  Variables: {
    requestId: string
    system: System
    authenticate: Authenticate
    /** The limits that the request was counted against; absent when it was against none. */
    limits?: CountedLimit[]
    /** Absent on routes that need no credential, as is `ctx`. */
    presented: PresentedCredential
    ctx: Ctx
    /** The pattern that the request matched. */
    route: string
    /** What its credential must be allowed to do; absent on routes that need none. */
    scope: Scope
    /** The raw body, where a route takes one. */
    upload: Uint8Array
    /** The same, where the body may be large. */
    stored: StoredUpload
  }
}

/** Builds the system with which every entry point of the Worker starts; the messages of a batch share a budget. Throws UnusableSettings. */
export function systemOf(env: Env, now: Date, requestId: string, budget = new Budget()): System {
  const settings = settingsOf(env)
  const each = (databases: readonly D1Database[]) => databases.map((d1) => counted(d1, budget))
  return {
    env,
    settings: { ...settings, ledgers: each(settings.ledgers), events: each(settings.events) },
    budget,
    db: connect(counted(env.DB, budget)),
    now,
    requestId,
    ...{ address: '', network: '' },
  }
}
