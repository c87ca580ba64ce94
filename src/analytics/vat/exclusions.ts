import { type SQL, sql } from 'drizzle-orm'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { complements } from '../../cfdi/cash/events.ts'
import type { EventSource } from '../../cfdi/cash/exact-amounts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import { listedAmong } from '../../lists/listings/listing.ts'
import { type KnownRegistration, lapsedStatements } from '../../lists/repse/registrations.ts'
import { readAll } from '../../platform/db/statement.ts'
import { type Micros, micros, times } from '../../platform/money.ts'
import { type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { supplierStatements } from '../risk/store.ts'

/** The suppliers under article 69-B today, and those without a REPSE registration at the end of the range. */
export interface KnownSuppliers {
  presumed: ReadonlySet<string>
  definitive: ReadonlySet<string>
  registrations: ReadonlyMap<string, KnownRegistration>
}

export const UNKNOWN_SUPPLIERS: KnownSuppliers = { presumed: new Set(), definitive: new Set(), registrations: new Map() }

const SOURCE = 'sat_69b'

/** Selects the issuers of complements with a payment in the range. */
const paidStatement = (partition: Partition, { span }: Insight) =>
  complements(partition, 1, span).map((paid) => sql`select distinct counterparty_rfc as rfc from (${paid})`)

/**
 * Looks up suppliers that were paid in the range, and maybe others of its months: on the list of article 69-B and in the REPSE registry. One
 * call to the ledger and one to the control database.
 */
export async function knownSuppliers(insight: Insight): Promise<KnownSuppliers> {
  const { ctx, today, ledger, span } = insight
  const statements = [
    ...supplierStatements(ledger, span),
    ...partitionsToRead(ledger).flatMap((partition) => paidStatement(partition, insight)),
  ]
  const rfcs = new Set((await readAll<{ rfc: string }>(ledger.d1, statements)).map(({ rfc }) => rfc))
  const { listings, rest } = await listedAmong(
    { db: ctx.db, organization_id: ledger.organization_id },
    listedAs(await listedOf(ctx), [SOURCE]),
    today,
    [SOURCE],
    lapsedStatements(ctx.db, [...rfcs], span.last),
  )
  const among = (situacion: string) =>
    new Set([...listings].flatMap(([rfc, all]) => (all.some((one) => one.situacion === situacion) ? [rfc] : [])))
  return {
    ...{ presumed: among('presunto'), definitive: among('definitivo') },
    registrations: new Map((rest.flat() as KnownRegistration[]).map((row) => [row.rfc, row])),
  }
}

/** A movement that is to be measured. */
export interface ExactRow {
  uuid: string
  applies_to: string | null
  tipo: string
  day: string
  source: string
  /** The day of the invoice, when its total in MXN is not known and it was paid in cash. */
  cash_of: string | null
  is_excluded: 0 | 1
  is_presumed: 0 | 1
  is_lapsed: 0 | 1
  /** It is no cash event. */
  is_unmatched: 0 | 1
}

export const parseExactRow = (text: string): ExactRow => JSON.parse(text) as ExactRow

/** Uso «Sin efectos fiscales» of c_UsoCFDI. */
const NO_TAX_EFFECTS = 'S01'

/** SQL conditions on a cash event of a received document, with columns of its invoice. */
export interface Exclusions {
  /** The law does not let its IVA be credited, whoever issued it. */
  isExcluded: SQL
  /** It bills specialized services by its product keys. */
  isInScope: SQL
  /** It was paid in cash, so that it depends on its total. */
  isCash: SQL
  /** The total in micros of MXN above which cash is not deductible on a day. */
  limitOn: (day: string) => Micros
}

const among = (keys: readonly string[]): string => `(${keys.map((key) => `'${key}'`).join()})`
const hasKey = (prefixes: readonly string[]): string =>
  `(${prefixes.map((prefix) => `(',' || products) like '%,${prefix}%'`).join(' or ') || '0'})`

const IS_INVOICE = "tipo <> 'E'"
const isCashUnder = (rules: Rules): string => `(${IS_INVOICE} and forma in ${among(rules.get('payment_forms').cash)})`

function isExcludedUnder(rules: Rules): string {
  const { electronic, review } = rules.get('payment_forms')
  const isUnelectronic = `forma is not null and forma not in ${among([...electronic, ...review, '99'])}`
  const isFuel = `${IS_INVOICE} and ${isUnelectronic} and ${hasKey(rules.get('deduction.fuel').claves)}`
  const isOver = `${isCashUnder(rules)} and total_mxn + 0 > ${rules.get('cash.threshold')} * 1000000`
  return `coalesce((${isOver}) or (${isFuel}) or uso_cfdi = '${NO_TAX_EFFECTS}', 0)`
}

/**
 * The conditions of the rules in force on the days of the events; whether services are specialized depends on the day of the invoice. The
 * values of these rules are digits (authority/rules/shapes.ts).
 */
export const exclusionsOf = (rules: Rules, days: Days): Exclusions => ({
  isExcluded: sql.raw(byDay(rules, 'day', days, isExcludedUnder)),
  isInScope: sql.raw(byDay(rules, 'fecha', { ...days, first: ANY_DAY }, (on) => `coalesce(${hasKey(on.find('repse.claves') ?? [])}, 0)`)),
  isCash: sql.raw(byDay(rules, 'day', days, isCashUnder)),
  limitOn: (day) => micros(rules.on(day).get('cash.threshold'))!,
})

/**
 * Whether an event that was paid in cash is of an invoice over the limit. Only for invoices whose total in MXN SQL leaves to us, because
 * they state no exchange rate.
 */
export function isOverLimit(
  { cash_of, day, source }: Pick<ExactRow, 'cash_of' | 'day' | 'source'>,
  { limitOn }: Exclusions,
  rateOfDay: (currency: string, day: string) => string | null,
): boolean {
  if (cash_of === null) return false
  const [, , , , currency, , total] = JSON.parse(source) as EventSource
  const rate = currency === null ? null : rateOfDay(currency, cash_of)
  return rate !== null && times(BigInt(total), rate) > limitOn(day)
}

/** The rate that `isOverLimit` needs of an event. */
export const rateOfLimit = ({ cash_of = null, source }: Partial<ExactRow>): { currency: string; day: string }[] => {
  const currency = cash_of === null ? null : (JSON.parse(source!) as EventSource)[4]
  return currency === null ? [] : [{ currency, day: cash_of! }]
}
