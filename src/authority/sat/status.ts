import { expressionOf } from '../port/expression.ts'
import { type CfdiStatus, ES_CANCELABLE, ESTATUS_CANCELACION, type PrintedCfdi, VALIDACION_EFOS } from '../port/status.ts'
import { envelopeOf, find, folded, unexpected, type XmlNode } from './answers.ts'
import { type SatRequest, soapRequest } from './exchange.ts'
import { escapedText } from './session.ts'

/** The status service, ConsultaCFDI: it needs no login. */

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

/** Stands for contradictory statements. It is none of the values. */
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
    es_cancelable: among(ES_CANCELABLE, stated('EsCancelable')),
    estatus_cancelacion: among(ESTATUS_CANCELACION, stated('EstatusCancelacion').replace(/^solicitud (?=rechazada$)/, '')),
    validacion_efos: among(VALIDACION_EFOS, stated('ValidacionEFOS')),
  }
}

/** The state counts only beside a code that agrees: one of an expression that is not valid has been seen with `Vigente`. */
function estatusOf(code: string, estado: string): CfdiStatus['estatus'] {
  if (/^s\b/.test(code)) return estado === 'vigente' || estado === 'cancelado' ? estado : 'unknown'
  return /^n\b.*\b602\b/.test(code) && (estado === 'no encontrado' || estado === '') ? 'no_encontrado' : 'unknown'
}

/** The value that the authority writes so, with spaces in the place of underscores. */
const among = <T extends string>(values: readonly T[], text: string): T | null =>
  values.find((value) => value.replaceAll('_', ' ') === text) ?? null
