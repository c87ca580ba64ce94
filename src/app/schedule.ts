import { collectInvoices } from '../accounts/billing/collect.ts'
import { runOperatorCommands } from '../accounts/billing/operator/commands.ts'
import { sweepRuns } from '../connections/extractors/runs/dispatch.ts'
import { sweepTicks } from '../connections/extractors/ticks/ticks.ts'
import { sweepExports } from '../copies/exports/making/work.ts'
import { sweepConnectors } from '../copies/mirror/review.ts'
import { notifyAlerts } from '../delivery/alerts/notify-alerts.ts'
import { notifyQuotas } from '../delivery/alerts/notify-quotas.ts'
import { sweepDeliveries } from '../delivery/deliveries/delivery.ts'
import { sweepMailboxes } from '../documents/mailbox/requests/requests.ts'
import { sweepVerifications } from '../downloads/downloads.ts'
import { sweepUnnotified } from '../downloads/missed-cancellations.ts'
import { sweepLookups } from '../lists/repse/repse.ts'
import { sweepRounds } from '../lists/repse/rounds.ts'
import { START, type System, systemOf } from '../platform/context.ts'
import { log } from '../platform/log.ts'
import { carryOutDeadLetters } from './dead-letters.ts'
import { resume } from './resume.ts'
import { DAILY, runTask, sendTasks, type TaskMessage } from './tasks.ts'

type Verb = (system: System) => Promise<unknown>

const begin =
  (task: TaskMessage['task']): Verb =>
  (system) =>
    runTask(system, { task, at: system.now.getTime(), cursor: START })

/** The verbs of each cron expression, which share an invocation. A cron can be missed or delivered twice, and the verbs bear both. */
export const CRONS: Readonly<Record<string, readonly Verb[]>> = {
  '* * * * *': [
    sweepTicks,
    sweepRuns,
    sweepUnnotified,
    sweepVerifications,
    sweepMailboxes,
    notifyAlerts,
    notifyQuotas,
    sweepDeliveries,
    sweepConnectors,
    sweepLookups,
    sweepRounds,
    sweepExports,
    (system) => runOperatorCommands(system, resume),
    carryOutDeadLetters,
    collectInvoices,
    // These go on in invocations of their own when there are many ledgers.
    begin('sweepJobs'),
    begin('sweepConversations'),
    begin('sweepFetches'),
    begin('sweepImports'),
    begin('sweepOutboxes'),
    begin('sweepReports'),
  ],
  '*/15 * * * *': [begin('midnight'), begin('readPending'), begin('sweepRechecks'), begin('resolveAlerts')],
  '0 10 * * *': [
    (system) =>
      sendTasks(
        system,
        DAILY.map((task) => ({ task, at: system.now.getTime(), cursor: START })),
      ),
  ],
}

/** Runs the verbs of a cron one after the other. One that fails does not keep the others from running; the cron fails at the end. */
export async function tick({ cron, scheduledTime }: Pick<ScheduledController, 'cron' | 'scheduledTime'>, env: Env): Promise<void> {
  const system = systemOf(env, new Date(scheduledTime), `cron_${scheduledTime}`)
  let failed = 0
  for (const verb of CRONS[cron] ?? [])
    await verb(system).catch((error: unknown) => {
      failed++
      log.error(system, 'A scheduled task failed.', { cron }, error)
    })
  if (failed > 0) throw new Error(`${failed} scheduled tasks failed.`)
}
