import * as z from 'zod'
import { SourceWarnings } from '../authority/contract.ts'
import { DATA_SOURCE_KEYS, DOCUMENT_KINDS } from '../authority/port/authority.ts'
import {
  CertificateList,
  ComplianceOpinion,
  DocumentFields,
  ObligationList,
  OpinionSense,
  TaxStatus,
} from '../authority/port/fields-contract.ts'
import { GivenDay, Id, Instant, integerParameter, Paging } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { Obligation } from './obligations/contract.ts'
import { FIELDS_STATUSES } from './tables.ts'

const DocumentKind = z.enum(DOCUMENT_KINDS).meta({
  id: 'DocumentKind',
  description:
    '`csf` tax status certificate, `opinion_32d` compliance opinion, `obligations` registered obligations, `declaracion` a return, ' +
    '`acuse` the receipt for a return, `registration` the taxpayer’s registration data, `certificates` list of certificates, `rug` ' +
    'collateral registry.',
})

const version = {
  version: z.int().meta({ description: 'Number of the version in its series, from 1, among those that you can read.' }),
  is_latest: z.boolean().meta({ description: 'Whether it is the latest version of its series that you can read.' }),
}

export const Document = z
  .strictObject({
    document_id: Id('doc'),
    data_source_key: z.string().meta({ description: 'The data source that the document was downloaded from.' }),
    kind: DocumentKind,
    series: z.string().meta({
      description: 'Documents of a data source with the same series are versions of each other, such as the returns of one period.',
    }),
    ...version,
    name: z.string().meta({ description: 'File name.' }),
    title: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'In bytes.' }),
    sha256: z.string().meta({ description: 'SHA-256 of the content, in hex. It is also the ETag of the content.' }),
    document_date: z.iso.date().meta({ description: 'The day on which the document was issued or that it is about.' }),
    period_end: z.iso.date().nullable().meta({ description: 'Last day of the period that a return covers. Null for other documents.' }),
    attributes: z
      .record(z.string(), z.string())
      .meta({ description: 'What the tax authority lists beside the document. The names depend on the data source.' }),
    fields_status: z.enum(FIELDS_STATUSES).meta({
      description:
        '`read`: `fields` says what the document says. `none`: documents of this kind have no fields. `pending`: they are read soon. ' +
        '`unreadable`: they cannot be read from the PDF; `fields_reason` says why.',
    }),
    fields: DocumentFields.nullable().meta({
      description: 'What the document says: of a `csf`, an `opinion_32d`, `certificates` or `obligations`. Otherwise null.',
    }),
    fields_reason: z.string().nullable(),
    created_at: Instant.meta({ description: 'When a run of the organization first downloaded the document.' }),
  })
  .meta({ id: 'Document' })
export type Document = z.infer<typeof Document>

export const DocumentQuery = z
  .strictObject({
    ...Paging,
    data_source_key: z.enum(DATA_SOURCE_KEYS).optional().meta({ description: 'Only documents of this data source.' }),
    kind: DocumentKind.optional(),
    from: GivenDay.optional().meta({
      description: 'Only documents whose period ends on this day or later; without a period, that are dated so.',
    }),
    to: GivenDay.optional().meta({
      description: 'Only documents whose period ends on this day or earlier; without a period, that are dated so.',
    }),
    version: z.enum(['all', 'latest']).default('all').meta({ description: '`latest`: only the latest version of each series.' }),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, { path: ['to'], message: 'Must not be before from.' })
export type DocumentQuery = z.infer<typeof DocumentQuery>

export const DocumentPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, document_id: Id('doc') })

/** A value that changed from one version to the next. */
export const FieldChange = z
  .strictObject({
    field: z.string().meta({ description: 'Name of the field; those of the address begin with `address.`.' }),
    from: z.json(),
    to: z.json(),
  })
  .meta({ id: 'FieldChange' })
export type FieldChange = z.infer<typeof FieldChange>

const partOf = <S extends z.ZodType>(fields: S) =>
  z
    .strictObject({
      source: z.strictObject({
        document_id: Id('doc'),
        data_source_key: z.string(),
        ...version,
        document_date: z.iso.date(),
        created_at: Instant,
      }),
      fields,
      changes: z.array(FieldChange).meta({
        description:
          'What changed since the version before that you can read. `issued_on` of a certificate, and `date` and `folio` of an opinion, are in ' +
          '`fields` and never among the changes, because every version has another one.',
      }),
    })
    .nullable()

export const TaxProfile = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    rfc: z.string(),
    tax_status: partOf(TaxStatus),
    opinion: partOf(ComplianceOpinion),
    obligations: partOf(ObligationList),
    certificates: partOf(CertificateList),
    warnings: SourceWarnings,
  })
  .meta({
    id: 'TaxProfile',
    description: 'Each part is the latest version that could be read of one kind of document; null while there is none.',
  })
export type TaxProfile = z.infer<typeof TaxProfile>

export const client = {
  fiscal_entity_id: Id('fe'),
  rfc: z.string(),
  name: z.string().nullable().meta({ description: 'What the organization calls the connection; null without a name.' }),
}
export const Clients = {
  ...Paging,
  limit: integerParameter(1, 500, 500).meta({ description: 'The number of connections that the page looks at.' }),
}

export const PortfolioOpinionQuery = z.strictObject({
  ...Clients,
  sense: OpinionSense.optional().meta({ description: 'Lists only the RFCs whose latest opinion has this sense.' }),
})
export type PortfolioOpinionQuery = z.infer<typeof PortfolioOpinionQuery>

export const PortfolioOpinion = z
  .strictObject({
    ...client,
    sense: OpinionSense.nullable().meta({ description: 'Null while you can read no opinion of the RFC.' }),
    folio: z.string().nullable(),
    document_id: Id('doc').nullable(),
    document_date: z.iso.date().nullable(),
  })
  .meta({ id: 'PortfolioOpinion' })
export type PortfolioOpinion = z.infer<typeof PortfolioOpinion>

export const PortfolioObligationQuery = z.strictObject({
  ...Clients,
  days: integerParameter(0, 60, 5).meta({ description: 'Lists the obligations that are due within so many days, today included.' }),
})
export type PortfolioObligationQuery = z.infer<typeof PortfolioObligationQuery>

export const PortfolioObligation = Obligation.extend({
  ...client,
  days_left: z.int().meta({ description: 'Days until `due_date` in America/Mexico_City.' }),
}).meta({ id: 'PortfolioObligation' })
export type PortfolioObligation = z.infer<typeof PortfolioObligation>
