import { Webhook as Standard } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliveryHeaders } from '../../../src/delivery/deliveries/post.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at } from '../../support/clock.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, named, pending, placed, type Sent, WEBHOOKS } from '../support/deliveries.ts'
import vectors from './vectors/signatures.json'

const utf8 = new TextEncoder()
const sha256 = async (bytes: Uint8Array) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

describe('what openssl signs is what we sign', () => {
  it.each(vectors)('$id', async ({ secret, id, timestamp, text, times, service_signature, webhook_signature }) => {
    const digests = { a: await sha256(utf8.encode(secret)), b: await sha256(Uint8Array.fromBase64(secret.slice('whsec_'.length))) }
    const body = utf8.encode(text.repeat(times))
    const headers = await deliveryHeaders(digests, {
      event_id: id,
      ordering: 1,
      key: 'webhook.test',
      attempt: 1,
      body,
      at: new Date(timestamp * 1_000 + 999),
    })
    expect(headers).toMatchObject({
      'Service-Signature': service_signature,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': webhook_signature,
    })
  })
})

describe.each([
  ['standardwebhooks', (secret: string) => new Standard(secret)],
  ['svix', (secret: string) => new Svix(secret)],
])('the library %s, given the secret as it was shown,', (_, library) => {
  let of: Organization
  let courier: Courier
  let to: Endpoint
  const bodies = ['{"event":"cfdi.cancelled","razón":"Ñandú 🧾"}', '{}', `{"long":"${'ñ'.repeat(60_000)}"}`, '{ "spaces" :\n 1.10 }']

  beforeEach(async () => {
    losingMessages()
    of ??= await organization()
    courier = new Courier()
    to = await endpoint(of, 'https://hooks.acme.example/in')
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  const verify = (secret: string, { headers, body }: Sent, more: object = {}): void => {
    library(secret).verify(new TextDecoder().decode(body), { ...headers, ...more } as Record<string, string>)
  }

  it('takes every delivery, of the old secret until its commit and of the new one after', async () => {
    for (const body of bodies) await pending(to, body)
    await courier.deliver(to.webhook)
    expect(courier.sent.map(({ body }) => new TextDecoder().decode(body))).toEqual(
      bodies.map((body, n) => placed(named(body, courier.sent[n]!.event_id), Number(courier.sent[n]!.headers['Service-Ordering']))),
    )
    for (const sent of courier.sent) verify(to.signing_secret, sent)
    const rotate = `${WEBHOOKS}/${to.webhook_id}/rotate-secret`
    const { signing_secret } = (await of.ask('POST', rotate)).body
    await of.ask('POST', `${rotate}/commit`)
    await pending(to)
    await courier.deliver(to.webhook)
    verify(signing_secret, courier.sent.at(-1)!)
    expect(() => verify(to.signing_secret, courier.sent.at(-1)!)).toThrow(/No matching signature/)
  })

  it('refuses what was changed, another secret, and what is old', async () => {
    await pending(to)
    await courier.deliver(to.webhook)
    const [sent] = courier.sent as [Sent]
    const other = await endpoint(of, 'https://hooks.acme.example/other')
    verify(to.signing_secret, sent)
    expect(() => verify(other.signing_secret, sent)).toThrow(/No matching signature/)
    for (let n = 0; n < sent.body.length; n += 7) {
      const body = sent.body.slice()
      body[n] = body[n]! ^ 1
      expect(() => verify(to.signing_secret, { ...sent, body }), `byte ${n}`).toThrow(/No matching signature/)
    }
    expect(() => verify(to.signing_secret, sent, { 'webhook-id': 'evt_other' })).toThrow(/No matching signature/)
    const second = Number(sent.headers['webhook-timestamp'])
    expect(() => verify(to.signing_secret, sent, { 'webhook-timestamp': String(second + 1) })).toThrow(/No matching signature/)
    at(new Date((second + 301) * 1_000).toISOString())
    expect(() => verify(to.signing_secret, sent)).toThrow(/too old/)
  })
})
