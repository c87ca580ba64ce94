import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleApp } from '../../../src/accounts/console/routes.ts'
import { pruneMails } from '../../../src/accounts/mails/mails.ts'
import { WORK } from '../../../src/app/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { json, send } from '../../support/wire.ts'

const NOW = Date.parse('2026-11-18T18:00:00Z')
const DAY_MS = 86_400_000

beforeEach(async () => {
  await env.DB.batch([env.DB.prepare('delete from mails'), env.DB.prepare('delete from kept_mails')])
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(NOW)
  vi.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A service on somebody's own machine. */
function laptop(more: object = {}) {
  const told: unknown[] = []
  const WEBHOOKS = { sendBatch: async (messages: { body: unknown }[]) => void told.push(...messages.map(({ body }) => body)) }
  const bindings = { ...env, WEBHOOKS, MAIL_FROM: '', ...more } as unknown as Env
  const work = async () => {
    for (const body of told.splice(0)) await WORK['mails']!.handle(systemOf(bindings, new Date(), 'req_test'), body)
  }
  const page = async (from = '127.0.0.1', origin = 'http://127.0.0.1:9000', added: Record<string, string> = {}) => {
    const response = await consoleApp.fetch(
      new Request(`${origin}/console/mails`, { headers: { 'cf-connecting-ip': from, ...added } }),
      bindings,
    )
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const signUp = (email: string) =>
    send('POST', '/v1/auth/signup', { ...json({ organization_name: 'Uno', name: 'Ana', email }), env: bindings })
  return { bindings, work, page, signUp }
}

describe('a service on somebody’s own machine', () => {
  it('keeps its mails for seven days, and shows them with links to itself', async () => {
    const { bindings, work, page, signUp } = laptop({ MAIL_FROM: 'avisos@example.com' })
    expect((await page()).text).toContain('Ninguno todavía')
    const { body } = await signUp('ana@example.com')
    expect(body.organization.email_confirmed_at).toBeNull()
    await work()
    const { status, text, headers } = await page()
    expect([status, headers.get('cache-control'), headers.get('content-type')]).toEqual([200, 'no-store', 'text/html; charset=UTF-8'])
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    const [, token] = /<a href="http:\/\/127\.0\.0\.1:9000\/console\/#confirm=(\w+)">/.exec(text)!
    const confirmed = await send('POST', '/v1/auth/email/confirm', { ...json({ token }), env: bindings })
    expect(confirmed.body).toMatchObject({ email: 'ana@example.com' })
    vi.setSystemTime(NOW + 7 * DAY_MS)
    await pruneMails(systemOf(bindings, new Date(), 'req_test'))
    expect((await page()).text).toContain('Ninguno todavía')
  })

  it('confirms a sign-up at once without MAIL_FROM', async () => {
    const { work, page, signUp } = laptop()
    expect((await signUp('bea@example.com')).body.organization.email_confirmed_at).toBe(new Date(NOW).toISOString())
    await work()
    expect((await page()).text).toContain('Ninguno todavía')
  })

  it('shows them to nobody else, and never where mail is sent, the service has a name, or the data is real', async () => {
    const { page } = laptop()
    const tried = [
      await page('203.0.113.7'),
      await page('127.0.0.1', 'https://api.test'),
      await page('127.0.0.1', undefined, { 'x-forwarded-for': '203.0.113.7' }),
      await laptop({ PUBLIC_HOSTS: 'api.test' }).page(),
      await laptop({ TAX_AUTHORITY: 'sat' }).page(),
      await laptop({ EMAIL: { send: async () => ({}) }, MAIL_FROM: 'avisos@example.com' }).page(),
    ]
    expect(tried.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404])
    expect((await page()).status).toBe(200)
  })

  it('shows what somebody typed as text', async () => {
    const { bindings, page } = laptop()
    const { db } = systemOf(bindings, new Date(), 'req_test')
    await db.$client
      .prepare("insert into kept_mails values ('m1', 'a@b.mx', '<script>x</script>', 'see \"<img src=x>\" https://x.test/?a=1&b=\"', 1)")
      .run()
    const { text } = await page()
    expect(text).not.toMatch(/<script|<img/)
    expect(text).toContain('&#60;script&#62;')
  })
})
