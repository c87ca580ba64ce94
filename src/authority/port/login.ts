import type { Efirma } from '../efirma/efirma.ts'

/** What a taxpayer can log in with, the preferred kind first. */
export const LOGIN_KINDS = ['efirma', 'ciec'] as const
export type LoginKind = (typeof LOGIN_KINDS)[number]

/** What a login at the tax authority requires: an e.firma that is ready to sign, or a CIEC in plain text. */
export type Login = { rfc: string; efirma: Efirma } | { rfc: string; ciec: string }

export const kindOf = (login: Login): LoginKind => ('efirma' in login ? 'efirma' : 'ciec')

/** What tells two logins of an RFC and kind apart: the CIEC itself, or the certificate. */
export const loginValue = (login: Login): string => ('efirma' in login ? login.efirma.certificate.der.toBase64() : login.ciec)
