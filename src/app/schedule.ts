import { collectInvoices } from '../accounts/billing/collect.ts'
import { runOperatorCommands } from '../accounts/billing/operator/commands.ts'
import { notifyAlerts } from '../delivery/alerts/notify-alerts.ts'
import { notifyQuotas } from '../delivery/alerts/notify-quotas.ts'
import { type System, systemOf } from '../platform/context.ts'
import { log } from '../platform/log.ts'
import type { Budget } from '../platform/work/budget.ts'
import { carryOutDeadLetters } from './dead-letters.ts'
import { resume } from './resume.ts'
import { runTask, sendTasks, TASKS, type TaskMessage } from './tasks.ts'
import { WORK } from './work.ts'

type Verb = (system: System) => Promise<unknown>

const begin =
  (task: TaskMessage['task']): Verb =>
  (system) =>
    runTask(system, { task, at: system.now.getTime(), cursor: '' })

const SWEEPS = Object.values(WORK).flatMap(({ sweeps = [] }) => sweeps)
const QUARTERLY = ['midnight', 'readPending', 'sweepRechecks', 'resolveAlerts'] as const satisfies TaskMessage['task'][]

/** All other tasks. */
export const DAILY = (Object.keys(TASKS) as TaskMessage['task'][]).filter((task) => ![...SWEEPS, ...QUARTERLY].includes(task))

/** The verbs of each cron expression, which share an invocation. A cron can be missed or delivered twice, and the verbs bear both. */
export const CRONS: Readonly<Record<string, readonly Verb[]>> = {
  '* * * * *': [
    ...SWEEPS.filter((sweep) => typeof sweep !== 'string'),
    notifyAlerts,
    notifyQuotas,
    (system) => runOperatorCommands(system, resume),
    carryOutDeadLetters,
    collectInvoices,
    // These use the rest of the budget, and continue in invocations of their own.
    ...SWEEPS.filter((sweep) => typeof sweep === 'string').map(begin),
  ],
  '*/15 * * * *': QUARTERLY.map(begin),
  '0 10 * * *': [
    (system) =>
      sendTasks(
        system,
        DAILY.map((task) => ({ task, at: system.now.getTime(), cursor: '' })),
      ),
  ],
}

/** Runs the verbs of a cron one after the other. One that fails does not keep the others from running; the cron fails at the end. */
export async function tick(
  { cron, scheduledTime }: Pick<ScheduledController, 'cron' | 'scheduledTime'>,
  env: Env,
  budget?: Budget,
): Promise<void> {
  const system = systemOf(env, new Date(scheduledTime), `cron_${scheduledTime}`, budget)
  let failed = 0
  for (const verb of CRONS[cron] ?? [])
    await verb(system).catch((error: unknown) => {
      failed++
      log.error(system, 'A scheduled task failed.', { cron }, error)
    })
  if (failed > 0) throw new Error(`${failed} scheduled tasks failed.`)
}
