import { attributes } from './canonical.ts'
import { DOWNLOAD_NAMESPACE, type Family, LOGIN_NAMESPACE, requestOf, type SatRequest } from './operations.ts'
import { certificateInfo, type EmptyElements, type Signer, signatureOf } from './signature.ts'

/** The requests of the bulk download (Descarga Masiva 1.5). Source: sat.md 1.2 to 1.6. */

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

/** Asks what has become of a request, by its IdSolicitud. */
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
