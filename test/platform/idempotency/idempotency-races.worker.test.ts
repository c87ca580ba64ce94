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

/** Bindings whose commits of the control plane and the events shard go through a hand that can hold them, lose them, or lose what they answered. */
const withBatches = (handle: (batch: () => Promise<unknown>) => Promise<unknown>): Env => {
  const through = (database: D1Database) =>
    new Proxy(database, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown
        if (name === 'batch') return ((statements) => handle(() => target.batch(statements))) satisfies Batch
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  return { ...env, DB: through(env.DB), EVENTS_0: through(env.EVENTS_0) }
}

/** What a request makes: in the control plane, or in the events shard. */
interface Thing {
  path: string
  draft: (name: string) => object
  id: 'api_key' | 'webhook_id'
  table: string
  database: D1Database
}
const CREDENTIAL: Thing = {
  ...{ path: CREDENTIALS, id: 'api_key', table: 'credentials', database: env.DB },
  draft: (name) => ({ name, role: 'member' }),
}
const WEBHOOK: Thing = {
  ...{ path: '/v1/webhooks', id: 'webhook_id', table: 'webhooks', database: env.EVENTS_0 },
  draft: (name) => ({ name, url: 'https://erp.example.com/cfdi', event_keys: ['cfdi.cancelled'] }),
}
const THINGS = [
  ['a credential', CREDENTIAL],
  ['a webhook', WEBHOOK],
] as const

const post = (caller: Caller, key: string, name: string, through?: Env, { path, draft } = CREDENTIAL): Promise<Answer> => {
  const { headers, body } = json(draft(name))
  return send('POST', path, {
    authorization: basic(caller),
    headers: { ...headers, 'idempotency-key': key },
    body,
    ...(through && { env: through, breaks: true }),
  })
}

const made = async (name: string, { id, table, database } = CREDENTIAL): Promise<string[]> =>
  (await database.prepare(`select ${id} as id from ${table} where name = ?`).bind(name).all<{ id: string }>()).results.map(({ id }) => id)
const audits = (id: string, { database } = CREDENTIAL) =>
  database.prepare('select count(*) as n from audit_events where resource_id = ?').bind(id).first('n')
/** What is counted as kept of the organization, and what is. */
const kept = async (organization_id: string) => {
  const counted = env.DB.prepare('select bytes from kept_answers where organization_id = ?').bind(organization_id).first<number>('bytes')
  const stored = env.DB.prepare('select sum(length(answer)) as n from idempotency_keys where organization_id = ?').bind(organization_id)
  return [(await counted) ?? 0, (await stored.first<number>('n')) ?? 0]
}
const stateOf = (key: string) => env.DB.prepare('select state from idempotency_keys where key = ?').bind(key).first<string>('state')

let owner: Caller
beforeAll(async () => {
  ;({ owner } = await organizationWith())
})

/** Taking the key, the change, keeping the answer: the commits of a request. */
const COMMITS = 3

describe('a crash', () => {
  const crashes = [...Array(COMMITS).keys()].flatMap((nth) => (['before', 'after'] as const).map((when) => [when, nth] as const))

  describe.each(THINGS)('of a request for %s', (what, thing) => {
    it.each(crashes)('%s commit %i leaves one thing made, or none, and a key that tells which', async (when, nth) => {
      const { owner } = await organizationWith()
      const key = `${what} ${when} ${nth}`
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
      await post(owner, key, name, dying, thing)
      const left = await made(name, thing)
      const done = nth > 1 || (nth === 1 && when === 'after')
      expect(left).toHaveLength(done ? 1 : 0)
      const again = await post(owner, key, name, undefined, thing)
      const unknown = nth === 0 && when === 'before'
      const isAnswered = nth === 2 && when === 'after'
      // The receipt of what lies in the events shard is looked for when the lease has ended.
      const isKnown = done && (isAnswered || thing === CREDENTIAL)
      if (isAnswered) expect([again.status, again.body[thing.id]]).toEqual([201, left[0]])
      else if (isKnown) expect([again.status, again.body.code, again.body.resource_id]).toEqual([409, 'idempotency.done', left[0]])
      else expect([again.status, again.body.code]).toEqual(unknown ? [201, undefined] : [409, 'idempotency.in_flight'])
      for (const time of ['2026-11-18T18:00:30Z', '2026-11-18T18:00:31Z', '2026-11-18T18:01:30Z']) {
        at(time)
        const later = await post(owner, key, name, undefined, thing)
        if (isKnown) expect([later.status, later.text.replace(/req_\w+/, '')]).toEqual([again.status, again.text.replace(/req_\w+/, '')])
        else if (done) expect([later.status, later.body.code, later.body.resource_id]).toEqual([409, 'idempotency.done', left[0]])
        else expect(later.status).toBe(201)
      }
      const [one, ...others] = await made(name, thing)
      expect([others, await audits(one!, thing)]).toEqual([[], 1])
      const [counted, stored] = await kept(owner.organization_id)
      expect(counted).toBe(stored)
    })
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

  it('makes its webhook once, also when another has failed and freed the key, and the key tells which', async () => {
    at('2026-11-18T18:00:00Z')
    const failing = withBatches(
      (
        (commits) => (batch) =>
          commits++ === 1 ? Promise.reject(new Error('not today')) : batch()
      )(0),
    )
    let commits = 0
    const late = withBatches(async (batch) => {
      if (commits++ === 1) {
        at('2026-11-18T18:00:30Z')
        expect((await post(owner, 'slow hook', 'slow hook', failing, WEBHOOK)).status).toBe(500)
        expect(await stateOf('slow hook')).toBeNull()
      }
      return batch()
    })
    expect((await post(owner, 'slow hook', 'slow hook', late, WEBHOOK)).body.code).toBe('idempotency.in_flight')
    const [one, ...others] = await made('slow hook', WEBHOOK)
    for (let n = 0; n < 2; n++) {
      const { status, body } = await post(owner, 'slow hook', 'slow hook', undefined, WEBHOOK)
      expect([status, body.code, body.resource_id, others]).toEqual([409, 'idempotency.done', one, []])
    }
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
  const seen = new Set<string>()

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

  it.each(THINGS)('one thing is made, and who is told of one is told of that one: %s', async (_, thing) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 4 }), fc.array(step, { maxLength: 16 }), async (requests, steps) => {
        const key = `key ${++keys}`
        // Webhooks are few: none is in the way of the next.
        await env.EVENTS_0.prepare('delete from webhooks').run()
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
          void post(owner, key, key, gated, thing).then((answer) => {
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
        const before = await made(key, thing)
        expect(before.length).toBeLessThanOrEqual(1)
        at(new Date(now + LEASE_MS).toISOString())
        const last = await post(owner, key, key, undefined, thing)
        const after = await made(key, thing)
        expect(after).toHaveLength(1)
        if (before.length === 1) expect(after).toEqual(before)
        expect(await audits(after[0]!, thing)).toBe(1)
        for (const { status, body } of [...answers, last]) {
          seen.add(`${status} ${body.code ?? ''}`)
          if (status === 201) expect(body[thing.id]).toBe(after[0])
          else if (body.code === 'idempotency.done') expect(body.resource_id).toBe(after[0])
          else expect([status, body.code]).toEqual(status === 500 ? [500, 'internal'] : [409, 'idempotency.in_flight'])
        }
        expect([201, 409]).toContain(last.status)
        if (last.status === 409) expect(last.body.code).toBe('idempotency.done')
      }),
      { numRuns: runs(12, 200) },
    )
  })

  it('each answer that there is occurs among them, so that a run in which nothing happens does not pass', () => {
    expect([...seen].sort()).toEqual(['201 ', '409 idempotency.done', '409 idempotency.in_flight', '500 internal'])
  })
})

it('a key that is released leaves the leases of all other keys as they are', async () => {
  const one = await signUp()
  const db = connect(env.DB)
  const request = (key: string): KeyRequest => ({
    ...{ organization_id: one.organization_id, key, token: crypto.randomUUID(), fingerprints: ['f'] },
    ...{ asked_at: Date.now(), lease_until: Date.now() + LEASE_MS, now: new Date(), expired_at: new Date(0) },
  })
  const [stored, released] = [request('held'), request('released')]
  for (const each of [stored, released]) await claimKey(db, each)
  await commit(env.DB, [markKey(db, { ...released, begun: null }, 'resource', 'running'), ...releaseKey(db, { ...released, begun: null })])
  const leases = await env.DB.prepare('select key, lease_until from idempotency_keys where organization_id = ? order by key')
    .bind(one.organization_id)
    .all()
  expect(leases.results).toEqual([
    { key: 'held', lease_until: stored.lease_until },
    { key: 'released', lease_until: 0 },
  ])
})
