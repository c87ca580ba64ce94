import { Temporal } from 'temporal-polyfill'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import type { CfdiPayments } from '../../../src/cfdi/detail/contract.ts'
import type { CfdiMonth } from '../../../src/cfdi/summary/contract.ts'
import {
  DIRECTIONS,
  dayIn,
  instantOf,
  isComplete,
  type Leased,
  MEXICO,
  type Reached,
  type Seat,
  type Seen,
  type Shared,
} from './sharing-model.ts'

/** What documents add up to, one by one: balances and months of what an organization sees. */

const cents = (amount: number): string => (amount / 100).toFixed(2)

/** What an organization sees, and what it has imported at all. */
export interface Sight {
  seen: ReadonlyMap<string, Seen>
  imports: ReadonlyMap<string, Leased>
}

interface Application {
  source: Leased
  amount: number
  counts: boolean
}

/** What counts together: what the organization imported, or what the authority delivered and is seen. */
const ofOrigin = ({ seen, imports }: Sight, origin: Seen['origin']): Leased[] =>
  origin === 'import' ? [...imports.values()] : [...seen.values()].filter((one) => one.origin === 'authority')

/** The valid documents that a valid one of the same parties substitutes (relation 04). The sandbox has no cycles. */
function substitutedIn(documents: readonly Leased[]): Set<string> {
  const valid = new Map(documents.filter(({ cancelled }) => !cancelled).map((one) => [one.document.uuid, one]))
  const older = [...valid.values()].flatMap(({ hasXml, document: { relacion, emisor, receptor } }) => {
    const named = hasXml && relacion?.tipo === '04' ? valid.get(relacion.uuid)?.document : undefined
    return named?.emisor.rfc === emisor.rfc && named.receptor.rfc === receptor.rfc ? [named.uuid] : []
  })
  return new Set(older)
}

/** Whether a valid document substitutes one that is seen. */
function substitutedFor(sight: Sight): (one: Seen) => boolean {
  const substituted = { authority: substitutedIn(ofOrigin(sight, 'authority')), import: substitutedIn(ofOrigin(sight, 'import')) }
  return ({ origin, document }) => substituted[origin].has(document.uuid)
}

/** The documents that are seen and count: no other than these is in a sum. */
export function countedIn(sight: Sight): Seen[] {
  const isSubstituted = substitutedFor(sight)
  return [...sight.seen.values()].filter(
    (one) => !one.cancelled && !isSubstituted(one) && !one.document.retencion && one.document.emisor.rfc !== one.document.receptor.rfc,
  )
}

/** What the documents that are seen apply to one of them, cancelled ones too. Amounts are cents of the invoice's currency. */
export function applicationsTo(sight: Sight, uuid: string): Application[] {
  // What the organization imported applies to what it imported, and what the authority delivered to what that delivered.
  const { origin, document: invoice } = sight.seen.get(uuid)!
  const alike = ofOrigin(sight, origin)
  const substituted = substitutedIn(alike)
  return alike
    .filter(({ hasXml }) => hasXml)
    .flatMap((source) => {
      const { document } = source
      const paid = (document.pago?.documentos ?? []).filter(({ invoice }) => invoice.uuid === uuid).map(({ pagado }) => pagado)
      const { relacion } = document
      const isCredit = document.tipo === 'E' && relacion?.uuid === uuid && (relacion.tipo === '01' || relacion.tipo === '03')
      const isOurs = document.emisor.rfc === invoice.emisor.rfc && (document.tipo === 'P' || document.receptor.rfc === invoice.receptor.rfc)
      const counts = isOurs && !source.cancelled && !substituted.has(document.uuid)
      return [...paid, ...(isCredit ? [document.amounts.total] : [])].map((amount) => ({ source, amount, counts }))
    })
}

export type Balance = Pick<Cfdi, 'payment_status' | 'paid_amount' | 'credited_amount' | 'balance' | 'last_payment_at'>

