import { parseSum } from '../../cfdi/population/population.ts'
import type { ReturnRow } from '../../documents/returns.ts'
import { returnsOf } from '../../documents/returns.ts'
import type { Ctx } from '../../platform/context.ts'
import { invalid } from '../../platform/failures.ts'
import { dividedBy, type Micros, micros, decimal as money, sumAll, times } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import { isLeftOut, pageOfLeftOut, pageOfPairs } from '../common/figures.ts'
import { aggregateOf, countDofRates, type Insight, linksOf, openInsight, qualityLinks } from '../common/insight.ts'
import {
  exactAmountsReader,
  exactRowsOf,
  isUnmatched,
  pageOfUnmatched,
  type UnmatchedRow,
  unmatchedOf,
  unmatchedStatements,
} from '../common/omitted.ts'
import { exclusionsOf, knownSuppliers, rateOfLimit, UNKNOWN_SUPPLIERS } from '../vat/exclusions.ts'
import { type Marks, NO_USES } from '../vat/store.ts'
import { type IsrEntriesQuery, type IsrFigure, type IsrLine, type IsrPayment, type IsrQuery, QUESTIONS } from './contract.ts'
import { amountIn, amountsOf, FIGURES_OF, type IsrRow, type IsrSide, sideRows, sumsOf } from './store.ts'

const PATH = 'analytics/isr-provisional'
/** The first month whose tariff is loaded; 626 began in 2022. */
const FIRST = { 601: '2018-01', 612: '2018-01', 626: '2022-01' }

type Plan = 'coefficient' | 'flow' | 'tariff' | 'table'
const SIDES: Record<Plan, Partial<Record<IsrSide, readonly IsrFigure[]>>> = {
  coefficient: { accrued: FIGURES_OF.accrued, collected: ['retenido'] },
  flow: { collected: FIGURES_OF.collected, paid: FIGURES_OF.paid },
  tariff: { collected: FIGURES_OF.collected, paid: FIGURES_OF.paid },
  table: { collected: FIGURES_OF.collected },
}
const sidesOf = (plan: Plan) => Object.keys(SIDES[plan]) as IsrSide[]

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    ingresos:
      '601: Σ SubTotal − Descuento of issued invoices by Fecha, paid or not, global ones in their period. Else Σ the same of what customers paid, less what was returned',
    ingresos_nominales: 'ingresos − anticipos_aplicados',
    anticipos_aplicados: 'Σ credit notes with relation 07: the advance is income already',
    notas_de_credito: 'Σ other credit notes; they lower no line',
    utilidad: 'ingresos_nominales × coeficiente',
    deducciones: 'Σ SubTotal − Descuento of what suppliers were paid − no_deducible, without investments and uses D01 to D10',
    no_deducible:
      'What LISR 27-III, 28 and 36 do not let be deducted, as GET /v1/analytics/vat-position excludes its IVA; it lowers no line',
    inversiones: 'Σ what was paid with uses I01 to I08; it lowers no line',
    ptu: '601: ptu × (month − 4) ÷ 8 from May on. Else ptu',
    base: 'utilidad, or ingresos − deducciones − otras_deducciones; − ptu − perdidas; never below 0',
    isr: 'base × tasa; 612: the tariff of LISR 96 times the months of the range on base; persons of 626: ingresos × tasa',
    pagos_anteriores: 'earlier_payments, or Σ isr_a_cargo of the visible returns of the earlier months',
    retenido: 'Σ ISR that customers withheld on what they paid',
    a_pagar: 'isr − pagos_anteriores − retenido, never below 0',
    diferencia: 'a_pagar − isr_a_cargo',
  },
  notes: [
    'Computed are 601 (LISR 14), 612 (LISR 106) and 626 (LISR 211 for companies, 113-E for persons). Not computed are 606, 621, 625 and all others.',
    'The range is from January to the month; of persons in 626 it is the month alone.',
    'The tariff of several months is that of a month times their number (LISR 106). The tables that the authority publishes can differ by cents.',
    'LISR 17 also accumulates what is delivered or collected before it is invoiced: no CFDI tells. Interest, exchange gain and the sale of fixed assets without a CFDI are in no line.',
    'CFDIs de retenciones are not counted here, because they do not say to which income they belong; GET /v1/cfdi/withholdings lists them.',
    'Documents count as they do now.',
  ],
}

