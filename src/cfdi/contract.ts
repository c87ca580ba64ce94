import * as z from 'zod'
import { ES_CANCELABLE, ESTATUS_CANCELACION, STATUS_ANSWERS, VALIDACION_EFOS } from '../authority/port/status.ts'
import { SITUACIONES } from '../lists/catalog.ts'
import { documented, GivenDay, UUID } from '../platform/http/shapes.ts'

/** The UUID of a CFDI in a request, converted to upper case. */
export const CfdiUuid = documented(
  z
    .string()
    .regex(UUID, 'Must be a UUID.')
    .transform((text) => text.toUpperCase()),
  { type: 'string', format: 'uuid', description: 'In upper or lower case.' },
)

const text = z.string().nullable()
const described = (description: string) => text.meta({ description })
const stated = described('Decimal, as the document states it.')
const tax = described('Decimal, in `currency`.')

const FIRST_DAY = '2004-01-01'

/** The day as of which a request asks. */
export const AsOf = GivenDay.refine((day) => day >= FIRST_DAY, `Must not be before ${FIRST_DAY}: the first CFDIs are of 2004.`)
  .optional()
  .meta({
    description:
      'A day from 2004 on, up to today in America/Mexico_City: only documents of days up to it, with their status, substitutions and balances as of its end. A complement counts by ' +
      'FechaPago in these balances, also when it was issued later; in the present also when that day is still to come. ' +
      'A document that was issued after this day and is cancelled now never counts. A cancelled document without a cancellation date never counts either. ' +
      'By default the answer shows the present.',
  })

export const Direction = z.enum(['issued', 'received'])
export const Estatus = z.enum(['vigente', 'cancelado'])
export const Kind = z.enum(['cfdi', 'retenciones'])
export const PaymentStatus = z.enum(['paid', 'partially_paid', 'unpaid', 'not_applicable'])

