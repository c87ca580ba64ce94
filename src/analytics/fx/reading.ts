import type { OpenAt } from '../../cfdi/open/applications.ts'
import { exactBalance, rateWanted } from '../../cfdi/open/applications.ts'
import { exactPaidPart, ratesOfPaidPart } from '../../cfdi/open/exact-paid-part.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import { type Micros, micros } from '../../platform/money.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { assertBegun, type Insight, inPesos, openInsight, parseUnrated, type RangeQuery, readBothSides } from '../common/insight.ts'
import { othersNotes, publishedFor } from '../common/omitted.ts'
import { type CurrencyOpenRow, type DocumentsByCurrency, documents, openByCurrency, type RealizedRow, realizedByCurrency } from './store.ts'

export interface FxAsOf {
  insight: Insight
  at: OpenAt
  /** The days of the range up to the day. */
  days: Days
}

/** Opens the ledger as of a day. Throws Failure 404 without one to read, 422 range.invalid and as_of.future. */
export async function openFx(ctx: Ctx, query: RangeQuery & { as_of?: string | undefined }): Promise<FxAsOf> {
  const { as_of } = query
  const past = pastDay(ctx, as_of)
  const insight = await openInsight(ctx, { ...query, to: query.to ?? as_of?.slice(0, 7) })
  assertBegun(insight, as_of)
  const { span, today, rules } = insight
  const day = past ?? today
  const days = { first: span.first, last: span.last < day ? span.last : day }
  // Documents after the day are in no figure, and in no count of data_quality.
  return {
    insight: { ...insight, rules: rules.on(day), span: { ...span, last: days.last } },
    at: { day, past, terms: () => '0' },
    days,
  }
}

/** The net amount of a document in micros of its currency, out of `[tipo, subtotal, descuento]`; that of a credit note is negative. */
export function ownNet([tipo, subtotal, descuento]: readonly [string, string | null, string | null]): Micros {
  const net = (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n)
  return tipo === 'E' ? -net : net
}

/** The amounts in a currency. In each pair, the first is of issued documents, the second of received ones. */
export interface CurrencyPosition {
  /** Before taxes, in the currency and in MXN. */
  own: [Micros, Micros]
  pesos: [Micros, Micros]
  open: [Micros, Micros]
  booked: Micros
  realized: Micros
  /** Whether it has a row, because it is in documents of the range, or open. */
  isShown: boolean
}

type ExactRow = [string, string | null, string | null]

/** Reads the positions by currency, MXN among them, and the rates of the day. Three D1 calls. */
export async function readFx({ insight, at, days }: FxAsOf) {
  const { rowsOf, envelope, counts } = await readBothSides(insight, (partition, direction) => [
    documents(partition, direction, days, at.past),
    openByCurrency(partition, direction, at),
    realizedByCurrency(partition, direction, days),
    othersNotes(partition, direction, days, null),
  ])
  const sums = rowsOf<DocumentsByCurrency>(0).map((row) => ({ ...row, unrated: parseUnrated(row.unrated) }))
  const open = rowsOf<CurrencyOpenRow>(1)
  const realized = rowsOf<RealizedRow>(2).map((row) => ({ ...row, exactRows: JSON.parse(row.exactRows ?? '[]') as string[] }))
  const published = await publishedFor(insight.ctx, (want) => {
    for (const { currency } of [...sums, ...open]) want({ currency, day: at.day })
    for (const { unrated } of sums) unrated.forEach(want)
    for (const { exactRow } of open) if (exactRow !== null) want(rateWanted(exactRow))
    for (const { exactRows } of realized) for (const exactRow of exactRows) ratesOfPaidPart(exactRow).forEach(want)
  })
  const rateOfDay = (currency: string, day: string): string | null => published(currency, day)?.rate ?? null
  const positions = new Map<string, CurrencyPosition>()
  const positionOf = (currency: string): CurrencyPosition => {
    const known = positions.get(currency)
    if (known) return known
    const none: CurrencyPosition = { own: [0n, 0n], pesos: [0n, 0n], open: [0n, 0n], booked: 0n, realized: 0n, isShown: false }
    positions.set(currency, none)
    return none
  }
  let dof_rate = 0
  for (const { currency, direction, invoiced, credited, own_invoiced, own_credited, exactRows, unrated } of sums) {
    const position = positionOf(currency)
    position.isShown = true
    position.own[direction] += parseSum(own_invoiced) - parseSum(own_credited)
    for (const exactRow of JSON.parse(`[${exactRows ?? ''}]`) as ExactRow[]) position.own[direction] += ownNet(exactRow)
    position.pesos[direction] += parseSum(invoiced) - parseSum(credited)
    for (const { tipo, net, day } of unrated) {
      const signed = tipo === 'E' ? -net : net
      const pesos = inPesos(signed, rateOfDay(currency, day))
      position.own[direction] += signed
      position.pesos[direction] += pesos ?? 0n
      if (pesos !== null) dof_rate++
    }
  }
  for (const { currency, direction, balance, pesos, exactRow } of open) {
    const wanted = exactRow === null ? null : rateWanted(exactRow)
    const exact = exactRow === null ? null : exactBalance(exactRow, wanted && rateOfDay(wanted.currency, wanted.day))
    if (exactRow !== null && exact === null) continue
    const position = positionOf(currency)
    position.isShown = true
    position.open[direction] += exact ? exact.balance : parseSum(balance)
    const booked = exact ? (exact.pesos ?? 0n) : parseSum(pesos)
    position.booked += direction === 0 ? booked : -booked
  }
  let unreconciled = 0
  let otherParties = rowsOf<{ n: number }>(3).reduce((sum, { n }) => sum + n, 0)
  for (const { currency, direction, booked, paid, exactRows, unreconciled: n, other_parties } of realized) {
    unreconciled += n
    otherParties += other_parties
    if (currency === null) continue
    let gain = parseSum(paid) - parseSum(booked)
    for (const exactRow of exactRows) {
      const exact = exactPaidPart(exactRow, rateOfDay)
      if (exact.paid === null) unreconciled++
      else if (exact.booked !== null) gain += exact.paid - exact.booked
    }
    positionOf(currency).realized += direction === 0 ? gain : -gain
  }
  return {
    positions,
    rateOf: (currency: string) => published(currency, at.day),
    dof_rate: Math.min(dof_rate, counts.missing_rate),
    unreconciled,
    otherParties,
    envelope,
  }
}
