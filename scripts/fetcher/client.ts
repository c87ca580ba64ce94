/** What a fetcher leases (docs/fetcher.openapi.json). */
export interface Leased {
  lease_id: string
  until: string
  task: 'login' | 'month' | 'documents'
  rfc: string
  ciec: string
  source: string | null
  month: string | null
}

/** What completes a lease: counts of packages, or the list of the documents that were uploaded. */
export interface Completion {
  metadata?: number
  xml?: number
  is_whole?: boolean
  documents?: readonly object[]
  notifications?: readonly object[]
}

/** Sends requests: fetch itself, or what a test puts in its place. */
export type Send = (request: Request) => Promise<Response>

const hex = (bytes: ArrayBuffer): string => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const utf8 = new TextEncoder()

/** The service did not do what was asked of it. */
export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`The service answered ${status} ${code}.`)
    this.status = status
    this.code = code
  }
}

/** Speaks the contract of the fetcher with a service. `key` is one of FETCHER_KEYS: `{version}:{base64 of 32 bytes}`. */
export function fetcherClient(origin: string, key: string, send: Send = fetch) {
  const [version = '', encoded = ''] = key.split(':')
  const raw = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))

  async function ask(method: string, path: string, bytes: Uint8Array, type: string): Promise<unknown> {
    const body = new Uint8Array(bytes)
    const timestamp = String(Math.floor(Date.now() / 1_000))
    const digest = hex(await crypto.subtle.digest('SHA-256', body))
    const hmac = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    const mac = await crypto.subtle.sign('HMAC', hmac, utf8.encode([timestamp, method, path, digest].join('.')))
    const headers = {
      ...{ 'content-type': type, 'fetcher-timestamp': timestamp, 'fetcher-digest': digest },
      'fetcher-signature': `${version}:${btoa(String.fromCharCode(...new Uint8Array(mac)))}`,
    }
    const answer = await send(new Request(`${origin}${path}`, { method, headers, body }))
    const text = await answer.text()
    const said = (text === '' ? null : JSON.parse(text)) as { code?: string } | null
    if (!answer.ok) throw new Refused(answer.status, said?.code ?? '')
    return said
  }
  const post = (path: string, body: object = {}) => ask('POST', path, utf8.encode(JSON.stringify(body)), 'application/json')
  const of = ({ lease_id }: Pick<Leased, 'lease_id'>, verb: string): string => `/fetcher/v1/leases/${lease_id}/${verb}`

  return {
    /** Signs and sends any request. Returns the answer, null for an empty one. Throws Refused. */
    ask,
    lease: async (): Promise<Leased | null> =>
      ((await post('/fetcher/v1/leases', { nonce: crypto.randomUUID() })) as { lease: Leased | null }).lease,
    renew: async (lease: Leased): Promise<string> => ((await post(of(lease, 'renew'))) as { until: string }).until,
    upload: (lease: Leased, kind: 'metadata' | 'xml', n: number, zip: Uint8Array) =>
      ask('PUT', of(lease, `packages/${kind}/${n}`), zip, 'application/zip'),
    /** Returns the SHA-256 of the document, by which the list names it. */
    async uploadDocument(lease: Leased, n: number, bytes: Uint8Array): Promise<string> {
      await ask('PUT', of(lease, `documents/${n}`), bytes, 'application/octet-stream')
      return hex(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))
    },
    complete: (lease: Leased, completion: Completion) => post(of(lease, 'complete'), completion),
    fail: (lease: Leased, error_class: string) => post(of(lease, 'fail'), { error_class }),
  }
}

export type FetcherClient = ReturnType<typeof fetcherClient>
