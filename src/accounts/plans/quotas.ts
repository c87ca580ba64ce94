import { Failure } from '../../platform/failures.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { planOf, TRIAL_PLAN } from './plans.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** The code of each refusal, and its words: the things counted, that they are taken, and what makes room. */
const WORDS = {
  extractors: ['extractor.plan_limit', 'extractors', 'exist', 'Delete an extractor'],
  webhooks: ['webhook.plan_limit', 'webhooks', 'exist', 'Delete a webhook'],
  storage_connectors: ['storage_connector.plan_limit', 'storage connectors', 'exist', 'Delete a storage connector'],
  exports: ['export.plan_limit', 'exports', 'are made or kept', 'Delete an export'],
  blacklists: ['blacklist.plan_limit', 'blacklists of your own', 'exist', 'Delete a blacklist'],
  blacklist_entries: ['blacklist_entry.plan_limit', 'RFCs on blacklists of your own', 'would be on them', 'Send fewer'],
  drafts: ['fiscal_entity.plan_limit', 'drafts', 'exist', 'Unlink a draft, send its CIEC or e.firma'],
  credentials: ['credential.plan_limit', 'credentials', 'exist', 'Revoke a credential'],
  invitations: ['invitation.plan_limit', 'pending invitations', 'exist', 'Withdraw an invitation'],
  import_bytes_per_day: ['import.plan_limit', 'bytes of imports a day', 'were imported today', 'Try again tomorrow'],
  import_bytes: ['import.plan_limit', 'bytes of imports', 'are in use', 'Delete an import'],
  import_documents_per_day: ['import.plan_limit', 'imported documents a day', 'were imported today', 'Try again tomorrow'],
  import_documents: ['import.plan_limit', 'imported documents', 'exist', 'Delete an import'],
} as const satisfies Record<string, readonly [code: string, things: string, taken: string, remedy: string]>

export type Quota = keyof typeof WORDS
export type Limits = Record<Quota, number | null>

interface LimitList {
  /** The first local day on which the list applies. */
  from: Day
  rule_ref: string
  /** What an organization may have of each thing, by plan; null is without limit. Imports are limited a day and in all. */
  limits: Record<Quota, readonly [trial: number | null, starter: number | null, api: number | null, enterprise: number | null]>
}

/** Newest first. New limits are a new list. */
const LISTS: readonly [LimitList, ...LimitList[]] = [
  {
    from: '2026-01-01',
    rule_ref: 'limits/2026-01-01',
    limits: {
      extractors: [2, 2, 5, null],
      webhooks: [20, 20, 20, 20],
      storage_connectors: [1, 2, 5, 20],
      exports: [5, 20, 50, 200],
      blacklists: [2, 5, 20, 100],
      blacklist_entries: [5_000, 20_000, 100_000, 500_000],
      drafts: [25, 10_000, 10_000, 10_000],
      credentials: [20, 100, 100, 1_000],
      invitations: [25, 50, 100, 500],
      import_bytes_per_day: [500 * MIB, 2 * GIB, 5 * GIB, 20 * GIB],
      import_bytes: [GIB, 10 * GIB, 50 * GIB, 200 * GIB],
      import_documents_per_day: [250_000, 500_000, 1_000_000, 2_000_000],
      import_documents: [250_000, 1_000_000, 2_000_000, 5_000_000],
    },
  },
]

/** The column of each plan in a list. */
const COLUMNS: Record<string, 0 | 1 | 2 | 3> = {
  ...{ [TRIAL_PLAN]: 0, starter: 1, api: 2 },
  ...{ enterprise_bronze: 3, enterprise_silver: 3, enterprise_gold: 3 },
}

export const QUOTAS = Object.keys(WORDS) as Quota[]

/** What a quota counts. */
export const UNITS = ['items', 'bytes', 'documents'] as const
export const unitOf = (quota: Quota): (typeof UNITS)[number] =>
  quota.startsWith('import_bytes') ? 'bytes' : quota.startsWith('import_documents') ? 'documents' : 'items'

/** The limits of a plan, by the list of a local day. Throws an Error when there is no such plan. */
export function limitsOf(plan: string, day: Day): Limits & { rule_ref: string } {
  const { rule_ref, limits } = LISTS.find(({ from }) => from <= day) ?? LISTS[LISTS.length - 1]!
  const column = COLUMNS[plan]
  if (column === undefined) throw new Error(`There are no limits for the plan ${plan}.`)
  return { ...(Object.fromEntries(QUOTAS.map((quota) => [quota, limits[quota][column]])) as Limits), rule_ref }
}

/** The code of the refusal, which is also the name of its guard. */
export const codeOf = (quota: Quota): string => WORDS[quota][0]

/** One sentence with both numbers and one with the way out. */
export function explainLimit(plan: string, quota: Quota, limit: number, used: number): string {
  const [, things, taken, remedy] = WORDS[quota]
  return `The plan ${planOf(plan).name} allows ${limit} ${things} and ${used} ${taken}. ${remedy} or change the plan.`
}

/** The refusal, 409, of exceeding a limit. */
export const limitReached = (plan: string, quota: Quota, limit: number, used: number): Failure =>
  new Failure('no_room', codeOf(quota), explainLimit(plan, quota, limit, used))
