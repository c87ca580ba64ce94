import * as z from 'zod'
import { isSituacion, isSource, SITUACIONES, SOURCE_FAULT } from '../../lists/catalog.ts'
import { documented, GivenDay, GivenInstant, Paging, pageOf, requireOrder, trimmedText } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { AsOf, Cfdi, CfdiUuid, Direction, Estatus, Kind, PaymentStatus } from '../contract.ts'
import { CfdiDetail, Concepto } from '../detail/contract.ts'
import { DataStatusName } from '../quality/data-quality.ts'

const isListed = (text: string): boolean => isSource(text) || isSituacion(text)

const TipoComprobante = z.enum(['I', 'E', 'P', 'N', 'T'])

const list = <T extends z.ZodType<string, string>>(item: T, max: number, json: Record<string, unknown>) =>
  z
    .string()
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(item).min(1).max(max))
    // Items may be equal only after they are parsed, such as a UUID in upper and lower case.
    .transform((items) => [...new Set(items)])
    .optional()
    .meta({ documented: { type: 'string', ...json } })

/** Lists and situations, separated by commas, such as `sat_69b,definitivo`. */
export const blacklisted = (description: string) =>
  list(z.string().refine(isListed, `${SOURCE_FAULT.slice(0, -1)}; or one of the situations ${SITUACIONES.join(', ')}.`), 20, {
    description,
  })

const pattern = (regex: RegExp, message: string, description?: string) =>
  z
    .string(message)
    .trim()
    .toUpperCase()
    .regex(regex, message)
    .optional()
    .meta({ documented: { type: 'string', pattern: regex.source, ...(description && { description }) } })

const code = (length: string, words: string) => pattern(new RegExp(`^[A-Z0-9]${length}$`), `Must be ${words} letters or digits.`)
const rfc = (description?: string) => pattern(/^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}$/, 'Must be an RFC.', description)
const literal = z.string().min(1).max(40).optional()

const DAY_OR_INSTANT =
  'Inclusive. A day, `YYYY-MM-DD`, is compared with the day of `fecha`; a date and time with a UTC offset is compared with `issued_at`.'
const moment = (description = DAY_OR_INSTANT) =>
  z
    .union([GivenDay, GivenInstant], 'Must be a day, YYYY-MM-DD, or a date and time with a UTC offset, in a year from 2000 to 2199.')
    .optional()
    .meta({ documented: { type: 'string', description } })

const AMOUNT = /^\d{1,18}(\.\d{1,6})?$/
const AMOUNT_FAULT = 'Must be a decimal number with at most 18 digits before the point and 6 after it.'
const amount = z.string(AMOUNT_FAULT).regex(AMOUNT, AMOUNT_FAULT)

const money = (description: string) => amount.optional().meta({ documented: { type: 'string', pattern: AMOUNT.source, description } })

const LEAST_TOTAL = 'Least total, in the document’s own currency.'
const GREATEST_TOTAL = 'Greatest total, in the document’s own currency.'
const LEAST_BALANCE = 'Least balance, in the document’s own currency. Only invoices (I) whose XML is known have a balance.'

const daysOverdue = documented(
  z
    .string()
    .regex(/^[1-9]\d{0,3}$/, 'Must be an integer from 1 to 9999.')
    .transform(Number),
  {
    type: 'integer',
    minimum: 1,
    maximum: 9_999,
    description:
      'Invoices (I) that have been due for at least so many days, today or on the day of `as_of`: from their due_date or, where they state no ' +
      'terms, from the day that the rule `financing.default_terms_days` gives, 30 days after `fecha`. Unless these filters say otherwise, it also ' +
      'means `estatus=vigente`, `is_substituted=false`, `to_itself=false`, `metodo_pago=PPD` and `payment_status=unpaid,partially_paid`.',
  },
)

const isInOrder = requireOrder(
  ...(['issued', 'cancelled', 'paid'] as const).map((name) => [`${name}_from`, `${name}_to`] as const),
  ...(['total', 'balance'] as const).map((name) => [`${name}_min`, `${name}_max`] as const),
)

const MEMBERS = Object.keys(Cfdi.shape) as [keyof Cfdi, ...(keyof Cfdi)[]]

const SORTS = ['-issued_at', 'issued_at', '-total', 'total'] as const

/** Members of the detail of a document that a list may include. */
export const INCLUDED = ['conceptos', 'pagos', 'relacionados'] as const

const { pagos, relacionados } = CfdiDetail.shape
const INCLUDES = 'Only with `include`. Empty while only metadata is known.'

/** A document of a page. */
export const ListedCfdi = Cfdi.extend({
  conceptos: z.array(Concepto).optional().meta({ description: INCLUDES }),
  pagos: pagos.optional().meta({ description: INCLUDES }),
  relacionados: relacionados.optional().meta({ description: INCLUDES }),
}).meta({ id: 'ListedCfdi' })
export type ListedCfdi = z.infer<typeof ListedCfdi>

