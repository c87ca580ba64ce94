import type { Rules } from '../../authority/rules/dated.ts'
import { shareOf } from '../../cfdi/cash/exact-amounts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readAll } from '../../platform/db/statement.ts'
import { decimal, type Micros, micros, sumAll, times } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import { offsetText } from '../../platform/time/months.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import { CAPS, FOUND, OUT } from '../common/deductible.ts'
import { exact, isLeftOut, pageOfLeftOut } from '../common/figures.ts'
import {
  aggregateOf,
  assertInRange,
  type Insight,
  inPesos,
  linksOf,
  openInsight,
  parseUnrated,
  qualityLinks,
  ratesOf,
} from '../common/insight.ts'
import {
  exactAmountsReader,
  exactRowsOf,
  isUnmatched,
  pageOfUnmatched,
  REPSE_NOTE,
  type UnmatchedRow,
  unmatchedOf,
  unmatchedStatements,
} from '../common/omitted.ts'
import { setsOf } from '../risk/sets.ts'
import { supplierStatements } from '../risk/store.ts'
import {
  type DeductionEntriesQuery,
  type DeductionRow,
  type Deductions,
  type DeductionsQuery,
  type DeductionTotals,
  FIGURES,
} from './contract.ts'
import { excludedOf, isReason, keyOf, type Part, type Rates, reasonsIn, unknownIn } from './excluded.ts'
import {
  type BusinessTotals,
  businessEntries,
  type DeductionDocument,
  type DeductionPosition,
  deductionsStatement,
  documentIn,
  incomeStatements,
  parsedRows,
  personalStatement,
} from './store.ts'
import {
  bitOf,
  type IncomeOf,
  isNotDeductible,
  type Limit,
  limitsOf,
  personalRule,
  QUESTIONS,
  REASONS,
  REVIEW,
  rateOf,
  type Student,
  TuitionLimits,
  take,
  type Use,
  type Used,
  usesOf,
} from './uses.ts'

export type Status = 'eligible' | 'capped' | 'not_deductible' | 'review'

/** The decision about a document. Amounts are micros of MXN, negative for a credit note. */
interface Decided {
  document: DeductionDocument
  category: string | null
  cap_group: string | null
  annual_rate: string | null
  gross: Micros | null
  deductible: Micros
  status: Status
  reasons: string[]
  limits: readonly Limit[]
}

const RETURNS = 'G02'
const NOT_EXCLUDED = { part: [0n, 1n], found: 0, deducted: [1n, 1n] } as const

/** The amount of a document before any decision; null without XML or rate. */
function grossOf(
  { is_personal, is_known, is_unrated, net_mxn, total_mxn, total, subtotal, descuento, tipo }: DeductionDocument,
  rate: string | null,
) {
  const own = is_personal ? BigInt(total) : (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n)
  const stated = is_personal ? total_mxn : net_mxn
  const amount = is_known === 0 ? null : is_unrated ? inPesos(own, rate) : stated === null ? null : BigInt(stated)
  return amount === null ? null : tipo === 'E' ? -amount : amount
}

/** The deducted part of an amount: without what is not paid or not paid as it must be, and by what it is; an investment at its annual rate. */
function claimOf(gross: Micros, counted: Part, deducted: Part, rate: string | null): Micros {
  const claimed = shareOf(shareOf(gross, ...counted), ...deducted)
  return rate === null ? claimed : times(claimed, rate)
}

/**
 * Decides about documents in their order, because they use up limits. By UUID, `rates` has the published rates of documents that state
 * none, and `students` those whose tuition they are.
 */
