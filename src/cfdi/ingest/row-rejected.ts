import type { Micros } from '../money.ts'

/** A document that cannot be kept in this book. The message names no RFC. */
export class RowRejected extends Error {
  readonly code: 'cfdi.unstamped' | 'cfdi.foreign_rfc' | 'cfdi.invalid_amount' | 'cfdi.invalid_date' | 'cfdi.too_large'

  constructor(code: RowRejected['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** SQLite's integers end at 9.2e18; what adds up to them should not be near. */
const MOST_MICROS = 10n ** 18n

/** The amount, or a refusal when sums of such could leave SQLite's integers. */
export function bounded<T extends Micros | null>(amount: T): T {
  if (amount !== null && (amount > MOST_MICROS || amount < -MOST_MICROS)) {
    throw new RowRejected('cfdi.invalid_amount', 'An amount is too large to be added up.')
  }
  return amount
}
