import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { appFor } from '../../../src/app/app.ts'
import { mailAlerts } from '../../../src/app/mails/alerts.ts'
import { mailDigests } from '../../../src/app/mails/digest.ts'
import { WORK } from '../../../src/app/work.ts'
import { type AlertDraft, alertStatements, resolveStatement } from '../../../src/platform/alerts/alerts.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { silenceQueues } from '../../support/queues.ts'
import { connect, joined, signUp, type Tenant } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'

// A Wednesday, 12:00 in Mexico City.
const NOW = Date.parse('2026-11-18T18:00:00Z')
const MINUTE_MS = 60_000
const later = (milliseconds: number) => vi.setSystemTime(NOW + milliseconds)

beforeEach(async () => {
  await env.DB.prepare('delete from mails').run()
  await env.DB.prepare("update organizations set digest_on = '9999-12-31'").run()
  await env.EVENTS_0.prepare('update alerts set is_mailed = 1').run()
  silenceQueues()
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
  headers: Record<string, string>
}

/** A deployment that sends mail. */
function deployment(more: object = {}) {
  const sent: Sent[] = []
  const told: { mail: string }[] = []
  const fate = { dies: false }
  const EMAIL = {
    send: async (mail: Sent) => {
      sent.push(mail)
      if (fate.dies) throw new Error('Killed.')
    },
  }
  const WEBHOOKS = { sendBatch: async (messages: { body: { mail: string } }[]) => void told.push(...messages.map(({ body }) => body)) }
  const bindings = { ...env, EMAIL, WEBHOOKS, MAIL_FROM: 'avisos@example.com', PUBLIC_HOSTS: 'api.test', ...more } as unknown as Env
  const system = () => systemOf(bindings, new Date(), 'req_test')
  const deliver = (bodies: readonly { mail: string }[]) => Promise.all(bodies.map((body) => WORK['mails']!.handle(system(), body)))
  const work = () => deliver(told.splice(0))
  const page = async (method: string, url: string) => {
    const request = new Request(url, {
      method,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'cf-connecting-ip': '203.0.113.5' },
      ...(method === 'POST' && { body: 'List-Unsubscribe=One-Click' }),
    })
    const response = await appFor(request).fetch(request, bindings)
    return { status: response.status, text: await response.text() }
  }
  const as = (caller: Caller, method: string, path: string, body?: unknown) =>
    send(method, path, { ...(body === undefined ? {} : json(body)), authorization: basic(caller), env: bindings })
  return { sent, told, fate, bindings, system, work, deliver, page, as }
}

let raised = 0

const draft = (organization_id: string, severity: 'critical' | 'warning', message_es = `Aviso ${++raised}`): AlertDraft => ({
  ...{ organization_id, kind: 'storage.failed', severity, dedupe_key: `prueba:${message_es}`, resource_id: 'stc_1' },
  ...{ fiscal_entity_id: null, rfc: null, message: `Notice ${raised}`, message_es },
})
const raise = (...drafts: AlertDraft[]) => commit(env.EVENTS_0, alertStatements(drafts, new Date()))
const urlIn = ({ headers }: Sent): string => /^<(.*)>$/.exec(headers['List-Unsubscribe']!)![1]!
const preferences = async (caller: Caller) => (await api(caller, 'GET', '/v1/team/mail-preferences')).body
const choose = (caller: Caller, changes: object) => api(caller, 'PATCH', '/v1/team/mail-preferences', changes)
const confirm = ({ member_id }: { member_id: string }) =>
  env.DB.prepare('update members set email_confirmed_at = 1 where member_id = ?').bind(member_id).run()

describe('the mails that a member gets', () => {
  it('are at first critical alerts and the digest, in Spanish; each member chooses alone', async () => {
    const owner = await signUp()
    const bea = await joined(owner)
    expect(await preferences(owner)).toEqual({
      ...{ email: expect.stringContaining('@example.com'), email_confirmed_at: new Date(NOW).toISOString() },
      ...{ alerts: 'critical', weekly_digest: true, language: 'es' },
    })
    const { status, body } = await choose(bea, { alerts: 'all', language: 'en' })
    expect([status, body]).toEqual([
      200,
      { email: bea.email, email_confirmed_at: null, alerts: 'all', weekly_digest: true, language: 'en' },
    ])
    expect(await preferences(bea)).toEqual(body)
    expect((await preferences(owner)).alerts).toBe('critical')
    expect((await choose(bea, { alerts: 'warning' })).status).toBe(422)
    const made = (await api(owner, 'POST', '/v1/credentials', { name: 'CI', role: 'member' })).body
    expect((await preferences(made)).email).toBe((await preferences(owner)).email)
  })
})

