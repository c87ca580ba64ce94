import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { readRows } from '../../../platform/db/statement.ts'
import { log } from '../../../platform/log.ts'
import { isPesos } from '../../../platform/money.ts'
import type { Day } from '../../../platform/time/calendar.ts'
import { sandboxRate } from '../../sandbox/world/comprobante.ts'
import { rulesAt } from '../rules.ts'
import { fxRates } from '../tables.ts'
import { loadSql, RatesRefused, ratesIn } from './rates-csv.ts'

/** A rate and its source: `banxico`, `sandbox`, or what the operator named; `MXN` where nothing is converted. */
export type FxRate = typeof fxRates.$inferSelect

/** A currency and the day on which an amount in it is to be converted. */
export interface RateWanted {
  currency: string
  day: Day
}

const f = alias(fxRates, 'f')

/** The last rates before these days, one for each `[currency, day]` that has one, with its place there. Reads two rows for each. */
const findRates = (d1: D1Database, wanted: readonly (readonly [string, Day])[]) =>
  readRows<FxRate & { n: number }>(
    d1,
    sql`select j.key as n, ${f.currency}, ${f.date}, ${f.rate}, ${f.source} from json_each(${JSON.stringify(wanted)}) j
       cross join ${fxRates} ${f} on ${f.currency} = j.value->>0
       and ${f.date} = (select max(${fxRates.date}) from ${fxRates} where ${fxRates.currency} = j.value->>0
         and ${fxRates.date} < j.value->>1)`,
  )

/**
 * Returns the rate that applies on each day (CFF 20): the last one that the Diario Oficial published up to the day before. Null where none
 * is loaded. In the sandbox, a currency without loaded rates until then has the sandbox's own. Takes at most one D1 call.
 */
export async function ratesAt(system: System, wanted: readonly RateWanted[]): Promise<(FxRate | null)[]> {
  const keyOf = ({ currency, day }: RateWanted) => `${currency} ${day}`
  const asked = [...new Map(wanted.filter(({ currency }) => !isPesos(currency)).map((one) => [keyOf(one), one])).values()]
  const pairs = asked.map(({ currency, day }) => [currency, day] as const)
  const found = pairs.length === 0 ? [] : await findRates(system.db.$client, pairs)
  const loaded = new Map(found.map(({ n, ...rate }) => [keyOf(asked[n]!), rate]))
  const isSandbox = system.settings.taxAuthority === 'sandbox'
  return wanted.map((one) => {
    const { currency, day } = one
    if (isPesos(currency)) return { currency, rate: '1', date: day, source: 'MXN' }
    const known = loaded.get(keyOf(one))
    if (known) return known
    const invented = isSandbox ? sandboxRate(currency, day) : null
    return invented && { currency, ...invented, source: 'sandbox' }
  })
}

const TIMEOUT_MS = 60_000
/** All rates of five currencies since 1991 have less than 2 MB. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Loads the file at FX_RATES_URL, as `npm run rates` does with one of the operator's. Does nothing when no address is set. A file that is
 * refused is logged, and the stored rates stay. Throws when the address cannot be read; the error does not contain its path and query, which
 * may be secret.
 */
export async function refreshRates(system: System): Promise<void> {
  const url = system.settings.fxRatesUrl
  if (url === null) return
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new Error(`FX_RATES_URL could not be fetched (${error.name}).`)
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`FX_RATES_URL, at ${new URL(url).host}, answered ${response.status}.`)
  }
  const bytes = await response.arrayBuffer()
  if (bytes.byteLength > MAX_BYTES) throw new Error(`The response of FX_RATES_URL exceeds ${MAX_BYTES} bytes.`)
  const today = system.now.toISOString().slice(0, 10)
  const rules = await rulesAt(system, today)
  try {
    const { rates, source } = ratesIn(new TextDecoder().decode(bytes), rules.get('fx.series'), today)
    const d1 = system.db.$client
    await commit(
      d1,
      loadSql(rates, source).map((text) => sql.raw(text)),
    )
    log.info(system, { message: 'Exchange rates were loaded.', rates: rates.length })
  } catch (error) {
    if (!(error instanceof RatesRefused)) throw error
    log.error(system, 'Exchange rates were refused. The stored ones stay in use.', { detail: error.message })
  }
}
