import { env, exports } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../src/app/tasks.ts'
import { systemOf } from '../../src/platform/context.ts'
import { api, basic, type Caller } from '../support/client.ts'
import { at } from '../support/clock.ts'
import { costOf } from '../support/meter.ts'
import { joined, signUp } from '../support/tenants.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => void vi.useRealTimers())

const OWN = { 'sec-fetch-site': 'same-origin' }
const HOSTED = 'https://api.test'

interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  body: any
}

async function ask(method: string, path: string, headers: Record<string, string> = {}, json?: unknown, origin = HOSTED): Promise<Answer> {
  const sent = json === undefined ? {} : { body: JSON.stringify(json) }
  const response = await exports.default.fetch(
    new Request(`${origin}${path}`, {
      method,
      redirect: 'manual',
      headers: { ...headers, ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
      ...sent,
    }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
}

const enter = ({ api_key, api_secret }: Caller, origin = HOSTED) => ask('POST', '/console/session', OWN, { api_key, api_secret }, origin)

/** The cookie as a browser sends it back. */
const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie')!.split(';')[0]!

async function signedIn(): Promise<{ owner: Caller & { organization_id: string }; cookie: string }> {
  const owner = await signUp()
  return { owner, cookie: cookieOf(await enter(owner)) }
}

describe('signing in', () => {
  it('gives a cookie that no script reads and no other site sends; it says neither key nor secret', async () => {
    const owner = await signUp('Despacho Uno')
    const answer = await enter(owner)
    expect(answer).toMatchObject({
      status: 201,
      body: {
        api_key: owner.api_key,
        role: 'owner',
        environment: 'test',
        tax_authority: 'sandbox',
        organization: { name: 'Despacho Uno', timezone: 'America/Mexico_City' },
      },
    })
    const cookie = answer.headers.get('set-cookie')!
    expect(cookie).toMatch(/^__Host-fds_session=\d+\.[\w-]+; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
    expect(cookie).not.toContain(owner.api_secret)
    expect(JSON.stringify(answer.body)).not.toContain(owner.api_secret)
  })

  it.each(['http://127.0.0.1:8787', 'http://localhost:8787'])(
    'on %s, which has no TLS, the cookie has another name and is not Secure',
    async (origin) => {
      const answer = await enter(await signUp(), origin)
      expect(answer.headers.get('set-cookie')).toMatch(/^fds_session=\d+\.[\w-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
    },
  )

  it.each([{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])(
    'is refused to a request with %j, whatever it asks of the session',
    async (headers) => {
      const { owner, cookie } = await signedIn()
      const { api_key, api_secret } = owner
      for (const [method, json] of [['GET'], ['POST', { api_key, api_secret }], ['DELETE']] as const) {
        const answer = await ask(method, '/console/session', { ...headers, cookie } as Record<string, string>, json)
        expect([method, answer.status, answer.body.code, answer.headers.get('set-cookie')]).toEqual([method, 403, 'session.foreign', null])
      }
    },
  )

  it('is refused to a wrong secret, a missing member and a body that is no JSON; nothing of them is repeated', async () => {
    const owner = await signUp()
    const wrong = await enter({ ...owner, api_secret: `${owner.api_secret.slice(0, -1)}${owner.api_secret.endsWith('0') ? 1 : 0}` })
    expect([wrong.status, wrong.body.code, wrong.headers.get('set-cookie')]).toEqual([401, 'credential.invalid', null])
    const fault = (name: string, message = 'Is required.') => ({ path: name, message })
    const faultsOf = async (json: unknown) => (await ask('POST', '/console/session', OWN, json)).body.errors
    expect(await faultsOf({ api_key: owner.api_key })).toEqual([fault('api_secret')])
    expect(await faultsOf({})).toEqual([fault('api_key'), fault('api_secret')])
    expect(await faultsOf({ link: 'x', more: 1 })).toEqual([fault('more', 'Unknown member.')])
    expect(await faultsOf([])).toEqual([fault('', 'Must be an object.')])
    expect((await ask('POST', '/console/session', { ...OWN, 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('nobody is signed in without a cookie, and nobody any more after signing out', async () => {
    expect((await ask('GET', '/console/session', OWN)).status).toBe(204)
    const { owner, cookie } = await signedIn()
    expect((await ask('GET', '/console/session', { ...OWN, cookie })).body).toMatchObject({ api_key: owner.api_key, role: 'owner' })
    const out = await ask('DELETE', '/console/session', { ...OWN, cookie })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, '__Host-fds_session=; Max-Age=0; Path=/; Secure'])
  })
})

describe('a sign-in link', () => {
  const linkFor = async (owner: Caller) => {
    const { status, body } = await ask('POST', '/console/links', { authorization: basic(owner) })
    expect(status).toBe(201)
    return { ...body, link: /^https:\/\/api\.test\/console\/#link=(.+)$/.exec(body.url)![1]! } as { link: string; expires_at: string }
  }

  it('signs its credential in, once, although many try at once', async () => {
    const owner = await signUp()
    const { link } = await linkFor(owner)
    const all = await Promise.all(Array.from({ length: 4 }, () => ask('POST', '/console/session', OWN, { link })))
    expect(all.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401])
    expect(all.find(({ status }) => status === 201)!.body.api_key).toBe(owner.api_key)
    expect(all.find(({ status }) => status === 401)!.body.code).toBe('session.link')
  })

  it('says whom it signs in without being used; once it is used, or to another site, it says nothing', async () => {
    const owner = await signUp('Despacho Enlace')
    const { link, expires_at } = await linkFor(owner)
    for (let n = 0; n < 2; n++) {
      const answer = await ask('POST', '/console/links/holder', OWN, { link })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null])
      const { api_key, organization, person, role } = answer.body
      expect({ api_key, name: organization.name, role, expires_at: answer.body.expires_at }).toEqual({
        ...{ api_key: owner.api_key, name: 'Despacho Enlace', role: 'owner', expires_at },
      })
      expect(person).toEqual({ name: expect.any(String), email: expect.stringContaining('@') })
      expect(JSON.stringify(answer.body)).not.toContain(owner.api_secret)
    }
    for (const site of ['none', 'cross-site', 'same-site'])
      expect((await ask('POST', '/console/links/holder', { 'sec-fetch-site': site }, { link })).status).toBe(403)
    expect((await ask('POST', '/console/session', OWN, { link })).status).toBe(201)
    const used = await ask('POST', '/console/links/holder', OWN, { link })
    expect([used.status, used.body.code]).toEqual([401, 'session.link'])
    expect((await ask('POST', '/console/links/holder', OWN, { link: 'x' })).status).toBe(401)
    expect((await ask('POST', '/console/links/holder', OWN, {})).status).toBe(422)
  })

  it('is of an hour, and of a credential that is still valid', async () => {
    const owner = await signUp()
    const [late, revoked] = [await linkFor(owner), await linkFor(owner)]
    expect(Date.parse(late.expires_at)).toBeLessThanOrEqual(Date.now() + 3_600_000)
    at(new Date(Date.parse(late.expires_at)).toISOString())
    expect((await ask('POST', '/console/session', OWN, { link: late.link })).status).toBe(401)
    vi.useRealTimers()
    await env.DB.prepare('update credentials set expires_at = 1 where api_key = ?').bind(owner.api_key).run()
    expect((await ask('POST', '/console/session', OWN, { link: revoked.link })).status).toBe(401)
  })

  it('is made for who presents a credential, never for a session; and a cookie is no link', async () => {
    const { cookie } = await signedIn()
    expect((await ask('POST', '/console/links', { ...OWN, cookie })).status).toBe(401)
    expect((await ask('POST', '/console/session', OWN, { link: cookie.split('=')[1] })).status).toBe(401)
    const { link } = await linkFor(await signUp())
    expect((await ask('GET', '/v1/organization', { ...OWN, cookie: `__Host-fds_session=${link}` })).status).toBe(401)
  })
})

describe('an invitation', () => {
  const look = (token: unknown, site = 'same-origin') => ask('POST', '/console/invitations/holder', { 'sec-fetch-site': site }, { token })

  it('says to the holder of its token what it is to, without being accepted; afterwards, and to others, it says nothing', async () => {
    const owner = await signUp('Despacho Invita')
    const draft = { email: 'bea@example.com', role: 'member', name: 'Bea Ruiz' }
    const { token, expires_at } = (await api(owner, 'POST', '/v1/team/members/invite', draft)).body
    for (let n = 0; n < 2; n++) {
      const { status, body } = await look(token)
      const invited_by = { name: expect.any(String), email: expect.stringContaining('@') }
      expect([status, body]).toEqual([200, { ...draft, organization: { name: 'Despacho Invita' }, invited_by, expires_at }])
    }
    for (const site of ['none', 'cross-site', 'same-site']) expect((await look(token, site)).status).toBe(403)
    expect((await look(owner.api_secret)).status).toBe(404)
    expect((await look('')).status).toBe(422)
    expect((await ask('POST', '/v1/auth/invitations/accept', {}, { token, name: 'Bea' })).status).toBe(201)
    expect([(await look(token)).status, (await look(token)).body.code]).toEqual([404, 'invitation.not_found'])
  })
})

describe('a session on the API', () => {
  it.each([
    ['same-origin', 200],
    ['none', 401],
    ['cross-site', 401],
    ['same-site', 401],
    [undefined, 401],
  ])('of a request whose Sec-Fetch-Site is %s is answered %d', async (site, status) => {
    const { cookie } = await signedIn()
    expect((await ask('GET', '/v1/organization', { cookie, ...(site && { 'sec-fetch-site': site }) })).status).toBe(status)
  })

  it('is no session when it is altered, sealed under a key that is gone, or has another name', async () => {
    const { cookie } = await signedIn()
    const [name, value = ''] = cookie.split('=')
    const flipped = value.slice(0, -8) + (value.at(-8) === 'A' ? 'B' : 'A') + value.slice(-7)
    for (const one of [`${name}=${flipped}`, `${name}=9${value}`, `${name}=`, `${name}=1.`, `fds_session=${value}`])
      expect([one.slice(0, 40), (await ask('GET', '/v1/organization', { ...OWN, cookie: one })).status]).toEqual([one.slice(0, 40), 401])
  })

  it('ends after twelve hours', async () => {
    const { cookie } = await signedIn()
    const status = async () => (await ask('GET', '/v1/organization', { ...OWN, cookie })).status
    const began = Date.now()
    at(new Date(began + 12 * 3_600_000 - 60_000).toISOString())
    expect(await status()).toBe(200)
    at(new Date(began + 12 * 3_600_000 + 1_000).toISOString())
    expect(await status()).toBe(401)
  })

  it('ends when its credential expires, if that is earlier, and so does the cookie', async () => {
    const owner = await signUp()
    const expires_at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_800_000).toISOString()
    const short = (await api(owner, 'POST', '/v1/credentials', { name: 'Breve', role: 'member', expires_at })).body as Caller
    const answer = await enter(short)
    expect([answer.status, answer.body.expires_at]).toEqual([201, expires_at])
    const maxAge = Number(/Max-Age=(\d+)/.exec(answer.headers.get('set-cookie')!)![1])
    expect(maxAge).toBeGreaterThan(1_700)
    expect(maxAge).toBeLessThanOrEqual(1_801)
    expect((await ask('GET', '/console/session', { ...OWN, cookie: cookieOf(answer) })).body.expires_at).toBe(expires_at)
  })

  it('ends with its credential: the next request is 401, and so is the question who it is', async () => {
    const { owner, cookie } = await signedIn()
    const other = (await api(owner, 'POST', '/v1/credentials', { name: 'Otra', role: 'owner' })).body as Caller
    expect((await api(other, 'DELETE', `/v1/credentials/${owner.api_key}`)).status).toBe(204)
    expect((await ask('GET', '/v1/organization', { ...OWN, cookie })).status).toBe(401)
    expect((await ask('GET', '/console/session', { ...OWN, cookie })).status).toBe(401)
  })

  const statusWith = async (cookie: string, path = '/v1/organization') => (await ask('GET', path, { ...OWN, cookie })).status
  const codeWith = async (cookie: string) => (await ask('GET', '/v1/organization', { ...OWN, cookie })).body.code

  it('ends at the service when its holder signs out: a copy of the cookie is worth nothing; other sessions go on', async () => {
    const { owner, cookie } = await signedIn()
    const elsewhere = cookieOf(await enter(owner))
    expect([await statusWith(cookie), await statusWith(elsewhere)]).toEqual([200, 200])
    expect((await ask('DELETE', '/console/session', { ...OWN, cookie })).status).toBe(204)
    expect([await statusWith(cookie), await codeWith(cookie), await statusWith(cookie, '/console/session')]).toEqual([
      ...[401, 'session.ended', 401],
    ])
    expect(await statusWith(elsewhere)).toBe(200)
    // Signing out once more, or with a cookie that is none, is no fault.
    for (const one of [cookie, `${cookie}x`, '__Host-fds_session=1.x'])
      expect((await ask('DELETE', '/console/session', { ...OWN, cookie: one })).status).toBe(204)
    // The credential itself is as good as before.
    expect((await api(owner, 'GET', '/v1/organization')).status).toBe(200)
  })

  it('is of one credential: its id with another credential is no session', async () => {
    const [{ owner, cookie }, other] = [await signedIn(), await signUp()]
    const { session_id } = (await env.DB.prepare('select session_id from console_sessions where api_key = ?').bind(owner.api_key).first())!
    await env.DB.prepare('update console_sessions set api_key = ? where session_id = ?').bind(other.api_key, session_id).run()
    expect(await codeWith(cookie)).toBe('session.ended')
  })

  it('ends when the role of its member changes, also of a credential that the member made, and not when the name does', async () => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const made = (await api(bea, 'POST', '/v1/credentials', { name: 'Hecha', role: 'member' })).body as Caller
    const cookies = [cookieOf(await enter(bea)), cookieOf(await enter(made))]
    const [own] = [cookieOf(await enter(owner))]
    const change = (changes: object) => api(owner, 'PATCH', `/v1/team/members/${bea.member_id}`, changes)
    expect((await change({ name: 'Beatriz', role: 'admin' })).status).toBe(200)
    expect(await Promise.all(cookies.map((one) => statusWith(one)))).toEqual([200, 200])
    expect((await change({ role: 'member' })).status).toBe(200)
    expect(await Promise.all(cookies.map((one) => codeWith(one)))).toEqual(['session.ended', 'session.ended'])
    expect([await statusWith(own), (await enter(bea)).body.role]).toEqual([200, 'member'])
  })

  it.each([false, true])('ends when its member is removed; keep_credentials %s', async (keeps) => {
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const made = (await api(bea, 'POST', '/v1/credentials', { name: 'Hecha', role: 'member' })).body as Caller
    const cookies = [cookieOf(await enter(bea)), cookieOf(await enter(made))]
    const { status } = await api(owner, 'DELETE', `/v1/team/members/${bea.member_id}?keep_credentials=${keeps}`)
    expect(status).toBe(200)
    expect(await Promise.all(cookies.map((one) => codeWith(one)))).toEqual(['session.ended', 'session.ended'])
    expect((await enter(made)).status).toBe(keeps ? 201 : 401)
  })

  it('goes on although its credential has fifty others, of mails, that began before it and last longer', async () => {
    const owner = await signUp()
    const until = Date.now() + 30 * 86_400_000
    const row = env.DB.prepare('insert into console_sessions (session_id, api_key, until, created_at, email) values (?, ?, ?, 0, ?)')
    await env.DB.batch(Array.from({ length: 50 }, () => row.bind(crypto.randomUUID(), owner.api_key, until, 'ada@example.com')))
    expect(await statusWith(cookieOf(await enter(owner)))).toBe(200)
  })

  it('ends when its credential has fifty others that began after it, and leaves no row when it is over', async () => {
    const { owner, cookie } = await signedIn()
    const began = Date.now()
    at(new Date(began + 1_000).toISOString())
    for (let n = 0; n < 49; n++) await enter(owner)
    expect(await statusWith(cookie)).toBe(200)
    const last = cookieOf(await enter(owner))
    expect([await codeWith(cookie), await statusWith(last)]).toEqual(['session.ended', 200])
    const rows = () => env.DB.prepare('select count(*) as n from console_sessions where api_key = ?').bind(owner.api_key).first('n')
    expect(await rows()).toBe(50)
    await runTask(systemOf(env, new Date(began + 12 * 3_600_000), 'test'), {
      task: 'pruneSessions',
      at: began + 12 * 3_600_000,
      cursor: '',
    })
    expect(await rows()).toBe(50)
    const over = began + 12 * 3_600_000 + 5_000
    await runTask(systemOf(env, new Date(over), 'test'), { task: 'pruneSessions', at: over, cursor: '' })
    expect(await rows()).toBeLessThan(50)
  })

  it('costs no more statements than the credential itself', async () => {
    const { owner, cookie } = await signedIn()
    const cost = async (headers: Record<string, string>) =>
      (await costOf(env.LEDGER_0, env.FILES, () => ask('GET', '/v1/organization', headers))).cost.d1_calls
    await cost({ authorization: basic(owner) })
    expect(await cost({ ...OWN, cookie })).toBe(await cost({ authorization: basic(owner) }))
  })

  it('gives way to an Authorization header, right or wrong', async () => {
    const { cookie } = await signedIn()
    const other = await signUp('Despacho Dos')
    const right = await ask('GET', '/v1/organization', { ...OWN, cookie, authorization: basic(other) })
    expect([right.status, right.body.name]).toEqual([200, 'Despacho Dos'])
    for (const authorization of ['Basic %%%', `Bearer ${other.api_secret}x`])
      expect([authorization, (await ask('GET', '/v1/organization', { ...OWN, cookie, authorization })).status]).toEqual([
        authorization,
        401,
      ])
  })

  it('repeats an answer under an Idempotency-Key to the credential, however it comes', async () => {
    const { owner, cookie } = await signedIn()
    const draft = { name: 'CI', role: 'member' }
    const headers = { ...OWN, 'idempotency-key': 'once' }
    const first = await ask('POST', '/v1/credentials', { ...headers, cookie }, draft)
    const second = await ask('POST', '/v1/credentials', { ...headers, cookie }, draft)
    const third = await ask('POST', '/v1/credentials', { 'idempotency-key': 'once', authorization: basic(owner) }, draft)
    expect(first.status).toBe(201)
    for (const again of [second, third]) expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body])
  })
})

describe('a refusal', () => {
  it('asks for Basic where no browser would put a window up, and otherwise not', async () => {
    const challenge = async (headers: Record<string, string>) =>
      (await ask('GET', '/v1/organization', headers)).headers.get('www-authenticate')
    expect(await challenge({})).toMatch(/^Basic /)
    for (const site of ['same-origin', 'none', 'cross-site']) expect(await challenge({ 'sec-fetch-site': site })).toMatch(/^Session /)
  })
})

describe('the pages', () => {
  it('begin at the root', async () => {
    for (const path of ['/', '/console']) {
      const { status, headers } = await ask('GET', path)
      expect([status, headers.get('location')]).toEqual([302, '/console/'])
    }
  })

  it('are one file at every path, under a policy that allows nothing inline and nobody else; its files never change', async () => {
    const page = await ask('GET', '/console/')
    for (const path of ['/console/cfdi/5B0C', '/console/rfcs/fe_x?a=b']) expect((await ask('GET', path)).body).toBe(page.body)
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    expect(page.headers.get('cache-control')).toBe('no-cache')
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
        "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    expect(page.headers.get('strict-transport-security')).toMatch(/max-age=/)
    const files = [...(page.body as string).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!)
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const file of files) {
      const answer = await ask('GET', file)
      expect([file, answer.status, answer.headers.get('cache-control')]).toEqual([file, 200, 'public, max-age=31536000, immutable'])
    }
  })

  it('have no file of another folder, and take no other method', async () => {
    for (const file of ['nothing.js', '../../rules.json', '%2e%2e/%2e%2e/disposable-domains.json']) {
      const answer = await ask('GET', `/console/assets/${file}`)
      expect([file, answer.status === 200 && !String(answer.body).startsWith('<!doctype')]).toEqual([file, false])
    }
    expect((await ask('POST', '/console/cfdi')).status).toBe(404)
  })
})
