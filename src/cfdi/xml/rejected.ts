/** Why a document cannot be read as a CFDI. */
export type RejectionCode =
  | 'cfdi.empty'
  | 'cfdi.too_large'
  | 'cfdi.too_deep'
  | 'cfdi.too_complex'
  | 'cfdi.doctype'
  | 'cfdi.html'
  | 'cfdi.malformed'
  | 'cfdi.repeated_element'
  | 'cfdi.not_a_cfdi'
  | 'cfdi.unknown_version'
  | 'cfdi.incomplete'
  | 'cfdi.invalid_rfc'
  | 'cfdi.invalid_amount'
  | 'cfdi.invalid_date'
  | 'cfdi.invalid_uuid'

/** The bytes cannot be read as a CFDI, now or later. The message names attributes, never their values. */
export class CfdiRejected extends Error {
  readonly code: RejectionCode

  constructor(code: RejectionCode, message: string) {
    super(message)
    this.code = code
  }
}