function decideAll(
  documents: readonly DeductionDocument[],
  rules: Rules,
  incomeOf: IncomeOf,
  rates: Rates,
  students: ReadonlyMap<string, readonly Student[]> = new Map(),
): { decided: Decided[]; used: Used } {
  const used = new Map<string, Use>()
  const isDeducted = ({ tipo, mask }: DeductionDocument) => tipo === 'I' && !isNotDeductible(mask)
  const tuition = new TuitionLimits(
    rules,
    documents.filter(isDeducted).map(({ fecha, uuid }) => [fecha.slice(0, 4), students.get(uuid)]),
  )
  const decided = documents.map((document): Decided => {
    const { uso, is_personal, is_known, is_unrated, tipo, uuid, fecha } = document
    const rate = rates.get(uuid) ?? null
    const gross = grossOf(document, rate)
    const ofYear = rules.in('year', fecha.slice(0, 10))
    const rule = is_personal ? personalRule(ofYear, uso!) : null
    // What a credit note returns has the rate of its purchase (excluded.ts), or that of its own use while the purchase is not known.
    const annual_rate = is_personal || document.lowered !== null ? null : rateOf(ofYear, uso)
    const category =
      is_known === 0
        ? null
        : (rule?.category ?? (tipo === 'E' || uso === RETURNS ? 'returns' : annual_rate === null ? 'expense' : 'investment'))
    const [year, isTuition] = [fecha.slice(0, 4), rule?.cap_group === 'tuition']
    const pupils = isTuition ? tuition.known(year, students.get(uuid)) : null
    const limits = pupils ? tuition.of(year, pupils) : rule === null || isTuition ? [] : limitsOf(rules, uso!, year, incomeOf)
    let { mask } = document
    if (isTuition && tipo === 'I' && pupils === null) mask |= bitOf('tuition_without_iedu')
    const pesos = is_unrated ? inPesos(BigInt(document.total), rate) : null
    if (document.is_cash && pesos !== null && pesos > micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!)
      mask |= bitOf('cash_over_2000')
    if (is_known && is_unrated && rate === null) mask |= bitOf('missing_rate')
    if (limits.some(({ amount, isUnknown }) => amount === null && isUnknown)) mask |= bitOf('cap_unknown')
    const { part, found, deducted } = document.is_personal ? NOT_EXCLUDED : excludedOf(document, rules, rates)
    const isWhole = part[0] > 0n && part[0] >= part[1]
    const ofNote = document.lowered === null ? [] : reasonsIn(found).filter(isReason)
    for (const reason of ofNote) if (isWhole || (REVIEW as readonly string[]).includes(reason)) mask |= bitOf(reason)
    const isPartly = document.lowered === null ? document.out !== 0 : part[0] > 0n
    const partly = reasonsIn(isPartly ? found & (OUT | FOUND.fuel_not_electronic) : 0)
    const reasons: string[] = REASONS.filter((reason) => (mask & bitOf(reason)) !== 0 || (partly as readonly string[]).includes(reason))
    const common = { document, category, cap_group: rule?.cap_group ?? null, annual_rate, gross, limits }
    const as = (status: Status, deductible: Micros, more: string[] = []): Decided => {
      const open = document.is_open && !reasons.includes('not_paid') ? ['not_paid'] : []
      return { ...common, status, deductible, reasons: [...reasons, ...more, ...open] }
    }
    if (isNotDeductible(mask)) return as('not_deductible', 0n)
    if (mask !== 0 || gross === null) return as('review', 0n)
    const [applied, total] = [BigInt(document.paid) + BigInt(document.credited), BigInt(document.total)]
    const counted = (document.is_flow && applied < total ? applied : total) - BigInt(document.out)
    const claimed = claimOf(gross, [counted, total], deducted, annual_rate)
    const deductible = pupils ? tuition.take(year, pupils, limits, used, claimed) : take(limits, used, claimed)
    if (deductible >= claimed) return (found & CAPS) === 0 ? as('eligible', deductible) : as('capped', deductible, reasonsIn(found & CAPS))
    const cut = limits.find(({ key, amount }) => amount !== null && used.get(key)!.claimed > amount) ?? limits[0]!
    return as('capped', deductible, [`cap_${cut.key.split('|')[0]}`])
  })
  return { decided, used }
}

interface Sums {
  cap_group: string | null
  gross: Micros
  deductible: Micros
  review: Micros
  limits: Map<string, Limit>
}

