import { dividedBy, type Micros, times } from '../../platform/money.ts'
import { type Applied, creditOf, notCountedReason, type Payable, rateOf } from '../totals.ts'

/**
 * What a credit note does (LIVA 7, 1-B). One that names an invoice first lowers what is open of it at that instant, payments by FechaPago.
 * That part is no money. Only what goes beyond was paid before, and is returned.
 */

/** Something that was applied to an invoice, as far as it decides what a credit note returns. */
interface Settlement {
  kind: 'P' | 'E'
  /** FechaPago of a payment, Fecha of a credit note. */
  at: string
  source: string
  /** Micros of the invoice's currency. */
  amount: Micros
}

/** What happens at one instant: payments before credit notes, and these by UUID. */
const isBefore = (a: Settlement, b: Settlement): boolean =>
  a.at !== b.at ? a.at < b.at : a.kind !== b.kind ? a.kind === 'P' : a.source < b.source

const inOrder = (list: readonly Settlement[]): Settlement[] => [...list].sort((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0))

const least = (a: Micros, b: Micros): Micros => (a < b ? a : b)
const notNegative = (amount: Micros): Micros => (amount > 0n ? amount : 0n)

/**
 * The part of a credit note that returns money, in the invoice's currency: what is beyond the open part, and never more than was paid and is
 * not returned yet. An invoice that is paid at once has no open part.
 */
export function returnedBy(
  source: string,
  { total, isPaidAtOnce }: { total: Micros; isPaidAtOnce: boolean },
  applied: readonly Settlement[],
): Micros {
  let [open, paid] = isPaidAtOnce ? [0n, total] : [total, 0n]
  for (const one of inOrder(applied)) {
    if (one.kind === 'P') {
      open = notNegative(open - one.amount)
      paid += one.amount
      continue
    }
    const lowered = least(one.amount, open)
    const returned = least(one.amount - lowered, paid)
    open -= lowered
    paid -= returned
    if (one.source === source) return returned
  }
  return 0n
}

/** An amount in parts that are proportional to weights and add up to it. */
function inProportion(amount: Micros, weights: readonly Micros[]): Micros[] {
  const whole = weights.reduce((sum, one) => sum + one, 0n)
  if (whole === 0n && weights.length > 0) return inProportion(amount, Array<Micros>(weights.length).fill(1n))
  let [passed, given] = [0n, 0n]
  return weights.map((weight) => {
    passed += weight
    const part = (amount * passed) / whole - given
    given += part
    return part
  })
}

/** An invoice that a credit note names, in the currency of the note; null when that is not known of it. */
type Named = { open: Micros; total: Micros } | null

/** Divides a credit note among the invoices that it names: by what is open of each, then by their totals. Unknown ones get an equal part. */
export function dividedAmong(amount: Micros, invoices: readonly Named[]): Micros[] {
  const known = invoices.filter((one) => one !== null)
  const equal = amount / BigInt(invoices.length)
  const rest = known.length === 0 ? 0n : amount - equal * BigInt(invoices.length - known.length)
  const open = known.reduce((sum, one) => sum + one.open, 0n)
  const lowered = inProportion(
    least(rest, open),
    known.map((one) => one.open),
  )
  const beyond = inProportion(
    notNegative(rest - open),
    known.map((one) => one.total),
  )
  const parts = known.map((_, n) => lowered[n]! + beyond[n]!)
  const remainder = known.length === 0 ? amount - equal * BigInt(invoices.length) : 0n
  return invoices.map((one, n) => (one === null ? equal + (n === 0 ? remainder : 0n) : parts.shift()!))
}

/** A credit note as it stands beside the invoices that it names. */
interface Note extends Pick<Applied, 'currency' | 'tipo_cambio' | 'emisor_rfc' | 'receptor_rfc' | 'issued_at'> {
  uuid: string
  fecha: string
}

/**
 * What is open of an invoice when a credit note names it, in the note's currency. It rests on what was issued until then, so that no reader
 * who sees the note could know otherwise. Null for what is no invoice of the same parties that is known then.
 */
export function openAt(
  note: Note,
  invoice: (Payable & { issued_at: number }) | undefined,
  applied: readonly (Applied & { source: string })[],
): Named {
  if (invoice?.tipo_comprobante !== 'I' || invoice.version === null || invoice.total_micros === null) return null
  if (invoice.emisor_rfc !== note.emisor_rfc || invoice.receptor_rfc !== note.receptor_rfc || invoice.issued_at > note.issued_at)
    return null
  const [from, to] = [rateOf(invoice.currency, invoice.tipo_cambio), rateOf(note.currency, note.tipo_cambio)]
  const isSame = (invoice.currency ?? 'MXN') === (note.currency ?? 'MXN')
  if (!isSame && (from === null || to === null)) return null
  const inItsCurrency = (amount: Micros): Micros => (isSame ? amount : dividedBy(times(amount, from!), to!))
  const counted = applied.filter(
    (one) =>
      one.source !== note.uuid &&
      one.issued_at <= note.issued_at &&
      notCountedReason(invoice, {
        ...one,
        substituted_from: one.substituted_from === null || one.substituted_from > note.issued_at ? null : 0,
      }) === null,
  )
  const total = inItsCurrency(invoice.total_micros)
  if (invoice.metodo_pago === 'PUE' && !counted.some(({ kind }) => kind === 'P')) return { open: 0n, total }
  const own: Settlement = { kind: 'E', at: note.fecha, source: note.uuid, amount: 0n }
  const settled = counted
    .filter((one) => isBefore({ ...one, at: one.fecha_pago }, own))
    .reduce((sum, one) => sum + (one.kind === 'P' ? one.amount : creditOf(invoice, one)!), 0n)
  return { open: inItsCurrency(notNegative(invoice.total_micros - settled)), total }
}