interface Opened {
  insight: Insight
  period: string
  plan: Plan
}

/** Throws Failure 404 without a readable connection, and 422 range.invalid. */
async function openIsr(ctx: Ctx, { period, regimen }: IsrQuery | IsrEntriesQuery): Promise<Opened> {
  const month = period ?? centralDayOf(ctx.now.getTime()).slice(0, 7)
  const refuse = (path: string, message: string) => invalid('range.invalid', [{ path, message }])
  if (month < FIRST[regimen]) throw refuse('period', `Must not be before ${FIRST[regimen]} in regime ${regimen}.`)
  const from = { from: `${month.slice(0, 4)}-01`, to: month }
  const insight = await openInsight(ctx, from)
  const isCompany = insight.ledger.rfc.length === 12
  if (regimen === '601' && !isCompany) throw refuse('regimen', 'Must be 612 or 626 for a person.')
  if (regimen === '612' && isCompany) throw refuse('regimen', 'Must be 601 or 626 for a company.')
  const plan = regimen === '601' ? 'coefficient' : regimen === '612' ? 'tariff' : isCompany ? 'flow' : 'table'
  return { period: month, plan, insight: plan === 'table' ? await openInsight(ctx, { ...from, from: month }) : insight }
}

async function marksOf({ insight, plan }: Opened): Promise<Marks> {
  const { rules, span } = insight
  const suppliers = 'paid' in SIDES[plan] ? await knownSuppliers(insight) : UNKNOWN_SUPPLIERS
  return { rules, days: span, exclusions: exclusionsOf(rules, span), suppliers, uses: NO_USES }
}

async function measurerOf(ctx: Ctx, rows: readonly IsrRow[], { exclusions }: Marks, more: Parameters<typeof exactAmountsReader>[1] = []) {
  const measured = rows.flatMap(({ source, ...row }) => (source === null ? [] : [{ ...row, source }]))
  const { outcomeOf, rateOfDay } = await exactAmountsReader(ctx, [...measured, ...more], rows.flatMap(rateOfLimit))
  return { outcomeOf, measure: (row: IsrRow) => amountsOf(row, outcomeOf, exclusions, rateOfDay) }
}

/** What the latest visible return of each month declares. */
function declaredIn(rows: readonly ReturnRow[]): Map<string, NonNullable<IsrPayment['declarado']>> {
  const found = rows
    .map(({ attributes, ...row }) => ({ ...row, stated: JSON.parse(attributes) as Record<string, string> }))
    .filter(({ period_end, stated }) => stated['isr_a_cargo'] !== undefined && stated['periodo'] === period_end.slice(5, 7))
    .sort((a, b) => a.version - b.version)
  return new Map(
    found.map(({ period_end, stated }) => [
      period_end.slice(0, 7),
      { isr_a_cargo: money(micros(stated['isr_a_cargo']!)!), operation_number: stated['numero_operacion'] ?? null },
    ]),
  )
}

const least0 = (amount: Micros): Micros => (amount > 0n ? amount : 0n)

/** The tariff of so many months on a base (LISR 106). */
export function tariffOn(base: Micros, months: number, tariff: readonly { lower: string; fixed: string; rate: string }[]): Micros {
  const cent = 10_000n
  const found = tariff.map((row) => ({ ...row, above: (micros(row.lower)! - cent) * BigInt(months) })).findLast(({ above }) => base > above)
  return found === undefined ? 0n : micros(found.fixed)! * BigInt(months) + times(least0(base - found.above - cent), found.rate)
}