describe('alerts by mail', () => {
  it('come in one mail to each member who wants them and whose address is confirmed, and to no other organization', async () => {
    const { sent, work, system } = deployment()
    const [owner, other] = [await signUp('Despacho.Uno'), await signUp()]
    const [all, none, unconfirmed] = [await joined(owner), await joined(owner), await joined(owner)]
    for (const person of [all, none]) await confirm(person)
    await choose(all, { alerts: 'all', language: 'en' })
    await choose(none, { alerts: 'none' })
    await raise(draft(owner.organization_id, 'critical', 'Falló www.malo.mx'), draft(owner.organization_id, 'warning', 'Menor'))
    expect(await mailAlerts(system())).toBeNull()
    await work()
    const { email } = await preferences(owner)
    expect(sent.map(({ to, subject }) => [to, subject]).sort()).toEqual(
      [
        [email, 'Alertas de Despacho. Uno: 1'],
        [all.email, 'Alerts of Despacho. Uno: 2'],
      ].sort(),
    )
    const toOwner = sent.find(({ to }) => to === email)!
    expect(toOwner.text).toContain('- Crítica: Falló www. malo. mx\n')
    expect(toOwner.text).not.toContain('Menor')
    expect(toOwner.text).toContain(urlIn(toOwner))
    expect(toOwner.headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click')
    expect(sent.some(({ to }) => to === unconfirmed.email)).toBe(false)
    expect(other.organization_id).not.toBe(owner.organization_id)
    // Nothing is left to say.
    later(61 * MINUTE_MS)
    await mailAlerts(system())
    await work()
    expect(sent).toHaveLength(2)
  })

  it('come again at the earliest after an hour, with all that were raised since, without those that are resolved', async () => {
    const { sent, work, system } = deployment()
    const owner = await signUp()
    const round = async (milliseconds: number) => {
      later(milliseconds)
      await mailAlerts(system())
      await work()
      return sent.splice(0).map(({ text }) => text.match(/Crítica: \w+/g))
    }
    const of = (name: string) => draft(owner.organization_id, 'critical', name)
    await raise(of('Uno'))
    expect(await round(0)).toEqual([['Crítica: Uno']])
    await raise(of('Dos'), of('Tres'))
    expect(await round(15 * MINUTE_MS)).toEqual([])
    await raise(of('Cuatro'))
    await commit(env.EVENTS_0, [resolveStatement([[owner.organization_id, 'prueba:Tres']], new Date())])
    expect(await round(60 * MINUTE_MS)).toEqual([['Crítica: Cuatro', 'Crítica: Dos']])
    // Raised again, an alert is another one.
    later(150 * MINUTE_MS)
    await raise(of('Tres'))
    expect(await round(150 * MINUTE_MS)).toEqual([['Crítica: Tres']])
  })

  it('are decided about once, although workers run at once or die on any line, and a mail that goes out twice has the same id', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { sent, told, fate, system, deliver } = deployment()
    const owner = await signUp()
    await raise(draft(owner.organization_id, 'critical'))
    // The mail is asked for, and the worker dies before the alert is marked.
    await env.EVENTS_0.prepare("create trigger dies before update of is_mailed on alerts begin select raise(abort, 'died'); end").run()
    await expect(mailAlerts(system())).rejects.toThrow()
    await env.EVENTS_0.prepare('drop trigger dies').run()
    await raise(draft(owner.organization_id, 'critical', 'Después'))
    for (const minutes of [15, 75]) {
      later(minutes * MINUTE_MS)
      await Promise.all([mailAlerts(system()), mailAlerts(system()), mailAlerts(system())])
    }
    const asked = told.splice(0)
    expect(new Set(asked.map(({ mail }) => mail)).size).toBe(2)
    // It goes out, and the worker dies before that is noted.
    fate.dies = true
    for (const one of asked) await expect(deliver([one])).rejects.toThrow()
    fate.dies = false
    await Promise.all(asked.map(({ mail }) => env.DB.prepare('update mails set lease_until = 0 where mail_id = ?').bind(mail).run()))
    later(80 * MINUTE_MS)
    await deliver(asked)
    await deliver(asked)
    expect(sent).toHaveLength(4)
    expect(new Set(sent.map(({ headers }) => headers['X-Mail-Id'])).size).toBe(2)
    expect(sent.filter(({ text }) => text.includes('Después'))).toHaveLength(2)
  })

  it('is not sent to who left, was removed or ended it while the mail was on the way', async () => {
    const { sent, work, system } = deployment()
    const owner = await signUp()
    const bea = await joined(owner)
    await confirm(bea)
    await raise(draft(owner.organization_id, 'critical'))
    await mailAlerts(system())
    await choose(owner, { alerts: 'none' })
    await api(owner, 'DELETE', `/v1/team/members/${bea.member_id}`)
    await work()
    expect(sent).toEqual([])
  })

  it('that are older than a day when mail is set up are sent to nobody', async () => {
    const { sent, work, system } = deployment()
    const owner = await signUp()
    await raise(draft(owner.organization_id, 'critical'))
    later(25 * 60 * MINUTE_MS)
    await mailAlerts(system())
    await work()
    expect(sent).toEqual([])
    expect(await env.EVENTS_0.prepare('select count(*) as n from alerts where is_mailed = 0').first('n')).toBe(0)
  })
})

