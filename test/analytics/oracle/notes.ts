import { type Micros, micros, over, sum, times } from './amounts.ts'
import { isVigenteAt, unsubstituted } from './counting.ts'
import { IVA, ivaFigures, type Tax, taxesOf } from './taxes.ts'
import type { Document, World } from './world.ts'

/** The relations by which a credit note takes something off an invoice. */
export const CREDITING = ['01', '03', '07']

const instant = (one: Document): number => Date.parse(one.issued_at)
const isBetweenSame = (one: Document, other: Document): boolean =>
  one.origin === other.origin && one.emisor_rfc === other.emisor_rfc && one.receptor_rfc === other.receptor_rfc

/** MXN for one unit of the document's currency, as it states it. */
export const stated = ({ currency, tipo_cambio }: Document): string | null => (currency === 'MXN' || currency === 'XXX' ? '1' : tipo_cambio)

/** An amount of one document in the currency of another; null when a rate is not stated. */
export function converted(amount: Micros, from: Document, to: Document): Micros | null {
  if (from.currency === to.currency) return amount
  const [rate, other] = [stated(from), stated(to)]
  return rate === null || other === null ? null : over(times(amount, rate), other)
}

const isOfAdvance = (note: Document): boolean =>
  note.tipo_comprobante === 'E' && note.relacionados.some((one) => one.tipo_relacion === '07')
const positive = (amount: Micros): Micros => (amount > 0n ? amount : 0n)

/** What is left of an invoice after the notes of advances that came before one, in the currency of this; null when that is not known. */
function leftOf(world: World, note: Document, uuid: string, shown: readonly Document[]): Micros | null {
  const invoice = shown.find((one) => one.uuid === uuid)
  if (invoice?.tipo_comprobante !== 'I' || !invoice.has_xml || !isBetweenSame(invoice, note)) return null
  const counted = unsubstituted(shown)
  const earlier = shown.filter(
    (one) =>
      isOfAdvance(one) && counted.has(one.uuid) && `${one.fecha}|${one.uuid}` < `${note.fecha}|${note.uuid}` && isBetweenSame(one, note),
  )
  const credited = earlier.map((one) => converted(loweredBy(world, one).get(uuid) ?? 0n, one, invoice) ?? 0n)
  return converted(positive(micros(invoice.total) - sum(credited)), invoice, note)
}

/**
 * The documents that a note lowers: those it names. In the place of what it names in relation 07, the invoice that counts of those that apply
 * it, or else of those that replace it, or else of those that apply the same advance as it: the newest until the note, else the first one
 * after it. What the note is too large for goes on to the next one.
 */
function namedAt(world: World, documents: readonly Document[], note: Document, until: number): string[] {
  const shown = documents.filter(
    (one) => one.kind === 'cfdi' && one.origin === note.origin && isVigenteAt(one, null) && instant(one) <= until,
  )
  const counted = unsubstituted(shown)
  const invoices = documents.filter((one) => one.tipo_comprobante === 'I' && one.has_xml && one.origin === note.origin)
  const reached = (from: Iterable<string>, relations: readonly string[]): Set<string> => {
    const found = new Set(from)
    for (const uuid of found)
      for (const one of invoices)
        if (one.relacionados.some((other) => relations.includes(other.tipo_relacion) && other.uuid === uuid)) found.add(one.uuid)
    return found
  }
  const inOrder = (uuids: ReadonlySet<string>): string[] => {
    const found = invoices.filter((one) => uuids.has(one.uuid) && counted.has(one.uuid) && isBetweenSame(one, note))
    const rank = (one: Document) => (instant(one) <= instant(note) ? instant(note) - instant(one) : instant(one))
    return found.sort((a, b) => rank(a) - rank(b) || (a.uuid < b.uuid ? 1 : -1)).map((one) => one.uuid)
  }
  const crediting = note.relacionados.filter(({ tipo_relacion }) => CREDITING.includes(tipo_relacion))
  const uuids = new Set(crediting.flatMap((one) => (one.tipo_relacion === '07' ? [] : [one.uuid])))
  const choices = crediting
    .filter((one) => one.tipo_relacion === '07')
    .map(({ uuid }) => {
      const itself = reached([uuid], ['04'])
      const applying = reached([uuid], ['04', '07']).difference(itself)
      const advances = invoices
        .filter((one) => itself.has(one.uuid) && instant(one) <= until)
        .flatMap((one) =>
          one.relacionados.flatMap((other) => (other.tipo_relacion === '07' && other.uuid !== one.uuid ? [other.uuid] : [])),
        )
      const others = new Set(advances.flatMap((advance) => [...reached([advance], ['04', '07']).difference(reached([advance], ['04']))]))
      const found = [applying, itself, others.difference(itself).difference(applying)].flatMap(inOrder)
      return found.length === 0 ? [uuid] : found
    })
  const left = (uuid: string): Micros => leftOf(world, note, uuid, shown) ?? micros(note.total)
  for (const list of choices) uuids.add(list.find((uuid) => left(uuid) > 0n) ?? list[0]!)
  let rest = micros(note.total) - sum([...uuids].map(left))
  for (const uuid of choices.flat()) {
    if (rest <= 0n) break
    if (uuids.has(uuid) || left(uuid) === 0n) continue
    uuids.add(uuid)
    rest -= left(uuid)
  }
  return [...uuids].sort()
}

