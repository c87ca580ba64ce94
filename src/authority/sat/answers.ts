import { type Meaning, meaningOf, meaningOfState } from './meanings.ts'
import { envelopeOf, find, type XmlNode } from './soap.ts'
import { unexpected } from './unanswered.ts'

/** What the authority says of every request but a login: unknown codes are data too. */
export interface SatAnswer {
  meaning: Meaning
  code: string
  /** In the authority's words. */
  message: string
}

export interface Token {
  /** To be sent as it is. */
  token: string
  /** For how long it is valid, in milliseconds. */
  life: number
}

/** The answer to a request for documents. */
export interface Requested extends SatAnswer {
  /** IdSolicitud in lower case; null when the request was not accepted. */
  request: string | null
}

/** The answer to a verification. */
export interface Verified extends SatAnswer {
  /** EstadoSolicitud and CodigoEstadoSolicitud, as they are; empty when absent. */
  state: string
  stateCode: string
  /** NumeroCFDIs: how many documents the request matches; null when it is not said. */
  announced: number | null
  /** The ids of the packages, as they are. */
  packages: string[]
}

/** The authority's tokens say 600 seconds themselves, and are refused after 300. */
const TOKEN_LIFE = 300_000

/** Reads the answer to a login. Throws Unanswered; a refused certificate is the fault InvalidSecurity. */
export function readToken(text: string): Token {
  const envelope = envelopeOf(text)
  const token = find(envelope, 'Body', 'AutenticaResponse', 'AutenticaResult')?.text
  // It goes into a header as it is.
  if (!token || !/^[!#-~]+$/.test(token)) throw unexpected()
  const times = find(envelope, 'Header', 'Security', 'Timestamp')
  const [created, expires] = ['Created', 'Expires'].map((name) => Date.parse((times && find(times, name)?.text) ?? ''))
  const stated = expires! - created!
  return { token, life: stated > 0 && stated < TOKEN_LIFE ? stated : TOKEN_LIFE }
}

/** Reads the answer to a request for documents. Throws Unanswered. */
export function readRequested(text: string): Requested {
  const result = resultOf(text)
  const { code, message } = statusOf(result)
  const meaning = meaningOf(code, message)
  const request = result.attributes.get('IdSolicitud')?.trim().toLowerCase() || null
  if (meaning === 'accepted' && request === null) throw unexpected()
  return { meaning, code, message, request }
}

/** Reads the answer to a verification. Throws Unanswered. */
export function readVerified(text: string): Verified {
  const result = resultOf(text)
  const { code, message } = statusOf(result)
  const [state, stateCode, announced] = ['EstadoSolicitud', 'CodigoEstadoSolicitud', 'NumeroCFDIs'].map(
    (name) => result.attributes.get(name)?.trim() ?? '',
  ) as [string, string, string]
  // A package that is listed twice is one: the authority delivers it only twice.
  const packages = [...new Set(result.children.filter(({ name, text }) => name === 'IdsPaquetes' && text !== '').map(({ text }) => text))]
  const meaning = meaningOfState(code, message, state, stateCode)
  return {
    // What is finished without a package, and says that nothing matches, need not say how many documents that are.
    meaning: meaning === 'finished' && stateCode === '5004' && packages.length === 0 ? 'nothing' : meaning,
    ...{ code, message, state, stateCode, packages },
    announced: /^\d{1,9}$/.test(announced) ? Number(announced) : null,
  }
}

/** In characters: what is kept of a code and of a message. */
const [MOST_CODE, MOST_MESSAGE] = [16, 500]

/** CodEstatus and Mensaje. Throws Unanswered without a code. */
export function statusOf({ attributes }: XmlNode): { code: string; message: string } {
  const code = attributes.get('CodEstatus')?.trim()
  if (!code) throw unexpected()
  return { code: code.slice(0, MOST_CODE), message: (attributes.get('Mensaje')?.trim() ?? '').slice(0, MOST_MESSAGE) }
}

/** The element `…Result` in `…Response` in the body. */
function resultOf(text: string): XmlNode {
  const response = find(envelopeOf(text), 'Body')?.children.find(({ name }) => name.endsWith('Response'))
  const result = response?.children.find(({ name }) => name.endsWith('Result'))
  if (!result) throw unexpected()
  return result
}
