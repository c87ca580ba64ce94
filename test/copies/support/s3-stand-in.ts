import type { SpecOf } from '../../../src/copies/provider-contract.ts'
import { s3Refusal } from './s3-signature.ts'
import type { Knowledge, StandIn } from './wire.ts'

const BUCKET = 'fiscal-archive'
const REGION = 'mx-central-1'
const KEY_ID = 'AKIDEXAMPLEOFTESTS01'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

const refusal = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>Some text.</Message></Error>`, {
    status,
    headers: { 'content-type': 'application/xml', 'x-amz-request-id': 'B5H0' },
  })

/** Amazon S3 as its documentation describes it, with one bucket, in the host name or in the path. */
export class S3StandIn implements StandIn {
  readonly secrets = [SECRET, KEY_ID, 'session-token-of-tests']
  #objects = new Map<string, { bytes: Uint8Array; content_type: string }>()
  #config: Partial<SpecOf<'s3'>['config']>
  #token: string | undefined

  constructor(config: Partial<SpecOf<'s3'>['config']> = {}, token?: string) {
    this.#config = config
    this.#token = token
  }

  spec(knowledge: Knowledge): { provider: 's3' } & SpecOf<'s3'> {
    return {
      provider: 's3',
      config: {
        bucket: knowledge === 'missing place' ? 'none-of-this-name' : BUCKET,
        ...{ region: REGION, endpoint: null, path_style: null, ...this.#config },
      },
      credentials: {
        access_key_id: KEY_ID,
        secret_access_key: knowledge === 'wrong secret' ? `${SECRET}x` : SECRET,
        ...(this.#token !== undefined && { session_token: this.#token }),
      },
    }
  }

  objects = () => [...this.#objects].map(([path, object]) => ({ path, ...object }))

  async answer(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const body = new Uint8Array(await request.arrayBuffer())
    const headers: Record<string, string> = { ...Object.fromEntries(request.headers), host: url.host }
    const signed = { method: request.method, path: `${url.pathname}${url.search}`, headers, body }
    const refused = await s3Refusal(signed, (id) => (id === KEY_ID ? SECRET : undefined), REGION)
    if (refused) return refusal(refused.status, refused.code)
    if ((headers['x-amz-security-token'] ?? undefined) !== this.#token) return refusal(400, 'InvalidToken')
    const [bucket, key] = this.#placeOf(url)
    if (bucket !== BUCKET) return refusal(404, 'NoSuchBucket')
    return this.#apply(request.method, key, headers, body)
  }

  /** Bucket and key, by the host name that the connector's endpoint has. */
  #placeOf({ host, pathname }: URL): [string, string] {
    const { host: own, pathname: base } = new URL(this.#config.endpoint ?? `https://s3.${REGION}.amazonaws.com`)
    const path = pathname.slice(base === '/' ? 1 : base.length + 1)
    const [bucket, rest] = host === own ? [path.split('/')[0]!, path.slice(path.indexOf('/') + 1)] : [host.slice(0, -own.length - 1), path]
    return [bucket, decodeURIComponent(rest)]
  }

  async #apply(method: string, key: string, headers: Record<string, string>, body: Uint8Array): Promise<Response> {
    if (method === 'PUT') {
      if (new TextEncoder().encode(key).length > 1_024) return refusal(400, 'KeyTooLongError')
      const md5 = new Uint8Array(await crypto.subtle.digest('MD5', body)).toBase64()
      if (headers['content-md5'] !== undefined && headers['content-md5'] !== md5) return refusal(400, 'BadDigest')
      this.#objects.set(key, { bytes: body, content_type: headers['content-type'] ?? 'binary/octet-stream' })
      return new Response(null, { status: 200, headers: { etag: '"not-an-md5"' } })
    }
    if (method === 'DELETE') {
      this.#objects.delete(key)
      return new Response(null, { status: 204 })
    }
    const object = this.#objects.get(key)
    if (method !== 'GET') return refusal(405, 'MethodNotAllowed')
    return object
      ? new Response(object.bytes, { headers: { etag: '"not-an-md5"', 'content-type': object.content_type } })
      : refusal(404, 'NoSuchKey')
  }
}
