import * as z from 'zod'

export const OrganizationStats = z
  .strictObject({
    total_members: z.int().meta({ description: 'Members who were not removed.' }),
    active_rfcs: z.int().meta({ description: 'Connections whose status is `active`.' }),
  })
  .meta({ id: 'OrganizationStats' })
export type OrganizationStats = z.infer<typeof OrganizationStats>
