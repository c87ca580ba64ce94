import { type Efirma, sign, signingKey } from '../efirma/efirma.ts'
import {
  Base64Decoder,
  envelopeOf,
  find,
  meaningForPackage,
  type Requested,
  readRequested,
  readToken,
  readVerified,
  type SatAnswer,
  statusOf,
  Unanswered,
  unexpected,
  type Verified,
} from './answers.ts'
import {
  DOWNLOAD_NAMESPACE,
  exchange,
  type Family,
  LOGIN_NAMESPACE,
  PACKAGE_SLOW_LIMIT,
  requestOf,
  type SatRequest,
  type Send,
  type SlowResponseLimit,
  textOf,
} from './exchange.ts'

/** XML as Canonical XML writes it (https://www.w3.org/TR/xml-c14n), so that what is signed and what is sent are the same text. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}

export const escapedText = (text: string): string => text.replace(/[&<>\r]/g, (one) => ESCAPES[one]!)
const escapedValue = (text: string): string => text.replace(/[&<"\t\n\r]/g, (one) => ESCAPES[one]!)

/** Attributes in the order of their names, each after a space, without those that have no value. */
const attributes = (all: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(all)
    .filter(([, value]) => value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => ` ${name}="${escapedValue(value!)}"`)
    .join('')

/** An e.firma that is ready to sign requests. */
export interface Signer {
  rfc: string
  /** The certificate, in base64 of DER. */
  certificate: string
  issuer: string
  serial: string
  /** RSASSA-PKCS1-v1_5 with SHA-1, in base64. */
  sign(text: string): Promise<string>
}

const utf8 = new TextEncoder()

export async function signerOf({ rfc, certificate, pkcs8 }: Efirma): Promise<Signer> {
  const key = await signingKey(pkcs8)
  return {
    rfc,
    certificate: certificate.der.toBase64(),
    issuer: certificate.issuer,
    serial: certificate.serial,
    sign: async (text) => (await sign(key, utf8.encode(text))).toBase64(),
  }
}

const XMLDSIG = 'http://www.w3.org/2000/09/xmldsig#'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/**
 * How empty elements of SignedInfo are sent. It does not matter for the signature, but the examples of the operations differ, and some
 * answers 301 were blamed on it.
 */
type EmptyElements = 'closed' | 'short'

/**
 * Signs the canonical text of an element and returns the element Signature, by XML Signature (https://www.w3.org/TR/xmldsig-core1) with
 * exclusive canonicalization. `uri` refers to the element; `keyInfo` is the content of KeyInfo.
 */
async function signatureOf(signer: Signer, canonical: string, uri: string, keyInfo: string, empty: EmptyElements): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', utf8.encode(canonical))).toBase64()
  const content = signedInfo(uri, digest)
  const value = await signer.sign(`<SignedInfo xmlns="${XMLDSIG}">${content}</SignedInfo>`)
  const sent =
    empty === 'closed' ? content : content.replace(/><\/(?:CanonicalizationMethod|SignatureMethod|Transform|DigestMethod)>/g, '/>')
  return (
    `<Signature xmlns="${XMLDSIG}"><SignedInfo>${sent}</SignedInfo><SignatureValue>${value}</SignatureValue>` +
    `<KeyInfo>${keyInfo}</KeyInfo></Signature>`
  )
}

const signedInfo = (uri: string, digest: string): string =>
  `<CanonicalizationMethod Algorithm="${EXCLUSIVE}"></CanonicalizationMethod>` +
  `<SignatureMethod Algorithm="${XMLDSIG}rsa-sha1"></SignatureMethod>` +
  `<Reference URI="${uri}"><Transforms><Transform Algorithm="${EXCLUSIVE}"></Transform></Transforms>` +
  `<DigestMethod Algorithm="${XMLDSIG}sha1"></DigestMethod><DigestValue>${digest}</DigestValue></Reference>`

/** The content of KeyInfo that names and contains the certificate. */
const certificateInfo = ({ issuer, serial, certificate }: Signer): string =>
  `<X509Data><X509IssuerSerial><X509IssuerName>${escapedText(issuer)}</X509IssuerName><X509SerialNumber>${serial}</X509SerialNumber>` +
  `</X509IssuerSerial><X509Certificate>${certificate}</X509Certificate></X509Data>`

/** The requests of the bulk download (Descarga Masiva 1.5). */

const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/'
const OASIS = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss'
const UTILITY = `${OASIS}-wssecurity-utility-1.0.xsd`
const SECURITY = `${OASIS}-wssecurity-secext-1.0.xsd`
const X509 = `${OASIS}-x509-token-profile-1.0#X509v3`
const BASE64 = `${OASIS}-soap-message-security-1.0#Base64Binary`
const DECLARATION = '<?xml version="1.0"?>'