describe('the link that ends mails', () => {
  it('ends one kind for one member, without a session, once it is posted to; looking at it changes nothing', async () => {
    const { sent, work, system, page } = deployment()
    const owner = await signUp()
    await raise(draft(owner.organization_id, 'critical'))
    await mailAlerts(system())
    await work()
    const url = urlIn(sent[0]!)
    expect(url).toMatch(/^https:\/\/api\.test\/console\/unsubscribe\?token=alerts\.mem_/)
    const looked = await page('GET', url)
    expect([looked.status, looked.text.includes('<form method="post">')]).toEqual([200, true])
    expect((await preferences(owner)).alerts).toBe('critical')
    expect([(await page('POST', url)).status, (await page('POST', url)).status]).toEqual([200, 200])
    expect(await preferences(owner)).toMatchObject({ alerts: 'none', weekly_digest: true })
    const { data } = (await api(owner, 'GET', '/v1/audit-events?action=mail_preferences.updated')).body
    expect(data).toMatchObject([{ actor: 'system:unsubscribe', changed: ['alerts'] }])
    for (const wrong of [url.replace('alerts', 'digest'), url.slice(0, -1), `${url}0`, 'https://api.test/console/unsubscribe'])
      for (const method of ['GET', 'POST']) expect([wrong, (await page(method, wrong)).status]).toEqual([wrong, 404])
    expect((await preferences(owner)).weekly_digest).toBe(true)
  })
})

