import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { api, basic, type Caller } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { joined, signUp } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { credentialOf } from '../../support/world.ts'

afterEach(restore)

const CREDENTIALS = '/v1/credentials'
const MEMBERS = '/v1/team/members'

interface Shown {
  api_key: string
  member_id: string
  created_by: string | null
  role: string
  expires_at: string | null
  last_used_on: string | null
}

const shownOf = async (owner: Caller, { api_key }: { api_key: string }): Promise<Shown> =>
  (await api(owner, 'GET', `${CREDENTIALS}?limit=100`)).body.data.find((one: Shown) => one.api_key === api_key)

const create = (by: Caller, draft: object) => api(by, 'POST', CREDENTIALS, { name: 'CI', role: 'member', ...draft })

describe('a credential remembers its maker', () => {
  it('created_by is the credential that made it, and member_id the member behind that, through any number of credentials', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const first = await credentialOf(bea, 'admin')
    const second = await credentialOf(first, 'admin')
    const third = (await create(second, {})).body as Shown
    expect([third.created_by, third.member_id]).toEqual([second.api_key, bea.member_id])
    const shown = await Promise.all([owner, bea, first, second].map((one) => shownOf(owner, one)))
    expect(shown.map(({ created_by }) => created_by)).toEqual([null, null, bea.api_key, first.api_key])
    expect(shown.slice(1).map(({ member_id }) => member_id)).toEqual([bea.member_id, bea.member_id, bea.member_id])
    expect(shown[0]!.member_id).toBe((await api(owner, 'GET', MEMBERS)).body.data[0].member_id)
  })
})

describe('a credential lives no longer than its maker', () => {
  const END = '2026-11-20T12:00:00.000Z'

  it.each([
    [undefined, 201, END],
    ['2026-11-20T12:00:00Z', 201, END],
    ['2026-11-20T06:00:00-06:00', 201, END],
    ['2026-11-19T12:00:00Z', 201, '2026-11-19T12:00:00.000Z'],
    ['2026-11-20T12:00:00.001Z', 422, 'credential.outlives_maker'],
    [null, 422, 'credential.outlives_maker'],
    ['2026-11-18T12:00:00Z', 422, 'credential.expired'],
  ] as const)('with a maker that expires, expires_at %s is %i', async (expires_at, status, expected) => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const maker = await credentialOf(owner, 'admin', { expires_at: END })
    const reply = await create(maker, { role: 'admin', ...(expires_at !== undefined && { expires_at }) })
    expect([reply.status, reply.body.expires_at ?? reply.body.code]).toEqual([status, expected])
    if (expected === 'credential.outlives_maker') expect(reply.body.detail).toContain(`Must not be after ${END}`)
    // What it makes in turn has its own bound, and a maker without an expiry has none.
    if (status === 201) expect((await create(reply.body, { expires_at: null })).body.code).toBe('credential.outlives_maker')
    expect((await create(owner, { expires_at: null })).body.expires_at).toBe(null)
  })

  it('an invitation and the credential that accepting it makes end with the credential that sent it', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const short = await credentialOf(owner, 'admin', { expires_at: END })
    const invite = async (email: string) => (await api(short, 'POST', `${MEMBERS}/invite`, { email, role: 'admin' })).body
    const [one, two] = [await invite('una@example.com'), await invite('otra@example.com')]
    expect(one.expires_at).toBe(END)
    const accept = (token: string) => send('POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))
    const { body } = await accept(one.token)
    expect(body.credential.expires_at).toBe(END)
    expect((await create(body.credential, { expires_at: null })).body.code).toBe('credential.outlives_maker')
    at(END)
    expect((await accept(two.token)).status).toBe(404)
    expect((await api(body.credential, 'GET', '/v1/organization')).status).toBe(401)
  })
})

