import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Customer } from '../../../scripts/customer.ts'
import { all } from './books.ts'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

type Behaviour = (response: ServerResponse, request: IncomingMessage) => unknown

const BEHAVIOURS: Record<string, Behaviour> = {
  '200': (response) => response.end('ok'),
  '500': (response) => response.writeHead(500).end('broken'),
  '429': (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  '404': (response) => response.writeHead(404).end('no such hook'),
  '302': (response) => response.writeHead(302, { location: '/200' }).end(),
  '103': (response) => response.writeHead(103).end(),
  hang: () => {},
  cut: (_, request) => request.socket.destroy(),
  big: (response) => response.writeHead(200).end(Buffer.alloc(10_000_000, 'x')),
  slow: async (response) => {
    response.writeHead(200).flushHeaders()
    for (let n = 0; n < 100 && !response.destroyed; n++) {
      response.write(`part ${n} `)
      await sleep(100)
    }
    response.end()
  },
}

/** A customer's server, on loopback: the last part of a path says how it behaves. */
export class Hooks {
  readonly received: Received[] = []
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  static async open(): Promise<Hooks> {
    const hooks = new Hooks()
    await new Promise<void>((done) => hooks.#server.listen(0, '127.0.0.1', done))
    return hooks
  }

  get sink(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    try {
      for await (const part of request) parts.push(part as Buffer)
    } catch {
      return
    }
    const path = request.url ?? ''
    this.received.push({ path, headers: request.headers, body: Buffer.concat(parts) })
    await BEHAVIOURS[path.split('/').at(-1)!]!(response, request)
  }

  of = (path: string): Received[] => this.received.filter((one) => one.path === path)

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** What a customer does with the secret: nothing of ours in it. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const [version, hex = ''] = String(headers['service-signature']).split(',')
  const expected = createHmac('sha256', secret).update(body).digest()
  const given = Buffer.from(hex, 'hex')
  return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
}

export interface Endpoint {
  webhook_id: string
  signing_secret: string
}

export interface Delivery {
  event_id: string
  event_key: string
  status: string
  attempts: {
    attempt: number
    attempted_at: string
    duration_ms: number
    status_code: number | null
    error: string | null
    response_body: string | null
  }[]
  next_attempt_at: string | null
}

/** Registers a webhook at a path of the sink. */
export const register = (customer: Customer, path: string, event_keys: readonly string[] = ['sync.completed']): Promise<Endpoint> =>
  customer.ask<Endpoint>('POST', '/v1/webhooks', { name: path, url: `https://hooks.example.com${path}`, event_keys })

/** The delivery log of a webhook. */
export const logOf = (customer: Customer, { webhook_id }: Endpoint): Promise<Delivery[]> =>
  all<Delivery>(customer, `/v1/webhooks/${webhook_id}/deliveries?limit=100`)
