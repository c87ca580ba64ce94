import { createMessageBatch, createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { TaskMessage } from '../../src/app/tasks.ts'
import { consume } from '../../src/app/work.ts'
import worker from '../../src/index.ts'

/**
 * Fires the daily cron, and then each of its tasks in an invocation of its own, until nothing sends itself on. Returns the tasks of which a
 * message would be retried.
 */
export async function daily(bindings: Env = env, time = new Date()): Promise<string[]> {
  const sent: TaskMessage[] = []
  const TASKS = { sendBatch: async (messages: Iterable<{ body: TaskMessage }>) => void sent.push(...[...messages].map(({ body }) => body)) }
  const own = { ...bindings, TASKS } as unknown as Env
  await worker.scheduled(createScheduledController({ cron: '0 10 * * *', scheduledTime: time }), own)
  const retried: string[] = []
  for (let n = 0; sent.length > 0; n++) {
    if (n > 1_000) throw new Error('The daily tasks never end.')
    const body = sent.shift()!
    const batch = createMessageBatch('fiscal-local-tasks', [{ id: `task${n}`, timestamp: new Date(), attempts: 1, body }])
    batch.messages[0]!.retry = () => void retried.push(body.task)
    await consume(batch, own)
  }
  return retried
}
