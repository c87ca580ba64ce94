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

const CREDITING = ['01', '03', '07']

/** Parts of an amount that are to each other as weights are; each sum of the first of them is rounded down. */
function inProportion(amount: bigint, weights: readonly bigint[]): bigint[] {
  const sum = (some: readonly bigint[]) => some.reduce((all, one) => all + one, 0n)
  const used = sum(weights) === 0n ? weights.map(() => 1n) : weights
  const upTo = (n: number) => (amount * sum(used.slice(0, n))) / sum(used)
  return used.map((_, n) => upTo(n + 1) - upTo(n))
}

/** What is left of an invoice after the notes of advances that came before one, in the currency of this; null when that is not known. */
function leftOf(note: Seen, uuid: string, seen: readonly Seen[], until: number): bigint | null {
  const { emisor, receptor, fecha } = note.document
  const shown = seen.filter((one) => instantOf(one) <= until)
  const found = shown.find(({ document, hasXml }) => hasXml && document.uuid === uuid)?.document
  if (found?.tipo !== 'I' || found.emisor !== emisor || found.receptor !== receptor) return null
  const counted = countedAmong(shown)
  let left = micros(found.total)
  for (const one of shown) {
    const { document, hasXml } = one
    const isEarlier = `${document.fecha}|${document.uuid}` < `${fecha}|${note.document.uuid}`
    if (!hasXml || document.tipo !== 'E' || document.relacion?.tipo !== '07' || !counted.has(document.uuid) || !isEarlier) continue
    if (document.emisor === emisor && document.receptor === receptor)
      left -= inCurrencyOf(found, partsOf(one, seen, until).get(uuid) ?? 0n, document) ?? 0n
  }
  return inCurrencyOf(note.document, left > 0n ? left : 0n, found)
}

/**
 * The invoices that a credit note lowers, as one knows until an instant: those it names. In the place of what it names in relation 07, the
 * invoice that counts of those that apply it, or else of those that replace it, or else of those that apply the same advance as it: the newest
 * until the note, else the first one after it. What the note is too large for goes on to the next one.
 */
function loweredAt(note: Seen, seen: readonly Seen[], until: number): string[] {
  const { relacion, tipo, emisor, receptor, total } = note.document
  if (tipo !== 'E' || relacion === null || !CREDITING.includes(relacion.tipo)) return []
  if (relacion.tipo !== '07') return [...relacion.uuids].sort()
  const counted = countedAmong(seen.filter((one) => instantOf(one) <= until))
  const invoices = seen.filter(({ document, hasXml }) => hasXml && document.tipo === 'I')
  const names = ({ document }: Seen, uuid: string, how: string): boolean =>
    document.uuid !== uuid &&
    ((document.relacion?.tipo === how && document.relacion.uuids.includes(uuid)) || (how === '04' && !!document.sustituye?.includes(uuid)))
  const reached = (from: string, how: readonly string[]): Set<string> => {
    const found = new Set([from])
    for (const uuid of found)
      for (const one of invoices) if (how.some((relation) => names(one, uuid, relation))) found.add(one.document.uuid)
    return found
  }
  const applyingOf = (uuid: string) => reached(uuid, ['04', '07']).difference(reached(uuid, ['04']))
  const inOrder = (uuids: ReadonlySet<string>): string[] => {
    const found = invoices.filter(
      ({ document }) =>
        uuids.has(document.uuid) && counted.has(document.uuid) && document.emisor === emisor && document.receptor === receptor,
    )
    const byAge = (a: Seen, b: Seen) => instantOf(a) - instantOf(b) || (a.document.uuid < b.document.uuid ? -1 : 1)
    const before = found.filter((one) => instantOf(one) <= instantOf(note)).sort((a, b) => byAge(b, a))
    const after = found.filter((one) => instantOf(one) > instantOf(note))
    return [...before, ...after.sort((a, b) => instantOf(a) - instantOf(b) || -byAge(a, b))].map(({ document }) => document.uuid)
  }
  const choices = relacion.uuids.map((uuid) => {
    const itself = reached(uuid, ['04'])
    const applying = applyingOf(uuid)
    const others = new Set(
      invoices
        .filter((one) => itself.has(one.document.uuid) && instantOf(one) <= until && one.document.relacion?.tipo === '07')
        .flatMap(({ document }) => document.relacion!.uuids.filter((one) => one !== document.uuid).flatMap((one) => [...applyingOf(one)])),
    )
    const found = [applying, itself, others.difference(itself).difference(applying)].flatMap(inOrder)
    return found.length === 0 ? [uuid] : found
  })
  const left = (uuid: string): bigint => leftOf(note, uuid, seen, until) ?? micros(total)
  const targets = new Set(choices.map((list) => list.find((uuid) => left(uuid) > 0n) ?? list[0]!))
  let rest = [...targets].reduce((all, uuid) => all - left(uuid), micros(total))
  for (const uuid of choices.flat()) {
    if (rest <= 0n) break
    if (targets.has(uuid) || left(uuid) === 0n) continue
    targets.add(uuid)
    rest -= left(uuid)
  }
  return [...targets].sort()
}

/** The same, and since when it has been so. */
function lowered(note: Seen, seen: readonly Seen[], until: number): { from: number; uuids: string[] } {
  const begin = instantOf(note)
  const instants = [begin, ...new Set(seen.map(instantOf).filter((one) => one > begin && one <= until))].sort((a, b) => a - b)
  let found = { from: begin, uuids: loweredAt(note, seen, begin) }
  for (const from of instants) {
    const uuids = loweredAt(note, seen, from)
    if (uuids.join() !== found.uuids.join()) found = { from, uuids }
  }
  return found
}

