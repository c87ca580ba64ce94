import { type Micros, micros, over, sum, times } from './amounts.ts'
import { isVigenteAt, unsubstituted } from './counting.ts'
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

/** The documents that a note lowers: those it names, and in the place of an advance the newest invoice until then that applies it. */
function named(world: World, note: Document): string[] {
  const appliers = (advance: string) =>
    world.documents
      .filter((one) => one.tipo_comprobante === 'I' && one.has_xml && one.uuid !== advance && isBetweenSame(one, note))
      .filter((one) => one.relacionados.some(({ tipo_relacion, uuid }) => tipo_relacion === '07' && uuid === advance))
      .filter((one) => instant(one) <= instant(note))
      .sort((a, b) => instant(b) - instant(a) || (a.uuid < b.uuid ? 1 : -1))
  const uuids = note.relacionados
    .filter(({ tipo_relacion }) => CREDITING.includes(tipo_relacion))
    .map(({ tipo_relacion, uuid }) => (tipo_relacion === '07' ? (appliers(uuid)[0]?.uuid ?? uuid) : uuid))
  return [...new Set(uuids)].sort()
}

/** Parts of an amount that are to each other as weights are; each sum of the first of them is rounded down. */
function inProportion(amount: Micros, weights: readonly Micros[]): Micros[] {
  const used = sum(weights) === 0n ? weights.map(() => 1n) : weights
  const upTo = (n: number) => (amount * sum(used.slice(0, n))) / sum(used)
  return used.map((_, n) => upTo(n + 1) - upTo(n))
}

const kept = new WeakMap<World, Map<Document, Map<string, Micros>>>()

/**
 * What a credit note takes off each invoice, in its own currency: what is open of each when it is issued, then by their totals. Nobody who sees
 * the note knows of what is issued after it.
 */
export function loweredBy(world: World, note: Document): Map<string, Micros> {
  const known = kept.get(world) ?? new Map<Document, Map<string, Micros>>()
  kept.set(world, known)
  const found = known.get(note) ?? divided(world, note)
  known.set(note, found)
  return found
}

function divided(world: World, note: Document): Map<string, Micros> {
  const uuids = note.tipo_comprobante === 'E' && note.has_xml ? named(world, note) : []
  const amount = micros(note.total)
  if (uuids.length < 2) return new Map(uuids.map((uuid) => [uuid, amount]))
  const then = world.documents.filter(
    (one) => one.kind === 'cfdi' && one.origin === note.origin && isVigenteAt(one, null) && instant(one) <= instant(note),
  )
  const counted = unsubstituted(then)
  const openOf = (uuid: string) => {
    const invoice = world.documents.find((one) => one.uuid === uuid && one.origin === note.origin)
    if (invoice?.tipo_comprobante !== 'I' || !invoice.has_xml || !isBetweenSame(invoice, note) || instant(invoice) > instant(note))
      return null
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
    if (invoice.metodo_pago === 'PUE' && payments.length === 0) return { open: 0n, total }
    const earlier = acting
      .filter((one) => one.receptor_rfc === invoice.receptor_rfc && `${one.fecha}|${one.uuid}` < `${note.fecha}|${note.uuid}`)
      .map((one) => converted(loweredBy(world, one).get(uuid) ?? 0n, one, invoice) ?? 0n)
    const paid = payments.filter(({ fecha_pago }) => fecha_pago <= note.fecha).map(({ imp_pagado }) => micros(imp_pagado))
    const left = micros(invoice.total) - sum([...paid, ...earlier])
    return { open: converted(left > 0n ? left : 0n, invoice, note)!, total }
  }
  const invoices = uuids.map(openOf)
  const shown = invoices.filter((one) => one !== null)
  const equal = amount / BigInt(uuids.length)
  const rest = amount - equal * BigInt(uuids.length - shown.length)
  const open = sum(shown.map((one) => one.open))
  const first = inProportion(
    rest < open ? rest : open,
    shown.map((one) => one.open),
  )
  const second = inProportion(
    rest > open ? rest - open : 0n,
    shown.map(({ total }) => total),
  )
  let n = 0
  const parts = invoices.map((one) => (one === null ? equal : first[n]! + second[n++]!))
  if (shown.length === 0) parts[0]! += amount - equal * BigInt(uuids.length)
  return new Map(uuids.map((uuid, at) => [uuid, parts[at]!]))
}
