import * as z from 'zod'
import { Paging } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiUuid, Direction, Estatus, Kind, PaymentStatus } from '../contract.ts'

const TipoComprobante = z.enum(['I', 'E', 'P', 'N', 'T'])

const list = <T extends z.ZodType<string, string>>(item: T, most: number, json: Record<string, unknown>) =>
  z
    .string()
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(item).min(1).max(most))
    // Once more: items may be the same only now, as UUIDs in either case are.
    .transform((items) => [...new Set(items)])
    .optional()
    .meta({ documented: { type: 'string', ...json } })

const pattern = (regex: RegExp, message: string, description?: string) =>
  z
    .string()
    .trim()
    .toUpperCase()
    .regex(regex, message)
    .optional()
    .meta({ documented: { type: 'string', pattern: regex.source, ...(description && { description }) } })

const code = (length: string) => pattern(new RegExp(`^[A-Z0-9]${length}$`), 'Not a key of the catalogue.')
const rfc = (description?: string) => pattern(/^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}$/, 'Not an RFC.', description)
const literal = z.string().min(1).max(40).optional()

const DAY_OR_INSTANT =
  'A day, `YYYY-MM-DD`, is compared with the literal day of the document; a date and time with offset with its instant. Inclusive.'
const moment = (description = DAY_OR_INSTANT) =>
  z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], 'Neither YYYY-MM-DD nor a date and time with offset.')
    .optional()
    .meta({ documented: { type: 'string', description } })

const money = (description: string) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,6})?$/, 'Not a decimal number.')
    .optional()
    .meta({ documented: { type: 'string', pattern: '^\\d{1,12}(\\.\\d{1,6})?$', description } })

/** The query of GET /v1/cfdi. */
export const CfdiSearch = z
  .strictObject({
    ...ofFiscalEntity,
    ...Paging,
    direction: Direction.optional(),
    estatus: Estatus.optional(),
    tipo_comprobante: list(TipoComprobante, 5, { description: 'Comma separated: I, E, P, N, T.' }),
    payment_status: list(PaymentStatus, 4, { description: 'Comma separated: paid, partially_paid, unpaid, not_applicable.' }),
    counterparty_rfc: rfc('The other party, whichever side it is on.'),
    emisor_rfc: rfc(),
    receptor_rfc: rfc(),
    uuid: list(CfdiUuid, 100, { description: 'Comma separated, at most 100.' }),
    issued_from: moment(),
    issued_to: moment(),
    metodo_pago: z.enum(['PUE', 'PPD']).optional(),
    forma_pago: pattern(/^\d{2}$/, 'Not two digits.'),
    uso_cfdi: code('{3,4}'),
    currency: code('{3}'),
    serie: literal,
    folio: literal,
    version: z.enum(['3.2', '3.3', '4.0', '1.0', '2.0']).optional(),
    cancelled_from: moment('As issued_from, of the cancellation. Only cancelled documents are answered.'),
    cancelled_to: moment('As issued_to, of the cancellation. Only cancelled documents are answered.'),
    paid_from: z.iso.date().optional().meta({ description: 'Least literal day of last_payment_at. Only what has a payment is answered.' }),
    paid_to: z.iso.date().optional().meta({ description: 'Greatest literal day of last_payment_at. Only what has a payment is answered.' }),
    updated_since: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: 'Its updated_at is at or after this instant. What a window newly shows may have changed before.' }),
    total_min: money('Total, in the document’s own currency.'),
    total_max: money('Total, in the document’s own currency.'),
    balance_min: money('Balance, in the document’s own currency; only invoices (I) have one.'),
    has_xml: z.enum(['true', 'false']).optional(),
    has_pdf: z.enum(['true', 'false']).optional().meta({ description: 'No PDF is kept yet: true finds nothing.' }),
    kind: Kind.optional(),
    to_itself: z.enum(['true', 'false']).optional().meta({ description: 'Whether issuer and receiver are the same RFC.' }),
  })
  .superRefine(requireFiscalEntity)
export type CfdiSearch = z.infer<typeof CfdiSearch>

type Filter = Exclude<keyof CfdiSearch, 'limit' | 'cursor' | keyof typeof ofFiscalEntity>
/** What a page is asked for, without where it begins and which books it is read from. */
export type Filters = Pick<CfdiSearch, Filter>
