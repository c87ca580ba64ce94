import { type Micros, micros, percent, sum } from '../amounts.ts'
import type { Indicator } from '../analytics-shapes.ts'
import { openInvoices } from '../balances.ts'
import { inPesos, isToItself, netOf, populationOf, signOf } from '../counting.ts'
import { concentrationOf } from '../drilldowns/concentration.ts'
import { repseNotValid } from '../drilldowns/risk.ts'
import { hitsAt, isPresumed, situacionAt } from '../lists.ts'
import type { Direction } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { type Document, dayOf, type Range, type World, within } from '../world.ts'

/** Counts and indexes. */
const INTEGERS = ['blacklisted_counterparties', 'customer_concentration', 'supplier_concentration']
const GOOD_SENSES = ['positivo', 'en_suspension', 'inscrito_sin_obligaciones']

/** GET /v1/analytics/risk: the indicators in their order, without formulas. */
export function indicatorsOf(world: World, range: Range): Omit<Indicator, 'formula' | 'drilldown'>[] {
  const { thresholds } = world.rules(world.today)
  const documents = populationOf(world, range, ['I', 'E'])
  const of = (direction: Direction) => documents.filter((one) => one.direction === direction)
  const net = (list: readonly Document[]) => sum(list.map((one) => inPesos(world, one, netOf(one)) * signOf(one)))
  const invoices = (direction: Direction) => of(direction).filter(({ tipo_comprobante }) => tipo_comprobante === 'I')
  const gross = (list: readonly Document[]) => sum(list.map((one) => inPesos(world, one, micros(one.total))))
  const share = (key: string, numerator: Micros, denominator: Micros, sample_size: number) =>
    number(key, percent(numerator, denominator), sample_size)
  const number = (key: string, value: string | number | null, sample_size: number) => ({
    ...{ key, value, threshold: INTEGERS.includes(key) ? Number(thresholds[key]) : thresholds[key]!, sample_size },
    risky: value !== null && micros(String(value)) > micros(thresholds[key]!),
  })
  const [sense] = [...world.opinions].sort((a, b) => (a.date < b.date ? 1 : -1)).map((one) => one.sense)
  const [own] = hitsAt(world, world.rfc, world.today)
  const parties = [...new Set(documents.map(({ counterparty }) => counterparty.rfc))]
  const concentration = (direction: Direction) => concentrationOf(world, { ...range, direction }).header.hhi
  const all = (direction: Direction) =>
    world.documents.filter(
      (one) =>
        one.kind === 'cfdi' &&
        one.tipo_comprobante === 'I' &&
        one.direction === direction &&
        !isToItself(one) &&
        !one.is_substituted &&
        within(range, dayOf(one.fecha)),
    )
  const cancelled = (direction: Direction) => all(direction).filter(({ estatus }) => estatus === 'cancelado').length
  const rate = (key: string, direction: Direction) =>
    share(key, BigInt(cancelled(direction)), BigInt(all(direction).length), all(direction).length)
  const open = openInvoices(world, 'issued', world.today).filter(({ pesos }) => pesos !== null)
  const owed = (list: typeof open) => sum(list.map(({ pesos }) => pesos!))
  const related = documents.filter(({ counterparty }) => world.intercompany.includes(counterparty.rfc))
  const foreign = of('issued').filter(({ currency }) => currency !== 'MXN' && currency !== 'XXX')
  const cash = invoices('issued').filter(({ forma_pago }) => forma_pago === '01')
  const atRisk = invoices('received').filter((one) => repseNotValid(world, one))
  return [
    {
      ...{
        key: 'tax_compliance',
        value: sense ?? null,
        threshold: thresholds['tax_compliance']!,
        sample_size: sense === undefined ? 0 : 1,
      },
      risky: sense !== undefined && !GOOD_SENSES.includes(sense),
    },
    {
      ...{ key: 'blacklist_status', value: own ? (own.situacion ?? own.source) : null, threshold: thresholds['blacklist_status']! },
      ...{ risky: own !== undefined, sample_size: 1 },
    },
    number(
      'blacklisted_counterparties',
      parties.length === 0 ? null : parties.filter((rfc) => isPresumed(situacionAt(world, rfc, world.today))).length,
      parties.length,
    ),
    share('intercompany_share', net(related), net(documents), documents.length),
    number('customer_concentration', concentration('issued'), of('issued').length),
    number('supplier_concentration', concentration('received'), of('received').length),
    share('foreign_exchange_share', net(foreign), net(of('issued')), of('issued').length),
    share('cash_share', gross(cash), gross(invoices('issued')), invoices('issued').length),
    rate('cancelled_issued_rate', 'issued'),
    rate('cancelled_received_rate', 'received'),
    share('ppd_overdue_share', owed(open.filter(({ due }) => due < world.today)), owed(open), open.length),
    share('repse_at_risk_share', net(atRisk), net(invoices('received')), invoices('received').length),
  ]
}

/** The documents of the numerators, and those of counterparties on the list of article 69-B. */
export function indicatorEntries(world: World, range: Range): Tally {
  const tally = newTally()
  for (const one of populationOf(world, range, ['I', 'E'])) {
    const { direction, currency, forma_pago, counterparty, tipo_comprobante, total, uuid } = one
    const [net, isInvoice, isIssued] = [inPesos(world, one, netOf(one)) * signOf(one), tipo_comprobante === 'I', direction === 'issued']
    if (isPresumed(situacionAt(world, counterparty.rfc, world.today))) tally.add('blacklisted_counterparties', uuid, net)
    if (world.intercompany.includes(counterparty.rfc)) tally.add('intercompany_share', uuid, net)
    if (isIssued && currency !== 'MXN' && currency !== 'XXX') tally.add('foreign_exchange_share', uuid, net)
    if (isIssued && isInvoice && forma_pago === '01') tally.add('cash_share', uuid, inPesos(world, one, micros(total)))
    if (isInvoice && repseNotValid(world, one)) tally.add('repse_at_risk_share', uuid, net)
  }
  for (const { invoice, pesos, due } of openInvoices(world, 'issued', world.today))
    if (pesos !== null && due < world.today) tally.add('receivables.overdue', invoice.uuid, pesos)
  return tally
}