export function balanceOf(sight: Sight, { document, hasXml }: Seen): Balance {
  const last_payment_at = null
  if (document.tipo !== 'I' || !hasXml)
    return { payment_status: 'not_applicable', paid_amount: null, credited_amount: null, balance: null, last_payment_at }
  const { total } = document.amounts
  const as = (payment_status: Balance['payment_status'], paid: number, credited: number): Balance => ({
    payment_status,
    paid_amount: cents(paid),
    credited_amount: cents(credited),
    balance: cents(Math.max(total - paid - credited, 0)),
    last_payment_at,
  })
  if (document.metodo !== 'PPD') return as('paid', total, 0)
  const valid = applicationsTo(sight, document.uuid).filter(({ counts }) => counts)
  const sum = (tipo: string) =>
    valid.filter(({ source }) => source.document.tipo === tipo).reduce((total_, { amount }) => total_ + amount, 0)
  const [paid, credited] = [sum('P'), sum('E')]
  const status = paid + credited >= total ? 'paid' : paid + credited > 0 ? 'partially_paid' : 'unpaid'
  const days = valid.flatMap(({ source }) => source.document.pago?.fecha ?? []).sort()
  return { ...as(status, paid, credited), last_payment_at: days.at(-1) ?? null }
}

/** A document as far as every answer about it must say the same. */
export const expectedCfdi = (sight: Sight, one: Seen) => ({
  uuid: one.document.uuid,
  origin: one.origin,
  direction: one.direction,
  fecha: one.document.fecha,
  issued_at: new Date(instantOf(one)).toISOString(),
  tipo_comprobante: one.document.tipo,
  metodo_pago: one.hasXml ? one.document.metodo : null,
  estatus: one.cancelled ? ('cancelado' as const) : ('vigente' as const),
  has_xml: one.hasXml,
  updated_at: new Date(one.changed).toISOString(),
  is_substituted: substitutedFor(sight)(one),
  ...balanceOf(sight, one),
})
export type Expected = ReturnType<typeof expectedCfdi>

export const actualCfdi = (cfdi: Cfdi): Expected => {
  const { uuid, origin, direction, fecha, issued_at, metodo_pago, estatus, has_xml, updated_at, is_substituted } = cfdi
  const { payment_status, paid_amount, credited_amount, balance, last_payment_at } = cfdi
  const tipo_comprobante = cfdi.tipo_comprobante as Expected['tipo_comprobante']
  const instant = new Date(issued_at).toISOString()
  return {
    ...{ uuid, origin, direction, fecha, issued_at: instant, tipo_comprobante, metodo_pago: metodo_pago as Expected['metodo_pago'] },
    ...{ estatus, has_xml, updated_at, is_substituted, payment_status, paid_amount, credited_amount, balance, last_payment_at },
  }
}

export const appliedBy = (data: CfdiPayments['data']): string[] =>
  data.map(({ source_uuid, estatus, amount, counts }) => `${source_uuid} ${estatus} ${amount} ${counts}`).sort()

export const expectedApplied = (sight: Sight, uuid: string): string[] =>
  applicationsTo(sight, uuid)
    .map(({ source, amount, counts }) => `${source.document.uuid} ${source.cancelled ? 'cancelado' : 'vigente'} ${cents(amount)} ${counts}`)
    .sort()

/** Ten-thousandths of a cent in pesos, which is micros. */
const micros = (amount: number, { document: { tipo_cambio } }: Seen): bigint => BigInt(amount) * BigInt(tipo_cambio ?? 10_000)
const pesos = (amount: bigint): string => {
  const [sign, size] = amount < 0n ? ['-', -amount] : ['', amount]
  const rounded = (size + 5_000n) / 10_000n
  return `${rounded === 0n ? '' : sign}${rounded / 100n}.${String(rounded % 100n).padStart(2, '0')}`
}

