import { partOf } from '../../cfdi/open/measure-open-on.ts'
import type { StatusOf } from '../../cfdi/summary/summary.ts'
import type { ReturnRow } from '../../documents/returns.ts'
import type { Ctx } from '../../platform/context.ts'
import { fixed } from '../../platform/decimal.ts'
import { dividedBy, type Micros, micros, decimal as money } from '../../platform/money.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { latestOf } from '../../taxpayers/visibility/window.ts'
import { UNMATCHED } from '../common/contract.ts'
import { aggregateOf, type Insight, openInsight } from '../common/insight.ts'
import { linksOf, qualityLinks } from '../common/links.ts'
import { measurer } from '../common/measured.ts'
import { BASIS } from './basis.ts'
import { CREDITS_OF_UNPAID, VAT_FIGURES, type VatFigure, type VatMonth, type VatPosition, type VatQuery } from './contract.ts'
import { rateOfLimit } from './exclusions.ts'
import { parseOdd } from './odd.ts'
import { monthsOf, statementsOf, type VatReading } from './reading.ts'
import { sumsOf, type VatSums } from './sums.ts'
import { knownSuppliers } from './suppliers.ts'

export const PATH = 'analytics/vat-position'

export const rangeOf = ({ period, from, to, ...query }: VatQuery) => ({ ...query, from: period ?? from, to: period ?? to })

/**
 * Returns the VAT position of each month on a cash basis (LIVA 1-B, 5): what was collected, paid, withheld and excluded, what is pending, and
 * what the return declares. At most six D1 calls with authentication. Throws Failure 404 without a readable connection, and 422 range.invalid.
 */
export async function getVatPosition(ctx: Ctx, query: VatQuery): Promise<VatPosition> {
  const insight = await openInsight(ctx, rangeOf(query))
  const { rules } = insight
  const reads = statementsOf(insight, await knownSuppliers(insight))
  const { envelope, found, statusOf } = await aggregateOf(insight, reads.statements)
  const reading = reads.parse(found)
  const [months, sums] = [monthsOf(insight), await addedUp(insight, reading)]
  const inRange = (counts: Map<string, number>) => months.reduce((sum, { month }) => sum + (counts.get(month) ?? 0), 0)
  const links = linksOf(insight, PATH)
  const omitted = {
    dof_rate: sums.dof_rate,
    unreconciled_payments: inRange(sums.unreconciled),
    other_parties: inRange(sums.otherParties) + reading.notes.of_others,
    drilldown: qualityLinks(links, [...UNMATCHED, CREDITS_OF_UNPAID]),
  }
  const head = envelope(BASIS, rules, omitted)
  return {
    ...head,
    data_quality: { ...head.data_quality, [CREDITS_OF_UNPAID]: reading.notes.of_unpaid },
    data: months.map(({ month }) => rowOf(insight, sums, reading.returns, month, statusOf)),
  }
}

/** Adds up everything that the figures of the months are made of. At most one D1 call. */
async function addedUp(insight: Insight, reading: VatReading): Promise<VatSums> {
  const events = reading.groups.flatMap(({ odds }) => odds.map(parseOdd))
  const open = [...reading.open, ...reading.odd].flatMap(({ invoice }) => (invoice === null ? [] : [partOf(invoice, 1n)]))
  return sumsOf(reading, monthsOf(insight), await measurer(insight.ctx, [...events, ...open], events.flatMap(rateOfLimit)))
}

const DIRECTIONS = ['issued', 'received'] as const
const ONE = 1_000_000n
const product = (amount: Micros, rate: Micros): Micros => dividedBy(amount * rate, '1000000')

/** The taxed part of sales, in millionths. */
function prorrateoOf(taxed: Micros, exempt: Micros): Micros {
  if (exempt <= 0n) return ONE
  return taxed <= 0n ? 0n : dividedBy(taxed * ONE, (taxed + exempt).toString())
}

type Declared = NonNullable<VatMonth['declarado']>

/** The latest visible return for IVA of a month. */
function declaredIn(returns: readonly ReturnRow[], month: string): Declared | null {
  const found = returns
    .filter(({ period_end }) => period_end.slice(0, 7) === month)
    .map(
      ({ version, attributes }) =>
        ({ version, ...(JSON.parse(attributes) as Record<string, string>) }) as { version: number } & Record<string, string>,
    )
    .filter((one) => one['impuesto'] === 'IVA' && one['iva_a_cargo'] !== undefined)
    .sort((a, b) => b.version - a.version)[0]
  if (!found) return null
  const amount = (name: string) => money(micros(found[name] ?? '0')!)
  return { iva_a_cargo: amount('iva_a_cargo'), iva_a_favor: amount('iva_a_favor'), operation_number: found['numero_operacion'] ?? null }
}