/** The query of GET /v1/cfdi. */
export const CfdiSearch = z
  .strictObject({
    ...ofFiscalEntity,
    ...Paging,
    q: trimmedText(2, 100)
      .optional()
      .meta({
        description:
          'Words of the name of the issuer or of the receiver, or parts of them, in any order; or text in serie and folio, written together or with a space between them; or the beginning of the UUID, or the whole RFC of a party. ' +
          'Case and accents do not matter. ' +
          'The export `conceptos` has the descriptions of lines.',
      }),
    sort: z
      .enum(SORTS)
      .default('-issued_at')
      .meta({
        description:
          '`-issued_at`: newest first. `issued_at`: oldest first. `-total` and `total`: by the total in the document’s own currency, of equal ones the newest ' +
          'first, and those without a total last. They look at all documents that the indexed filters leave, at most 5,000.',
      }),
    fields: list(z.enum(MEMBERS), MEMBERS.length, {
      description:
        'Members of the documents to return, separated by commas, such as `uuid,total`: the answer has these and leaves out all others, also those ' +
        'that it has otherwise. All by default.',
    }),
    direction: Direction.optional(),
    estatus: Estatus.optional(),
    tipo_comprobante: list(TipoComprobante, 5, { description: 'One or more of I, E, P, N and T, separated by commas.' }),
    payment_status: list(PaymentStatus, 4, {
      description:
        'One or more of paid, partially_paid, unpaid and not_applicable, separated by commas. Credit notes count as payments do.',
    }),
    counterparty_rfc: rfc('RFC of the other party, whether it is the issuer or the receiver.'),
    emisor_rfc: rfc(),
    receptor_rfc: rfc(),
    uuid: list(CfdiUuid, 100, { description: 'At most 100, separated by commas.' }),
    issued_from: moment(),
    issued_to: moment(),
    metodo_pago: z.enum(['PUE', 'PPD']).optional(),
    forma_pago: pattern(/^\d{2}$/, 'Must be two digits.'),
    uso_cfdi: code('{3,4}', '3 or 4'),
    currency: code('{3}', '3'),
    serie: literal,
    folio: literal,
    version: z.enum(['3.2', '3.3', '4.0', '1.0', '2.0']).optional(),
    cancelled_from: moment('Like issued_from, for the time of cancellation. Only cancelled documents are returned.'),
    cancelled_to: moment('Like issued_to, for the time of cancellation. Only cancelled documents are returned.'),
    paid_from: GivenDay.optional().meta({ description: 'First day of last_payment_at. Only documents with a payment are returned.' }),
    paid_to: GivenDay.optional().meta({ description: 'Last day of last_payment_at. Only documents with a payment are returned.' }),
    total_min: money(LEAST_TOTAL),
    total_max: money(GREATEST_TOTAL),
    balance_min: money(LEAST_BALANCE),
    overdue_days_min: daysOverdue.optional(),
    as_of: AsOf,
    blacklist: blacklisted(
      'Only documents whose counterparty is now on one of these lists or in one of these situations: `sat_69b`, `custom:<slug>`, `definitivo`, …, ' +
        'separated by commas. A list finds those who are on it now, not those whom it still names as cleared (`is_active` false in ' +
        '`POST /v1/blacklists/lookup`): the situations `desvirtuado` and `sentencia_favorable` find these.',
    ),
    tipo_relacion: list(z.string().regex(/^\d{2}$/, 'Must be two digits.'), 9, {
      description: 'One or more relations to other documents, such as 01, separated by commas.',
    }),
    has_xml: z.enum(['true', 'false']).optional(),
    has_pdf: z.enum(['true', 'false']).optional().meta({ description: 'The same as `has_xml`: a PDF is made of the XML.' }),
    kind: Kind.optional(),
    is_substituted: z.enum(['true', 'false']).optional().meta({
      description: 'Whether another vigente document substitutes the vigente document. `false` with `estatus=vigente` finds what counts.',
    }),
    to_itself: z.enum(['true', 'false']).optional().meta({ description: 'Whether the issuer and the receiver are the same RFC.' }),
    include: list(z.enum(INCLUDED), INCLUDED.length, {
      description:
        'What each document has beside its row: one or more of conceptos, pagos and relacionados, separated by commas. A page then ends ' +
        'before `limit` where the XMLs of its documents have more than 4 MiB together; `has_more` and `next_cursor` say how it goes on.',
    }),
  })
  .superRefine(requireFiscalEntity)
  .superRefine(isInOrder)
export type CfdiSearch = z.infer<typeof CfdiSearch>

const {
  limit: _limit,
  cursor: _cursor,
  sort: _sort,
  fields: _fields,
  include: _include,
  fiscal_entity_id: _id,
  fiscalEntityId: _other,
  ...FILTERS
} = CfdiSearch.shape

