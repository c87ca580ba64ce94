import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { checksum, isToken } from '../../../src/accounts/credentials/key.ts'
import { domainsOf } from '../../../src/accounts/team/invitations.ts'
import type { Role } from '../../../src/platform/tenant/tenant.ts'
import { api, type Caller, type Reply, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { joined, organization, type Person, signUp, type Tenant } from '../../support/tenants.ts'
import { essence, json, send } from '../../support/wire.ts'
import { credentialOf, organizationWith } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

const MEMBERS = '/v1/team/members'
const INVITE = `${MEMBERS}/invite`
const ACCEPT = '/v1/auth/invitations/accept'
const ROLES = ['owner', 'admin', 'member'] as const

let mails = 0
const freshMail = (): string => `invitada${++mails}@example.com`

// biome-ignore lint/suspicious/noExplicitAny: the shape has been checked against the route.
const accept = (token: string, name = 'Bea'): Promise<Reply<any>> => request('POST', ACCEPT, json({ token, name }))
const invite = (caller: Caller, role: Role, email = freshMail()) => api(caller, 'POST', INVITE, { email, role })
const statusOf = async (caller: Caller): Promise<number> => (await api(caller, 'GET', '/v1/organization')).status
const membersOf = async (caller: Caller) =>
  (await api(caller, 'GET', `${MEMBERS}?limit=100`)).body.data as { member_id: string; role: Role }[]

const ownerOf = async (owner: Tenant): Promise<string> => (await membersOf(owner))[0]!.member_id

describe('an invitation', () => {
  it('makes a member of the role, with a credential that is theirs, and tells the organization', async () => {
    at('2026-11-18T18:00:00Z')
    const owner = await signUp('Despacho Uno')
    const { status, headers, body } = await api(owner, 'POST', INVITE, { email: ' Bea@Example.com ', role: 'admin', name: ' Bea ' })
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store'])
    expect(body).toEqual({
      invitation_id: expect.stringMatching(/^ivt_[0-9a-z]{26}$/),
      email: 'Bea@Example.com',
      role: 'admin',
      name: 'Bea',
      invited_by: owner.api_key,
      created_at: '2026-11-18T18:00:00.000Z',
      expires_at: '2026-11-25T18:00:00.000Z',
      token: expect.stringMatching(/^fds_test_invitation_[0-9A-Za-z]{49}$/),
    })
    expect((await api(owner, 'GET', '/v1/organization/stats')).body.total_members).toBe(1)
    const joined = await accept(body.token, '  Beatriz ')
    expect(joined.status).toBe(201)
    expect(joined.body).toEqual({
      organization: (await api(owner, 'GET', '/v1/organization')).body,
      member: {
        member_id: expect.stringMatching(/^mem_/),
        name: 'Beatriz',
        email: 'Bea@Example.com',
        role: 'admin',
        created_at: '2026-11-18T18:00:00.000Z',
      },
      credential: expect.objectContaining({ name: 'Invitation', role: 'admin', created_by: null, expires_at: null, last_used_on: null }),
    })
    expect((await api(owner, 'GET', '/v1/organization/stats')).body.total_members).toBe(2)
    expect((await api(joined.body.credential, 'GET', MEMBERS)).body.data[1]).toEqual(joined.body.member)
    const events = (await api(owner, 'GET', '/v1/audit-events')).body.data.slice(0, 2)
    expect(events).toEqual([
      expect.objectContaining({
        action: 'member.joined',
        resource_id: joined.body.member.member_id,
        actor: joined.body.credential.api_key,
        changed: [],
      }),
      expect.objectContaining({ action: 'invitation.created', resource_id: body.invitation_id, changed: ['email', 'role', 'name'] }),
    ])
  })

  it('has a token by its looks, which opens nothing else and is kept nowhere', async () => {
    const owner = await signUp()
    const { token } = (await invite(owner, 'member')).body
    expect([isToken('test', 'invitation', token), isToken('live', 'invitation', token), isToken('test', 'secret', token)]).toEqual([
      true,
      false,
      false,
    ])
    expect(checksum(token.slice(0, -6))).toBe(token.slice(-6))
    expect((await send('GET', '/v1/organization', { authorization: `Bearer ${token}` })).status).toBe(401)
    const { results } = await env.DB.prepare('select * from invitations').all()
    expect(JSON.stringify(results)).not.toContain(token.slice(-30))
  })

  it('is good once, also for fifty at once', async () => {
    const owner = await signUp()
    const { token } = (await invite(owner, 'member')).body
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => accept(token, `Persona ${n}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(49).fill(404)])
    expect(await membersOf(owner)).toHaveLength(2)
    const { data } = (await api(owner, 'GET', '/v1/credentials')).body
    expect(data).toHaveLength(2)
  })

  it('ends after seven days to the millisecond', async () => {
    at('2026-11-18T18:00:00Z')
    const owner = await signUp()
    const [one, two] = [(await invite(owner, 'member')).body.token, (await invite(owner, 'member')).body.token]
    at('2026-11-25T17:59:59.999Z')
    expect((await accept(one)).status).toBe(201)
    at('2026-11-25T18:00:00Z')
    expect((await accept(two)).status).toBe(404)
  })

  it('is replaced by the next one to the same address, in whatever case it is written', async () => {
    const owner = await signUp()
    const email = freshMail()
    const [first, second] = [await invite(owner, 'member', email), await invite(owner, 'admin', email.toUpperCase())]
    expect([first.status, second.status]).toEqual([201, 201])
    expect((await accept(first.body.token)).status).toBe(404)
    expect((await accept(second.body.token)).body.member.role).toBe('admin')
  })

  it('of one address by twenty at once: each has an answer, one token is good', async () => {
    const owner = await signUp()
    const email = freshMail()
    const answers = await Promise.all(Array.from({ length: 20 }, () => invite(owner, 'member', email)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201))
    const accepted = await Promise.all(answers.map(({ body }) => accept(body.token)))
    expect(accepted.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await membersOf(owner)).toHaveLength(2)
  })

  it('of a member’s address is 409, in any case; of somebody’s elsewhere it is like any other', async () => {
    const [owner, other] = [await signUp(), await signUp()]
    const bea = await joined(owner, 'member')
    for (const email of [bea.email, bea.email.toUpperCase()]) {
      const { status, body } = await invite(owner, 'member', email)
      expect([status, body.code]).toEqual([409, 'member.exists'])
    }
    const [known, unknown] = [await invite(other, 'member', bea.email), await invite(other, 'member')]
    expect([known.status, Object.keys(known.body)]).toEqual([unknown.status, Object.keys(unknown.body)])
    expect((await accept(known.body.token)).status).toBe(201)
    await api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`)
    expect((await invite(owner, 'member', bea.email)).status).toBe(201)
  })

  it('that is raced by its own acceptance never makes two of one address', async () => {
    const owner = await signUp()
    for (let n = 0; n < 10; n++) {
      const email = freshMail()
      const { token } = (await invite(owner, 'member', email)).body
      const [joined, again] = await Promise.all([accept(token), invite(owner, 'member', email)])
      const second = again.status === 201 ? await accept(again.body.token) : undefined
      expect([joined.status, again.status, second?.status]).toEqual(second ? [404, 201, 201] : [201, 409, undefined])
      expect((await api(owner, 'GET', `${MEMBERS}?limit=100`)).body.data.filter((one: Person) => one.email === email)).toHaveLength(1)
    }
  })

  it.each(['removed', 'expired'] as const)('of an inviter or a term that is %s while it is being accepted lets nobody in', async (what) => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const { token, invitation_id } = (await invite(bea, 'admin')).body
    const meanwhile = async () => {
      if (what === 'removed') await api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`)
      else await env.DB.prepare('update invitations set expires_at = 0 where invitation_id = ?').bind(invitation_id).run()
    }
    const DB = new Proxy(env.DB, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown
        if (name === 'batch') return (statements: D1PreparedStatement[]) => meanwhile().then(() => target.batch(statements))
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    expect((await send('POST', ACCEPT, { ...json({ token, name: 'Bea' }), env: { ...env, DB } })).status).toBe(404)
    expect(await membersOf(owner)).toHaveLength(what === 'removed' ? 1 : 2)
  })

  it('refuses what is no token, or not one any more, alike', async () => {
    const owner = await signUp()
    const { token } = (await invite(owner, 'member')).body
    await accept(token)
    const unchecked = `fds_test_invitation_${'a'.repeat(43)}`
    const texts = [
      token,
      token.replace('_test_', '_live_'),
      unchecked + checksum(unchecked),
      `${token}x`,
      'x',
      owner.api_secret,
      '%',
      "' or 1=1",
    ]
    const notified = new Set<string>()
    for (const text of texts) notified.add(essence(await send('POST', ACCEPT, json({ token: text, name: 'Bea' }))))
    expect([...notified]).toEqual([expect.stringContaining('"invitation.not_found')])
    expect((await accept('')).status).toBe(422)
    expect((await accept('a'.repeat(201))).status).toBe(422)
    expect((await send('POST', ACCEPT, json({ token, name: ' ' }))).status).toBe(422)
  })

  it.each([
    [{ role: 'member' }, ['email']],
    [{ email: 'a@b', role: 'member' }, ['email']],
    [{ email: 'Ana <ana@example.com>', role: 'member' }, ['email']],
    [{ email: 'ana@example.com' }, ['role']],
    [{ email: 'ana@example.com', role: 'root' }, ['role']],
    [{ email: 'ana@example.com', role: 'member', name: '' }, ['name']],
    [{ email: 'ana@example.com', role: 'member', organization_id: 'x' }, ['organization_id']],
  ])('%j is 422 for %s', async (draft, paths) => {
    const { status, body } = await api(await signUp(), 'POST', INVITE, draft)
    expect([status, body.errors.map(({ path }: { path: string }) => path)]).toEqual([422, paths])
  })
})

describe('who may do what to whom', () => {
  let owner: Tenant
  let callers: Record<Role, Caller>
  beforeAll(async () => {
    ;({ owner, callers } = await organizationWith())
  })

  const may = (by: Role, ...roles: Role[]): boolean => by === 'owner' || (by === 'admin' && !roles.includes('owner'))
  const refused = (by: Role) => [403, by === 'admin' ? 'member.owner_only' : 'credential.role']
  const pairs = ROLES.flatMap((by) => ROLES.map((role) => [by, role] as const))

  it.each(pairs)('an %s invites as %s', async (by, role) => {
    const { status, body } = await invite(callers[by], role)
    expect([status, body.code]).toEqual(may(by, role) ? [201, undefined] : refused(by))
  })

  it.each(pairs)('an %s replaces an invitation as %s', async (by, role) => {
    const email = freshMail()
    const { token } = (await invite(owner, role, email)).body
    const { status, body } = await invite(callers[by], 'member', email)
    expect([status, body.code]).toEqual(may(by, role) ? [201, undefined] : refused(by))
    expect((await accept(token)).status).toBe(status === 201 ? 404 : 201)
  })

  it.each(pairs)('an %s removes an %s', async (by, role) => {
    const person = await joined(owner, role)
    const { status, body } = await api(callers[by], 'DELETE', `${MEMBERS}/${person.member_id}`)
    expect([status, body.code]).toEqual(may(by, role) ? [200, undefined] : refused(by))
    expect(await statusOf(person)).toBe(status === 200 ? 401 : 200)
  })

  it.each(pairs.flatMap(([by, from]) => ROLES.map((to) => [by, from, to] as const)))('an %s makes an %s an %s', async (by, from, to) => {
    const person = await joined(owner, from)
    const { status, body } = await api(callers[by], 'PATCH', `${MEMBERS}/${person.member_id}`, { role: to })
    expect([status, body.code]).toEqual(may(by, from, to) ? [200, undefined] : refused(by))
    const { data } = (await api(owner, 'GET', '/v1/credentials?limit=100')).body
    expect(data.find(({ api_key }: Caller) => api_key === person.api_key).role).toBe(status === 200 ? to : from)
    expect((await membersOf(owner)).find(({ member_id }) => member_id === person.member_id)!.role).toBe(status === 200 ? to : from)
  })

  it('an admin does not rename an owner; nothing sent changes nothing', async () => {
    const person = await joined(owner, 'owner')
    expect((await api(callers.admin, 'PATCH', `${MEMBERS}/${person.member_id}`, { name: 'Otra' })).status).toBe(403)
    const { status, body } = await api(owner, 'PATCH', `${MEMBERS}/${person.member_id}`, { name: ' Otra ' })
    expect([status, body.name, body.role]).toEqual([200, 'Otra', 'owner'])
    expect((await api(owner, 'PATCH', `${MEMBERS}/${person.member_id}`, {})).body).toEqual(body)
    expect((await api(owner, 'PATCH', `${MEMBERS}/${person.member_id}`, { role: null })).status).toBe(422)
    expect((await api(owner, 'PATCH', `${MEMBERS}/${person.member_id}`, { email: 'x@example.com' })).status).toBe(422)
  })
})

describe('removing', () => {
  it('ends the member’s own credentials, and not those of others', async () => {
    const owner = await signUp()
    const [bea, leo] = [await joined(owner, 'admin'), await joined(owner, 'admin')]
    const { status, body } = await api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`)
    expect([status, body]).toEqual([200, { member_id: bea.member_id, revoked_api_keys: [bea.api_key] }])
    expect([await statusOf(bea), await statusOf(leo), await statusOf(owner)]).toEqual([401, 200, 200])
    expect((await membersOf(owner)).map(({ member_id }) => member_id)).not.toContain(bea.member_id)
    for (const method of ['DELETE', 'PATCH'])
      expect((await api(owner, method, `${MEMBERS}/${bea.member_id}`, method === 'PATCH' ? { name: 'x' } : undefined)).status).toBe(404)
  })

  it('withdraws what they invited: who is removed does not come back by an invitation of their own', async () => {
    const owner = await signUp()
    const [bea, leo] = [await joined(owner, 'admin'), await joined(owner, 'admin')]
    const [theirs, other] = [(await invite(bea, 'admin')).body.token, (await invite(leo, 'admin')).body.token]
    await api(owner, 'DELETE', `${MEMBERS}/${bea.member_id}`)
    expect([(await accept(theirs)).status, (await accept(other)).status]).toEqual([404, 201])
  })

  it.each([
    ['admin', { owner: 404, admin: 201, member: 201 }],
    ['member', { owner: 404, admin: 404, member: 404 }],
    ['owner', { owner: 201, admin: 201, member: 201 }],
  ] as const)('demoting to %s leaves of what they invited what they may', async (left, expected) => {
    const owner = await signUp()
    const bea = await joined(owner, 'owner')
    const tokens = await Promise.all(ROLES.map(async (role) => [role, (await invite(bea, role)).body.token] as const))
    await api(owner, 'PATCH', `${MEMBERS}/${bea.member_id}`, { role: left })
    for (const [role, token] of tokens) expect([role, (await accept(token)).status]).toEqual([role, expected[role]])
  })

  it('lets one go by oneself', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    expect((await api(bea, 'DELETE', `${MEMBERS}/${bea.member_id}`)).status).toBe(200)
    expect(await statusOf(bea)).toBe(401)
  })
})

