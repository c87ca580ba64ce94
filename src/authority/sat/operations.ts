/** What is downloaded: CFDIs, or retenciones, which have hosts and tokens of their own. */
export type Family = 'cfdi' | 'retenciones'

/** A request to a web service of the authority, which is sent by POST. */
export interface SatRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

/** The namespace of the login, and that of the other operations of the bulk download. */
export const LOGIN_NAMESPACE = 'http://DescargaMasivaTerceros.gob.mx'
export const DOWNLOAD_NAMESPACE = 'http://DescargaMasivaTerceros.sat.gob.mx'

const HOSTS: Record<Family, string> = { cfdi: 'cfdidescargamasiva', retenciones: 'retendescargamasiva' }

/** The part of the host's name for requests, the path, and the SOAP action of each operation. Source: sat.md 1.1. */
const OPERATIONS = {
  Autentica: ['solicitud', 'Autenticacion/Autenticacion', `${LOGIN_NAMESPACE}/IAutenticacion`],
  SolicitaDescargaEmitidos: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  SolicitaDescargaRecibidos: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  SolicitaDescargaFolio: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  VerificaSolicitudDescarga: ['solicitud', 'VerificaSolicitudDescargaService', `${DOWNLOAD_NAMESPACE}/IVerificaSolicitudDescargaService`],
  Descargar: ['', 'DescargaMasivaService', `${DOWNLOAD_NAMESPACE}/IDescargaMasivaTercerosService`],
} as const
export type Operation = keyof typeof OPERATIONS

/** The request of an operation. Every operation but the login needs a token, which is sent exactly as the login gave it. */
export function requestOf(family: Family, operation: Operation, body: string, token?: string): SatRequest {
  const [part, path, contract] = OPERATIONS[operation]
  return soapRequest(
    `https://${HOSTS[family]}${part}.clouda.sat.gob.mx/${path}.svc`,
    `${contract}/${operation}`,
    body,
    token === undefined ? {} : { Authorization: `WRAP access_token="${token}"` },
  )
}

export const soapRequest = (url: string, action: string, body: string, headers: Readonly<Record<string, string>> = {}): SatRequest => ({
  url,
  headers: { 'Content-Type': 'text/xml;charset="utf-8"', Accept: 'text/xml', SOAPAction: action, ...headers },
  body,
})
