/** A document that cannot be stored in this partition. The message contains no RFC. */
export class RowRejected extends Error {
  readonly code: 'cfdi.unstamped' | 'cfdi.foreign_rfc' | 'cfdi.invalid_uuid' | 'cfdi.invalid_date' | 'cfdi.too_large'

  constructor(code: RowRejected['code'], message: string) {
    super(message)
    this.code = code
  }
}