/** The same for everything that is shown, and since when it has been so. */
function named(world: World, note: Document): { from: number; uuids: string[] } {
  const begin = instant(note)
  if (note.tipo_comprobante !== 'E' || !note.has_xml) return { from: begin, uuids: [] }
  if (!isOfAdvance(note)) return { from: begin, uuids: namedAt(world, [], note, begin) }
  const linked = world.documents.filter((one) => one.emisor_rfc === note.emisor_rfc && one.receptor_rfc === note.receptor_rfc)
  const later = [...new Set(linked.map(instant))].filter((one) => one > begin).sort((a, b) => a - b)
  return [begin, ...later].reduce(
    (found, from) => {
      const uuids = namedAt(world, linked, note, from)
      return uuids.join() === found.uuids.join() ? found : { from, uuids }
    },
    { from: begin, uuids: namedAt(world, linked, note, begin) },
  )
}

/** Parts of an amount that are to each other as weights are; each sum of the first of them is rounded down. */
function inProportion(amount: Micros, weights: readonly Micros[]): Micros[] {
  const used = sum(weights) === 0n ? weights.map(() => 1n) : weights
  const upTo = (n: number) => (amount * sum(used.slice(0, n))) / sum(used)
  return used.map((_, n) => upTo(n + 1) - upTo(n))
}

/** What a note takes off an invoice, in its own currency; its taxes where they are not in proportion to those of the note. */
interface Part {
  amount: Micros
  taxes: Tax[] | null
}

const kept = new WeakMap<World, Map<Document, Map<string, Part>>>()

/**
 * What a credit note takes off each invoice: at each rate what is open of each when it is issued, then by their totals. Nobody who sees the note
 * there knows of what is issued later.
 */
export function partsOf(world: World, note: Document): Map<string, Part> {
  const known = kept.get(world) ?? new Map<Document, Map<string, Part>>()
  kept.set(world, known)
  const found = known.get(note) ?? divided(world, note)
  known.set(note, found)
  return found
}

export const loweredBy = (world: World, note: Document): Map<string, Micros> =>
  new Map([...partsOf(world, note)].map(([uuid, { amount }]) => [uuid, amount]))

type Open = { open: Micros; paid: Micros; total: Micros } | null

