import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import type { ReportKey } from './contract.ts'
import { CASH_FIGURES } from './parts/statements.ts'

type Query = Record<string, string>
type Direction = 'issued' | 'received'
/** A row of a report: the members that name it are text. */
type Row = Record<string, unknown> &
  Partial<Record<'year' | 'month' | 'rfc' | 'relation' | 'first_day' | 'last_day' | 'direction' | 'period', string>>

/** The longest range of a surface, in months. */
const LONGEST = 120
const ZERO = '0.00'

/** Adds to each row what leads from its figures to the documents that add up to them. Figures that no surface lists have no drilldown. */
export function withDrilldowns<One extends object>(
  key: ReportKey,
  fiscal_entity_id: string,
  rows: readonly One[],
): (One & { drilldown: Query })[] {
  const path = (name: string, query: Query) => `/v1/${name}?${new URLSearchParams({ fiscal_entity_id, ...query })}`
  const net = (direction: Direction, from: string, to: string, more: Query = {}) =>
    path('cfdi/concentration/entries', { from, to, direction, figure: 'total', ...more })
  const accrued = (figure: string, year: string) =>
    path('analytics/vat-position/entries', { from: `${year}-01`, to: `${year}-12`, figure: `devengado.${figure}` })
  const cancelled = (query: Query) =>
    path('cfdi', { estatus: 'cancelado', kind: 'cfdi', tipo_comprobante: 'I', to_itself: 'false', ...query })
  const operations = Map.groupBy(key === 'diot' ? (rows as readonly Row[]) : [], ({ period, rfc }) => `${period}|${rfc}`)

  function of(row: Row): Query {
    const { year = '', rfc = '', relation, first_day = '', last_day = '', direction, period = '' } = row
    switch (key) {
      case 'fiscal-summary': {
        const [from, to] = [`${year}-01`, `${year}-12`]
        return {
          ...{ ingresos: net('issued', from, to), egresos: net('received', from, to) },
          ...{ iva_trasladado: accrued('trasladado', year), iva_acreditable: accrued('acreditable', year) },
        }
      }
      case 'revenue-expenses': {
        const month = row.month ?? ''
        return { net_revenue: net('issued', month, month), net_expenses: net('received', month, month) }
      }
      case 'annual-comparison': {
        const month = `${year}-${row.month}`
        const [issued, received] = [net('issued', month, month), net('received', month, month)]
        const lost = (side: Direction) => cancelled({ direction: side, issued_from: `${month}-01`, issued_to: lastDayOf(month) })
        return {
          ...{ issued, received, issued_count: issued, received_count: received },
          ...{ cancelled_issued_count: lost('issued'), cancelled_received_count: lost('received') },
        }
      }
      case 'counterparty-network': {
        if (addMonths(first_day.slice(0, 7), LONGEST) <= last_day.slice(0, 7)) return {}
        return {
          ...(relation === 'supplier' ? {} : { issued: net('issued', first_day, last_day, { rfc }) }),
          ...(relation === 'customer' ? {} : { received: net('received', first_day, last_day, { rfc }) }),
          cancelled_count: cancelled({ counterparty_rfc: rfc }),
        }
      }
      case 'payment-behavior': {
        const side = direction === 'issued' ? 'receivables' : 'payables'
        const open = (figure: string) => path('analytics/financing/entries', { figure: `${side}.${figure}`, rfc })
        return { outstanding: open('outstanding'), overdue: open('overdue') }
      }
      case 'diot': {
        // The VAT position does not divide a supplier by operation.
        if (operations.get(`${period}|${rfc}`)!.length > 1) return {}
        const nameOf = (figure: string) => `pagado.${figure === 'iva_retenido' ? 'retenido_a_terceros' : figure}`
        return Object.fromEntries(
          CASH_FIGURES.filter((figure) => row[figure] !== ZERO).map((figure) => [
            figure,
            path('analytics/vat-position/entries', { period, figure: nameOf(figure), rfc }),
          ]),
        )
      }
      default:
        return {}
    }
  }
  return rows.map((row) => ({ ...row, drilldown: of(row as Row) }))
}
