import type { ProviderAnswer } from './call.ts'
import { DestinationError, type DestinationFault } from './port.ts'

/** What a provider's short error code means, with the beginning of a sentence where that of the fault says too little. */
export type FaultTable = Record<string, DestinationFault | readonly [DestinationFault, string]>

const SENTENCES: Record<DestinationFault, string> = {
  access_denied: 'The provider refuses the credentials, or they lack a permission',
  not_found: 'The destination does not exist at the provider',
  storage_full: 'The storage of the destination is full',
  rate_limited: 'The provider asks to send less',
  unavailable: 'The provider cannot serve the request at present',
  timeout: 'The provider gave up waiting',
  connection_failed: 'The connection to the destination could not be made, or it broke',
  address_refused: 'The address of the destination may not be called',
  refused: 'The provider refuses the request',
}

const BY_STATUS: Record<number, DestinationFault> = {
  401: 'access_denied',
  403: 'access_denied',
  404: 'not_found',
  408: 'timeout',
  429: 'rate_limited',
  507: 'storage_full',
}

/** Statuses with which the network in front of a provider says that it cannot reach it: 530 is an unknown host name. */
const isUnreachable = (status: number): boolean => status >= 520 && status <= 530

function faultOf({ status }: ProviderAnswer): DestinationFault {
  if (isUnreachable(status)) return 'connection_failed'
  return BY_STATUS[status] ?? (status >= 500 ? 'unavailable' : 'refused')
}

/**
 * The error for an answer that is not what was asked for. `code` is the provider's short error code; one that is not in the table is only
 * shown when it is a word that contains no part of a credential.
 */
export function errorOf(answer: ProviderAnswer, code: string, table: FaultTable, secrets: readonly string[]): DestinationError {
  const known = Object.hasOwn(table, code) ? table[code]! : faultOf(answer)
  const [fault, sentence] = typeof known === 'string' ? [known, SENTENCES[known]] : known
  const isWord = Object.hasOwn(table, code) || (/^[A-Za-z]{3,40}$/.test(code) && !secrets.some((secret) => secret.includes(code)))
  return new DestinationError(fault, `${sentence} (${isWord ? `${code}, ` : ''}status ${answer.status}).`, retryAfterOf(answer))
}

/** The error for an answer of a good status that is not what the provider's documentation says. */
export const unexpected = ({ status }: ProviderAnswer): DestinationError =>
  new DestinationError('refused', `The answer of the destination is not what its kind of provider answers (status ${status}).`)

/** Reads Retry-After: seconds, or a date. What is longer than 30 years is 30 years. */
export function retryAfterOf({ headers }: ProviderAnswer): number | null {
  const value = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value), 1e9)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000))
}
