import { type Micros, micros, times } from './amounts.ts'
import type { Day } from './shapes.ts'
import { type Document, dayOf, type Range, type World, within } from './world.ts'

/** Whether a document was vigente at the end of a day: it is now, or it existed then and was cancelled later. */
export const isVigenteAt = (document: Document, day: Day | null): boolean =>
  document.estatus !== 'cancelado' ||
  (day !== null && dayOf(document.fecha) <= day && document.cancelled_at !== null && dayOf(document.cancelled_at) > day)

const substitutes = (newer: Document, older: Document): boolean =>
  newer.uuid !== older.uuid &&
  newer.origin === older.origin &&
  newer.relacionados.some((one) => one.tipo_relacion === '04' && one.uuid === older.uuid) &&
  newer.emisor_rfc === older.emisor_rfc &&
  newer.receptor_rfc === older.receptor_rfc

/**
 * The documents that count among some: none substitutes them, or they are the newest of a cycle from which nothing leads on.
 */
export function unsubstituted(documents: readonly Document[]): Set<string> {
  const byUuid = new Map(documents.map((one) => [one.uuid, one]))
  const later = new Map<string, Set<string>>(documents.map(({ uuid }) => [uuid, new Set()]))
  for (const newer of documents)
    for (const { tipo_relacion, uuid } of newer.relacionados) {
      const older = byUuid.get(uuid)
      if (tipo_relacion === '04' && older && substitutes(newer, older)) later.get(uuid)!.add(newer.uuid)
    }
  const reachable = (from: string): Set<string> => {
    const seen = new Set<string>()
    const queue = [...later.get(from)!]
    for (const one of queue)
      if (!seen.has(one)) {
        seen.add(one)
        queue.push(...later.get(one)!)
      }
    return seen
  }
  const isBefore = (one: Document, other: Document) => {
    const difference = Date.parse(one.issued_at) - Date.parse(other.issued_at)
    return difference === 0 ? one.uuid < other.uuid : difference < 0
  }
  const counts = (document: Document) =>
    [...reachable(document.uuid)].every(
      (uuid) => uuid === document.uuid || (reachable(uuid).has(document.uuid) && isBefore(byUuid.get(uuid)!, document)),
    )
  return new Set(documents.filter(counts).map(({ uuid }) => uuid))
}

const kept = new WeakMap<World, Map<string, Set<string>>>()

/** The documents that count as of a day, or today. A complement counts from its payment's day, whenever it was stamped. */
export function countedAt(world: World, day: Day | null): Set<string> {
  const asOf = day !== null && day < world.today ? day : null
  const sets = kept.get(world) ?? new Map<string, Set<string>>()
  kept.set(world, sets)
  const known = sets.get(asOf ?? '')
  if (known) return known
  const vigente = world.documents.filter((one) => one.kind === 'cfdi' && isVigenteAt(one, asOf))
  const counted =
    asOf === null
      ? new Set(vigente.filter(({ is_substituted }) => !is_substituted).map(({ uuid }) => uuid))
      : unsubstituted(vigente.filter((one) => one.tipo_comprobante === 'P' || dayOf(one.fecha) <= asOf))
  sets.set(asOf ?? '', counted)
  return counted
}

export const isToItself = ({ emisor_rfc, receptor_rfc }: Document): boolean => emisor_rfc === receptor_rfc

/** The rate of the document's day: stated, or of the table; null without one, and while only metadata is known. */
export function rateOf(world: World, document: Document): string | null {
  const { currency, tipo_cambio, has_xml, fecha } = document
  if (!has_xml || currency === null) return null
  if (currency === 'MXN' || currency === 'XXX') return '1'
  return tipo_cambio ?? world.rates(currency, dayOf(fecha))?.rate ?? null
}

/** Whether the rate of a document is one that it does not state. */
export const isOfTable = (world: World, document: Document): boolean =>
  document.has_xml &&
  document.tipo_cambio === null &&
  document.currency !== 'MXN' &&
  document.currency !== 'XXX' &&
  rateOf(world, document) !== null

const LIMIT = 10n ** 24n

/** Whether an amount of the document has more than 18 digits before the point in MXN. */
export function isTooLarge(world: World, document: Document): boolean {
  const rate = rateOf(world, document) ?? '1'
  const { subtotal, descuento, total, iva_trasladado, iva_retenido, isr_retenido, ieps_trasladado } = document
  return [subtotal, descuento, total, iva_trasladado, iva_retenido, isr_retenido, ieps_trasladado].some(
    (text) => times(micros(text), rate) >= LIMIT || times(micros(text), rate) <= -LIMIT,
  )
}

/** subtotal − descuento, in the document's currency. */
export const netOf = ({ subtotal, descuento }: Document): Micros => micros(subtotal) - micros(descuento)

export const signOf = ({ tipo_comprobante }: Document): bigint => (tipo_comprobante === 'E' ? -1n : 1n)

/** An amount of a document in MXN. It must have a rate. */
export const inPesos = (world: World, document: Document, amount: Micros): Micros => times(amount, rateOf(world, document)!)

/** The documents of the population that can be converted, of some types, in a range. */
export const populationOf = (world: World, range: Range | null, tipos: readonly string[], asOf: Day | null = null): Document[] => {
  const counted = countedAt(world, asOf)
  return world.documents.filter(
    (one) =>
      counted.has(one.uuid) &&
      !isToItself(one) &&
      tipos.includes(one.tipo_comprobante ?? '') &&
      (range === null || within(range, dayOf(one.fecha))) &&
      rateOf(world, one) !== null &&
      !isTooLarge(world, one),
  )
}
