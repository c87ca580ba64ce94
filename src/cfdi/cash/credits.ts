import { dividedBy, type Micros, times } from '../../platform/money.ts'
import { BREAKDOWN, type Breakdown, parseOwn, writeOwn } from '../taxes/breakdown.ts'
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
  /** What of a payment was money, where an advance pays the rest. */
  money?: Micros | null
}

/** The form of a payment that applies an advance. The advance was the money, as far as it goes. */
export const APPLIED_ADVANCE = '30'

/** What happens at one instant: payments before credit notes, and these by UUID. */
const isBefore = (a: Omit<Settlement, 'amount'>, b: Omit<Settlement, 'amount'>): boolean =>
  a.at !== b.at ? a.at < b.at : a.kind !== b.kind ? a.kind === 'P' : a.source < b.source

const inOrder = (list: readonly Settlement[]): Settlement[] => [...list].sort((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0))

const least = (a: Micros, b: Micros): Micros => (a < b ? a : b)
const notNegative = (amount: Micros): Micros => (amount > 0n ? amount : 0n)

/** A part of what a credit note returns: of a payment, by its FechaPago; `at` is empty where the invoice was paid at once. */
interface Returned {
  at: string
  amount: Micros
}

/**
 * What a credit note returns, in the invoice's currency: what is beyond the open part, and never more than was paid and is not returned yet.
 * It returns the newest payments first, because no source says which. An invoice that is paid at once has no open part.
 */
export function returnedBy(
  source: string,
  { total, isPaidAtOnce }: { total: Micros; isPaidAtOnce: boolean },
  applied: readonly Settlement[],
): Returned[] {
  let open = isPaidAtOnce ? 0n : total
  const paid: Returned[] = isPaidAtOnce ? [{ at: '', amount: total }] : []
  for (const one of inOrder(applied)) {
    if (one.kind === 'P') {
      open = notNegative(open - one.amount)
      paid.push({ at: one.at, amount: notNegative(one.money ?? one.amount) })
      continue
    }
    const lowered = least(one.amount, open)
    open -= lowered
    const returned = takeBack(paid, one.amount - lowered)
    if (one.source === source) return returned
  }
  return []
}

