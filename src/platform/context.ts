import { connect, counted, type Database } from './db/commit.ts'
import { log } from './log.ts'
import { type Settings, settingsOf } from './settings.ts'
import type { ActingOrganization, Actor, Connection, PresentedCredential } from './tenant/tenant.ts'
import { Budget, BudgetUsedUp } from './work/budget.ts'

/** What a verb needs to act for the service as a whole, in a cron or a consumer. */
export interface System {
  env: Env
  settings: Settings
  /** Every statement of `db`, of `settings.ledgers` and of `settings.events` counts against it. */
  budget: Budget
  db: Database
  now: Date
  requestId: string
}

/** A request's claim on an Idempotency-Key. Its token allows it to commit one change, or several of which it is said. */
export interface KeyClaim {
  organization_id: string
  key: string
  token: string
  /** The id of the resource that an earlier, interrupted request with the key began to make; null when there is none. */
  begun: string | null
  /** The request makes several changes, each of which can be repeated: none of them ends it. */
  isSeveral?: true
  /** What this request has changed in the events shard. */
  changed?: string
}

/** What a verb needs to act for one organization. Every query takes the organization's id from here. */
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
    /** Absent on routes that need no credential, as is `ctx`. */
    presented: PresentedCredential
    ctx: Ctx
    /** The pattern that the request matched. */
    route: string
    /** The raw body, where a route takes one. */
    upload: Uint8Array
    /** The same, where the body may be large. */
    stored: StoredUpload
  }
}

/** Builds what every entry point of the Worker starts with; the messages of a batch share a budget. Throws UnusableSettings. */
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
  }
}

/**
 * Does the work for each item, one after the other, also when it failed for one before. Throws the failures at the end, and BudgetUsedUp at
 * once.
 */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = []
  for (const item of items)
    await work(item).catch((error: unknown) => {
      if (error instanceof BudgetUsedUp) throw error
      failures.push(error)
    })
  throwAll(failures)
}

/** Throws what failed, if anything did. */
function throwAll(failures: readonly unknown[]): void {
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts failed, the first one with ${failures[0]}`)
}

/**
 * Works page by page, at least on one page, while the budget allows the statements of another. `work` gets the cursor where a page begins,
 * '' for the first one, and returns the cursor of the next one, null after the last one. A task that no longer
 * finds what it has done may return '' again. It reports what failed in a page with `fail` and goes
 * on; when it throws BudgetUsedUp, the page is repeated. Returns the cursor where another invocation continues, null at the end, where
 * the failures of this invocation are thrown.
 */
export async function pageByPage(
  system: System,
  statements: number,
  cursor: string,
  work: (cursor: string, fail: (error: unknown) => void) => Promise<string | null>,
): Promise<string | null> {
  const failures: unknown[] = []
  const fail = (error: unknown) => {
    if (error instanceof BudgetUsedUp) throw error
    failures.push(error)
  }
  let next: string | null = cursor
  try {
    do next = await work(next, fail)
    while (next !== null && system.budget.allows(statements))
  } catch (error) {
    if (!(error instanceof BudgetUsedUp)) throw error
  }
  if (next === null) throwAll(failures)
  for (const error of failures) log.error(system, 'A part of a task failed. The task goes on without it.', {}, error)
  return next
}

/**
 * Works on one ledger after the other, with one statement for each, as far as the budget allows; what fails in one keeps no other from its
 * turn. Returns the cursor where another invocation continues, null after the last ledger.
 */
export const ledgerByLedger = (
  system: System,
  cursor: string,
  work: (shard: number, ledger: D1Database) => Promise<void>,
): Promise<string | null> =>
  pageByPage(system, 1, cursor, async (from, fail) => {
    const shard = Number(from)
    await work(shard, system.settings.ledgers[shard]!).catch(fail)
    return shard + 1 < system.settings.ledgers.length ? `${shard + 1}` : null
  })
