import type { Rules } from '../../authority/rules/dated.ts'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import { withholdingsDueOn } from '../../documents/obligations/due-rule.ts'
import { fixed } from '../../platform/decimal.ts'
import { dividedBy, type Micros, decimal as money } from '../../platform/money.ts'
import { ivaOf, type Outcome } from '../common/measured.ts'
import type { Withholding } from './contract.ts'
import { classOf, expectedOf, isMissing } from './expectation.ts'
import type { WithheldRow } from './store.ts'

/** A row of the answer before it is written. */
export interface Line {
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

export type LinePosition = [day: string, uuid: string, applies_to: string, n: number, impuesto: string]
export const positionOf = ({ row, impuesto }: Line): LinePosition => [row.day, row.uuid, row.applies_to ?? '', row.n, impuesto]

const TAXES = ['ISR', 'IVA', 'IEPS'] as const

/** Whether the RFC itself withholds. */
const roleOf = ({ direction, tipo }: WithheldRow): Withholding['role'] =>
  (direction === 1) !== (tipo === 'N' || tipo === 'R') ? 'withheld_by_us' : 'withheld_from_us'

/** What payroll and retenciones withhold, which are in MXN. */
function statedLines(row: WithheldRow): Line[] {
  const taxes = JSON.parse(row.source!) as (number | string)[]
  const common = { row, role: roleOf(row), expected: null, missing: false }
  const kind =
    row.tipo === 'N'
      ? ({ source: 'cfdi', concept_class: 'sueldos' } as const)
      : ({ source: 'retencion_cfdi', concept_class: null } as const)
  return TAXES.map((impuesto, n) => ({
    ...{ ...common, ...kind, impuesto },
    ...{ base: BigInt(taxes[2 * n] ?? 0), amount: BigInt(taxes[2 * n + 1] ?? 0) },
  })).filter(({ amount }) => amount !== 0n)
}

/**
 * The lines of an event: one for each tax with an amount or an expectation. Null when it is no cash event, because its exchange rate is not
 * known.
 */
export function linesOf(row: WithheldRow, all: Rules, outcomeOf: (row: Measurable) => Outcome): Line[] | null {
  if (row.tipo === 'N' || row.tipo === 'R') return statedLines(row)
  const rules = all.on(row.day)
  const measured = row.is_odd === 1 ? outcomeOf(row as Measurable) : null
  if (typeof measured === 'string') return measured === 'missing_rate' && row.tipo === 'P' ? null : []
  const amount = (name: 'isr_retenido' | 'iva_retenido' | 'ieps_retenido') => measured?.[name] ?? BigInt(row[name])
  const amounts = { ISR: amount('isr_retenido'), IVA: amount('iva_retenido'), IEPS: amount('ieps_retenido') }
  const net = measured?.net ?? (row.net === null ? outcomeNet(outcomeOf(row as Measurable)) : BigInt(row.net))
  const found = classOf(rules, row)
  const due = row.tipo === 'E' ? { ISR: null, IVA: null } : expectedOf(found, net, measured ? ivaOf(measured) : BigInt(row.iva))
  const common = { row, source: row.tipo === 'P' ? ('pago' as const) : ('cfdi' as const), role: roleOf(row) }
  return TAXES.flatMap((impuesto) => {
    const expected = impuesto === 'IEPS' ? null : due[impuesto]
    if (amounts[impuesto] === 0n && expected === null) return []
    const missing = isMissing(amounts[impuesto], expected, rules.get('withholding.tolerance'))
    return [{ ...common, impuesto, concept_class: found?.class ?? 'otros', base: net, amount: amounts[impuesto], expected, missing }]
  })
}

/** The net of a part of an invoice, of which nothing is expected. */
const outcomeNet = (outcome: Outcome): Micros => (typeof outcome === 'string' ? 0n : outcome.net)

const ratio = (amount: Micros, base: Micros): string | null =>
  base === 0n
    ? null
    : fixed(base < 0n ? dividedBy(-amount * 1_000_000n, (-base).toString()) : dividedBy(amount * 1_000_000n, base.toString()), 6)

export function viewOf({ row, base, amount, expected, missing, ...line }: Line, rules: Rules): Withholding {
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