describe('a credential that is made or sent while its maker is revoked or lowered', () => {
  /** The database, before whose next batch something happens. */
  const meanwhile = (something: () => Promise<unknown>): Env => {
    let isDone = false
    const DB = new Proxy(env.DB, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown
        if (name === 'batch')
          return async (statements: D1PreparedStatement[]) => {
            if (!isDone) {
              isDone = true
              await something()
            }
            return target.batch(statements)
          }
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    return { ...env, DB }
  }
  const paths = [
    [CREDENTIALS, { name: 'CI', role: 'member' }],
    [`${MEMBERS}/invite`, { email: 'nueva@example.com', role: 'member' }],
  ] as const

  it.each(paths)('POST %s is 409, and nothing of it is left when the member is removed', async (path, draft) => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const made = await credentialOf(bea, 'admin')
    const bindings = meanwhile(() => api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`))
    const { status, body } = await send('POST', path, { ...json(draft), authorization: basic(made), env: bindings })
    expect([status, body.code]).toEqual([409, 'credential.changed'])
    expect((await api(owner, 'GET', CREDENTIALS)).body.data).toHaveLength(1)
    expect((await api(owner, 'GET', '/v1/team/invitations')).body.data).toEqual([])
  })

  it.each(paths)('POST %s as an owner is 409 when the owner is made an admin', async (path, draft) => {
    const owner = await signUp()
    const bea = await joined(owner, 'owner')
    const bindings = meanwhile(() => api(owner, 'PATCH', `${MEMBERS}/${bea.member_id}`, { role: 'admin' }))
    const sent = { ...json({ ...draft, role: 'owner' }), authorization: basic(bea) }
    const { status, body } = await send('POST', path, { ...sent, env: bindings })
    expect([status, body.code]).toEqual([409, 'credential.changed'])
    expect((await send('POST', path, sent)).status).toBe(403)
  })

  it('by many at once: of a removed member no credential is left, whatever order they come in', async () => {
    for (let round = 0; round < 5; round++) {
      const owner = await signUp()
      const bea = await joined(owner, 'admin')
      const answers = await Promise.all([
        ...Array.from({ length: 6 }, () => create(bea, { role: 'admin' })),
        api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`),
        ...Array.from({ length: 6 }, () => create(bea, { role: 'admin' })),
      ])
      const removed = answers.splice(6, 1)[0]!
      for (const { status } of answers) expect([201, 401, 409]).toContain(status)
      expect((await api(owner, 'GET', CREDENTIALS)).body.data.map((one: Shown) => one.api_key)).toEqual([owner.api_key])
      const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.api_key)
      expect(removed.body.revoked_api_keys).toEqual([bea.api_key, ...made].sort())
    }
  })
})

describe('the day of the last use', () => {
  const used = (owner: Caller, day: string | null) =>
    vi.waitFor(async () => expect((await shownOf(owner, owner)).last_used_on).toBe(day), { timeout: 5_000, interval: 20 })
  const cost = (caller: Caller) =>
    costOf(env.DB, env.FILES, async () => {
      const answer = await send('GET', '/v1/organization', { authorization: basic(caller) })
      // What follows the answer counts too.
      await new Promise((resolve) => setTimeout(resolve, 100))
      return answer.status
    })

  it('is null before the first request, then the day in UTC, and is written by the first request of a day alone', async () => {
    at('2026-11-18T23:59:59.999Z')
    const owner = await signUp()
    const ci = await credentialOf(owner, 'member')
    expect((await shownOf(owner, ci)).last_used_on).toBe(null)
    const first = await cost(ci)
    expect([first.result, first.cost.d1_calls, first.cost.rows_written]).toEqual([200, 3, 1])
    expect((await shownOf(owner, ci)).last_used_on).toBe('2026-11-18')
    const second = await cost(ci)
    expect([second.result, second.cost.d1_calls, second.cost.rows_written]).toEqual([200, 2, 0])
    at('2026-11-19T00:00:00Z')
    expect((await cost(ci)).cost.rows_written).toBe(1)
    expect((await cost(ci)).cost.rows_written).toBe(0)
    expect((await shownOf(owner, ci)).last_used_on).toBe('2026-11-19')
  })

  it('is written once by many requests at once', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const ci = await credentialOf(owner, 'member')
    const { cost } = await costOf(env.DB, env.FILES, async () => {
      await Promise.all(Array.from({ length: 10 }, () => send('GET', '/v1/organization', { authorization: basic(ci) })))
      await new Promise((resolve) => setTimeout(resolve, 200))
    })
    expect(cost.rows_written).toBe(1)
    await used(owner, '2026-11-18')
  })

  it('is not written for a request that is refused for its rate, and is for one that fails otherwise', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const ci = await credentialOf(owner, 'member')
    const refusing = { ...env, PER_CREDENTIAL: { limit: async () => ({ success: false }) } } as Env
    expect((await send('GET', '/v1/organization', { authorization: basic(ci), env: refusing })).status).toBe(429)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await shownOf(owner, ci)).last_used_on).toBe(null)
    expect((await send('POST', CREDENTIALS, { ...json({}), authorization: basic(ci) })).status).toBe(403)
    await vi.waitFor(async () => expect((await shownOf(owner, ci)).last_used_on).toBe('2026-11-18'), { timeout: 5_000, interval: 20 })
  })
})
