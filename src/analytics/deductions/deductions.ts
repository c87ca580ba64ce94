import type { Days } from '../../cfdi/population/population.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { Ctx } from '../../platform/context.ts'
import { prepared, readAll } from '../../platform/db/statement.ts'
import { decimal, type Micros, micros } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import { offsetText } from '../../platform/time/zone-of-postcode.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import { exact } from '../common/figures.ts'
import { aggregateOf, assertInRange, type Insight, openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { linksOf, qualityLinks } from '../common/links.ts'
import { measurer } from '../common/measured.ts'
import { REPSE_NOTE } from '../common/names.ts'
import { isUnmatched, oddsOf, pageOfUnmatched, type UnmatchedRow, unmatchedOf, unmatchedStatements } from '../common/omitted.ts'
import { inPesos, parseUnrated, ratesOf } from '../common/unrated.ts'
import { setsOf } from '../risk/sets.ts'
import { supplierStatements } from '../risk/store.ts'
import type { IncomeOf, Use } from './caps.ts'
import { type DeductionEntriesQuery, type DeductionRow, type Deductions, type DeductionsQuery, FIGURES } from './contract.ts'
import { type Decided, decideAll } from './decide.ts'
import { bitOf } from './reasons.ts'
import {
  businessEntries,
  type DeductionDocument,
  type DeductionPosition,
  deductionsStatement,
  documentIn,
  incomeStatements,
  parsedRows,
  personalStatement,
} from './store.ts'
import { totalsOf } from './totals.ts'
import { usesOf } from './uses.ts'

const PATH = 'cfdi/deductions'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    gross_amount: 'personal: total; business: subtotal − descuento; in MXN, a credit note negative',
    deductible_amount:
      'gross × (paid + credited) ÷ total where only what is paid counts, × annual_rate, at most what is left of its limits',
    review_amount: 'gross_amount of rows under review',
    limit: 'of the year of fecha, with its rules and annual UMA; global: the smaller of deduction.global_cap',
    used: 'of the limit, since 1 January of the year, also before the range; remaining: limit − used',
    income: 'annual_income for each year, or subtotal of received N + issued net of the year',
  },
  notes: [
    'Limits are used up in the order of fecha from 1 January on, also by documents before the range: the net of the year is deducted up to the limit, so a credit note first takes back what the limit did not allow. What is to be reviewed uses up nothing.',
    'Tuition has a limit for each student and year, that of the higher one of their levels, as the complement of schools (iedu) names them in each line.',
    REPSE_NOTE,
    'The months in which an investment is used are not known: its annual rate is applied.',
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
  if (main === null) return { decided: [], used: new Map<string, Use>(), page: [], totals: [], omitted: NOTHING_OMITTED }
  const [first, last] = [String(Number(span.first.slice(0, 4)) - 1), span.last.slice(0, 4)]
  const isDerived = uses.personal.length > 0 && own.annual_income === undefined
  const since = uses.personal.length === 0 || own.profile === 'business' ? null : sinceNewYear(span.first)
  const before = since && personalStatement(insight, sets, uses, since)
  const statements = [main, ...(before ? [before] : []), ...(isDerived ? incomeStatements(insight, { first, last }) : [])]
  const [rows, ...earned] = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  const earlier = before ? earned.shift()!.results : []
  const { single, page, totals, students } = parsedRows([...earlier, ...rows!.results] as { kind: string; row: string }[])
  const incomes = earned.flatMap((one) => one.results as unknown as IncomeRow[])
  const unrated = single.filter((one) => one.is_unrated === 1 && one.is_known === 1)
  const sold = incomes.flatMap((row) => parseUnrated(row.unrated).map((one) => ({ ...one, year: row.year })))
  const wanted = [...unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })), ...sold]
  const odds = oddsOf(unmatched).map(([, event]) => event)
  const { outcomeOf, rateOfDay } = await measurer(ctx, odds, wanted)
  const rateByUuid = new Map(unrated.map(({ uuid, currency, fecha }) => [uuid, rateOfDay(currency!, fecha.slice(0, 10))]))
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
    omitted: { dof_rate, ...unmatchedOf(unmatched, outcomeOf) },
  }
}

/** The days of the year before a day: what is deducted of them has used up limits. Null on the first. */
const sinceNewYear = (day: string): Days | null =>
  day.endsWith('-01-01') ? null : { first: `${day.slice(0, 4)}-01-01`, last: dayOfEpoch(epochDayOf(day) - 1) }

const NOTHING_OMITTED = { dof_rate: 0, unreconciled_payments: 0, other_parties: 0 }

const openRange = (ctx: Ctx, query: { from?: string | undefined; to?: string | undefined }): Promise<Insight> =>
  openInsight(ctx, { from: query.from, to: query.to, direction: 'received' })

const rfcsOf = (found: readonly unknown[][]): string[] => [...new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))]

/**
 * Returns what of the received CFDIs can be deducted, and why not: a page by date, and the totals of the range with their limits. At most
 * six D1 calls with authentication. Throws Failure 404, 422 range.invalid and 400 for a foreign cursor.
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
    ...{ status, reasons: reasons as DeductionRow['reasons'] },
  }
}

const BUSINESS = ['expense', 'investment', 'returns']

/** What a document adds to a figure; null for nothing. */
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
  const placeOf = ({ document: { issued_at, uuid } }: Decided) => [issued_at, uuid, ''] as const
  const isBusiness = category !== undefined && BUSINESS.includes(category)
  if (isBusiness && query.profile !== 'personal') {
    const sets = await setsOf(insight, suppliers)
    const cut = year === undefined ? insight : ofYear(insight, year)
    const statement = cut && businessEntries(cut, sets, usesOf(rules, ledger.rfc, span), { category, figure }, after, limit + 1)
    const documents = statement ? (await readAll<{ row: string }>(ledger.d1, [statement])).map(({ row }) => documentIn(row)) : []
    const unrated = documents.filter((one) => one.is_unrated === 1)
    const rates = await ratesOf(
      ctx,
      unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })),
    )
    const known = new Map(unrated.map(({ uuid }, n) => [uuid, rates[n] ?? null]))
    const { decided } = decideAll(documents, rules, () => null, known)
    return entriesOf(await paginate(ctx, scope, limit, decided, placeOf, (one) => one), figure)
  }
  const { decided } = await decide(insight, suppliers, query, undefined, 0)
  const meant = decided
    .filter((one) => one.category !== null && (category === undefined || one.category === category))
    .filter(({ document }) => year === undefined || document.fecha.startsWith(year))
    .filter(
      ({ document: { issued_at, uuid } }) => after === undefined || issued_at < after[0] || (issued_at === after[0] && uuid < after[1]),
    )
    .sort((a, b) => b.document.issued_at - a.document.issued_at || (a.document.uuid < b.document.uuid ? 1 : -1))
  return entriesOf(await paginate(ctx, scope, limit, meant, placeOf, (one) => one), figure)
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
