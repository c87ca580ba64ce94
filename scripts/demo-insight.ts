import type { Customer } from './customer.ts'
import { amount, short, table } from './table.ts'

type Amounts = Record<string, string>

interface VatMonth {
  cobrado: Amounts
  pagado: Amounts
  no_deducible_excluded: string
  acreditable: string
  saldo: string
  resultado: string
  pagos_sin_conciliar: { count: number; iva: string }
  drilldown: Amounts
}

interface Risk {
  uuid: string
  issued_at: string
  direction: string
  counterparty_name: string | null
  counterparty_rfc: string
  total: string | null
  currency: string | null
  score: number
  level: string
  flags: { code: string }[]
}

interface Side {
  outstanding: string
  overdue: string
  aging: Amounts
}

const SHOWN = 3

/** The month before the current one in America/Mexico_City. */
function lastFullMonth(now: Date): string {
  const [year, month] = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Mexico_City', year: 'numeric', month: '2-digit' })
    .format(now)
    .split('-')
    .map(Number) as [number, number]
  return new Date(Date.UTC(year, month - 2)).toISOString().slice(0, 7)
}

/** Prints the VAT position of the last full month, the largest risks and the ageing of receivables. Returns where to go on. */
export async function showInsight(customer: Customer, fiscal_entity_id: string): Promise<string[]> {
  const entity = `fiscal_entity_id=${fiscal_entity_id}`
  const month = lastFullMonth(new Date())
  const vatPath = `/v1/analytics/vat-position?${entity}&period=${month}`
  const { data: positions } = await customer.ask<{ data: VatMonth[] }>('GET', vatPath)
  const [vat] = positions
  if (vat) {
    console.log(`\nThe VAT position of ${month} on a cash basis, MXN (GET /v1/analytics/vat-position):\n`)
    const rows = [
      ['IVA collected at 16 %', vat.cobrado['iva_16']!],
      ['IVA paid at 16 %', vat.pagado['iva_16']!],
      ['  of it not deductible', vat.no_deducible_excluded],
      ['IVA withheld by customers', vat.cobrado['retenido_por_clientes']!],
      ['IVA withheld from third parties', vat.pagado['retenido_a_terceros']!],
      ['Creditable', vat.acreditable],
      [`Balance (${vat.resultado})`, vat.saldo],
    ].map(([name = '', text = '']) => [name, amount(text)])
    console.log(table(['Figure', 'Amount'], rows))
    const { count, iva } = vat.pagos_sin_conciliar
    if (count > 0) console.log(`\n${count} paid parts match no invoice; they state ${amount(iva)} of IVA, which is in no figure.`)
  }

  const riskPath = `/v1/cfdi/risk?${entity}&limit=${SHOWN}`
  const { data: risks } = await customer.ask<{ data: Risk[] }>('GET', riskPath)
  console.log('\nThe largest risks of twelve months (GET /v1/cfdi/risk):\n')
  const flagged = risks.map((one) => [
    one.issued_at.slice(0, 10),
    one.direction,
    short(one.counterparty_name ?? one.counterparty_rfc, 30),
    `${one.total === null ? '' : amount(one.total)} ${one.currency ?? ''}`,
    `${one.score} ${one.level}`,
    one.flags.map(({ code }) => code).join(', '),
  ])
  console.log(table(['Fecha', 'Direction', 'Counterparty', 'Total', 'Score', 'Flags'], flagged))

  const financingPath = `/v1/analytics/financing?${entity}&limit=5`
  const { receivables } = await customer.ask<{ receivables: Side }>('GET', financingPath)
  const { current, d1_30, d31_60, d61_90, d90_plus } = receivables.aging
  console.log('\nWhat customers owe, by days overdue, MXN (GET /v1/analytics/financing):\n')
  const aged = [receivables.outstanding, current, d1_30, d31_60, d61_90, d90_plus].map((text) => amount(text ?? '0.00'))
  console.log(table(['Outstanding', 'Not due', '1–30', '31–60', '61–90', 'Over 90'], [aged]))

  const drilldown = vat?.drilldown['cobrado.iva_16']
  return [...(drilldown === undefined ? [] : [drilldown]), vatPath, riskPath, financingPath, `/v1/analytics/risk?${entity}`]
}
