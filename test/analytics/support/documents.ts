import { exact, micros, money, sum, times } from '../oracle/amounts.ts'
import { DEFAULT_RULES, type RateTable } from '../oracle/rules.ts'
import type { Document, World } from '../oracle/world.ts'

/** The RFC whose documents the worked examples are: a company. */
export const SELF = 'AAA010101AAA'
export const [CUSTOMER, OTHER, SUPPLIER, PERSON] = ['BBB020202BB1', 'CCC030303CC2', 'DDD040404DD3', 'EEEE850505EE4'] as const

type Line = Document['conceptos'][number]
type Tax = Line['impuestos']['traslados'][number]

interface LineSpec {
  clave?: string
  cantidad?: string
  importe: string
  descuento?: string
  descripcion?: string
  unidad?: string
  /** A rate of IVA, `exento`, or null where it is not subject to tax. */
  iva?: string | null
  /** Rates that are withheld. */
  isr?: string
  iva_retenido?: string
  iedu?: { curp: string; nivel_educativo: string }
}

const taxOf = (impuesto: string, base: bigint, tasa: string): Tax => ({
  ...{ impuesto, tipo_factor: tasa === 'exento' ? 'Exento' : 'Tasa', base: money(base) },
  tasa_o_cuota: tasa === 'exento' ? null : exact(micros(tasa)),
  importe: tasa === 'exento' ? null : money(times(base, tasa)),
})

/** A line with the taxes that its rates give, each rounded to cents. */
export function lineOf(spec: LineSpec): Line {
  const { iva = '0.16', cantidad = '1', descuento = null } = spec
  const base = micros(spec.importe) - micros(descuento)
  return {
    ...{ clave_prod_serv: spec.clave ?? '43211503', no_identificacion: null, cantidad, clave_unidad: spec.unidad ?? 'H87', unidad: null },
    ...{ descripcion: spec.descripcion ?? 'Producto', valor_unitario: spec.importe, importe: spec.importe, descuento },
    ...{ objeto_imp: iva === null ? '01' : '02', a_cuenta_terceros_rfc: null, cuenta_predial: [], pedimentos: [] },
    impuestos: {
      traslados: iva === null ? [] : [taxOf('002', base, iva)],
      retenciones: [
        ...(spec.isr === undefined ? [] : [taxOf('001', base, spec.isr)]),
        ...(spec.iva_retenido === undefined ? [] : [taxOf('002', base, spec.iva_retenido)]),
      ],
    },
    iedu: spec.iedu ? { nombre_alumno: 'ALUMNO', aut_rvoe: 'RVOE', rfc_pago: null, ...spec.iedu } : null,
  }
}

/** The groups of a header: traslados by rate, and what is withheld by tax alone. */
function headerOf(lines: readonly Line[]): NonNullable<Document['impuestos']> {
  const add = (taxes: readonly Tax[], of: 'base' | 'importe') => money(sum(taxes.map((tax) => micros(tax[of]))))
  const traslados = Map.groupBy(
    lines.flatMap(({ impuestos }) => impuestos.traslados),
    (tax) => `${tax.impuesto}|${tax.tipo_factor}|${tax.tasa_o_cuota}`,
  )
  const retenciones = Map.groupBy(
    lines.flatMap(({ impuestos }) => impuestos.retenciones),
    ({ impuesto }) => impuesto,
  )
  return {
    ...{ total_trasladados: null, total_retenidos: null },
    traslados: [...traslados.values()].map((taxes) => ({
      ...{ ...taxes[0]!, base: add(taxes, 'base') },
      importe: taxes[0]!.importe === null ? null : add(taxes, 'importe'),
    })),
    retenciones: [...retenciones].map(([impuesto, taxes]) => ({
      ...{ impuesto, tipo_factor: null, tasa_o_cuota: null, base: null, importe: add(taxes, 'importe') },
    })),
  }
}

/** What an invoice or credit note of a worked example says; everything else is as usual. */
export type Spec = Partial<Document> & { party?: string; lines?: LineSpec[] }

