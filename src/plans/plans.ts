/** What a plan allows; null is without limit (service.md, Limits). */
export interface Plan {
  name: string
  /** Extractors that an organization may have configured, disabled ones included. */
  extractors: number | null
  /** Seats: RFCs that it may have connected with a CIEC and not suspended. */
  rfcs: number | null
}

/** The plan of the trial, which every organization begins with. */
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

/** Keys of plans, as organizations keep them. */
export const PLAN_KEYS = Object.keys(PLANS)

/** The plan with this key, as organizations keep it. */
export function planOf(key: string): Plan {
  const plan = PLANS[key]
  if (!plan) throw new Error(`There is no plan ${key}.`)
  return plan
}
