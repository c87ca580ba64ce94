import * as z from 'zod'
import { Id, Instant } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { IMPORT_FILE_STATUSES, IMPORT_STATUSES } from './tables.ts'

export const ImportedFile = z
  .strictObject({
    name: z.string(),
    status: z.enum(IMPORT_FILE_STATUSES).meta({
      description: '`unchanged`: the same document is held already, by an earlier import or as the authority delivered it.',
    }),
    uuid: z.string().nullable(),
    code: z.string().nullable().meta({ description: 'Why it was rejected, such as `cfdi.unstamped`.' }),
    detail: z.string().nullable(),
  })
  .meta({ id: 'ImportedFile' })

export const Import = z
  .strictObject({
    import_id: Id('imp'),
    status: z.enum(IMPORT_STATUSES),
    files: z.array(ImportedFile).meta({ description: 'One for each file of the upload, in its order; the first 1,000.' }),
    files_total: z.int(),
    counts: z.strictObject({ created: z.int(), updated: z.int(), unchanged: z.int(), rejected: z.int() }),
    created_at: Instant,
    completed_at: Instant.nullable(),
  })
  .meta({ id: 'Import' })
export type Import = z.infer<typeof Import>

export const ImportPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, import_id: Id('imp') })
