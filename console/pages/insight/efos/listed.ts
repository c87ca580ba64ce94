import type { EfosExposure, EfosRow } from '../../../api/routes.d.ts'

type Steps = Pick<EfosRow, 'presunto_dof_at' | 'definitivo_dof_at' | 'resolved_at'>
type Quality = Pick<EfosExposure['data_quality'], 'missing_months'>
type Direction = EfosExposure['direction']
type Situated = Pick<EfosExposure['by_situacion'][number], 'situacion' | 'counterparty_count'>

/** The day of the first publication, as far as it is known. */
const firstOf = ({ presunto_dof_at, definitivo_dof_at, resolved_at }: Steps): string | null =>
  presunto_dof_at ?? definitivo_dof_at ?? resolved_at

/** Whether a zero at this side of the first publication is unknown: months are missing there, as the API says. */
export function isUnknown(
  side: 'before' | 'after',
  amount: string,
  row: Steps,
  { missing_months }: Quality,
  direction: Direction,
): boolean {
  const month = firstOf(row)?.slice(0, 7)
  if (month === undefined || /[1-9]/.test(amount)) return false
  return missing_months[direction].some((one) => (side === 'before' ? one <= month : one >= month))
}

/**
 * The searches with exactly the documents of a situation. A search takes one party and no list with a situation, so there is one where the situation
 * has one party; and none for a past day, on which other documents counted. `all` is the search of all documents of the range.
 */
export function documentsOf(rows: readonly Pick<EfosRow, 'rfc' | 'situacion'>[], one: Situated, all: string | undefined, isPast: boolean) {
  const [party] = rows.filter(({ situacion }) => situacion === one.situacion)
  if (!all || isPast || !party || one.counterparty_count !== 1) return undefined
  const search = (tipo_comprobante: string) =>
    `${all}&${new URLSearchParams({ is_substituted: 'false', tipo_comprobante, counterparty_rfc: party.rfc })}`
  return { invoices: search('I'), amount: search('I,E') }
}
