import { systemOf } from '../../platform/context.ts'
import { counted } from '../../platform/db/commit.ts'
import { log } from '../../platform/log.ts'
import { clock } from '../../platform/time/clock.ts'
import { Budget } from '../../platform/work/budget.ts'
import { appFor } from '../app.ts'
import { tick } from '../schedule.ts'
import { consume } from '../work.ts'
import { keepTime, MOVE } from './moves.ts'
import { walk } from './walk.ts'

/** What the platform calls, by the service's clock. */
export const entries = {
  async fetch(request: Request, env: Env, context?: ExecutionContext): Promise<Response> {
    // Which needs no time, and asks its database rarely.
    if (new URL(request.url).pathname !== '/health') await keepTime(env)
    return appFor(request).fetch(request, env, context)
  },

  async queue({ queue, messages }: Pick<MessageBatch, 'queue' | 'messages'>, env: Env): Promise<void> {
    const budget = new Budget()
    await keepTime(env, counted(env.DB, budget))
    const isMove = ({ body }: Message) => JSON.stringify(body) === JSON.stringify(MOVE)
    const others = messages.filter((message) => !isMove(message))
    if (others.length > 0) await consume({ queue, messages: others }, env, budget)
    for (const message of messages.filter(isMove))
      await walk(env, `msg_${message.id}`).catch((error: unknown) => {
        // The next minute goes on.
        log.error(systemOf(env, clock.date(), `msg_${message.id}`), 'The clock could not be moved on.', {}, error)
      })
  },

  /** While the clock moves, what is due by it is fired there. */
  async scheduled({ cron, scheduledTime }: Pick<ScheduledController, 'cron' | 'scheduledTime'>, env: Env): Promise<void> {
    const budget = new Budget()
    if (await keepTime(env, counted(env.DB, budget), true)) await env.TASKS.send(MOVE)
    else await tick({ cron, scheduledTime: scheduledTime + clock.ahead }, env, budget)
  },
}
