import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import type { ExactEvent } from '../../cfdi/cash/exact-amounts.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import { withholdingsDueOn } from '../../documents/obligations/obligations-of.ts'
import type { Ctx } from '../../platform/context.ts'
import { all } from '../../platform/db/statement.ts'
import { dividedBy, fixed, type Micros, decimal as money } from '../../platform/money.ts'
import { openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import { type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import { isLeftOut, pageOfLeftOut, pageOfPairs } from '../common/figures.ts'
import { aggregateOf, assertInRange, type Insight, linksOf, openInsight, qualityLinks } from '../common/insight.ts'
import { exactAmountsReader, isUnmatched, ivaOf, type Outcome, omissions, unmatchedAmount, unmatchedRows } from '../common/omitted.ts'
import { FIGURES, type Withholding, type WithholdingEntriesQuery, type Withholdings, type WithholdingsQuery } from './contract.ts'
import { classOf, expectedOf, isMissing } from './expectation.ts'
import { IS_OURS, JSON_ROW, MISSING, MISSING_AMOUNT, readWithheld, type WithheldGroup, type WithheldRow, withheld } from './store.ts'

/** A row of the answer before it is written. */
interface Line {
  row: WithheldRow
  source: Withholding['source']
  role: Withholding['role']
  impuesto: Withholding['impuesto']
  concept_class: Withholding['concept_class']
  base: Micros
  amount: Micros
  expected: Micros | null
  missing: boolean
}

type LinePosition = [day: string, uuid: string, applies_to: string, n: number, impuesto: string]
const positionOf = ({ row, impuesto }: Line): LinePosition => [row.day, row.uuid, row.applies_to ?? '', row.n, impuesto]

const ENTRIES_TAXES = ['ISR', 'IVA', 'IEPS'] as const

/** Whether the RFC itself withholds. */
const roleOf = ({ direction, tipo }: WithheldRow): Withholding['role'] =>
  (direction === 1) !== (tipo === 'N' || tipo === 'R') ? 'withheld_by_us' : 'withheld_from_us'

/** The lines of payroll and retenciones, which are in MXN. */
function statedLines(row: WithheldRow): Line[] {
  const taxes = JSON.parse(row.source!) as (number | string)[]
  const common = { row, role: roleOf(row), expected: null, missing: false }
  const kind =
    row.tipo === 'N'
      ? ({ source: 'cfdi', concept_class: 'sueldos' } as const)
      : ({ source: 'retencion_cfdi', concept_class: null } as const)
  return ENTRIES_TAXES.map((impuesto, n) => ({
    ...{ ...common, ...kind, impuesto },
    ...{ base: BigInt(taxes[2 * n] ?? 0), amount: BigInt(taxes[2 * n + 1] ?? 0) },
  })).filter(({ amount }) => amount !== 0n)
}

/**
 * The lines of an event: one for each tax with an amount or an expectation. Null when it is no cash event, because its exchange rate is not
 * known.
 */
function linesOf(row: WithheldRow, all: Rules, outcomeOf: (row: ExactEvent) => Outcome): Line[] | null {
  if (row.tipo === 'N' || row.tipo === 'R') return statedLines(row)
  const rules = all.on(row.day)
  const exact = row.needs_exact === 1 ? outcomeOf(row as ExactEvent) : null
  if (typeof exact === 'string') return exact === 'missing_rate' && row.tipo === 'P' ? null : []
  const amount = (name: 'isr_retenido' | 'iva_retenido' | 'ieps_retenido') => exact?.[name] ?? BigInt(row[name])
  const amounts = { ISR: amount('isr_retenido'), IVA: amount('iva_retenido'), IEPS: amount('ieps_retenido') }
  const net = exact?.net ?? (row.net === null ? outcomeNet(outcomeOf(row as ExactEvent)) : BigInt(row.net))
  const found = classOf(rules, row)
  const due = row.tipo === 'E' ? { ISR: null, IVA: null } : expectedOf(found, net, exact ? ivaOf(exact) : BigInt(row.iva))
  const common = { row, source: row.tipo === 'P' ? ('pago' as const) : ('cfdi' as const), role: roleOf(row) }
  return ENTRIES_TAXES.flatMap((impuesto) => {
    const expected = impuesto === 'IEPS' ? null : due[impuesto]
    if (amounts[impuesto] === 0n && expected === null) return []
    const missing = isMissing(amounts[impuesto], expected, rules.get('withholding.tolerance'))
    return [{ ...common, impuesto, concept_class: found?.class ?? 'otros', base: net, amount: amounts[impuesto], expected, missing }]
  })
}

/** The net of a part of an invoice for which no withholding is expected. */
const outcomeNet = (outcome: Outcome): Micros => (typeof outcome === 'string' ? 0n : outcome.net)

const ratio = (amount: Micros, base: Micros): string | null =>
  base === 0n
    ? null
    : fixed(base < 0n ? dividedBy(-amount * 1_000_000n, (-base).toString()) : dividedBy(amount * 1_000_000n, base.toString()), 6)

function viewOf({ row, base, amount, expected, missing, ...line }: Line, rules: Rules): Withholding {
  const period = row.day.slice(0, 7)
  return {
    uuid: row.uuid,
    applies_to: row.applies_to,
    source: line.source,
    role: line.role,
    impuesto: line.impuesto,
    concept_class: line.concept_class,
    date: row.day,
    period,
    due_date: line.role === 'withheld_by_us' ? withholdingsDueOn(rules, period) : null,
    base: money(base),
    rate: ratio(amount, base),
    amount: money(amount),
    expected_rate: expected === null ? null : ratio(expected, base),
    expected_amount: expected === null ? null : money(expected),
    difference: expected === null ? null : money(amount - expected),
    missing,
    counterparty_rfc: row.counterparty,
  }
}

const NOTHING = { isr_a_favor: 0n, iva_a_favor: 0n, isr_por_enterar: 0n, iva_por_enterar: 0n, missing_count: 0, missing_amount: 0n }
type Sums = typeof NOTHING

/** The missing amount of a line: zero when more is withheld than expected. */
const missingOf = ({ missing, expected, amount }: Line): Micros => (missing && expected! > amount ? expected! - amount : 0n)

/** Sums by month, and the paid parts that are no cash events. */
class WithholdingSums {
  readonly #months = new Map<string, Sums>()
  unreconciled = 0
  otherParties = 0

  #at(month: string): Sums {
    const sums = this.#months.get(month) ?? { ...NOTHING }
    this.#months.set(month, sums)
    return sums
  }

  addGroup({ month, is_ours, reason, pairs, isr, iva, missing, missing_amount }: WithheldGroup): void {
    if (reason !== null) {
      this.unreconciled += pairs
      if (reason === 'other_parties') this.otherParties += pairs
      return
    }
    const sums = this.#at(month)
    sums[is_ours ? 'isr_por_enterar' : 'isr_a_favor'] += parseSum(isr)
    sums[is_ours ? 'iva_por_enterar' : 'iva_a_favor'] += parseSum(iva)
    sums.missing_count += missing
    sums.missing_amount += parseSum(missing_amount)
  }

  /** `lines` are null when the exchange rate is not known. */
  addExact({ day }: WithheldRow, lines: readonly Line[] | null): void {
    if (lines === null) this.unreconciled++
    for (const line of lines ?? []) {
      const sums = this.#at(day.slice(0, 7))
      const side = line.role === 'withheld_by_us' ? 'por_enterar' : 'a_favor'
      if (line.impuesto !== 'IEPS') sums[`${line.impuesto === 'ISR' ? 'isr' : 'iva'}_${side}`] += line.amount
      if (line.missing) sums.missing_count++
      sums.missing_amount += missingOf(line)
    }
  }

  months = (): ({ period: string } & Sums)[] =>
    [...this.#months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([period, sums]) => ({ period, ...sums }))
}

const PATH = 'cfdi/withholdings'

type Figure = (typeof FIGURES)[number]

const rowsOf = (rows: SQL, figure: Figure): SQL => {
  const isMissing = figure === 'missing_amount'
  const side = isMissing ? sql`1` : figure.endsWith('por_enterar') ? IS_OURS : sql`not (${IS_OURS})`
  const amount = isMissing ? MISSING_AMOUNT : sql.identifier(`${figure.slice(0, 3)}_retenido`)
  return sql`select uuid, applies_to, issued_at, cast(${amount} as text) as amount, needs_exact, iif(needs_exact, ${JSON_ROW}, null) as as_json
    from (${rows}) where reason is null and ${side}`
}

/**
 * Returns a page of the documents behind a figure of the totals. Throws Failure 404 without a readable connection, 400 cursor.invalid and
 * 422 range.invalid.
 */
export async function listWithholdingEntries(ctx: Ctx, query: WithholdingEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, query)
  const { span, rules } = insight
  const { figure, period, limit, cursor } = query
  assertInRange(insight, 'period', period)
  const page = { figure, period, from: span.from, to: span.to, limit, cursor }
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...page, figure })
  const days = {
    first: [span.first, `${period ?? '0000'}-01`].sort().at(-1)!,
    last: [span.last, period === undefined ? '9999' : lastDayOf(period)].sort()[0]!,
  }
  const rowsIn = (partition: Partition) =>
    ([0, 1] as const).flatMap((direction) => {
      if (days.first > days.last) return []
      if (isUnmatched(figure)) return unmatchedRows(figure, partition, direction, days)
      const rows = withheld(partition, direction, days, rules)
      return rows === null ? [] : [rowsOf(rows, figure as Figure)]
    })
  const exactAll = async (exactRows: readonly WithheldRow[]) => {
    const { outcomeOf } = await exactAmountsReader(ctx, exactRows.filter(({ tipo }) => tipo !== 'N' && tipo !== 'R') as never)
    return (exactRow: WithheldRow) => {
      if (isUnmatched(figure)) return unmatchedAmount(exactRow as never, outcomeOf(exactRow as never))
      const lines = linesOf(exactRow, rules, outcomeOf) ?? []
      return figure === 'missing_amount'
        ? lines.reduce((sum, line) => sum + missingOf(line), 0n)
        : lines.reduce((sum, { impuesto, amount }) => (impuesto.toLowerCase() === figure.slice(0, 3) ? sum + amount : sum), 0n)
    }
  }
  return pageOfPairs(insight, PATH, page, rowsIn, exactAll, isUnmatched(figure))
}

