import { type Fragment, raw } from '../platform/db/fragment.ts'
import type { Countable } from './totals.ts'

// Integers that may pass 2^53 leave the database as text.
const MICROS = ['total_micros', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado', 'total_mxn', 'paid', 'credited']

const PLAIN = [
  'entity',
  'uuid',
  'direction',
  'estatus',
  'issued_at',
  'utc_offset',
  'fecha',
  'kind',
  'version',
  'tipo_comprobante',
  'serie',
  'folio',
  'certified_at',
  'pac_rfc',
  'emisor_rfc',
  'emisor_nombre',
  'emisor_regimen_fiscal',
  'receptor_rfc',
  'receptor_nombre',
  'receptor_regimen_fiscal',
  'receptor_domicilio_fiscal',
  'counterparty_rfc',
  'uso_cfdi',
  'metodo_pago',
  'forma_pago',
  'condiciones_pago',
  'currency',
  'tipo_cambio',
  'subtotal',
  'descuento',
  'total',
  'exportacion',
  'lugar_expedicion',
  'payment_status',
  'last_payment_at',
  'fully_paid_at',
  'applied_until',
  'cancelled_at',
  'cancellation_reason',
  'folio_sustitucion',
  'first_seen_at',
  'updated_at',
]

/** The columns of `cfdi` that a CfdiRow is made of, as they are: conditions of an outer select still compare them. */
export const stored = (alias: string): Fragment =>
  raw([...[...PLAIN, ...MICROS].map((name) => `${alias}.${name}`), `${alias}.xml_object is not null as has_xml`].join(', '))

/** The columns of a CfdiRow, out of a select of `stored`. */
export const shown = (alias: string): Fragment =>
  raw(
    [...[...PLAIN, 'has_xml'].map((name) => `${alias}.${name}`), ...MICROS.map((name) => `cast(${alias}.${name} as text) as ${name}`)].join(
      ', ',
    ),
  )

/** What `contribution` asks of a row, which is called `own`. */
export const COUNTABLE = raw(
  [
    ...[
      'kind',
      'version',
      'direction',
      'fecha',
      'tipo_comprobante',
      'metodo_pago',
      'estatus',
      'emisor_rfc',
      'receptor_rfc',
      'currency',
      'tipo_cambio',
    ],
    ...['subtotal', 'descuento', 'total'],
    ...['iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'].map((name) => `cast(own.${name} as text) as ${name}`),
  ].join(', '),
)

export type CountableRow = Countable & { direction: 0 | 1 }
