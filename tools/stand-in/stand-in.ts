import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Authority, type Reply } from './authority.ts'
import type { Behaviour } from './requests.ts'
import type { Step } from './script.ts'
import { Truth } from './truth/truth.ts'

export interface StandInOptions extends Partial<Behaviour> {
  truth?: Truth
  script?: readonly Step[]
}

const HOURS = 3_600_000

/** What stands in for the authority, without a server. */
export const newAuthority = ({ truth = new Truth(), script = [], ...behaviour }: StandInOptions = {}): Authority =>
  new Authority(
    truth,
    {
      ...{ checks: 0, packageSize: 1_000, quirks: [], withheld: new Set<string>(), unlisted: new Set<string>() },
      ...{ garbled: new Set<string>(), misdated: new Map<string, string>(), limits: { CFDI: 200_000, Metadata: 1_000_000 } },
      ...{ tokenLifeMs: 300_000, packageLifeMs: 72 * HOURS, strict: false, now: () => new Date(Date.now()) },
      ...behaviour,
    },
    script,
  )

/**
 * Sends requests to it as `fetch` does, where there is no Node server: in the place of EGRESS. A connection that breaks is an error of the
 * request, or of the body.
 */
export const sendTo =
  (authority: Authority) =>
  async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const { host, pathname } = new URL(request.url)
    const headers = Object.fromEntries([...request.headers])
    const answer = authority.answer({ method: request.method, host, path: pathname, headers, body: await request.text() })
    if (answer.delayMs > 0) await waiting(answer.delayMs, init?.signal ?? null)
    if (answer.closes === 'before') throw new TypeError('The connection was closed.')
    const parts = answer.body[Symbol.iterator]()
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (answer.dripMs > 0) await waiting(answer.dripMs, init?.signal ?? null)
        const { value, done } = parts.next()
        if (!done) return controller.enqueue(encoder.encode(value))
        if (answer.closes === 'within') controller.error(new TypeError('The connection was closed.'))
        else controller.close()
      },
    })
    return new Response(body, { status: answer.status, headers: { 'content-type': answer.type } })
  }

const waiting = (milliseconds: number, signal: AbortSignal | null): Promise<void> =>
  new Promise((done, failed) => {
    const timer = setTimeout(done, milliseconds)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      failed(signal.reason)
    })
  })

export interface StandIn {
  /** For SAT_STAND_IN. */
  url: string
  authority: Authority
  log: Authority['log']
  truth: Truth
  close: () => Promise<void>
}

/** Starts a server on loopback that stands in for the authority. Port 0 is any free one. */
export async function startStandIn({ port = 0, ...options }: StandInOptions & { port?: number } = {}): Promise<StandIn> {
  const authority = newAuthority(options)
  const server = createServer((request, response) => {
    handle(authority, request, response).catch(() => response.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority,
    log: authority.log,
    truth: authority.truth,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Answers a request of a Node server. */
export async function handle(authority: Authority, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const answer = authority.answer({
    method: request.method!,
    host: headers['host'] ?? '',
    path: request.url!.split('?')[0]!,
    headers,
    body: Buffer.concat(parts).toString(),
  })
  if (answer.delayMs > 0) await sleep(answer.delayMs)
  if (answer.closes === 'before') return void response.destroy()
  await write(answer, response)
}

async function drained(response: ServerResponse): Promise<void> {
  const over = new AbortController()
  await Promise.race(['drain', 'close'].map((event) => once(response, event, over)))
  over.abort()
}

async function write({ status, type, body, dripMs, closes }: Reply, response: ServerResponse): Promise<void> {
  response.writeHead(status, { 'content-type': type })
  for (const part of body) {
    if (dripMs > 0) await sleep(dripMs)
    if (!response.write(part) && !response.destroyed) await drained(response)
    if (response.destroyed) return
  }
  if (closes !== 'within') return void response.end()
  // What was written arrives first.
  await sleep(20)
  response.destroy()
}
