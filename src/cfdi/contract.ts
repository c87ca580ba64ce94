import * as z from 'zod'
import { documented, pageOf, UUID } from '../platform/http/shapes.ts'

/** A CFDI's UUID in any case, read in upper case. */
export const CfdiUuid = documented(
  z
    .string()
    .regex(UUID, 'Not a UUID.')
    .transform((text) => text.toUpperCase()),
  { type: 'string', format: 'uuid', description: 'In any case.' },
)

const text = z.string().nullable()
const says = (description: string) => z.string().nullable().meta({ description })
const amount = z.string().nullable().meta({ description: 'Decimal, as the document has it.' })

export const Direction = z.enum(['issued', 'received'])
export const Estatus = z.enum(['vigente', 'cancelado'])
export const Kind = z.enum(['cfdi', 'retenciones'])
export const PaymentStatus = z.enum(['paid', 'partially_paid', 'unpaid', 'not_applicable'])

/** What every answer about a CFDI begins with. Names are Anexo 20's in snake_case. */
export const Cfdi = z
  .strictObject({
    uuid: z.string().meta({ description: 'In upper case.' }),
    fiscal_entity_id: z.string(),
    direction: Direction.meta({ description: 'As seen from the fiscal entity.' }),
    kind: Kind,
    version: says('Null as long as only its metadata is known, like everything that only the XML says.'),
    tipo_comprobante: says('I, E, P, N or T; null for retenciones.'),
    serie: text,
    folio: text,
    issued_at: z.iso.datetime({ offset: true }).meta({ description: '`fecha` with the offset of the zone of its place of issue.' }),
    fecha: z.string().meta({ description: 'Literal Fecha: its day and month are the document’s.' }),
    certified_at: says('Literal FechaTimbrado.'),
    pac_rfc: text,
    emisor_rfc: z.string(),
    emisor_nombre: text,
    emisor_regimen_fiscal: text,
    receptor_rfc: z.string(),
    receptor_nombre: text,
    receptor_regimen_fiscal: text,
    receptor_domicilio_fiscal: text,
    counterparty: z
      .strictObject({ rfc: z.string(), nombre: text })
      .meta({ description: 'The receiver of an issued one, the issuer of a received one.' }),
    uso_cfdi: text,
    metodo_pago: says('PUE or PPD.'),
    forma_pago: text,
    condiciones_pago: text,
    currency: text,
    moneda: says('The same as `currency`.'),
    tipo_cambio: text,
    subtotal: amount,
    descuento: amount,
    total: amount,
    total_mxn: says('In pesos; null when the rate is not known.'),
    iva_trasladado: says('Decimal, in `currency`.'),
    iva_retenido: says('Decimal, in `currency`.'),
    isr_retenido: says('Decimal, in `currency`.'),
    ieps_trasladado: says('Decimal, in `currency`.'),
    exportacion: text,
    lugar_expedicion: text,
    estatus: Estatus,
    cancelled_at: z.iso.datetime({ offset: true }).nullable(),
    cancellation_reason: says('01 to 04, or unknown; null while vigente.'),
    folio_sustitucion: text,
    es_cancelable: says('Null: the authority’s status service is not asked yet.'),
    estatus_cancelacion: says('Null: the authority’s status service is not asked yet.'),
    status_checked_at: z.iso.datetime().nullable().meta({ description: 'Null: the authority’s status service is not asked yet.' }),
    payment_status: PaymentStatus,
    paid_amount: says('Applied by payment complements, in `currency`; null unless tipo_comprobante is I.'),
    credited_amount: says('Applied by credit notes of relation 01 and 03, in `currency`; null unless tipo_comprobante is I.'),
    balance: says('total − paid_amount − credited_amount, never below zero; null unless tipo_comprobante is I.'),
    last_payment_at: says('Literal local time of the last payment applied.'),
    fully_paid_at: says('Literal local time of the payment that left no balance.'),
    has_xml: z.boolean(),
    has_pdf: z.boolean().meta({ description: 'False: no PDF is kept yet.' }),
    origin: z.enum(['authority', 'import']).meta({ description: '`import`: known from your own import only, and seen by nobody else.' }),
    first_seen_at: z.iso.datetime(),
    updated_at: z.iso.datetime().meta({
      description:
        'When what is stored last changed, whoever had it downloaded. It can move by a payment that your window does not show yet, and does not move when the window comes to show it.',
    }),
  })
  .meta({ id: 'Cfdi' })
export type Cfdi = z.infer<typeof Cfdi>

export const CfdiPage = pageOf(Cfdi).meta({ id: 'CfdiPage' })