/** Divides an amount by totals. Whoever would get more than was paid gets that, and the others the rest, as long as there are others. */
function byTotals(amount: Micros, list: readonly NonNullable<Open>[], others = new Set(list.keys())): Micros[] {
  const whole = sum([...others].map((n) => list[n]!.total))
  const full = [...others].filter((n) => list[n]!.paid * whole <= amount * list[n]!.total)
  const weighed = (isMeant: (n: number) => boolean) => list.map(({ total }, n) => (isMeant(n) ? total : 0n))
  if (full.length === 0)
    return inProportion(
      amount,
      weighed((n) => others.has(n)),
    )
  const rest = amount - sum(full.map((n) => list[n]!.paid))
  const left = new Set([...others].filter((n) => !full.includes(n)))
  const more =
    left.size > 0
      ? byTotals(rest, list, left)
      : inProportion(
          rest,
          weighed(() => true),
        )
  return more.map((one, n) => one + (full.includes(n) ? list[n]!.paid : 0n))
}

/** Divides an amount by what is open, then by totals. What is not known gets an equal part. */
function dividedAmong(amount: Micros, invoices: readonly Open[]): Micros[] {
  const shown = invoices.filter((one) => one !== null)
  const equal = amount / BigInt(invoices.length)
  const rest = shown.length === 0 ? 0n : amount - equal * BigInt(invoices.length - shown.length)
  const open = sum(shown.map((one) => one.open))
  const first = inProportion(
    rest < open ? rest : open,
    shown.map((one) => one.open),
  )
  const second = byTotals(rest > open ? rest - open : 0n, shown)
  let n = 0
  const parts = invoices.map((one) => (one === null ? equal : first[n]! + second[n++]!))
  if (shown.length === 0) parts[0]! += amount - equal * BigInt(invoices.length)
  return parts
}

const RATES = ['16', '8', '0', 'exento', 'otras'] as const
const isOf = (rate: (typeof RATES)[number], figure: string): boolean => figure.split('_')[1] === rate

/** What a document transfers at each rate with its IVA, and what is withheld of it by tax. */
function transfers(document: Document) {
  const taxes = taxesOf(document)
  const figures = taxes.flatMap(ivaFigures)
  const at = RATES.map((rate) => sum(figures.filter(([figure]) => isOf(rate, figure)).map(([, amount]) => amount)))
  const withheld = (impuesto: string) =>
    sum(taxes.filter((tax) => tax.kind === 'retencion' && tax.impuesto === impuesto).map(({ importe }) => importe))
  return { taxes, at, gross: sum(at), withheld }
}

function byRate(note: Document, invoices: readonly (Document | null)[], opens: readonly Open[]): Part[] {
  const amount = micros(note.total)
  const whole = () => dividedAmong(amount, opens).map((part): Part => ({ amount: part, taxes: null }))
  const [own, kinds] = [transfers(note), invoices.map((one) => one && { ...transfers(one), total: micros(one.total) })]
  if (own.gross === 0n) return whole()
  const isAct = (n: number) => kinds[n] != null && opens[n] !== null && kinds[n].withheld(IVA) > 0n
  const acts = kinds.flatMap((one, n) => (isAct(n) ? [one!] : []))
  const [ofActs, withheldOfActs] = [sum(acts.map(({ gross }) => gross)), sum(acts.map(({ withheld }) => withheld(IVA)))]
  const returned = acts.length === 0 ? 0n : (own.withheld(IVA) * ofActs) / withheldOfActs
  const share = (part: Micros, r: number, isOfActs: boolean): Micros[] => {
    const scaled = (isStrict: boolean) =>
      opens.map((one, n): Open => {
        const kind = kinds[n]
        if (one === null || !kind || kind.gross === 0n || kind.total === 0n) return one
        const rate = isStrict && isAct(n) !== isOfActs ? 0n : kind.at[r]!
        return { open: (one.open * rate) / kind.total, paid: (one.paid * rate) / kind.total, total: (one.total * rate) / kind.total }
      })
    const isAny = (list: readonly Open[]) => list.some((one) => one === null || one.total > 0n)
    const [strict, loose] = [scaled(true), scaled(false)]
    return dividedAmong(part, isAny(strict) ? strict : isAny(loose) ? loose : opens)
  }
  const rates = own.at.map((part, r) => {
    const most = ofActs === 0n ? 0n : (returned * sum(acts.map(({ at }) => at[r]!))) / ofActs
    const some = most < part ? most : part
    const [one, other] = [share(some, r, true), share(part - some, r, false)]
    return one.map((a, n) => a + other[n]!)
  })
  const gross = opens.map((_, n) => sum(rates.map((parts) => parts[n]!)))
  const withheld = (impuesto: string): Micros[] => {
    const weights = opens.map((one, n) => {
      const kind = kinds[n]
      return one === null || !kind || kind.gross === 0n ? 0n : (gross[n]! * kind.withheld(impuesto)) / kind.gross
    })
    return inProportion(own.withheld(impuesto), weights.some((one) => one > 0n) ? weights : gross)
  }
  const [isr, iva, ieps] = ['001', IVA, '003'].map(withheld) as [Micros[], Micros[], Micros[]]
  const taken = opens.map((_, n) => isr[n]! + iva[n]! + ieps[n]!)
  const rest = inProportion(amount + sum(taken) - own.gross, gross)
  const amounts = gross.map((one, n) => one + rest[n]! - taken[n]!)
  if (amounts.some((one) => one < 0n)) return whole()
  return amounts.map((part, n) => {
    const taxes = own.taxes.map((tax): Tax => {
      const of = (value: Micros, weights: readonly Micros[]) => inProportion(value, weights)[n]!
      if (tax.kind === 'retencion') return { ...tax, importe: { '001': isr, [IVA]: iva, '003': ieps }[tax.impuesto]?.[n] ?? 0n }
      const [figure] = ivaFigures(tax)[0] ?? [null]
      const weights = figure === null ? gross : rates[RATES.findIndex((rate) => isOf(rate, figure))]!
      return { ...tax, base: of(tax.base, weights), importe: of(tax.importe, weights) }
    })
    return { amount: part, taxes }
  })
}

