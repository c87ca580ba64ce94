import * as z from 'zod'
import { doc } from '#doc'
import { DATA_SOURCE_KEYS } from '../authority/port/catalog.ts'
import { Id, Instant, Paging } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'

export const Document = z
  .strictObject({
    document_id: Id('doc'),
    data_source_key: z.string().meta({ description: doc('The data source that the document was downloaded from.') }),
    name: z.string().meta({ description: doc('File name.') }),
    title: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: doc('In bytes.') }),
    sha256: z.string().meta({ description: doc('SHA-256 of the content, in hex.') }),
    document_date: z.iso.date().meta({ description: doc('The day on which the document was issued or that it is about.') }),
    period_end: z.iso
      .date()
      .nullable()
      .meta({ description: doc('Last day of the period that a return covers. Null for other documents.') }),
    attributes: z
      .record(z.string(), z.string())
      .meta({ description: doc('Data from the document, such as its result. The names depend on the data source.') }),
    created_at: Instant.meta({ description: doc('When a run of the organization first downloaded the document.') }),
  })
  .meta({ id: 'Document' })
export type Document = z.infer<typeof Document>

export const DocumentQuery = z.strictObject({
  ...Paging,
  data_source_key: z
    .enum(DATA_SOURCE_KEYS)
    .optional()
    .meta({ description: doc('Only documents of this data source.') }),
})
export type DocumentQuery = z.infer<typeof DocumentQuery>

export const DocumentPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, document_id: Id('doc') })