describe('the weekly digest', () => {
  const MONDAY = Date.parse('2026-11-23T14:00:00Z')
  const DAY_MS = 86_400_000

  async function withConnection(): Promise<Tenant & { rfc: string; fiscal_entity_id: string }> {
    const owner = await signUp()
    await api(owner, 'PATCH', '/v1/organization', { name: 'Despacho Semanal' })
    return { ...owner, ...(await connect(owner)) }
  }

  it('is asked for on Monday at 08:00 of the organization’s time zone, once, by whichever runs there are', async () => {
    const { told, system } = deployment()
    const owner = await withConnection()
    const [there, without] = [await withConnection(), await signUp()]
    await api(there, 'PATCH', '/v1/organization', { timezone: 'Europe/Madrid' })
    const askedAt = async (instant: number) => {
      vi.setSystemTime(instant)
      await Promise.all([mailDigests(system()), mailDigests(system())])
      return told.splice(0).map(({ mail }) => mail)
    }
    expect(await askedAt(MONDAY - DAY_MS)).toEqual([])
    expect(await askedAt(Date.parse('2026-11-23T06:59:00Z'))).toEqual([])
    expect(await askedAt(Date.parse('2026-11-23T07:00:00Z'))).toHaveLength(1)
    expect(await askedAt(MONDAY - 1_000)).toEqual([])
    const asked = await askedAt(MONDAY)
    const { member_id } = (await api(owner, 'GET', '/v1/team/members')).body.data[0]
    expect(asked).toEqual([`digest_2026-11-23_${member_id}`])
    expect(await askedAt(MONDAY + 60 * MINUTE_MS)).toEqual([])
    expect(await askedAt(MONDAY + 6 * DAY_MS)).toEqual([])
    expect(await askedAt(MONDAY + 7 * DAY_MS)).toHaveLength(2)
    expect(without.organization_id).not.toBe(owner.organization_id)
  })

  it('says what is open, in the language of the member, and ends with its link', async () => {
    const { sent, work, system, page } = deployment()
    const owner = await withConnection()
    const bea = await joined(owner)
    await confirm(bea)
    await choose(bea, { language: 'en' })
    await raise(draft(owner.organization_id, 'warning', 'Algo'), draft(owner.organization_id, 'critical', 'Grave'))
    vi.setSystemTime(MONDAY)
    await env.DB.prepare("update connections set state = 'invalid_ciec', invalid_reason = 'rejected' where organization_id = ?")
      .bind(owner.organization_id)
      .run()
    await mailDigests(system())
    await work()
    const [spanish, english] = [sent.find(({ to }) => to !== bea.email)!, sent.find(({ to }) => to === bea.email)!]
    expect([spanish.subject, english.subject]).toEqual(['Resumen semanal de Despacho Semanal', 'Weekly digest of Despacho Semanal'])
    expect(spanish.text).toContain('Alertas de la semana sin resolver (2):\n- Grave\n- Algo\n')
    expect(spanish.text).toContain(`RFC que necesitan atención (1):\n- ${owner.rfc}`)
    expect(english.text).toContain('RFCs that need attention (1):\n')
    expect((await page('POST', urlIn(english))).status).toBe(200)
    expect(await preferences(bea)).toMatchObject({ alerts: 'critical', weekly_digest: false })
    expect((await preferences(owner)).weekly_digest).toBe(true)
    sent.length = 0
    vi.setSystemTime(MONDAY + 7 * DAY_MS)
    await mailDigests(system())
    await work()
    expect(sent.map(({ to }) => to)).toEqual([spanish.to])
  })

  it('and alerts tell who is bound to RFCs of no other one, and nobody whose scopes leave out what they tell', async () => {
    const { sent, work, system } = deployment()
    const owner = await withConnection()
    await api(owner, 'POST', '/v1/test-helpers/organization', { plan: 'api' })
    const other = await connect(owner)
    const [bea, eva] = [await joined(owner), await joined(owner)]
    for (const person of [bea, eva]) await confirm(person)
    await env.DB.prepare('update credentials set fiscal_entity_ids = ? where member_id = ?')
      .bind(JSON.stringify([other.fiscal_entity_id]), bea.member_id)
      .run()
    await env.DB.prepare('update credentials set scopes = ? where member_id = ?')
      .bind(JSON.stringify(['cfdi:read']), eva.member_id)
      .run()
    await raise(
      { ...draft(owner.organization_id, 'critical', 'De todos'), fiscal_entity_id: owner.fiscal_entity_id, rfc: owner.rfc },
      { ...draft(owner.organization_id, 'critical', 'De Bea'), fiscal_entity_id: other.fiscal_entity_id, rfc: other.rfc },
    )
    vi.setSystemTime(MONDAY)
    await env.DB.prepare("update connections set state = 'invalid_ciec', invalid_reason = 'rejected' where organization_id = ?")
      .bind(owner.organization_id)
      .run()
    await mailDigests(system())
    await mailAlerts(system())
    await work()
    const [toBea, toOthers] = [sent.filter(({ to }) => to === bea.email), sent.filter(({ to }) => to !== bea.email)]
    expect(sent.some(({ to }) => to === eva.email)).toBe(false)
    for (const { text } of toBea) expect(text).not.toMatch(new RegExp(`De todos|${owner.rfc}`))
    expect(toBea.find(({ subject }) => subject.startsWith('Resumen'))!.text).toContain(`RFC que necesitan atención (1):\n- ${other.rfc}`)
    expect(toOthers.find(({ subject }) => subject.startsWith('Resumen'))!.text).toContain('RFC que necesitan atención (2):\n')
  })

  it('is for no organization that signed up on that Monday, or is suspended, and for nobody who does not want it', async () => {
    const { told, system } = deployment()
    const [suspended, unwilling] = [await withConnection(), await withConnection()]
    await env.DB.prepare("update organizations set suspension = 'payment' where id = ?").bind(suspended.organization_id).run()
    await choose(unwilling, { weekly_digest: false })
    vi.setSystemTime(MONDAY - 60 * MINUTE_MS)
    await withConnection()
    vi.setSystemTime(MONDAY)
    await mailDigests(system())
    expect(told).toEqual([])
  })

  it('is asked for nowhere where no mail can be read', async () => {
    const { told, system } = deployment({ EMAIL: undefined, MAIL_FROM: '' })
    await withConnection()
    vi.setSystemTime(MONDAY)
    expect([await mailDigests(system()), await mailAlerts(system()), told]).toEqual([null, null, []])
  })
})
