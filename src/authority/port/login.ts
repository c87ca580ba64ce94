/** What a login at the tax authority requires. The CIEC is in plain text. */
export interface Login {
  rfc: string
  ciec: string
}
