import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { pages, rows } from '../../clients/typescript/src/pages.ts'
import { type RetryOptions, retrying } from '../../clients/typescript/src/retry.ts'

/** Its types are those of the generated part, which has a compiler's configuration of its own. */
const MIRROR = new URL('../../clients/typescript/src/mirror.ts', import.meta.url).href
interface Changes {
  data: unknown[]
  has_more: boolean
  next_cursor: string
}
type Mirror = (api: object, fiscal_entity_id: string, options: { cursor?: string | undefined }) => AsyncIterable<{ cursor: string }>

const SERVICE = 'https://api.example.com'
const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers })
const lost = (): Promise<Response> => Promise.reject(new TypeError('The connection was lost.'))

/** What a client of these answers sends, one after the other, and how long it waits in between. */
async function sent(path: string, init: RequestInit, answers: (() => Response | Promise<Response>)[], options: RetryOptions = {}) {
  const requests: { method: string; key: string | null; body: string }[] = []
  const waits: number[] = []
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
    waits.push(ms)
    queueMicrotask(done)
    return 0
  }) as never)
  const fetch = (async (request: Request) => {
    requests.push({ method: request.method, key: request.headers.get('idempotency-key'), body: await request.text() })
    return answers[requests.length - 1]!()
  }) as unknown as typeof globalThis.fetch
  const found = await retrying({ ...options, fetch })(`${SERVICE}${path}`, init).catch((error: unknown) => error)
  return { requests, waits, status: found instanceof Response ? found.status : null }
}

const post = (body: unknown = {}): RequestInit => ({ method: 'POST', body: JSON.stringify(body) })

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('the TypeScript client sends again', () => {
  it('what was refused for now, after as long as the service says, with its body and the same key', async () => {
    const answers = [() => answer(429, {}, { 'retry-after': '7' }), () => answer(503, {}, { 'retry-after': '2' }), () => answer(201)]
    const { requests, waits, status } = await sent('/v1/extractors', post({ name: 'x' }), answers)
    expect([status, waits, requests.length]).toEqual([201, [7_000, 2_000], 3])
    expect(new Set(requests.map(({ key }) => key)).size).toBe(1)
    expect(requests[0]!.key).toMatch(/^[0-9a-f-]{36}$/)
    expect(requests.map(({ body }) => body)).toEqual(Array(3).fill('{"name":"x"}'))
  })

  it('what failed or was lost, with longer waits, and four times at most', async () => {
    const read = await sent('/v1/cfdi', { method: 'GET' }, [lost, () => answer(500), () => answer(502), () => answer(504)])
    expect([read.status, read.waits, read.requests.map(({ key }) => key)]).toEqual([504, [500, 1_000, 2_000], Array(4).fill(null)])
    const written = await sent('/v1/extractors', post(), [lost, () => answer(201)])
    expect([written.status, written.requests[0]!.key === written.requests[1]!.key]).toEqual([201, true])
    expect((await sent('/v1/cfdi', { method: 'GET' }, [lost, lost], { attempts: 2 })).status).toBe(null)
  })

  it('what was cut off in the middle of an answer', async () => {
    const cutOff = () =>
      new Response(
        new ReadableStream({
          pull(body) {
            body.enqueue(new TextEncoder().encode('{"data'))
            body.error(new TypeError('terminated'))
          },
        }),
        { headers: { 'content-type': 'application/json' } },
      )
    const { requests, status } = await sent('/v1/cfdi', { method: 'GET' }, [cutOff, cutOff, () => answer(200)])
    expect([status, requests.length]).toEqual([200, 3])
    expect((await sent('/v1/auth/signup', post(), [cutOff])).requests).toHaveLength(1)
  })

  it('what is still being carried out, because the answer to it was lost; and no conflict of another kind', async () => {
    const inFlight = () => answer(409, { code: 'idempotency.in_flight' })
    expect((await sent('/v1/extractors', post(), [lost, inFlight, () => answer(201)])).status).toBe(201)
    expect((await sent('/v1/extractors', post(), [lost, () => answer(409, { code: 'extractor.plan_limit' })])).requests).toHaveLength(2)
    const own = await sent('/v1/extractors', { ...post(), headers: { 'idempotency-key': 'k' } }, [inFlight, () => answer(201)])
    expect(own.requests.map(({ key }) => key)).toEqual(['k', 'k'])
  })

  it('no change without a key: a sign-up whose answer was lost would make a second organization', async () => {
    for (const path of ['/v1/auth/signup', '/v1/auth/invitations/accept']) {
      for (const failure of [lost, () => answer(500)])
        expect((await sent(path, post(), [failure])).requests).toEqual([{ method: 'POST', key: null, body: '{}' }])
      expect((await sent(path, post(), [() => answer(429, {}, { 'retry-after': '1' }), () => answer(201)])).status).toBe(201)
    }
    expect((await sent('/v1/organization', { method: 'PATCH', body: '{}' }, [() => answer(500)])).requests).toHaveLength(1)
  })

  it('no login to an account that the tax authority has locked, however short the wait', async () => {
    const locked = () => answer(503, { code: 'authority.account_locked' }, { 'retry-after': '1' })
    expect((await sent('/v1/fiscal-entities', post(), [locked, locked])).requests).toHaveLength(1)
    const away = () => answer(503, { code: 'authority.sat_unavailable' }, { 'retry-after': '1' })
    expect((await sent('/v1/fiscal-entities', post(), [away, away, locked, away])).requests).toHaveLength(3)
  })

  it('nothing when it would wait too long, nor after what the caller has aborted', async () => {
    const { status, requests } = await sent('/v1/cfdi', { method: 'GET' }, [() => answer(429, {}, { 'retry-after': '61' })])
    expect([status, requests.length]).toEqual([429, 1])
    expect((await sent('/v1/cfdi', { method: 'GET', signal: AbortSignal.abort() }, [lost])).requests.length).toBeLessThanOrEqual(1)
  })
})

