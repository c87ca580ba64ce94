import { Cfdi } from '../../../cfdi/contract.ts'
import type { Concepto, Pago, Tax } from '../../../cfdi/xml/document.ts'
import { at, columnsOf } from '../../../platform/csv.ts'
import { micros } from '../../../platform/money.ts'
import type { ColumnType } from './formats/cells.ts'
import type { Columns, ExportColumn } from './formats/columns.ts'

/** Codes and numbers of documents are text, so that they keep their zeros. */
const NUMBERS = new Set([
  ...['tipo_cambio', 'subtotal', 'descuento', 'total', 'total_mxn', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'],
  ...['paid_amount', 'credited_amount', 'balance', 'balance_mxn'],
  ...['concepto', 'cantidad', 'valor_unitario', 'importe', 'descuento'],
  ...[
    'pago',
    'documento',
    'tipo_cambio_p',
    'monto',
    'equivalencia_dr',
    'num_parcialidad',
    'imp_saldo_ant',
    'imp_pagado',
    'imp_saldo_insoluto',
  ],
])
const TIMES = new Set([
  ...['issued_at', 'fecha', 'certified_at', 'cancelled_at', 'status_checked_at', 'last_payment_at', 'fully_paid_at', 'updated_at'],
  'due_date',
  'fecha_pago',
])

const typeOf = (heading: string): ColumnType => (NUMBERS.has(heading) ? 'number' : TIMES.has(heading) ? 'time' : 'text')

const column = (heading: string, value: ExportColumn['value']): ExportColumn => ({ heading, type: typeOf(heading), value })
const named = (...names: readonly string[]): ExportColumn[] => names.map((name) => column(name, (row) => at(row, [name])))

/** The members of a document that rows of its lines and payments repeat. */
export const REPEATED = [
  ...(['uuid', 'direction', 'version', 'tipo_comprobante', 'serie', 'folio', 'issued_at', 'fecha', 'emisor_rfc', 'emisor_nombre'] as const),
  ...(['receptor_rfc', 'receptor_nombre', 'uso_cfdi', 'metodo_pago', 'forma_pago', 'currency', 'tipo_cambio'] as const),
  ...(['estatus', 'cancelled_at', 'is_substituted', 'origin'] as const),
]
export type Repeated = Pick<Cfdi, (typeof REPEATED)[number]>

/** A row of the lines of a document, numbered from 1, and of what a payment pays. */
export type LineRow = Repeated & { concepto: number } & Concepto
export type PaidDocumentRow = Repeated & { pago: number } & Omit<Pago, 'documentos'> & { documento: number | null } & Partial<
    { documento_uuid: string } & Omit<Pago['documentos'][number], 'uuid' | 'serie' | 'folio'> & {
        serie_dr: string | null
        folio_dr: string | null
      }
  >

const [ISR, IVA, IEPS] = ['001', '002', '003']

const MICROS = 6

/** Micros as decimal text with at least two digits after the point. */
function decimalOf(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(MICROS + 1, '0')
  const fraction = digits.slice(-MICROS).replace(/0{1,4}$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -MICROS)}.${fraction}`
}

/** The sum of the amounts of a tax; nothing when there is none. */
const sumOf = (taxes: readonly Tax[] | undefined, tax: string): string | null => {
  const own = (taxes ?? []).filter(({ impuesto, importe }) => impuesto === tax && importe !== null)
  return own.length === 0 ? null : decimalOf(own.reduce((sum, { importe }) => sum + (micros(importe) ?? 0n), 0n))
}

/** The rates of IVA, `Exento` for what is exempt. */
const ratesOf = (taxes: readonly Tax[] | undefined): string[] => [
  ...new Set(
    (taxes ?? []).filter(({ impuesto }) => impuesto === IVA).map(({ tipo_factor, tasa_o_cuota }) => tasa_o_cuota ?? tipo_factor ?? ''),
  ),
]

const amount = (heading: string, member: string, which: 'traslados' | 'retenciones', tax: string): ExportColumn => ({
  heading,
  type: 'number',
  value: (row) => sumOf(at(row, [member, which]) as Tax[] | undefined, tax),
})
const taxesOf = (member: string): ExportColumn[] => [
  column('iva_tasa', (row) => ratesOf(at(row, [member, 'traslados']) as Tax[] | undefined)),
  amount('iva_trasladado', member, 'traslados', IVA),
  amount('ieps_trasladado', member, 'traslados', IEPS),
  amount('iva_retenido', member, 'retenciones', IVA),
  amount('isr_retenido', member, 'retenciones', ISR),
]

/** The columns of each kind of rows, by the names of the API. */
export const COLUMNS_OF: Readonly<Record<'cfdi' | 'conceptos' | 'pagos', Columns>> = {
  cfdi: columnsOf(Cfdi).map(({ heading, path }) => column(heading, (row) => at(row, path))),
  conceptos: [
    ...named(...REPEATED, 'concepto', 'clave_prod_serv', 'no_identificacion', 'cantidad', 'clave_unidad', 'unidad', 'descripcion'),
    ...named('valor_unitario', 'importe', 'descuento', 'objeto_imp'),
    ...taxesOf('impuestos'),
    ...named('a_cuenta_terceros_rfc', 'cuenta_predial', 'pedimentos'),
  ],
  pagos: [
    ...named(...REPEATED, 'pago', 'fecha_pago', 'forma_pago_p', 'moneda_p', 'tipo_cambio_p', 'monto', 'num_operacion'),
    ...named('documento', 'documento_uuid', 'serie_dr', 'folio_dr', 'moneda_dr', 'equivalencia_dr', 'metodo_pago_dr', 'num_parcialidad'),
    ...named('imp_saldo_ant', 'imp_pagado', 'imp_saldo_insoluto', 'objeto_imp_dr'),
    ...taxesOf('impuestos_dr'),
  ],
}
