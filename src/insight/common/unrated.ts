import { fits, type Micros, micros, times } from '../../cfdi/money.ts'
import { populationOf } from '../../cfdi/population/population.ts'
import { MISSING_RATE } from '../../cfdi/population/sums.ts'
import type { System } from '../../platform/context.ts'
import { prepared, raw, sql } from '../../platform/db/fragment.ts'
import { ratesAt } from '../../rules/rates/rates.ts'
import { partitionsToRead } from '../../visibility/scoped-ledger.ts'
import type { Insight } from './insight.ts'

/** The condition that `own` is in another currency and states no exchange rate, although its XML is known. These documents are few. */
export const IS_UNRATED = `(own.version is not null and ${MISSING_RATE('own')})`

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
export const unratedJson = (name: string): string =>
  `json_array(own.uuid, own.tipo_comprobante, substr(own.fecha, 1, 10), own.issued_at, own.utc_offset, own.${name}, own.currency, own.subtotal, own.descuento, own.total_micros, own.products)`

/** Parses such lists, separated by commas. */
export const parseUnrated = (text: string | null): Unrated[] =>
  (JSON.parse(`[${text ?? ''}]`) as [string, string, string, number, number, string | null, string, ...(string | null)[]][]).map(
    ([uuid, tipo, day, issued_at, utc_offset, name, currency, subtotal = null, descuento = null, total = null, products = null]) => ({
      ...{ uuid, tipo, day, issued_at, utc_offset, name, currency, products },
      net: (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n),
      total: BigInt(total ?? 0),
    }),
  )

/** How many documents of a range, by currency and day, state no exchange rate. */
export interface UnratedDay {
  currency: string
  day: string
  n: number
}

/** Counts them. One D1 call; for surfaces that read less than all documents of their range, when these are known to be there. */
export async function unratedDays({ ledger, span: { first, last, directions } }: Insight): Promise<UnratedDay[]> {
  const statements = partitionsToRead(ledger).flatMap((partition) =>
    directions.flatMap((direction) => {
      const found = populationOf(partition, { first, last, direction, conditions: [raw(IS_UNRATED)] })
      return found
        ? [prepared(ledger.d1, sql`select own.currency, substr(own.fecha, 1, 10) as day, count(*) as n ${found} group by 1, 2`)]
        : []
    }),
  )
  return (await ledger.d1.batch<UnratedDay>(statements)).flatMap(({ results }) => results)
}

/** Returns MXN for one unit, as decimal text, for each of these documents. Null where no rate is known. At most one D1 call. */
export const ratesOf = async (system: System, unrated: readonly Pick<Unrated, 'currency' | 'day'>[]): Promise<(string | null)[]> =>
  unrated.length === 0 ? [] : (await ratesAt(system, unrated)).map((found) => found?.rate ?? null)

/** Converts an amount. Null without a rate, or when it does not fit. */
export function inPesos(amount: Micros, rate: string | null): Micros | null {
  if (rate === null) return null
  const converted = times(amount, rate)
  return fits(converted) ? converted : null
}
