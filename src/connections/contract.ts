import * as z from 'zod'
import { Id, Instant, Paging, trimmedText } from '../platform/http/shapes.ts'
import { ConnectionStatus, Rfc } from '../taxpayers/contract.ts'

const Ciec = z.string().min(1).max(100).meta({ description: 'Write only: stored encrypted and never shown.', writeOnly: true })

const DataSourceKeys = z.array(z.string().max(64)).max(50)

export const FiscalEntity = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    rfc: z.string(),
    name: z.string().nullable(),
    status: ConnectionStatus,
    data_source_keys: z.array(z.string()).meta({ description: 'Sources enabled on this connection; the mandatory ones always are.' }),
    ciec_set: z.boolean(),
    visible_from: z.iso
      .date()
      .nullable()
      .meta({ description: 'Floor of the visibility window: literal day of Fecha. Null before the first extraction.' }),
    visible_to: Instant.nullable().meta({ description: 'Ceiling of the visibility window.' }),
    warnings: z.array(z.strictObject({ code: z.string(), message: z.string() })),
    linked_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'FiscalEntity' })
export type FiscalEntity = z.infer<typeof FiscalEntity>

export const FiscalEntityDraft = z
  .strictObject({
    rfc: Rfc,
    ciec: Ciec.optional(),
    data_source_keys: DataSourceKeys.nullable()
      .optional()
      .meta({ description: 'Restricts the sources; by default all active ones that are not premium.' }),
    name: trimmedText(1, 200).nullable().optional(),
  })
  .meta({ id: 'FiscalEntityDraft' })
export type FiscalEntityDraft = z.infer<typeof FiscalEntityDraft>

export const FiscalEntityChanges = z
  .strictObject({
    ciec: Ciec.optional(),
    data_source_keys: DataSourceKeys.nullable().optional(),
    name: trimmedText(1, 200).nullable().optional(),
  })
  .meta({ id: 'FiscalEntityChanges' })
export type FiscalEntityChanges = z.infer<typeof FiscalEntityChanges>

export const FiscalEntityQuery = z.strictObject({ ...Paging, status: ConnectionStatus.optional() })
export type FiscalEntityQuery = z.infer<typeof FiscalEntityQuery>