/** A document as the API answers it. Its uuid is any text here. */
export function documentOf(uuid: string, fecha: string, spec: Spec = {}): Document {
  const { party = CUSTOMER, lines = [], direction = 'issued', tipo_comprobante = 'I', ...rest } = spec
  const conceptos = lines.map(lineOf)
  const impuestos = headerOf(conceptos)
  const of = (amounts: (string | null)[]) => money(sum(amounts.map(micros)))
  const taxes = (list: readonly Tax[], impuesto: string) =>
    of(list.filter((tax) => tax.impuesto === impuesto).map(({ importe }) => importe))
  const subtotal = of(conceptos.map(({ importe }) => importe))
  const descuento = of(conceptos.map((line) => line.descuento))
  const [iva, ivaRetenido, isr] = [
    taxes(impuestos.traslados, '002'),
    taxes(impuestos.retenciones, '002'),
    taxes(impuestos.retenciones, '001'),
  ]
  const total = money(micros(subtotal) - micros(descuento) + micros(iva) - micros(ivaRetenido) - micros(isr))
  const isIssued = direction === 'issued'
  const currency = rest.currency ?? (tipo_comprobante === 'P' ? 'XXX' : 'MXN')
  return {
    ...{ uuid, fiscal_entity_id: 'fe_example', direction, kind: 'cfdi', version: '4.0', tipo_comprobante, serie: null, folio: null },
    ...{ issued_at: `${fecha}T12:00:00-06:00`, fecha: `${fecha}T12:00:00`, certified_at: `${fecha}T12:01:00`, pac_rfc: null },
    ...{ emisor_rfc: isIssued ? SELF : party, emisor_nombre: null, emisor_regimen_fiscal: '601' },
    ...{ receptor_rfc: isIssued ? party : SELF, receptor_nombre: null, receptor_regimen_fiscal: '601', receptor_domicilio_fiscal: null },
    ...{
      counterparty: { rfc: party, nombre: `Nombre de ${party}`, blacklist: null },
      uso_cfdi: 'G03',
      metodo_pago: 'PUE',
      forma_pago: '03',
    },
    ...{ condiciones_pago: null, currency, moneda: currency, tipo_cambio: null, subtotal, descuento, total, total_mxn: null },
    ...{
      iva_trasladado: iva,
      iva_retenido: ivaRetenido,
      isr_retenido: isr,
      ieps_trasladado: '0.00',
      exportacion: '01',
      lugar_expedicion: '06600',
    },
    ...{
      estatus: 'vigente',
      cancelled_at: null,
      cancellation_reason: null,
      folio_sustitucion: null,
      status_answer: null,
      es_cancelable: null,
    },
    ...{
      estatus_cancelacion: null,
      validacion_efos: null,
      beyond_limits: null,
      status_checked_at: null,
      is_substituted: false,
      substituted_not_cancelled: false,
    },
    ...{
      payment_status: 'not_applicable',
      paid_amount: null,
      credited_amount: null,
      balance: null,
      balance_mxn: null,
      due_date: null,
      last_payment_at: null,
    },
    ...{ fully_paid_at: null, has_xml: true, has_pdf: true, origin: 'authority', updated_at: `${fecha}T18:00:00.000Z` },
    ...{ receptor_residencia_fiscal: null, receptor_num_reg_id_trib: null, no_certificado: null, sello_ultimos_8: null },
    ...{
      informacion_global: null,
      impuestos,
      impuestos_locales: null,
      relacionados: [],
      conceptos,
      pagos: [],
      nominas: [],
      tipo_relacion: null,
    },
    ...{ retencion: null, complementos: [], has_addenda: false, repairs: [], aplicaciones: [] },
    ...rest,
  }
}

/** What a complement pays: the invoice, an amount in its currency, and what differs from the usual. */
export type Paid = [invoice: Document, pagado: string, docto?: Partial<Document['pagos'][number]['documentos'][number]>]

/** A payment complement with one payment. Without taxes of its own, those of the invoices are divided. */
export function complementOf(
  uuid: string,
  fecha: string,
  paid: readonly Paid[],
  pago: Partial<Document['pagos'][number]> = {},
  spec: Spec = {},
): Document {
  const [invoice] = paid[0]!
  return documentOf(uuid, fecha, {
    ...{ direction: invoice.direction, party: invoice.counterparty.rfc, tipo_comprobante: 'P', metodo_pago: null, forma_pago: null },
    pagos: [
      {
        ...{ fecha_pago: `${fecha}T12:00:00`, forma_pago_p: '03', moneda_p: 'MXN', tipo_cambio_p: '1', monto: null, num_operacion: null },
        documentos: paid.map(([one, imp_pagado, docto]) => ({
          ...{ uuid: one.uuid, serie: null, folio: null, moneda_dr: one.currency, equivalencia_dr: '1', metodo_pago_dr: null },
          ...{ num_parcialidad: '1', imp_saldo_ant: null, imp_pagado, imp_saldo_insoluto: null, objeto_imp_dr: '02' },
          impuestos_dr: { traslados: [], retenciones: [] },
          ...docto,
        })),
        ...pago,
      },
    ],
    ...spec,
  })
}

const noRates: RateTable = () => null

/** All that an organization reads, on a day. */
export const worldOf = (documents: readonly Document[], rest: Partial<World> = {}): World => ({
  ...{ rfc: SELF, documents, today: '2026-06-30', now: Date.parse('2026-07-01T00:00:00Z'), rules: () => DEFAULT_RULES, rates: noRates },
  ...{ lists: [], repse: new Map(), intercompany: [], returns: [], opinions: [], isComplete: true },
  ...rest,
})
