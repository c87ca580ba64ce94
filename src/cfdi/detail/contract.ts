import * as z from 'zod'
import { pageOf } from '../../platform/http/shapes.ts'
import { Cfdi, Estatus, PaymentStatus } from '../contract.ts'
import { NOT_COUNTED_REASONS } from '../totals.ts'
import { REPAIRS } from '../xml/document.ts'
import { PARTS } from '../xml/tree.ts'
import { DEDUCCION, HORAS_EXTRA, INCAPACIDAD, JUBILACION, OTRO_PAGO, PERCEPCION, SEPARACION } from './payroll.ts'

const text = z.string().nullable()
const texts = <Name extends string>(names: readonly Name[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, text])) as Record<Name, typeof text>)

/** A payment or credit note that refers to an invoice. */
export const Application = z
  .strictObject({
    source_uuid: z.string().meta({ description: 'UUID of the payment complement or credit note.' }),
    kind: z.enum(['P', 'E']).meta({ description: '`P`: a payment complement. `E`: a credit note.' }),
    fecha_pago: z.string().meta({ description: 'Local time of the payment, or Fecha of the credit note.' }),
    forma_pago: text,
    num_parcialidad: text,
    imp_saldo_ant: text,
    imp_pagado: text,
    imp_saldo_insoluto: text,
    amount: z.string().meta({
      description: 'The amount that it applies to the invoice, in `currency`. It does not change the balance of a PUE invoice.',
    }),
    currency: text.meta({
      description:
        'MonedaDR of a payment complement. The invoice’s currency for a credit note, which is converted to it once the XML of the ' +
        'invoice and both rates are known; else its own.',
    }),
    estatus: Estatus.meta({ description: 'Status of the payment complement or credit note.' }),
    counts: z.boolean().meta({ description: 'Whether it is applied to the invoice.' }),
    not_counted_reason: z
      .enum(NOT_COUNTED_REASONS)
      .nullable()
      .meta({
        description:
          '`cancelled`: it is cancelled. `other_parties`: its issuer is not the invoice’s, or it is a credit note with another receiver. ' +
          '`currency_mismatch`: MonedaDR is not the invoice’s currency. `missing_rate`: a credit note in another currency cannot be ' +
          'converted, because an exchange rate is not stated. `substituted`: another vigente document substitutes it. Null when it ' +
          'counts.',
      }),
    allocation_estimated: z.boolean().meta({
      description:
        'Whether `amount` is a part of a credit note that names several invoices: it is divided by rate and by what was open of each when it was issued, ' +
        'then by their totals, because it does not say how.',
    }),
    warnings: z.array(z.enum(['receiver_differs'])).meta({
      description: '`receiver_differs`: the receiver of the payment complement is not the invoice’s, because a third party paid.',
    }),
  })
  .meta({ id: 'CfdiApplication' })
export type Application = z.infer<typeof Application>

/** The applications to an invoice and its balance. */
export const CfdiPayments = z
  .strictObject({
    invoice_uuid: z.string(),
    total: text,
    currency: text,
    paid_amount: text,
    credited_amount: text,
    balance: text,
    payment_status: PaymentStatus.meta({ description: '`partially_paid`: a part was paid, or taken off by a credit note.' }),
    reported_balance: text.meta({
      description:
        'imp_saldo_insoluto of the payment with the highest num_parcialidad of those that count: the balance that the issuer states.',
    }),
    balance_mismatch: z.boolean().meta({ description: 'Whether reported_balance and balance differ by more than 0.01.' }),
    ...pageOf(Application).shape,
  })
  .meta({ id: 'CfdiPayments' })
export type CfdiPayments = z.infer<typeof CfdiPayments>

const Tax = z.strictObject({
  impuesto: z.string().meta({ description: '001 (ISR), 002 (IVA) or 003 (IEPS).' }),
  tipo_factor: text,
  tasa_o_cuota: text.meta({ description: 'A ratio, such as 0.160000.' }),
  base: text,
  importe: text,
})
const Taxes = z.strictObject({ traslados: z.array(Tax), retenciones: z.array(Tax) })
const LocalTax = z.strictObject({ nombre: z.string(), tasa: text, importe: z.string() })

const XmlElement = z
  .strictObject({
    name: z.string().meta({ description: 'Without its prefix.' }),
    namespace: text.meta({ description: 'Null for that of the element around it.' }),
    attributes: z.record(z.string(), z.string()).meta({
      description: 'As the XML states them, with its references resolved and without declarations of namespaces.',
    }),
    text,
    get children() {
      return z.array(XmlElement)
    },
  })
  .meta({ id: 'XmlElement', description: 'An element of the XML.' })

