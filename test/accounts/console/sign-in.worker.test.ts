import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleApp } from '../../../src/accounts/console/routes.ts'
import { app } from '../../../src/app/app.ts'
import { WORK } from '../../../src/app/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api, type Caller } from '../../support/client.ts'
import { joined, signUp } from '../../support/tenants.ts'

const NOW = Date.parse('2026-11-18T18:00:00Z')
const later = (seconds: number) => vi.setSystemTime(NOW + seconds * 1_000)
const DAY = 86_400

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  later(0)
  vi.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A deployment that sends mail, and a browser without a cookie. */
function deployment(more: object = {}) {
  const sent: { to: string; text: string }[] = []
  const told: unknown[] = []
  const bindings = {
    ...env,
    ...{ EMAIL: { send: async (mail: { to: string; text: string }) => void sent.push(mail) }, MAIL_FROM: 'avisos@example.com' },
    ...{ WEBHOOKS: { sendBatch: async (messages: { body: unknown }[]) => void told.push(...messages.map(({ body }) => body)) } },
    ...{ PUBLIC_HOSTS: 'api.test' },
    ...more,
  } as unknown as Env
  const ask = async (
    method: string,
    path: string,
    json?: object,
    cookie = '',
    from = '203.0.113.7',
    origin = 'https://api.test',
    added: object = {},
  ) => {
    const headers = {
      ...added,
      'sec-fetch-site': 'same-origin',
      'cf-connecting-ip': from,
      cookie,
      ...(json && { 'content-type': 'application/json' }),
    }
    const request = new Request(`${origin}${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    const response = await (path.startsWith('/console') ? consoleApp : app).fetch(request, bindings)
    const text = await response.text()
    const set = response.headers.get('set-cookie') ?? ''
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, cookie: set.split(';')[0]!, set }
  }
  const work = async () => {
    for (const body of told.splice(0)) await WORK['mails']!.handle(systemOf(bindings, new Date(), 'req_test'), body)
  }
  /** The token of a link that was asked for. */
  const linkFor = async (email: string): Promise<string> => {
    expect((await ask('POST', '/console/sign-in-links', { email })).status).toBe(202)
    await work()
    return /#enter=(\w+)/.exec(sent.pop()!.text)![1]!
  }
  const enter = async (email: string, organization_id: string) =>
    ask('POST', '/console/session', { token: await linkFor(email), organization_id })
  return { ask, work, sent, linkFor, enter }
}

const emailOf = async (caller: Caller): Promise<string> => (await api(caller, 'GET', '/v1/team/members')).body.data[0].email

describe('signing in by mail', () => {
  it('takes a link of a mail, says whose it is, and works once, although many try at once, for thirty days', async () => {
    const owner = await signUp('Despacho Correo')
    const email = await emailOf(owner)
    const { ask, linkFor } = deployment()
    const token = await linkFor(email.toUpperCase())
    const holder = await ask('POST', '/console/sign-in-links/holder', { token })
    const organizations = [{ id: owner.organization_id, name: 'Despacho Correo', role: 'owner' }]
    expect([holder.status, holder.body]).toEqual([200, { email: email.toUpperCase(), organizations }])
    const sent = { token, organization_id: owner.organization_id }
    const all = await Promise.all(Array.from({ length: 3 }, () => ask('POST', '/console/session', sent)))
    expect(all.map(({ status }) => status).sort()).toEqual([201, 401, 401])
    const entered = all.find(({ status }) => status === 201)!
    expect(entered.set).toMatch(/Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
    expect(entered.body).toMatchObject({ role: 'owner', organizations, expires_at: new Date(NOW + 30 * DAY * 1_000).toISOString() })
    expect((await ask('POST', '/console/sign-in-links/holder', { token })).body.code).toBe('session.link')
    expect((await ask('GET', '/v1/organization', undefined, entered.cookie)).body.name).toBe('Despacho Correo')
    later(30 * DAY - 60)
    expect((await ask('GET', '/v1/organization', undefined, entered.cookie)).status).toBe(200)
    later(30 * DAY + 1)
    expect((await ask('GET', '/v1/organization', undefined, entered.cookie)).status).toBe(401)
  })

  it('works once, also for a request that began before the one that used it', async () => {
    const owner = await signUp()
    const { ask, linkFor } = deployment()
    const sent = { token: await linkFor(await emailOf(owner)), organization_id: owner.organization_id }
    later(10)
    expect((await ask('POST', '/console/session', sent)).status).toBe(201)
    later(9)
    expect((await ask('POST', '/console/session', sent)).body.code).toBe('session.link')
  })

  it('keeps no token, and the session may do what its role may', async () => {
    const owner = await signUp()
    const { ask, linkFor } = deployment()
    const email = await emailOf(owner)
    const token = await linkFor(email)
    const rows = JSON.stringify((await env.DB.prepare('select * from mails').all()).results)
    expect([rows.includes(email), rows.includes(token)]).toEqual([true, false])
    const { cookie } = await ask('POST', '/console/session', { token, organization_id: owner.organization_id })
    expect((await ask('PATCH', '/v1/organization', { name: 'Otro Nombre' }, cookie)).status).toBe(200)
  })

  it('is of fifteen minutes, and of this service: another text, or the token of another kind, is none', async () => {
    const owner = await signUp()
    const { ask, linkFor } = deployment()
    const token = await linkFor(await emailOf(owner))
    const { organization_id } = owner
    for (const wrong of [`${token}x`, owner.api_secret, token.replace('signin', 'confirmation')])
      expect((await ask('POST', '/console/session', { token: wrong, organization_id })).body.code).toBe('session.link')
    later(15 * 60 + 1)
    expect((await ask('POST', '/console/session', { token, organization_id })).body.code).toBe('session.link')
  })

  it('tells nobody whether an address is known, and sends nothing to strangers or to a sign-up that was not confirmed', async () => {
    const { ask, work, sent } = deployment()
    const owner = await signUp()
    await env.DB.prepare('update organizations set email_confirmed_at = null where id = ?').bind(owner.organization_id).run()
    const unconfirmed = await emailOf(owner)
    const answers = await Promise.all(['nadie@example.com', unconfirmed].map((email) => ask('POST', '/console/sign-in-links', { email })))
    await work()
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [202, { token: null }],
      [202, { token: null }],
    ])
    expect(sent).toEqual([])
  })

  it('sends few mails to an address, and fewer from one network', async () => {
    const email = await emailOf(await signUp())
    const { ask } = deployment()
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push((await ask('POST', '/console/sign-in-links', { email })).status)
    const last = await ask('POST', '/console/sign-in-links', { email })
    expect([statuses, last.body.code]).toEqual([[202, 202, 202, 202, 202, 429], 'session.link_limit'])
    expect((await ask('POST', '/console/sign-in-links', { email }, '', '198.51.100.9')).status).toBe(202)
    later(3_601)
    expect((await ask('POST', '/console/sign-in-links', { email })).status).toBe(202)
  })

  it('is of the member’s role, and ends with it: when the role changes, the member is removed, or the credential revoked', async () => {
    const owner = await signUp()
    const { ask, enter } = deployment()
    for (const end of ['role', 'member', 'credential'] as const) {
      const bea = await joined(owner, 'admin')
      const { email } = (await api(owner, 'GET', '/v1/team/members')).body.data.find(
        (one: Caller & { member_id: string }) => one.member_id === bea.member_id,
      )
      const { cookie, body } = await enter(email, owner.organization_id)
      expect(body.role).toBe('admin')
      const path = `/v1/team/members/${bea.member_id}`
      if (end === 'role') await api(owner, 'PATCH', path, { role: 'member' })
      else await api(owner, 'DELETE', end === 'member' ? path : `/v1/credentials/${bea.api_key}`)
      expect([end, (await ask('GET', '/v1/organization', undefined, cookie)).status]).toEqual([end, 401])
    }
  })

  it('gives no access beyond that of the member’s credential: where none is valid any more, the link leads nowhere', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'member')
    const { email } = (await api(owner, 'GET', '/v1/team/members')).body.data.find(
      (one: { member_id: string }) => one.member_id === bea.member_id,
    )
    const { ask, linkFor, work, sent } = deployment()
    const token = await linkFor(email)
    await env.DB.prepare('update credentials set expires_at = ? where api_key = ?')
      .bind(NOW - 1, bea.api_key)
      .run()
    const answer = await ask('POST', '/console/session', { token, organization_id: owner.organization_id })
    expect([answer.status, answer.body.code]).toEqual([404, 'session.not_member'])
    await ask('POST', '/console/sign-in-links', { email })
    await work()
    expect(sent).toEqual([])
  })

  it('ends nowhere when the member is removed meanwhile, also where a credential that the member made is kept', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const made = (await api(bea, 'POST', '/v1/credentials', { name: 'Hecha', role: 'member' })).body as Caller
    const members = (await api(owner, 'GET', '/v1/team/members')).body.data as { member_id: string; email: string }[]
    const { email } = members.find(({ member_id }) => member_id === bea.member_id)!
    expect((await api(owner, 'DELETE', `/v1/credentials/${bea.api_key}`)).status).toBe(204)
    const token = await deployment().linkFor(email)
    let removed = 0
    const batch = async (statements: D1PreparedStatement[]) => {
      removed = (await api(owner, 'DELETE', `/v1/team/members/${bea.member_id}?keep_credentials=true`)).status
      return env.DB.batch(statements)
    }
    const { ask } = deployment({
      DB: new Proxy(env.DB, { get: (d1, name) => (name === 'batch' ? batch : Reflect.get(d1, name).bind(d1)) }),
    })
    const entered = await ask('POST', '/console/session', { token, organization_id: owner.organization_id })
    expect([removed, entered.status, entered.body.code]).toEqual([200, 404, 'session.not_member'])
    expect((await api(made, 'GET', '/v1/organization')).status).toBe(200)
  })

  it('a service that sends no mail says so; on a machine of its own, with invented data, the page gets the token', async () => {
    const owner = await signUp()
    const email = await emailOf(owner)
    const silent = { EMAIL: undefined, MAIL_FROM: '' }
    const { ask } = deployment(silent)
    const refused = await ask('POST', '/console/sign-in-links', { email })
    expect([refused.status, refused.body.code]).toEqual([409, 'session.no_mail'])
    for (const [more, origin, status] of [
      [{ PUBLIC_HOSTS: '' }, 'http://127.0.0.1:8787', 202],
      [{ PUBLIC_HOSTS: '' }, 'https://api.test', 409],
      [{}, 'http://127.0.0.1:8787', 409],
    ] as const)
      expect(
        (await deployment({ ...silent, ...more }).ask('POST', '/console/sign-in-links', { email }, '', '127.0.0.1', origin)).status,
      ).toBe(status)
    const own = deployment({ ...silent, PUBLIC_HOSTS: '' })
    const { body } = await own.ask('POST', '/console/sign-in-links', { email }, '', '127.0.0.1', 'http://127.0.0.1:8787')
    for (const [from, added] of [
      ['203.0.113.7', {}],
      ['127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }],
      ['127.0.0.1', { forwarded: 'for=203.0.113.7' }],
      ['127.0.0.1', { 'x-real-ip': '203.0.113.7' }],
    ] as const) {
      const strange = await own.ask('POST', '/console/sign-in-links', { email }, '', from, 'http://127.0.0.1:8787', added)
      expect([from, added, strange.body.code]).toEqual([from, added, 'session.no_mail'])
    }
    const entered = await own.ask('POST', '/console/session', { token: body.token, organization_id: owner.organization_id })
    expect(entered.status).toBe(201)
  })
})

describe('a person in several organizations', () => {
  async function inTwo() {
    const [first, second] = [await signUp(), await signUp()]
    await api(first, 'PATCH', '/v1/organization', { name: 'Primera' })
    await api(second, 'PATCH', '/v1/organization', { name: 'Segunda' })
    const email = await emailOf(first)
    const invited = await api(second, 'POST', '/v1/team/members/invite', { email, role: 'member' })
    expect([invited.status, invited.body.detail]).toEqual([201, undefined])
    const { token } = invited.body
    const service = deployment()
    expect((await service.ask('POST', '/v1/auth/invitations/accept', { token, name: 'Ada' })).body).toMatchObject({ member: { email } })
    return { first, second, email, ...service }
  }

  it('goes from one to another in the same session, and to no organization that is another’s', async () => {
    const { first, second, email, ask, enter } = await inTwo()
    const { cookie, body } = await enter(email, first.organization_id)
    expect(body.organizations.map(({ name, role }: Record<string, string>) => [name, role])).toEqual([
      ['Primera', 'owner'],
      ['Segunda', 'member'],
    ])
    later(DAY)
    const changed = await ask('POST', '/console/session/organization', { organization_id: second.organization_id }, cookie)
    expect([changed.status, changed.body.organization.name, changed.body.role]).toEqual([201, 'Segunda', 'member'])
    expect(changed.body.expires_at).toBe(body.expires_at)
    expect((await ask('GET', '/v1/organization', undefined, cookie)).status).toBe(401)
    expect((await ask('GET', '/v1/organization', undefined, changed.cookie)).body.name).toBe('Segunda')
    const foreign = await signUp('Tercera')
    const refused = await ask('POST', '/console/session/organization', { organization_id: foreign.organization_id }, changed.cookie)
    expect([refused.status, refused.body.code]).toEqual([404, 'session.not_member'])
  })

  it('is nowhere after signing out, although a change of the organization began before', async () => {
    const { first, second, email, ask, enter } = await inTwo()
    const { cookie } = await enter(email, first.organization_id)
    const { organization_id } = second
    const [changed, out] = await Promise.all([
      ask('POST', '/console/session/organization', { organization_id }, cookie),
      ask('DELETE', '/console/session', undefined, cookie),
    ])
    expect([changed.body.code, out.status]).toEqual(['session.ended', 204])
    const again = await enter(email, first.organization_id)
    const twice = [1, 2].map(() => ask('POST', '/console/session/organization', { organization_id }, again.cookie))
    expect((await Promise.all(twice)).map(({ status }) => status).sort()).toEqual([201, 401])
  })

  it('sees the sessions of all devices and ends them; who signed in with a credential has no others', async () => {
    const { first, second, email, ask, enter } = await inTwo()
    const [here, there] = [await enter(email, first.organization_id), await enter(email, second.organization_id)]
    const { data } = (await ask('GET', '/console/sessions', undefined, here.cookie)).body
    expect(data.map(({ organization, is_current }: Record<string, unknown>) => [organization, is_current]).sort()).toEqual([
      ['Primera', true],
      ['Segunda', false],
    ])
    const other = data.find((one: { is_current: boolean }) => !one.is_current).session_id
    const stranger = await signUp()
    const theirs = await enter(await emailOf(stranger), stranger.organization_id)
    expect((await ask('DELETE', `/console/sessions/${other}`, undefined, theirs.cookie)).status).toBe(204)
    expect((await ask('GET', '/v1/organization', undefined, there.cookie)).status).toBe(200)
    expect((await ask('DELETE', `/console/sessions/${other}`, undefined, here.cookie)).status).toBe(204)
    expect((await ask('GET', '/v1/organization', undefined, there.cookie)).status).toBe(401)
    const { api_key, api_secret } = first
    const byCredential = await ask('POST', '/console/session', { api_key, api_secret })
    expect(byCredential.body.organizations).toEqual([])
    for (const [method, path, json] of [
      ['GET', '/console/sessions', undefined],
      ['POST', '/console/session/organization', { organization_id: second.organization_id }],
    ] as const)
      expect((await ask(method, path, json, byCredential.cookie)).body.code).toBe('session.no_person')
    expect((await ask('GET', '/console/sessions')).status).toBe(401)
  })
})
