import { exact, type Micros, micros, money, percent, ratio, sum, times } from '../amounts.ts'
import type { Aging, DebtorRow, OpenSide, Pool } from '../analytics-shapes.ts'
import { isMismatch, type Open, openInvoices, punctuality } from '../balances.ts'
import { inPesos, netOf, populationOf } from '../counting.ts'
import { isPresumed, situacionAt, worstAt } from '../lists.ts'
import type { Day, Direction, Month } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import {
  addDays,
  addMonths,
  compare,
  type Document,
  dayOf,
  daysBetween,
  isGeneric,
  lastDayOf,
  monthOf,
  nameOf,
  type World,
  within,
} from '../world.ts'

export interface FinancingQuery {
  as_of?: Day
  advance_rate?: string
  max_age_days?: number
  debtor_cap?: string
}

const agingKey = (due: Day, asOf: Day): keyof Aging => {
  const late = daysBetween(due, asOf)
  if (late <= 0) return 'current'
  return late <= 30 ? 'd1_30' : late <= 60 ? 'd31_60' : late <= 90 ? 'd61_90' : 'd90_plus'
}

const KEYS = ['current', 'd1_30', 'd31_60', 'd61_90', 'd90_plus'] as const
const agingOf = (open: readonly Open[], asOf: Day): Aging => {
  const of = (key: keyof Aging) => money(pesosOf(open.filter(({ due }) => agingKey(due, asOf) === key)))
  return Object.fromEntries(KEYS.map((key) => [key, of(key)])) as Aging
}

const pesosOf = (open: readonly Open[]): Micros => sum(open.map(({ pesos }) => pesos ?? 0n))
const isLate = ({ due }: Open, asOf: Day): boolean => due < asOf

/** The day that many months earlier; the last of its month when there is none. */
export function monthsBefore(day: Day, months: number): Day {
  const month = addMonths(monthOf(day), -months)
  const same = `${month}-${day.slice(8)}`
  return same > lastDayOf(month) ? lastDayOf(month) : same
}

const creditOf = (world: World, direction: Direction, asOf: Day): Document[] =>
  populationOf(world, null, ['I'], asOf).filter(
    (one) => one.direction === direction && one.metodo_pago === 'PPD' && dayOf(one.fecha) <= asOf,
  )

function sideOf(world: World, direction: Direction, asOf: Day, tally: Tally): OpenSide & { open: Open[]; invoices: Document[] } {
  const side = direction === 'issued' ? 'receivables' : 'payables'
  const open = openInvoices(world, direction, asOf).filter(({ pesos }) => pesos !== null)
  const invoices = creditOf(world, direction, asOf)
  const expected = new Map<Month, Micros>()
  for (const one of open) {
    const month = monthOf(isLate(one, asOf) ? asOf : one.due)
    expected.set(month, (expected.get(month) ?? 0n) + one.pesos!)
    const figures = ['outstanding', ...(isLate(one, asOf) ? ['overdue'] : []), `aging.${agingKey(one.due, asOf)}`, `expected|${month}`]
    for (const figure of figures) tally.add(`${side}.${figure}`, one.invoice.uuid, one.pesos!)
  }
  const sales = sum(
    invoices
      .filter((one) => within({ from: addDays(asOf, -89), to: asOf }, dayOf(one.fecha)))
      .map((one) => inPesos(world, one, netOf(one))),
  )
  const { paid, weighted, onTime } = punctuality(world, invoices, { after: monthsBefore(asOf, 12), to: asOf })
  const outstanding = pesosOf(open)
  return {
    ...{ open, invoices, outstanding: money(outstanding), overdue: money(pesosOf(open.filter((one) => isLate(one, asOf)))) },
    ...{ invoice_count: open.length, aging: agingOf(open, asOf) },
    days_outstanding: sales <= 0n ? null : ratio(outstanding * 90n, sales, 2),
    ...{ weighted_days_to_pay: weighted === null ? null : ratio(weighted, 100n, 2), on_time_rate: percent(onTime, paid) },
    expected: [...expected].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, amount]) => ({ month, amount: money(amount) })),
    due_sources: { parsed: open.filter(({ isParsed }) => isParsed).length, default: open.filter(({ isParsed }) => !isParsed).length },
    drilldown: {},
  }
}

