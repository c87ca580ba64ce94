import type { Settings } from '../../platform/settings.ts'
import type { Efirma } from '../efirma/efirma.ts'

/** The kinds of logins, the preferred kind first. */
export const LOGIN_KINDS = ['efirma', 'ciec'] as const
export type LoginKind = (typeof LOGIN_KINDS)[number]

/** The secrets of a login at the tax authority: an e.firma that is ready to sign, or a CIEC in plain text. */
export type Login = { rfc: string; efirma: Efirma } | { rfc: string; ciec: string }

export const kindOf = (login: Login): LoginKind => ('efirma' in login ? 'efirma' : 'ciec')

/** Distinguishes two logins of an RFC and kind: the CIEC itself, or the certificate. */
export const loginValue = (login: Login): string => ('efirma' in login ? login.efirma.certificate.der.toBase64() : login.ciec)

/** Whether anybody can log in with a CIEC: the sandbox, or a fetcher. The web services of the authority take none. */
export const takesCiecs = ({ taxAuthority, fetcherKeys }: Pick<Settings, 'taxAuthority' | 'fetcherKeys'>): boolean =>
  taxAuthority === 'sandbox' || fetcherKeys !== null
