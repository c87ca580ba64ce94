import type { OnLearned } from '../../../src/copies/drivers/adapters.ts'
import { destinationOf } from '../../../src/copies/drivers/adapters.ts'
import type { Network } from '../../../src/copies/drivers/drives.ts'
import type { Destination, StoredObject } from '../../../src/copies/drivers/port.ts'
import type { DestinationSpec } from '../../../src/copies/provider-contract.ts'

/** What a connector knows: all of it right, another secret, or a bucket, container or folder that does not exist. */
export type Knowledge = 'right' | 'wrong secret' | 'missing place'

/** A provider that a test plays. */
export interface StandIn {
  spec(knowledge: Knowledge): DestinationSpec
  /** Answers a request as the provider's documentation says, and refuses what it does not allow. */
  answer(request: Request): Promise<Response>
  /** All objects that lie there: two when two have the same path. */
  objects(): { path: string; bytes: Uint8Array; content_type: string }[]
  /** What no error may contain. */
  readonly secrets: readonly string[]
}

/** The way to a stand-in. It keeps the requests, and one of them can go wrong. */
export class Wire {
  readonly requests: Request[] = []
  /** How many requests were given up. */
  aborted = 0
  #standIn: StandIn
  #failing: { step: number; lasts: boolean; answer: (request: Request) => Promise<Response> } | null = null

  constructor(standIn: StandIn) {
    this.#standIn = standIn
  }

  open(knowledge: Knowledge = 'right', onLearned: OnLearned = async () => {}): Destination {
    return this.openSpec(this.#standIn.spec(knowledge), onLearned)
  }

  openSpec(spec: DestinationSpec, onLearned: OnLearned = async () => {}): Destination {
    return destinationOf(networkOf(this.#fetch), spec, onLearned)
  }

  /** From now on, the request of this number, counted from 0, gets this answer; when it lasts, those after it too. */
  fail(step: number, answer: (request: Request) => Promise<Response>, lasts = false): void {
    this.requests.length = 0
    this.#failing = { step, lasts, answer }
  }

  mend(): void {
    this.#failing = null
  }

  #fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (init.redirect !== 'manual') throw new Error('Redirects must not be followed.')
    const request = new Request(url, init)
    const step = this.requests.push(request.clone() as Request) - 1
    const { signal } = init
    const late = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error(`aborted ${++this.aborted}`))))
    late.catch(() => null)
    const failing = this.#failing
    const isFailing = failing && (failing.lasts ? step >= failing.step : step === failing.step)
    const answer = isFailing ? failing.answer(request) : this.#standIn.answer(request)
    return Promise.race([answer, late])
  }
}

export const networkOf = (fetch: (url: string, init: RequestInit) => Promise<Response>): Network => ({
  fetch,
  publicHosts: ['api.service.example'],
})

export async function objectOf(bytes: Uint8Array | string, content_type = 'application/xml'): Promise<StoredObject> {
  const content = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes
  return { bytes: content, content_type, sha256: await sha256Of(content) }
}

async function sha256Of(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
