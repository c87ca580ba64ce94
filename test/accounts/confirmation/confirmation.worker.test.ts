import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleApp } from '../../../src/accounts/console/routes.ts'
import { pruneMails, sendAsked, sweepMails } from '../../../src/accounts/mails/mails.ts'
import { WORK } from '../../../src/app/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { freshRfc } from '../../support/tenants.ts'
import { type Answer, json, send } from '../../support/wire.ts'

const NOW = Date.parse('2026-11-18T18:00:00Z')
const HOUR = 3_600
const later = (seconds: number) => vi.setSystemTime(NOW + seconds * 1_000)

interface Sent {
  from: string
  to: string
  subject: string
  text: string
}

beforeEach(async () => {
  // What a test leaves unsent is not for the sweep of another.
  await env.DB.prepare('delete from mails').run()
  vi.useFakeTimers({ toFake: ['Date'] })
  later(0)
  vi.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

let addresses = 0

/** A deployment that sends mail, to a mailbox that can be read, and what the queue was told. */
function deployment() {
  const sent: Sent[] = []
  const told: unknown[] = []
  const fate = { fails: false }
  const EMAIL = {
    send: async (mail: Sent) => {
      if (fate.fails) throw new Error('The mail service is down.')
      sent.push(mail)
      return { messageId: 'x' }
    },
  }
  const WEBHOOKS = { sendBatch: async (messages: { body: unknown }[]) => void told.push(...messages.map(({ body }) => body)) }
  const bindings = { ...env, EMAIL, WEBHOOKS, MAIL_FROM: 'avisos@example.com', PUBLIC_HOSTS: 'api.test' } as unknown as Env
  const system = () => systemOf(bindings, new Date(), 'req_test')
  /** Works on what the queue was told. */
  const work = async () => {
    for (const body of told.splice(0)) await WORK['mails']!.handle(system(), body)
  }
  const ask = (method: string, path: string, more: Parameters<typeof send>[2] = {}) => send(method, path, { ...more, env: bindings })
  const signUp = async (email = `ana${++addresses}@example.com`, address = '203.0.113.1', organization_name = 'Despacho Uno') => {
    const { headers, body } = json({ organization_name, name: 'Ana', email })
    return ask('POST', '/v1/auth/signup', { headers: { ...headers, 'cf-connecting-ip': address }, body })
  }
  const as = (caller: Caller, method: string, path: string, body?: unknown) =>
    ask(method, path, { ...(body === undefined ? {} : json(body)), authorization: basic(caller) })
  const confirm = (token: string) => ask('POST', '/v1/auth/email/confirm', json({ token }))
  const tokenIn = ({ text }: Sent): string => /\/console\/#confirm=(\w+)/.exec(text)![1]!
  return { sent, told, fate, bindings, system, work, ask, signUp, as, confirm, tokenIn }
}

const rowsOf = async (organization_id: string) =>
  (
    await env.DB.prepare('select * from mails where organization_id = ? order by mail_id')
      .bind(organization_id)
      .all<Record<string, unknown>>()
  ).results
const confirmedAt = (organization_id: string) =>
  env.DB.prepare('select email_confirmed_at from organizations where id = ?').bind(organization_id).first('email_confirmed_at')
const trialsOf = (email: string) =>
  env.DB.prepare('select organization_id from trials where email = ?').bind(email).first('organization_id')

const UNCONFIRMED = [403, 'email.unconfirmed']
const codeOf = ({ status, body }: Answer) => [status, body.code]

describe('where no mail is sent', () => {
  it('a sign-up is confirmed at once, and there is nothing to send again', async () => {
    const { status, body } = await send(
      'POST',
      '/v1/auth/signup',
      json({ organization_name: 'Uno', name: 'Ana', email: 'uno@example.com' }),
    )
    expect([status, body.organization.email_confirmed_at]).toEqual([201, new Date(NOW).toISOString()])
    expect(await rowsOf(body.organization.id)).toEqual([])
    const rfc = freshRfc()
    expect((await api(body.credential, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).status).toBe(201)
    expect(await api(body.credential, 'POST', '/v1/auth/email/resend')).toMatchObject({ status: 409, body: { code: 'email.confirmed' } })
  })
})

describe('where mail is sent', () => {
  it('a sign-up works at once, and connects and imports nothing until its address is confirmed', async () => {
    const { signUp, as, work, sent, confirm, tokenIn } = deployment()
    const { status, body } = await signUp('Ana+uno@Gmail.com')
    const { organization, credential } = body
    expect([status, organization.email_confirmed_at]).toEqual([201, null])
    expect((await as(credential, 'GET', '/v1/organization')).body).toEqual(organization)
    expect((await as(credential, 'POST', '/v1/credentials', { name: 'CI', role: 'member' })).status).toBe(201)

    const rfc = freshRfc()
    const tried = [
      await as(credential, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' }),
      await as(credential, 'POST', '/v1/fiscal-entities', { rfc }),
      await as(credential, 'POST', '/v1/fiscal-entities/batch', { fiscal_entities: [{ rfc }] }),
      await as(credential, 'POST', '/v1/fiscal-entities/fe_01kabcdefghjkmnpqrstvwxyz0/cfdi/imports', {}),
    ]
    for (const answer of tried) expect(codeOf(answer)).toEqual(UNCONFIRMED)
    expect(tried[0]!.body.detail).toContain('POST /v1/auth/email/resend')
    expect(await trialsOf('ana@gmail.com')).toBeNull()

    await work()
    expect(sent).toHaveLength(1)
    const [mail] = sent as [Sent]
    expect([mail.from, mail.to]).toEqual(['avisos@example.com', 'Ana+uno@Gmail.com'])
    expect(mail.text).toContain(`https://api.test/console/#confirm=${tokenIn(mail)}`)
    // Nobody can have the service send words of theirs to a stranger.
    expect(JSON.stringify(mail)).not.toMatch(/Despacho|"Ana"/)

    later(60)
    const confirmed = await confirm(tokenIn(mail))
    expect([confirmed.status, confirmed.body]).toEqual([
      200,
      { organization_id: organization.id, email: 'Ana+uno@Gmail.com', email_confirmed_at: '2026-11-18T18:01:00.000Z' },
    ])
    expect((await as(credential, 'GET', '/v1/organization')).body.email_confirmed_at).toBe('2026-11-18T18:01:00.000Z')
    expect((await as(credential, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).status).toBe(201)
    expect(await trialsOf('ana@gmail.com')).toBe(organization.id)
    const audited = (await as(credential, 'GET', '/v1/audit-events?action=organization.email_confirmed')).body.data
    expect(audited).toMatchObject([{ actor: 'system:confirmation', resource_id: organization.id }])
  })

  it('the sign-up of a stranger with one’s address costs nothing: the trial is there for who reads the mail', async () => {
    const { signUp, as, work, sent, confirm, tokenIn } = deployment()
    const stranger = (await signUp('yo@example.com', '198.51.100.1')).body
    const own = (await signUp('yo@example.com', '203.0.113.1')).body
    await work()
    expect(sent).toHaveLength(2)
    await confirm(tokenIn(sent[1]!))
    const rfc = freshRfc()
    expect(codeOf(await as(stranger.credential, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' }))).toEqual(UNCONFIRMED)
    expect((await as(own.credential, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).status).toBe(201)
    expect(await trialsOf('yo@example.com')).toBe(own.organization.id)
  })

  it('a link works once, for 24 hours, and is nowhere stored or logged', async () => {
    const lines: unknown[][] = []
    const logged = vi.spyOn(console, 'log').mockImplementation((...line) => void lines.push(line))
    const { signUp, work, sent, confirm, tokenIn } = deployment()
    const [one, two] = [(await signUp()).body, (await signUp()).body]
    await work()
    const [first, second] = sent.map(tokenIn) as [string, string]
    expect(first).toMatch(/^fds_test_confirmation_[0-9A-Za-z]{49}$/)
    const [row] = await rowsOf(one.organization.id)
    expect(row).toMatchObject({
      digest: expect.stringMatching(/^1\.[0-9a-f]{64}$/),
      sent_at: NOW,
      expires_at: NOW + 24 * HOUR * 1_000,
      attempts: 1,
    })
    expect(JSON.stringify(await rowsOf(one.organization.id))).not.toContain(first)
    later(24 * HOUR - 1)
    expect((await Promise.all([confirm(first), confirm(first), confirm(first)])).map(({ status }) => status).sort()).toEqual([
      200, 404, 404,
    ])
    later(24 * HOUR)
    for (const token of [second, first, 'x', second.replace(/.$/, '!')])
      expect(codeOf(await confirm(token))).toEqual([404, 'email_confirmation.not_found'])
    expect(await confirmedAt(two.organization.id)).toBeNull()
    expect(JSON.stringify(lines)).not.toMatch(/_confirmation_/)
    logged.mockRestore()
  })

  it('looking at a link, as a mail scanner does, leaves it as it is and says whose it is', async () => {
    const { signUp, work, sent, confirm, tokenIn, bindings } = deployment()
    await signUp('ana.mira@example.com', '203.0.113.1', 'Despacho Mirado')
    await work()
    const token = tokenIn(sent[0]!)
    const ofConsole = (method: string, path: string, body?: object) =>
      consoleApp.fetch(
        new Request(`https://api.test${path}`, {
          method,
          headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        }),
        bindings,
      )
    expect((await ofConsole('GET', '/console/')).status).toBe(200)
    for (let n = 0; n < 2; n++) {
      const shown = await ofConsole('POST', '/console/confirmations/holder', { token })
      expect([shown.status, await shown.json()]).toEqual([
        200,
        { organization: { name: 'Despacho Mirado' }, name: 'Ana', email: 'ana.mira@example.com' },
      ])
    }
    expect((await ofConsole('POST', '/console/confirmations/holder', { token: 'x' })).status).toBe(404)
    expect((await confirm(token)).status).toBe(200)
  })

  it('is sent again on demand, each with a link of its own that works, until five a day from a network', async () => {
    const { signUp, as, work, sent, confirm, tokenIn } = deployment()
    const { organization, credential } = (await signUp('otra@example.com')).body
    const again = () => as(credential, 'POST', '/v1/auth/email/resend')
    expect([(await again()).status, (await again()).body]).toEqual([202, { email: 'otra@example.com' }])
    await work()
    expect([sent.length, new Set(sent.map(tokenIn)).size]).toEqual([3, 3])
    later(HOUR)
    expect([(await again()).status, (await again()).status]).toEqual([202, 202])
    // The requests of the credential come from another network than the sign-up.
    for (let n = 0; n < 1; n++) expect((await again()).status).toBe(202)
    const { status, body } = await again()
    expect([status, body.code, body.detail.retry_after_seconds]).toEqual([429, 'email.confirmation_limit', 23 * HOUR])
    expect((await confirm(tokenIn(sent[0]!))).status).toBe(200)
    expect(codeOf(await again())).toEqual([409, 'email.confirmed'])
    expect(codeOf(await confirm(tokenIn(sent[1]!)))).toEqual([404, 'email_confirmation.not_found'])
    expect(await confirmedAt(organization.id)).toBe(NOW + HOUR * 1_000)
  })

  it('no address gets more than 20 mails a day, and who floods it from one network leaves 15 to others', async () => {
    const { signUp, work, sent } = deployment()
    const statuses = async (address: string, count: number) => {
      const found: number[] = []
      for (let n = 0; n < count; n++) found.push((await signUp(n % 2 ? 'Victima@example.com' : 'victima+x@example.com', address)).status)
      return found
    }
    expect(await statuses('198.51.100.7', 6)).toEqual([201, 201, 201, 201, 201, 429])
    expect(await statuses('203.0.113.9', 1)).toEqual([201])
    for (let n = 0; n < 14; n++) expect(await statuses(`10.${n}.0.1`, 1)).toEqual([201])
    expect(await statuses('10.99.0.1', 1)).toEqual([429])
    await work()
    expect(sent).toHaveLength(20)
    later(24 * HOUR)
    expect(await statuses('198.51.100.7', 1)).toEqual([201])
  })

  it('is sent although the message is lost, the mail service fails or the worker dies', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { signUp, work, sent, told, fate, system, confirm, tokenIn } = deployment()
    const { organization } = (await signUp()).body
    const [{ mail }] = told.splice(0) as [{ mail: string }]
    await sweepMails(system())
    expect(told).toEqual([{ mail }])
    fate.fails = true
    await expect(work()).rejects.toThrow('down')
    fate.fails = false
    // The lease of the attempt that failed goes on.
    await sendAsked(system(), mail)
    await sweepMails(system())
    expect([sent, told]).toEqual([[], []])
    later(61)
    // The mail goes out, and the worker dies before it is noted.
    await env.DB.prepare("create trigger dies before update of sent_at on mails begin select raise(abort, 'died'); end").run()
    await sweepMails(system())
    await expect(work()).rejects.toThrow()
    await env.DB.prepare('drop trigger dies').run()
    later(122)
    await sweepMails(system())
    await work()
    await sendAsked(system(), mail)
    expect([sent.length, (await rowsOf(organization.id))[0]!['attempts']]).toEqual([2, 3])
    expect(codeOf(await confirm(tokenIn(sent[0]!)))).toEqual([404, 'email_confirmation.not_found'])
    expect((await confirm(tokenIn(sent[1]!))).status).toBe(200)
    await sweepMails(system())
    expect(told).toEqual([])
  })

  it('is forgotten after two days, and the sign-up can have it sent again', async () => {
    const { signUp, as, work, sent, system, confirm, tokenIn } = deployment()
    const { organization, credential } = (await signUp('tarde@example.com')).body
    await work()
    later(48 * HOUR - 1)
    await pruneMails(system())
    expect(await rowsOf(organization.id)).toHaveLength(1)
    later(48 * HOUR)
    await pruneMails(system())
    expect(await rowsOf(organization.id)).toEqual([])
    expect((await as(credential, 'POST', '/v1/auth/email/resend')).body).toEqual({ email: 'tarde@example.com' })
    await work()
    expect((await confirm(tokenIn(sent[1]!))).status).toBe(200)
  })

  it('goes out through the platform’s own binding', async () => {
    const { signUp, told, bindings } = deployment()
    const { organization } = (await signUp()).body
    const [{ mail }] = told as [{ mail: string }]
    await sendAsked(systemOf({ ...bindings, EMAIL: env.MAIL } as unknown as Env, new Date(), 'req_test'), mail)
    expect((await rowsOf(organization.id))[0]).toMatchObject({ sent_at: NOW, attempts: 1 })
  })
})
