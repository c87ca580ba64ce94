import { sql } from 'drizzle-orm'
import type { System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { log } from '../../../platform/log.ts'
import { rulesAt } from '../rules.ts'
import { loadSql, RatesRefused, ratesIn } from './rates-csv.ts'

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
