import type { SpecOf } from '../../../src/copies/provider-contract.ts'
import type { Knowledge, StandIn } from './wire.ts'

const ACCOUNT = 'fiscalarchive'
const CONTAINER = 'cfdi-archive'
const KEY = btoa('a key of sixty-four bytes as Azure gives it to storage accounts!')
const SAS = 'sv=2021-12-02&sr=c&sp=rcwd&se=2030-01-01T00%3A00%3A00Z&sig=c2VjcmV0LW9mLXRlc3Rz%2Bw%3D'

const refusal = (status: number, code: string): Response =>
  new Response(`\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>Some text.</Message></Error>`, {
    status,
    headers: { 'content-type': 'application/xml', 'x-ms-error-code': code },
  })

/** Azure Blob as its documentation describes it, with one container. What is signed is compared with the request that arrived. */
export class AzureStandIn implements StandIn {
  readonly secrets = [KEY, SAS, 'c2VjcmV0LW9mLXRlc3Rz']
  #objects = new Map<string, { bytes: Uint8Array; content_type: string }>()
  #kind: 'key' | 'sas'
  #endpoint: string | null

  constructor(kind: 'key' | 'sas', endpoint: string | null = null) {
    this.#kind = kind
    this.#endpoint = endpoint
  }

  spec(knowledge: Knowledge): { provider: 'azure_blob' } & SpecOf<'azure_blob'> {
    const isWrong = knowledge === 'wrong secret'
    return {
      provider: 'azure_blob',
      config: { account: ACCOUNT, container: knowledge === 'missing place' ? 'none' : CONTAINER, endpoint: this.#endpoint },
      credentials: this.#kind === 'key' ? { account_key: isWrong ? btoa('another') : KEY } : { sas_token: isWrong ? `${SAS}A` : SAS },
    }
  }

  objects = () => [...this.#objects].map(([path, object]) => ({ path, ...object }))

  async answer(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const body = new Uint8Array(await request.arrayBuffer())
    if (!(await this.#isAllowed(request, url, body))) return refusal(403, 'AuthenticationFailed')
    const base = new URL(this.#endpoint ?? `https://${ACCOUNT}.blob.core.windows.net`)
    if (url.host !== base.host) return refusal(400, 'InvalidUri')
    const [container, ...rest] = url.pathname.slice(base.pathname.replace(/\/$/, '').length + 1).split('/')
    if (container !== CONTAINER) return refusal(404, 'ContainerNotFound')
    return this.#apply(request, rest.map(decodeURIComponent).join('/'), body)
  }

  async #isAllowed({ method, headers }: Request, { pathname, search }: URL, body: Uint8Array): Promise<boolean> {
    if (this.#kind === 'sas') return search === `?${SAS}` && !headers.has('authorization')
    if (Math.abs(Date.parse(headers.get('x-ms-date') ?? '') - Date.now()) > 15 * 60_000) return false
    const own = [...headers].filter(([name]) => name.startsWith('x-ms-')).sort()
    const standard = [
      'content-md5',
      'content-type',
      'date',
      'if-modified-since',
      'if-match',
      'if-none-match',
      'if-unmodified-since',
      'range',
    ]
    const text = `${method}\n\n\n${body.length || ''}\n${standard.map((name) => `${headers.get(name) ?? ''}\n`).join('')}${own
      .map(([name, value]) => `${name}:${value}\n`)
      .join('')}/${ACCOUNT}${pathname}`
    const raw = Uint8Array.from(atob(KEY), (character) => character.charCodeAt(0))
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))).toBase64()
    return headers.get('authorization') === `SharedKey ${ACCOUNT}:${signature}`
  }

  async #apply({ method, headers }: Request, path: string, body: Uint8Array): Promise<Response> {
    if (method === 'PUT') {
      const md5 = new Uint8Array(await crypto.subtle.digest('MD5', body)).toBase64()
      if (headers.get('x-ms-blob-type') !== 'BlockBlob') return refusal(400, 'InvalidHeaderValue')
      if (headers.get('content-md5') !== md5) return refusal(400, 'Md5Mismatch')
      this.#objects.set(path, { bytes: body, content_type: headers.get('x-ms-blob-content-type') ?? 'application/octet-stream' })
      return new Response(null, { status: 201, headers: { etag: '"0x8D"', 'content-md5': md5 } })
    }
    const object = this.#objects.get(path)
    if (!object) return refusal(404, 'BlobNotFound')
    if (method !== 'DELETE')
      return new Response(object.bytes, { headers: { 'x-ms-blob-type': 'BlockBlob', 'content-type': object.content_type } })
    this.#objects.delete(path)
    return new Response(null, { status: 202 })
  }
}