const ONE = 1_000_000n
const deductibleOf = ({ year, uso, whole, parts }: BusinessTotals, rules: Rules): Micros => {
  const rate = rateOf(rules.on(`${year}-12-31`), uso)
  const listed = JSON.parse(`[${parts ?? ''}]`) as [string, ...(string | number)[]][]
  // SQL has applied the rate of an investment to `whole`.
  return (
    parseSum(whole) +
    sumAll(
      listed.map(([gross, ...amounts]) => {
        const [paid, credited, total, deducted_part] = amounts.map(BigInt) as [Micros, Micros, Micros, Micros]
        const applied = paid + credited
        return claimOf(BigInt(gross), [applied < total ? applied : total, total], [deducted_part, ONE], rate)
      }),
    )
  )
}

/** Adds up documents by year and category, ascending. The use of a limit is that of all its categories. */
function totalsOf(
  decided: readonly Decided[],
  business: readonly BusinessTotals[],
  used: Used,
  rules: Rules,
): Omit<DeductionTotals, 'drilldown'>[] {
  const groups = new Map<string, Sums>()
  const of = (year: string, category: string, cap_group: string | null): Sums => {
    const key = `${year}|${category}`
    const known = groups.get(key) ?? { cap_group, gross: 0n, deductible: 0n, review: 0n, limits: new Map() }
    groups.set(key, known)
    return known
  }
  for (const one of business) {
    const sums = of(one.year, one.category, null)
    sums.gross += parseSum(one.gross)
    sums.review += parseSum(one.review)
    sums.deductible += deductibleOf(one, rules)
  }
  for (const { document, category, cap_group, gross, deductible, status, limits, reasons } of decided) {
    if (category === null || reasons.includes('cancelled')) continue
    const sums = of(document.fecha.slice(0, 4), category, cap_group)
    for (const limit of limits) sums.limits.set(limit.key, limit)
    sums.gross += gross ?? 0n
    sums.deductible += deductible
    if (status === 'review') sums.review += gross ?? 0n
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { cap_group, gross, deductible, review, limits }]) => {
      const [year = '', category = ''] = key.split('|')
      const own = [...limits.values()].filter((one) => cap_group !== 'global' || one.key.startsWith('global'))
      const isLimited = own.length > 0 && own.every(({ amount }) => amount !== null)
      const limit = sumAll(own.map(({ amount }) => amount ?? 0n))
      const spent = own.length > 0 ? sumAll(own.map((one) => used.get(one.key)?.allowed ?? 0n)) : deductible
      return {
        ...{ year, category, cap_group, gross_amount: decimal(gross), deductible_amount: decimal(deductible) },
        ...{ review_amount: decimal(review), limit: isLimited ? decimal(limit) : null, used: decimal(spent) },
        remaining: isLimited ? decimal(limit > spent ? limit - spent : 0n) : null,
        cap_unknown: own.some(({ isUnknown }) => isUnknown),
      }
    })
}

const PATH = 'cfdi/deductions'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    gross_amount: 'personal: total; business: subtotal − descuento; in MXN, a credit note negative',
    deductible_amount:
      'gross × (paid + credited) ÷ total where only what is paid counts, less what was not paid as it must be, × the deductible part of restaurants and cars, × annual_rate, at most what is left of its limits',
    review_amount: 'gross_amount of rows under review',
    limit: 'of the year of fecha, with its rules and annual UMA; global: the smaller of deduction.global_cap',
    used: 'of the limit, since 1 January of the year, also before the range; remaining: limit − used',
    income: 'annual_income for each year, or subtotal of received N + issued net of the year',
  },
  notes: [
    'Limits are used up in the order of fecha from 1 January on, also by documents before the range: the net of the year is deducted up to the limit, so a credit note first takes back what the limit did not allow. What is to be reviewed uses up nothing.',
    'Tuition has a limit for each student and year, that of the higher one of their levels, as the complement of schools (iedu) names them in each line.',
    REPSE_NOTE,
    'The months in which an investment is used are not known: its annual rate is applied, and that of the purchase to its credit note.',
    'LISR 27-III: each payment is judged by its own form and amount, whatever it pays. Several payments in cash up to the limit, of an invoice above it, are to be reviewed: no source settles it, and cash.several_payments can exclude them.',
    'LISR 28-XX: the key of the largest amount says that an invoice is of a restaurant or bar. LISR 36-II: keys say what a car is, and none tells a hybrid; a line of several vehicles of one cost has the limit for each, after discounts. LISR 28-XIII: a rented car has the limit of a car without an electric motor for each day of a line in days. Who sells or lets cars has other rules: what is bought as goods (G01) has no limit.',
    'A credit note is not deductible in the part in which its purchase was not: of what it returns of payments, not of what it takes off the balance.',
    'Donations to public bodies are limited to 4 % (LISR 151-III); a CFDI does not say whether the donee is one, so 7 % is applied.',
    'Civil societies, of whom a company deducts what is paid (LISR 27-VIII), are known by their name alone.',
  ],
}

