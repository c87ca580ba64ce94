import type { CfdiStatus, PrintedCfdi } from '../port/status.ts'
import { escapedText } from './canonical.ts'
import { expressionOf } from './expression.ts'
import { folded } from './meanings.ts'
import { type SatRequest, soapRequest } from './operations.ts'
import { envelopeOf, find, type XmlNode } from './soap.ts'
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

/** Stands for what is stated twice, and not alike. It is none of the values. */
const CONTRADICTION = 'contradiction'

const named = (node: XmlNode | undefined, name: string): readonly XmlNode[] => node?.children.filter((child) => child.name === name) ?? []

/** Reads an answer of the status service. Throws Unanswered, which says nothing about the document. */
export function readStatus(text: string): CfdiStatus {
  const body = find(envelopeOf(text), 'Body')
  const results = named(body, 'ConsultaResponse').flatMap((response) => named(response, 'ConsultaResult'))
  if (results.length !== 1) throw unexpected()
  const stated = (name: string): string => {
    const texts = new Set(named(results[0], name).map((one) => folded(one.text)))
    return texts.size > 1 ? CONTRADICTION : ([...texts][0] ?? '')
  }
  return {
    estatus: estatusOf(stated('CodigoEstatus'), stated('Estado')),
    es_cancelable: among(CANCELABLE, stated('EsCancelable')),
    estatus_cancelacion: among(CANCELLATION, stated('EstatusCancelacion')),
  }
}

/** The state counts only beside a code that agrees: one of an expression that is not valid has been seen with `Vigente`. */
function estatusOf(code: string, estado: string): CfdiStatus['estatus'] {
  if (/^s\b/.test(code)) return estado === 'vigente' || estado === 'cancelado' ? estado : 'unknown'
  return /^n\b.*\b602\b/.test(code) && (estado === 'no encontrado' || estado === '') ? 'no_encontrado' : 'unknown'
}

const among = <T>(values: Readonly<Record<string, T>>, text: string): T | null =>
  Object.entries(values).find(([name]) => name === text)?.[1] ?? null
