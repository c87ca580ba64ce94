import * as z from 'zod'
import { collectInvoices } from '../accounts/billing/collect.ts'
import { runOperatorCommands } from '../accounts/billing/operator/commands.ts'
import { notifyAlerts, notifyQuotas } from '../delivery/alerts/alerts.ts'
import { type System, systemOf } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { log } from '../platform/log.ts'
import { databaseOf, type Outbox, wakeRelay } from '../platform/outbox/outbox.ts'
import { dropStatement, putBackStatements } from '../platform/outbox/pending.ts'
import type { Budget } from '../platform/work/budget.ts'
import { type DeadLetter, deleteDeadLetters, listDecidedDeadLetters, refuseRetry } from '../platform/work/dead-letters.ts'
import { resume } from './resume.ts'
import { runTask, sendTasks, TASKS, type TaskMessage } from './tasks.ts'
import { resend, WORK } from './work.ts'

/** Carries out what operators decide about dead letters with `npm run dead-letters`. */
/** Letters of one sweep. */
const PAGE = 200

/** The letter of an outbox event, as the relay writes it. */
const Quarantined = z.object({ outbox: z.union([z.literal('control'), z.int().min(0)]), entity: z.int(), outbox_event_id: z.string() })
type Quarantined = z.infer<typeof Quarantined>

/** Puts letters back or drops them as an operator has decided. The letters go last, so that a crash only repeats the work. */
export async function carryOutDeadLetters(system: System): Promise<void> {
  const deadLetters = await listDecidedDeadLetters(system, PAGE)
  const events = new Map<string, { outbox: Outbox; wanted: DeadLetter['wanted']; keys: Quarantined[] }>()
  const refused: DeadLetter[] = []
  for (const deadLetter of deadLetters) {
    const { wanted, queue } = deadLetter
    const body: unknown = JSON.parse(deadLetter.body)
    const event = queue === 'outbox' ? Quarantined.safeParse(body).data : undefined
    if (event) {
      const key = `${event.outbox} ${wanted}`
      const same = events.get(key)
      if (same) same.keys.push(event)
      else events.set(key, { outbox: event.outbox, wanted, keys: [event] })
    } else if (wanted === 'retry' && !(await resend(system, body))) refused.push(deadLetter)
  }
  for (const { outbox, wanted, keys } of events.values()) {
    const d1 = databaseOf(system, outbox)
    await commit(d1, wanted === 'retry' ? putBackStatements(keys) : [dropStatement(keys)])
    if (wanted === 'retry') await wakeRelay(system, outbox)
  }
  if (refused.length > 0) await refuseRetry(system, refused)
  if (deadLetters.length > 0) await deleteDeadLetters(system, deadLetters)
}

type Verb = (system: System) => Promise<unknown>

const begin =
  (task: TaskMessage['task']): Verb =>
  (system) =>
    runTask(system, { task, at: system.now.getTime(), cursor: '' })

const SWEEPS = Object.values(WORK).flatMap(({ sweeps = [] }) => sweeps)
const QUARTERLY = [
  'midnight',
  'readPending',
  'sweepRechecks',
  'resolveAlerts',
  'mailAlerts',
  'mailDigests',
  'expireLinks',
  'expireConsents',
] as const satisfies TaskMessage['task'][]

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
