import { type SQL, sql } from 'drizzle-orm'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { complements } from '../../cfdi/cash/events.ts'
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
  /** Whether the payment's amount, or which of several payments is meant, decides if it is excluded. */
  is_undecided: 0 | 1
  /** It pays for fuel. */
  is_fuel: 0 | 1
  /** As `cashEvents` has them. */
  payments: [forma: string | null, pesos: number | null, amount: string | number][] | null
  payment_of: [amount: string | number, currency: string, day: string] | null
  is_excluded: 0 | 1
  is_presumed: 0 | 1
  is_lapsed: 0 | 1
  /** It is no cash event. */
  is_unmatched: 0 | 1
}

export const parseExactRow = (text: string): ExactRow => JSON.parse(text) as ExactRow

type RateOf = (currency: string, day: string) => string | null

/** Uso «Sin efectos fiscales» of c_UsoCFDI. */
const NO_TAX_EFFECTS = 'S01'

/** SQL conditions on a cash event of a received document, with columns of its invoice. A refund is judged as the payment that it returns. */
export interface Exclusions {
  /** The law does not let its IVA be credited, whoever issued it. */
  isExcluded: SQL
  /** It bills specialized services by its product keys. */
  isInScope: SQL
  /** It pays for fuel. */
  isFuel: SQL
  /** It was paid in cash, in an amount that is not known, or is of several payments of which one was. */
  isUndecided: SQL
  /** The amount in micros of MXN above which cash is not deductible on a day. */
  limitOn: (day: string) => Micros
  isCashOn: (day: string, forma: string | null) => boolean
}

const among = (keys: readonly string[]): string => `(${keys.map((key) => `'${key}'`).join()})`
const hasKey = (prefixes: readonly string[]): string =>
  `(${prefixes.map((prefix) => `(',' || products) like '%,${prefix}%'`).join(' or ') || '0'})`

/** A note on an invoice that is not shown returns a payment of which nothing is known. */
const IS_PAYMENT = "(tipo <> 'E' or applies_to is not null)"
const isCashUnder = (rules: Rules): string => `forma in ${among(rules.get('payment_forms').cash)}`
const isFuelUnder = (rules: Rules): string => hasKey(rules.get('deduction.fuel').claves)

function isExcludedUnder(rules: Rules): string {
  const isOver = `abs(payment + 0) > ${rules.get('cash.threshold')} * 1000000`
  const isCash = `(${IS_PAYMENT} and payments is null and ${isCashUnder(rules)} and (${isOver} or ${isFuelUnder(rules)}))`
  return `coalesce(${isCash} or uso_cfdi = '${NO_TAX_EFFECTS}', 0)`
}

const isUndecidedUnder = (
  rules: Rules,
): string => `coalesce(iif(payments is null, payment is null and ${IS_PAYMENT} and ${isCashUnder(rules)},
  exists (select 1 from json_each(payments) paid where paid.value->>0 in ${among(rules.get('payment_forms').cash)})), 0)`

/**
 * The conditions of the rules in force on the days of the events; whether services are specialized depends on the day of the invoice. The
 * values of these rules are digits (authority/rules/shapes.ts).
 */
export const exclusionsOf = (rules: Rules, days: Days): Exclusions => ({
  isExcluded: sql.raw(byDay(rules, 'day', days, isExcludedUnder)),
  isInScope: sql.raw(byDay(rules, 'fecha', { ...days, first: ANY_DAY }, (on) => `coalesce(${hasKey(on.find('repse.claves') ?? [])}, 0)`)),
  isFuel: sql.raw(byDay(rules, 'day', days, (on) => `coalesce(${isFuelUnder(on)}, 0)`)),
  isUndecided: sql.raw(byDay(rules, 'day', days, isUndecidedUnder)),
  limitOn: (day) => micros(rules.on(day).get('cash.threshold'))!,
  isCashOn: (day, forma) => forma !== null && rules.on(day).get('payment_forms').cash.includes(forma),
})

/** The part of an event that the law does not let be credited: of what it pays, or of the payments that it returns. `paid` is in micros of MXN. */
export function excludedPart(row: ExactRow, paid: Micros, exclusions: Exclusions, rateOf: RateOf): readonly [part: Micros, of: Micros] {
  const { is_excluded, is_undecided, is_fuel, payments, payment_of, day } = row
  if (is_excluded === 1 || is_undecided === 0) return [is_excluded === 1 ? 1n : 0n, 1n]
  const limit = exclusions.limitOn(day)
  if (payments === null) {
    const rate = payment_of === null ? null : rateOf(payment_of[1], payment_of[2])
    const amount = payment_of === null ? paid : rate === null ? 0n : times(BigInt(payment_of[0]), rate)
    return [is_fuel === 1 || amount > limit || amount < -limit ? 1n : 0n, 1n]
  }
  const sum = (some: NonNullable<ExactRow['payments']>): Micros => some.reduce((all, [, , amount]) => all + BigInt(amount), 0n)
  const isOut = (pesos: number | null): boolean => is_fuel === 1 || (pesos !== null && BigInt(pesos) > limit)
  const all = sum(payments)
  return all === 0n ? [0n, 1n] : [sum(payments.filter(([forma, pesos]) => exclusions.isCashOn(day, forma) && isOut(pesos))), all]
}

/** The rate that `excludedPart` needs of an event. */
export const rateOfLimit = ({ payment_of }: Pick<ExactRow, 'payment_of'>): { currency: string; day: string }[] =>
  payment_of == null ? [] : [{ currency: payment_of[1], day: payment_of[2] }]
