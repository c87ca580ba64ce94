import * as z from 'zod'
import { suspendExpired } from '../accounts/billing/expiry.ts'
import { issueInvoices } from '../accounts/billing/invoices/issue.ts'
import { reviewSubscriptions } from '../accounts/billing/subscription/review.ts'
import { pruneSessions } from '../accounts/console/sessions.ts'
import { pruneMails } from '../accounts/mails/mails.ts'
import { sweepReports } from '../analytics/reports/work.ts'
import { refreshRates } from '../authority/rules/rates/rates.ts'
import { sweepUploadObjects } from '../cfdi/imports/imports.ts'
import { sweepImports, sweepUploads } from '../cfdi/imports/processing.ts'
import { expireConsents } from '../connections/consents/consents.ts'
import { pruneRuns } from '../connections/extractors/runs/history.ts'
import { evaluateCadences } from '../connections/extractors/ticks/ticks.ts'
import { expireLinks } from '../connections/links/links.ts'
import { rewrapCredentials } from '../copies/connector.ts'
import { expireExports } from '../copies/exports/making/work.ts'
import { reviewConnectors } from '../copies/mirror/review.ts'
import { resolveAlerts } from '../delivery/alerts/alerts.ts'
import { pruneEvents } from '../delivery/deliveries/prune.ts'
import { rewrapSecrets } from '../delivery/endpoints/endpoints.ts'
import { notifyListings } from '../delivery/list-notifications/notify.ts'
import { sweepOutboxes } from '../delivery/relay/relay.ts'
import { alertCertificates } from '../documents/certificates.ts'
import { notifyDueSoon } from '../documents/obligations/due-soon.ts'
import { readPending } from '../documents/pending.ts'
import { pruneUploads, sweepFetches } from '../downloads/awaited.ts'
import { sweepJobs } from '../downloads/downloads.ts'
import { pruneJobs } from '../downloads/pruning/prune.ts'
import { sweepRechecks } from '../downloads/status/rechecks.ts'
import { watchCancellations } from '../downloads/status/watch.ts'
import { refreshLists } from '../lists/loading/load.ts'
import { refreshRepse } from '../lists/repse/rounds.ts'
import { pruneAudit } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { pruneKeys } from '../platform/idempotency/idempotency.ts'
import { reportDeadLetters } from '../platform/work/dead-letters.ts'
import { each } from '../platform/work/pages.ts'
import { sendAll } from '../platform/work/send.ts'
import { pruneAttempts } from '../taxpayers/attempts/attempts.ts'
import { alertEfirmas, rewrapLogins } from '../taxpayers/upkeep.ts'
import { verifyIdle } from '../taxpayers/verification.ts'
import { mailAlerts } from './mails/alerts.ts'
import { mailDigests } from './mails/digest.ts'
import { resume } from './resume.ts'

/**
 * A part of a cron's work that can be of any size. It works from a cursor, '' at first, and returns the cursor where another invocation
 * continues, or null when it is done. A repetition, also one that runs at the same time, does no harm.
 */
type Task = (system: System, cursor: string) => Promise<string | null>

const once =
  (verb: (system: System) => Promise<void>): Task =>
  async (system) => {
    await verb(system)
    return null
  }

/** The cursor of `midnight` once every organization that is due is suspended. */
const CADENCES = 'cadences'

/** Suspends, and evaluates cadences only then: an organization that is suspended at midnight gets no downloads that night. */
async function midnight(system: System, cursor: string): Promise<string | null> {
  let next: string | null = null
  const suspend = async () => {
    if (cursor !== CADENCES) next = await suspendExpired(system, resume, cursor)
  }
  const evaluate = async () => {
    if (next === null && (await evaluateCadences(system)) !== null) next = CADENCES
  }
  // Cadences are evaluated also when some organizations could not be suspended.
  await each([suspend, evaluate], (step) => step())
  return next
}

/** Tasks run once a day, each in an invocation of its own, except those that schedule.ts and a sweep of work.ts name. */
export const TASKS = {
  midnight,
  sweepJobs,
  sweepConversations: async (system: System, cursor?: string) =>
    (await import('../downloads/conversation/converse.ts')).sweepConversations(system, cursor),
  sweepFetches,
  sweepImports,
  sweepOutboxes,
  sweepReports,
  issueInvoices,
  reviewSubscriptions: (system: System, cursor?: string) => reviewSubscriptions(system, resume, cursor),
  resolveAlerts,
  mailAlerts,
  mailDigests,
  pruneEvents,
  rewrapSecrets,
  rewrapCredentials,
  refreshLists,
  notifyListings,
  refreshRates: once(refreshRates),
  refreshRepse: once(refreshRepse),
  pruneKeys,
  pruneSessions,
  pruneAudit,
  pruneRuns,
  expireExports,
  pruneJobs,
  sweepUploads: once(sweepUploads),
  pruneUploads,
  sweepUploadObjects: once(sweepUploadObjects),
  pruneAttempts: once(pruneAttempts),
  pruneMails: once(pruneMails),
  expireLinks,
  expireConsents,
  verifyIdle,
  rewrapLogins,
  alertEfirmas,
  alertCertificates,
  notifyDueSoon,
  readPending,
  sweepRechecks,
  watchCancellations,
  reviewConnectors,
  reportDeadLetters: once(reportDeadLetters),
} as const satisfies Record<string, Task>

/** A message of the queue of tasks: the time `at` for which the task works, in milliseconds, and the cursor where it continues. */
export const TaskMessage = z.strictObject({
  task: z.enum(Object.keys(TASKS) as (keyof typeof TASKS)[]),
  at: z.int().min(0),
  cursor: z.string(),
})
export type TaskMessage = z.infer<typeof TaskMessage>

export const sendTasks = (system: System, messages: readonly TaskMessage[]): Promise<void> =>
  sendAll(
    system.env.TASKS,
    messages.map((body) => ({ body })),
  )

/** Works on a task, and sends it on when the budget ends first. */
export async function runTask(system: System, { task, at, cursor }: TaskMessage): Promise<void> {
  const next = await TASKS[task]({ ...system, now: new Date(at) }, cursor)
  if (next !== null) await sendTasks(system, [{ task, at, cursor: next }])
}
