import * as z from 'zod'
import { Instant } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'

export const RepsePath = z.strictObject({ fiscal_entity_id: FiscalEntityId })

const Activity = z.strictObject({ descripcion: z.string(), folio: z.string() })

/** REPSE status object of service.md. */
export const RepseStatus = z
  .strictObject({
    rfc: z.string(),
    is_registered: z.boolean().meta({ description: 'false is what the registry answered, not that it could not be asked.' }),
    is_stale: z.boolean().meta({ description: 'The answer is older than a day. It is still the last one known.' }),
    checked_at: Instant.nullable(),
    folio: z.string().nullable(),
    razon_social: z.string().nullable().meta({ description: 'As the registry writes it.' }),
    entidad: z.string().nullable(),
    municipio: z.string().nullable(),
    num_aviso: z.string().nullable(),
    fecha_aviso: z.iso.date().nullable(),
    vigencia_hasta: z.iso.date().nullable().meta({ description: 'Last day of the registration.' }),
    is_expired: z.boolean().meta({ description: 'That day is past, in the organization’s time zone.' }),
    days_to_expiry: z.int().nullable().meta({ description: 'Negative once expired. Null when no end is published.' }),
    actividades: z.array(Activity),
  })
  .meta({ id: 'RepseStatus' })
export type RepseStatus = z.infer<typeof RepseStatus>

export const RepseChecking = z
  .strictObject({ status: z.literal('checking'), rfc: z.string(), retry_after_seconds: z.int() })
  .meta({ id: 'RepseChecking', description: 'The registry is being asked. It says nothing about a registration.' })
export type RepseChecking = z.infer<typeof RepseChecking>

export const RepseQueued = z.strictObject({ status: z.literal('queued'), rfc: z.string() }).meta({ id: 'RepseQueued' })
export type RepseQueued = z.infer<typeof RepseQueued>
