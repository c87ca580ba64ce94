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

/** Hours behind UTC of the places of issue, in winter. Metadata does not state the place: then it is central Mexico. */
const HOURS: Record<string, number> = { '06600': 6, '22000': 8, '77500': 5 }

/** When a document was issued, in seconds. */
export const instantOf = ({ document, hasXml }: Seen): number =>
  Date.parse(`${document.fecha}Z`) / 1_000 + 3_600 * (hasXml ? HOURS[document.lugar]! : 6)

/** Whether a document names another one of its own parties in a relation 04. */
export const isSubstitutedBy = ({ document: older }: Seen, { document: newer, hasXml }: Seen): boolean =>
  hasXml &&
  newer.uuid !== older.uuid &&
  [...(newer.relacion?.tipo === '04' ? newer.relacion.uuids : []), ...(newer.sustituye ?? [])].includes(older.uuid) &&
  newer.emisor === older.emisor &&
  newer.receptor === older.receptor

/**
 * The valid documents that no other one substitutes, by UUID. Documents that lead to each other are a group. A group from which nothing
 * leads on has one that counts, its newest; no other group has any.
 */
export function countedAmong(seen: readonly Seen[]): Set<string> {
  const valid = seen.filter(({ isCancelled }) => !isCancelled)
  const leads = valid.map((from) => valid.map((to) => isSubstitutedBy(from, to)))
  for (const [middle] of valid.entries())
    for (const from of leads) if (from[middle]) for (const [to] of valid.entries()) from[to] ||= leads[middle]![to]!
  const isBefore = (a: number, b: number) => {
    const [one, other] = [instantOf(valid[a]!), instantOf(valid[b]!)]
    return one === other ? valid[a]!.document.uuid < valid[b]!.document.uuid : one < other
  }
  const counts = (n: number) => leads[n]!.every((isLater, to) => !isLater || (leads[to]![n]! && !isBefore(n, to)))
  return new Set(valid.filter((_, n) => counts(n)).map(({ document }) => document.uuid))
}

/** The totals by month and direction, added up one by one. */
export function expectedMonths(seen: readonly Seen[]): Record<string, Record<string, unknown>> {
  const months: Record<string, Record<string, [number, number, number, number, ...bigint[]]>> = {}
  const counted = countedAmong(seen)
  for (const { document, hasXml, isCancelled } of seen) {
    const key = `${document.fecha.slice(0, 7)}|${document.emisor === RFC ? 0 : 1}`
    const [day, status] = [document.fecha.slice(8, 10), isCancelled ? 'cancelado' : 'vigente']
    if (document.emisor === document.receptor) {
      // It is in no sum, and counted all the same.
      months[key] ??= {}
      const [n = 0, known = 0] = months[key][`${day}|-||${status}`] ?? []
      months[key][`${day}|-||${status}`] = [n + 1, known + (hasXml ? 1 : 0), 0, 0, 0n, 0n, 0n, 0n, 0n, 0n, 0n]
      continue
    }
    const cell = `${document.fecha.slice(8, 10)}|${document.tipo}|${hasXml ? (document.metodo ?? '') : ''}|${isCancelled ? 'cancelado' : counted.has(document.uuid) ? 'vigente' : 'sustituido'}`
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

/** The sums over lines by month and direction, added up one by one: documents, those not counted, micros in MXN. */
export function expectedProducts(seen: readonly Seen[]): Record<string, Record<string, unknown>> {
  const counted = countedAmong(seen)
  const months: Record<string, Record<string, [Set<string>, Set<string>, bigint]>> = {}
  for (const { document, hasXml } of seen) {
    const { uuid, tipo, fecha, emisor, receptor, subtotal } = document
    if (!hasXml || emisor === receptor || !counted.has(uuid) || (tipo !== 'I' && tipo !== 'E')) continue
    const rate = rateOf(document)
    const usual = Array.from({ length: document.lines }, () => ({ clave: '84111506', importe: subtotal, descuento: null }))
    const lines = Object.entries(Object.groupBy(document.productos ?? usual, ({ clave }) => clave))
    for (const [clave, some] of lines) {
      const sum = some!.reduce((all, { importe, descuento }) => all + micros(importe) - micros(descuento), 0n)
      const month = `${fecha.slice(0, 7)}|${emisor === RFC ? 0 : 1}`
      months[month] ??= {}
      months[month][`${tipo}|${clave}`] ??= [new Set(), new Set(), 0n]
      const cell = months[month][`${tipo}|${clave}`]!
      cell[0].add(uuid)
      if (rate === null) cell[1].add(uuid)
      else cell[2] += times(sum, rate)
    }
  }
  return Object.fromEntries(
    Object.entries(months).map(([month, cells]) => [
      month,
      Object.fromEntries(Object.entries(cells).map(([cell, [all, none, sum]]) => [cell, [all.size, none.size, sum.toString()]])),
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
  const { emisor, receptor, moneda } = document.document
  const counted = countedAmong(seen)
  for (const { document: source, hasXml } of seen) {
    // The issuer settles what it invoiced, in the currency of the invoice; a credit note is for the receiver of the invoice.
    if (!hasXml || !counted.has(source.uuid) || source.emisor !== emisor) continue
    for (const it of source.pagos.flatMap(({ documentos }) => documentos))
      if (it.uuid === uuid && it.moneda === moneda) paid += Number(micros(it.pagado))
    if (source.receptor !== receptor) continue
    const { relacion } = source
    if (source.tipo !== 'E' || relacion === null || !['01', '03'].includes(relacion.tipo) || !relacion.uuids.includes(uuid)) continue
    const whole = Number(micros(source.total))
    const part = Math.floor(whole / relacion.uuids.length)
    credited += relacion.uuids[0] === uuid ? whole - part * (relacion.uuids.length - 1) : part
  }
  return { paid, credited, payment_status: paid + credited >= due ? 'paid' : paid + credited > 0 ? 'partially_paid' : 'unpaid' }
}

/** What each supplier invoiced in a month, added up one by one: invoices, credit notes, those with XML, without a rate, too large, micros in MXN. */
export function expectedSuppliers(seen: readonly Seen[]): Record<string, unknown[]> {
  const counted = countedAmong(seen)
  const suppliers: Record<string, [number, number, number, number, bigint]> = {}
  for (const { document, hasXml } of seen) {
    const { uuid, tipo, emisor, receptor } = document
    if (!counted.has(uuid) || emisor === RFC || receptor === emisor || (tipo !== 'I' && tipo !== 'E')) continue
    const rate = hasXml ? rateOf(document) : null
    const amount = rate === null ? 0n : times(micros(document.total), rate)
    const key = `${document.fecha.slice(0, 7)}|${emisor}`
    const [invoices, notes, known, missing, sum] = suppliers[key] ?? [0, 0, 0, 0, 0n]
    const [xml, rateless] = [known + (hasXml ? 1 : 0), missing + (rate === null ? 1 : 0)]
    suppliers[key] = tipo === 'I' ? [invoices + 1, notes, xml, rateless, sum + amount] : [invoices, notes + 1, xml, rateless, sum - amount]
  }
  return Object.fromEntries(Object.entries(suppliers).map(([key, [a, b, c, d, sum]]) => [key, [a, b, c, d, 0, sum.toString()]]))
}
