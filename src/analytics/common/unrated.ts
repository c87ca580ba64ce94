import { type SQL, sql } from 'drizzle-orm'
import { ratesAt } from '../../authority/rules/rates/rates.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { MISSING_RATE } from '../../cfdi/population/sums.ts'
import type { System } from '../../platform/context.ts'
import { fits, type Micros, micros, times } from '../../platform/money.ts'

/** The condition that `own` is in another currency and states no exchange rate, although its XML is known. These documents are few. */
export const IS_UNRATED = sql`(${own.version} is not null and ${sql.raw(MISSING_RATE('own'))})`

/** What is known of a document without an exchange rate: members of a JSON list, as `UNRATED` selects it. */
export interface Unrated {
  uuid: string
  tipo: string
  day: string
  issued_at: number
  utc_offset: number
  name: string | null
  currency: string
  /** Before taxes, in its currency. */
  net: Micros
  /** Including taxes, in its currency. */
  total: Micros
  products: string | null
}

/** A document as JSON, for `parseUnrated`. `name` is the column with the name of its counterparty. */
export const unratedJson = (name: 'emisor_nombre' | 'receptor_nombre' | 'uuid'): SQL =>
  sql`json_array(${own.uuid}, ${own.tipo_comprobante}, substr(${own.fecha}, 1, 10), ${own.issued_at}, ${own.utc_offset}, ${own[name]}, ${own.currency}, ${own.subtotal}, ${own.descuento}, ${own.total_micros}, ${own.products})`

/** Those of a group that state no exchange rate, separated by commas; null without any. */
export const unratedList = (name: Parameters<typeof unratedJson>[0]): SQL =>
  sql`group_concat(case when ${IS_UNRATED} then ${unratedJson(name)} end)`

/** Parses such lists, separated by commas. */
export const parseUnrated = (text: string | null): Unrated[] =>
  (JSON.parse(`[${text ?? ''}]`) as [string, string, string, number, number, string | null, string, ...(string | null)[]][]).map(
    ([uuid, tipo, day, issued_at, utc_offset, name, currency, subtotal = null, descuento = null, total = null, products = null]) => ({
      ...{ uuid, tipo, day, issued_at, utc_offset, name, currency, products },
      net: (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n),
      total: BigInt(total ?? 0),
    }),
  )

/** Returns MXN for one unit, as decimal text, for each of these documents. Null where no rate is known. At most one D1 call. */
export const ratesOf = async (system: System, unrated: readonly Pick<Unrated, 'currency' | 'day'>[]): Promise<(string | null)[]> =>
  unrated.length === 0 ? [] : (await ratesAt(system, unrated)).map((found) => found?.rate ?? null)

/** Converts an amount. Null without a rate, or when it does not fit. */
export function inPesos(amount: Micros, rate: string | null): Micros | null {
  if (rate === null) return null
  const converted = times(amount, rate)
  return fits(converted) ? converted : null
}
