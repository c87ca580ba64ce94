import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { consume, WORK } from '../../../src/app/work.ts'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import worker from '../../../src/index.ts'

interface Sent {
  queue: string
  body: unknown
  /** Milliseconds of the service's clock. */
  due: number
}

const QUEUES = {
  DOWNLOADS: 'downloads',
  DOWNLOADS_SPREAD: 'downloads-spread',
  DISPATCH: 'dispatch',
  IMPORTS: 'imports',
  WEBHOOKS: 'webhooks',
  REPSE: 'repse',
  STORAGE: 'storage',
  REPORTS: 'reports',
  EXPORTS: 'exports',
  TASKS: 'tasks',
} as const

const MAX_ROUNDS = 500

/**
 * Takes the queues over: a message stays here until `deliverAll` hands it to its consumer. Nothing of the service runs by itself, so that a
 * history has the same order each time.
 */
export class Messages {
  #waiting: Sent[] = []

  constructor() {
    const names = new Map<unknown, string>(Object.entries(QUEUES).map(([binding, queue]) => [env[binding as keyof typeof QUEUES], queue]))
    const keep = (queue: unknown, body: unknown, delaySeconds = 0): void => {
      this.#waiting.push({ queue: names.get(queue) ?? 'unknown', body: structuredClone(body), due: Date.now() + 1_000 * delaySeconds })
    }
    const prototype = Object.getPrototypeOf(env.DOWNLOADS)
    // One message is handled at a time.
    vi.spyOn(env.MUTEXES, 'getByName').mockReturnValue({ enter: async () => true, leave: async () => false } as never)
    vi.spyOn(worker, 'queue').mockResolvedValue(undefined)
    // To its end, before another message is handled.
    vi.spyOn(WORK['mirror']!, 'handle').mockImplementation(workOnConnector as never)
    vi.spyOn(prototype, 'send').mockImplementation(async function (this: unknown, body, options) {
      keep(this, body, (options as QueueSendOptions | undefined)?.delaySeconds)
    })
    vi.spyOn(prototype, 'sendBatch').mockImplementation(async function (this: unknown, messages) {
      for (const { body, delaySeconds } of messages as Iterable<MessageSendRequest>) keep(this, body, delaySeconds)
    })
  }

  /** Hands every due message to its consumer, in order, until none is due. */
  async deliverAll(): Promise<void> {
    for (let round = 0; ; round++) {
      const due = this.#waiting.filter(({ due }) => due <= Date.now())
      if (due.length === 0) return
      if (round === MAX_ROUNDS) throw new Error(`Messages never end: ${JSON.stringify(due.slice(0, 3))}`)
      this.#waiting = this.#waiting.filter((one) => !due.includes(one))
      // The same hint twice is the same work.
      for (const { queue, body } of new Map(due.map((one) => [JSON.stringify([one.queue, one.body]), one])).values())
        await this.#deliver(queue, body)
    }
  }

  async #deliver(queue: string, body: unknown): Promise<void> {
    const message = {
      ...{ id: crypto.randomUUID(), timestamp: new Date(), body, attempts: 1 },
      ack: () => {},
      retry: (options?: QueueRetryOptions) => this.#waiting.push({ queue, body, due: Date.now() + 1_000 * (options?.delaySeconds ?? 0) }),
    }
    const batch = { queue: `fiscal-local-${queue}`, messages: [message], ackAll: () => {}, retryAll: () => {} }
    await consume(batch as unknown as MessageBatch, env)
  }

  /** Runs a cron at the service's time, and everything that follows. */
  cron(expression: '* * * * *' | '*/15 * * * *' | '0 10 * * *'): Promise<void> {
    return this.cronAt(expression, new Date())
  }

  /** The same at another time, as if it had been fired by hand. */
  async cronAt(expression: string, scheduledTime: Date): Promise<void> {
    await worker.scheduled(createScheduledController({ cron: expression, scheduledTime }), env)
    await this.deliverAll()
  }
}
