/**
 * A CFDI as its XML says it, before any rule of ours is applied. Text stays text, trimmed and with its inner white space
 * collapsed as the schema asks (a concept's descripcion is only trimmed); amounts are the decimal text of the document; UUIDs and
 * RFCs are in upper case; what the document does not say is null or an empty list. Source: insights.md 7, sat.md 3.
 */
export interface CfdiDocument {
  /** `cfdi` for a Comprobante, `retenciones` for a CFDI de retenciones. */
  kind: 'cfdi' | 'retenciones'
  /** `3.2`, `3.3`, `4.0`; for retenciones `1.0` or `2.0`. */
  version: string
  /** UUID of the first TimbreFiscalDigital directly under a top-level Complemento; null when the document is not stamped. */
  uuid: string | null
  serie: string | null
  folio: string | null
  /** Literal local time as the document has it, `YYYY-MM-DDTHH:mm:ss` (retenciones 1.0 carry an offset: kept out of this text). */
  fecha: string
  certified_at: string | null
  pac_rfc: string | null
  /** I, E, P, N or T. 3.2's ingreso, egreso and traslado are I, E and T. Null for retenciones. An unknown value is kept as it is. */
  tipo_comprobante: string | null
  emisor_rfc: string
  emisor_nombre: string | null
  emisor_regimen_fiscal: string | null
  /** A foreign receiver of retenciones has no RFC: XEXX010101000. */
  receptor_rfc: string
  receptor_nombre: string | null
  receptor_regimen_fiscal: string | null
  receptor_domicilio_fiscal: string | null
  receptor_residencia_fiscal: string | null
  receptor_num_reg_id_trib: string | null
  uso_cfdi: string | null
  metodo_pago: string | null
  forma_pago: string | null
  condiciones_pago: string | null
  currency: string | null
  tipo_cambio: string | null
  subtotal: string | null
  descuento: string | null
  total: string | null
  exportacion: string | null
  lugar_expedicion: string | null
  no_certificado: string | null
  /** Last eight characters of Sello, which the status service asks for. */
  sello_ultimos_8: string | null
  informacion_global: { periodicidad: string | null; meses: string | null; anio: string | null } | null
  impuestos: Taxes
  /** Complemento implocal. */
  impuestos_locales: { traslados: LocalTax[]; retenciones: LocalTax[] } | null
  relacionados: { tipo_relacion: string; uuid: string }[]
  conceptos: Concepto[]
  pagos: Pago[]
  nominas: Nomina[]
  retencion: Retencion | null
  /** `LocalName:version` of each child of every top-level Complemento, sorted, each once. */
  complementos: string[]
  has_addenda: boolean
  /**
   * What had to be done to read it: `bom` (more than one byte order mark), `encoding_fallback`, `trimmed_junk`, `control_characters`,
   * `addenda_cut`, `several_timbres`.
   */
  repairs: Repair[]
}

export type Repair = 'bom' | 'encoding_fallback' | 'trimmed_junk' | 'control_characters' | 'addenda_cut' | 'several_timbres'

export interface Tax {
  /** 001 ISR, 002 IVA, 003 IEPS (3.2's names are mapped); anything else as it is. */
  impuesto: string
  tipo_factor: string | null
  /** A ratio, six decimals or as the document has it; 3.2's percent is divided by 100. */
  tasa_o_cuota: string | null
  base: string | null
  importe: string | null
}

export interface Taxes {
  total_trasladados: string | null
  total_retenidos: string | null
  traslados: Tax[]
  retenciones: Tax[]
}

export interface LocalTax {
  nombre: string
  tasa: string | null
  importe: string
}

export interface Concepto {
  clave_prod_serv: string | null
  no_identificacion: string | null
  cantidad: string | null
  clave_unidad: string | null
  unidad: string | null
  descripcion: string | null
  valor_unitario: string | null
  importe: string | null
  descuento: string | null
  objeto_imp: string | null
  impuestos: { traslados: Tax[]; retenciones: Tax[] }
  /** RFC of the third party on whose behalf the line is invoiced (4.0). */
  a_cuenta_terceros_rfc: string | null
  cuenta_predial: string[]
  pedimentos: string[]
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
  /** IdDocumento in upper case; empty when absent. The schema also allows 000-00-000000000 there, so it need not be a UUID. */
  uuid: string
  serie: string | null
  folio: string | null
  moneda_dr: string | null
  /** EquivalenciaDR, or TipoCambioDR of Pagos 1.0: units of the document's currency for one of the payment's. */
  equivalencia_dr: string | null
  metodo_pago_dr: string | null
  num_parcialidad: string | null
  imp_saldo_ant: string | null
  /** In the document's currency. Pagos 1.0 may leave it out for a single document: then it is Monto. */
  imp_pagado: string | null
  imp_saldo_insoluto: string | null
  objeto_imp_dr: string | null
  impuestos_dr: { traslados: Tax[]; retenciones: Tax[] }
}

export interface Nomina {
  version: string
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
  /** Deduccion 002. */
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