describe('the last owner', () => {
  const leaving = [
    ['is not removed', 'DELETE', undefined],
    ['is not made an admin', 'PATCH', { role: 'admin' }],
    ['is not made a member', 'PATCH', { role: 'member', name: 'Otra' }],
  ] as const

  it.each(leaving)('%s', async (_, method, changes) => {
    const owner = await signUp()
    await joined(owner, 'admin')
    const path = `${MEMBERS}/${await ownerOf(owner)}`
    const before = await membersOf(owner)
    const { status, body } = await api(owner, method, path, changes)
    expect([status, body.code]).toEqual([409, 'member.last_owner'])
    expect([await statusOf(owner), await membersOf(owner)]).toEqual([200, before])
    await joined(owner, 'owner')
    expect((await api(owner, method, path, changes)).status).toBe(200)
  })

  it('is also who alone has a credential of an owner’s that works', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'owner')
    const path = `${MEMBERS}/${await ownerOf(owner)}`
    at('2026-11-18T18:00:00Z')
    await credentialOf(bea, 'owner', { expires_at: '2026-11-18T19:00:00Z' })
    const spare = await credentialOf(bea, 'owner', { expires_at: '2026-11-18T20:00:00Z' })
    const lasting = await credentialOf(bea, 'owner')
    for (const { api_key } of [bea, lasting]) await api(owner, 'DELETE', `/v1/credentials/${api_key}`)
    // A credential that ends earlier than this member's does not replace it.
    expect((await api(owner, 'DELETE', path)).body.code).toBe('member.last_owner')
    at('2026-11-18T19:00:00Z')
    expect((await api(owner, 'PATCH', path, { role: 'member' })).body.code).toBe('member.last_owner')
    expect((await api(spare, 'DELETE', path)).body.code).toBe('member.last_owner')
    await joined(owner, 'owner')
    expect((await api(owner, 'DELETE', path)).status).toBe(200)
  })

  it('is a person: a credential of the organization’s own does not stand in for one', async () => {
    const owner = await signUp()
    const path = `${MEMBERS}/${await ownerOf(owner)}`
    const machine = await credentialOf(owner, 'owner')
    expect((await api(machine, 'DELETE', path)).body.code).toBe('member.last_owner')
    await joined(owner, 'owner')
    expect((await api(machine, 'DELETE', path)).status).toBe(200)
  })

  it.each(['DELETE', 'PATCH'])('two owners who %s each other at once leave one', async (method) => {
    for (let round = 0; round < 10; round++) {
      const owner = await signUp()
      const bea = await joined(owner, 'owner')
      const mine = await ownerOf(owner)
      const change = method === 'PATCH' ? { role: 'member' } : undefined
      await Promise.all([api(owner, method, `${MEMBERS}/${bea.member_id}`, change), api(bea, method, `${MEMBERS}/${mine}`, change)])
      const left = await env.DB.prepare(
        "select count(*) as n from members where organization_id = ? and role = 'owner' and status = 'active'",
      )
        .bind(owner.organization_id)
        .first('n')
      expect([left, [await roleOf(owner), await roleOf(bea)].filter((role) => role === 'owner').length]).toEqual([1, 1])
    }
  })

  const roleOf = async (caller: Caller): Promise<string> => {
    const { status } = await api(caller, 'POST', '/v1/test-helpers/organization', {})
    return status === 200 ? 'owner' : 'none'
  }

  it('is never lost, whatever many do at once', async () => {
    const step = fc.record({
      by: fc.nat(3),
      to: fc.nat(3),
      what: fc.constantFrom('remove', 'owner', 'admin', 'member' as const),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }), async (rounds) => {
        const owner = await signUp()
        const people: Person[] = [
          { ...owner, member_id: await ownerOf(owner), email: '' },
          await joined(owner, 'owner'),
          await joined(owner, 'admin'),
          await joined(owner, 'member'),
        ]
        for (const round of rounds) {
          await Promise.all(
            round.map(async ({ by, to, what }) => {
              const { status } = await api(
                people[by]!,
                what === 'remove' ? 'DELETE' : 'PATCH',
                `${MEMBERS}/${people[to]!.member_id}`,
                what === 'remove' ? undefined : { role: what },
              )
              expect(status).toBeLessThan(500)
            }),
          )
          await holds(owner.organization_id)
        }
      }),
      { numRuns: 25 },
    )
  })

  /** There is an owner who can act, and each credential of a member's is as good as the member. */
  async function holds(organization_id: string): Promise<void> {
    const { results: people } = await env.DB.prepare('select member_id, role, status from members where organization_id = ?')
      .bind(organization_id)
      .all<{ member_id: string; role: string; status: string }>()
    const { results: keys } = await env.DB.prepare('select member_id, role, revoked_at from credentials where organization_id = ?')
      .bind(organization_id)
      .all<{ member_id: string; role: string; revoked_at: number | null }>()
    expect(people.some(({ role, status }) => role === 'owner' && status === 'active')).toBe(true)
    expect(keys.some(({ role, revoked_at }) => role === 'owner' && revoked_at === null)).toBe(true)
    for (const { member_id, role, revoked_at } of keys) {
      const person = people.find((one) => one.member_id === member_id)!
      expect(revoked_at === null ? [person.status, person.role] : person.status).toEqual(revoked_at === null ? ['active', role] : 'removed')
    }
  }
})

