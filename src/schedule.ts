import { collectInvoices } from './billing/collect.ts'
import { suspendExpired } from './billing/expiry.ts'
import { issueInvoices } from './billing/invoices/issue.ts'
import { runOperatorCommands } from './billing/operator/commands.ts'
import { reviewSubscriptions } from './billing/subscription/review.ts'
import { refreshLists } from './blacklists/loading/load.ts'
import { sweepJobs, sweepVerifications } from './downloads/downloads.ts'
import { sweepUntold } from './downloads/missed-cancellations.ts'
import { pruneJobs } from './downloads/prune.ts'
import { finishRuns } from './extractors/runs/dispatch.ts'
import { pruneRuns } from './extractors/runs/history.ts'
import { evaluateCadences, sweepTicks } from './extractors/ticks/ticks.ts'
import { sweepImports, sweepUploads } from './imports/processing.ts'
import { sweepUploadObjects } from './imports/uploads.ts'
import { carryOutLetters } from './letters.ts'
import { type System, systemOf } from './platform/context.ts'
import { each } from './platform/each.ts'
import { pruneKeys } from './platform/idempotency/idempotency.ts'
import { log } from './platform/log.ts'
import { reportLetters } from './platform/queues/dead-letters.ts'
import { sweepLookups } from './repse/lookups.ts'
import { refreshRepse, sweepRounds } from './repse/rounds.ts'
import { pruneAttempts } from './taxpayers/attempts.ts'
import { sweepDeliveries } from './webhooks/deliveries/delivery.ts'
import { pruneEvents } from './webhooks/deliveries/prune.ts'
import { rewrapSecrets } from './webhooks/endpoints/signing.ts'
import { sweepOutboxes } from './webhooks/relay/relay.ts'

/** Runs verbs one after the other, also when one before failed. */
const inOrder =
  (...verbs: ((system: System) => Promise<void>)[]) =>
  (system: System): Promise<void> =>
    each(verbs, (verb) => verb(system))

/** The verbs of each cron expression. A cron can be missed or delivered twice, and the verbs bear both. */
const VERBS: Record<string, readonly ((system: System) => Promise<void>)[]> = {
  '* * * * *': [
    sweepTicks,
    finishRuns,
    sweepJobs,
    sweepUntold,
    sweepVerifications,
    sweepImports,
    sweepOutboxes,
    sweepDeliveries,
    sweepLookups,
    sweepRounds,
    runOperatorCommands,
    carryOutLetters,
    collectInvoices,
  ],
  // In this order, because an organization that is suspended at midnight gets no downloads that night.
  '*/15 * * * *': [inOrder(suspendExpired, evaluateCadences)],
  '0 10 * * *': [
    issueInvoices,
    reviewSubscriptions,
    pruneEvents,
    rewrapSecrets,
    refreshLists,
    refreshRepse,
    pruneKeys,
    pruneRuns,
    pruneJobs,
    sweepUploads,
    sweepUploadObjects,
    pruneAttempts,
    reportLetters,
  ],
}

/** Runs the verbs of a cron. One that fails does not keep the others from running; the cron fails at the end. */
export async function tick({ cron, scheduledTime }: ScheduledController, env: Env): Promise<void> {
  const system = systemOf(env, new Date(scheduledTime), `cron_${scheduledTime}`)
  const results = await Promise.allSettled((VERBS[cron] ?? []).map((verb) => verb(system)))
  const failed = results.filter((result) => result.status === 'rejected')
  for (const { reason } of failed) log.error(system, 'A scheduled task failed.', { cron }, reason)
  if (failed.length > 0) throw new Error(`${failed.length} scheduled tasks failed.`)
}
