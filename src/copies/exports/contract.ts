import * as z from 'zod'
import { CfdiFilters } from '../../cfdi/search/contract.ts'
import { Id, Instant, Paging, pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { EXPORT_CONTENT, EXPORT_FORMATS, EXPORT_HEADINGS, EXPORT_KINDS } from './tables.ts'

const Kind = z.enum(EXPORT_KINDS).meta({
  id: 'ExportKind',
  description:
    '`cfdi`: a row for each document, as `GET /v1/cfdi` has it. `conceptos`: a row for each line. `pagos`: a row for each document that a ' +
    'payment complement pays. `nominas`: a row for each payroll line. `complementos`: a row for each attribute of a complement, whether ' +
    'of a document or of a line. `xml`: the files of each document, as `content` names them.',
})
const Format = z.enum(EXPORT_FORMATS).meta({
  id: 'ExportFormat',
  description: '`csv`, `xlsx` or `ndjson` for rows, `zip` for `xml`.',
})

const Headings = z.enum(EXPORT_HEADINGS).meta({
  id: 'ExportHeadings',
  description:
    '`api`: columns have the names of the members, and values are those of the API. `es`: columns have Spanish headings, and values of ' +
    'enumerations are Spanish words, such as `Emitido` and `Sí`. Codes of the authority stay codes.',
})

const Content = z
  .array(
    z.enum(EXPORT_CONTENT).meta({ id: 'ExportContent', description: '`xml`: the XML. `pdf`: the PDF that is made of it, in Spanish.' }),
  )
  .min(1)
  .max(EXPORT_CONTENT.length)

const isPair = ({ kind, format }: { kind: string; format: string }): boolean => (kind === 'xml') === (format === 'zip')

export const NewExport = z
  .strictObject({
    fiscal_entity_id: FiscalEntityId,
    kind: Kind,
    format: Format.meta({
      description: 'The format of the content: `zip` for the kind `xml`, and `csv`, `xlsx` or `ndjson` for any other.',
    }),
    headings: Headings.default('api').meta({
      description:
        'What is written above the columns of `csv` and `xlsx`: `api` the names of the members, `es` Spanish headings, with Spanish words for ' +
        'values of enumerations. Other formats have no headings and take `api` alone.',
    }),
    content: Content.optional().meta({
      description: 'Which files the kind `xml` has of each document. `["xml"]` by default. Other kinds take no `content`.',
    }),
    filters: CfdiFilters.optional().meta({
      description: 'Those of `GET /v1/cfdi`, by the same names. All documents without any.',
    }),
  })
  .superRefine((sent, context) => {
    const refuse = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message })
    if (!isPair(sent))
      refuse(
        'format',
        sent.kind === 'xml'
          ? 'Must be `zip`, because the kind is `xml`.'
          : 'Must be `csv`, `xlsx` or `ndjson`: `zip` is for the kind `xml`.',
      )
    else if (sent.content !== undefined && sent.kind !== 'xml') refuse('content', 'Must be absent: only the kind `xml` has files.')
    else if (new Set(sent.content).size < (sent.content?.length ?? 0)) refuse('content', 'Must name each once.')
    else if (sent.headings === 'es' && sent.format !== 'csv' && sent.format !== 'xlsx')
      refuse('headings', 'Must be `api`: only `csv` and `xlsx` have Spanish headings.')
  })
export type NewExport = z.infer<typeof NewExport>

export const Export = z
  .strictObject({
    export_id: Id('exp'),
    fiscal_entity_id: z.string(),
    kind: Kind,
    format: Format,
    headings: Headings,
    content: Content.nullable().meta({ description: 'Which files the kind `xml` has of each document. Null for other kinds.' }),
    filters: z.record(z.string(), z.string()).meta({ description: 'Those of the request.' }),
    status: z.enum(['queued', 'running', 'ready', 'failed', 'expired']).meta({
      id: 'ExportStatus',
      description: '`ready`: the content can be downloaded, until `expires_at`. `failed`: `error_code` says why. `expired`: it is deleted.',
    }),
    rows: z.int().meta({ description: 'Rows that are written so far, without headings; files of a ZIP.' }),
    documents: z.int().meta({ description: 'Documents that matched so far.' }),
    documents_without_xml: z.int().meta({
      description:
        'Of these, those of which only metadata is known. Every kind but `cfdi` lacks them, because what they contain is in their XML.',
    }),
    scanned_through: Instant.nullable().meta({
      description:
        'Documents are written newest first: those issued after this instant are written. Null before the first, and ' +
        'once all are written.',
    }),
    bytes: z.int().meta({ description: 'Bytes that are written so far; the size of the content once it is ready.' }),
    error_code: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the export failed: `fiscal_entity.not_active` when the connection was not active any more, `export.too_large` above 48 GiB, ' +
          'else `export.failed`: begin another one. Null otherwise.',
      }),
    created_by: z.string().nullable().meta({
      description:
        'The api_key of the credential that began it, which may delete it whatever its role. Null of exports begun before this was kept.',
    }),
    created_at: Instant,
    completed_at: Instant.nullable().meta({ description: 'When it became ready or failed.' }),
    expires_at: Instant.nullable().meta({
      description: 'When its content is deleted: seven days after it became ready. Null before.',
    }),
  })
  .meta({ id: 'Export' })
export type Export = z.infer<typeof Export>

export const ExportPage = pageOf(Export).meta({ id: 'ExportPage' })
export const ExportPath = z.strictObject({ export_id: Id('exp') })
export const ExportQuery = z.strictObject(Paging)
export type ExportQuery = z.infer<typeof ExportQuery>
