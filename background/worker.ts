import { WorkerEntrypoint } from 'cloudflare:workers'
import type { Secrets } from '../src/platform/secrets.ts'
import { consume } from '../src/queues.ts'
import { tick } from '../src/schedule.ts'

interface Bindings extends Env {
  SECRETS: Service<Secrets>
}

/** The bindings with the secrets, as the last invocation had them: what is derived from them is kept as long as they are the same. */
let known: { secrets: string; env: Env } | null = null

async function bindingsOf(env: Bindings): Promise<Env> {
  const given = await env.SECRETS.all()
  const secrets = JSON.stringify(given)
  known = known?.secrets === secrets ? known : { secrets, env: { ...env, ...given } }
  return known.env
}

/** The Worker of background work: the consumers of the queues and the crons. */
export default class Background extends WorkerEntrypoint<Bindings> {
  override async queue(batch: MessageBatch): Promise<void> {
    await consume(batch, await bindingsOf(this.env))
  }

  override scheduled({ cron, scheduledTime }: ScheduledController): Promise<void> {
    return this.tick(cron, scheduledTime)
  }

  /** What `scheduled` does, for the local runtime, which fires every cron at the Worker that answers requests. */
  async tick(cron: string, scheduledTime: number): Promise<void> {
    await tick({ cron, scheduledTime }, await bindingsOf(this.env))
  }
}
