import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Role } from '../../../src/platform/tenant/tenant.ts'
import { api, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { joined, type Person, signUp, type Tenant } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { credentialOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

const MEMBERS = '/v1/team/members'
const ROLES = ['owner', 'admin', 'member'] as const

const statusOf = async (caller: Caller): Promise<number> => (await api(caller, 'GET', '/v1/organization')).status
const statusesOf = (...callers: Caller[]): Promise<number[]> => Promise.all(callers.map(statusOf))
const remove = (by: Caller, { member_id }: Person, query = '') => api(by, 'DELETE', `${MEMBERS}/${member_id}${query}`)
const lower = (by: Caller, { member_id }: Person, role: Role) => api(by, 'PATCH', `${MEMBERS}/${member_id}`, { role })
const rolesOf = async (owner: Caller): Promise<Record<string, Role>> =>
  Object.fromEntries(
    (await api(owner, 'GET', '/v1/credentials?limit=100')).body.data.map((one: { api_key: string; role: Role }) => [one.api_key, one.role]),
  )
const ownerPerson = async (owner: Tenant): Promise<Person> => ({
  ...owner,
  email: '',
  member_id: (await api(owner, 'GET', MEMBERS)).body.data[0].member_id,
})

/** A member with what the member made: a chain of three, whose middle one is revoked. */
async function withChain(owner: Tenant, role: Role = 'admin') {
  const bea = await joined(owner, role)
  const first = await credentialOf(bea, role)
  const middle = await credentialOf(first, role)
  const last = await credentialOf(middle, role)
  await api(owner, 'DELETE', `/v1/credentials/${middle.api_key}`)
  return { bea, first, last }
}

describe('removing a member', () => {
  it('revokes what the member made, and what that made, also through a revoked credential, and answers which', async () => {
    const owner = await signUp()
    const leo = await joined(owner, 'admin')
    const theirs = await credentialOf(leo, 'admin')
    const { bea, first, last } = await withChain(owner)
    const { status, body } = await remove(owner, bea)
    expect([status, body]).toEqual([200, { member_id: bea.member_id, revoked_api_keys: [bea.api_key, first.api_key, last.api_key].sort() }])
    expect(await statusesOf(bea, first, last, leo, theirs, owner)).toEqual([401, 401, 401, 200, 200, 200])
    expect(Object.keys(await rolesOf(owner)).sort()).toEqual([owner.api_key, leo.api_key, theirs.api_key].sort())
  })

  it('with keep_credentials=true revokes only the member’s own', async () => {
    const owner = await signUp()
    const { bea, first, last } = await withChain(owner)
    expect((await remove(owner, bea, '?keep_credentials=true')).body.revoked_api_keys).toEqual([bea.api_key])
    expect(await statusesOf(bea, first, last)).toEqual([401, 200, 200])
    expect((await remove(owner, bea, '?keep_credentials=true')).status).toBe(404)
  })

  it.each([
    ['?keep_credentials=false', 200],
    ['?keep_credentials=', 422],
    ['?keep_credentials=1', 422],
    ['?keep=true', 422],
  ])('with %s is %i', async (query, expected) => {
    const owner = await signUp()
    const { bea, first } = await withChain(owner)
    expect((await remove(owner, bea, query)).status).toBe(expected)
    expect(await statusesOf(bea, first)).toEqual(expected === 200 ? [401, 401] : [200, 200])
  })

  it('withdraws what was invited with what the member made, also when that is kept', async () => {
    for (const query of ['', '?keep_credentials=true']) {
      const owner = await signUp()
      const { bea, last } = await withChain(owner)
      const { token } = (await api(last, 'POST', `${MEMBERS}/invite`, { email: 'vuelve@example.com', role: 'admin' })).body
      await remove(owner, bea, query)
      expect((await send('POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))).status).toBe(404)
    }
  })

  it('leaves the members whom the member invited, with what they made', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const leo = await joined(bea, 'admin')
    const made = await credentialOf(leo, 'member')
    expect((await remove(owner, bea)).body.revoked_api_keys).toEqual([bea.api_key])
    expect(await statusesOf(leo, made)).toEqual([200, 200])
  })

  it('is recorded once, whatever was revoked', async () => {
    const owner = await signUp()
    const { bea } = await withChain(owner)
    await remove(owner, bea)
    const { data } = (await api(owner, 'GET', `/v1/audit-events?resource_id=${bea.member_id}`)).body
    expect(data.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual([
      ['member.removed', owner.api_key],
      ['member.joined', bea.api_key],
    ])
  })

  it('by two at once succeeds once', async () => {
    const owner = await signUp()
    const leo = await joined(owner, 'owner')
    const { bea, first, last } = await withChain(owner)
    const answers = await Promise.all([remove(owner, bea), remove(leo, bea)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    expect(await statusesOf(bea, first, last)).toEqual([401, 401, 401])
  })
})

describe('the last owner', () => {
  it('does not go while every other owner’s credential was made by them, unless these are kept', async () => {
    const owner = await signUp()
    const person = await ownerPerson(owner)
    const leo = await joined(owner, 'owner')
    await credentialOf(owner, 'owner')
    await api(owner, 'DELETE', `/v1/credentials/${leo.api_key}`)
    expect((await remove(owner, person)).body.code).toBe('member.last_owner')
    expect((await lower(owner, person, 'admin')).body.code).toBe('member.last_owner')
    expect((await remove(owner, person, '?keep_credentials=true')).status).toBe(200)
  })

  it('goes when another owner’s credential lasts as long as all that is lost', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const person = await ownerPerson(owner)
    const leo = await joined(owner, 'owner')
    await env.DB.prepare('update credentials set expires_at = ? where api_key in (?, ?)')
      .bind(Date.parse('2026-11-19T12:00:00Z'), owner.api_key, leo.api_key)
      .run()
    expect((await remove(owner, person)).status).toBe(200)
    expect(await statusesOf(owner, leo)).toEqual([401, 200])
  })
})

describe('lowering a member’s role', () => {
  it.each(ROLES.flatMap((from) => ROLES.filter((to) => ROLES.indexOf(to) > ROLES.indexOf(from)).map((to) => [from, to] as const)))(
    'from %s to %s lowers what the member made to at most that',
    async (from, to) => {
      const owner = await signUp()
      const bea = await joined(owner, from)
      const under = (role: Role): Role => (ROLES.indexOf(role) > ROLES.indexOf(to) ? role : to)
      const made = await Promise.all(
        ROLES.filter((role) => ROLES.indexOf(role) >= ROLES.indexOf(from)).map(async (role) => ({
          role,
          by: await credentialOf(bea, role),
        })),
      )
      const further = from === 'owner' ? [{ role: 'admin' as Role, by: await credentialOf(made[0]!.by, 'admin') }] : []
      const other = await credentialOf(owner, from)
      expect((await lower(owner, bea, to)).status).toBe(200)
      const roles = await rolesOf(owner)
      expect([roles[bea.api_key], roles[other.api_key]]).toEqual([to, from])
      for (const { role, by } of [...made, ...further]) expect([role, roles[by.api_key]]).toEqual([role, under(role)])
    },
  )

  it('and raising it again raises the member’s own credential alone', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'owner')
    const made = await credentialOf(bea, 'owner')
    await lower(owner, bea, 'member')
    await lower(owner, bea, 'owner')
    const roles = await rolesOf(owner)
    expect([roles[bea.api_key], roles[made.api_key]]).toEqual(['owner', 'member'])
  })

  it('withdraws what the new role does not allow of what was invited with what the member made', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'owner')
    const made = await credentialOf(bea, 'owner')
    const invite = async (role: Role) => (await api(made, 'POST', `${MEMBERS}/invite`, { email: `${role}@example.com`, role })).body.token
    const [asOwner, asAdmin] = [await invite('owner'), await invite('admin')]
    await lower(owner, bea, 'admin')
    const accept = async (token: string) => (await send('POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))).status
    expect([await accept(asOwner), await accept(asAdmin)]).toEqual([404, 201])
  })
})

describe('whatever many members do at once', () => {
  const step = fc.record({ by: fc.nat(2), to: fc.nat(2), what: fc.constantFrom('remove', 'keep', ...ROLES, 'make', 'make') })

  it('no credential is above its member, none of a removed member is left unless it was kept, and an owner can act', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }), async (rounds) => {
        const owner = await signUp()
        const people = [await ownerPerson(owner), await joined(owner, 'owner'), await joined(owner, 'admin')]
        const callers: Caller[][] = people.map((one) => [one])
        const kept = new Set<string>()
        const act = async ({ by, to, what }: { by: number; to: number; what: string }): Promise<void> => {
          const actor = callers[by]!.at(-1)!
          if (what === 'make') {
            const { status, body } = await api(actor, 'POST', '/v1/credentials', { name: 'x', role: to === 0 ? 'owner' : 'admin' })
            expect([201, 401, 403, 409]).toContain(status)
            if (status === 201) callers[by]!.push(body)
            return
          }
          const isRemoval = what === 'remove' || what === 'keep'
          const reply = await (isRemoval
            ? remove(actor, people[to]!, what === 'keep' ? '?keep_credentials=true' : '')
            : lower(actor, people[to]!, what as Role))
          expect(reply.status).toBeLessThan(500)
          if (what === 'keep' && reply.status === 200) kept.add(people[to]!.member_id)
        }
        for (const round of rounds) {
          await Promise.all(round.map(act))
          await holds(owner.organization_id, kept)
        }
      }),
      { numRuns: runs(4, 150) },
    )
  })

  async function holds(organization_id: string, kept: ReadonlySet<string>): Promise<void> {
    const { results: rows } = await env.DB.prepare(
      `select c.api_key, c.role, c.created_by, m.member_id, m.role as member_role, m.status from credentials c
       join members m on m.member_id = c.member_id where c.organization_id = ? and c.revoked_at is null`,
    )
      .bind(organization_id)
      .all<{ api_key: string; role: Role; created_by: string | null; member_id: string; member_role: Role; status: string }>()
    expect(rows.some(({ role }) => role === 'owner')).toBe(true)
    for (const { api_key, role, created_by, member_id, member_role, status } of rows) {
      if (status === 'removed') expect([api_key, created_by === null, kept.has(member_id)]).toEqual([api_key, false, true])
      else if (created_by === null) expect([api_key, role]).toEqual([api_key, member_role])
      else expect([api_key, ROLES.indexOf(role) >= ROLES.indexOf(member_role)]).toEqual([api_key, true])
    }
  }
})