describe('the iterators of the TypeScript client', () => {
  const LIST = [
    { data: [1, 2], has_more: true, next_cursor: 'a' },
    { data: [], has_more: true, next_cursor: 'b' },
    { data: [3], has_more: false, next_cursor: null },
  ]
  const at = (cursor: string | undefined) => LIST[cursor === undefined ? 0 : cursor === 'a' ? 1 : 2]!
  const listOf = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
    const list: T[] = []
    for await (const one of items) list.push(one)
    return list
  }

  it('go on past a page without rows, ask for no page that is not wanted, and end', async () => {
    const asked: (string | undefined)[] = []
    const read = async (cursor: string | undefined) => {
      asked.push(cursor)
      return at(cursor)
    }
    expect(await listOf(rows(read))).toEqual([1, 2, 3])
    expect(await listOf(pages(read))).toEqual(LIST)
    expect(asked).toEqual([undefined, 'a', 'b', undefined, 'a', 'b'])
    for await (const one of rows(read)) if (one === 2) break
    expect(asked).toHaveLength(7)
  })

  it('mirror from a cursor on, with the cursor to keep with each batch', async () => {
    const { mirror } = (await import(MIRROR)) as { mirror: Mirror }
    const asked: unknown[] = []
    const api = {
      listCfdiChanges: async ({ query }: { query: { cursor?: string } }): Promise<Changes> => {
        asked.push(query)
        return { data: [], has_more: query.cursor !== 'b', next_cursor: query.cursor === undefined ? 'a' : 'b' }
      },
    }
    const cursors = async (cursor?: string) => (await listOf(mirror(api, 'fe_1', { cursor }))).map((batch) => batch.cursor)
    expect(await cursors()).toEqual(['a', 'b', 'b'])
    expect(asked[0]).toEqual({ fiscal_entity_id: 'fe_1', limit: 100 })
    expect(await cursors('b')).toEqual(['b'])
  })
})
