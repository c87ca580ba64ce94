import * as z from 'zod'

export const OrganizationStats = z
  .strictObject({
    total_members: z.int().meta({ description: 'People with an active membership, now.' }),
    active_rfcs: z.int().meta({ description: 'Active RFC connections, now.' }),
  })
  .meta({ id: 'OrganizationStats' })
export type OrganizationStats = z.infer<typeof OrganizationStats>
