import { EMPTY_HEADER, type Header, isIn } from '../columns.ts'
import { namesOf, nulls, picker } from '../pick.ts'

const text = null as string | null

// In the objects below, the spread stands first and the literal follows: the runtime builds such objects fastest.

/** A document before anything has been read. Required text fields are empty strings. */
export const newDocument = (kind: Header['kind'], version: string) => ({
  ...EMPTY_HEADER,
  kind,
  version,
  /** UUID of the first TimbreFiscalDigital directly under a top-level Complemento; null when the document is not stamped. */
  uuid: text,
  fecha: '',
  /** The offset from UTC in minutes that Fecha states itself, as 3.2 and retenciones 1.0 may. */
  utc_offset: null as number | null,
  emisor_rfc: '',
  receptor_rfc: '',
  // The members from here on have no columns in `cfdi`: they are the detail of the document.
  receptor_residencia_fiscal: text,
  receptor_num_reg_id_trib: text,
  no_certificado: text,
  /** The last eight characters of Sello, which the status service asks for. */
  sello_ultimos_8: text,
  informacion_global: null as { periodicidad: string | null; meses: string | null; anio: string | null } | null,
  impuestos: { total_trasladados: text, total_retenidos: text, traslados: [] as Tax[], retenciones: [] as Tax[] },
  /** Of the complement implocal. */
  impuestos_locales: null as { traslados: LocalTax[]; retenciones: LocalTax[] } | null,
  relacionados: [] as { tipo_relacion: string; uuid: string }[],
  conceptos: [] as Concepto[],
  pagos: [] as Pago[],
  nominas: [] as Nomina[],
  retencion: null as Retencion | null,
  /** `LocalName:version` of each child of every top-level Complemento, sorted, each once. */
  complementos: [] as string[],
  has_addenda: false,
  /** How the text was repaired before it could be read, and what is odd about it. `bom`: it had more than one byte order mark. */
  repairs: [] as Repair[],
})

/**
 * What the XML of a CFDI says, before any rule of the service is applied. Text is trimmed; its inner white space is collapsed as the schema
 * asks, and that of a line stays. Amounts are the document's decimal text; UUIDs and RFCs are in upper case.
 * What the document does not say is null or an empty list. Source: insights.md 7, sat.md 3.
 */
export type CfdiDocument = ReturnType<typeof newDocument>

/** The members of a document that have no column in `cfdi`. */
export type DocumentDetail = Omit<CfdiDocument, keyof Header | 'uuid' | 'utc_offset'>
export const DETAIL = namesOf(newDocument('cfdi', '')).filter(
  (name) => !isIn([...namesOf(EMPTY_HEADER), 'uuid', 'utc_offset'], name),
) as (keyof DocumentDetail)[]

/** Copies the detail out of a document. */
export const detailOf = picker(DETAIL, DETAIL)

/** The members of a line that are attributes of Concepto. */
export const LINE_HEADER = [
  ...(['clave_prod_serv', 'no_identificacion', 'cantidad', 'clave_unidad', 'unidad', 'descripcion', 'valor_unitario'] as const),
  ...(['importe', 'descuento', 'objeto_imp'] as const),
]
const EMPTY_LINE: Record<(typeof LINE_HEADER)[number], string | null> = nulls(LINE_HEADER)

/** A line before anything has been read. */
export const newConcepto = () => ({
  ...EMPTY_LINE,
  impuestos: { traslados: [] as Tax[], retenciones: [] as Tax[] },
  /** RFC of the third party on whose behalf the line is invoiced (4.0). */
  a_cuenta_terceros_rfc: text,
  cuenta_predial: [] as string[],
  pedimentos: [] as string[],
  /** Of the complement iedu: whose tuition the line is. */
  iedu: null as Iedu | null,
})
export type Concepto = ReturnType<typeof newConcepto>

/** The relations of a document, separated by commas, with one more, unless it has that or it is no code of two digits. */
export const withRelation = (known: string | null, relation: string): string | null =>
  !/^\d{2}$/.test(relation) || known?.includes(relation) ? known : known === null ? relation : `${known},${relation}`

export const REPAIRS = [
  ...(['bom', 'encoding_fallback', 'trimmed_junk', 'control_characters', 'addenda_cut'] as const),
  ...(['several_timbres', 'negative_total', 'unknown_version'] as const),
]
export type Repair = (typeof REPAIRS)[number]

export interface Iedu {
  nombre_alumno: string | null
  curp: string | null
  nivel_educativo: string | null
  aut_rvoe: string | null
  /** RFC of who paid, when that is not the receiver. */
  rfc_pago: string | null
}

export interface Tax {
  /** 001 ISR, 002 IVA, 003 IEPS (the names of 3.2 are mapped); any other value as it is. */
  impuesto: string
  tipo_factor: string | null
  /** A ratio as the document states it; the percentage of 3.2 divided by 100, with six decimals. */
  tasa_o_cuota: string | null
  base: string | null
  importe: string | null
}

interface LocalTax {
  nombre: string
  tasa: string | null
  importe: string
}

export interface Pago {
  fecha_pago: string
  forma_pago_p: string | null
  moneda_p: string | null
  tipo_cambio_p: string | null
  monto: string | null
  num_operacion: string | null
  documentos: DoctoRelacionado[]
}

export interface DoctoRelacionado {
  /** IdDocumento in upper case; empty when it is absent. It need not be a UUID: the schema also allows 000-00-000000000. */
  uuid: string
  serie: string | null
  folio: string | null
  moneda_dr: string | null
  /** EquivalenciaDR, or TipoCambioDR of Pagos 1.0: units of the document's currency for one unit of the payment's. */
  equivalencia_dr: string | null
  metodo_pago_dr: string | null
  num_parcialidad: string | null
  imp_saldo_ant: string | null
  /** In the document's currency. Pagos 1.0 may omit it when the payment has one document only: then it is Monto. */
  imp_pagado: string | null
  imp_saldo_insoluto: string | null
  objeto_imp_dr: string | null
  impuestos_dr: { traslados: Tax[]; retenciones: Tax[] }
}

export interface Nomina {
  /** As the Nómina states it. */
  version: string | null
  tipo_nomina: string | null
  fecha_pago: string | null
  fecha_inicial_pago: string | null
  fecha_final_pago: string | null
  num_dias_pagados: string | null
  total_percepciones: string | null
  total_deducciones: string | null
  total_otros_pagos: string | null
  total_gravado: string | null
  total_exento: string | null
  /** The sum of the Deducciones of type 002. */
  isr_retenido: string | null
  num_empleado: string | null
  curp: string | null
  num_seguridad_social: string | null
  tipo_contrato: string | null
  tipo_regimen: string | null
  periodicidad_pago: string | null
  salario_diario_integrado: string | null
  antiguedad: string | null
}

export interface Retencion {
  clave: string
  descripcion: string | null
  mes_inicial: string | null
  mes_final: string | null
  ejercicio: string | null
  nacionalidad_receptor: string | null
  monto_total_operacion: string | null
  monto_total_gravado: string | null
  monto_total_exento: string | null
  monto_total_retenido: string | null
  impuestos: { base: string | null; impuesto: string | null; monto: string | null; tipo_pago: string | null }[]
}
