import { inPesos } from '../../cfdi/money.ts'
import { countedApplications } from '../../cfdi/open/applications.ts'
import { isSubstituted } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { isAfterCeiling, isCounted, type Partition } from '../../visibility/scoped-ledger.ts'

const HALF_CENT = 5_000
const rate = (alias: string) => `case when ${inPesos(`${alias}.currency`)} then 1 else ${alias}.tipo_cambio end`

const applied = (partition: Partition, conditions: string): string =>
  `from cfdi_payments p cross join cfdi source where p.entity = ${partition.number} and p.invoice = own.uuid and source.uuid = p.source
    and source.emisor_rfc = own.emisor_rfc and ${inlined(isCounted(partition, 'source'))} and ${conditions}`

const SAME_CURRENCY = "coalesce(p.currency, own.currency, 'MXN') = coalesce(own.currency, 'MXN')"

/**
 * The condition that a payment complement of its issuer, valid or cancelled, pays the invoice `own` in its currency; with `what`, that of
 * these complements, the aliases `p` and `source`.
 */
export const isPaidBy = (partition: Partition, cancelled: 0 | 1, more = '1', what: string | null = null): string =>
  `${what === null ? 'exists (select 1' : `(select ${what}`} ${applied(
    partition,
    `p.kind = 'P' and source.cancelled = ${cancelled} and ${SAME_CURRENCY} and ${more}${cancelled === 0 ? ` and not ${inlined(isSubstituted(partition, 'source'))}` : ''}`,
  )})`

/** What counts of complements and, unless it is said otherwise, credit notes up to the ceiling for the PPD invoice `own`, in micros. */
const appliedUpTo = (partition: Partition, more = '1'): string => {
  const isSame = "p.kind = 'P' or coalesce(p.currency, 'MXN') = coalesce(own.currency, 'MXN')"
  const amount = `iif(${isSame}, p.amount + 0, p.amount * (${rate('p')}) / (${rate('own')}))`
  return `coalesce((select sum(${amount}) ${inlined(countedApplications(partition))} and ${more}), 0)`
}
const leftAtCeiling = (partition: Partition): string => `(own.total_micros - ${appliedUpTo(partition)})`

/** The condition that something was issued after the ceiling that changed what is paid of `own`. Null without a ceiling. */
const isPaidBeyond = (partition: Partition): string | null => {
  const isBeyond = isAfterCeiling(partition, 'own', 'applied_until')
  return isBeyond && inlined(isBeyond)
}

/** What complements paid of the PPD invoice `own`, in micros of its currency. */
export function paidOf(partition: Partition): string {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null ? 'own.paid' : `case when ${isBeyond} then ${appliedUpTo(partition, "p.kind = 'P'")} else own.paid end`
}

/** What credit notes take off the PPD invoice `own`, in micros of its currency. */
export function creditedOf(partition: Partition): string {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? 'own.credited'
    : `case when ${isBeyond} then cast(round(${appliedUpTo(partition, "p.kind = 'E'")}) as integer) else own.credited end`
}

const STORED_OPEN = "own.payment_status in ('unpaid', 'partially_paid')"

/**
 * The condition that something is left to pay of the invoice `own`, PPD, as the ceiling shows it. The stored status says so, unless something
 * that was issued after the ceiling has changed it.
 */
export function isOpen(partition: Partition): string {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null ? STORED_OPEN : `case when ${isBeyond} then ${leftAtCeiling(partition)} >= ${HALF_CENT} else ${STORED_OPEN} end`
}

/** The condition that money moved for the invoice `own`, or moved after a day: at once, or by complements. */
export const isPaid = (partition: Partition, day: string | null): string => {
  const after = day === null ? '1' : `substr(p.fecha_pago, 1, 10) > ${day}`
  const atOnce = day === null ? '1' : `substr(own.fecha, 1, 10) > ${day} and not ${isPaidBy(partition, 0)}`
  return `(${isPaidBy(partition, 0, after)} or (own.metodo_pago = 'PUE' and ${atOnce}))`
}
