import { daysUntilDue } from '../../authority/rules/by-day.ts'
import { exactBalance, rateWanted } from '../../cfdi/open/applications.ts'
import { exactPaidPart, ratesOfPaidPart } from '../../cfdi/open/exact-paid-part.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import { type Micros, micros, sumAll } from '../../platform/money.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import type { DirectionNumber } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTIONS } from '../../taxpayers/visibility/window.ts'
import { type Insight, inPesos, openInsight, parseUnrated, readBothSides } from '../common/insight.ts'
import { othersNotes, ratesFor } from '../common/omitted.ts'
import { creditSales, type Judging, type OpenGroup, openGroups, type PaidRow, paidByDebtor, type SalesRow } from './store.ts'

const DAY_MS = 86_400_000
export const addDays = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

/** The day that many months earlier; the last of its month when there is none. */
function monthsBefore(day: string, months: number): string {
  const month = addMonths(day.slice(0, 7), -months)
  const [same, last] = [`${month}${day.slice(7)}`, lastDayOf(month)]
  return same > last ? last : same
}

/** The months whose payments are read, and the limits by which invoices are judged. */
export interface FinancingAsOf {
  insight: Insight
  at: Judging
}

/** Opens the ledger as of a day. Throws Failure 404 without one to read, and 422 as_of.future. */
export async function openFinancing(
  ctx: Ctx,
  { as_of, max_age_days }: { as_of?: string | undefined; max_age_days?: number | undefined },
): Promise<FinancingAsOf> {
  const past = pastDay(ctx, as_of)
  const insight = await openInsight(ctx, as_of === undefined ? {} : { to: as_of })
  const { today } = insight
  const day = past ?? today
  const rules = insight.rules.on(day)
  const first = addDays(monthsBefore(day, rules.get('financing.payment_months')), 1)
  return {
    insight: { ...insight, rules, span: { ...insight.span, from: first, first, to: day, last: day } },
    at: {
      checker: insight.ledger.fiscal_entity_id,
      ...{ day, past, terms: daysUntilDue(rules, day), buckets: rules.get('financing.aging_days') },
      ...{ max_age: max_age_days ?? rules.get('financing.max_age_days'), max_overdue: rules.get('financing.max_overdue_days') },
    },
  }
}

/** Open invoices that are alike. `pesos` is null without an exchange rate. */
export interface OpenItem
  extends Pick<OpenGroup, 'rfc' | 'newest' | 'bucket' | 'month' | 'is_old' | 'is_late' | 'is_in_process' | 'n' | 'parsed' | 'due'> {
  pesos: Micros | null
  is_mismatch: boolean
}

/** The paid amount, in MXN at the invoices' rates; the same times the days that it took; and the part paid in time. */
export interface Punctuality {
  paid: Micros
  weighted: Micros
  on_time: Micros
}

/** The sums of a direction. */
export interface SideRead {
  open: OpenItem[]
  sales: Micros
  paid: Map<string, Punctuality>
  unreconciled: number
  otherParties: number
}

type ExactRow = [exactRow: string, days: number, isOnTime: 0 | 1]
const MILLION = 1_000_000n
const distance = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a)

/** Reads both directions. Two D1 calls, and one more when an exchange rate is to be looked up. */
export async function readFinancing({ insight, at }: FinancingAsOf) {
  const { ctx, rules, span } = insight
  const tolerance = micros(rules.get('balance.tolerance'))!
  const sales = { first: addDays(at.day, 1 - rules.get('financing.dso_days')), last: at.day }
  const { rowsOf, envelope, counts } = await readBothSides(insight, (partition, direction) => [
    openGroups(partition, direction, at, tolerance),
    creditSales(partition, direction, sales, at.past),
    paidByDebtor(partition, direction, span, at),
    othersNotes(partition, direction, span, at.past),
  ])
  const of = <Row>(kind: number, direction: DirectionNumber) => rowsOf<Row>(kind).filter((row) => row.direction === direction)
  const read = DIRECTIONS.map((direction) => ({
    groups: of<OpenGroup>(0, direction),
    sales: of<SalesRow>(1, direction).map(({ net, unrated }) => ({ net: parseSum(net), unrated: parseUnrated(unrated) })),
    paid: of<PaidRow>(2, direction).map((row) => ({ ...row, exactRows: JSON.parse(row.exactRows ?? '[]') as ExactRow[] })),
    notes: of<{ n: number }>(3, direction).reduce((sum, { n }) => sum + n, 0),
  }))
  const rateOfDay = await ratesFor(ctx, (want) => {
    for (const { groups, sales: sold, paid } of read) {
      for (const { exactRow } of groups) if (exactRow !== null) want(rateWanted(exactRow))
      for (const { unrated } of sold) for (const one of unrated) want(one)
      for (const { exactRows } of paid) for (const [exactRow] of exactRows) ratesOfPaidPart(exactRow).forEach(want)
    }
  })
  const sides = read.map(({ groups, sales: sold, paid, notes }): SideRead => {
    const side: SideRead = { open: [], sales: 0n, paid: new Map(), unreconciled: 0, otherParties: notes }
    for (const group of groups) {
      const { exactRow, reported, pesos } = group
      if (exactRow === null) {
        side.open.push({ ...group, pesos: parseSum(pesos), is_mismatch: group.is_mismatch === 1 })
        continue
      }
      const wanted = rateWanted(exactRow)
      const exact = exactBalance(exactRow, wanted && rateOfDay(wanted.currency, wanted.day))
      const isMismatch = exact !== null && reported !== null && distance(BigInt(reported), exact.balance) > tolerance
      if (exact) side.open.push({ ...group, pesos: exact.pesos, is_mismatch: isMismatch })
    }
    for (const { net, unrated } of sold)
      side.sales += net + sumAll(unrated.map((one) => inPesos(one.net, rateOfDay(one.currency, one.day)) ?? 0n))
    for (const row of paid) {
      side.unreconciled += row.unreconciled
      side.otherParties += row.other_parties
      if (row.rfc === null) continue
      const sum = side.paid.get(row.rfc) ?? { paid: 0n, weighted: 0n, on_time: 0n }
      side.paid.set(row.rfc, sum)
      sum.paid += parseSum(row.paid)
      sum.on_time += parseSum(row.on_time)
      sum.weighted += BigInt(row.weighted ?? 0) * MILLION + BigInt(row.rest ?? 0)
      for (const [exactRow, days, isOnTime] of row.exactRows) {
        const { booked } = exactPaidPart(exactRow, rateOfDay)
        sum.paid += booked ?? 0n
        sum.weighted += (booked ?? 0n) * BigInt(days)
        if (isOnTime) sum.on_time += booked ?? 0n
      }
    }
    return side
  })
  return { receivables: sides[0]!, payables: sides[1]!, envelope, counts }
}