function divided(world: World, note: Document): Map<string, Part> {
  const { from, uuids } = named(world, note)
  if (uuids.length < 2) return new Map(uuids.map((uuid) => [uuid, { amount: micros(note.total), taxes: null }]))
  const then = world.documents.filter(
    (one) => one.kind === 'cfdi' && one.origin === note.origin && isVigenteAt(one, null) && instant(one) <= from,
  )
  const counted = unsubstituted(then)
  const openOf = (uuid: string) => {
    const invoice = world.documents.find((one) => one.uuid === uuid && one.origin === note.origin)
    if (invoice?.tipo_comprobante !== 'I' || !invoice.has_xml || !isBetweenSame(invoice, note) || instant(invoice) > from) return null
    const total = converted(micros(invoice.total), invoice, note)
    if (total === null) return null
    const acting = then.filter((one) => counted.has(one.uuid) && one.has_xml && one.emisor_rfc === invoice.emisor_rfc)
    const payments = acting.flatMap(({ pagos }) =>
      pagos.flatMap(({ fecha_pago, documentos }) =>
        documentos
          .filter((one) => one.uuid === uuid && one.moneda_dr === invoice.currency)
          .map((one) => ({ fecha_pago, imp_pagado: one.imp_pagado })),
      ),
    )
    const earlier = acting
      .filter((one) => one.receptor_rfc === invoice.receptor_rfc && `${one.fecha}|${one.uuid}` < `${note.fecha}|${note.uuid}`)
      .map((one) => converted(loweredBy(world, one).get(uuid) ?? 0n, one, invoice) ?? 0n)
    const settled = payments.filter(({ fecha_pago }) => fecha_pago <= note.fecha).map(({ imp_pagado }) => micros(imp_pagado))
    const left = positive(micros(invoice.total) - sum(earlier))
    const open = invoice.metodo_pago === 'PUE' && payments.length === 0 ? 0n : positive(left - sum(settled))
    return { open: converted(open, invoice, note)!, paid: converted(left - open, invoice, note)!, total }
  }
  const invoices = uuids.map((uuid) => world.documents.find((one) => one.uuid === uuid && one.origin === note.origin) ?? null)
  const parts = byRate(note, invoices, uuids.map(openOf))
  return new Map(uuids.map((uuid, n) => [uuid, parts[n]!]))
}
