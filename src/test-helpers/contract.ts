import * as z from 'zod'
import { PLAN_KEYS } from '../billing/plans.ts'
import { CfdiUuid, FiscalEntityId } from '../http/shapes.ts'

export const OrganizationScenario = z
  .strictObject({
    plan: z.enum(PLAN_KEYS).optional(),
    rfc_allowance: z.int().min(0).max(1_000_000).nullable().optional(),
    trial_ends_at: z.iso.datetime({ offset: true }).nullable().optional(),
  })
  .meta({ id: 'OrganizationScenario' })
export type OrganizationScenario = z.infer<typeof OrganizationScenario>

export const ScenarioOrganization = z
  .strictObject({ id: z.string(), plan: z.string(), rfc_allowance: z.int().nullable(), trial_ends_at: z.string().nullable() })
  .meta({ id: 'ScenarioOrganization' })
export type ScenarioOrganization = z.infer<typeof ScenarioOrganization>

export const CancellationScenario = z
  .strictObject({
    fiscal_entity_id: FiscalEntityId,
    cancellation_reason: z.enum(['01', '02', '03', '04']).optional(),
    cancelled_at: z.iso.datetime({ offset: true }).optional(),
  })
  .meta({ id: 'CancellationScenario' })
export type CancellationScenario = z.infer<typeof CancellationScenario>

export const Told = z.strictObject({ status: z.literal('accepted') }).meta({ id: 'Told' })

export const CfdiPath = z.strictObject({ uuid: CfdiUuid })
