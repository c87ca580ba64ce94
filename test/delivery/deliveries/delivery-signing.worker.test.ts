import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { daily } from '../../support/crons.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf, pending, type Sent, WEBHOOKS } from '../support/deliveries.ts'

const NOW = '2027-02-03T04:05:06.789Z'

let of: Organization
let courier: Courier
let hosts = 0
const receiver = (): Promise<Endpoint> => endpoint(of, `https://hooks-${++hosts}.acme.example/in`)

beforeEach(async () => {
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  of ??= await organization()
  at(NOW)
  courier = new Courier()
})
afterEach(restore)

describe('the signature', () => {
  /** What a customer computes. */
  async function isBy(secret: string, { headers, body }: Sent): Promise<boolean> {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, ['sign'])
    return headers['Service-Signature'] === `v1,${new Uint8Array(await crypto.subtle.sign('HMAC', key, body)).toHex()}`
  }

  const stored = (to: Endpoint) =>
    env.EVENTS_0.prepare('select digests, next_digests from webhooks where webhook = ?')
      .bind(to.webhook)
      .first<Record<string, string | null>>()

  it('of a retry is by the secret that was committed meanwhile, and by no secret before its commit', async () => {
    const to = await receiver()
    courier.answer = () => new Response(null, { status: 500 })
    await pending(to)
    courier.notified.push({ webhook: to.webhook, delaySeconds: 0, at: Date.now() })
    await courier.next()
    const rotate = `${WEBHOOKS}/${to.webhook_id}/rotate-secret`
    const { signing_secret } = (await of.ask('POST', rotate)).body
    await courier.next()
    await of.ask('POST', `${rotate}/commit`)
    await courier.next()
    const by = (secret: string) => Promise.all(courier.sent.map((sent) => isBy(secret, sent)))
    expect(await by(to.signing_secret)).toEqual([true, true, false])
    expect(await by(signing_secret)).toEqual([false, false, true])
  })

  it('stays the same through a rotation of the wrapping key, between any two attempts', async () => {
    const to = await receiver()
    await of.ask('POST', `${WEBHOOKS}/${to.webhook_id}/rotate-secret`)
    await pending(to)
    const second = `2:${new Uint8Array(32).fill(5).toBase64()}`
    const first = env.WEBHOOK_KEYS!
    const both = `${second},${first}`
    const attempt = async (WEBHOOK_KEYS: string, moment: string) => {
      at(moment)
      const one = new Courier({ WEBHOOK_KEYS })
      one.answer = () => new Response(null, { status: 500 })
      await one.deliver(to.webhook)
      expect(await Promise.all(one.sent.map((sent) => isBy(to.signing_secret, sent)))).toEqual([true])
      return one.env
    }
    await attempt(first, NOW)
    const rotating = await attempt(both, '2027-02-03T05:00:00Z')
    const wrapped = () =>
      stored(to).then((row) => [row!['digests'], row!['next_digests']].map((it) => JSON.parse(it!) as { a: string; b: string }))
    expect((await wrapped()).flatMap(({ a, b }) => [a[0], b[0]])).toEqual(['1', '1', '1', '1'])
    await daily(rotating)
    const anew = await wrapped()
    expect(anew.flatMap(({ a, b }) => [a[0], b[0]])).toEqual(['2', '2', '2', '2'])
    await daily(rotating)
    expect(await wrapped()).toEqual(anew)
    await attempt(second, '2027-02-03T06:00:00Z')
    expect((await keptOf(to))[0]!.attempts.length).toBe(3)
    await env.EVENTS_0.prepare('delete from webhooks where webhook = ?').bind(to.webhook).run()
  })

  it('cannot be made with another key: nothing is sent, and no attempt is used up', async () => {
    const to = await receiver()
    const event_id = await pending(to)
    const wrong = new Courier({ WEBHOOK_KEYS: `1:${new Uint8Array(32).fill(6).toBase64()}` })
    await expect(wrong.deliver(to.webhook)).rejects.toThrow(/cannot be opened/)
    const missing = new Courier({ WEBHOOK_KEYS: `7:${new Uint8Array(32).fill(6).toBase64()}` })
    await expect(missing.deliver(to.webhook)).rejects.toThrow(/cannot be opened/)
    expect([wrong.sent, missing.sent]).toEqual([[], []])
    expect(await keptOf(to)).toEqual([expect.objectContaining({ status: 'pending', attempts: [], lease_until: null })])
    await courier.deliver(to.webhook)
    expect(courier.sent.map((sent) => sent.event_id)).toEqual([event_id])
  })

  it('cannot be made with the digests of another endpoint, organization or version', async () => {
    const [to, other] = [await receiver(), await endpoint(await organization(), 'https://hooks.other.example/')]
    await pending(to)
    const own = await stored(to)
    const broken = async (set: string, ...values: unknown[]) => {
      await env.EVENTS_0.prepare(`update webhooks set ${set} where webhook = ?1`)
        .bind(to.webhook, ...values)
        .run()
      await expect(courier.deliver(to.webhook)).rejects.toThrow(/cannot be opened/)
    }
    await broken('digests = ?2', (await stored(other))!['digests'])
    await broken(`digests = json_object('a', ?2->>'b', 'b', ?2->>'a')`, own!['digests'])
    await broken('digests = ?2, secret_version = 2', own!['digests'])
    await env.EVENTS_0.prepare('update webhooks set secret_version = 1 where webhook = ?1').bind(to.webhook).run()
    await courier.deliver(to.webhook)
    expect(await Promise.all(courier.sent.map((sent) => isBy(to.signing_secret, sent)))).toEqual([true])
  })

  it('of one endpoint that cannot be opened keeps no other from being wrapped anew', async () => {
    const [broken, sound] = [await receiver(), await receiver()]
    await env.EVENTS_0.prepare(`update webhooks set digests = replace(digests, '"a":"1:', '"a":"1:AAAA') where webhook = ?`)
      .bind(broken.webhook)
      .run()
    const rotating = new Courier({ WEBHOOK_KEYS: `3:${new Uint8Array(32).fill(8).toBase64()},${env.WEBHOOK_KEYS}` })
    expect(await daily(rotating.env)).toEqual(['rewrapSecrets'])
    expect((await stored(sound))!['digests']).toContain('"a":"3:')
    await pending(sound)
    await rotating.deliver(sound.webhook)
    expect(await Promise.all(rotating.sent.map((sent) => isBy(sound.signing_secret, sent)))).toEqual([true])
  })
})
