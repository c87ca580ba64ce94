import type { CfdiDocument, Concepto, DoctoRelacionado, Nomina, Pago } from './document.ts'
import type { Element } from './xml.ts'

/** A document being read, and the parts of it that are open. */
export interface ParseState {
  readonly document: CfdiDocument
  readonly complementos: Set<string>
  timbres: number
  tipo_relacion: string
  concepto: Concepto | null
  pago: Pago | null
  docto: DoctoRelacionado | null
  nomina: Nomina | null
}

export type Node = Element<ParseState>

/** The children of an element, by name. */
export const children = (named: Record<string, Node>): ReadonlyMap<string, Node> => new Map(Object.entries(named))

/** An element that only leads to others. */
export const path = (named: Record<string, Node>): Node => ({ children: children(named) })

export const note = (list: string[] | undefined, value: string | null): void => {
  if (value !== null) list?.push(value)
}

export const newParseState = (kind: CfdiDocument['kind'], version: string): ParseState => ({
  document: {
    kind,
    version,
    uuid: null,
    serie: null,
    folio: null,
    fecha: '',
    certified_at: null,
    pac_rfc: null,
    tipo_comprobante: null,
    emisor_rfc: '',
    emisor_nombre: null,
    emisor_regimen_fiscal: null,
    receptor_rfc: '',
    receptor_nombre: null,
    receptor_regimen_fiscal: null,
    receptor_domicilio_fiscal: null,
    receptor_residencia_fiscal: null,
    receptor_num_reg_id_trib: null,
    uso_cfdi: null,
    metodo_pago: null,
    forma_pago: null,
    condiciones_pago: null,
    currency: null,
    tipo_cambio: null,
    subtotal: null,
    descuento: null,
    total: null,
    exportacion: null,
    lugar_expedicion: null,
    no_certificado: null,
    sello_ultimos_8: null,
    informacion_global: null,
    impuestos: { total_trasladados: null, total_retenidos: null, traslados: [], retenciones: [] },
    impuestos_locales: null,
    relacionados: [],
    conceptos: [],
    pagos: [],
    nominas: [],
    retencion: null,
    complementos: [],
    has_addenda: false,
    repairs: [],
  },
  complementos: new Set(),
  timbres: 0,
  tipo_relacion: '',
  concepto: null,
  pago: null,
  docto: null,
  nomina: null,
})
