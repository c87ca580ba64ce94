import * as z from 'zod'
import { Instant } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'

export const RepsePath = z.strictObject({ fiscal_entity_id: FiscalEntityId })

const Activity = z.strictObject({ descripcion: z.string(), folio: z.string() })

/** The REPSE status of an RFC. */
export const RepseStatus = z
  .strictObject({
    rfc: z.string(),
    is_registered: z.boolean().meta({ description: 'False when the registry answered that it has no registration for the RFC.' }),
    is_stale: z.boolean().meta({ description: 'True when the answer is older than a day. It is still the latest one.' }),
    checked_at: Instant.nullable().meta({ description: 'When the registry answered.' }),
    folio: z.string().nullable(),
    razon_social: z.string().nullable().meta({ description: 'The name as the registry spells it.' }),
    entidad: z.string().nullable(),
    municipio: z.string().nullable(),
    num_aviso: z.string().nullable(),
    fecha_aviso: z.iso.date().nullable(),
    vigencia_hasta: z.iso
      .date()
      .nullable()
      .meta({ description: 'The last day of the registration; null when the registry publishes none.' }),
    is_expired: z.boolean().meta({ description: 'Whether the last day has passed in the organization’s time zone.' }),
    days_to_expiry: z
      .int()
      .nullable()
      .meta({ description: 'Days until the registration ends, negative after it; null when the registry publishes no end.' }),
    actividades: z.array(Activity),
  })
  .meta({ id: 'RepseStatus' })
export type RepseStatus = z.infer<typeof RepseStatus>

export const RepseChecking = z
  .strictObject({ status: z.literal('checking'), rfc: z.string(), retry_after_seconds: z.int() })
  .meta({ id: 'RepseChecking', description: 'The registry has not answered yet. Do not take this for “not registered”.' })
export type RepseChecking = z.infer<typeof RepseChecking>

export const RepseQueued = z.strictObject({ status: z.literal('queued'), rfc: z.string() }).meta({ id: 'RepseQueued' })
export type RepseQueued = z.infer<typeof RepseQueued>
