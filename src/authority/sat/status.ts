import type { CfdiStatus, PrintedCfdi } from '../port/status.ts'
import { escapedText } from './canonical.ts'
import { expressionOf } from './expression.ts'
import { folded } from './meanings.ts'
import { type SatRequest, soapRequest } from './operations.ts'
import { envelopeOf, find } from './soap.ts'
import { unexpected } from './unanswered.ts'

/** The status service, ConsultaCFDI: it needs no login. Source: sat.md 2. */

const SERVICE = 'https://consultaqr.facturaelectronica.sat.gob.mx/ConsultaCFDIService.svc'
const NAMESPACE = 'http://tempuri.org/'

/** Asks for the status of a CFDI. */
export const statusRequest = (document: PrintedCfdi): SatRequest => expressionRequest(expressionOf(document))

export const expressionRequest = (expression: string): SatRequest =>
  soapRequest(
    SERVICE,
    `${NAMESPACE}IConsultaCFDIService/Consulta`,
    '<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>' +
      `<c:Consulta xmlns:c="${NAMESPACE}"><c:expresionImpresa>${escapedText(expression)}</c:expresionImpresa></c:Consulta></s:Body></s:Envelope>`,
  )

const CANCELABLE: Readonly<Record<string, NonNullable<CfdiStatus['es_cancelable']>>> = {
  'cancelable sin aceptacion': 'cancelable_sin_aceptacion',
  'cancelable con aceptacion': 'cancelable_con_aceptacion',
  'no cancelable': 'no_cancelable',
}
const CANCELLATION: Readonly<Record<string, NonNullable<CfdiStatus['estatus_cancelacion']>>> = {
  'en proceso': 'en_proceso',
  'solicitud rechazada': 'rechazada',
  'cancelado sin aceptacion': 'cancelado_sin_aceptacion',
  'cancelado con aceptacion': 'cancelado_con_aceptacion',
  'plazo vencido': 'plazo_vencido',
}

/** Whether the issuer, or somebody on whose behalf it issued, is listed as an EFOS (article 69-B). */
export interface EfosListing {
  issuer: boolean
  third_party: boolean
}

const LISTED: ReadonlyMap<string, EfosListing> = new Map([
  ['100', { issuer: true, third_party: false }],
  ['101', { issuer: true, third_party: true }],
  ['102', { issuer: false, third_party: true }],
  ['103', { issuer: false, third_party: true }],
  ['104', { issuer: true, third_party: true }],
  ['200', { issuer: false, third_party: false }],
  ['201', { issuer: false, third_party: false }],
])

export interface StatusAnswer extends CfdiStatus {
  listed: EfosListing | null
  /** What the answer says, as it says it; empty when it does not. */
  stated: Readonly<Record<(typeof FIELDS)[number], string>>
}

const FIELDS = ['CodigoEstatus', 'EsCancelable', 'Estado', 'EstatusCancelacion', 'ValidacionEFOS'] as const

/** Reads an answer of the status service. Throws Unanswered, which says nothing about the document. */
export function readStatus(text: string): StatusAnswer {
  const result = find(envelopeOf(text), 'Body', 'ConsultaResponse', 'ConsultaResult')
  if (!result) throw unexpected()
  const stated = Object.fromEntries(FIELDS.map((name) => [name, find(result, name)?.text ?? ''])) as StatusAnswer['stated']
  return {
    estatus: estatusOf(folded(stated.CodigoEstatus), folded(stated.Estado)),
    es_cancelable: among(CANCELABLE, stated.EsCancelable),
    estatus_cancelacion: among(CANCELLATION, stated.EstatusCancelacion),
    listed: LISTED.get(stated.ValidacionEFOS) ?? null,
    stated,
  }
}

/** The state counts only beside a code that agrees: one of an expression that is not valid has been seen with `Vigente`. */
function estatusOf(code: string, estado: string): StatusAnswer['estatus'] {
  if (/^s\b/.test(code)) return estado === 'vigente' || estado === 'cancelado' ? estado : 'unknown'
  return /^n\b.*\b602\b/.test(code) && (estado === 'no encontrado' || estado === '') ? 'no_encontrado' : 'unknown'
}

const among = <T>(values: Readonly<Record<string, T>>, text: string): T | null =>
  Object.entries(values).find(([stated]) => stated === folded(text))?.[1] ?? null
