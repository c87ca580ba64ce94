import * as z from 'zod'
import { doc } from '#doc'
import { Id, Instant, Paging, trimmedText } from '../platform/http/shapes.ts'
import { INVALID_REASONS } from '../platform/tenant.ts'
import { ConnectionStatus, Rfc } from '../taxpayers/contract.ts'
import { CfdiWindows, WindowStateName } from '../visibility/contract.ts'

const Ciec = z
  .string()
  .min(1)
  .max(100)
  .meta({ description: doc('The password of the RFC at the tax authority. It is stored encrypted and never shown.'), writeOnly: true })

const DataSourceKeys = z.array(z.string().max(64)).max(50)

export const FiscalEntity = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    rfc: z.string(),
    name: z.string().nullable(),
    status: ConnectionStatus,
    data_source_keys: z
      .array(z.string())
      .meta({ description: doc('Data sources that are enabled for this connection. The mandatory ones are always included.') }),
    invalid_reason: z
      .enum(INVALID_REASONS)
      .nullable()
      .meta({
        description: doc(
          'Why the CIEC is invalid: the tax authority `rejected` it, or the organization has `withdrawn` it. Null unless the status is ' +
            'invalid_ciec, or a pause that ends in it.',
        ),
      }),
    ciec_set: z.boolean().meta({ description: doc('Whether a CIEC is stored.') }),
    visible_from: z.iso
      .date()
      .nullable()
      .meta({ description: doc('The earlier floor of both windows: the first visible day of Fecha. Null before the first extraction.') }),
    visible_to: Instant.nullable().meta({
      description: doc('The later ceiling of both windows: the last visible instant. Null before the first extraction.'),
    }),
    windows: CfdiWindows.meta({
      description: doc('How far the extractions of each source have reached. Null before the first extraction of the source.'),
    }),
    window_state: WindowStateName,
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
      .meta({ description: doc('Data sources to enable. Null or omitted: all active sources that are not premium.') }),
    name: trimmedText(1, 200).nullable().optional(),
  })
  .meta({ id: 'FiscalEntityDraft' })
export type FiscalEntityDraft = z.infer<typeof FiscalEntityDraft>

export const FiscalEntityChanges = z
  .strictObject({
    ciec: Ciec.nullable()
      .optional()
      .meta({
        description: doc(
          'The password of the RFC at the tax authority. It is stored encrypted and never shown. Null erases the stored one: an active ' +
            'connection becomes invalid_ciec.',
        ),
        writeOnly: true,
      }),
    data_source_keys: DataSourceKeys.nullable().optional(),
    name: trimmedText(1, 200).nullable().optional(),
  })
  .meta({ id: 'FiscalEntityChanges' })
export type FiscalEntityChanges = z.infer<typeof FiscalEntityChanges>

export const FiscalEntityQuery = z.strictObject({ ...Paging, status: ConnectionStatus.optional() })
export type FiscalEntityQuery = z.infer<typeof FiscalEntityQuery>
