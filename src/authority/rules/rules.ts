import { sql } from 'drizzle-orm'
import type { System } from '../../platform/context.ts'
import { readRows } from '../../platform/db/statement.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { type RuleRow, Rules } from './dated.ts'
import { productKeys, rules } from './tables.ts'

/** The deployment's own rows; they are few. */
async function findOwnRules(d1: D1Database): Promise<RuleRow[]> {
  const rows = await readRows<typeof rules.$inferSelect>(
    d1,
    sql`select ${rules.key}, ${rules.value}, ${rules.rule_ref}, ${rules.valid_from}, ${rules.valid_to}, ${rules.source}, ${rules.confidence}
      from ${rules}`,
  )
  return rows.map((row) => ({ ...row, key: row.key as RuleRow['key'], value: JSON.parse(row.value) }))
}

/** The labels of keys of c_ClaveProdServ, of those that were loaded. */
const findLabels = (d1: D1Database, keys: readonly string[]) =>
  readRows(
    d1,
    sql<{
      key: string
      label: string
    }>`select ${productKeys.key}, ${productKeys.label} from json_each(${JSON.stringify(keys)}) j cross join ${productKeys} on ${productKeys.key} = j.value`,
  )

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

const KEY_DIGITS = 8

/**
 * Returns the Spanish labels of segments (2 digits), families (4), classes (6) and keys (8) of c_ClaveProdServ; null where none is known.
 * Takes one D1 call for classes and keys, none for the others.
 */
export async function labelsOf(system: System, rules: Rules, codes: readonly string[]): Promise<Map<string, string | null>> {
  const known = rules.find('catalog.clave_prod_serv') ?? {}
  // The authority lists a class as a key that ends in 00.
  const keyOf = (code: string): string => code.padEnd(KEY_DIGITS, '0')
  const asked = codes.filter((code) => code.length > 4 && known[code] === undefined)
  const found = asked.length === 0 ? [] : await findLabels(system.db.$client, asked.map(keyOf))
  const loaded = new Map(found.map(({ key, label }) => [key, label]))
  return new Map(codes.map((code) => [code, known[code] ?? (code.length > 4 ? (loaded.get(keyOf(code)) ?? null) : null)]))
}
