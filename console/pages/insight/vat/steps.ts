import type { VatMonth } from '../../../api/routes.d.ts'
import { sizeOf } from '../../../charts/scale.ts'

type Series = 'issued' | 'received' | 'bad' | 'wait' | 'idle'

/** A step from what was collected to the balance: a figure of the API, and between which heights its bar stands. */
export interface Step {
  key: StepName
  sign: '+' | '−' | '×' | '='
  series: Series
  levels: readonly [from: number, to: number] | undefined
  is?: 'sum' | 'result'
  /** As the API says it; null while it is not known. */
  text: string | null
  drilldown?: string | undefined
  /** What it is a part of; a balance is of both. */
  side?: 'cobrado' | 'pagado'
}

const RATES = ['iva_16', 'iva_8', 'iva_otras'] as const
type Rate = (typeof RATES)[number]

export type StepName =
  | `cobrado.${Rate}`
  | `pagado.${Rate}`
  | 'no_deducible_excluded'
  | 'prorrateo'
  | 'retenido_acreditable'
  | 'retenido_antes'
  | 'acreditable'
  | 'cobrado.retenido_por_clientes'
  | 'saldo'

const isShown = (rate: Rate, text: string): boolean => rate === 'iva_16' || text !== '0.00'

/** The steps of a month. The heights only place bars: they end where the API says that they end. */
export function stepsOf(row: VatMonth): Step[] {
  const { cobrado, pagado, month_before, drilldown } = row
  let at = 0
  const move = (
    key: StepName,
    sign: '+' | '−',
    text: string | null,
    series: Series,
    to?: string,
  ): Step & { side: 'cobrado' | 'pagado' } => {
    const from = at
    at += sign === '+' ? sizeOf(text) : -sizeOf(text)
    const side = key.startsWith('cobrado') ? 'cobrado' : 'pagado'
    return { key, sign, text, series, side, levels: text === null ? undefined : [from, at], drilldown: to ?? drilldown[key] }
  }
  const collected = RATES.filter((rate) => isShown(rate, cobrado[rate])).map((rate) =>
    move(`cobrado.${rate}`, '+', cobrado[rate], 'issued'),
  )
  const top = at
  const paid = RATES.filter((rate) => isShown(rate, pagado[rate])).map((rate) => move(`pagado.${rate}`, '−', pagado[rate], 'received'))
  const excluded = move('no_deducible_excluded', '+', row.no_deducible_excluded, 'bad')
  const withheld = move('retenido_acreditable', '+', row.retenido_acreditable, 'idle')
  const full = at
  at = top - (top - full) * sizeOf(row.prorrateo ?? '1')
  const prorrateo: Step = { key: 'prorrateo', sign: '×', text: row.prorrateo, series: 'wait', levels: [full, at] }
  // These documents add up to it, but for the proportion of their month.
  const ofBefore = drilldown['retenido_acreditable']?.replace(`period=${row.period}`, `period=${month_before.period}`)
  // The month before has a state of its own.
  const { side: _, ...earlier } = move('retenido_antes', '−', month_before.withheld_credited, 'idle', ofBefore)
  const isKnown = row.acreditable !== null
  if (isKnown) at = top - sizeOf(row.acreditable)
  const credited: Step = {
    ...{ key: 'acreditable', sign: '=', text: row.acreditable, series: 'idle', is: 'sum' },
    levels: isKnown ? [top, at] : undefined,
  }
  const customers = move('cobrado.retenido_por_clientes', '−', cobrado.retenido_por_clientes, 'idle')
  const saldo: Step = {
    ...{ key: 'saldo', sign: '=', text: row.saldo, series: 'idle', is: 'result' },
    levels: row.saldo === null ? undefined : [0, sizeOf(row.saldo)],
  }
  return [...collected, ...paid, excluded, withheld, prorrateo, earlier, credited, customers, saldo]
}