type Filters = Pick<WithholdingsQuery, 'role' | 'impuesto' | 'concept_class' | 'source' | 'missing'>

const SOURCES = { cfdi: sql`tipo in ('I', 'E', 'N')`, pago: sql`tipo = 'P'`, retencion_cfdi: sql`tipo = 'R'` }
const TAXES = {
  ISR: sql`(isr_retenido <> 0 or due_isr is not null)`,
  IVA: sql`(iva_retenido <> 0 or due_iva is not null)`,
  IEPS: sql`ieps_retenido <> 0`,
}

/** The condition that an event has a line that may match. */
function conditionOf({ role, impuesto, source, missing, concept_class }: Filters): SQL {
  const missed = (impuesto === undefined ? (['ISR', 'IVA'] as const) : impuesto === 'IEPS' ? [] : [impuesto]).map(
    (one) => sql`${MISSING[one]} = 1`,
  )
  return all([
    sql`1`,
    ...(role ? [role === 'withheld_by_us' ? sql`(${IS_OURS})` : sql`not (${IS_OURS})`] : []),
    ...(impuesto ? [TAXES[impuesto]] : []),
    ...(source ? [SOURCES[source]] : []),
    ...(missing ? [sql`(${missed.length === 0 ? sql`0` : sql.join(missed, sql` or `)})`] : []),
    ...(concept_class === undefined ? [] : [classCondition(concept_class)]),
  ])
}

