import type { Micros } from '../money.ts'

/** A document that cannot be stored in this partition. The message contains no RFC. */
export class RowRejected extends Error {
  readonly code: 'cfdi.unstamped' | 'cfdi.foreign_rfc' | 'cfdi.invalid_amount' | 'cfdi.invalid_date' | 'cfdi.too_large'

  constructor(code: RowRejected['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** SQLite's integers end at 9.2e18, and sums of amounts must stay below that. */
const MAX_MICROS = 10n ** 18n

/** Returns the amount. Throws RowRejected when sums of such amounts could exceed SQLite's integers. */
export function bounded<T extends Micros | null>(amount: T): T {
  if (amount !== null && (amount > MAX_MICROS || amount < -MAX_MICROS)) {
    throw new RowRejected('cfdi.invalid_amount', 'An amount is too large to be added up.')
  }
  return amount
}
