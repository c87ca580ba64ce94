import { dividedBy, fits, isPesos, type Micros, micros, times } from '../platform/money.ts'

/** The facts that decide whether one document substitutes another. */
export interface Substitutable {
  uuid: string
  emisor_rfc: string
  receptor_rfc: string
  /** Seconds since 1970. */
  issued_at: number
  cancelled: 0 | 1
}

/** A relation 04: the document `source` states that it substitutes another one. */
export interface Substitution {
  substituted: string
  source: string
}

/** The place of a document among substitutions. A reader knows of it with a ceiling from these instants on, in seconds. Null: never. */
export interface SubstitutionState {
  /** Another document substitutes this one, which therefore does not count. */
  substituted_from: number | null
  /** This document substitutes another one that is still valid. */
  substitutes_from: number | null
}

export const NOT_SUBSTITUTED: SubstitutionState = { substituted_from: null, substitutes_from: null }

/** Whether a reader with this ceiling, in seconds, knows that a document is substituted. Null: without a ceiling. */
export const isSubstituted = ({ substituted_from }: Pick<SubstitutionState, 'substituted_from'>, until: number | null): boolean =>
  isKnown(substituted_from, until)

/** Whether a document and one that it substitutes, or that substitutes it, are both valid, as far as a ceiling shows. */
export const isSubstitutedNotCancelled = (state: SubstitutionState, until: number | null): boolean =>
  isSubstituted(state, until) || isKnown(state.substitutes_from, until)

const isKnown = (from: number | null, until: number | null): boolean => from !== null && (until === null || from <= until)

/**
 * Computes which of these documents do not count because others substitute them. A document does not count while a valid document with the
 * same issuer and receiver names it in a relation 04.
 *
 * - Chain: C substitutes B, and B substitutes A. Only C counts. When C is cancelled, B counts. When B is cancelled, A counts beside C,
 *   because C does not name it.
 * - Cycle: documents that substitute each other, directly or through others, are one. A valid document outside the cycle that substitutes
 *   any of them substitutes them all; without one, the newest of them counts (by issued_at, then by UUID).
 * - A document that names itself substitutes nothing.
 *
 * With a ceiling, the same holds of the documents that were issued up to it. A document that is substituted for one ceiling is so for all
 * later ones, so that one instant says it all.
 */
export function substitutionsAmong(documents: Iterable<Substitutable>, relations: readonly Substitution[]): Map<string, SubstitutionState> {
  const all = new Map([...documents].map((document) => [document.uuid, document]))
  const states = new Map([...all.keys()].map((uuid) => [uuid, { ...NOT_SUBSTITUTED }]))
  const sources = new Map<Substitutable, Substitutable[]>()
  const named = new Map<Substitutable, Substitutable[]>()
  for (const relation of relations) {
    const [source, substituted] = [all.get(relation.source), all.get(relation.substituted)]
    if (source === undefined || substituted === undefined || !isValid(source, substituted)) continue
    append(sources, substituted, source)
    append(named, source, substituted)
    const state = states.get(source.uuid)!
    state.substitutes_from = Math.min(state.substitutes_from ?? substituted.issued_at, substituted.issued_at)
  }
  /** In a cycle all documents substitute each other; one outside of it, or newer, is none that this one substitutes in turn. */
  const isSubstitutedAt = (document: Substitutable, until: number): boolean => {
    const substitutedInTurn = reachable(named, document, until)
    return [...reachable(sources, document, until)].some((one) => isNewer(one, document) || !substitutedInTurn.has(one))
  }
  for (const [document, direct] of sources) {
    // Only an older document can close a cycle in which this one is the newest.
    const isPlain = direct.every((one) => isNewer(one, document))
    const later = isPlain ? direct : [...reachable(sources, document, Number.POSITIVE_INFINITY)]
    const instants = [...new Set(later.map(({ issued_at }) => Math.max(issued_at, document.issued_at)))].sort((a, b) => a - b)
    states.get(document.uuid)!.substituted_from =
      instants[isPlain ? 0 : firstIndex(instants.length, (n) => isSubstitutedAt(document, instants[n]!))] ?? null
  }
  return states
}