const classCondition = (concept_class: string): SQL =>
  sql`(case tipo when 'N' then 'sueldos' when 'R' then '' else coalesce(class, 'otros') end) = ${concept_class}`

const isMatch = (line: Line, { role, impuesto, concept_class, source, missing }: Filters): boolean =>
  (role === undefined || line.role === role) &&
  (impuesto === undefined || line.impuesto === impuesto) &&
  (concept_class === undefined || line.concept_class === concept_class) &&
  (source === undefined || line.source === source) &&
  (missing === undefined || line.missing)

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    amount: 'The tax that a cash event withholds: PUE on the day of Fecha, PPD by complements on FechaPago; payroll on its FechaPago',
    base: 'subtotal − descuento of what is paid; of payroll what is taxed, of retenciones what they state',
    expected_amount: 'The rule of the class × base or IVA; only of what is billed to companies',
    missing_amount: 'Σ expected_amount − amount where the difference exceeds the tolerance and less is withheld',
    isr_por_enterar: 'Σ ISR of role withheld_by_us; iva_por_enterar alike',
    isr_a_favor: 'Σ ISR of role withheld_from_us; iva_a_favor alike',
  },
  notes: [
    'The class follows from the issuer’s regime and the product key with the largest amount. It is proposed by this service.',
    'due_date is the day of the next month by law, or the next business day after a weekend or holiday, as that of an obligation; without the extension by the sixth digit of the RFC.',
  ],
}

const after = (a: LinePosition, b: LinePosition): boolean => {
  for (const [n, one] of a.entries()) if (one !== b[n]) return n < 2 ? one < b[n]! : one > b[n]!
  return false
}

interface Read {
  groups: WithheldGroup[]
  exactRow: WithheldRow[]
  page: WithheldRow[]
  unpriced: ExactEvent[]
  notes: number
}

