import { WorkerEntrypoint } from 'cloudflare:workers'
import { type WithSecrets, withSecrets } from '../src/platform/secrets.ts'
import { consume } from '../src/queues.ts'
import { tick } from '../src/schedule.ts'

/** The Worker of background work: the consumers of the queues and the crons. */
export default class Background extends WorkerEntrypoint<WithSecrets> {
  override async queue(batch: MessageBatch): Promise<void> {
    await consume(batch, await withSecrets(this.env))
  }

  override scheduled({ cron, scheduledTime }: ScheduledController): Promise<void> {
    return this.tick(cron, scheduledTime)
  }

  /** What `scheduled` does, for the local runtime, which fires every cron at the Worker that answers requests. */
  async tick(cron: string, scheduledTime: number): Promise<void> {
    await tick({ cron, scheduledTime }, await withSecrets(this.env))
  }
}
