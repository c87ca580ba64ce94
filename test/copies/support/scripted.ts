import type { DestinationSpec } from '../../../src/copies/provider-contract.ts'
import { type Knowledge, networkOf, type StandIn } from './wire.ts'

/** What goes wrong with one request of a scripted provider. */
export type Fault =
  /** It answers so, and does nothing. */
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** The connection breaks before the request has arrived; or after it took effect; or within the answer. */
  | 'unreachable'
  | 'lost'
  | 'cut'
  /** It takes effect, and the answer never comes. */
  | 'hang'
  /** It takes effect, and the answer is no JSON. */
  | 'garbage'

export interface Arrived {
  step: number
  method: string
  url: URL
  headers: Headers
  body: Uint8Array
}

/** Answers with JSON. */
export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json; charset=UTF-8', ...headers } })

/** The request is not one that the documentation allows. */
export class Undocumented extends Error {}

/** Refuses a request unless the condition holds. */
export function require(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Undocumented(what)
}

/**
 * A provider in the place of the network. It checks every request against the documentation of the real one and notes in `undocumented`
 * what this does not allow; it keeps files; and `faultAt` makes any request fail.
 */
export abstract class ScriptedProvider implements StandIn {
  readonly requests: Arrived[] = []
  readonly undocumented: string[] = []
  faultAt: (request: Arrived) => Fault | null | undefined = () => null

  /** The way to this provider, and to nothing else. */
  readonly network = networkOf((url, init) => this.#fetch(url, init))

  /** What it answers for. */
  abstract readonly hosts: readonly string[]
  abstract readonly secrets: readonly string[]
  abstract spec(knowledge: Knowledge): DestinationSpec
  abstract objects(): { path: string; bytes: Uint8Array; content_type: string }[]
  protected abstract answerTo(request: Arrived): Promise<Response> | Response
  /** How the provider refuses what it does not understand. */
  protected abstract refusal(what: string): Response

  /** The requests so far, as `GET /path`. */
  get calls(): string[] {
    return this.requests.map(({ method, url }) => `${method} ${url.host}${url.pathname}`)
  }

  /** The contents at each path, as a person sees them: several, if several files have one path. */
  get tree(): Record<string, string[]> {
    const tree: Record<string, string[]> = {}
    for (const { path, bytes } of this.objects()) tree[path] = [...(tree[path] ?? []), text(bytes)]
    return tree
  }

  async answer(request: Request): Promise<Response> {
    return this.#checked(await this.#arrived(request), request)
  }

  async #arrived(request: Request): Promise<Arrived> {
    const body = new Uint8Array(await request.arrayBuffer())
    const arrived = { step: this.requests.length, method: request.method, url: new URL(request.url), headers: request.headers, body }
    this.requests.push(arrived)
    return arrived
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const arrived = await this.#arrived(new Request(url, init))
    const fault = this.faultAt(arrived)
    if (fault === 'unreachable') throw new TypeError(`The connection to ${url} was refused.`)
    if (fault && typeof fault === 'object') return json(fault.status, fault.body ?? {}, fault.headers)
    const answer = await this.#checked(arrived, init)
    if (fault === 'lost') throw new TypeError(`The connection to ${url} was lost.`)
    if (fault === 'garbage') return new Response('<html>It works!</html>', { status: answer.status })
    if (fault === 'hang') return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    if (fault !== 'cut') return answer
    const half = new ReadableStream({ start: (controller) => controller.error(new TypeError(`The connection to ${url} broke.`)) })
    return new Response(half, { status: answer.status === 204 ? 200 : answer.status, headers: answer.headers })
  }

  async #checked(arrived: Arrived, { redirect }: { redirect?: string | undefined }): Promise<Response> {
    try {
      require(redirect === 'manual', 'Redirects are not followed.')
      require(arrived.url.protocol === 'https:', 'Everything is https.')
      return await this.answerTo(arrived)
    } catch (error) {
      if (!(error instanceof Undocumented)) throw error
      this.undocumented.push(`${arrived.method} ${arrived.url}: ${error.message}`)
      return this.refusal(error.message)
    }
  }
}

export const sha256 = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
export const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
export const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value)
