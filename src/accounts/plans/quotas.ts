import { Failure } from '../../platform/failures.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { planOf, TRIAL_PLAN } from './plans.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** What an organization may have of each thing; null is without limit. Imports are limited a day and in all. */
export interface Limits {
  /** Extractors, disabled ones included. */
  extractors: number | null
  webhooks: number | null
  /** Storage connectors, paused ones included. */
  storage_connectors: number | null
  /** Exports that are made or kept. */
  exports: number | null
  /** Blacklists of its own, and the RFCs on all of them. */
  blacklists: number | null
  blacklist_entries: number | null
  /** Connections without a CIEC or e.firma, paused ones included. */
  drafts: number | null
  /** Credentials that are not revoked. */
  credentials: number | null
  /** Invitations that are pending and have not expired. */
  invitations: number | null
  /** Bytes that are stored of imports: XML, rows and what they are found by. An upload counts until it is processed. */
  import_bytes_per_day: number | null
  import_bytes: number | null
  /** Documents that are stored because an import brought them. */
  import_documents_per_day: number | null
  import_documents: number | null
}
export type Quota = keyof Limits

interface LimitList {
  /** The first local day on which the list applies. */
  from: Day
  rule_ref: string
  plans: Record<string, Limits>
}

const ENTERPRISE: Limits = {
  extractors: null,
  webhooks: 20,
  storage_connectors: 20,
  exports: 200,
  blacklists: 100,
  blacklist_entries: 500_000,
  drafts: 10_000,
  credentials: 1_000,
  invitations: 500,
  import_bytes_per_day: 20 * GIB,
  import_bytes: 200 * GIB,
  import_documents_per_day: 2_000_000,
  import_documents: 5_000_000,
}

/** Newest first. New limits are a new list. */
const LISTS: readonly [LimitList, ...LimitList[]] = [
  {
    from: '2026-01-01',
    rule_ref: 'limits/2026-01-01',
    plans: {
      [TRIAL_PLAN]: {
        extractors: 2,
        webhooks: 20,
        storage_connectors: 1,
        exports: 5,
        blacklists: 2,
        blacklist_entries: 5_000,
        drafts: 25,
        credentials: 20,
        invitations: 25,
        import_bytes_per_day: 500 * MIB,
        import_bytes: GIB,
        import_documents_per_day: 250_000,
        import_documents: 250_000,
      },
      starter: {
        extractors: 2,
        webhooks: 20,
        storage_connectors: 2,
        exports: 20,
        blacklists: 5,
        blacklist_entries: 20_000,
        drafts: 10_000,
        credentials: 100,
        invitations: 50,
        import_bytes_per_day: 2 * GIB,
        import_bytes: 10 * GIB,
        import_documents_per_day: 500_000,
        import_documents: 1_000_000,
      },
      api: {
        extractors: 5,
        webhooks: 20,
        storage_connectors: 5,
        exports: 50,
        blacklists: 20,
        blacklist_entries: 100_000,
        drafts: 10_000,
        credentials: 100,
        invitations: 100,
        import_bytes_per_day: 5 * GIB,
        import_bytes: 50 * GIB,
        import_documents_per_day: 1_000_000,
        import_documents: 2_000_000,
      },
      enterprise_bronze: ENTERPRISE,
      enterprise_silver: ENTERPRISE,
      enterprise_gold: ENTERPRISE,
    },
  },
]

/** The words of a refusal: the things counted, that they are taken, and what makes room. */
const NOTIFIED: Record<Quota, { code: string; things: string; taken: string; remedy: string }> = {
  extractors: { code: 'extractor.plan_limit', things: 'extractors', taken: 'exist', remedy: 'Delete an extractor' },
  webhooks: { code: 'webhook.plan_limit', things: 'webhooks', taken: 'exist', remedy: 'Delete a webhook' },
  storage_connectors: {
    code: 'storage_connector.plan_limit',
    things: 'storage connectors',
    taken: 'exist',
    remedy: 'Delete a storage connector',
  },
  exports: { code: 'export.plan_limit', things: 'exports', taken: 'are made or kept', remedy: 'Delete an export' },
  blacklists: { code: 'blacklist.plan_limit', things: 'blacklists of your own', taken: 'exist', remedy: 'Delete a blacklist' },
  blacklist_entries: {
    code: 'blacklist_entry.plan_limit',
    things: 'RFCs on blacklists of your own',
    taken: 'would be on them',
    remedy: 'Send fewer',
  },
  drafts: { code: 'fiscal_entity.plan_limit', things: 'drafts', taken: 'exist', remedy: 'Unlink a draft, send its CIEC or e.firma' },
  credentials: { code: 'credential.plan_limit', things: 'credentials', taken: 'exist', remedy: 'Revoke a credential' },
  invitations: {
    code: 'invitation.plan_limit',
    things: 'pending invitations',
    taken: 'exist',
    remedy: 'Withdraw an invitation',
  },
  import_bytes_per_day: {
    code: 'import.plan_limit',
    things: 'bytes of imports a day',
    taken: 'were imported today',
    remedy: 'Try again tomorrow',
  },
  import_bytes: { code: 'import.plan_limit', things: 'bytes of imports', taken: 'are in use', remedy: 'Delete an import' },
  import_documents_per_day: {
    code: 'import.plan_limit',
    things: 'imported documents a day',
    taken: 'were imported today',
    remedy: 'Try again tomorrow',
  },
  import_documents: { code: 'import.plan_limit', things: 'imported documents', taken: 'exist', remedy: 'Delete an import' },
}

export const QUOTAS = Object.keys(NOTIFIED) as Quota[]

/** What a quota counts. */
export const UNITS = ['items', 'bytes', 'documents'] as const
export const unitOf = (quota: Quota): (typeof UNITS)[number] =>
  quota.startsWith('import_bytes') ? 'bytes' : quota.startsWith('import_documents') ? 'documents' : 'items'

/** The limits of a plan, by the list of a local day. Throws an Error when there is no such plan. */
export function limitsOf(plan: string, day: Day): Limits & { rule_ref: string } {
  const { rule_ref, plans } = LISTS.find(({ from }) => from <= day) ?? LISTS[LISTS.length - 1]!
  const limits = plans[plan]
  if (!limits) throw new Error(`There are no limits for the plan ${plan}.`)
  return { ...limits, rule_ref }
}

/** The code of the refusal, which is also the name of its guard. */
export const codeOf = (quota: Quota): string => NOTIFIED[quota].code

/** One sentence with both numbers and one with the way out. */
export function explainLimit(plan: string, quota: Quota, limit: number, used: number): string {
  const { things, taken, remedy } = NOTIFIED[quota]
  return `The plan ${planOf(plan).name} allows ${limit} ${things} and ${used} ${taken}. ${remedy} or change the plan.`
}

/** The refusal, 409, of exceeding a limit. */
export const limitReached = (plan: string, quota: Quota, limit: number, used: number): Failure =>
  new Failure('no_room', codeOf(quota), explainLimit(plan, quota, limit, used))
