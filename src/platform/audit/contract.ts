import * as z from 'zod'
import { GivenInstant, Id, Instant, Paging, requireOrder } from '../http/shapes.ts'

export const AuditEvent = z
  .strictObject({
    audit_event_id: Id('aud'),
    actor: z
      .string()
      .meta({ description: 'The api_key of the credential that made the change, or `system:` and the name of the process.' }),
    action: z.string().meta({ examples: ['extractor.created'] }),
    resource_id: z.string(),
    changed: z.array(z.string()).meta({ description: 'Names of the members that were sent or changed, never their values.' }),
    request_id: z.string().meta({ description: 'The request, message or cron run that made the change.' }),
    created_at: Instant,
  })
  .meta({ id: 'AuditEvent' })
export type AuditEvent = z.infer<typeof AuditEvent>

export const AuditQuery = z
  .strictObject({
    ...Paging,
    resource_id: z.string().max(100).optional(),
    action: z.string().max(100).optional(),
    actor: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Lists only the changes of this credential, by its api_key, or of this process, `system:` and its name.' }),
    since: GivenInstant.optional().meta({ description: 'Lists only changes at this instant or later.' }),
    until: GivenInstant.optional().meta({ description: 'Lists only changes at this instant or before.' }),
  })
  .superRefine(requireOrder(['since', 'until']))
export type AuditQuery = z.infer<typeof AuditQuery>