/** The statements for the range. */
function statementsOf({ ledger, span, rules }: Insight, page: SQL, limit: number) {
  const reads = partitionsToRead(ledger).flatMap((partition) =>
    ([0, 1] as const).flatMap((direction) => {
      const rows = withheld(partition, direction, span, rules)
      const { unpriced, notes } = omissions(partition, direction, span)
      return [
        { name: 'rows' as const, statement: rows && readWithheld(rows, page, limit) },
        { name: 'unpriced' as const, statement: unpriced },
        { name: 'notes' as const, statement: notes },
      ].flatMap(({ name, statement }) => (statement ? [{ name, statement }] : []))
    }),
  )
  const parse = (found: readonly unknown[][]): Read => {
    const named = (name: string) => found.flatMap((rows, n) => (reads[n]!.name === name ? rows : []))
    const rows = named('rows') as { kind: 'group' | 'exactRow' | 'page'; row: string }[]
    const of = <Row>(kind: string) => rows.flatMap((one) => (one.kind === kind ? [JSON.parse(one.row) as Row] : []))
    return {
      ...{ groups: of<WithheldGroup>('group'), exactRow: of<WithheldRow>('exactRow'), page: of<WithheldRow>('page') },
      unpriced: named('unpriced') as ExactEvent[],
      notes: (named('notes') as { n: number }[]).reduce((sum, { n }) => sum + n, 0),
    }
  }
  return { statements: reads.map(({ statement }) => statement), parse }
}

/**
 * Returns what is withheld, and should be, on a cash basis: a row for each event and tax, the latest first, and the totals of each month.
 * Throws Failure 404 without a readable connection, 400 cursor.invalid and 422 range.invalid.
 */
export async function listWithholdings(ctx: Ctx, query: WithholdingsQuery): Promise<Withholdings> {
  const insight = await openInsight(ctx, query)
  const { ledger, span, rules } = insight
  const { limit, cursor, fiscal_entity_id: _, fiscalEntityId: __, ...asked } = query
  const filters = { ...asked, from: span.from, to: span.to }
  const scope = { list: 'withholdings', filters: { ...filters, fiscal_entity_id: ledger.fiscal_entity_id } }
  const position = (await openCursor(ctx, scope, cursor)) as LinePosition | undefined
  const reads = statementsOf(insight, sql`${conditionOf(asked)} and ${fromOn(position)}`, limit + 2)
  const { envelope, found: answers } = await aggregateOf(insight, reads.statements)
  const found = reads.parse(answers)
  const { outcomeOf } = await exactAmountsReader(ctx, [...(found.exactRow.filter(isMeasurable) as ExactEvent[]), ...found.unpriced])
  const totals = new WithholdingSums()
  for (const group of found.groups) totals.addGroup(group)
  const lines: Line[] = []
  for (const row of found.exactRow) {
    const some = linesOf(row, rules, outcomeOf)
    totals.addExact(row, some)
    lines.push(...(some ?? []))
  }
  lines.push(...found.page.flatMap((row) => linesOf(row, rules, outcomeOf) ?? []))
  const rows = lines
    .filter((line) => isMatch(line, asked) && (position === undefined || after(positionOf(line), position)))
    .sort((a, b) => (after(positionOf(a), positionOf(b)) ? 1 : -1))
  const dof_rate = found.unpriced.filter((row) => (outcomeOf(row) as { dof?: boolean }).dof === true).length
  const links = linksOf(insight, PATH)
  const omitted = {
    dof_rate,
    unreconciled_payments: totals.unreconciled,
    other_parties: totals.otherParties + found.notes,
    drilldown: qualityLinks(links, UNMATCHED),
  }
  const data = rows.slice(0, limit)
  const has_more = rows.length > limit
  return {
    ...envelope(BASIS, rules, omitted),
    data: data.map((line) => viewOf(line, rules)),
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, positionOf(data.at(-1)!)) : null,
    totals: totals.months().map(({ period, ...sums }) => ({
      period,
      ...{ isr_a_favor: money(sums.isr_a_favor), iva_a_favor: money(sums.iva_a_favor), isr_por_enterar: money(sums.isr_por_enterar) },
      ...{ iva_por_enterar: money(sums.iva_por_enterar), missing_count: sums.missing_count, missing_amount: money(sums.missing_amount) },
      drilldown: {
        ...Object.fromEntries(FIGURES.map((figure) => [figure, links.entries(figure, { period })])),
        missing_count: missingRows(insight, period),
      },
    })),
  }
}

/** The rows of a month that `missing_count` counts. */
function missingRows({ ledger: { fiscal_entity_id }, span }: Insight, period: string): string {
  const [first, last] = [`${period}-01`, lastDayOf(period)]
  const days = { from: first > span.first ? first : span.first, to: last < span.last ? last : span.last }
  return `/v1/${PATH}?${new URLSearchParams({ fiscal_entity_id, ...days, missing: 'true' })}`
}

const isMeasurable = ({ tipo }: WithheldRow): boolean => tipo !== 'N' && tipo !== 'R'

/** The rows from a position on, including its event, which may have further taxes. */
const fromOn = (position: LinePosition | undefined): SQL =>
  position === undefined
    ? sql`1`
    : sql`(day < ${position[0]} or (day = ${position[0]} and (uuid < ${position[1]} or (uuid = ${position[1]}
        and (coalesce(applies_to, '') > ${position[2]} or (coalesce(applies_to, '') = ${position[2]} and n >= ${position[3]}))))))`