/** The members that every representation of a CFDI has. The names are those of Anexo 20 in snake_case. */
export const Cfdi = z
  .strictObject({
    uuid: z.string().meta({ description: 'In upper case.' }),
    fiscal_entity_id: z.string(),
    direction: Direction.meta({ description: 'Whether the fiscal entity issued or received the document.' }),
    kind: Kind.meta({ description: '`cfdi` for a Comprobante, `retenciones` for a CFDI de retenciones.' }),
    version: described('Null while only metadata is known. Then everything that only the XML states is null too.'),
    tipo_comprobante: described('I, E, P, N or T. Null for retenciones.'),
    serie: text,
    folio: text,
    issued_at: z.iso.datetime({ offset: true }).meta({
      description:
        '`fecha` with the UTC offset of the place of issue; while only metadata is known, which does not state the place, that of Mexico City.',
    }),
    fecha: z
      .string()
      .meta({ description: 'Local time, as the document states it. The day and month of the document are those of this time.' }),
    certified_at: described('FechaTimbrado: local time, as the stamp states it.'),
    pac_rfc: described('RFC of the provider that certified the document (PAC).'),
    emisor_rfc: z.string(),
    emisor_nombre: text,
    emisor_regimen_fiscal: text,
    receptor_rfc: z.string(),
    receptor_nombre: text,
    receptor_regimen_fiscal: text,
    receptor_domicilio_fiscal: text,
    counterparty: z
      .strictObject({
        rfc: z.string(),
        nombre: text,
        blacklist: z
          .strictObject({ source: z.string(), situacion: z.enum(SITUACIONES).nullable() })
          .nullable()
          .meta({
            description:
              'The severest list that the counterparty is on now, of equal ones a public one before your own, and its situation, null on lists ' +
              'without situations. It follows a list within minutes of its load. `/v1/blacklists/lookup` has every list, with dates.',
          }),
      })
      .meta({ description: 'The receiver of an issued document, the issuer of a received one.' }),
    uso_cfdi: text,
    tipo_relacion: described('TipoRelacion of its related documents, such as `01`; several are separated by commas.'),
    metodo_pago: described('PUE (paid at once) or PPD (paid in parts or later).'),
    forma_pago: text,
    condiciones_pago: text,
    currency: text,
    moneda: described('The same as `currency`.'),
    tipo_cambio: text,
    subtotal: stated,
    descuento: stated,
    total: stated,
    total_mxn: described('Decimal, in MXN. Null when the exchange rate is not known, and with more than 18 digits before the point.'),
    iva_trasladado: tax,
    iva_retenido: tax,
    isr_retenido: described('Decimal, in `currency`. For payroll (N), the ISR that its Nómina withholds.'),
    ieps_trasladado: tax,
    exportacion: text,
    lugar_expedicion: text,
    estatus: Estatus,
    cancelled_at: z.iso.datetime({ offset: true }).nullable(),
    cancellation_reason: described('01 to 04. Null while the document is vigente, and when the authority states no reason.'),
    folio_sustitucion: described('UUID of the document that replaces this one.'),
    status_answer: z
      .enum(STATUS_ANSWERS)
      .nullable()
      .meta({
        description:
          'What the authority’s status service last answered when you asked about the document; null before, and with `as_of` of a past day. ' +
          '`no_encontrado`: the authority does not know it, or not yet. `unknown`: it gave no answer that can be understood. Neither changes ' +
          '`estatus`, and `vigente` does not change the `estatus` of a cancelled document.',
      }),
    es_cancelable: z
      .enum(ES_CANCELABLE)
      .nullable()
      .meta({ description: 'Whether the issuer can cancel the document, as that answer says; null when it does not.' }),
    estatus_cancelacion: z
      .enum(ESTATUS_CANCELACION)
      .nullable()
      .meta({ description: 'How far a cancellation of the document is, as that answer says; null when there is none.' }),
    validacion_efos: z
      .enum(VALIDACION_EFOS)
      .nullable()
      .meta({
        description:
          'ValidacionEFOS of that answer, in the authority’s code: whether the issuer, or a third party on whose account the document is, is on the ' +
          'list of article 69-B. `200`: the issuer is not, `201`: neither it nor the third party is; `100`: the issuer is, `101`: both are, ' +
          '`102` and `103`: only the third party is, `104`: the issuer and some of several third parties are. Null when it does not say.',
      }),
    status_checked_at: z.iso.datetime().nullable().meta({ description: 'When the authority gave that answer.' }),
    is_substituted: z.boolean().meta({
      description:
        'Whether another vigente document with the same issuer and receiver substitutes this vigente one (relation 04). ' +
        'Then this document counts in no sum and in no balance. In a chain only the last document counts, in a cycle the newest.',
    }),
    substituted_not_cancelled: z.boolean().meta({
      description: 'Whether this document and one that it substitutes, or that substitutes it, are both vigente.',
    }),
    payment_status: PaymentStatus.meta({
      description:
        'What was paid or credited of an invoice (I): `partially_paid` also where nothing was paid and a credit note took a part of it off. Neither its own cancellation nor its substitution changes it, nor the balance: they say what was ' +
        'paid and owed of a cancelled or substituted invoice, which is in no sum, so look at `estatus` and `is_substituted` too. `not_applicable` for other types and without metodo_pago, which metadata does not state.',
    }),
    paid_amount: described(
      'PPD: sum of the payment complements that count, in `currency`, also of those whose FechaPago is still to come. PUE: the total. Null unless tipo_comprobante is I and the XML is known.',
    ),
    credited_amount: described(
      'PPD: sum of the credit notes (relations 01, 03 and 07) that count, in `currency`. PUE: 0.00. Null like paid_amount.',
    ),
    balance: described('total − paid_amount − credited_amount, never below zero. Null like paid_amount.'),
    balance_mxn: described(
      'balance in MXN, at the exchange rate that the invoice states. Null like paid_amount, without a rate, and with more than 18 digits before the point.',
    ),
    due_date: z.iso.date().nullable().meta({
      description:
        'The day on which an invoice (I) is due: the day of `fecha` and the days that its condiciones_pago state. Null when they state none.',
    }),
    last_payment_at: described('Local time of the last payment, as its complement states it.'),
    fully_paid_at: described('Local time of the payment or credit note that brought the balance to zero.'),
    has_xml: z.boolean().meta({ description: 'Whether the XML is stored.' }),
    beyond_limits: z
      .enum(['lines', 'xml'])
      .nullable()
      .meta({
        description:
          'What of the XML is beyond the limits of the service. `lines`: the XML is kept whole, and its header, taxes and sums are read; of its ' +
          'lines only the first 30,000 are shown, in at most 4 MiB. `xml`: the tax authority delivered an XML that cannot be kept, because it ' +
          'has more than 10 MiB or too many parts; it is not asked for again, and only the metadata is known. Otherwise null.',
      }),
    has_pdf: z.boolean().meta({ description: 'Whether `GET …/pdf` has the document as a PDF: where the XML is stored.' }),
    origin: z.enum(['authority', 'import']).meta({
      description:
        '`authority`: the tax authority delivered the document. `import`: your organization imported it; no other organization sees it.',
    }),
    updated_at: z.iso.datetime().meta({
      description:
        'When the document itself last changed: it was stored, got its XML, was cancelled, or became what another of your imports says of it ' +
        'because one was deleted. A deletion after which a document reads as before need not change it. A change from before your own run first ' +
        'reached the document is told as of that run. Payments and credit notes change the balance of an invoice, and a substitution changes is_substituted; neither changes updated_at.',
    }),
  })
  .meta({ id: 'Cfdi' })
export type Cfdi = z.infer<typeof Cfdi>