function rowOf(insight: Insight, sums: VatSums, returns: readonly ReturnRow[], period: string, statusOf: StatusOf): VatMonth {
  const { fiscal_entity_id } = insight.ledger
  const of = (figure: VatFigure) => sums.of(figure, period)
  const side = (name: 'cobrado' | 'pagado') => {
    const figures = VAT_FIGURES.filter((figure) => figure.startsWith(`${name}.`))
    return Object.fromEntries(figures.map((figure) => [figure.slice(name.length + 1), money(of(figure))]))
  }
  const ivas = (name: 'cobrado' | 'pagado') => of(`${name}.iva_16`) + of(`${name}.iva_8`) + of(`${name}.iva_otras`)
  const taxed = of('cobrado.base_16') + of('cobrado.base_8') + of('cobrado.base_0') + of('cobrado.base_otras')
  const prorrateo = prorrateoOf(taxed, of('cobrado.base_exento'))
  const credited = product(ivas('pagado') - of('no_deducible_excluded'), prorrateo)
  const acreditable = credited - of('pagado.retenido_a_terceros') + sums.of('pagado.retenido_a_terceros', addMonths(period, -1))
  const saldo = ivas('cobrado') - acreditable - of('cobrado.retenido_por_clientes')
  const data_status = { issued: statusOf(period, 0), received: statusOf(period, 1) }
  // Zeros of a month of which nothing is known yet would be taken for its position.
  const isUnknown = (direction: 0 | 1) => data_status[DIRECTIONS[direction]] !== 'complete' && !sums.isSeen(period, direction)
  // What is creditable depends on what part of sales is taxed.
  const isKnown = !isUnknown(0) && !isUnknown(1)
  const result = isKnown ? saldo : null
  const declarado = declaredIn(returns, period)
  const declared = declarado === null ? null : micros(declarado.iva_a_cargo)! - micros(declarado.iva_a_favor)!
  return {
    period,
    cobrado: side('cobrado') as VatMonth['cobrado'],
    pagado: side('pagado') as VatMonth['pagado'],
    devengado: { trasladado: money(of('devengado.trasladado')), acreditable: money(of('devengado.acreditable')) },
    no_deducible_excluded: money(of('no_deducible_excluded')),
    at_risk_69b: money(of('at_risk_69b')),
    at_risk_repse: money(of('at_risk_repse')),
    prorrateo: isUnknown(0) ? null : fixed(prorrateo, 6),
    acreditable: isKnown ? money(acreditable) : null,
    saldo: result === null ? null : money(result),
    resultado: result === null ? null : money(result).startsWith('-') ? 'a_favor' : 'a_cargo',
    pendiente_por_cobrar_iva: money(of('pendiente_por_cobrar_iva')),
    pendiente_por_acreditar_iva: money(of('pendiente_por_acreditar_iva')),
    pagos_sin_conciliar: {
      count: sums.unreconciled.get(period) ?? 0,
      iva: money(of('pagos_sin_conciliar')),
      iva_cobrado: money(of('pagos_sin_conciliar.iva_cobrado')),
      iva_pagado: money(of('pagos_sin_conciliar.iva_pagado')),
    },
    declarado,
    diferencia: declared === null || result === null ? null : money(result - declared),
    data_status,
    ...shownOf(insight, period),
    drilldown: Object.fromEntries(
      VAT_FIGURES.flatMap((figure) =>
        namesOf(figure).map((name) => [name, `/v1/${PATH}/entries?${new URLSearchParams({ fiscal_entity_id, period, figure })}`]),
      ),
    ),
  }
}

/** The members of a row that the entries of a figure add up to. */
const namesOf = (figure: VatFigure): string[] => (figure === 'pagos_sin_conciliar' ? [`${figure}.count`, `${figure}.iva`] : [figure])

/** How far the windows show a month. */
function shownOf({ ledger: { windows }, ctx }: Insight, month: string): Pick<VatMonth, 'is_partial' | 'through_date'> {
  const [first, last] = [`${month}-01`, lastDayOf(month)]
  const shown = [windows.issued, windows.received].map(({ isEmpty, floor, ceiling }) => {
    const end = ceiling ?? ctx.now.getTime()
    const through = isEmpty || (floor !== null && floor > last) ? '' : [centralDayOf(end), last].sort()[0]!
    return {
      through: through < first ? '' : through,
      isPartial: isEmpty || (floor !== null && floor > first) || latestOf(last) * 1_000 > end,
    }
  })
  const through = shown.map((one) => one.through).sort()[0]!
  return { is_partial: shown.some(({ isPartial }) => isPartial), through_date: through === '' ? null : through }
}
