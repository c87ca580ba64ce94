import { createExecutionContext, createMessageBatch, createScheduledController, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { consume, WORK } from '../../src/app/work.ts'
import { workOnConnector } from '../../src/copies/mirror/work.ts'
import worker from '../../src/index.ts'
import { Budget } from '../../src/platform/work/budget.ts'
import { basic, type Caller } from './client.ts'
import { type Method, ownerOf, patched } from './meter.ts'

/** What one invocation of the Worker used. */
export interface Invocation {
  /** The cron, or the queue's purpose. */
  of: string
  /** D1 statements, each of a batch counted, those of a refused batch too. */
  statements: number
  /** Those that its budget counted. */
  counted: number
  /** The most connections that were open at once: calls of D1, R2, queues, Durable Objects, services and the network. */
  connections: number
}

interface Sent {
  purpose: string
  body: unknown
}

const QUEUES = {
  ...{ DOWNLOADS: 'downloads', DOWNLOADS_SPREAD: 'downloads-spread', DISPATCH: 'dispatch', IMPORTS: 'imports', WEBHOOKS: 'webhooks' },
  ...{ REPSE: 'repse', STORAGE: 'storage', REPORTS: 'reports', EXPORTS: 'exports', TASKS: 'tasks' },
}
const OBJECTS = ['COOLDOWNS', 'MUTEXES', 'HOST_LIMITERS', 'DOWNLOAD_TURNS'] as const

/** The platform around the Worker in a test's hands: it measures each invocation, and keeps messages until the test delivers them. */
export class Platform {
  /** Messages that were sent and not delivered yet, whatever their delay. */
  readonly sent: Sent[] = []
  readonly invocations: Invocation[] = []
  readonly deadLetters: Sent[] = []
  /** Bytes of the largest message. */
  bytes = 0
  readonly env: Env
  #messages = 0
  #open = 0
  #peak = 0
  #statements = 0

  constructor(bindings: Partial<Record<keyof Env, unknown>> = {}) {
    // Its background belongs to the invocation.
    vi.spyOn(WORK['mirror']!, 'handle').mockImplementation(workOnConnector as never)
    const queue = (purpose: string) => ({
      send: (body: unknown) => this.#connection(async () => this.#keep(purpose, body)),
      sendBatch: (batch: Iterable<{ body: unknown }>) =>
        this.#connection(async () => {
          for (const { body } of batch) this.#keep(purpose, body)
        }),
    })
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        // Called as a method: what a stub of a Durable Object has is a path to it, not a function. No stub is a promise.
        get: (object, key) =>
          key === 'then'
            ? undefined
            : (...args: unknown[]) =>
                this.#connection(() => (object as Record<string | symbol, Method>)[key]!(...args) as Promise<unknown>),
      })
    const namespace = (name: (typeof OBJECTS)[number]) => ({ getByName: (of: string) => counted(env[name].getByName(of)) })
    this.env = {
      ...env,
      ...Object.fromEntries(Object.entries(QUEUES).map(([name, purpose]) => [name, queue(purpose)])),
      ...Object.fromEntries(OBJECTS.map((name) => [name, namespace(name)])),
      EGRESS: { fetch: async () => new Response(null, { status: 204 }) },
      ...bindings,
    } as unknown as Env
    this.env.EGRESS = counted(this.env.EGRESS as unknown as object) as never
    this.env.PDF = counted(this.env.PDF as unknown as object) as never
    // A load may put a stand-in there later.
    const storage = { fetch: (...args: unknown[]) => (env.STORAGE_EGRESS as unknown as { fetch: Method }).fetch(...args) }
    this.env.STORAGE_EGRESS = counted(storage) as never
  }

  #keep(purpose: string, body: unknown): void {
    this.bytes = Math.max(this.bytes, new TextEncoder().encode(JSON.stringify(body)).length)
    this.sent.push({ purpose, body: structuredClone(body) })
  }

  async #connection<T>(work: () => Promise<T>): Promise<T> {
    this.#open++
    this.#peak = Math.max(this.#peak, this.#open)
    try {
      return await work()
    } finally {
      this.#open--
    }
  }

  /** Measures an invocation. The bindings' prototypes are patched inside this isolate, so nothing else may run meanwhile. */
  async measure<T>(of: string, work: () => Promise<T>): Promise<T> {
    this.#peak = this.#statements = 0
    const connection = (count: (args: unknown[]) => number) => (method: Method) => {
      const open = <T>(args: unknown[], call: () => Promise<T>) => {
        this.#statements += count(args)
        return this.#connection(call)
      }
      return function (this: unknown, ...args: unknown[]) {
        return open(args, () => method.apply(this, args) as Promise<unknown>)
      }
    }
    const session = (env.LEDGER_0 as unknown as { alwaysPrimarySession: object }).alwaysPrimarySession
    const sent = connection(([, statements]) => (Array.isArray(statements) ? statements.length : 1))
    const none = connection(() => 0)
    const counting = vi.spyOn(Budget.prototype, 'count')
    const undo = [
      patched(ownerOf(session, '_send'), '_send', sent),
      ...['get', 'put', 'head', 'delete', 'list'].map((name) => patched(ownerOf(env.FILES, name), name, none)),
    ]
    try {
      return await work()
    } finally {
      for (const restore of undo) restore()
      this.invocations.push({ of, statements: this.#statements, counted: counting.mock.calls.length, connections: this.#peak })
      counting.mockRestore()
    }
  }

  /** Fires a cron. */
  cron = (cron: string, time = new Date()): Promise<void> =>
    this.measure(cron, async () => worker.scheduled(createScheduledController({ cron, scheduledTime: time }), this.env))

  /** Makes a request as a customer does. */
  async fetch(of: string, caller: Caller, path: string, more: { body?: BodyInit; type?: string } = {}): Promise<Response> {
    const headers = { authorization: basic(caller), ...(more.type !== undefined && { 'content-type': more.type }) }
    const request = new Request(`https://api.example.com${path}`, {
      method: 'POST',
      headers,
      ...(more.body !== undefined && { body: more.body }),
    })
    const context = createExecutionContext()
    return this.measure(of, async () => {
      const response = await worker.fetch(request, this.env, context)
      await waitOnExecutionContext(context)
      return response
    })
  }

  /** Delivers messages of a queue as one batch. Those that are to be retried are sent again, and become dead letters after five times. */
  async deliver(purpose: string, bodies: readonly unknown[]): Promise<void> {
    const batch = createMessageBatch(
      `fiscal-local-${purpose}`,
      bodies.map((body) => ({ id: `message${++this.#messages}`, timestamp: new Date(), attempts: 1, body })),
    )
    for (const message of batch.messages) message.retry = () => void this.deadLetters.push({ purpose, body: message.body })
    await this.measure(purpose, () => consume(batch, this.env))
  }

  /** Delivers what was sent, one message an invocation, and what that sends, until nothing is left or `isDone`. */
  async run(of: readonly string[] = Object.values(QUEUES), most = 500): Promise<void> {
    for (let n = 0; ; n++) {
      const at = this.sent.findIndex(({ purpose }) => of.includes(purpose))
      if (at === -1) return
      if (n === most) throw new Error(`${most} invocations did not end the work.`)
      const [message] = this.sent.splice(at, 1)
      await this.deliver(message!.purpose, [message!.body])
    }
  }

  /** What was sent to a queue and not delivered yet. */
  of = (purpose: string): unknown[] => this.sent.filter((message) => message.purpose === purpose).map(({ body }) => body)
}
