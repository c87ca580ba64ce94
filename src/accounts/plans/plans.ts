/** A plan with its seats; null is without limit. Other limits are quotas (quotas.ts). */
export interface Plan {
  name: string
  /** Number of seats: RFCs that are active or have no valid CIEC or e.firma. */
  rfcs: number | null
}

/** The plan of the trial, with which every organization begins. */
export const TRIAL_PLAN = 'diagnostic'

const PLANS: Record<string, Plan> = {
  [TRIAL_PLAN]: { name: 'Diagnostic', rfcs: 1 },
  starter: { name: 'Starter', rfcs: 5 },
  api: { name: 'API', rfcs: 50 },
  enterprise_bronze: { name: 'Enterprise Bronze', rfcs: null },
  enterprise_silver: { name: 'Enterprise Silver', rfcs: null },
  enterprise_gold: { name: 'Enterprise Gold', rfcs: null },
}

export const PLAN_KEYS = Object.keys(PLANS)

/** Returns the plan with this key. Throws an Error when there is none. */
export function planOf(key: string): Plan {
  const plan = PLANS[key]
  if (!plan) throw new Error(`There is no plan ${key}.`)
  return plan
}