describe('the members', () => {
  it('are listed page by page, in the order in which they joined, to every role, and nobody else’s', async () => {
    const owner = await signUp()
    const people = [await ownerOf(owner)]
    for (const role of ['member', 'admin', 'owner', 'member'] as const) people.push((await joined(owner, role)).member_id)
    const reader = await joined(owner, 'member')
    people.push(reader.member_id)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await api(reader, 'GET', `${MEMBERS}?limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.data.map((one: Person) => one.member_id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(people)
    expect(await membersOf(await signUp())).toHaveLength(1)
  })
})

describe('an address at a disposable domain', () => {
  const list = async () => (await (await env.ASSETS.fetch('https://assets.invalid/disposable-domains.json')).json()) as string[]

  it('has the domains that it is under', () => {
    expect(domainsOf('a@B.c.MX')).toEqual(['b.c.mx', 'c.mx', 'mx'])
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z0-9]{1,8}$/), { minLength: 2, maxLength: 6 }), (labels) => {
        const domain = labels.join('.')
        const found = domainsOf(`a.b@${domain.toUpperCase()}`)
        expect(found).toHaveLength(labels.length)
        for (const one of found) expect(domain === one || domain.endsWith(`.${one}`)).toBe(true)
      }),
    )
  })

  it('is 422 on sign-up and on inviting, at the domain and below, in any case; a look-alike is not', async () => {
    // A plan with room for as many pending invitations.
    const { owner } = await organization('enterprise_gold')
    const join = async (email: string) => {
      const [signedUp, invited] = [
        await send('POST', '/v1/auth/signup', json({ organization_name: 'Uno', name: 'Ana', email })),
        await invite(owner, 'member', email),
      ]
      expect(invited.status).toBe(signedUp.status)
      if (signedUp.status === 422)
        for (const { body } of [signedUp, invited])
          expect([body.code, body.errors]).toEqual(['email.disposable', [{ path: 'email', message: expect.any(String) }]])
      return signedUp.status
    }
    const domains = (await list()).filter((one) => /^([a-z0-9-]+\.)+[a-z]{2,}$/.test(one))
    expect(domains.length).toBeGreaterThan(5_000)
    expect(domains).toContain('mailinator.com')
    const sample = ['mailinator.com', 'yopmail.com', ...domains.filter((_, n) => n % 1_500 === 7)]
    for (const domain of sample) {
      for (const email of [`ana@${domain}`, `ANA@${domain.toUpperCase()}`, `ana@sub.${domain}`, `ana@a.b.c.${domain}`])
        expect([email, await join(email)]).toEqual([email, 422])
      for (const email of [`ana@x${domain}`, `${domain}@example.com`]) expect([email, await join(email)]).toEqual([email, 201])
    }
  })

  it.each([
    ...['tempmail.com', 'tempmail.net', 'temp-mail.io', 'mx.tempmail.dev', 'TempMail.xyz', 'tempmail.us.com', 'temp-inbox.com'],
    ...['10minutemail.de', '10minmail.com', '20-minute-mail.org', 'minutemail.com', 'trashmail.ws', 'throw-away-mail.com', 'burnermail.io'],
  ])('%s is refused by its name, whether or not it is listed', async (domain) => {
    const draft = { organization_name: 'Uno', name: 'Ana', email: `ana@${domain}` }
    const { status, body } = await send('POST', '/v1/auth/signup', json(draft))
    expect([status, body.code]).toEqual([422, 'email.disposable'])
  })

  it.each([
    ...['gmail.com', 'outlook.com', 'hotmail.com', 'live.com.mx', 'yahoo.com.mx', 'prodigy.net.mx', 'icloud.com', 'proton.me', 'unam.mx'],
    ...['contempmail.com', 'templo.mx', 'temporal.com', 'minemail.mx', 'maildespacho.mx', 'duck.com', 'mozmail.com', 'simplelogin.com'],
  ])('%s is accepted', async (domain) => {
    const draft = { organization_name: 'Uno', name: 'Ana', email: `ana@${domain}` }
    expect((await send('POST', '/v1/auth/signup', json(draft))).status).toBe(201)
  })

  it('is told by an oracle that knows nothing of labels', async () => {
    const domains = await list()
    const listed = new Set(domains)
    const slow = (domain: string): boolean => domains.some((one) => domain === one || domain.endsWith(`.${one}`))
    const any = fc.oneof(fc.constantFrom(...domains), fc.constantFrom('example.com', 'com', 'co.uk', 'gmail.com'))
    fc.assert(
      fc.property(
        any,
        fc.constantFrom('', 'x', 'x.', 'a.b.', '-', 'mailinator.com.'),
        fc.constantFrom('', '.mx', '.com'),
        (one, before, after) => {
          const domain = before + one + after
          expect(domainsOf(`ana@${domain}`).some((part) => listed.has(part))).toBe(slow(domain))
        },
      ),
      { numRuns: 500 },
    )
  })
})
