import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { sweepUploadObjects } from '../../../src/cfdi/imports/imports.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { randomOf } from '../../support/random.ts'
import { connect, synced, type Tenant } from '../../support/tenants.ts'
import { type Answer, send } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'
import { plainOf, xmlOf } from '../support/documents.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

const random = randomOf(61)
const utf8 = new TextEncoder()

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

const invoice = (): string => xmlOf(plainOf(random, '2026-05', { emisor: rfc }))

const post = (key: string, xml: string, { through, type = 'application/xml' }: { through?: Env; type?: string } = {}): Promise<Answer> =>
  send('POST', path, {
    authorization: basic(owner),
    headers: { 'content-type': type, 'idempotency-key': key },
    body: utf8.encode(xml),
    ...(through && { env: through, breaks: true }),
  })

const rows = async () =>
  (await env.LEDGER_0.prepare('select import_id from imports order by import_id').all<{ import_id: string }>()).results.map(
    ({ import_id }) => import_id,
  )
const audits = async () =>
  (await env.DB.prepare(`select resource_id from audit_events where action = 'import.created'`).all<{ resource_id: string }>()).results.map(
    ({ resource_id }) => resource_id,
  )
const uploads = async () => (await env.FILES.list({ prefix: 'imports/' })).objects.map(({ key }) => key)

const completed = (import_id: string) =>
  vi.waitUntil(
    async () => {
      const { body } = await send('GET', `${path}/${import_id}`, { authorization: basic(owner) })
      return body.status === 'completed' && body
    },
    { timeout: 20_000, interval: 20 },
  )

/** Deletes the uploads that nothing refers to, when the clock has gone on by so much. */
async function sweptUploads(passed: number): Promise<void> {
  const now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + passed)
  await sweepUploadObjects(systemOf(env, new Date(now + passed), 'sweep'))
  clock.mockRestore()
}

type Step = (call: () => Promise<unknown>) => Promise<unknown>

/** Bindings of which every call that a request makes to change or read something goes through a hand. */
const through = (handle: Step): Env => {
  const watched = <T extends object>(target: T, ...names: (keyof T)[]): T =>
    new Proxy(target, {
      get: (_, name) => {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        return names.includes(name as keyof T) ? (...args: unknown[]) => handle(() => value.apply(target, args)) : value.bind(target)
      },
    })
  return {
    ...env,
    DB: watched(env.DB, 'batch'),
    LEDGER_0: watched(env.LEDGER_0, 'batch'),
    FILES: watched(env.FILES, 'put', 'delete'),
    IMPORTS: watched(env.IMPORTS, 'sendBatch'),
  }
}

/** Dies at its nth step, before or after it, and does nothing from there on. */
function dyingAt(nth: number, when: 'before' | 'after'): Env {
  let steps = 0
  let isDead = false
  return through(async (call) => {
    if (isDead) throw new Error('dead')
    if (steps++ !== nth) return call()
    isDead = true
    if (when === 'after') await call()
    throw new Error('dead')
  })
}

/** Its bytes, taking the key, naming the import, its row, the word to the queue, reading it, keeping the answer. */
const STEPS = 7

