import type { RuleValues } from '../../authority/rules/dated.ts'
import type { Ctx } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import { decimal, micros } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { offsetText } from '../../platform/time/zone-of-postcode.ts'
import type { Basis, EntriesPage } from '../common/contract.ts'
import { aggregateOf, type Insight, openInsight } from '../common/insight.ts'
import { pageOfLeftOut } from '../common/left-out.ts'
import { linksOf, qualityLinks } from '../common/links.ts'
import { REPSE_NOTE } from '../common/names.ts'
import { inPesos, ratesOf } from '../common/unrated.ts'
import { LEVELS, type Level, type Risk, type RiskEntriesQuery, type RiskQuery, type RiskRow } from './contract.ts'
import { type Known, saidOf } from './evidence.ts'
import { bitOf } from './flags.ts'
import { setsOf } from './sets.ts'
import { type Chosen, padded, type RiskPosition, type RiskyDocument, riskStatements, scoreOf, supplierStatements } from './store.ts'

const PATH = 'cfdi/risk'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: { score: 'min(most of risk.levels, Σ risk.weights of its flags)', level: 'by the least scores of risk.levels' },
  notes: [
    'Weights and levels are proposed. Lists and the REPSE registry are read as they are today.',
    'Cancelled documents are among the rows: metadata_only is said of them too, while data_quality.without_xml counts valid ones alone.',
    REPSE_NOTE,
    'cancellation_in_process and sat_not_found rest on what the authority last answered to your status checks.',
  ],
}

type Levels = RuleValues['risk.levels']
const leastOf = (levels: Levels, level: Level): number => (level === 'low' ? 0 : levels[level])
const levelOf = (levels: Levels, score: number): Level => LEVELS.findLast((level) => score >= leastOf(levels, level))!

function chosenOf({ level, code, min_total }: RiskQuery, levels: Levels): Chosen {
  const above = (one: Level) => LEVELS[LEVELS.indexOf(one) + 1]
  return {
    scores: level?.map((one) => [leastOf(levels, one), above(one) ? leastOf(levels, above(one)!) : levels.most + 1] as const) ?? null,
    codes: code ?? null,
    min_total: min_total === undefined ? null : micros(min_total)!.toString(),
  }
}

const isBefore = ([score, pesos, uuid]: RiskPosition, [other, others, than]: RiskPosition): boolean =>
  score !== other ? score > other : pesos !== others ? pesos > others : uuid < than
const positionOf = ({ score, pesos, uuid }: RiskyDocument): RiskPosition => [score, pesos, uuid]

const isChosen = ({ score, mask, pesos }: RiskyDocument, { scores, codes, min_total }: Chosen): boolean =>
  mask !== 0 &&
  (scores === null || scores.some(([least, below]) => score >= least && score < below)) &&
  (codes === null || codes.some((code) => (mask & bitOf(code)) !== 0)) &&
  (min_total === null || pesos >= padded(min_total))

/** Gives documents without a stated exchange rate their total at the published one, and the flag of cash that depends on it. */
async function rated({ ctx, rules }: Insight, rows: readonly RiskyDocument[]): Promise<{ rows: RiskyDocument[]; dof_rate: number }> {
  const unrated = rows.filter((one) => one.unrated === 1)
  const rates = await ratesOf(
    ctx,
    unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })),
  )
  const limitOn = (fecha: string) => micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!
  let dof_rate = 0
  const found = unrated.map((row, n): RiskyDocument => {
    const pesos = inPesos(BigInt(row.total_micros ?? 0), rates[n] ?? null)
    if (pesos === null) return row
    dof_rate += row.counts
    const isCash =
      row.counts === 1 && row.direction === 1 && row.tipo_comprobante === 'I' && row.forma_pago === '01' && pesos > limitOn(row.fecha)
    const mask = row.mask | (isCash ? bitOf('cash_over_2000') : 0)
    return { ...row, mask, pesos: padded(pesos.toString()), score: scoreOf(mask, rules.get('risk.weights'), rules.get('risk.levels').most) }
  })
  return { rows: [...rows.filter((one) => one.unrated === 0), ...found], dof_rate }
}

/**
 * Returns the documents of a range that something is wrong with, the worst first. At most six D1 calls with authentication. Throws Failure
 * 404, 422 range.invalid and 400 for a foreign cursor.
 */
export async function getRisk(ctx: Ctx, query: RiskQuery): Promise<Risk> {
  const insight = await openInsight(ctx, query)
  const { ledger, rules, today } = insight
  const { limit, cursor, direction } = query
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as RiskPosition | undefined
  const { found, envelope } = await aggregateOf(insight, direction === 'issued' ? [] : supplierStatements(ledger, insight.span))
  const suppliers = new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))
  const sets = await setsOf(insight, [...suppliers])
  const levels = rules.get('risk.levels')
  const chosen = chosenOf(query, levels)
  const read = await readAll<RiskyDocument>(ledger.d1, riskStatements(insight, sets, chosen, after, limit + 1))
  const { rows, dof_rate } = await rated(insight, read)
  const shown = rows
    .filter((one) => one.unrated === 0 || (isChosen(one, chosen) && (after === undefined || isBefore(after, positionOf(one)))))
    .sort((a, b) => (isBefore(positionOf(a), positionOf(b)) ? -1 : 1))
  const known = { ...sets, rules, today }
  const page = await paginate(ctx, scope, limit, shown, positionOf, (row) => rowOf(row, known))
  const links = linksOf(insight, PATH, direction ? { direction } : {})
  return { ...envelope(BASIS, rules, { dof_rate, drilldown: qualityLinks(links) }), ...page }
}

const DIRECTIONS = ['issued', 'received'] as const

function rowOf(row: RiskyDocument, known: Known): RiskRow {
  const [levels, weights] = [known.rules.get('risk.levels'), known.rules.get('risk.weights')]
  const { uuid, direction, tipo_comprobante, issued_at, utc_offset, counterparty_rfc, total, currency, pesos, score } = row
  const local = new Date((issued_at + utc_offset * 60) * 1_000).toISOString().slice(0, 19)
  return {
    ...{ uuid, direction: DIRECTIONS[direction], tipo_comprobante, issued_at: `${local}${offsetText(utc_offset)}`, counterparty_rfc },
    counterparty_name: direction === 0 ? row.receptor_nombre : row.emisor_nombre,
    ...{ total, currency, total_mxn: pesos === '' ? null : decimal(BigInt(pesos)), score, level: levelOf(levels, score) },
    flags: saidOf(row, known).map(({ code, ...said }) => ({
      ...{ code, weight: weights[code], severity: levelOf(levels, weights[code]) },
      ...said,
    })),
  }
}

/** Returns a page of the documents that `data_quality` counts. Throws Failure as `getRisk` does. */
export const getRiskEntries = async (ctx: Ctx, query: RiskEntriesQuery): Promise<EntriesPage> =>
  pageOfLeftOut(await openInsight(ctx, query), PATH, query)