export const Concepto = z
  .strictObject({
    clave_prod_serv: text,
    no_identificacion: text,
    cantidad: text,
    clave_unidad: text,
    unidad: text,
    descripcion: text,
    valor_unitario: text,
    importe: text,
    descuento: text,
    objeto_imp: text.meta({ description: '`01` to `08`. Null before 4.0.' }),
    impuestos: Taxes,
    a_cuenta_terceros_rfc: text,
    cuenta_predial: z.array(z.string()),
    pedimentos: z.array(z.string()),
    iedu: z
      .strictObject({ nombre_alumno: text, curp: text, nivel_educativo: text, aut_rvoe: text, rfc_pago: text })
      .nullable()
      .meta({ description: 'Whose tuition the line is (complement iedu, instEducativas). Null without it.' }),
  })
  .meta({
    description:
      'A line. Its texts are as the XML states them, without white space at their ends; in all other texts of a document several spaces ' +
      'are one.',
  })

const ConceptoDetail = Concepto.extend({
  a_cuenta_terceros: z
    .strictObject({ rfc: text, nombre: text, regimen_fiscal: text, domicilio_fiscal: text })
    .meta({ id: 'ACuentaTerceros' })
    .nullable()
    .meta({ description: 'The third party on whose behalf the line is invoiced (4.0). Before 4.0 it is a complement of the line.' }),
  complement_trees: z.array(XmlElement).meta({ description: 'The complements of the line.' }),
  other_elements: z.array(XmlElement).meta({
    description:
      'The elements of the line that no other member states whole: its parts (Parte) and customs documents (InformacionAduanera).',
  }),
}).meta({ description: 'A line with everything that the XML states of it.' })

const Docto = z.strictObject({
  uuid: z.string().meta({ description: 'IdDocumento, in upper case. Empty when the document does not state it.' }),
  serie: text,
  folio: text,
  moneda_dr: text,
  equivalencia_dr: text.meta({
    description:
      'Units of the document’s currency for one unit of the payment’s currency: EquivalenciaDR, or TipoCambioDR of Pagos 1.0, as it is ' +
      'stated.',
  }),
  metodo_pago_dr: text,
  num_parcialidad: text,
  imp_saldo_ant: text,
  imp_pagado: text,
  imp_saldo_insoluto: text,
  objeto_imp_dr: text,
  impuestos_dr: Taxes,
})

const Pago = z.strictObject({
  fecha_pago: z.string().meta({ description: 'Local time, as the complement states it.' }),
  forma_pago_p: text,
  moneda_p: text,
  tipo_cambio_p: text,
  monto: text,
  num_operacion: text,
  documentos: z.array(Docto),
})

const HorasExtra = texts(HORAS_EXTRA).meta({ id: 'HorasExtra' })
const Percepcion = texts(PERCEPCION)
  .extend({ horas_extra: z.array(HorasExtra) })
  .meta({ id: 'Percepcion' })

const Nomina = z.strictObject({
  version: text.meta({ description: 'As the Nómina states it: 1.1 or 1.2. Another one is read like these as far as it is alike.' }),
  tipo_nomina: text,
  fecha_pago: text,
  fecha_inicial_pago: text,
  fecha_final_pago: text,
  num_dias_pagados: text,
  total_percepciones: text,
  total_deducciones: text,
  total_otros_pagos: text,
  total_gravado: text,
  total_exento: text,
  isr_retenido: text.meta({ description: 'Sum of the deductions of type 002.' }),
  num_empleado: text,
  curp: text,
  num_seguridad_social: text,
  tipo_contrato: text,
  tipo_regimen: text,
  periodicidad_pago: text,
  salario_diario_integrado: text,
  antiguedad: text,
  percepciones: z
    .array(Percepcion)
    .meta({ description: 'What is earned, with the values of AccionesOTitulos and the overtime of version 1.2.' }),
  deducciones: z
    .array(texts(DEDUCCION).meta({ id: 'Deduccion' }))
    .meta({ description: 'Version 1.2 states `importe`, and 1.1 the taxed and the exempt part.' }),
  otros_pagos: z.array(texts(OTRO_PAGO).meta({ id: 'OtroPago' })).meta({
    description: 'With SubsidioCausado of SubsidioAlEmpleo and the values of CompensacionSaldosAFavor.',
  }),
  incapacidades: z
    .array(texts(INCAPACIDAD).meta({ id: 'Incapacidad' }))
    .meta({ description: 'Version 1.2 states `importe_monetario`, and 1.1 `descuento`.' }),
  horas_extra: z.array(HorasExtra).meta({ description: 'The overtime of version 1.1, which names no percepcion.' }),
  separacion_indemnizacion: texts(SEPARACION).meta({ id: 'SeparacionIndemnizacion' }).nullable(),
  jubilacion_pension_retiro: texts(JUBILACION).meta({ id: 'JubilacionPensionRetiro' }).nullable(),
})

