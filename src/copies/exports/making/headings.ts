import type { Cfdi } from '../../../cfdi/contract.ts'
import { labelOf } from '../../../lists/catalog.ts'
import type { ExportRow } from '../store.ts'
import { COLUMNS_OF } from './columns.ts'
import type { Columns } from './formats/columns.ts'

/** The Spanish headings of columns, by the names of the API. */
export const HEADINGS: Readonly<Record<string, string>> = {
  uuid: 'UUID',
  fiscal_entity_id: 'Identificador del RFC',
  direction: 'Sentido',
  kind: 'Clase',
  version: 'Versión',
  tipo_comprobante: 'Tipo de comprobante',
  serie: 'Serie',
  folio: 'Folio',
  issued_at: 'Fecha de emisión (repetida; en CSV, con su zona horaria)',
  fecha: 'Fecha de emisión',
  certified_at: 'Fecha de timbrado',
  pac_rfc: 'RFC del PAC',
  emisor_rfc: 'RFC emisor',
  emisor_nombre: 'Nombre del emisor',
  emisor_regimen_fiscal: 'Régimen fiscal del emisor',
  receptor_rfc: 'RFC receptor',
  receptor_nombre: 'Nombre del receptor',
  receptor_regimen_fiscal: 'Régimen fiscal del receptor',
  receptor_domicilio_fiscal: 'Domicilio fiscal del receptor (C.P.)',
  'counterparty.rfc': 'RFC de la contraparte',
  'counterparty.nombre': 'Nombre de la contraparte',
  'counterparty.blacklist.source': 'Lista en la que está la contraparte',
  'counterparty.blacklist.situacion': 'Situación en esa lista',
  uso_cfdi: 'Uso del CFDI',
  tipo_relacion: 'Tipo de relación',
  metodo_pago: 'Método de pago',
  forma_pago: 'Forma de pago',
  condiciones_pago: 'Condiciones de pago',
  currency: 'Moneda',
  moneda: 'Moneda (repetida)',
  tipo_cambio: 'Tipo de cambio',
  subtotal: 'Subtotal',
  descuento: 'Descuento',
  total: 'Total',
  total_mxn: 'Total en pesos',
  iva_trasladado: 'IVA trasladado',
  iva_retenido: 'IVA retenido',
  isr_retenido: 'ISR retenido',
  ieps_trasladado: 'IEPS trasladado',
  exportacion: 'Exportación',
  lugar_expedicion: 'Lugar de expedición (C.P.)',
  estatus: 'Estado',
  cancelled_at: 'Fecha de cancelación',
  cancellation_reason: 'Motivo de cancelación',
  folio_sustitucion: 'UUID del CFDI que lo sustituye',
  status_answer: 'Última respuesta del SAT sobre su estado',
  es_cancelable: 'Es cancelable',
  estatus_cancelacion: 'Estado de la cancelación',
  status_checked_at: 'Fecha de la consulta al SAT (UTC)',
  is_substituted: 'Sustituido',
  substituted_not_cancelled: 'Sustitución sin cancelar',
  payment_status: 'Estado de pago',
  paid_amount: 'Pagado',
  credited_amount: 'Notas de crédito aplicadas',
  balance: 'Saldo',
  balance_mxn: 'Saldo en pesos',
  due_date: 'Fecha de vencimiento',
  last_payment_at: 'Fecha del último pago',
  fully_paid_at: 'Fecha de liquidación',
  has_xml: 'Con XML',
  has_pdf: 'Con PDF',
  origin: 'Origen',
  updated_at: 'Última actualización (UTC)',
  concepto: 'Número de concepto',
  clave_prod_serv: 'Clave de producto o servicio',
  no_identificacion: 'Número de identificación',
  cantidad: 'Cantidad',
  clave_unidad: 'Clave de unidad',
  unidad: 'Unidad',
  descripcion: 'Descripción',
  valor_unitario: 'Valor unitario',
  importe: 'Importe',
  objeto_imp: 'Objeto de impuesto',
  iva_tasa: 'Tasa de IVA',
  a_cuenta_terceros_rfc: 'RFC a cuenta de terceros',
  cuenta_predial: 'Cuenta predial',
  pedimentos: 'Pedimentos',
  pago: 'Número de pago',
  fecha_pago: 'Fecha de pago',
  forma_pago_p: 'Forma de pago del pago',
  moneda_p: 'Moneda del pago',
  tipo_cambio_p: 'Tipo de cambio del pago',
  monto: 'Monto del pago',
  num_operacion: 'Número de operación',
  documento: 'Número de documento pagado',
  documento_uuid: 'UUID del documento pagado',
  serie_dr: 'Serie del documento pagado',
  folio_dr: 'Folio del documento pagado',
  moneda_dr: 'Moneda del documento pagado',
  equivalencia_dr: 'Equivalencia',
  metodo_pago_dr: 'Método de pago del documento pagado',
  num_parcialidad: 'Número de parcialidad',
  imp_saldo_ant: 'Saldo anterior',
  imp_pagado: 'Importe pagado',
  imp_saldo_insoluto: 'Saldo insoluto',
  objeto_imp_dr: 'Objeto de impuesto del documento pagado',
}