/** An amount of one document in the currency of another; null when a rate is not known. Rates have at most four decimals. */
function inCurrencyOf(to: Plain, amount: bigint, from: Plain): bigint | null {
  if (from.moneda === to.moneda) return amount
  const [rate, other] = [rateOf(from), rateOf(to)].map((one) => (one === null ? null : BigInt(Math.round(one * 10_000))))
  if (rate == null || other == null) return null
  const pesos = (amount * rate + 5_000n) / 10_000n
  return (pesos * 20_000n + other) / (2n * other)
}

/** Divides an amount by totals. Whoever would get more than was paid gets that, and the others the rest, as long as there are others. */
function byTotals(amount: bigint, list: readonly { paid: bigint; total: bigint }[], others = new Set(list.keys())): bigint[] {
  const whole = [...others].reduce((sum, n) => sum + list[n]!.total, 0n)
  const full = [...others].filter((n) => list[n]!.paid * whole <= amount * list[n]!.total)
  if (full.length === 0)
    return inProportion(
      amount,
      list.map(({ total }, n) => (others.has(n) ? total : 0n)),
    )
  const rest = full.reduce((sum, n) => sum - list[n]!.paid, amount)
  const left = new Set([...others].filter((n) => !full.includes(n)))
  const more =
    left.size > 0
      ? byTotals(rest, list, left)
      : inProportion(
          rest,
          list.map(({ total }) => total),
        )
  return more.map((one, n) => one + (full.includes(n) ? list[n]!.paid : 0n))
}

const kept = new WeakMap<readonly Seen[], Map<string, Map<string, bigint>>>()

/** What a credit note takes off each invoice, in its own currency: what is open of each when it is issued, then by their totals. */
export function partsOf(note: Seen, seen: readonly Seen[], until = Number.POSITIVE_INFINITY): Map<string, bigint> {
  const known = kept.get(seen) ?? new Map<string, Map<string, bigint>>()
  kept.set(seen, known)
  const key = `${note.document.uuid}|${until}`
  const found = known.get(key) ?? divided(note, seen, until)
  known.set(key, found)
  return found
}

function divided(note: Seen, seen: readonly Seen[], until: number): Map<string, bigint> {
  const { from, uuids } = lowered(note, seen, until)
  const amount = micros(note.document.total)
  if (uuids.length < 2) return new Map(uuids.map((uuid) => [uuid, amount]))
  // Nobody who sees the note there knows of what is issued later.
  const then = seen.filter((one) => instantOf(one) <= from)
  const counted = countedAmong(then)
  const openOf = (uuid: string): { open: bigint; paid: bigint; total: bigint } | null => {
    const found = seen.find(({ document }) => document.uuid === uuid)
    if (!found?.hasXml || found.document.tipo !== 'I' || instantOf(found) > from) return null
    const { emisor, receptor, moneda, metodo } = found.document
    if (emisor !== note.document.emisor || receptor !== note.document.receptor) return null
    const total = inCurrencyOf(note.document, micros(found.document.total), found.document)
    if (total === null) return null
    const acting = then.filter(({ document, hasXml }) => hasXml && counted.has(document.uuid) && document.emisor === emisor)
    const payments = acting.flatMap(({ document }) =>
      document.pagos.flatMap(({ fecha, documentos }) =>
        documentos.filter((it) => it.uuid === uuid && it.moneda === moneda).map((it) => ({ ...it, fecha })),
      ),
    )
    const key = ({ document }: Seen) => `${document.fecha}|${document.uuid}`
    const settled = payments.filter(({ fecha }) => fecha <= note.document.fecha).map(({ pagado }) => micros(pagado))
    const earlier = acting
      .filter((one) => one.document.receptor === receptor && key(one) < key(note))
      .map((one) => inCurrencyOf(found.document, partsOf(one, seen, from).get(uuid) ?? 0n, one.document) ?? 0n)
    const less = (amount: bigint, list: readonly bigint[]) => {
      const rest = list.reduce((all, one) => all - one, amount)
      return rest > 0n ? rest : 0n
    }
    const left = less(micros(found.document.total), earlier)
    const open = metodo === 'PUE' && payments.length === 0 ? 0n : less(left, settled)
    const inItsCurrency = (one: bigint) => inCurrencyOf(note.document, one, found.document)!
    return { open: inItsCurrency(open), paid: inItsCurrency(left - open), total }
  }
  const invoices = uuids.map(openOf)
  const equal = amount / BigInt(uuids.length)
  const unknown = invoices.filter((one) => one === null).length
  const known = invoices.filter((one) => one !== null)
  const rest = amount - equal * BigInt(unknown)
  const open = known.reduce((all, one) => all + one.open, 0n)
  const first = inProportion(
    rest < open ? rest : open,
    known.map((one) => one.open),
  )
  const second = byTotals(rest > open ? rest - open : 0n, known)
  let n = 0
  const parts = invoices.map((one) => (one === null ? equal : first[n]! + second[n++]!))
  if (known.length === 0) parts[0]! += amount - equal * BigInt(uuids.length)
  return new Map(uuids.map((uuid, at) => [uuid, parts[at]!]))
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
    credited += Number(partsOf({ document: source, hasXml, isCancelled: false }, seen).get(uuid) ?? 0n)
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
