import { micros } from './amounts.ts'
import { movementsOf, paidLater } from './cash.ts'
import { countedAt, isOfTable, isToItself, isTooLarge, rateOf } from './counting.ts'
import { loweredBy } from './notes.ts'
import type { DataQuality, Day, Direction } from './shapes.ts'
import { newTally, type Tally } from './tally.ts'
import { dayOf, directionsOf, type Range, type World, within } from './world.ts'

type Counts = Record<Exclude<keyof DataQuality, 'months_missing' | 'months_downloading' | 'drilldown'>, number>

/**
 * data_quality of an aggregate, without its months, and what each of its counts can be listed as. What payments leave out is as of `past`, a
 * past day, where there is one.
 */
export function qualityOf(world: World, range: Range, direction?: Direction, past: Day | null = null): { counts: Counts; tally: Tally } {
  const tally = newTally()
  const directions = directionsOf(direction)
  const documents = world.documents.filter(
    (one) =>
      one.kind === 'cfdi' &&
      one.estatus !== 'cancelado' &&
      !isToItself(one) &&
      directions.includes(one.direction) &&
      within(range, dayOf(one.fecha)),
  )
  for (const one of documents) {
    const add = (figure: string, holds: boolean, applies_to: string | null = null) =>
      holds && tally.add(figure, one.uuid, micros(one.total), applies_to)
    const counts = one.has_xml && !one.is_substituted
    add('cfdi_total', true)
    add('with_xml', one.has_xml)
    add('without_xml', !one.has_xml)
    add('substituted', one.is_substituted)
    add('missing_rate', counts && rateOf(world, one) === null)
    add('dof_rate', counts && isOfTable(world, one))
    add('not_counted', counts && isTooLarge(world, one))
  }
  for (const one of world.documents) {
    const isInRange = directions.includes(one.direction) && within(range, dayOf(one.fecha)) && !isToItself(one)
    if (one.tipo_comprobante !== 'E' || !one.has_xml || !isInRange || !countedAt(world, past).has(one.uuid)) continue
    for (const uuid of loweredBy(world, one).keys()) {
      const invoice = world.documents.find((other) => other.uuid === uuid && other.origin === one.origin)
      const isOther = invoice !== undefined && (invoice.emisor_rfc !== one.emisor_rfc || invoice.receptor_rfc !== one.receptor_rfc)
      if (isOther) tally.add('other_parties', one.uuid, micros(one.total), uuid)
    }
  }
  for (const { uuid, applies_to, day, direction: side, reason, pagado } of paidLater(world, past).unreconciled) {
    if (!directions.includes(side) || !within(range, day)) continue
    tally.add('unreconciled_payments', uuid, micros(pagado), applies_to)
    if (reason === 'other_parties') tally.add('other_parties', uuid, micros(pagado), applies_to)
  }
  const { count } = tally
  return {
    counts: {
      ...{ cfdi_total: count('cfdi_total'), with_xml: count('with_xml'), without_xml: count('without_xml') },
      ...{ missing_rate: count('missing_rate'), dof_rate: count('dof_rate'), unreconciled_payments: count('unreconciled_payments') },
      ...{ other_parties: count('other_parties'), substituted: count('substituted'), not_counted: count('not_counted') },
    },
    tally,
  }
}

/** Credit notes that are no money, because nothing is paid of the invoice that they lower: by `credit_notes_of_unpaid`. */
export function creditsOfUnpaid(world: World, range: Range): Tally {
  const tally = newTally()
  const [counted, { paidByComplements }] = [countedAt(world, null), movementsOf(world)]
  for (const one of world.documents) {
    if (one.tipo_comprobante !== 'E' || one.metodo_pago !== 'PUE' || !one.has_xml || isToItself(one)) continue
    if (!within(range, dayOf(one.fecha)) || !counted.has(one.uuid) || isTooLarge(world, one)) continue
    for (const uuid of loweredBy(world, one).keys()) {
      const invoice = world.documents.find((other) => other.uuid === uuid && other.origin === one.origin)
      if (invoice?.tipo_comprobante !== 'I' || invoice.metodo_pago !== 'PPD') continue
      if (invoice.emisor_rfc !== one.emisor_rfc || invoice.receptor_rfc !== one.receptor_rfc) continue
      if (!invoice.has_xml || !counted.has(uuid) || paidByComplements.has(uuid)) continue
      tally.add('credit_notes_of_unpaid', one.uuid, micros(one.total), uuid)
    }
  }
  return tally
}