type Enumerated = 'direction' | 'kind' | 'estatus' | 'status_answer' | 'es_cancelable' | 'estatus_cancelacion' | 'payment_status' | 'origin'
type Situacion = NonNullable<NonNullable<Cfdi['counterparty']['blacklist']>['situacion']>
type Words = { [Name in Enumerated]: Record<NonNullable<Cfdi[Name]>, string> } & {
  'counterparty.blacklist.situacion': Record<Situacion, string>
}

/** The Spanish words for the values of enumerations. Codes of the authority, such as those of FormaPago, are what people know and stay. */
export const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  direction: { issued: 'Emitido', received: 'Recibido' },
  kind: { cfdi: 'CFDI', retenciones: 'Retenciones' },
  estatus: { vigente: 'Vigente', cancelado: 'Cancelado' },
  status_answer: { vigente: 'Vigente', cancelado: 'Cancelado', no_encontrado: 'No encontrado', unknown: 'Desconocida' },
  es_cancelable: {
    cancelable_sin_aceptacion: 'Cancelable sin aceptación',
    cancelable_con_aceptacion: 'Cancelable con aceptación',
    no_cancelable: 'No cancelable',
  },
  estatus_cancelacion: {
    en_proceso: 'En proceso',
    rechazada: 'Solicitud rechazada',
    cancelado_sin_aceptacion: 'Cancelado sin aceptación',
    cancelado_con_aceptacion: 'Cancelado con aceptación',
    plazo_vencido: 'Plazo vencido',
  },
  payment_status: { paid: 'Pagada', partially_paid: 'Pago parcial', unpaid: 'Sin pagar', not_applicable: 'No aplica' },
  origin: { authority: 'SAT', import: 'Importación' },
  'counterparty.blacklist.situacion': {
    presunto: 'Presunto',
    definitivo: 'Definitivo',
    desvirtuado: 'Desvirtuado',
    sentencia_favorable: 'Sentencia favorable',
  },
} satisfies Words

type Kind = keyof typeof COLUMNS_OF

/** A value as Spanish says it. */
function inSpanish(name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 'Sí' : 'No'
  if (typeof value !== 'string') return value
  return name === 'counterparty.blacklist.source' ? labelOf(value, null) : (WORDS[name]?.[value] ?? value)
}

const spanish = (columns: Columns): Columns =>
  columns.map(({ heading, type, value }) => ({
    heading: HEADINGS[heading] ?? heading,
    type,
    value: (row) => inSpanish(heading, value(row)),
  }))

const SPANISH: Readonly<Record<Kind, Columns>> = {
  cfdi: spanish(COLUMNS_OF.cfdi),
  conceptos: spanish(COLUMNS_OF.conceptos),
  pagos: spanish(COLUMNS_OF.pagos),
}
const SHEETS: Readonly<Record<Kind, string>> = { cfdi: 'CFDI', conceptos: 'Conceptos', pagos: 'Pagos' }

/** The columns of a kind of rows, in the same order in both. */
export const columnsFor = (kind: Kind, headings: ExportRow['headings']): Columns => (headings === 'es' ? SPANISH : COLUMNS_OF)[kind]

export const sheetNameOf = (kind: Kind, headings: ExportRow['headings']): string => (headings === 'es' ? SHEETS[kind] : kind)