function append<T>(lists: Map<T, T[]>, key: T, one: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [one])
  else list.push(one)
}

/** Everything to which a document leads, directly or through others that were issued until then. In a cycle it is itself among them. */
function reachable(edges: ReadonlyMap<Substitutable, Substitutable[]>, document: Substitutable, until: number): Set<Substitutable> {
  const found = new Set<Substitutable>()
  const next = [document]
  for (let one = next.pop(); one !== undefined; one = next.pop())
    for (const other of edges.get(one) ?? [])
      if (other.issued_at <= until && !found.has(other)) {
        found.add(other)
        next.push(other)
      }
  return found
}

/** The first of so many indices for which a condition holds that holds for all later ones too; their number if there is none. */
function firstIndex(length: number, holds: (n: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

const isValid = (source: Substitutable, substituted: Substitutable): boolean =>
  source !== substituted &&
  source.cancelled + substituted.cancelled === 0 &&
  source.emisor_rfc === substituted.emisor_rfc &&
  source.receptor_rfc === substituted.receptor_rfc

const isNewer = (a: Substitutable, b: Substitutable): boolean => (a.issued_at === b.issued_at ? a.uuid > b.uuid : a.issued_at > b.issued_at)

/** A value of an integer column: a number or decimal text as it was read, or a bigint before it is stored. */
export type Integer = Micros | number | string | null

/** The columns of a row of `cfdi` that the totals of its month depend on. */
export interface Countable {
  kind: string
  /** Null while only metadata is known. */
  version: string | null
  fecha: string
  tipo_comprobante: string | null
  metodo_pago: string | null
  estatus: string
  substituted_from: number | null
  emisor_rfc: string
  receptor_rfc: string
  currency: string | null
  tipo_cambio: string | null
  subtotal: string | null
  descuento: string | null
  total: string | null
  iva_trasladado: Integer
  iva_retenido: Integer
  isr_retenido: Integer
  ieps_trasladado: Integer
}

/** Sums over documents. Amounts are micros of MXN. */
export interface Totals {
  n: number
  with_xml: number
  /** Documents that add no amount, because their exchange rate is not known. */
  missing_rate: number
  /** Documents that add no amount, because one of theirs does not fit (money.ts). */
  not_counted: number
  subtotal: Micros
  descuento: Micros
  total: Micros
  iva_trasladado: Micros
  iva_retenido: Micros
  isr_retenido: Micros
  ieps: Micros
}

/**
 * The contribution of one document to its month. `cell` is `dd|tipo|metodo|state`; a part that the document does not have is empty. The
 * state is the estatus, or `sustituido` for a valid document that does not count because another one substitutes it. Documents that are in
 * no sum have cells of their own (`QUARANTINED`).
 */
export interface Contribution {
  month: string
  cell: string
  values: Totals
}

/** Totals of one month and direction by key: that of a `Contribution`, or the same without its day. */
export type Cells = Map<string, Totals>

const COUNTS = ['n', 'with_xml', 'missing_rate', 'not_counted'] as const
const AMOUNTS = ['subtotal', 'descuento', 'total', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps'] as const

/** MXN for one unit of the document's currency, as decimal text. Null when the document is in another currency and states no rate. */
export function rateOf(currency: string | null, tipo_cambio: string | null): string | null {
  if (isPesos(currency)) return '1'
  return tipo_cambio !== null && Number(tipo_cambio) > 0 ? tipo_cambio : null
}

/** Converts an amount to MXN. Null when the rate is not known. */
export const inMxn = (amount: Micros, rate: string | null): Micros | null =>
  rate === null ? null : rate === '1' ? amount : times(amount, rate)

/** The totals of no documents. */
export const nothing = (): Totals => ({
  n: 0,
  with_xml: 0,
  missing_rate: 0,
  not_counted: 0,
  subtotal: 0n,
  descuento: 0n,
  total: 0n,
  iva_trasladado: 0n,
  iva_retenido: 0n,
  isr_retenido: 0n,
  ieps: 0n,
})

const TIPOS = ['I', 'E', 'T', 'N', 'P']
const METODOS = ['PUE', 'PPD']
/** A document can state any text. Others name no cell of a month, which would otherwise grow without an end. */
const among = (known: readonly string[], text: string | null): string => known.find((one) => one === text) ?? ''

/**
 * The contribution of a document to its month, for a ceiling in seconds; null without one. Returns null for retenciones and for documents
 * outside the population.
 */
export function contribution(row: Countable, until: number | null = null): Contribution | null {
  if (row.kind !== 'cfdi' || row.emisor_rfc === row.receptor_rfc) return null
  const counted: Totals = { ...nothing(), n: 1, with_xml: row.version === null ? 0 : 1 }
  let values = { ...counted }
  // Metadata does not state the currency of its amount. A CFDI 3.2 without Moneda is in pesos.
  const rate = row.version === null ? null : rateOf(row.currency, row.tipo_cambio)
  if (rate === null) values.missing_rate = 1
  else {
    const mxn = (amount: Micros | null): Micros => (amount === null || amount === 0n ? 0n : (inMxn(amount, rate) ?? 0n))
    values.subtotal = mxn(micros(row.subtotal))
    values.descuento = mxn(micros(row.descuento))
    values.total = mxn(micros(row.total))
    values.iva_trasladado = mxn(integer(row.iva_trasladado))
    values.iva_retenido = mxn(integer(row.iva_retenido))
    values.isr_retenido = mxn(integer(row.isr_retenido))
    values.ieps = mxn(integer(row.ieps_trasladado))
    if (!AMOUNTS.every((name) => fits(values[name]))) values = { ...counted, not_counted: 1 }
  }
  const { fecha } = row
  return {
    month: fecha.slice(0, 7),
    cell: [fecha.slice(8, 10), among(TIPOS, row.tipo_comprobante), among(METODOS, row.metodo_pago), stateOf(row, until)].join('|'),
    values,
  }
}

/** The type of cells with documents that are in no sum: retenciones, and what the RFC issued to itself. */
export const QUARANTINED = '-'

/** The contribution of a document to the cells of its month. One outside the sums is only counted. */
export const cellOf = (row: Countable): Contribution =>
  contribution(row) ?? {
    month: row.fecha.slice(0, 7),
    cell: `${row.fecha.slice(8, 10)}|${QUARANTINED}||${row.estatus}`,
    values: { ...nothing(), n: 1, with_xml: row.version === null ? 0 : 1 },
  }

/** Whether a document counts: it is valid, and no document that the ceiling shows substitutes it. */
export const isInSums = (row: Pick<Countable, 'estatus' | 'substituted_from'>, until: number | null): boolean =>
  stateOf(row, until) === 'vigente'

const stateOf = (row: Pick<Countable, 'estatus' | 'substituted_from'>, until: number | null): string =>
  row.estatus === 'vigente' && isSubstituted(row, until) ? 'sustituido' : row.estatus

const integer = (value: Integer): Micros => (value === null ? 0n : BigInt(value))

/** Adds totals to others, or subtracts them with sign -1. */
export function add(into: Totals, values: Totals, sign: 1 | -1 = 1): void {
  for (const name of COUNTS) into[name] += sign * values[name]
  for (const name of AMOUNTS) if (values[name] !== 0n) into[name] += sign === 1 ? values[name] : -values[name]
}

/** Adds a document to the cells of its month, or removes it with sign -1. */
export function addTo(cells: Cells, { cell, values }: Omit<Contribution, 'month'>, sign: 1 | -1): void {
  const totals = cells.get(cell) ?? nothing()
  cells.set(cell, totals)
  add(totals, values, sign)
}

/** Parses the `cells` column of a month. A month without a row has no cells. */
export function parseCells(text: string | null): Cells {
  const cells: Cells = new Map()
  if (text === null) return cells
  for (const [cell, values] of Object.entries(JSON.parse(text) as Record<string, (number | string)[]>)) {
    const totals = nothing()
    COUNTS.forEach((name, i) => {
      totals[name] = Number(values[i])
    })
    AMOUNTS.forEach((name, i) => {
      totals[name] = BigInt(values[COUNTS.length + i] ?? 0)
    })
    cells.set(cell, totals)
  }
  return cells
}

/** Formats the `cells` column: sorted by key, so that the same documents give the same text, and without empty cells. */
export function writeCells(cells: Cells): string {
  const kept = [...cells].filter(([, totals]) => totals.n !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(
    Object.fromEntries(
      kept.map(([cell, totals]) => [cell, [...COUNTS.map((name) => totals[name]), ...AMOUNTS.map((name) => totals[name].toString())]]),
    ),
  )
}

/** A month's cells added up over its days: the day is no part of their keys, `tipo|metodo|state`. */
export function sumDays(cells: Cells): Cells {
  const sums: Cells = new Map()
  for (const [cell, values] of cells) addTo(sums, { cell: withoutDay(cell), values }, 1)
  return sums
}

/** The key of a cell without its day. */
export const withoutDay = (cell: string): string => cell.slice(cell.indexOf('|') + 1)

/** A month and direction, `YYYY-MM|0`. */
export type MonthKey = `${string}|${number}`
export const monthKey = ({ fecha, direction }: { fecha: string; direction: number }): MonthKey => `${fecha.slice(0, 7)}|${direction}`

/** The facts behind the balance of a document, besides the applications. */
export interface Payable {
  emisor_rfc: string
  receptor_rfc: string
  /** Null while only metadata is known, which does not state the currency. */
  version: string | null
  tipo_comprobante: string | null
  metodo_pago: string | null
  total_micros: Micros | null
  currency: string | null
  tipo_cambio: string | null
}

/** A payment (P) or a credit note (E), as far as it is applied to one invoice. */
export interface Applied {
  kind: 'P' | 'E'
  /** Micros in `currency`. */
  amount: Micros
  /** MonedaDR of a P, which states the invoice's currency; the currency of an E. */
  currency: string | null
  tipo_cambio: string | null
  /** Literal local time. */
  fecha_pago: string
  /** The parties of the payment or credit note. */
  emisor_rfc: string
  receptor_rfc: string
  /** When the payment or credit note was issued, in seconds since 1970. */
  issued_at: number
  /** Whether the payment or credit note is cancelled. */
  cancelled: boolean
  /** The least ceiling, in seconds, that shows the payment or credit note as substituted; null when it is not. */
  substituted_from: number | null
}

/** Why an application does not count. When there are several reasons, the first one is given. */
export const NOT_COUNTED_REASONS = ['cancelled', 'other_parties', 'currency_mismatch', 'missing_rate', 'substituted'] as const
export type NotCountedReason = (typeof NOT_COUNTED_REASONS)[number]

export interface Balance {
  /** Micros in the invoice's currency. */
  paid: Micros
  credited: Micros
  payment_status: 'paid' | 'partially_paid' | 'unpaid' | null
  /** Literal local times, from the payment complements. */
  last_payment_at: string | null
  fully_paid_at: string | null
  /** The least ceiling, in seconds, that shows everything behind the balance; null when it depends on nothing. */
  applied_until: number | null
}

/** Whether applications change the balance of a document: only invoices that are paid in parts or later (PPD) have such a balance. */
export const isDeferred = ({ tipo_comprobante, metodo_pago }: Pick<Payable, 'tipo_comprobante' | 'metodo_pago'>): boolean =>
  tipo_comprobante === 'I' && metodo_pago === 'PPD'

/**
 * Returns why an application does not count for an invoice; null when it counts. Only what the invoice's issuer issued settles it. A credit
 * note must have its receiver too; a payment may have another one, because a third party can pay. A payment must state the invoice's
 * currency, and a credit note in another currency must be convertible.
 */
export function notCountedReason(invoice: Payable, applied: Applied): NotCountedReason | null {
  const { kind, emisor_rfc, currency, cancelled, substituted_from } = applied
  if (cancelled) return 'cancelled'
  if (emisor_rfc !== invoice.emisor_rfc || (kind === 'E' && hasOtherReceiver(invoice, applied))) return 'other_parties'
  const expected = invoice.currency ?? (invoice.version === null ? currency : 'MXN')
  if (kind === 'P' && (currency ?? expected) !== expected) return 'currency_mismatch'
  if (kind === 'E' && creditOf(invoice, applied) === null) return 'missing_rate'
  return substituted_from === null ? null : 'substituted'
}

/** Whether a payment or credit note has another receiver than the invoice. */
export const hasOtherReceiver = (invoice: Pick<Payable, 'receptor_rfc'>, applied: Pick<Applied, 'receptor_rfc'>): boolean =>
  applied.receptor_rfc !== invoice.receptor_rfc

/** Half a cent. A balance that rounds to 0.00 is paid. */
const HALF_CENT = 5_000n

/** Whether nothing is left to pay of a total when this much of it is paid or credited. */
export const isFullyPaid = (total: Micros, sum: Micros): boolean => total - sum < HALF_CENT

/**
 * Computes the balance of a document from everything that is applied to it and counts. An invoice that is paid at once (PUE) counts as
 * paid; documents that are not invoices have no payment status.
 */
export function balanceOf(invoice: Payable, applications: readonly Applied[]): Balance {
  const total = invoice.total_micros ?? 0n
  const none: Balance = { paid: 0n, credited: 0n, payment_status: null, last_payment_at: null, fully_paid_at: null, applied_until: null }
  if (!isDeferred(invoice)) {
    return invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE' ? { ...none, paid: total, payment_status: 'paid' } : none
  }
  const balance = none
  const sorted = [...applications].sort((a, b) => (a.fecha_pago < b.fecha_pago ? -1 : a.fecha_pago > b.fecha_pago ? 1 : 0))
  for (const application of sorted) {
    const reason = notCountedReason(invoice, application)
    if (reason !== null && reason !== 'substituted') continue
    balance.applied_until = Math.max(balance.applied_until ?? 0, application.substituted_from ?? application.issued_at)
    if (reason !== null) continue
    if (application.kind === 'P') {
      balance.paid += application.amount
      balance.last_payment_at = application.fecha_pago
    } else balance.credited += creditOf(invoice, application)!
    if (balance.fully_paid_at === null && isFullyPaid(total, balance.paid + balance.credited))
      balance.fully_paid_at = application.fecha_pago
  }
  if (isFullyPaid(total, balance.paid + balance.credited)) balance.payment_status = 'paid'
  else {
    balance.fully_paid_at = null
    balance.payment_status = balance.paid + balance.credited > 0n ? 'partially_paid' : 'unpaid'
  }
  return balance
}

/**
 * The amount of a credit note in the invoice's currency, converted through MXN; as it is when only metadata of the invoice is known, and
 * null when a rate is not.
 */
export function creditOf(
  invoice: Pick<Payable, 'version' | 'currency' | 'tipo_cambio'>,
  { amount, currency, tipo_cambio }: Pick<Applied, 'amount' | 'currency' | 'tipo_cambio'>,
): Micros | null {
  if (invoice.version === null || (currency ?? 'MXN') === (invoice.currency ?? 'MXN')) return amount
  const from = rateOf(currency, tipo_cambio)
  const to = rateOf(invoice.currency, invoice.tipo_cambio)
  return from === null || to === null ? null : dividedBy(times(amount, from), to)
}
