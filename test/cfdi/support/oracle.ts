import { type Plain, RFC } from './documents.ts'

/** What a book should know of a document. */
export interface Seen {
  document: Plain
  hasXml: boolean
  isCancelled: boolean
}

const micros = (text: string | null): bigint => BigInt(Math.round(Number(text ?? 0) * 1e6))
const rateOf = ({ moneda, tipo_cambio }: Plain): number | null =>
  moneda === 'MXN' || moneda === 'XXX' ? 1 : tipo_cambio === null ? null : Number(tipo_cambio)
/** Exact for rates of two decimals. */
const times = (amount: bigint, rate: number): bigint => (amount * BigInt(Math.round(rate * 100)) + 50n) / 100n

/** The totals by month and direction, added up one by one. */
export function expectedMonths(seen: Iterable<Seen>): Record<string, Record<string, unknown>> {
  const months: Record<string, Record<string, [number, number, number, number, ...bigint[]]>> = {}
  for (const { document, hasXml, isCancelled } of seen) {
    if (document.emisor === document.receptor) continue
    const key = `${document.fecha.slice(0, 7)}|${document.emisor === RFC ? 0 : 1}`
    const cell = `${document.fecha.slice(8, 10)}|${document.tipo}|${hasXml ? (document.metodo ?? '') : ''}|${isCancelled ? 'cancelado' : 'vigente'}`
    // Metadata does not say in which currency.
    const rate = hasXml ? rateOf(document) : null
    const said = hasXml ? [document.subtotal, document.descuento, document.total, document.iva] : [null, null, document.total, null]
    const amounts = [...said, null, null, null].map((text) => (rate === null ? 0n : times(micros(text), rate)))
    months[key] ??= {}
    const before = months[key][cell] ?? [0, 0, 0, 0, 0n, 0n, 0n, 0n, 0n, 0n, 0n]
    const [n, known, missing, none, ...sums] = before
    months[key][cell] = [
      n + 1,
      known + (hasXml ? 1 : 0),
      missing + (rate === null ? 1 : 0),
      none,
      ...sums.map((sum, i) => sum + (amounts[i] ?? 0n)),
    ]
  }
  return Object.fromEntries(
    Object.entries(months).map(([key, cells]) => [
      key,
      Object.fromEntries(
        Object.entries(cells).map(([cell, values]) => [cell, values.map((it) => (typeof it === 'bigint' ? it.toString() : it))]),
      ),
    ]),
  )
}

/** Paid, credited and status of a document, from all others. Credit notes are in the invoice's own currency here. */
export function expectedBalance(document: Seen, seen: readonly Seen[]): { paid: number; credited: number; payment_status: string | null } {
  const { tipo, metodo, uuid, total } = document.document
  const none = { paid: 0, credited: 0, payment_status: null }
  if (!document.hasXml || tipo !== 'I') return none
  const due = Number(micros(total))
  if (metodo === 'PUE') return { ...none, paid: due, payment_status: 'paid' }
  let [paid, credited] = [0, 0]
  for (const { document: source, hasXml, isCancelled } of seen) {
    // Issued documents settle issued invoices, received ones received invoices.
    if (!hasXml || isCancelled || (source.emisor === RFC) !== (document.document.emisor === RFC)) continue
    for (const { documentos } of source.pagos) for (const it of documentos) if (it.uuid === uuid) paid += Number(micros(it.pagado))
    const { relacion } = source
    if (source.tipo !== 'E' || relacion === null || !['01', '03'].includes(relacion.tipo) || !relacion.uuids.includes(uuid)) continue
    const whole = Number(micros(source.total))
    const part = Math.floor(whole / relacion.uuids.length)
    credited += relacion.uuids[0] === uuid ? whole - part * (relacion.uuids.length - 1) : part
  }
  return { paid, credited, payment_status: paid + credited >= due ? 'paid' : paid + credited > 0 ? 'partially_paid' : 'unpaid' }
}

/** What each supplier invoiced in a month, added up one by one: invoices, credit notes, those with XML, without a rate, too large, micros in MXN. */
export function expectedSuppliers(seen: Iterable<Seen>): Record<string, unknown[]> {
  const suppliers: Record<string, [number, number, number, number, bigint]> = {}
  for (const { document, hasXml, isCancelled } of seen) {
    const { tipo, emisor, receptor } = document
    if (isCancelled || emisor === RFC || receptor === emisor || (tipo !== 'I' && tipo !== 'E')) continue
    const rate = hasXml ? rateOf(document) : null
    const amount = rate === null ? 0n : times(micros(document.total), rate)
    const key = `${document.fecha.slice(0, 7)}|${emisor}`
    const [invoices, notes, known, missing, sum] = suppliers[key] ?? [0, 0, 0, 0, 0n]
    const [xml, rateless] = [known + (hasXml ? 1 : 0), missing + (rate === null ? 1 : 0)]
    suppliers[key] = tipo === 'I' ? [invoices + 1, notes, xml, rateless, sum + amount] : [invoices, notes + 1, xml, rateless, sum - amount]
  }
  return Object.fromEntries(Object.entries(suppliers).map(([key, [a, b, c, d, sum]]) => [key, [a, b, c, d, 0, sum.toString()]]))
}