/** In a body: a boolean of JSON, or its text as in the query. */
const given = (description: string) =>
  z
    .union([z.boolean(), z.enum(['true', 'false'])])
    .transform((one) => (String(one) === 'true' ? 'true' : 'false'))
    .optional()
    .meta({ documented: { type: 'boolean', description } })

/** In a body: a number of JSON, or its text as in the query. */
const givenAmount = (description: string) =>
  z
    .union([amount, z.number().transform(String).pipe(amount)], AMOUNT_FAULT)
    .optional()
    .meta({
      documented: {
        anyOf: [
          { type: 'string', pattern: AMOUNT.source },
          { type: 'number', minimum: 0 },
        ],
        description,
      },
    })

/** The same filters as a member of a body. Each is a text, as in the query, or a boolean or number where it means one. */
export const CfdiFilters = z
  .strictObject({
    ...FILTERS,
    total_min: givenAmount(LEAST_TOTAL),
    total_max: givenAmount(GREATEST_TOTAL),
    balance_min: givenAmount(LEAST_BALANCE),
    overdue_days_min: z
      .union([daysOverdue, z.int().min(1).max(9_999)], 'Must be an integer from 1 to 9999.')
      .optional()
      .meta({ documented: { type: 'integer', minimum: 1, maximum: 9_999, description: 'As in the search of CFDIs.' } }),
    has_xml: given('Whether the XML is held.'),
    has_pdf: given('Whether there is a PDF: it is made of the XML.'),
    is_substituted: given('Whether a valid document of the same parties substitutes it.'),
    to_itself: given('Whether the issuer and the receiver are the same RFC.'),
  })
  .superRefine(isInOrder)
  .meta({ id: 'CfdiFilters' })
export type CfdiFilters = z.infer<typeof CfdiFilters>

/** The query of GET /v1/cfdi/summary. */
export const CfdiSumQuery = z
  .strictObject({ ...ofFiscalEntity, ...FILTERS })
  .superRefine(requireFiscalEntity)
  .superRefine(isInOrder)
export type CfdiSumQuery = z.infer<typeof CfdiSumQuery>

const { direction, kind, tipo_comprobante, estatus, is_substituted, currency } = Cfdi.shape
const CfdiSum = z
  .strictObject({
    ...{ direction, kind, tipo_comprobante, estatus, is_substituted, currency },
    count: z.int().meta({ description: 'Number of these documents.' }),
    total: z.string().meta({ description: 'Σ total of these documents, in `currency`. Decimal.' }),
    balance: z.string().nullable().meta({ description: 'Σ balance of those that have one, in `currency`. Decimal; null where none has.' }),
  })
  .meta({ id: 'CfdiSum', description: 'Documents that are alike, so that nothing is added up that differs in kind.' })
export type CfdiSum = z.infer<typeof CfdiSum>

export const CfdiSums = z
  .strictObject({
    fiscal_entity_id: z.string(),
    count: z.int().meta({ description: 'Number of the documents that match.' }),
    scanned_through: z.iso.datetime().nullable().meta({
      description:
        'Set when more documents follow than are looked at, 5,000: count and sums are those of the newest, down to this issued_at. Null when they are of all.',
    }),
    ...pageOf(CfdiSum).shape,
  })
  .meta({ id: 'CfdiSums' })
export type CfdiSums = z.infer<typeof CfdiSums>

export const CfdiPage = z
  .strictObject({
    data: z.array(ListedCfdi).meta({ description: 'Whole documents, unless `fields` names the members that they have.' }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    scanned_through: z.iso
      .datetime()
      .nullable()
      .meta({
        description:
          'Set when the page is short although more documents follow: 5,000 documents were looked at for it, up to this issued_at. ' +
          'Go on with next_cursor.',
      }),
    data_status: DataStatusName.nullable().meta({
      description:
        'On the first page: the severest status of the months and directions that are asked for, `missing` before `downloading` before `complete`. ' +
        'Without issued_from or issued_to, what your windows show is asked for. Days that they do not show are missing, also where imports lie: ' +
        'a month that a window divides has its own status. Null on other pages.',
    }),
  })
  .meta({ id: 'CfdiPage' })
export type CfdiPage = z.infer<typeof CfdiPage>

type Filter = Exclude<keyof CfdiSearch, 'limit' | 'cursor' | 'sort' | 'fields' | 'include' | keyof typeof ofFiscalEntity>
/** The filters of a search, without its page and its fiscal entity. */
export type Filters = Omit<Pick<CfdiSearch, Filter>, 'blacklist' | 'as_of' | 'overdue_days_min'> & {
  /** RFCs that the filter `blacklist` means. */
  counterparties?: readonly string[] | undefined
  /** The last literal day of the documents, beside issued_to. */
  last_day?: string
  /** The last day on which the invoices were due. */
  due_to?: string
  /** With due_to: the days until an invoice without stated terms is due, as SQL over the column with its day. */
  terms?: (column: string) => string
  /** A day before today: status, substitutions and balances are shown and filtered as of its end. */
  past?: string
}
