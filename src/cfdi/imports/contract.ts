import * as z from 'zod'
import { Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { IMPORT_FILE_STATUSES, IMPORT_STATUSES } from './tables.ts'

export const ImportedFile = z
  .strictObject({
    name: z.string(),
    status: z.enum(IMPORT_FILE_STATUSES).meta({
      description:
        '`updated`: the document was known and got its XML, or was cancelled. `unchanged`: you have the document already, from an earlier ' +
        'import or from the authority.',
    }),
    uuid: z.string().nullable().meta({ description: 'Null for a metadata file, and when the UUID is not known.' }),
    code: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the file was rejected, such as `cfdi.unstamped`. `cfdi.conflict`: a document with this UUID and another content is kept, that of ' +
          'the authority, else the first that was imported; if that import is deleted, this content is kept instead. `import.quota_exceeded`: there is no room for its document or for ' +
          'what would be stored of it, or for some rows of a metadata file; make room and send it again. Null otherwise.',
      }),
    detail: z.string().nullable().meta({
      description: 'An explanation of `code`, what is left out of the document, or how many rows of a metadata file could not be stored.',
    }),
    rejected_rows: z.array(z.strictObject({ line: z.int(), code: z.string() })).meta({
      description:
        'The rows of a metadata file that could not be stored, at most 100, with the line on which each begins; the header is line 1.',
    }),
  })
  .meta({ id: 'ImportedFile' })
export type ImportedFile = z.infer<typeof ImportedFile>

const summary = {
  import_id: Id('imp'),
  status: z.enum(IMPORT_STATUSES).meta({ description: '`deleting`: the import disappears once its documents are deleted.' }),
  bytes: z.int().meta({ description: 'Size of the upload.' }),
  documents: z.int().meta({
    description:
      'How many documents are stored and count against the plan because of this import. A document that an earlier import already holds counts for that import.',
  }),
  stored_bytes: z.int().meta({
    description:
      'What is stored because of this import, in bytes: its XML, its rows, and what they are found by, also where another import holds the same ' +
      'document. It counts against the plan. Until the import is completed, at least its upload counts.',
  }),
  created_at: Instant,
  completed_at: Instant.nullable().meta({ description: 'Null until the import is completed.' }),
}

export const ImportSummary = z.strictObject(summary).meta({ id: 'ImportSummary' })
export type ImportSummary = z.infer<typeof ImportSummary>

export const Import = z
  .strictObject({
    ...summary,
    files: z
      .array(ImportedFile)
      .meta({ description: 'The results of the files processed so far, in the order of the upload; at most the first 1,000.' }),
    files_total: z.int().meta({ description: 'How many files have a result.' }),
    counts: z
      .strictObject({ created: z.int(), updated: z.int(), unchanged: z.int(), rejected: z.int() })
      .meta({ description: 'How many files have each status.' }),
  })
  .meta({ id: 'Import' })
export type Import = z.infer<typeof Import>

export const ImportPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, import_id: Id('imp') })

export const ImportQuery = z.strictObject(Paging)
export type ImportQuery = z.infer<typeof ImportQuery>