type Own = Pick<DeductionsQuery, 'profile' | 'annual_income'>

const byDate = (a: DeductionPosition, b: DeductionPosition): number => (a[0] === b[0] ? (a[1] < b[1] ? -1 : 1) : a[0] < b[0] ? -1 : 1)
const positionOf = ({ document: { fecha, uuid } }: Decided): DeductionPosition => [fecha, uuid]

interface IncomeRow {
  year: string
  income: string
  credit: string
  unrated: string | null
}

/** Decides about the documents of a range: one by one, and a page of the others with the sums over these. At most four D1 calls. */
async function decide(
  insight: Insight,
  suppliers: readonly string[],
  own: Own,
  after: DeductionPosition | undefined,
  take: number,
  unmatched: readonly UnmatchedRow[] = [],
) {
  const { ctx, ledger, rules, span } = insight
  const uses = usesOf(rules, ledger.rfc, span)
  const sets = await setsOf(insight, suppliers)
  const main = deductionsStatement(insight, sets, uses, after, take)
  if (main === null)
    return {
      decided: [],
      used: new Map<string, Use>(),
      page: [],
      totals: [],
      omitted: { ...NOTHING_OMITTED, repse_unknown: sets.repse_unknown },
    }
  const [first, last] = [String(Number(span.first.slice(0, 4)) - 1), span.last.slice(0, 4)]
  const isDerived = uses.personal.length > 0 && own.annual_income === undefined
  const since = uses.personal.length === 0 || own.profile === 'business' ? null : sinceNewYear(span.first)
  const before = since && personalStatement(insight, sets, uses, since)
  const statements = [main, ...(before ? [before] : []), ...(isDerived ? incomeStatements(insight, { first, last }) : [])]
  const [rows, ...earned] = await commit(ledger.d1, statements)
  const earlier = before ? earned.shift()!.results : []
  const { single, page, totals, students } = parsedRows([...earlier, ...rows!.results] as { kind: string; row: string }[])
  const incomes = earned.flatMap((one) => one.results as unknown as IncomeRow[])
  const unrated = single.filter((one) => one.is_unrated === 1 && one.is_known === 1)
  const sold = incomes.flatMap((row) => parseUnrated(row.unrated).map((one) => ({ ...one, year: row.year })))
  const unknown = single.flatMap(unknownIn)
  const wanted = [...unknown, ...unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })), ...sold]
  const exactRows = exactRowsOf(unmatched).map(([, event]) => event)
  const { outcomeOf, rateOfDay } = await exactAmountsReader(ctx, exactRows, wanted)
  const rateByUuid = new Map([
    ...unrated.map(({ uuid, currency, fecha }) => [uuid, rateOfDay(currency!, fecha.slice(0, 10))] as const),
    ...unknown.map(({ currency, day }) => [keyOf(currency, day), rateOfDay(currency, day)] as const),
  ])
  const years = new Map<string, Micros>()
  const earn = (year: string, amount: Micros) => years.set(year, (years.get(year) ?? 0n) + amount)
  for (const { year, income, credit, unrated: only } of incomes)
    if (income !== '0' || credit !== '0' || only === null) earn(year, parseSum(income) - parseSum(credit))
  for (const { year, tipo, net, currency, day } of sold) {
    const amount = inPesos(net, rateOfDay(currency, day))
    if (amount !== null) earn(year, tipo === 'E' ? -amount : amount)
  }
  const stated = own.annual_income === undefined ? undefined : micros(own.annual_income)
  const incomeOf: IncomeOf = (year) => (stated === undefined ? (years.get(year) ?? null) : stated)
  const isMeant = ({ is_personal }: DeductionDocument) => own.profile === 'auto' || (own.profile === 'personal') === (is_personal === 1)
  const counts = bitOf('cancelled') + bitOf('substituted')
  const isShown = ({ fecha }: DeductionDocument) => fecha >= span.first
  const dof_rate = unrated.filter((one) => isShown(one) && (one.mask & counts) === 0 && rateByUuid.get(one.uuid) !== null).length
  const sorted = single.filter(isMeant).sort((a, b) => byDate([a.fecha, a.uuid], [b.fecha, b.uuid]))
  const isBusiness = own.profile !== 'personal'
  const { decided, used } = decideAll(sorted, rules, incomeOf, rateByUuid, students)
  return {
    decided: decided.filter(({ document }) => isShown(document)),
    used,
    page: isBusiness ? decideAll(page, rules, incomeOf, rateByUuid).decided : [],
    totals: isBusiness ? totals : [],
    omitted: { dof_rate, repse_unknown: sets.repse_unknown, ...unmatchedOf(unmatched, outcomeOf) },
  }
}

