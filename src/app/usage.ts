import { type SQL, sql } from 'drizzle-orm'
import type { BillingUsage, QuotaUsage } from '../accounts/billing/contract.ts'
import { subscriptionStatus } from '../accounts/billing/subscription/status.ts'
import { getSubscription } from '../accounts/billing/subscription/subscription.ts'
import { credentialsUsed } from '../accounts/credentials/credentials.ts'
import { QUOTAS, type Quota, unitOf } from '../accounts/plans/quotas.ts'
import { limitsNow } from '../accounts/plans/reserve-quota.ts'
import { invitationsUsed } from '../accounts/team/invitations.ts'
import { importUsage } from '../cfdi/imports/usage/usage.ts'
import { connectorsUsed } from '../copies/connectors/connectors.ts'
import { exportsUsed } from '../copies/exports/exports.ts'
import { webhooksUsed } from '../delivery/endpoints/endpoints.ts'
import { entriesUsed, listsUsed } from '../lists/custom/custom.ts'
import { type Ctx, eventsOf } from '../platform/context.ts'
import { readFirst } from '../platform/db/statement.ts'
import { bytesKept, MOST_OF_A_DAY } from '../platform/idempotency/idempotency.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../platform/time/calendar.ts'
import { countActiveConnections, draftsUsed } from '../taxpayers/taxpayers.ts'

/**
 * How many units of each quota are used, and how many bytes of answers were kept today. Each number is a counter, or a count of no more rows
 * than the quota allows.
 */
async function usedNow(ctx: Ctx, today: Day): Promise<Record<Quota | 'kept_answers', number>> {
  const { db, organization, now } = ctx
  const counts: Record<string, SQL> = {
    blacklists: listsUsed(organization.id),
    blacklist_entries: entriesUsed(organization.id),
    drafts: draftsUsed(organization.id),
    credentials: credentialsUsed(organization.id),
    invitations: invitationsUsed(organization.id, now),
    exports: exportsUsed(organization.id, now),
    kept_answers: sql`coalesce((${bytesKept(organization.id, today)}), 0)`,
  }
  const columns = Object.entries(counts).map(([name, count]) => sql`(${count}) as ${sql.identifier(name)}`)
  const [counted, used, imports] = await Promise.all([
    readFirst(db.$client, sql<Record<Quota | 'kept_answers', number>>`select ${sql.join(columns, sql`, `)}`),
    readFirst(
      eventsOf(ctx).$client,
      sql<
        Pick<Record<Quota, number>, 'webhooks' | 'storage_connectors'>
      >`select (${webhooksUsed(organization.id)}) as webhooks, (${connectorsUsed(organization.id)}) as storage_connectors`,
    ),
    importUsage(ctx),
  ])
  return { ...counted!, ...used!, extractors: organization.extractor_count, ...imports }
}

/** Returns what counts against the plan now. */
export async function getUsage(ctx: Ctx): Promise<BillingUsage> {
  const { db, organization, now } = ctx
  const today = localDayOf(now, organization.timezone)
  const [subscription, active, used] = await Promise.all([
    getSubscription(ctx),
    countActiveConnections(db, { id: organization.id }),
    usedNow(ctx, today),
  ])
  const tomorrow = firstInstantOf(dayOfEpoch(epochDayOf(today) + 1), organization.timezone).toISOString()
  const { rule_ref, ...limits } = limitsNow(ctx)
  const usageOf = (quota: Quota): QuotaUsage => ({
    used: used[quota],
    limit: limits[quota],
    unit: unitOf(quota),
    resets_at: quota.endsWith('_per_day') ? tomorrow : null,
  })
  return {
    period: today.slice(0, 7),
    active_rfcs: active[0]!.n,
    seats: { used: subscription.seats_used, limit: subscriptionStatus(subscription, now).allowance },
    extractors: { used: used.extractors, limit: limits.extractors },
    rule_ref,
    kept_answers: { used: used.kept_answers, limit: MOST_OF_A_DAY, unit: 'bytes', resets_at: tomorrow },
    quotas: Object.fromEntries(QUOTAS.map((quota) => [quota, usageOf(quota)])) as BillingUsage['quotas'],
  }
}
