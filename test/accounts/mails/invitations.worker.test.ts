import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { pruneMails, sweepMails } from '../../../src/accounts/mails/mails.ts'
import { harmless } from '../../../src/accounts/mails/texts.ts'
import { WORK } from '../../../src/app/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { joined, signUp } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'

const NOW = Date.parse('2026-11-18T18:00:00Z')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const later = (milliseconds: number) => vi.setSystemTime(NOW + milliseconds)

beforeEach(async () => {
  await env.DB.prepare('delete from mails').run()
  vi.useFakeTimers({ toFake: ['Date'] })
  later(0)
  vi.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

interface Sent {
  to: string
  subject: string
  text: string
}

/** A deployment that sends mail. */
function deployment() {
  const sent: Sent[] = []
  const told: unknown[] = []
  const EMAIL = { send: async (mail: Sent) => void sent.push(mail) }
  const WEBHOOKS = { sendBatch: async (messages: { body: unknown }[]) => void told.push(...messages.map(({ body }) => body)) }
  const bindings = { ...env, EMAIL, WEBHOOKS, MAIL_FROM: 'avisos@example.com', PUBLIC_HOSTS: 'api.test' } as unknown as Env
  const system = () => systemOf(bindings, new Date(), 'req_test')
  const work = async () => {
    for (const body of told.splice(0)) await WORK['mails']!.handle(system(), body)
  }
  const invite = (by: Caller, email: string, role = 'member', from = '203.0.113.1') => {
    const { headers, body } = json({ email, role })
    return send('POST', '/v1/team/members/invite', {
      headers: { ...headers, 'cf-connecting-ip': from },
      body,
      authorization: basic(by),
      env: bindings,
    })
  }
  const accept = (token: string) => send('POST', '/v1/auth/invitations/accept', { ...json({ token, name: 'Bea' }), env: bindings })
  const tokenIn = ({ text }: Sent): string => /https:\/\/api\.test\/console\/invitation#token=(\w+)/.exec(text)![1]!
  return { bindings, sent, told, system, work, invite, accept, tokenIn }
}

const confirmedAt = (member_id: string) =>
  env.DB.prepare('select email_confirmed_at from members where member_id = ?').bind(member_id).first('email_confirmed_at')

describe('an invitation by mail', () => {
  it('brings a link of its own, which makes a member whose address is confirmed', async () => {
    const { sent, work, invite, accept, tokenIn } = deployment()
    const owner = await signUp('Despacho López S.A. de C.V.')
    const { status, body } = await invite(owner, 'Bea@example.com', 'admin')
    expect([status, body.is_mailed]).toEqual([201, true])
    await work()
    expect(sent).toHaveLength(1)
    const [mail] = sent as [Sent]
    expect([mail.to, mail.subject]).toEqual(['Bea@example.com', 'Invitación a Despacho López S. A. de C. V. · Invitation'])
    expect(mail.text).toContain('25 de noviembre de 2026')
    expect(mail.text).not.toContain('Ada')
    expect(tokenIn(mail)).not.toBe(body.token)
    const rows = JSON.stringify((await env.DB.prepare('select * from mails').all()).results)
    expect(rows).not.toContain(tokenIn(mail))
    // The link outlives the pruning of other mails.
    later(7 * DAY_MS - 1_000)
    await pruneMails(systemOf(env, new Date(), 'req_test'))
    const joined = await accept(tokenIn(mail))
    expect([joined.status, joined.body.member.role]).toEqual([201, 'admin'])
    expect(await confirmedAt(joined.body.member.member_id)).toBe(NOW + 7 * DAY_MS - 1_000)
    for (const token of [tokenIn(mail), body.token]) expect((await accept(token)).body.code).toBe('invitation.not_found')
  })

  it('works as well as its token, and only one of both, although both are tried at once', async () => {
    const { sent, work, invite, accept, tokenIn } = deployment()
    const owner = await signUp()
    const { body } = await invite(owner, 'ambos@example.com')
    await work()
    const tried = await Promise.all([accept(tokenIn(sent[0]!)), accept(body.token), accept(tokenIn(sent[0]!))])
    expect(tried.map(({ status }) => status).sort()).toEqual([201, 404, 404])
    const other = await invite(owner, 'mano@example.com')
    const by = await accept(other.body.token)
    expect([by.status, await confirmedAt(by.body.member.member_id)]).toEqual([201, null])
  })

  it('ends when it is withdrawn, replaced or its sender is removed, also while its mail is on the way', async () => {
    const { sent, work, invite, accept, tokenIn } = deployment()
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const [first, sender, again] = [
      await invite(owner, 'una@example.com'),
      await invite(bea, 'dos@example.com'),
      await invite(owner, 'tres@example.com'),
    ]
    await work()
    expect(sent).toHaveLength(3)
    await api(owner, 'DELETE', `/v1/team/invitations/${first.body.invitation_id}`)
    await api(owner, 'DELETE', `/v1/team/members/${bea.member_id}`)
    expect((await invite(owner, 'TRES@example.com')).status).toBe(201)
    expect([again.status, sender.status]).toEqual([201, 201])
    for (const mail of sent) expect((await accept(tokenIn(mail))).status).toBe(404)
    await work()
    expect((await accept(tokenIn(sent[3]!))).status).toBe(201)
    const unsent = await invite(owner, 'cuatro@example.com')
    await api(owner, 'DELETE', `/v1/team/invitations/${unsent.body.invitation_id}`)
    await work()
    expect(sent).toHaveLength(4)
  })

  it('is mailed by no organization whose own address is not confirmed', async () => {
    const { bindings, sent, told, invite } = deployment()
    const { body } = await send('POST', '/v1/auth/signup', {
      ...json({ organization_name: 'Sin confirmar', name: 'Ana', email: 'sinconfirmar@example.com' }),
      env: bindings,
    })
    told.length = 0
    const { status, body: invited } = await invite(body.credential, 'victima@example.com')
    expect([status, invited.is_mailed, told, sent]).toEqual([201, false, [], []])
  })

  it('is limited: five a day to an address from a network, 20 in all, 100 of an organization', async () => {
    const { told, system, invite } = deployment()
    const owner = await signUp()
    const statuses = async (email: string, from: string, n: number) => {
      const found: number[] = []
      for (let k = 0; k < n; k++) found.push((await invite(owner, email, 'member', from)).status)
      return found
    }
    expect(await statuses('lleno@example.com', '203.0.113.1', 5)).toEqual([201, 201, 201, 201, 201])
    later(HOUR_MS)
    const refused = await invite(owner, 'Lleno+x@example.com')
    expect([refused.status, refused.body.code, refused.body.detail.retry_after_seconds]).toEqual([429, 'invitation.mail_limit', 23 * 3_600])
    // A refused one has changed nothing: the invitation before is still there.
    const { data } = (await api(owner, 'GET', '/v1/team/invitations')).body
    expect(data.map(({ email }: { email: string }) => email)).toEqual(['lleno@example.com'])
    for (let n = 0; n < 15; n++) expect(await statuses('lleno@example.com', `10.${n}.0.1`, 1)).toEqual([201])
    expect(await statuses('lleno@example.com', '10.99.0.1', 1)).toEqual([429])
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 80)
       insert into mails (mail_id, kind, organization_id, email, address, network, created_at)
       select 'lim' || i, 'invitation', ?, 'x', 'x' || i, 'n', ? from n`,
    )
      .bind(owner.organization_id, NOW)
      .run()
    expect((await invite(owner, 'otra@example.com')).body.code).toBe('invitation.mail_limit')
    expect((await invite(await signUp(), 'otra@example.com')).status).toBe(201)
    later(DAY_MS + HOUR_MS)
    expect((await invite(owner, 'otra@example.com')).status).toBe(201)
    told.length = 0
    await env.DB.prepare("update mails set sent_at = 1 where mail_id like 'lim%'").run()
    await sweepMails(system())
    expect(told.length).toBeGreaterThan(0)
  })
})

describe('confirmed addresses', () => {
  it('are those of a sign-up without mail, and of members who sign in by a link', async () => {
    const owner = await signUp()
    const bea = await joined(owner)
    const of = async (role: string) =>
      env.DB.prepare('select email_confirmed_at from members where organization_id = ? and role = ?')
        .bind(owner.organization_id, role)
        .first('email_confirmed_at')
    expect([await of('owner'), await of('member'), await confirmedAt(bea.member_id)]).toEqual([NOW, null, null])
  })
})

it('a name in a mail has nothing that a mail program makes a link of', () => {
  expect(harmless('Visite https://malo.example/x?y=1 o mailto:a@b.mx www.malo.example')).toBe(
    'Visite https malo. example x y 1 o mailto a b. mx www. malo. example',
  )
  expect(harmless('Peña & Ñandú, S.A. de C.V. (2)\r\nBcc: x')).toBe('Peña & Ñandú, S. A. de C. V. (2) Bcc x')
  expect(harmless('a'.repeat(200))).toHaveLength(80)
})
