import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Authority } from '../../stand-in/authority.ts'
import { handle } from '../../stand-in/stand-in.ts'

export interface Waiting {
  queue: string
  id: string
  /** When it was sent, and from when on it may be delivered, by the service's clock. */
  sent: number
  due: number
  attempts: number
  body: unknown
}

/** Delivers a message to the service. Returns the seconds after which it is to come again; null when it was handled. */
type Deliver = (message: Waiting) => Promise<number | null>

const MOST_ATTEMPTS = 6
/** On a busy machine the first message comes late after the answer that it follows. */
const LIVE_SLOW_LIMIT_MS = 60_000
/** The platform bills a message of more bytes several times. */
const BYTES = 64_000

interface InBatch {
  body: string
  delaySecs?: number
}

/**
 * The queues of the platform, and the receivers of webhooks or the authority, as a server on loopback. Messages wait until they are drained, one after the
 * other in the order of their times, or are delivered as they come.
 */
export class Queues {
  /** Operations: a message is written, read and deleted; one that is retried is read again. */
  operations = 0
  messages = 0
  /** Called for each delivery of a webhook. */
  received: (event: unknown) => void = () => {}
  /** The stand-in of the authority, to which requests go in the place of webhooks. */
  authority: Authority | null = null
  readonly #waiting: Waiting[] = []
  readonly #server: Server
  readonly #now: () => number
  #deliver: Deliver | null = null
  #live = new Set<Promise<void>>()
  #failed: unknown = null

  constructor(now: () => number) {
    this.#now = now
    this.#server = createServer(async (request, response) => {
      try {
        if (this.authority !== null && request.headers['x-for'] === 'egress') return await handle(this.authority, request, response)
        await this.#take(request)
        response.setHeader('content-type', 'application/json').end('{"metadata":{"metrics":{"backlogCount":0,"backlogBytes":0}}}')
      } catch (error) {
        this.#failed = error
        response.writeHead(500).end()
      }
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #take(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const queue = String(request.headers['x-for'])
    if (queue === 'egress') return this.received(JSON.parse(String(body)))
    const delay = Number(request.headers['x-msg-delay-secs'] ?? 0)
    if (request.url !== '/batch') return this.#keep(queue, body, delay)
    for (const one of (JSON.parse(String(body)) as { messages: InBatch[] }).messages)
      this.#keep(queue, Buffer.from(one.body, 'base64'), one.delaySecs ?? delay)
  }

  #keep(queue: string, body: Buffer, delay: number): void {
    if (body.length > BYTES) throw new Error(`A message of ${body.length} bytes is billed several times, which the meter does not do.`)
    const sent = this.#now()
    this.messages++
    this.operations += 3
    this.#wait({ queue, id: `m${this.messages}`, sent, due: sent + delay * 1_000, attempts: 1, body: JSON.parse(String(body)) })
  }

  #wait(message: Waiting): void {
    if (this.#deliver === null || message.due > this.#now()) {
      this.#waiting.push(message)
      return
    }
    const delivered: Promise<void> = this.#handle(message, this.#deliver).catch((error: unknown) => {
      this.#failed = error
    })
    this.#live.add(delivered)
    delivered.finally(() => this.#live.delete(delivered))
  }

  async #handle(message: Waiting, deliver: Deliver): Promise<void> {
    const delay = await deliver(message)
    if (delay === null) return
    if (message.attempts === MOST_ATTEMPTS) throw new Error(`A message fails again and again: ${JSON.stringify(message)}`)
    this.operations++
    this.#wait({ ...message, attempts: message.attempts + 1, due: this.#now() + delay * 1_000 })
  }

  /** Delivers what waits, and what that sends, until nothing is due. `mayWait` takes the clock to a later message, or says no. */
  async drain(deliver: Deliver, mayWait: (due: number) => Promise<boolean>): Promise<void> {
    for (let n = 0; ; n++) {
      if (this.#failed) throw this.#failed
      if (n === 100_000) throw new Error('100,000 messages did not end the work.')
      const next = this.#waiting.reduce<Waiting | null>((first, one) => (first === null || one.due < first.due ? one : first), null)
      if (next === null || (next.due > this.#now() && !(await mayWait(next.due)))) return
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      await this.#handle(next, deliver)
    }
  }

  /** Delivers messages as they come, however many at once, while `work` runs, until it has ended (or a minute is over), and none is left for a moment. */
  async live(deliver: Deliver, work: () => Promise<void>, hasEnded: () => boolean): Promise<void> {
    this.#deliver = deliver
    try {
      await work()
      const until = Date.now() + LIVE_SLOW_LIMIT_MS
      for (let quiet = 0; quiet < 10; quiet++) {
        if (this.#failed) throw this.#failed
        for (const message of this.#waiting.splice(0)) this.#wait(message)
        if (this.#live.size > 0 || !(hasEnded() || Date.now() > until)) quiet = 0
        await sleep(10)
      }
    } finally {
      this.#deliver = null
    }
  }
}