/** The lines of a payment, and what is asked. */
function computed(
  { insight, period, plan }: Opened,
  query: IsrQuery,
  of: (figure: IsrFigure) => Micros,
  declared: Map<string, { isr_a_cargo: string }>,
) {
  const lines: IsrLine[] = []
  const questions = new Set<keyof typeof QUESTIONS>()
  const rules = insight.rules.on(lastDayOf(period))
  const month = Number(period.slice(5))
  const add = (line: string, amount: Micros | null, source: IsrLine['source']) => {
    lines.push({ line, value: amount === null ? null : money(amount), source })
    return amount
  }
  const documents = (figure: IsrFigure): Micros => add(figure, of(figure), 'documents')!
  const input = (line: string, text: string | undefined, part: (amount: Micros) => Micros = (amount) => amount): Micros =>
    add(line, part(micros(text ?? '0')!), text === undefined ? 'supposed' : 'given')!
  const factor = (line: string, value: string | null, source: IsrLine['source']) => lines.push({ line, value, source })
  const income = documents('ingresos')
  let due: Micros | null
  if (plan === 'table') {
    const found = rules.get('isr.resico_pf').find(({ up_to }) => income <= micros(up_to)!)
    if (found === undefined) questions.add('limit')
    factor('tasa', found?.rate ?? null, 'law')
    due = add('isr', found === undefined ? null : least0(times(income, found.rate)), 'computed')
  } else {
    let profit: Micros | null
    if (plan === 'coefficient') {
      const nominal = add('ingresos_nominales', income - documents('anticipos_aplicados'), 'computed')!
      if (documents('notas_de_credito') !== 0n) questions.add('notas_de_credito')
      const { coefficient = null } = query
      if (coefficient === null) questions.add('coefficient')
      factor('coeficiente', coefficient, coefficient === null ? 'supposed' : 'given')
      profit = add('utilidad', coefficient === null ? null : times(nominal, coefficient), 'computed')
    } else {
      const deducted = documents('deducciones')
      documents('no_deducible')
      if (documents('inversiones') !== 0n) questions.add('inversiones')
      if (query.other_deductions === undefined) questions.add('other_deductions')
      profit = income - deducted - input('otras_deducciones', query.other_deductions)
    }
    const shared = (amount: Micros) => (plan !== 'coefficient' ? amount : month < 5 ? 0n : dividedBy(amount * BigInt(month - 4), '8'))
    const less = input('ptu', query.ptu, shared) + input('perdidas', query.losses)
    const base = add('base', profit === null ? null : least0(profit - less), 'computed')
    const rate = plan === 'tariff' ? null : rules.get('isr.company')
    if (rate !== null) factor('tasa', rate, 'law')
    due = add('isr', base === null ? null : rate === null ? tariffOn(base, month, rules.get('isr.tariff')) : times(base, rate), 'computed')
    const earlier = [...declared].filter(([one]) => one < period).map(([, { isr_a_cargo }]) => micros(isr_a_cargo)!)
    if (query.earlier_payments === undefined && earlier.length < month - 1) questions.add('earlier_payments')
    const isDeclared = query.earlier_payments === undefined && earlier.length > 0
    const paid = isDeclared ? add('pagos_anteriores', sumAll(earlier), 'declared')! : input('pagos_anteriores', query.earlier_payments)
    due = due === null ? null : due - paid
  }
  const withheld = documents('retenido')
  return { lines, questions, rest: due === null ? null : least0(due - withheld), add }
}

/**
 * Computes the provisional payment of ISR of a month. Throws Failure 404 without a readable connection, and 422 range.invalid for a month
 * without a tariff or a regime of the other kind of person.
 */