/** The days of the year before a day, whose deductions have used up limits. Null on the first. */
const sinceNewYear = (day: string): Days | null =>
  day.endsWith('-01-01') ? null : { first: `${day.slice(0, 4)}-01-01`, last: dayOfEpoch(epochDayOf(day) - 1) }

const NOTHING_OMITTED = { dof_rate: 0, unreconciled_payments: 0, other_parties: 0 }

const openRange = (ctx: Ctx, query: { from?: string | undefined; to?: string | undefined }): Promise<Insight> =>
  openInsight(ctx, { from: query.from, to: query.to, direction: 'received' })

const rfcsOf = (found: readonly unknown[][]): string[] => [...new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))]

/**
 * Returns how much of the received CFDIs can be deducted, and why not more: a page by date, and the totals of the range with their limits.
 * At most six D1 calls with authentication. Throws Failure 404, 422 range.invalid and 400 for a foreign cursor.
 */
export async function getDeductions(ctx: Ctx, query: DeductionsQuery): Promise<Deductions> {
  const insight = await openRange(ctx, query)
  const { ledger, rules } = insight
  const { limit, cursor, profile, annual_income } = query
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as DeductionPosition | undefined
  const statements = supplierStatements(ledger, insight.span)
  const { found, envelope } = await aggregateOf(insight, [...statements, ...unmatchedStatements(insight)])
  const unmatched = found.splice(statements.length).flat() as UnmatchedRow[]
  const { decided, used, page, totals, omitted } = await decide(insight, rfcsOf(found), query, after, limit + 1, unmatched)
  const shown = [...decided.filter((one) => after === undefined || byDate(after, positionOf(one)) < 0), ...page].sort((a, b) =>
    byDate(positionOf(a), positionOf(b)),
  )
  const links = linksOf(insight, PATH, {
    ...(profile === 'auto' ? {} : { profile }),
    ...(annual_income === undefined ? {} : { annual_income }),
  })
  const sums = totalsOf(decided, totals, used, rules)
  const rows = await paginate(ctx, scope, limit, shown, positionOf, rowOf)
  return {
    ...envelope(BASIS, rules, { ...omitted, drilldown: qualityLinks(links, UNMATCHED) }),
    totals: sums.map((one) => ({
      ...one,
      drilldown: Object.fromEntries(FIGURES.map((figure) => [figure, links.entries(figure, { year: one.year, category: one.category })])),
    })),
    cap_unknown: sums.some(({ cap_unknown }) => cap_unknown),
    ...rows,
  }
}

function rowOf({ document, category, cap_group, annual_rate, gross, deductible, status, reasons }: Decided): DeductionRow {
  const { uuid, issued_at, utc_offset, uso_cfdi, counterparty_rfc } = document
  const local = new Date((issued_at + utc_offset * 60) * 1_000).toISOString().slice(0, 19)
  return {
    ...{ uuid, issued_at: `${local}${offsetText(utc_offset)}`, counterparty_rfc, uso_cfdi, category, cap_group },
    gross_amount: gross === null ? null : decimal(gross),
    deductible_amount: decimal(deductible),
    annual_rate: annual_rate === null ? null : exact(micros(annual_rate)!),
    ...{
      status,
      reasons: reasons as DeductionRow['reasons'],
      questions: reasons.flatMap((reason) => QUESTIONS[reason as keyof typeof QUESTIONS] ?? []),
    },
  }
}

