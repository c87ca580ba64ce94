import { XmlReader } from '../../platform/xml-reader.ts'

/** The meanings of the bulk download's answers for the next step, in words, and the codes that have each. */
export const MEANINGS_OF_ANSWERS = {
  accepted: ['The tax authority accepted the request.', '5000'],
  /** States 1 and 2: the request is not done yet. */
  waiting: ['The tax authority is not done with the request yet.'],
  /** State 3: its packages can be downloaded. */
  finished: ['The packages are ready.'],
  nothing: ['The tax authority has no documents for the request.', '5004'],
  token_refused: ['The session with the tax authority has ended. The service opens another one.', '300'],
  /** 301, by its message: the request is not right, asks for XML of cancelled received documents, reaches back too far, or names no receiver. */
  request_malformed: ['The tax authority finds a fault in the request. The operator of the service has to look at it.'],
  cancelled_refused: ['The tax authority delivers no XML of cancelled received documents.'],
  too_old: ['The request goes back further than the documents that the tax authority delivers.'],
  receiver_missing: ['The tax authority finds a fault in the request. The operator of the service has to look at it.'],
  signature_refused: [
    'The tax authority refuses the signature of the request. The operator of the service has to look at it.',
    '302',
    '303',
  ],
  certificate_refused: ['The tax authority refuses the e.firma: its certificate is revoked, has expired, or is no e.firma.', '304', '305'],
  /** And state 4. */
  failed: ['The tax authority failed. It is asked again later.', '404', '5006'],
  not_authorized: ['The tax authority does not let this taxpayer ask for the documents.', '5001'],
  /** A request with exactly these parameters is never accepted again. */
  parameters_used_up: ['The tax authority does not accept exactly this period again. The service asks for another one.', '5002'],
  too_many: ['The request matches more documents than one request may. The service divides its period.', '5003'],
  /** An equal request is not done yet. */
  duplicate: ['The tax authority is still busy with an equal request.', '5005'],
  /** State 6, and 5004 for a request that the authority does not know. */
  request_gone: ['The tax authority has deleted the request. The service asks anew.'],
  /** And 5004 for a package. */
  package_gone: ['The tax authority has deleted the package. The service asks anew.', '5007'],
  /** The package was downloaded twice. */
  package_used_up: ['The tax authority does not deliver the package again. The service asks anew.', '5008'],
  daily_limit: ['The tax authority delivers no more single documents today.', '5011'],
  document_cancelled: ['The document is cancelled, and the tax authority does not deliver it.', '5012'],
  /** Any other code or state. */
  unknown: ['The tax authority gave an answer that the service does not know. It is asked again later.'],
} as const
export type Meaning = keyof typeof MEANINGS_OF_ANSWERS

/** The meaning of a code, and of the message where the code is ambiguous. */
export function meaningOf(code: string, message: string): Meaning {
  if (code === '301') return meaningOf301(folded(message))
  const [meaning] = Object.entries(MEANINGS_OF_ANSWERS).find(([, [, ...codes]]) => (codes as string[]).includes(code)) ?? ['unknown']
  return meaning as Meaning
}

function meaningOf301(message: string): Meaning {
  if (message.includes('cancelad')) return 'cancelled_refused'
  if (message.includes('antiguedad')) return 'too_old'
  if (message.includes('rfcreceptor')) return 'receiver_missing'
  return 'request_malformed'
}

/** A package that the authority does not find is gone; its requests have no package without documents. */
export const meaningForPackage = (code: string, message: string): Meaning => (code === '5004' ? 'package_gone' : meaningOf(code, message))

/** The meaning of a verification: of its own code or, if that is 5000, of the state of the request, and of a rejection's code. */
function meaningOfState(code: string, message: string, state: string, stateCode: string): Meaning {
  if (code === '5004' && (state === '0' || state === '')) return 'request_gone'
  if (code !== '5000') return meaningOf(code, message)
  switch (state) {
    case '1':
    case '2':
      return 'waiting'
    case '3':
      return 'finished'
    case '4':
      return 'failed'
    case '5':
      return stateCode === '5000' ? 'unknown' : meaningOf(stateCode, message)
    case '6':
      return 'request_gone'
    default:
      return 'unknown'
  }
}

/** In lower case and without accents. The authority's texts are not always spelled alike. */
export const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .trim()

export const meaningInWords = (meaning: Meaning): string => MEANINGS_OF_ANSWERS[meaning][0]

/**
 * Why a request has no answer: a page instead of SOAP, a SOAP fault, any other HTTP error, an answer that ends too early, is malformed, or
 * is larger than a package may be, no answer in time, or no connection.
 */
export type UnansweredKind = 'html' | 'fault' | 'http_error' | 'truncated' | 'malformed' | 'too_large' | 'timed_out' | 'unreachable'