const LOGIN_SECONDS = 300

/** Asks for a token, from an instant on. `uuid` is a random one. */
export async function loginRequest(signer: Signer, family: Family, now: Date, uuid: string): Promise<SatRequest> {
  const seconds = Math.floor(now.getTime() / 1000)
  const [created, expires] = [seconds, seconds + LOGIN_SECONDS].map((at) => new Date(at * 1000).toISOString())
  const times = `<u:Created>${created}</u:Created><u:Expires>${expires}</u:Expires></u:Timestamp>`
  const token = `uuid-${uuid}-1`
  const reference = `<o:SecurityTokenReference><o:Reference URI="#${token}" ValueType="${X509}"/></o:SecurityTokenReference>`
  const signature = await signatureOf(signer, `<u:Timestamp xmlns:u="${UTILITY}" u:Id="_0">${times}`, '#_0', reference, 'short')
  const body =
    `${DECLARATION}<s:Envelope xmlns:s="${SOAP}" xmlns:u="${UTILITY}"><s:Header><o:Security xmlns:o="${SECURITY}" s:mustUnderstand="1">` +
    `<u:Timestamp u:Id="_0">${times}<o:BinarySecurityToken u:Id="${token}" ValueType="${X509}" EncodingType="${BASE64}">` +
    `${signer.certificate}</o:BinarySecurityToken>${signature}</o:Security></s:Header>` +
    `<s:Body><Autentica xmlns="${LOGIN_NAMESPACE}"/></s:Body></s:Envelope>`
  return requestOf(family, 'Autentica', body)
}

/** Who asks, of what family, with the token of a login. */
export interface LoggedIn {
  signer: Signer
  family: Family
  token: string
}

/** Which documents a request is for. Names and values are those of the authority. */
export interface Solicitud {
  TipoSolicitud: 'CFDI' | 'Metadata'
  /** From one literal `Fecha` to another later one, `YYYY-MM-DDTHH:mm:ss`. */
  FechaInicial: string
  FechaFinal: string
  /** The authority refuses XML of received documents unless it is `Vigente`. */
  EstadoComprobante: 'Todos' | 'Vigente' | 'Cancelado'
  TipoComprobante?: string
  Complemento?: string
  RfcACuentaTerceros?: string
}

/** Asks for the documents that the RFC issued. */
export const issuedRequest = (caller: LoggedIn, query: Solicitud): Promise<SatRequest> =>
  signedRequest(caller, 'SolicitaDescargaEmitidos', 'solicitud', { ...query, RfcEmisor: caller.signer.rfc }, 'closed')

/** Asks for the documents that the RFC received, of one issuer or of all. */
export const receivedRequest = (caller: LoggedIn, query: Solicitud & { RfcEmisor?: string }): Promise<SatRequest> =>
  signedRequest(caller, 'SolicitaDescargaRecibidos', 'solicitud', { ...query, RfcReceptor: caller.signer.rfc }, 'closed')

/** Asks for one document. */
export const folioRequest = (caller: LoggedIn, uuid: string): Promise<SatRequest> =>
  signedRequest(caller, 'SolicitaDescargaFolio', 'solicitud', { Folio: uuid }, 'closed')

/** Asks for the state of a request, by its IdSolicitud. */
export const verificationRequest = (caller: LoggedIn, request: string): Promise<SatRequest> =>
  signedRequest(caller, 'VerificaSolicitudDescarga', 'solicitud', { IdSolicitud: request }, 'short')

/** Asks for a package, by its IdPaquete. */
export const packageRequest = (caller: LoggedIn, id: string): Promise<SatRequest> =>
  signedRequest(caller, 'Descargar', 'peticionDescarga', { IdPaquete: id }, 'short')

async function signedRequest(
  { signer, family, token }: LoggedIn,
  operation: Exclude<Parameters<typeof requestOf>[1], 'Autentica'>,
  element: string,
  parameters: Readonly<Record<string, string | undefined>>,
  empty: EmptyElements,
): Promise<SatRequest> {
  const outer = operation === 'Descargar' ? 'PeticionDescargaMasivaTercerosEntrada' : operation
  const asked = `<des:${element}${attributes({ ...parameters, RfcSolicitante: signer.rfc })}>`
  const canonical = `<des:${outer} xmlns:des="${DOWNLOAD_NAMESPACE}">${asked}</des:${element}></des:${outer}>`
  const signature = await signatureOf(signer, canonical, '', certificateInfo(signer), empty)
  const body =
    `${DECLARATION}<s:Envelope xmlns:s="${SOAP}" xmlns:des="${DOWNLOAD_NAMESPACE}" xmlns:xd="http://www.w3.org/2000/09/xmldsig#">` +
    `<s:Header/><s:Body><des:${outer}>${asked}${signature}</des:${element}></des:${outer}></s:Body></s:Envelope>`
  return requestOf(family, operation, body, token)
}

