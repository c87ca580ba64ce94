import type { Rules } from '../../authority/rules/dated.ts'
import type { InvoiceCounts } from '../../cfdi/summary/summary.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import type { Micros } from '../../platform/money.ts'
import { micros } from '../../platform/money.ts'
import type { WorstListing } from '../common/contract.ts'
import { percentOf, sumAll } from '../common/figures.ts'
import { hhiOf, rankedOf } from '../concentration/shares.ts'
import type { Indicator, IndicatorKey } from './contract.ts'
import type { Overdue } from './overdue.ts'
import type { Party } from './parties.ts'

/** What the indicators are computed from. */
export interface Measurements {
  parties: readonly Party[]
  invoices: readonly [issued: InvoiceCounts, received: InvoiceCounts]
  overdue: Overdue
  /** The sense of the latest opinion. */
  sense: string | null
  /** The most severe list on which the RFC itself is. */
  own: WorstListing
  /** RFCs that the organization connected, and those on the list of article 69-B. */
  related: ReadonlySet<string>
  blacklisted: ReadonlySet<string>
}

/** Those who are presumed, or definitively listed, to invoice nothing. */
export const blacklistedIn = (listings: ReadonlyMap<string, readonly Listing[]>): Set<string> =>
  new Set([...listings].flatMap(([rfc, all]) => (all.some((one) => one.source === 'sat_69b' && one.is_active) ? [rfc] : [])))

/** Senses of an opinion that are no risk, besides the one of the rule. */
const NEUTRAL = ['en_suspension', 'inscrito_sin_obligaciones']

export const FORMULAS: Record<IndicatorKey, string> = {
  tax_compliance: 'sense of the latest compliance opinion (32-D); risky unless positivo, en_suspension or inscrito_sin_obligaciones',
  blacklist_status: 'the most severe active listing of the RFC itself; risky if there is one',
  blacklisted_counterparties: 'distinct counterparties of I and E that are presunto or definitivo on the list of article 69-B today',
  intercompany_share: 'net of I − E with other RFCs that the organization connected ÷ net of I − E, both directions',
  customer_concentration: 'Herfindahl-Hirschman index of issued net amounts by customer (GET /v1/cfdi/concentration)',
  supplier_concentration: 'Herfindahl-Hirschman index of received net amounts by supplier',
  foreign_exchange_share: 'issued net in other currencies than MXN ÷ issued net, in MXN',
  cash_share: 'total of issued I with forma_pago 01 ÷ total of issued I',
  cancelled_issued_rate: 'cancelled issued I ÷ all issued I, without substituted ones',
  cancelled_received_rate: 'cancelled received I ÷ all received I, without substituted ones',
  ppd_overdue_share: 'overdue balances ÷ open balances of issued PPD I, today, at the rate of the invoice',
  repse_at_risk_share: 'net of received I with the flag repse_not_valid_at_payment ÷ net of received I',
}

interface Measured {
  value: string | number | null
  threshold: string | number
  sample_size: number
  risky?: boolean
}

/** Computes the indicators (insights.md 8.1). */
export function indicatorsOf(facts: Measurements, rules: Rules): Omit<Indicator, 'drilldown'>[] {
  const { parties, invoices, overdue, sense, own, related, blacklisted } = facts
  const of = (direction: 0 | 1, isMeant: (one: Party) => boolean = () => true) =>
    parties.filter((one) => one.direction === direction && isMeant(one))
  const net = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.income - one.credit))
  const income = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.income))
  const total = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.total))
  const count = (some: readonly Party[], name: 'documents' | 'invoices' = 'documents') => some.reduce((sum, one) => sum + one[name], 0)
  const [issued, received] = [of(0), of(1)]
  const rfcs = new Set(parties.filter(({ documents }) => documents > 0).map(({ rfc }) => rfc))
  const share = (key: IndicatorKey, part: bigint, whole: bigint, sample_size: number): Measured => ({
    value: percentOf(part, whole),
    threshold: percentOf(micros(rules.get(`indicator.${key}`) as string)!, 1_000_000n)!,
    sample_size,
  })
  const concentration = (key: 'customer_concentration' | 'supplier_concentration', some: readonly Party[]): Measured => {
    const groups = [...Map.groupBy(some, ({ rfc }) => rfc)].map(([rfc, list]) => ({ rfc, total: net(list) }))
    const totals = rankedOf(groups, false).map((one) => one.total)
    return { value: hhiOf(totals), threshold: rules.get(`indicator.${key}`), sample_size: count(some) }
  }
  const cancelled = (key: IndicatorKey, { counted, cancelled: n }: InvoiceCounts): Measured =>
    share(key, BigInt(n), BigInt(counted + n), counted + n)
  const good = [rules.get('indicator.tax_compliance'), ...NEUTRAL]
  const measured: Record<IndicatorKey, Measured> = {
    tax_compliance: {
      value: sense,
      threshold: good[0]!,
      sample_size: sense === null ? 0 : 1,
      risky: sense !== null && !good.includes(sense),
    },
    blacklist_status: {
      ...{ value: own && (own.situacion ?? own.source), threshold: String(rules.get('indicator.blacklist_status')), sample_size: 1 },
      risky: own !== null,
    },
    blacklisted_counterparties: {
      // Nobody was looked for: that is no reassurance.
      value: rfcs.size === 0 ? null : [...rfcs].filter((rfc) => blacklisted.has(rfc)).length,
      ...{ threshold: rules.get('indicator.blacklisted_counterparties'), sample_size: rfcs.size },
    },
    intercompany_share: share('intercompany_share', net(parties.filter(({ rfc }) => related.has(rfc))), net(parties), count(parties)),
    customer_concentration: concentration('customer_concentration', issued),
    supplier_concentration: concentration('supplier_concentration', received),
    foreign_exchange_share: share('foreign_exchange_share', net(of(0, (one) => one.is_foreign === 1)), net(issued), count(issued)),
    cash_share: share('cash_share', total(of(0, (one) => one.is_cash === 1)), total(issued), count(issued, 'invoices')),
    cancelled_issued_rate: cancelled('cancelled_issued_rate', invoices[0]),
    cancelled_received_rate: cancelled('cancelled_received_rate', invoices[1]),
    ppd_overdue_share: share('ppd_overdue_share', overdue.overdue, overdue.open, overdue.invoices),
    repse_at_risk_share: share(
      'repse_at_risk_share',
      income(of(1, (one) => one.is_at_risk === 1)),
      income(received),
      count(received, 'invoices'),
    ),
  }
  return (Object.entries(measured) as [IndicatorKey, Measured][]).map(([key, { risky, ...one }]) => ({
    key,
    ...one,
    risky: risky ?? (one.value !== null && micros(String(one.value))! > micros(String(one.threshold))!),
    formula: FORMULAS[key],
  }))
}