describe('an upload under a key', () => {
  it('takes the steps that the crashes below are between', async () => {
    let steps = 0
    const counting = through((call) => {
      steps++
      return call()
    })
    const { status, body } = await post('steps', invoice(), { through: counting })
    expect(status).toBe(202)
    await completed(body.import_id)
    expect(steps).toBe(STEPS)
  })

  const crashes = [...Array(STEPS).keys()].flatMap((nth) => (['before', 'after'] as const).map((when) => [when, nth] as const))

  it.each(crashes)('is imported once by who asks again after a crash %s step %i', async (when, nth) => {
    const key = `crash ${when} ${nth}`
    const xml = invoice()
    const [known, notified] = [await rows(), await audits()]
    at('2026-11-18T18:00:00Z')
    await post(key, xml, { through: dyingAt(nth, when) })
    at('2026-11-18T18:00:30Z')
    const again = await post(key, xml)
    expect([again.status, again.body.code]).toEqual([202, undefined])
    const { import_id } = again.body
    const done = await completed(import_id)
    expect(done).toMatchObject({ counts: { created: 1, updated: 0, unchanged: 0, rejected: 0 } })
    expect((await rows()).filter((id) => !known.includes(id))).toEqual([import_id])
    expect((await audits()).filter((id) => !notified.includes(id))).toEqual([import_id])
    expect(await post(key, xml)).toMatchObject({ status: 202, text: again.text })
    // The bytes of a request that died stay until the sweep.
    await vi.waitUntil(async () => (await uploads()).length <= 1, { timeout: 5_000 })
    vi.useRealTimers()
    await sweptUploads(48 * 3_600_000)
    expect(await uploads()).toEqual([])
  })

  it('that is slower than its lease and than the consumer leaves no bytes behind', async () => {
    const xml = invoice()
    const known = await rows()
    at('2026-11-18T18:00:00Z')
    let steps = 0
    let other: Answer | undefined
    const slow = through(async (call) => {
      // Before it inserts the row.
      if (steps++ === 3) {
        at('2026-11-18T18:00:30Z')
        other = await post('slow', xml)
        await completed(other.body.import_id)
      }
      return call()
    })
    expect(await post('slow', xml, { through: slow })).toMatchObject({ status: 409, body: { code: 'idempotency.in_flight' } })
    expect((await rows()).filter((id) => !known.includes(id))).toEqual([other!.body.import_id])
    expect(await uploads()).toEqual([])
    expect((await post('slow', xml)).text).toBe(other!.text)
  })

  it('that another has taken over before it had a name makes nothing', async () => {
    const xml = invoice()
    const [known, notified] = [await rows(), await audits()]
    at('2026-11-18T18:00:00Z')
    let steps = 0
    let other: Answer | undefined
    const slow = through(async (call) => {
      // Before it names the import.
      if (steps++ === 2) {
        at('2026-11-18T18:00:30Z')
        other = await post('late', xml)
      }
      return call()
    })
    expect(await post('late', xml, { through: slow })).toMatchObject({ status: 409, body: { code: 'idempotency.in_flight' } })
    expect((await rows()).filter((id) => !known.includes(id))).toEqual([other!.body.import_id])
    expect((await audits()).filter((id) => !notified.includes(id))).toEqual([other!.body.import_id])
    await completed(other!.body.import_id)
  })

  it('that failed when it had begun is gone on with at once, and is nothing else', async () => {
    const xml = invoice()
    const failing = through(
      (
        (steps) => (call) =>
          steps++ === 3 ? Promise.reject(new Error('not today')) : call()
      )(0),
    )
    expect((await post('begun', xml, { through: failing })).status).toBe(500)
    const [named] = (await audits()).slice(-1)
    expect(await post('begun', invoice())).toMatchObject({ status: 422, body: { code: 'idempotency.mismatch' } })
    const { status, body } = await post('begun', xml)
    expect([status, body.import_id]).toEqual([202, named])
    await completed(body.import_id)
  })

  it('without one whose bytes cannot be kept is nothing at all', async () => {
    const notified = await audits()
    const failing = through((call) => call())
    failing.FILES = new Proxy(env.FILES, {
      get: (target, name) => (name === 'put' ? () => Promise.reject(new Error('not today')) : Reflect.get(target, name)),
    })
    const sent = { authorization: basic(owner), headers: { 'content-type': 'application/xml' }, body: utf8.encode(invoice()) }
    expect((await send('POST', path, { ...sent, env: failing, breaks: true })).status).toBe(500)
    expect(await audits()).toEqual(notified)
  })

  it('is another one with one byte changed, and the same one under another content type', async () => {
    const xml = invoice()
    const first = await post('bytes', xml)
    expect(await post('bytes', `${xml} `)).toMatchObject({ status: 422, body: { code: 'idempotency.mismatch' } })
    expect((await post('bytes', xml, { type: 'application/octet-stream' })).text).toBe(first.text)
    await completed(first.body.import_id)
  })

  it('that was deleted after a crash is not made anew by who asks again', async () => {
    const xml = invoice()
    const [known, left] = [await rows(), await uploads()]
    at('2026-11-18T18:00:00Z')
    // It dies before it keeps its answer.
    await post('deleted', xml, { through: dyingAt(STEPS - 1, 'before') })
    const [import_id] = (await rows()).filter((id) => !known.includes(id)) as [string]
    await completed(import_id)
    expect((await send('DELETE', `${path}/${import_id}`, { authorization: basic(owner) })).status).toBe(202)
    const gone = () =>
      vi.waitUntil(async () => (await send('GET', `${path}/${import_id}`, { authorization: basic(owner) })).status === 404, {
        timeout: 20_000,
        interval: 20,
      })
    await gone()
    at('2026-11-18T18:00:30Z')
    expect(await post('deleted', xml)).toMatchObject({ status: 404, body: { code: 'import.not_found' } })
    await vi.waitUntil(async () => (await rows()).length === known.length, { timeout: 20_000, interval: 20 })
    expect(await uploads()).toEqual(left)
    expect(await post('deleted', xml)).toMatchObject({ status: 404, body: { code: 'import.not_found' } })
  })

  it('is a new one a day later', async () => {
    const xml = invoice()
    at('2026-11-18T18:00:00Z')
    const first = await post('day', xml)
    await completed(first.body.import_id)
    at('2026-11-19T18:00:00Z')
    const second = await post('day', xml)
    expect(second.body.import_id).not.toBe(first.body.import_id)
    expect(await completed(second.body.import_id)).toMatchObject({ counts: { created: 0, unchanged: 1 } })
  })
})
