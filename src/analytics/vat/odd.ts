/** A movement that is to be measured. */
export interface Odd {
  uuid: string
  applies_to: string | null
  tipo: string
  day: string
  source: string
  /** The day of the invoice, when its total in MXN is not known and it was paid in cash. */
  cash_of: string | null
  is_excluded: 0 | 1
  is_presumed: 0 | 1
  is_lapsed: 0 | 1
  /** It is no cash event. */
  is_unmatched: 0 | 1
}

export const parseOdd = (text: string): Odd => JSON.parse(text) as Odd
