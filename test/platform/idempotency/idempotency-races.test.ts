import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { commit, connect } from '../../../src/platform/db/commit.ts'
import { claimKey, type KeyRequest, markKey, releaseKey } from '../../../src/platform/idempotency/store.ts'
import { basic, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { signUp } from '../../support/tenants.ts'
import { type Answer, json, send } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
const error = vi.spyOn(console, 'error').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
  error.mockClear()
})

const LEASE_MS = 30_000
const CREDENTIALS = '/v1/credentials'

type Batch = (statements: D1PreparedStatement[]) => Promise<unknown>

/** Bindings whose commits of the control plane go through a hand that can hold them, lose them, or lose what they answered. */
const withBatches = (handle: (batch: () => Promise<unknown>) => Promise<unknown>): Env => ({
  ...env,
  DB: new Proxy(env.DB, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown
      if (name === 'batch') return ((statements) => handle(() => target.batch(statements))) satisfies Batch
      return typeof value === 'function' ? value.bind(target) : value
    },
  }),
})

const post = (caller: Caller, key: string, name: string, through?: Env): Promise<Answer> => {
  const { headers, body } = json({ name, role: 'member' })
  return send('POST', CREDENTIALS, {
    authorization: basic(caller),
    headers: { ...headers, 'idempotency-key': key },
    body,
    ...(through && { env: through, breaks: true }),
  })
}

const made = async (name: string): Promise<string[]> =>
  (await env.DB.prepare('select api_key from credentials where name = ?').bind(name).all<{ api_key: string }>()).results.map(
    ({ api_key }) => api_key,
  )
const audits = (api_key: string) => env.DB.prepare('select count(*) as n from audit_events where resource_id = ?').bind(api_key).first('n')
const stateOf = (key: string) => env.DB.prepare('select state from idempotency_keys where key = ?').bind(key).first<string>('state')

let owner: Caller
beforeAll(async () => {
  ;({ owner } = await organizationWith())
})

/** Taking the key, the change, keeping the answer: the commits of a request. */
const COMMITS = 3

describe('a crash', () => {
  const crashes = [...Array(COMMITS).keys()].flatMap((nth) => (['before', 'after'] as const).map((when) => [when, nth] as const))

  it.each(crashes)('%s commit %i leaves one thing made, or none, and a key that tells which', async (when, nth) => {
    const key = `${when} ${nth}`
    const name = `crash ${key}`
    at('2026-11-18T18:00:00Z')
    let commits = 0
    let isDead = false
    const dying = withBatches(async (batch) => {
      if (isDead) throw new Error('dead')
      if (commits++ !== nth) return batch()
      isDead = true
      if (when === 'after') await batch()
      throw new Error('dead')
    })
    await post(owner, key, name, dying)
    const left = await made(name)
    const done = nth > 1 || (nth === 1 && when === 'after')
    expect(left).toHaveLength(done ? 1 : 0)
    const again = await post(owner, key, name)
    const unknown = nth === 0 && when === 'before'
    const isAnswered = nth === 2 && when === 'after'
    if (isAnswered) expect([again.status, again.body.api_key]).toEqual([201, left[0]])
    else if (done) expect([again.status, again.body.code, again.body.resource_id]).toEqual([409, 'idempotency.done', left[0]])
    else expect([again.status, again.body.code]).toEqual(unknown ? [201, undefined] : [409, 'idempotency.in_flight'])
    at('2026-11-18T18:00:30Z')
    const later = await post(owner, key, name)
    if (done) expect([later.status, later.text.replace(/req_\w+/, '')]).toEqual([again.status, again.text.replace(/req_\w+/, '')])
    else expect(later.status).toBe(201)
    const [one, ...others] = await made(name)
    expect([others, await audits(one!)]).toEqual([[], 1])
  })

  it('while the answer is kept does not keep the answer from its caller', async () => {
    let commits = 0
    const failing = withBatches((batch) => (commits++ === 2 ? Promise.reject(new Error('not today')) : batch()))
    const { status, body } = await post(owner, 'not kept', 'not kept', failing)
    expect([status, await made('not kept')]).toEqual([201, [body.api_key]])
    expect(error.mock.calls.flat().join()).toContain('An answer was not kept under its Idempotency-Key.')
  })
})