/** Why a request has no answer, in words. */
const UNANSWERED_IN_WORDS: Readonly<Record<Exclude<UnansweredKind, 'http_error'>, string>> = {
  html: 'The tax authority answered with a page. It is asked again later.',
  fault: 'The tax authority answered with a fault. It is asked again later.',
  truncated: 'The answer of the tax authority ended too early. It is asked again later.',
  malformed: 'The response of the tax authority is not a valid answer. The service asks again later.',
  too_large: 'The tax authority sent a package that is too large. The service asks for each half of the period.',
  timed_out: 'The tax authority did not answer in time. It is asked again later.',
  unreachable: 'The tax authority could not be reached. It is asked again later.',
}

/** The beginning of the code of an answer with an HTTP error. */
const HTTP = 'http_'

/** A code of `Unanswered`, in words; undefined for any other code. */
export function unansweredInWords(code: string): string | undefined {
  const [, status] = new RegExp(`^${HTTP}(\\d{3})$`).exec(code) ?? []
  if (status !== undefined) return `The tax authority answered with the HTTP status ${status}. It is asked again later.`
  return UNANSWERED_IN_WORDS[code as keyof typeof UNANSWERED_IN_WORDS]
}

/** The authority did not answer a request. Whether it carried it out is not known. */
export class Unanswered extends Error {
  readonly kind: UnansweredKind
  /** Of a fault: its code without prefix, such as InvalidSecurity or ActionNotSupported. */
  readonly fault: string | null
  /** The status of HTTP; null before it is known. */
  status: number | null = null
  /** Whether it was the login, so that the request behind it was not sent. */
  isOfLogin = false

  constructor(kind: UnansweredKind, message: string, fault: string | null = null) {
    super(message)
    this.kind = kind
    this.fault = fault
  }

  /** Its code as kept in the place of the authority's: the kind, or `http_503`. */
  get code(): string {
    return this.kind === 'http_error' ? `${HTTP}${this.status}` : this.kind
  }
}

/** The answer has the right form, but lacks a part. */
export const unexpected = (): Unanswered => new Unanswered('malformed', 'The answer of the tax authority lacks a required part.')

/** An element of an answer. Names are without prefixes: the answers use few names, and their prefixes and namespaces vary. */
export interface XmlNode {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlNode[]
  /** Its own text, without white space around it. */
  readonly text: string
}

interface OpenXmlNode extends XmlNode {
  text: string
  readonly children: OpenXmlNode[]
}

const MAX_ELEMENTS = 10_000
const MAX_DEPTH = 32

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/**
 * Reads the envelope of an answer. Throws Unanswered: `fault` when the body has one, `html` for a page, `truncated` for an envelope that ends
 * too early and for nothing at all, and otherwise `malformed`.
 */
export function envelopeOf(text: string): XmlNode {
  const root = rootOf(text)
  if (root?.name !== 'Envelope') throw notSoap(text)
  const fault = find(root, 'Body', 'Fault')
  if (!fault) return root
  const code = localName(find(fault, 'faultcode')?.text ?? '')
  throw new Unanswered('fault', `The tax authority answered with a fault: ${code}. ${find(fault, 'faultstring')?.text ?? ''}`.trim(), code)
}

/** The element under another one at a path of names. */
export const find = (node: XmlNode, ...path: readonly string[]): XmlNode | undefined =>
  path.reduce<XmlNode | undefined>((at, name) => at?.children.find((child) => child.name === name), node)

function rootOf(text: string): XmlNode | null {
  const document: OpenXmlNode = { name: '', attributes: new Map(), children: [], text: '' }
  const open: OpenXmlNode[] = [document]
  let elements = 0
  try {
    new XmlReader(text).read({
      attribute: () => {},
      open: (name, attributes) => {
        if (++elements > MAX_ELEMENTS || open.length > MAX_DEPTH) throw new Error('The answer is too complex.')
        const named = Object.entries(attributes).map(([one, value]) => [localName(one), value] as const)
        const node: OpenXmlNode = { name: localName(name), attributes: new Map(named), children: [], text: '' }
        open.at(-1)!.children.push(node)
        open.push(node)
      },
      close: () => {
        const node = open.pop()!
        node.text = node.text.trim()
      },
      text: (part) => {
        open.at(-1)!.text += part
      },
    })
  } catch {
    return null
  }
  return document.children[0]!
}

function notSoap(text: string): Unanswered {
  const beginning = text.slice(0, 1000).toLowerCase()
  if (beginning.includes('<!doctype html') || beginning.includes('<html'))
    return new Unanswered('html', 'The tax authority answered with a page instead of SOAP.')
  const isCut = beginning.trim() === '' || (beginning.includes('envelope') && !/Envelope\s*>\s*$/.test(text.slice(-100)))
  return isCut
    ? new Unanswered('truncated', 'The answer of the tax authority ends too early.')
    : new Unanswered('malformed', 'The answer of the tax authority is not SOAP.')
}

