import { type Micros, money, percent, quotient, ratio, sum } from '../amounts.ts'
import { inPesos, isToItself, netOf, populationOf, signOf } from '../counting.ts'
import { worstAt } from '../lists.ts'
import type { ConcentrationHeader, ConcentrationRow, Direction } from '../shapes.ts'
import { newTally } from '../tally.ts'
import { addMonths, byNewest, compare, type Document, dayOf, isGeneric, monthOf, nameOf, type Range, type World, within } from '../world.ts'

export interface ConcentrationQuery extends Range {
  direction: Direction
  include_generic?: boolean
}

const HUNDRED = 10_000n

/** Sum of squares of shares on the scale of 10,000, rounded once; null without any. */
export function hhiOf(totals: readonly Micros[]): number | null {
  const all = sum(totals)
  return all === 0n ? null : Number(quotient(sum(totals.map((one) => one * one)) * HUNDRED, all * all))
}

/** GET /v1/cfdi/concentration: header, rows in their order, and the entries of `total` and `total|<rfc>`. */
export function concentrationOf(world: World, query: ConcentrationQuery) {
  const { direction, include_generic = false, from, to } = query
  const tally = newTally()
  const documents = populationOf(world, query, ['I', 'E']).filter((one) => one.direction === direction)
  const netOfOne = (one: Document) => inPesos(world, one, netOf(one)) * signOf(one)
  const groups = [...Map.groupBy(documents, ({ counterparty }) => counterparty.rfc)].map(([rfc, list]) => {
    for (const one of list) {
      const isInvoice = one.tipo_comprobante === 'I'
      for (const figure of ['total', `total|${rfc}`, `total|${rfc}|${monthOf(one.fecha)}`, ...(isInvoice ? [`invoice_count|${rfc}`] : [])])
        tally.add(figure, one.uuid, netOfOne(one))
    }
    return { rfc, list, total: sum(list.map(netOfOne)) }
  })
  groups.sort((a, b) => compare([-a.total, a.rfc], [-b.total, b.rfc]))
  const ranked = groups.filter(({ rfc, total }) => total > 0n && (include_generic || !isGeneric(rfc)))
  const base = sum(ranked.map(({ total }) => total))
  const top = (count: number) => percent(sum(ranked.slice(0, count).map(({ total }) => total)), base)
  const hhi = hhiOf(ranked.map(({ total }) => total))
  const { moderate, high } = world.rules(world.today).hhi
  const header: Omit<ConcentrationHeader, 'drilldown'> = {
    ...{ direction, total: money(sum(groups.map(({ total }) => total))), concentration_total: money(base) },
    ...{ counterparty_count: groups.length, hhi, effective_n: hhi === null || hhi === 0 ? null : ratio(HUNDRED, BigInt(hhi), 2) },
    ...{ top1_share: top(1), top3_share: top(3), top5_share: top(5), top10_share: top(10) },
    level: hhi === null ? null : hhi < moderate ? 'low' : hhi <= high ? 'moderate' : 'high',
  }
  const cancelled = world.documents.filter(
    (one) =>
      one.kind === 'cfdi' &&
      one.direction === direction &&
      one.tipo_comprobante === 'I' &&
      one.estatus === 'cancelado' &&
      !isToItself(one) &&
      within(query, dayOf(one.fecha)),
  )
  let cumulated = 0n
  const rows = groups.map(({ rfc, list, total }): Omit<ConcentrationRow, 'drilldown'> => {
    const rank = ranked.findIndex((one) => one.rfc === rfc)
    if (rank >= 0) cumulated += total
    const invoices = list.filter(({ tipo_comprobante }) => tipo_comprobante === 'I').sort(byNewest)
    const lost = cancelled.filter(({ counterparty }) => counterparty.rfc === rfc).length
    const months = Map.groupBy(list, ({ fecha }) => monthOf(fecha))
    const quarter = (end: number) => sum([0, 1, 2].flatMap((n) => (months.get(addMonths(monthOf(to), -end - n)) ?? []).map(netOfOne)))
    const [last, before] = [quarter(0), quarter(3)]
    return {
      ...{ rank: rank < 0 ? null : rank + 1, rfc, name: nameOf(list, rfc), total: money(total) },
      ...{ share: rank < 0 ? null : percent(total, base), cumulative_share: rank < 0 ? null : percent(cumulated, base) },
      ...{
        invoice_count: invoices.length,
        first_issued_at: invoices.at(-1)?.issued_at ?? null,
        last_issued_at: invoices[0]?.issued_at ?? null,
      },
      active_months: new Set(invoices.map(({ fecha }) => monthOf(fecha))).size,
      trend_pct: before <= 0n || monthOf(from) > addMonths(monthOf(to), -5) ? null : percent(last - before, before),
      cancelled_rate: percent(BigInt(lost), BigInt(lost + invoices.length)),
      blacklist: worstAt(world, rfc, world.today),
      by_month: [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, some]) => ({ month, total: money(sum(some.map(netOfOne))) })),
    }
  })
  return { header, rows, tally }
}