describe('a change that loses against another', () => {
  it('is not kept: it may go through when it is asked for again', async () => {
    const hook = json({ name: 'ERP', url: 'https://erp.example.com/cfdi', event_keys: ['cfdi.cancelled'] })
    const { webhook_id } = (await send('POST', '/v1/webhooks', { ...hook, authorization: basic(owner) })).body
    const rotate = (key: string, through?: Env) =>
      send('POST', `/v1/webhooks/${webhook_id}/rotate-secret`, {
        authorization: basic(owner),
        headers: { 'idempotency-key': key },
        ...(through && { env: through, breaks: true }),
      })
    let commits = 0
    const late = withBatches(async (batch) => {
      if (commits++ === 1) expect((await rotate('faster')).status).toBe(201)
      return batch()
    })
    const lost = await rotate('loses', late)
    expect([lost.status, lost.body.code]).toEqual([409, 'webhook.changed'])
    const again = await rotate('loses')
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null])
  })
})

describe('a request that is slower than its lease', () => {
  /** Held before its change is committed, until the lease has ended and `meanwhile` has happened. */
  async function slow(key: string, meanwhile: () => Promise<unknown>): Promise<Answer> {
    at('2026-11-18T18:00:00Z')
    let commits = 0
    const late = withBatches(async (batch) => {
      if (commits++ === 1) {
        at('2026-11-18T18:00:30Z')
        await meanwhile()
      }
      return batch()
    })
    return post(owner, key, key, late)
  }

  it('goes on when nobody has asked again', async () => {
    const { status, body } = await slow('slow alone', async () => {})
    expect([status, await made('slow alone')]).toEqual([201, [body.api_key]])
  })

  it('changes nothing when another has been carried out', async () => {
    let other: Answer | undefined
    const { status, body } = await slow('slow and late', async () => {
      other = await post(owner, 'slow and late', 'slow and late')
    })
    expect([status, body.code]).toEqual([409, 'idempotency.in_flight'])
    expect(await made('slow and late')).toEqual([other!.body.api_key])
    expect((await post(owner, 'slow and late', 'slow and late')).text).toBe(other!.text)
  })

  it('changes nothing when another has failed and freed the key', async () => {
    const failing = withBatches(
      (
        (commits) => (batch) =>
          commits++ === 1 ? Promise.reject(new Error('not today')) : batch()
      )(0),
    )
    const { status, body } = await slow('slow and freed', async () => {
      expect((await post(owner, 'slow and freed', 'slow and freed', failing)).status).toBe(500)
      expect(await stateOf('slow and freed')).toBeNull()
    })
    expect([status, body.code, await made('slow and freed')]).toEqual([409, 'idempotency.in_flight', []])
    expect((await post(owner, 'slow and freed', 'slow and freed')).status).toBe(201)
  })

  it('is not told as a refusal what the other one made', async () => {
    const tenant = await signUp()
    const draft = { name: 'x', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_csf'] }
    for (const { extractor_id } of (await send('GET', '/v1/extractors', { authorization: basic(tenant) })).body.slice(1))
      await send('DELETE', `/v1/extractors/${extractor_id}`, { authorization: basic(tenant) })
    const ask = (through: Env = env) =>
      send('POST', '/v1/extractors', {
        ...json(draft),
        authorization: basic(tenant),
        headers: { 'content-type': 'application/json', 'idempotency-key': 'last slot' },
        env: through,
        breaks: true,
      })
    at('2026-11-18T18:00:00Z')
    let commits = 0
    const late = withBatches(async (batch) => {
      if (commits++ === 1) {
        at('2026-11-18T18:00:30Z')
        expect((await ask()).status).toBe(201)
      }
      return batch()
    })
    expect((await ask(late)).body.code).toBe('idempotency.in_flight')
  })
})

describe('whatever the interleaving of requests, crashes and ends of leases', () => {
  let keys = 0

  type Fate = 'goes on' | 'is lost' | 'goes on and its answer is lost'
  const step = fc.record({
    which: fc.nat(3),
    fate: fc.oneof(
      { weight: 6, arbitrary: fc.constant<Fate>('goes on') },
      { weight: 1, arbitrary: fc.constant<Fate>('is lost') },
      { weight: 1, arbitrary: fc.constant<Fate>('goes on and its answer is lost') },
    ),
    /** Before it, in milliseconds. */
    passes: fc.constantFrom(0, 0, 0, LEASE_MS - 1, LEASE_MS),
  })

  it('one thing is made, and who is told of one is told of that one', async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 4 }), fc.array(step, { maxLength: 16 }), async (requests, steps) => {
        const key = `key ${++keys}`
        let now = Date.parse('2026-11-18T18:00:00Z')
        at(new Date(now).toISOString())
        const waiting: ((fate: Fate) => void)[] = []
        const gated = withBatches(async (batch) => {
          const fate = await new Promise<Fate>((go) => waiting.push(go))
          if (fate === 'is lost') throw new Error('lost')
          const answer = await batch()
          if (fate !== 'goes on') throw new Error('lost')
          return answer
        })
        const answers: Answer[] = []
        let started = 0
        let running = 0
        const start = () => {
          started++
          running++
          void post(owner, key, key, gated).then((answer) => {
            answers.push(answer)
            running--
          })
        }
        for (let n = 0; answers.length < requests; n++) {
          // Each that runs waits at a commit. Not vi.waitUntil, which moves the clock.
          while (waiting.length < running) await new Promise((resolve) => setTimeout(resolve, 0))
          const { which, fate, passes } = steps[n] ?? { which: n, fate: 'goes on', passes: 0 }
          now += passes
          at(new Date(now).toISOString())
          const choice = which % (waiting.length + (started < requests ? 1 : 0) || 1)
          if (choice < waiting.length) {
            waiting.splice(choice, 1)[0]!(fate)
          } else if (started < requests) start()
        }
        const before = await made(key)
        expect(before.length).toBeLessThanOrEqual(1)
        at(new Date(now + LEASE_MS).toISOString())
        const last = await post(owner, key, key)
        const after = await made(key)
        expect(after).toHaveLength(1)
        if (before.length === 1) expect(after).toEqual(before)
        expect(await audits(after[0]!)).toBe(1)
        for (const { status, body } of [...answers, last]) {
          seen.set(`${status} ${body.code ?? ''}`, (seen.get(`${status} ${body.code ?? ''}`) ?? 0) + 1)
          if (status === 201) expect(body.api_key).toBe(after[0])
          else if (body.code === 'idempotency.done') expect(body.resource_id).toBe(after[0])
          else expect([status, body.code]).toEqual(status === 500 ? [500, 'internal'] : [409, 'idempotency.in_flight'])
        }
        expect([201, 409]).toContain(last.status)
        if (last.status === 409) expect(last.body.code).toBe('idempotency.done')
      }),
      { numRuns: runs(60, 200) },
    )
    // So that a run in which nothing happens does not pass for one in which nothing goes wrong.
    expect([...seen.keys()].sort()).toEqual(['201 ', '409 idempotency.done', '409 idempotency.in_flight', '500 internal'])
  })
})

it('a key that is released leaves the leases of all other keys as they are', async () => {
  const one = await signUp()
  const db = connect(env.DB)
  const request = (key: string): KeyRequest => ({
    ...{ organization_id: one.organization_id, key, token: crypto.randomUUID(), fingerprints: ['f'] },
    ...{ asked_at: Date.now(), lease_until: Date.now() + LEASE_MS, now: new Date(), expired_at: new Date(0) },
  })
  const [held, released] = [request('held'), request('released')]
  for (const each of [held, released]) await claimKey(db, each)
  await commit(env.DB, [markKey(db, { ...released, begun: null }, 'resource', 'running'), ...releaseKey(db, { ...released, begun: null })])
  const leases = await env.DB.prepare('select key, lease_until from idempotency_keys where organization_id = ? order by key')
    .bind(one.organization_id)
    .all()
  expect(leases.results).toEqual([
    { key: 'held', lease_until: held.lease_until },
    { key: 'released', lease_until: 0 },
  ])
})