/** The authority's answer to every request but a login: unknown codes are data too. */
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
    // A finished request without packages that says that nothing matches need not say how many documents match.
    meaning: meaning === 'finished' && stateCode === '5004' && packages.length === 0 ? 'nothing' : meaning,
    ...{ code, message, state, stateCode, packages },
    announced: /^\d{1,9}$/.test(announced) ? Number(announced) : null,
  }
}

/** The most characters that are kept of a code and of a message. */
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

/** The bytes passed on at once: a multiple of three. */
const PIECE = 49_152

/** The meaning of a byte: six bits, or one of these, which are below zero. */
const [OTHER, SPACE, PADDING] = [-1, -2, -3]
const MEANINGS = new Int8Array(256).fill(OTHER!)
for (const [n, letter] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  MEANINGS[letter.charCodeAt(0)] = n
for (const space of ' \t\n\v\f\r') MEANINGS[space.charCodeAt(0)] = SPACE!
MEANINGS['='.charCodeAt(0)] = PADDING!

/** The first and last character of a character reference of XML, and its greatest length between these. */
const [AMPERSAND, SEMICOLON] = [0x26, 0x3b] as const
const MAX_REFERENCE = 8

/**
 * Decodes base64 that comes in parts, as bytes of ASCII with white space anywhere. It also reads character references, as which some
 * writers of XML write the ends of lines, or `=`, `+` and `/`. It makes no texts or new buffers: for a package of hundreds of megabytes,
 * the garbage would fill the memory before it is collected.
 */
export class Base64Decoder {
  readonly #piece = new Uint8Array(PIECE)
  #used = 0
  /** The characters of a group of four that is not whole yet: their bits, how many there are, and how many are padding. */
  #bits = 0
  #count = 0
  #padding = 0
  /** The beginning of a character reference; null outside of one. */
  #reference: string | null = null

  /** Throws Unanswered when characters are missing. */
  end(): void {
    if (this.#count !== 0 || this.#reference !== null) throw notBase64()
  }

  /** Yields the bytes of the next part; each piece is good until the next one. Throws Unanswered when it is not base64. */
  *decode(part: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < part.length; ) {
      at = this.#count === 0 && this.#padding === 0 && this.#reference === null ? this.#decodeGroups(part, at) : at
      if (this.#used === PIECE) yield this.#taken()
      else if (at < part.length) this.#read(part[at++]!)
    }
    if (this.#used > 0) yield this.#taken()
  }

  #taken(): Uint8Array {
    const taken = this.#piece.subarray(0, this.#used)
    this.#used = 0
    return taken
  }

  /** Decodes groups of four as far as nothing else is between their characters, and returns where they end. */
  #decodeGroups(part: Uint8Array, from: number): number {
    const piece = this.#piece
    let [at, used] = [from, this.#used]
    for (; at + 4 <= part.length && used < PIECE; at += 4) {
      const a = MEANINGS[part[at]!]!
      const b = MEANINGS[part[at + 1]!]!
      const c = MEANINGS[part[at + 2]!]!
      const d = MEANINGS[part[at + 3]!]!
      if ((a | b | c | d) < 0) break
      piece[used++] = (a << 2) | (b >> 4)
      piece[used++] = (b << 4) | (c >> 2)
      piece[used++] = (c << 6) | d
    }
    this.#used = used
    return at
  }

  #read(byte: number): void {
    if (this.#reference === null) {
      if (byte === AMPERSAND) this.#reference = ''
      else this.#add(MEANINGS[byte]!)
    } else if (byte === SEMICOLON) {
      const [, hexadecimal, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(this.#reference) ?? []
      this.#reference = null
      this.#add(MEANINGS[hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)] ?? OTHER!)
    } else {
      this.#reference += String.fromCharCode(byte)
      if (this.#reference.length > MAX_REFERENCE) throw notBase64()
    }
  }

  #add(meaning: number): void {
    if (meaning === SPACE) return
    const isPadding = meaning === PADDING
    // Padding ends everything, and takes the place of the last one or two characters of a group.
    if (meaning === OTHER || (isPadding ? this.#count < 2 : this.#padding > 0)) throw notBase64()
    if (isPadding) this.#padding++
    this.#bits = (this.#bits << 6) | (isPadding ? 0 : meaning)
    if (++this.#count < 4) return
    for (let n = 0; n < 3 - this.#padding; n++) this.#piece[this.#used++] = this.#bits >> (16 - 8 * n)
    this.#bits = 0
    this.#count = 0
  }
}

const notBase64 = (): Unanswered => new Unanswered('malformed', 'The package of the tax authority is not base64.')