function ineligible(world: World, { invoice, pesos, due }: Open, asOf: Day, maxAge: number): string | null {
  const rfc = invoice.counterparty.rfc
  const reasons: [string, boolean][] = [
    ['too_old', daysBetween(dayOf(invoice.fecha), asOf) > maxAge],
    ['overdue_30', daysBetween(due, asOf) > world.rules(asOf).pool.overdue_days],
    ['cancellation_in_process', asOf === world.today && invoice.estatus_cancelacion === 'en_proceso'],
    ['generic_debtor', isGeneric(rfc)],
    ['intercompany', world.intercompany.includes(rfc)],
    ['blacklisted', isPresumed(situacionAt(world, rfc, asOf))],
    ['balance_mismatch', asOf === world.today && isMismatch(world, invoice)],
    ['missing_rate', pesos === null],
  ]
  return reasons.find(([, holds]) => holds)?.[0] ?? null
}

/** GET /v1/analytics/financing: both sides, the pool, the debtors in their order, and the entries. */
export function financingOf(world: World, query: FinancingQuery) {
  const asOf = query.as_of ?? world.today
  const { advance_rate = world.rules(asOf).pool.advance_rate, max_age_days = world.rules(asOf).pool.max_age_days } = query
  const { debtor_cap = world.rules(asOf).pool.debtor_cap } = query
  const tally = newTally()
  const receivables = sideOf(world, 'issued', asOf, tally)
  const payables = sideOf(world, 'received', asOf, tally)
  const judged = openInvoices(world, 'issued', asOf).map((one) => ({ one, reason: ineligible(world, one, asOf, max_age_days) }))
  for (const { one, reason } of judged)
    tally.add(reason === null ? 'pool.eligible_amount' : `pool.${reason}`, one.invoice.uuid, one.pesos ?? 0n)
  const eligible = judged.filter(({ reason }) => reason === null).map(({ one }) => one)
  const all = pesosOf(eligible)
  const cap = times(all, debtor_cap)
  const capped = (mine: Micros) => (mine < cap ? mine : cap)
  const ofDebtor = (rfc: string) => pesosOf(eligible.filter(({ invoice }) => invoice.counterparty.rfc === rfc))
  const debtors = [...Map.groupBy(receivables.open, ({ invoice }) => invoice.counterparty.rfc)]
    .map(([rfc, open]) => ({ rfc, open, outstanding: pesosOf(open) }))
    .sort((a, b) => compare([-a.outstanding, a.rfc], [-b.outstanding, b.rfc]))
  const usable = sum(debtors.map(({ rfc }) => capped(ofDebtor(rfc))))
  const reasons = Map.groupBy(
    judged.filter(({ reason }) => reason !== null),
    ({ reason }) => reason!,
  )
  const pool: Omit<Pool, 'drilldown'> = {
    ...{ eligible_amount: money(all), eligible_count: eligible.length },
    ineligible: [...reasons]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([reason, list]) => ({ reason, count: list.length, amount: money(pesosOf(list.map(({ one }) => one))), drilldown: {} })),
    ...{ advance_rate: exact(micros(advance_rate)), max_age_days, debtor_cap: exact(micros(debtor_cap)) },
    ...{ haircut: money(all - usable), fundable: money(times(usable, advance_rate)) },
  }
  const rows = debtors.map(({ rfc, open, outstanding }): Omit<DebtorRow, 'drilldown'> => {
    const mine = receivables.invoices.filter(({ counterparty }) => counterparty.rfc === rfc)
    const { paid, weighted, onTime } = punctuality(world, mine, { after: monthsBefore(asOf, 12), to: asOf })
    for (const one of open)
      for (const figure of ['outstanding', ...(isLate(one, asOf) ? ['overdue'] : []), `aging.${agingKey(one.due, asOf)}`])
        tally.add(`receivables.${figure}|${rfc}`, one.invoice.uuid, one.pesos!)
    for (const one of eligible)
      if (one.invoice.counterparty.rfc === rfc) tally.add(`pool.eligible_amount|${rfc}`, one.invoice.uuid, one.pesos!)
    return {
      ...{
        rfc,
        name: nameOf(
          open.map(({ invoice }) => invoice),
          rfc,
        ),
        outstanding: money(outstanding),
      },
      ...{ overdue: money(pesosOf(open.filter((one) => isLate(one, asOf)))), invoice_count: open.length, aging: agingOf(open, asOf) },
      oldest_due_date: open.map(({ due }) => due).sort()[0]!,
      ...{ weighted_days_to_pay: weighted === null ? null : ratio(weighted, 100n, 2), on_time_rate: percent(onTime, paid) },
      ...{ eligible_amount: money(ofDebtor(rfc)), capped_amount: money(capped(ofDebtor(rfc))), blacklist: worstAt(world, rfc, asOf) },
    }
  })
  return { receivables, payables, pool, rows, tally }
}