/** A comment, which may not have ended, or the opening tag of the element that contains the package; without a package it is empty. */
const OPENING = /<!--(?:[\s\S]*?-->|[\s\S]*$)|(<(?:[\w.-]+:)?Paquete(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*)?>)/g
/** A package may be wrapped in this. */
const CDATA = '<![CDATA['
/** The end of a package: the next tag, or the end of the wrapper. */
const [LESS_THAN, BRACKET] = [0x3c, 0x5d] as const
/** The most characters around a package. */
const MAX_AROUND = 65_536
/** In bytes: the largest answer, with a package of about 1.1 GB. Nothing else would stop an endless one. */
const MAX_ANSWER = 1_500_000_000

/**
 * Reads the answer to a request for a package as it comes. It gives the package to `write`, part after part, and waits for each: it never
 * holds more than one part, and a part is good until the next one. Throws Unanswered, also after bytes were written: they are the whole
 * package only when it returns. `most` is the limit of the answer in bytes.
 */
export async function readPackage(
  body: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
  most = MAX_ANSWER,
): Promise<SatAnswer> {
  const utf8 = new TextDecoder()
  const base64 = new Base64Decoder()
  let position: 'before' | 'inside' | 'after' = 'before'
  let around = ''
  let isEmpty = true
  let isOpened = false
  let isWrapped = false
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > most) throw new Unanswered('too_large', 'The tax authority sent more than a package may have.')
    let rest = chunk
    if (position === 'before') {
      const text = utf8.decode(rest, { stream: true })
      const opening = isOpened || text.includes('>') ? openingIn(around + text) : null
      around += text
      if (opening) {
        isOpened = true
        const begin = opening.index + opening[0].length
        const next = around.slice(begin).trimStart()
        isWrapped = next.startsWith(CDATA)
        // It may be the wrapper: more has to come to decide.
        if (next.length < CDATA.length && CDATA.startsWith(next)) continue
        const end = isWrapped ? around.indexOf(CDATA, begin) + CDATA.length : begin
        rest = new TextEncoder().encode(around.slice(end) + utf8.decode())
        around = around.slice(0, end)
        position = opening[0].endsWith('/>') ? 'after' : 'inside'
      }
    }
    if (position === 'inside') {
      const end = rest.indexOf(isWrapped ? BRACKET : LESS_THAN)
      for (const bytes of base64.decode(end < 0 ? rest : rest.subarray(0, end))) {
        isEmpty = false
        await write(bytes)
      }
      if (end < 0) continue
      base64.end()
      rest = rest.subarray(end)
      position = 'after'
    }
    if (position === 'after') around += utf8.decode(rest, { stream: true })
    if (around.length > MAX_AROUND) break
  }
  return answerOf(around, isEmpty)
}

const openingIn = (text: string): RegExpExecArray | undefined => text.matchAll(OPENING).find(([, tag]) => tag !== undefined)

/** The text around the package has to be right, too: an answer that breaks off is no envelope. */
function answerOf(around: string, isEmpty: boolean): SatAnswer {
  const envelope = envelopeOf(around)
  const status = find(envelope, 'Header', 'respuesta')
  const [element, another] = find(envelope, 'Body', 'RespuestaDescargaMasivaTercerosSalida')?.children ?? []
  if (!status || element?.name !== 'Paquete' || element.text !== '' || element.children.length > 0 || another) throw unexpected()
  const { code, message } = statusOf(status)
  const meaning = meaningForPackage(code, message)
  if (isEmpty === (meaning === 'accepted')) throw unexpected()
  return { meaning, code, message }
}

/** Spaces the requests of an RFC. */
export interface RateLimiter {
  /** Waits until the next request is permitted, and has reserved that instant when it returns. */
  turn(): Promise<void>
  /** Called when the request of the last turn is answered, or never will be: until then it may still reach the authority. */
  answered?(): void
}

/**
 * The requests of an e.firma to the bulk download. It logs in where it needs to, and every request, a login too, waits for its turn. Its
 * methods throw CertificateRefused, and Unanswered, which leaves unknown whether the authority carried out the request.
 */
export interface SatSession {
  /** Logs in, also with a token that is still valid. */
  login(family: Family): Promise<void>
  /**
   * Asks for the documents that the RFC issued, or for those that it received. It is sent only once, even if its token is refused: the
   * authority may count the period as used by then.
   */
  request(family: Family, source: 'sat_cfdi_issued' | 'sat_cfdi_received', query: Solicitud): Promise<Requested>
  /** Asks for the state of a request, by its IdSolicitud. */
  verification(family: Family, requestId: string): Promise<Verified>
  /**
   * Asks for a package, by its IdPaquete, and gives its bytes to `write`, part after part. They are the whole package only when this
   * returns with the meaning `accepted`; for any other answer `write` gets nothing.
   */
  packageInto(family: Family, packageId: string, write: (bytes: Uint8Array) => Promise<void>): Promise<SatAnswer>
}

