import { type SQL, sql } from 'drizzle-orm'
import { isLarge, type Named } from '../../cfdi/cash/events.ts'
import { cfdiAs } from '../../cfdi/columns.ts'
import { isOddRate, microsOfText } from '../../cfdi/open/in-pesos.ts'
import { balanceColumns, invoicesIn, isOpenSince } from '../../cfdi/open/open-through.ts'
import { MISSING_RATE, taxOf } from '../../cfdi/population/sums.ts'
import { BREAKDOWN } from '../../cfdi/taxes/breakdown.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'

/** IVA of what was open at the ends of months, from one on until another; or one balance that is to be measured. */
export interface OpenRow {
  month: string
  until: string | null
  iva: number
  /** For `partOf`, with an invoice. */
  balance: string | null
  invoice: string | null
}

const RATES = ['iva_16', 'iva_8', 'iva_otras'] as const

/** The place of the amounts in the currency of the document, in its taxes (taxes/breakdown.ts). */
const OWN = BREAKDOWN.length

/** What the balances of invoices need: `open_iva` in MXN, the IVA of each rate in its own currency, and the exchange rate in micros. */
export const openColumns =
  (partition: Partition): Named =>
  (alias) => {
    const { currency, taxes, tipo_cambio } = cfdiAs(alias)
    const isPesos = inPesos(inlined(sql`${currency}`))
    const own = (name: (typeof RATES)[number]) =>
      `iif(${isPesos}, ${taxOf(alias, name)}, coalesce(${inlined(sql`${taxes}`)}->>'$[${OWN}][${BREAKDOWN.indexOf(name)}]', 0)) + 0`
    return {
      ...balanceColumns(partition, alias, `(${MISSING_RATE(alias)} or ${isLarge(alias)})`),
      rate: `case when ${isPesos} then 1000000 when not ${isOddRate(alias)} then ${microsOfText(inlined(sql`${tipo_cambio}`))} end`,
      open_iva: RATES.map((name) => `(${taxOf(alias, name)})`).join(' + '),
      ...Object.fromEntries(RATES.map((name) => [`open_${name}`, own(name)])),
    }
  }

const shareOf = (name: string): SQL => sql`(${sql.identifier(`open_${name}`)} * 1.0 * balance / total)`
const rounded = (name: string): SQL => sql`cast(${shareOf(name)} + 0.5 as integer)`
const inMxn = (micros: SQL): SQL => sql`${micros} / 1000000 * rate + (${micros} % 1000000 * rate + 500000) / 1000000`
/** Floating point decides how a share is rounded, unless that is too close. */
const IS_CLOSE = sql.join(
  RATES.map((name) => sql`abs(${shareOf(name)} - cast(${shareOf(name)} as integer) - 0.5) < 0.01`),
  sql` or `,
)
const IVA = sql.join(
  RATES.map((name) => inMxn(rounded(name))),
  sql` + `,
)

/** Adds up the IVA of `open` by the months in which it was, as `OpenRow`. */
export const pendingGroups = (partition: Partition, first: string): SQL => sql`
  select month, until, sum(iif(is_single, 0, iva)) as iva, iif(is_single, cast(balance as text), null) as balance,
    iif(is_single, (${invoicesIn(partition, sql`select owed.uuid`)}), null) as invoice
  from (select uuid, month, until, balance, balance <> total and (rate is null or ${IS_CLOSE}) as is_single,
      iif(balance = total, open_iva, ${IVA}) as iva
    from open where ${isOpenSince(first)} limit -1) owed
  group by month, until, iif(is_single, uuid, '')`
