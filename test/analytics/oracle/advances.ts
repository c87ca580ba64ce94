import { type Micros, micros } from './amounts.ts'
import { countedAt } from './counting.ts'
import { converted, partsOf } from './notes.ts'
import type { Document, World } from './world.ts'

type Docto = Document['pagos'][number]['documentos'][number]

export const namesAdvance = ({ relacionados }: Document): boolean => relacionados.some(({ tipo_relacion }) => tipo_relacion === '07')
const instant = (one: Document): number => Date.parse(one.issued_at)
const isBetweenSame = (one: Document, other: Document): boolean =>
  one.origin === other.origin && one.emisor_rfc === other.emisor_rfc && one.receptor_rfc === other.receptor_rfc
const least = (a: Micros, b: Micros): Micros => (a < b ? a : b)

/** An advance that counts, and what of it has served nothing yet. */
interface Purse {
  advance: Document
  left: Micros
}

const kept = new WeakMap<World, Map<Document | Docto, Micros>>()

/**
 * What is money of what invoices with relation 07 pay in form 30, by the payment, or by the invoice that says so itself: what their advances
 * do not cover, one after the other as documents were issued. An advance that nobody sees covers all.
 */
export function moneyInForm30(world: World): Map<Document | Docto, Micros> {
  const known = kept.get(world)
  if (known) return known
  const money = new Map<Document | Docto, Micros>()
  kept.set(world, money)
  const counted = countedAt(world, null)
  const counts = (one: Document): boolean => counted.has(one.uuid) && one.kind === 'cfdi'
  const appliers = world.documents.filter((one) => one.tipo_comprobante === 'I' && one.has_xml && counts(one) && namesAdvance(one))
  const purses = new Map<Document, Purse>()
  const pursesOf = new Map(
    appliers.map((applier) => {
      const lists = applier.relacionados
        .filter((one) => one.tipo_relacion === '07' && one.uuid !== applier.uuid)
        .map(({ uuid }) => {
          const chain = new Set([uuid])
          for (const one of chain)
            for (const other of world.documents)
              if (
                other.origin === applier.origin &&
                other.tipo_comprobante === 'I' &&
                other.has_xml &&
                other.relacionados.some((relation) => relation.tipo_relacion === '04' && relation.uuid === one)
              )
                chain.add(other.uuid)
          return world.documents.filter((one) => one.origin === applier.origin && chain.has(one.uuid))
        })
      const isSeen = (list: Document[]) => list.length > 0 && !list.some((one) => !one.has_xml && counts(one))
      const found = lists
        .flat()
        .filter((one) => one.tipo_comprobante === 'I' && one.has_xml && counts(one) && isBetweenSame(one, applier))
        .sort((a, b) => instant(a) - instant(b) || (a.uuid < b.uuid ? -1 : 1))
      for (const advance of found) if (!purses.has(advance)) purses.set(advance, { advance, left: micros(advance.total) })
      return [applier, lists.every(isSeen) ? [...new Set(found)].map((one) => purses.get(one)!) : null] as const
    }),
  )
  /** Takes an amount of an invoice out of its purses, and says how much they had. */
  const take = (applier: Document, amount: Micros): Micros => {
    const own = pursesOf.get(applier)
    if (!own) return amount
    let rest = amount
    for (const purse of own) {
      const whole = converted(purse.left, purse.advance, applier)
      if (whole === null) return amount
      const some = least(whole, rest)
      rest -= some
      purse.left = some === whole ? 0n : purse.left - converted(some, applier, purse.advance)!
    }
    return amount - rest
  }
  const steps: { at: number; key: string; run: () => void }[] = []
  const toldByNotes = new Map<Document, Micros>()
  const settle = (applier: Document, amount: Micros, of: Document | Docto): void => {
    const short = amount - take(applier, amount)
    const told = least(short, toldByNotes.get(applier) ?? 0n)
    toldByNotes.set(applier, (toldByNotes.get(applier) ?? 0n) - told)
    money.set(of, short - told)
  }
  const [paid, noted] = [new Set<Document>(), new Set<Document>()]
  const find = (uuid: string, like: Document) => world.documents.find((one) => one.uuid === uuid && one.origin === like.origin)
  for (const one of world.documents) {
    if (!counts(one) || !one.has_xml) continue
    for (const [n, { docto, forma }] of one.pagos
      .flatMap(({ forma_pago_p: forma, documentos }) => documentos.map((docto) => ({ docto, forma })))
      .entries()) {
      const applier = find(docto.uuid, one)
      if (!applier || one.emisor_rfc !== applier.emisor_rfc || docto.moneda_dr !== applier.currency) continue
      paid.add(applier)
      if (forma !== '30' || !pursesOf.has(applier)) continue
      steps.push({
        at: instant(one),
        key: `${one.uuid}|${String(n).padStart(4, '0')}`,
        run: () => settle(applier, micros(docto.imp_pagado), docto),
      })
    }
    if (one.tipo_comprobante !== 'E') continue
    for (const [uuid, { amount }] of partsOf(world, one)) {
      const invoice = find(uuid, one)
      if (!invoice || !isBetweenSame(invoice, one)) continue
      const part = converted(amount, one, invoice)
      if (part === null) continue
      const at = Math.max(instant(one), namesAdvance(one) ? instant(invoice) : 0)
      const isApplied = namesAdvance(one) && pursesOf.has(invoice)
      if (isApplied) noted.add(invoice)
      steps.push({
        at,
        key: one.uuid,
        run: () => {
          const purse = purses.get(invoice)
          if (isApplied) toldByNotes.set(invoice, (toldByNotes.get(invoice) ?? 0n) + take(invoice, part))
          else if (purse) purse.left = purse.left > part ? purse.left - part : 0n
        },
      })
    }
  }
  for (const applier of appliers)
    if (applier.metodo_pago === 'PUE' && applier.forma_pago === '30' && !paid.has(applier) && !noted.has(applier))
      steps.push({ at: instant(applier), key: applier.uuid, run: () => settle(applier, micros(applier.total), applier) })
  for (const { run } of steps.sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))) run()
  return money
}
