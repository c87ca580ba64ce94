import * as z from 'zod'
import { Id, Instant, Paging } from '../platform/http/shapes.ts'
import { ALERT_KINDS, SEVERITIES } from './tables.ts'

const AlertKind = z.enum(ALERT_KINDS).meta({ id: 'AlertKind' })
const AlertSeverity = z.enum(SEVERITIES).meta({ id: 'AlertSeverity' })

export const Alert = z
  .strictObject({
    alert_id: Id('alr'),
    kind: AlertKind,
    severity: AlertSeverity,
    resource_id: z.string().meta({ description: 'What it is about: `wh_…` or `fe_…`.' }),
    message: z.string().meta({ description: 'The fact and its date.' }),
    created_at: Instant.meta({ description: 'When it was raised, or became critical.' }),
    read_at: Instant.nullable(),
  })
  .meta({ id: 'Alert' })
export type Alert = z.infer<typeof Alert>

export const AlertQuery = z.strictObject({
  ...Paging,
  kind: AlertKind.optional(),
  severity: AlertSeverity.optional(),
  resource_id: z.string().max(100).optional(),
  is_read: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ documented: { type: 'boolean' } }),
})
export type AlertQuery = z.infer<typeof AlertQuery>

export const AlertPath = z.strictObject({ alert_id: Id('alr') })
