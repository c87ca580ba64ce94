import type { System } from '../../platform/context.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { type RuleRow, Rules } from './dated.ts'
import { findOwnRules } from './store.ts'

const DEFAULTS = 'https://assets.invalid/rules.json'

/** How long an isolate keeps the rules that it read, in milliseconds. */
const FRESH_MS = 60_000

// Hold rows and not promises, because a request must not await the I/O of another request.
const defaults = new WeakMap<Fetcher, readonly RuleRow[]>()
const own = new WeakMap<D1Database, { rows: readonly RuleRow[]; at: number }>()

async function defaultsOf({ ASSETS }: Env): Promise<readonly RuleRow[]> {
  const known = defaults.get(ASSETS)
  if (known) return known
  const response = await ASSETS.fetch(DEFAULTS)
  if (!response.ok) throw new Error(`The file of the rules answered ${response.status}.`)
  const rows = (await response.json()) as RuleRow[]
  defaults.set(ASSETS, rows)
  return rows
}

async function ownOf({ env, db }: System): Promise<readonly RuleRow[]> {
  const known = own.get(env.DB)
  if (known && Math.abs(Date.now() - known.at) < FRESH_MS) return known.rows
  const rows = await findOwnRules(db.$client)
  own.set(env.DB, { rows, at: Date.now() })
  return rows
}

/**
 * Returns the rules that are in force on a day: the deployment's own, and the defaults where it has none. Takes at most one D1 call, and
 * none within a minute. A change by the operator is seen after a minute.
 */
export async function rulesAt(system: System, day: Day): Promise<Rules> {
  const [ownRows, defaultRows] = [await ownOf(system), await defaultsOf(system.env)]
  return Rules.of(ownRows, defaultRows, day)
}