export async function getIsrPayment(ctx: Ctx, query: IsrQuery): Promise<IsrPayment> {
  const opened = await openIsr(ctx, query)
  const { insight, plan, period } = opened
  const { ledger, rules, span } = insight
  const marks = await marksOf(opened)
  const reads = partitionsToRead(ledger).flatMap((partition) =>
    sidesOf(plan).flatMap((side) => {
      const rows = sideRows(side, partition, marks)
      return rows === null ? [] : [{ side, statement: sumsOf(side, rows) }]
    }),
  )
  const own = [...reads.map(({ statement }) => statement), returnsOf(ledger, span.first, span.last)]
  const { envelope, found, statusOf, counts } = await aggregateOf(insight, [...own, ...unmatchedStatements(insight)])
  const unmatched = found.slice(own.length).flat() as UnmatchedRow[]
  const declared = declaredIn(found[reads.length] as ReturnRow[])
  const parsed = reads.flatMap(({ side }, n) =>
    (found[n] as { sums: string; exactRows: string }[]).map(({ sums, exactRows }) => ({
      ...{ side, sums: JSON.parse(sums) as string[] },
      exactRows: JSON.parse(exactRows) as IsrRow[],
    })),
  )
  const { outcomeOf, measure } = await measurerOf(
    ctx,
    parsed.flatMap(({ exactRows }) => exactRows),
    marks,
    exactRowsOf(unmatched).map(([, event]) => event),
  )
  const totals = new Map<IsrFigure, Micros>()
  for (const { side, sums, exactRows } of parsed) {
    const measured = exactRows.map((row) => measure(row) ?? {})
    for (const figure of SIDES[plan][side]!) {
      const whole = parseSum(sums[(FIGURES_OF[side] as readonly IsrFigure[]).indexOf(figure)]!)
      totals.set(figure, (totals.get(figure) ?? 0n) + whole + sumAll(measured.map((one) => one[figure] ?? 0n)))
    }
  }
  const { lines, questions, rest, add } = computed(opened, query, (figure) => totals.get(figure) ?? 0n, declared)
  const directions = 'paid' in SIDES[plan] ? ([0, 1] as const) : ([0] as const)
  const months = [...Array(Number(period.slice(5)) - Number(span.first.slice(5, 7)) + 1).keys()].map(
    (n) => `${period.slice(0, 5)}${String(Number(span.first.slice(5, 7)) + n).padStart(2, '0')}`,
  )
  const isKnown = months.every((month) => directions.every((one) => ['complete', 'imported'].includes(statusOf(month, one))))
  const due = add('a_pagar', isKnown ? rest : null, 'computed')
  const declarado = declared.get(period) ?? null
  const entries = (figure: string) =>
    `/v1/${PATH}/entries?${new URLSearchParams({ fiscal_entity_id: ledger.fiscal_entity_id, period, regimen: query.regimen, figure })}`
  const { cut_months } = counts
  return {
    ...envelope(BASIS, rules, {
      ...unmatchedOf(unmatched, outcomeOf),
      dof_rate: await countDofRates(insight, counts.missing_rate),
      drilldown: qualityLinks({ ...linksOf(insight, PATH), entries }, UNMATCHED),
    }),
    ...{ period, regimen: query.regimen, persona: ledger.rfc.length === 12 ? 'moral' : 'fisica', data: lines, ...WHOLE },
    a_pagar: due === null ? null : money(due),
    is_partial: directions.some((one) => cut_months[one === 0 ? 'issued' : 'received'].length > 0),
    declarado,
    diferencia: due === null || declarado === null ? null : money(due - micros(declarado.isr_a_cargo)!),
    questions: [...questions].map((reason) => ({ reason, question: QUESTIONS[reason] })),
    drilldown: Object.fromEntries(Object.values(SIDES[plan]).flatMap((figures) => figures.map((figure) => [figure, entries(figure)]))),
  }
}

/** Returns a page of the documents behind a line: their amounts add up to it exactly. Throws Failure 400 cursor.invalid, and as `getIsrPayment` does. */
export async function listIsrEntries(ctx: Ctx, query: IsrEntriesQuery): Promise<EntriesPage> {
  const opened = await openIsr(ctx, query)
  const { insight, plan, period } = opened
  const { figure, regimen, limit, cursor } = query
  const page = { figure, regimen, period, limit, cursor }
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...page, figure })
  if (isUnmatched(figure)) return pageOfUnmatched(insight, PATH, { ...page, figure })
  const side = sidesOf(plan).find((one) => SIDES[plan][one]!.includes(figure))
  if (side === undefined) throw invalid('range.invalid', [{ path: 'figure', message: 'Must be a line of the regime.' }])
  const marks = await marksOf(opened)
  return pageOfPairs<IsrRow>(
    insight,
    PATH,
    page,
    (partition) => {
      const rows = sideRows(side, partition, marks)
      return rows === null ? [] : [amountIn(rows, figure)]
    },
    async (rows) => {
      const { measure } = await measurerOf(ctx, rows, marks)
      return (row) => measure(row)?.[figure] ?? null
    },
  )
}