/** The authority refuses a certificate: it is revoked, has expired, or is no e.firma. */
export class CertificateRefused extends Error {
  /** 304 or 305, or the fault InvalidSecurity, which a login has instead. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The longest that an answer may take, to its last byte, and how slow it may be. */
type Limits = readonly [milliseconds: number, slowLimit?: SlowResponseLimit]
/** A package may have several hundred megabytes. */
const LIMITS = {
  login: [20_000],
  request: [60_000],
  verification: [60_000],
  package: [600_000, PACKAGE_SLOW_LIMIT],
} as const satisfies Record<string, Limits>

/** Tokens are renewed so many milliseconds before they end, those of a short life after four fifths of it. */
const MARGIN_MS = 60_000

interface KeptToken {
  token: string
  until: number
}

/** The tokens of this isolate, by certificate and family. */
const tokens = new Map<string, KeptToken>()

const keyOf = ({ rfc, certificate }: Signer, family: Family): string => `${rfc} ${family} ${certificate}`

function keep(key: string, token: string, life: number, from: number): void {
  for (const [other, { until }] of tokens) if (until <= from) tokens.delete(other)
  tokens.set(key, { token, until: from + life - Math.min(MARGIN_MS, life / 5) })
}

function kept(key: string): string | null {
  const known = tokens.get(key)
  return known && Date.now() < known.until ? known.token : null
}

type Exchanged = <T>(request: SatRequest, limits: Limits, read: (body: AsyncIterable<Uint8Array>) => Promise<T>) => Promise<T>

/** Returns the session of an e.firma. Its tokens are kept in the isolate, also for the next session of the same certificate. */
export function satSession(send: Send, efirma: Efirma, rateLimiter: RateLimiter): SatSession {
  let opening: Promise<Signer> | null = null
  const opened = (): Promise<Signer> => {
    opening ??= signerOf(efirma)
    return opening
  }

  const exchanged: Exchanged = (request, [milliseconds, slowLimit], read) =>
    exchange(send, request, milliseconds, read, slowLimit).finally(() => rateLimiter.answered?.())

  async function logIn(family: Family): Promise<string> {
    const signer = await opened()
    tokens.delete(keyOf(signer, family))
    await rateLimiter.turn()
    const from = Date.now()
    const request = await loginRequest(signer, family, new Date(from), crypto.randomUUID())
    try {
      const { token, life } = await exchanged(request, LIMITS.login, async (body) => readToken(await textOf(body)))
      keep(keyOf(signer, family), token, life, from)
      return token
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      if (error.fault === 'InvalidSecurity') throw new CertificateRefused(error.fault, error.message)
      error.isOfLogin = true
      throw error
    }
  }

  /**
   * Sends a request with a token. When the authority refuses the token, it is renewed once and the request sent again, unless it may be
   * sent only once.
   */
  async function ask<T extends SatAnswer>(
    family: Family,
    limits: Limits,
    sign: (caller: LoggedIn) => Promise<SatRequest>,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    isOnce = false,
  ): Promise<T> {
    const signer = await opened()
    const key = keyOf(signer, family)
    const askWith = async (token: string): Promise<T> => {
      const request = await sign({ signer, family, token })
      await rateLimiter.turn()
      return exchanged(request, limits, read)
    }
    let answer = await askWith(kept(key) ?? (await logIn(family)))
    if (answer.meaning === 'token_refused' && !isOnce) answer = await askWith(await logIn(family))
    if (answer.meaning === 'token_refused' || answer.meaning === 'certificate_refused') tokens.delete(key)
    if (answer.meaning === 'certificate_refused') throw new CertificateRefused(answer.code, answer.message)
    return answer
  }

  return {
    login: async (family) => void (await logIn(family)),
    request: (family, source, query) =>
      ask(
        family,
        LIMITS.request,
        (caller) => (source === 'sat_cfdi_issued' ? issuedRequest : receivedRequest)(caller, query),
        async (body) => readRequested(await textOf(body)),
        true,
      ),
    verification: (family, requestId) =>
      ask(
        family,
        LIMITS.verification,
        (caller) => verificationRequest(caller, requestId),
        async (body) => readVerified(await textOf(body)),
      ),
    packageInto: (family, packageId, write) =>
      ask(
        family,
        LIMITS.package,
        (caller) => packageRequest(caller, packageId),
        (body) => readPackage(body, write),
      ),
  }
}