/** The months of a summary: of each direction those that its window reaches, and those of documents beyond it. */
export function expectedMonths(
  shared: Shared,
  sight: Sight,
  seat: Seat,
  span: { from: string; to: string },
  now: number,
): Omit<CfdiMonth, 'drilldown'>[] {
  const counted = [...sight.seen.values()].filter(({ document }) => document.emisor.rfc !== document.receptor.rfc && !document.retencion)
  const isSubstituted = substitutedFor(sight)
  const rows: Omit<CfdiMonth, 'drilldown'>[] = []
  for (let at = Temporal.PlainYearMonth.from(span.from); at.toString() <= span.to; at = at.add({ months: 1 })) {
    const month = at.toString()
    const here = counted.filter(({ document }) => document.fecha.startsWith(month))
    for (const direction of DIRECTIONS) {
      const cursor = slotOf(at, seat.rules.length === 0 ? { floor: '', ceiling: now } : seat.reached[direction])
      const of = here.filter((one) => one.direction === direction)
      if (cursor === null && of.length === 0) continue
      const data_status = isComplete(shared, seat, direction, month, now) ? 'complete' : 'missing'
      rows.push({ month, direction, ...totalsOf(of, isSubstituted), data_status, ...(cursor ?? { is_partial: true, through_date: null }) })
    }
  }
  return rows
}

/** Where a month lies in the window; null outside. It begins first in the east of Mexico and ends last in the west. */
function slotOf(month: Temporal.PlainYearMonth, reached: Reached | null) {
  const [first, last] = [month.toPlainDate({ day: 1 }).toString(), month.toPlainDate({ day: month.daysInMonth }).toString()]
  if (reached === null || last < reached.floor) return null
  const { floor, ceiling: end } = reached
  if (dayIn(end, '-05:00') < first) return null
  const [, through_date] = [first, dayIn(end, MEXICO), last].sort()
  const isOver = dayIn(end + 1_000, '-08:00') > last
  return { is_partial: floor > first || !isOver, through_date: through_date! }
}

function totalsOf(
  of: readonly Seen[],
  isSubstituted: (one: Seen) => boolean,
): Omit<CfdiMonth, 'month' | 'direction' | 'is_partial' | 'through_date' | 'data_status' | 'drilldown'> {
  const cancelled = of.filter((one) => one.cancelled)
  const substituted = of.filter((one) => !one.cancelled && isSubstituted(one))
  const valid = of.filter((one) => !one.cancelled && !isSubstituted(one))
  const income = valid.filter(({ document }) => document.tipo === 'I')
  const credits = valid.filter(({ document }) => document.tipo === 'E')
  const sum = (some: readonly Seen[], amount: (one: Seen['document']) => number) =>
    some.reduce((total, one) => total + micros(amount(one.document), one), 0n)
  const taxes = (which: 'traslados' | 'retenciones', impuesto: string, some = income) =>
    pesos(sum(some, ({ amounts }) => amounts[which].filter((tax) => tax.impuesto === impuesto).reduce((s, { importe }) => s + importe, 0)))
  const count = (tipo: string) => valid.filter(({ document }) => document.tipo === tipo).length
  const net = (some: readonly Seen[]) => sum(some, ({ amounts }) => amounts.subtotal - amounts.descuento)
  const total = (some: readonly Seen[]) => pesos(sum(some, ({ amounts }) => amounts.total))
  return {
    count: valid.length,
    cancelled_count: cancelled.length,
    substituted_count: substituted.length,
    by_tipo: { I: count('I'), E: count('E'), P: count('P'), N: count('N'), T: count('T') },
    subtotal: pesos(sum(income, ({ amounts }) => amounts.subtotal)),
    descuento: pesos(sum(income, ({ amounts }) => amounts.descuento)),
    iva_trasladado: taxes('traslados', '002'),
    iva_retenido: taxes('retenciones', '002'),
    isr_retenido: taxes('retenciones', '001'),
    ieps: taxes('traslados', '003'),
    total: total(income),
    credit_notes: pesos(net(credits)),
    credit_notes_iva: taxes('traslados', '002', credits),
    net: pesos(net(income) - net(credits)),
    pue_total: total(income.filter(({ document }) => document.metodo === 'PUE')),
    ppd_total: total(income.filter(({ document }) => document.metodo === 'PPD')),
  }
}