/** Takes an amount off payments, the last ones first, and returns what it takes of each. */
function takeBack(paid: Returned[], amount: Micros): Returned[] {
  const taken: Returned[] = []
  for (let rest = amount; rest > 0n; ) {
    const last = paid.pop()
    if (last === undefined) break
    const part = least(rest, last.amount)
    taken.push({ at: last.at, amount: part })
    if (part < last.amount) paid.push({ at: last.at, amount: last.amount - part })
    rest -= part
  }
  return taken
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

/**
 * An invoice that a credit note names, in the currency of the note: what is open of it, and what was paid and is not returned yet. Null when
 * that is not known of it.
 */
type Named = { open: Micros; paid: Micros; total: Micros } | null

/** Divides an amount by totals, and no part exceeds what was paid as long as another one has room. */
function dividedByTotals(amount: Micros, invoices: readonly NonNullable<Named>[]): Micros[] {
  let rest = amount
  let whole = invoices.reduce((sum, { total }) => sum + total, 0n)
  const full = new Set<NonNullable<Named>>()
  for (const one of [...invoices].sort(
    (a, b) => Number(a.paid * b.total > b.paid * a.total) - Number(a.paid * b.total < b.paid * a.total),
  )) {
    if (one.paid * whole > rest * one.total) break
    rest -= one.paid
    whole -= one.total
    full.add(one)
  }
  const isFull = full.size === invoices.length
  const others = inProportion(
    rest,
    invoices.map((one) => (isFull || !full.has(one) ? one.total : 0n)),
  )
  return invoices.map((one, n) => others[n]! + (full.has(one) ? one.paid : 0n))
}

/**
 * Divides a credit note among the invoices that it names: by what is open of each, then by their totals, up to what was paid of each. Unknown
 * ones get an equal part.
 */
export function dividedAmong(amount: Micros, invoices: readonly Named[]): Micros[] {
  const known = invoices.filter((one) => one !== null)
  const equal = amount / BigInt(invoices.length)
  const rest = known.length === 0 ? 0n : amount - equal * BigInt(invoices.length - known.length)
  const open = known.reduce((sum, one) => sum + one.open, 0n)
  const lowered = inProportion(
    least(rest, open),
    known.map((one) => one.open),
  )
  const beyond = dividedByTotals(notNegative(rest - open), known)
  const parts = known.map((_, n) => lowered[n]! + beyond[n]!)
  const remainder = known.length === 0 ? amount - equal * BigInt(invoices.length) : 0n
  return invoices.map((one, n) => (one === null ? equal + (n === 0 ? remainder : 0n) : parts.shift()!))
}

/** What a document transfers at each rate, with the IVA of it. */
const RATES = [['base_16', 'iva_16'], ['base_8', 'iva_8'], ['base_0'], ['base_exento'], ['base_otras', 'iva_otras']] as const
const WITHHELD = ['iva_retenido', 'isr_retenido', 'ieps_retenido'] as const

/** An invoice that a credit note names, also with its own total and its taxes as the column has them. */
export type Taxed = (NonNullable<Named> & { stated: Micros; taxes: string | null }) | null

const added = (amounts: readonly Micros[]): Micros => amounts.reduce((sum, one) => sum + one, 0n)

/** The taxes of a document in its own currency, and what it transfers at each rate. */
function taxedBy(taxes: string | null, total: Micros) {
  const { breakdown } = parseOwn(taxes ?? '[]')
  const byRate = RATES.map((names, n) => (taxes === null ? (n === 0 ? total : 0n) : added(names.map((name) => breakdown[name]))))
  return { breakdown, byRate, gross: added(byRate), isWithheld: breakdown.iva_retenido > 0n }
}

/**
 * Divides a credit note among the invoices that it names, what it takes off at each rate among those that have this rate, and apart from them
 * what IVA was withheld of. The taxes of a part (`writeOwn`) are null where they are in proportion to those of the note.
 */
export function dividedByRate(
  amount: Micros,
  taxes: string | null,
  invoices: readonly Taxed[],
): { amount: Micros; taxes: string | null }[] {
  const undivided = () => dividedAmong(amount, invoices).map((part) => ({ amount: part, taxes: null }))
  if (invoices.length === 1) return undivided()
  const note = taxedBy(taxes, amount)
  if (note.gross === 0n) return undivided()
  const kinds = invoices.map((one) => one && { ...one, ...taxedBy(one.taxes, one.stated) })
  const withholding = kinds.filter((one) => one?.isWithheld)
  const ofAll = (of: (one: NonNullable<(typeof kinds)[number]>) => Micros): Micros => added(withholding.map((one) => of(one!)))
  // What it returns of acts whose IVA was withheld, as far as they tell by what was withheld of them.
  const acts =
    withholding.length === 0
      ? 0n
      : (note.breakdown.iva_retenido * ofAll(({ gross }) => gross)) / ofAll(({ breakdown }) => breakdown.iva_retenido)
  const among = (part: Micros, n: number, isWithheld: boolean): Micros[] => {
    const scaled = (isMeant: boolean) =>
      kinds.map((one): Named => {
        if (one === null || one.gross === 0n || one.stated === 0n) return one
        const rate = isMeant && one.isWithheld !== isWithheld ? 0n : one.byRate[n]!
        const ofRate = (amount: Micros): Micros => (amount * rate) / one.stated
        return { open: ofRate(one.open), paid: ofRate(one.paid), total: ofRate(one.total) }
      })
    const found = [scaled(true), scaled(false)].find((list) => list.some((one) => one === null || one.total > 0n))
    return dividedAmong(part, found ?? invoices)
  }
  const byRate = note.byRate.map((part, n) => {
    const gross = ofAll((one) => one.gross)
    const ofActs = gross === 0n ? 0n : least(part, (acts * ofAll((one) => one.byRate[n]!)) / gross)
    const [some, others] = [among(ofActs, n, true), among(part - ofActs, n, false)]
    return some.map((one, k) => one + others[k]!)
  })
  const gross = invoices.map((_, k) => added(byRate.map((parts) => parts[k]!)))
  const ofWithheld = WITHHELD.map((name) => {
    const weights = kinds.map((one, k) => (one === null || one.gross === 0n ? 0n : (gross[k]! * one.breakdown[name]) / one.gross))
    return inProportion(note.breakdown[name], weights.some((one) => one > 0n) ? weights : gross)
  })
  const withheld = invoices.map((_, k) => added(ofWithheld.map((parts) => parts[k]!)))
  const rest = inProportion(amount + added(withheld) - added(gross), gross)
  const amounts = gross.map((one, k) => one + rest[k]! - withheld[k]!)
  if (amounts.some((one) => one < 0n)) return undivided()
  if (taxes === null) return amounts.map((part) => ({ amount: part, taxes }))
  const parts = new Map<keyof Breakdown, Micros[]>([
    ...RATES.flatMap((names, n) => names.map((name) => [name, inProportion(note.breakdown[name], byRate[n]!)] as const)),
    ...WITHHELD.map((name, n) => [name, ofWithheld[n]!] as const),
  ])
  /** What no rate tells, such as IEPS and what only lines say, is in proportion to the parts. */
  const others = (name: keyof Breakdown): Micros[] => inProportion(note.breakdown[name], gross)
  return amounts.map((part, k) => {
    const breakdown = Object.fromEntries(BREAKDOWN.map((name) => [name, (parts.get(name) ?? others(name))[k]!])) as Breakdown
    const { iva_16, iva_8, iva_otras, ieps } = breakdown
    return { amount: part, taxes: writeOwn({ net: part + withheld[k]! - iva_16 - iva_8 - iva_otras - ieps, breakdown }) }
  })
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
      (one.substituted_from ?? Number.POSITIVE_INFINITY) > note.issued_at &&
      (notCountedReason(invoice, one) ?? 'substituted') === 'substituted',
  )
  const total = inItsCurrency(invoice.total_micros)
  const own = { kind: 'E', at: note.fecha, source: note.uuid } as const
  const before = counted.filter(({ kind, fecha_pago, source }) => isBefore({ kind, at: fecha_pago, source }, own))
  const sumOf = (kind: 'P' | 'E'): Micros =>
    before.reduce((sum, one) => (one.kind === kind ? sum + (kind === 'P' ? one.amount : creditOf(invoice, one)!) : sum), 0n)
  const left = notNegative(invoice.total_micros - sumOf('E'))
  const isPaidAtOnce = invoice.metodo_pago === 'PUE' && !counted.some(({ kind }) => kind === 'P')
  const open = isPaidAtOnce ? 0n : notNegative(left - sumOf('P'))
  return { open: inItsCurrency(open), paid: inItsCurrency(left - open), total }
}
