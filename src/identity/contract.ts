import * as z from 'zod'
import { doc } from '#doc'

export const OrganizationStats = z
  .strictObject({
    total_members: z.int().meta({ description: doc('Members who were not removed.') }),
    active_rfcs: z.int().meta({ description: doc('Connections whose status is `active`.') }),
  })
  .meta({ id: 'OrganizationStats' })
export type OrganizationStats = z.infer<typeof OrganizationStats>