const BUSINESS = ['expense', 'investment', 'returns']

/** The amount that a document adds to a figure; null for none. */
const amountIn = ({ gross, deductible, status, reasons }: Decided, figure: string): Micros | null =>
  figure === 'gross_amount'
    ? reasons.includes('cancelled')
      ? null
      : gross
    : figure === 'review_amount'
      ? status === 'review'
        ? gross
        : null
      : deductible === 0n
        ? null
        : deductible

/** Returns a page of the documents behind a figure. At most five D1 calls beside authentication. Throws Failure as `getDeductions` does. */
export async function getDeductionEntries(ctx: Ctx, query: DeductionEntriesQuery): Promise<EntriesPage> {
  const insight = await openRange(ctx, query)
  const { ledger, rules, span } = insight
  const { figure, year, category, limit, cursor } = query
  assertInRange(insight, 'year', year)
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  if (isUnmatched(figure)) return pageOfUnmatched(insight, PATH, { ...query, figure })
  const scope: CursorScope = { list: `${PATH}/entries`, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [number, string, string] | undefined
  const suppliers = (await readAll<{ rfc: string }>(ledger.d1, supplierStatements(ledger, span))).map(({ rfc }) => rfc)
  const positionOf = ({ document: { issued_at, uuid } }: Decided) => [issued_at, uuid, ''] as const
  const isBusiness = category !== undefined && BUSINESS.includes(category)
  if (isBusiness && query.profile !== 'personal') {
    const sets = await setsOf(insight, suppliers)
    const cut = year === undefined ? insight : ofYear(insight, year)
    const statement = cut && businessEntries(cut, sets, usesOf(rules, ledger.rfc, span), { category, figure }, after, limit + 1)
    const documents = statement ? (await readAll<{ row: string }>(ledger.d1, [statement])).map(({ row }) => documentIn(row)) : []
    const unrated = documents.filter((one) => one.is_unrated === 1)
    const unknown = documents.flatMap(unknownIn)
    const wanted = [...unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })), ...unknown]
    const rates = await ratesOf(ctx, wanted)
    const names = [...unrated.map(({ uuid }) => uuid), ...unknown.map(({ currency, day }) => keyOf(currency, day))]
    const known = new Map(names.map((name, n) => [name, rates[n] ?? null]))
    const { decided } = decideAll(documents, rules, () => null, known)
    return entriesOf(await paginate(ctx, scope, limit, decided, positionOf, (one) => one), figure)
  }
  const { decided } = await decide(insight, suppliers, query, undefined, 0)
  const meant = decided
    .filter((one) => one.category !== null && (category === undefined || one.category === category))
    .filter(({ document }) => year === undefined || document.fecha.startsWith(year))
    .filter(
      ({ document: { issued_at, uuid } }) => after === undefined || issued_at < after[0] || (issued_at === after[0] && uuid < after[1]),
    )
    .sort((a, b) => b.document.issued_at - a.document.issued_at || (a.document.uuid < b.document.uuid ? 1 : -1))
  return entriesOf(await paginate(ctx, scope, limit, meant, positionOf, (one) => one), figure)
}

/** The part of a range that is in a year. Null without any. */
function ofYear(insight: Insight, year: string): Insight | null {
  const { first, last } = insight.span
  const [from, to] = [`${year}-01-01`, `${year}-12-31`]
  const span = { ...insight.span, first: from > first ? from : first, last: to < last ? to : last }
  return span.first > span.last ? null : { ...insight, span }
}

const entriesOf = ({ data, ...page }: { data: Decided[]; has_more: boolean; next_cursor: string | null }, figure: string): EntriesPage => ({
  data: data.flatMap((one) => {
    const amount = amountIn(one, figure)
    return amount === null ? [] : [{ uuid: one.document.uuid, amount: exact(amount), applies_to: null }]
  }),
  ...page,
})