const Retencion = z.strictObject({
  clave: z.string(),
  descripcion: text,
  mes_inicial: text,
  mes_final: text,
  ejercicio: text,
  nacionalidad_receptor: text,
  monto_total_operacion: text,
  monto_total_gravado: text,
  monto_total_exento: text,
  monto_total_retenido: text,
  impuestos: z.array(
    z.strictObject({
      base: text,
      impuesto: text.meta({
        description: 'As the document states it: 001 (ISR), 002 (IVA) or 003 (IEPS), or in version 1.0 01, 02 or 03.',
      }),
      monto: text,
      tipo_pago: text,
    }),
  ),
})

/** A document with everything that its XML says. */
export const CfdiDetail = Cfdi.extend({
  receptor_residencia_fiscal: text,
  receptor_num_reg_id_trib: text,
  no_certificado: text,
  sello_ultimos_8: text.meta({ description: 'The last eight characters of Sello.' }),
  informacion_global: z.strictObject({ periodicidad: text, meses: text, anio: text }).nullable(),
  impuestos: Taxes.extend({ total_trasladados: text, total_retenidos: text })
    .nullable()
    .meta({ description: 'Of the whole document. Null while only metadata is known.' }),
  impuestos_locales: z.strictObject({ traslados: z.array(LocalTax), retenciones: z.array(LocalTax) }).nullable(),
  relacionados: z.array(z.strictObject({ tipo_relacion: z.string(), uuid: z.string() })),
  conceptos: z.array(ConceptoDetail),
  pagos: z.array(Pago),
  nominas: z.array(Nomina),
  retencion: Retencion.nullable(),
  complementos: z.array(z.string()).meta({ description: '`LocalName:version` of each complement, sorted.' }),
  complement_trees: z.array(XmlElement).meta({
    description:
      'Each complement of the document with everything in it, known to the service or not, the stamp too. Those of a line stand with the line.',
  }),
  xml: XmlElement.nullable().meta({
    description:
      'The root of the XML with its attributes, Sello and Certificado too, and its elements. Conceptos and Complemento are left out, because ' +
      '`conceptos` and `complement_trees` have them, and so is the Addenda, which is no part of the fiscal document: `GET …/xml` has it. ' +
      'Null while only metadata is known.',
  }),
  xml_left_out: z
    .strictObject(Object.fromEntries(PARTS.map((part) => [part, z.int()])) as Record<(typeof PARTS)[number], z.ZodInt>)
    .meta({ id: 'XmlLeftOut' })
    .nullable()
    .meta({
      description:
        'How many elements (and texts) of a very large document `xml`, the lines in `conceptos` and `complement_trees`, payroll lines ' +
        'included, lack. They show about 1 MiB, 4 MiB and 4 MiB of it, from its beginning; `GET …/xml` has the rest. Null while only ' +
        'metadata is known.',
    }),
  has_addenda: z.boolean().nullable().meta({ description: 'Null while only metadata is known.' }),
  repairs: z.array(z.enum(REPAIRS)).meta({
    description:
      'How the XML was repaired before it could be read, and what is odd about it; GET …/xml returns it unchanged. `bom`: it had several ' +
      'byte order marks. `encoding_fallback`: it was not in the encoding that it declares. `trimmed_junk`: it had text outside the ' +
      'document. `control_characters`: it had characters that XML forbids. `addenda_cut`: its Addenda was malformed and is not read. ' +
      '`several_timbres`: it had several stamps, and the first one counts. `negative_total`: its Total is below zero. ' +
      '`unknown_version`: a complement is of a version that is not known, and was read as far as it has the namespace of a known one. ' +
      '`related_cut`: it names or pays more than 10,000 documents, of which the first 10,000 of each kind are read; or more than 100 by relation 07, and it acts on the first 100; or some that too many other documents name already, and on these it does not act.',
  }),
  aplicaciones: z
    .array(Application)
    .meta({ description: 'The payments and credit notes that refer to the document and that your window shows.' }),
}).meta({
  id: 'CfdiDetail',
  description:
    'A document with everything that its XML states. While only metadata is known (`version` is null), what only the XML states is not ' +
    'known: it is null, and lists are empty.',
})
export type CfdiDetail = z.infer<typeof CfdiDetail>
