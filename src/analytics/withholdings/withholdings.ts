import { type SQL, sql } from 'drizzle-orm'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import type { Ctx } from '../../platform/context.ts'
import { decimal as money } from '../../platform/money.ts'
import { openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import { partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { UNMATCHED } from '../common/contract.ts'
import { aggregateOf, type Insight, openInsight } from '../common/insight.ts'
import { linksOf, qualityLinks } from '../common/links.ts'
import { measurer } from '../common/measured.ts'
import { omissions } from '../common/omitted.ts'
import { BASIS } from './basis.ts'
import { FIGURES, type Withholdings, type WithholdingsQuery } from './contract.ts'
import { PATH } from './entries.ts'
import { conditionOf, isMatch } from './filters.ts'
import { type Line, type LinePosition, linesOf, positionOf, viewOf } from './lines.ts'
import { readWithheld, type WithheldGroup, type WithheldRow, withheld } from './store.ts'
import { WithholdingSums } from './totals.ts'

const after = (a: LinePosition, b: LinePosition): boolean => {
  for (const [n, one] of a.entries()) if (one !== b[n]) return n < 2 ? one < b[n]! : one > b[n]!
  return false
}

interface Read {
  groups: WithheldGroup[]
  odd: WithheldRow[]
  page: WithheldRow[]
  unpriced: Measurable[]
  notes: number
}

/** What reads the range. */
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
    const rows = named('rows') as { kind: 'group' | 'odd' | 'page'; row: string }[]
    const of = <Row>(kind: string) => rows.flatMap((one) => (one.kind === kind ? [JSON.parse(one.row) as Row] : []))
    return {
      ...{ groups: of<WithheldGroup>('group'), odd: of<WithheldRow>('odd'), page: of<WithheldRow>('page') },
      unpriced: named('unpriced') as Measurable[],
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
  const { outcomeOf } = await measurer(ctx, [...(found.odd.filter(isMeasurable) as Measurable[]), ...found.unpriced])
  const totals = new WithholdingSums()
  for (const group of found.groups) totals.addGroup(group)
  const lines: Line[] = []
  for (const row of found.odd) {
    const some = linesOf(row, rules, outcomeOf)
    totals.addOdd(row, some)
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

/** The rows from a position on: the event of the position too, which may have further taxes. */
const fromOn = (position: LinePosition | undefined): SQL =>
  position === undefined
    ? sql`1`
    : sql`(day < ${position[0]} or (day = ${position[0]} and (uuid < ${position[1]} or (uuid = ${position[1]}
        and (coalesce(applies_to, '') > ${position[2]} or (coalesce(applies_to, '') = ${position[2]} and n >= ${position[3]}))))))`
