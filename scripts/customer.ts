import { setTimeout as sleep } from 'node:timers/promises'
import { checkDigit } from '../src/taxpayers/rfc.ts'

export interface Sync {
  status: 'idle' | 'running'
  jobs: { queued: number; running: number; succeeded: number; failed: number; total: number }
  percent: number
}

interface Credential {
  api_key: string
  api_secret: string
}

const SLOW_LIMIT_MS = 30_000

/** Repeats a GET while nothing answers, because a service that died is being restarted. */
async function answered(method: string, url: string, init: RequestInit): Promise<Response> {
  for (const until = Date.now() + SLOW_LIMIT_MS; ; await sleep(250)) {
    try {
      return await fetch(url, init)
    } catch (error) {
      if (method !== 'GET' || Date.now() > until) throw error
    }
  }
}

/** A customer that uses the service over HTTP. */
export class Customer {
  readonly url: string
  readonly credential: Credential

  private constructor(url: string, credential: Credential) {
    this.url = url
    this.credential = credential
  }

  static async signUp(url: string, organization_name: string): Promise<Customer> {
    const nobody = new Customer(url, { api_key: '', api_secret: '' })
    const draft = { organization_name, name: 'Ada Pérez', email: `ada.${Date.now()}@example.com` }
    const { credential } = await nobody.ask<{ credential: Credential }>('POST', '/v1/auth/signup', draft)
    return new Customer(url, credential)
  }

  /** Sends a request and returns the body. Throws an Error with the answer when the service refuses. */
  async ask<Body>(method: string, path: string, json?: unknown): Promise<Body> {
    const { api_key, api_secret } = this.credential
    const response = await answered(method, `${this.url}${path}`, {
      method,
      headers: {
        ...(api_key === '' ? {} : { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      signal: AbortSignal.timeout(30_000),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 1_000)}`)
    return JSON.parse(text) as Body
  }

  async connect(rfc: string): Promise<string> {
    // The sandbox accepts any CIEC that does not begin with `rejected`.
    return (await this.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).fiscal_entity_id
  }

  sync(fiscal_entity_id: string): Promise<Sync> {
    return this.ask<Sync>('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)
  }
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const MARKS = `${LETTERS}123456789`

/**
 * A random RFC of a company, which most likely nobody has connected yet. In the sandbox, one that begins with `DEM` has every kind of
 * document.
 */
export function randomRfc(letters?: 'DEM'): string {
  const any = (from: string) => from[Math.floor(Math.random() * from.length)]!
  const two = (least: number, most: number) => String(least + Math.floor(Math.random() * (most - least + 1))).padStart(2, '0')
  const stem = `${letters ?? any(LETTERS) + any(LETTERS) + any(LETTERS)}${two(5, 20)}${two(1, 12)}${two(1, 28)}${any(MARKS)}${any(MARKS)}`
  return stem + checkDigit(`${stem}0`)
}
