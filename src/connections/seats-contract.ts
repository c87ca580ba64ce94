import * as z from 'zod'
import { Id, Instant, Paging } from '../platform/http/shapes.ts'
import { ConnectionStatus, FiscalEntityId } from '../taxpayers/contract.ts'

export const BillingRfc = z
  .strictObject({
    id: Id('fe'),
    rfc: z.string(),
    active: z.boolean(),
    connection_status: ConnectionStatus,
    seat_source: z
      .enum(['trial', 'plan', 'allowance'])
      .nullable()
      .meta({
        description:
          'Where the seat comes from: the trial, the plan, or an allowance that was granted to the organization. Null when the RFC takes ' +
          'no seat.',
      }),
    active_since: Instant.nullable().meta({ description: 'When the connection last became active. Null unless it is active.' }),
  })
  .meta({ id: 'BillingRfc' })
export type BillingRfc = z.infer<typeof BillingRfc>

export const BillingRfcQuery = z.strictObject(Paging)
export type BillingRfcQuery = z.infer<typeof BillingRfcQuery>

export const BillingRfcPath = z.strictObject({ fiscal_entity_id: FiscalEntityId })
export const BillingRfcChanges = z
  .strictObject({ active: z.boolean().meta({ description: 'False pauses the RFC, true resumes it.' }) })
  .meta({ id: 'BillingRfcChanges' })
