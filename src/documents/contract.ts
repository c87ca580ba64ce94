import * as z from 'zod'
import { DATA_SOURCE_KEYS } from '../authority/port/catalog.ts'
import { Id, Instant, Paging } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'

export const Document = z
  .strictObject({
    document_id: Id('doc'),
    data_source_key: z.string(),
    name: z.string(),
    title: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    sha256: z.string(),
    document_date: z.iso.date(),
    period_end: z.iso.date().nullable().meta({ description: 'Last day of the period that a return covers.' }),
    attributes: z.record(z.string(), z.string()),
    created_at: Instant,
  })
  .meta({ id: 'Document' })
export type Document = z.infer<typeof Document>

export const DocumentQuery = z.strictObject({ ...Paging, data_source_key: z.enum(DATA_SOURCE_KEYS).optional() })
export type DocumentQuery = z.infer<typeof DocumentQuery>

export const DocumentPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, document_id: Id('doc') })
