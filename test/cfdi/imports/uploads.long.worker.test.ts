import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { sweepUploadObjects } from '../../../src/cfdi/imports/imports.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { basic } from '../../support/client.ts'
import { randomOf } from '../../support/random.ts'
import { connect, synced, type Tenant } from '../../support/tenants.ts'
import { send } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'
import { plainOf, xmlOf } from '../support/documents.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})
afterEach(() => {
  vi.restoreAllMocks()
})

const MIB = 1024 * 1024
const DAY = 24 * 3_600_000
const random = randomOf(67)
const utf8 = new TextEncoder()
const XML = { 'content-type': 'application/xml' }

let owner: Tenant
let path: string
let rfc: string
beforeAll(async () => {
  ;({ owner } = await organizationWith())
  const connection = await connect(owner, undefined, { ciec: 'empty' })
  rfc = connection.rfc
  path = `/v1/fiscal-entities/${connection.fiscal_entity_id}/cfdi/imports`
  await synced(owner, connection.fiscal_entity_id)
})

const invoice = (): Uint8Array => utf8.encode(xmlOf(plainOf(random, '2026-05', { emisor: rfc })))
const keys = async () => (await env.FILES.list({ prefix: 'imports/' })).objects.map(({ key }) => key)

/** A body that comes in parts of 256 KiB, without a length. */
const streamed = (bytes: Uint8Array): ReadableStream => {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      // A part of a body has memory of its own, which is freed once it has been stored.
      controller.enqueue(bytes.slice(at, at + MIB / 4))
      at += MIB / 4
    },
  })
}

/** A body of so many blanks that comes in parts, without a length. */
const blank = (size: number): ReadableStream => {
  const part = new Uint8Array(MIB / 4).fill(32)
  let left = size
  return new ReadableStream({
    pull(controller) {
      if (left === 0) return controller.close()
      controller.enqueue(part.slice(0, left))
      left -= Math.min(left, part.length)
    },
  })
}

const post = (body: BodyInit, headers: Record<string, string> = XML, to = path) =>
  send('POST', to, { authorization: basic(owner), headers, body })

const completed = (import_id: string) =>
  vi.waitUntil(
    async () => {
      const { body } = await send('GET', `${path}/${import_id}`, { authorization: basic(owner) })
      return body.status === 'completed' && body
    },
    { timeout: 20_000, interval: 20 },
  )

async function sweepAfter(passed: number): Promise<void> {
  const now = Date.now()
  vi.spyOn(Date, 'now').mockImplementation(() => now + passed)
  await sweepUploadObjects(systemOf(env, new Date(now + passed), 'sweep'))
  vi.restoreAllMocks()
}

describe('the body of an upload', () => {
  it('is imported the same whether its length is known or not, also in several parts', async () => {
    const padded = (size: number) => {
      const bytes = new Uint8Array(size).fill(32)
      bytes.set(invoice())
      return bytes
    }
    const cases: [BodyInit, Record<string, string>][] = [
      [invoice(), XML],
      [streamed(invoice()), XML],
    ]
    const [declared, open] = [padded(3 * MIB), padded(3 * MIB)]
    cases.push([declared, { ...XML, 'content-length': String(declared.length) }], [streamed(open), XML])
    for (const [body, headers] of cases) {
      const { status, body: made } = await post(body, headers)
      expect(status).toBe(202)
      expect((await completed(made.import_id)).counts).toEqual({ created: 1, updated: 0, unchanged: 0, rejected: 0 })
    }
    const { body: made } = await post(streamed(padded(12 * MIB)))
    expect((await completed(made.import_id)).files).toMatchObject([{ status: 'rejected', code: 'cfdi.too_large' }])
    await vi.waitUntil(async () => (await keys()).length === 0, { timeout: 5_000 })
  })

  it('over 100 MB is 413 however long it says it is, and nothing of it stays', async () => {
    const size = 100_000_001
    for (const said of [{ 'content-length': String(size) }, { 'content-length': 'many' }])
      expect(await post(blank(size), { ...XML, ...said })).toMatchObject({
        status: 413,
        body: { detail: 'The body is larger than 100 MB. Send less at once.' },
      })
    expect((await post(blank(size), { 'content-type': 'text/plain' })).status).toBe(413)
    expect(await keys()).toEqual([])
  }, 120_000)

  it('of another length than it says is 400, and nothing of it stays', async () => {
    const bytes = invoice()
    for (const length of [bytes.length - 1, bytes.length + 1])
      expect(await post(streamed(bytes), { ...XML, 'content-length': String(length) })).toMatchObject({
        status: 400,
        body: { code: 'request.content_length' },
      })
    expect(await keys()).toEqual([])
  })

  it('that is refused is never stored', async () => {
    const puts = [vi.spyOn(Object.getPrototypeOf(env.FILES), 'put'), vi.spyOn(Object.getPrototypeOf(env.FILES), 'createMultipartUpload')]
    const foreign = path.replace(/fe_\w+/, 'fe_01h455vb4pex5vsknk084sn02q')
    expect((await send('POST', path, { headers: XML, body: invoice() })).status).toBe(401)
    expect((await post(invoice(), { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('')).status).toBe(422)
    expect((await post(streamed(new Uint8Array()))).status).toBe(422)
    expect((await post(streamed(new Uint8Array(6 * MIB).fill(32)), XML, foreign)).status).toBe(404)
    expect((await post(invoice(), { ...XML, 'idempotency-key': 'foreign' }, foreign)).status).toBe(404)
    for (const put of puts) expect(put).not.toHaveBeenCalled()
  })

  it('that repeats an earlier request leaves nothing in the bucket', async () => {
    const bytes = invoice()
    const keyed = { ...XML, 'idempotency-key': 'again' }
    const first = await post(bytes, keyed)
    await completed(first.body.import_id)
    expect((await post(bytes, keyed)).text).toBe(first.text)
    expect((await post(invoice(), keyed)).status).toBe(422)
    expect(await keys()).toEqual([])
  })
})

describe('the sweep of uploads', () => {
  it('deletes those that no unfinished import refers to, when they are a day old', async () => {
    vi.spyOn(Object.getPrototypeOf(env.IMPORTS), 'sendBatch').mockResolvedValue(undefined as never)
    const { body: queued } = await post(invoice())
    vi.restoreAllMocks()
    const [kept] = await keys()
    await Promise.all(Array.from({ length: 1_200 }, (_, i) => env.FILES.put(`imports/${crypto.randomUUID()}`, String(i))))
    await sweepAfter(DAY - 60_000)
    expect((await env.FILES.list({ prefix: 'imports/' })).objects.length).toBe(1_000)
    await sweepAfter(DAY + 60_000)
    expect(await keys()).toEqual([kept])
    await env.IMPORTS.send({ shard: 0, import_id: queued.import_id })
    await completed(queued.import_id)
    await vi.waitUntil(async () => (await keys()).length === 0, { timeout: 5_000 })
  })

  it('lists no more than 20 pages', async () => {
    const list = vi
      .spyOn(Object.getPrototypeOf(env.FILES), 'list')
      .mockResolvedValue({ objects: [], truncated: true, cursor: 'x', delimitedPrefixes: [] })
    await sweepUploadObjects(systemOf(env, new Date(), 'sweep'))
    expect(list).toHaveBeenCalledTimes(20)
  })
})
