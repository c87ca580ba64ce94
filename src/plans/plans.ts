/** The limits of a plan; null is without limit (service.md, Limits). */
export interface Plan {
  name: string
  /** Number of extractors, disabled ones included. */
  extractors: number | null
  /** Number of seats: RFCs that are active or have an invalid CIEC. */
  rfcs: number | null
}

/** The plan of the trial, with which every organization begins. */
export const TRIAL_PLAN = 'diagnostic'

const enterprise = { extractors: null, rfcs: null }

const PLANS: Record<string, Plan> = {
  [TRIAL_PLAN]: { name: 'Diagnostic', extractors: 2, rfcs: 1 },
  starter: { name: 'Starter', extractors: 2, rfcs: 5 },
  api: { name: 'API', extractors: 5, rfcs: 50 },
  enterprise_bronze: { name: 'Enterprise Bronze', ...enterprise },
  enterprise_silver: { name: 'Enterprise Silver', ...enterprise },
  enterprise_gold: { name: 'Enterprise Gold', ...enterprise },
}

export const PLAN_KEYS = Object.keys(PLANS)

/** Returns the plan with this key. Throws an Error when there is none. */
export function planOf(key: string): Plan {
  const plan = PLANS[key]
  if (!plan) throw new Error(`There is no plan ${key}.`)
  return plan
}
