import { Webhook as Standard } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { type Delivery, type Endpoint, Hooks, isSigned, logOf, type Received, register } from './support/hooks.ts'
import { Runners } from './support/kills.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'
import { hasOpenssl, isInstalled, LANGUAGES, opensslHmac, verifierOf } from './support/snippets.ts'

const hooks = await Hooks.open()
const runners = new Runners({ WEBHOOK_SINK: hooks.sink })
const state = freshState()
afterAll(async () => {
  await discard(state, runners.all)
  hooks.close()
})

describe('a receiver on this machine', () => {
  let service: Started
  let customer: Customer
  beforeAll(async () => {
    service = await runners.start(state, await freePort())
    customer = await Customer.signUp(service.url, 'Despacho con ganchos')
  }, 120_000)

  const cases: [path: string, status: string, status_code: number | null, wait: number | null, said: string | RegExp | null][] = [
    ['/a/200', 'delivered', 200, null, 'ok'],
    ['/a/500', 'pending', 500, 60, 'broken'],
    ['/a/429', 'pending', 429, 60, null],
    ['/a/404', 'failed', 404, null, 'no such hook'],
    ['/a/302', 'failed', 302, null, null],
    ['/a/103', 'failed', 103, null, null],
    ['/a/hang', 'pending', null, 60, null],
    ['/a/cut', 'pending', null, 60, null],
    ['/a/big', 'delivered', 200, null, /^x{1024}$/],
    ['/a/slow', 'delivered', 200, null, /^part 0 part 1 /],
  ]

  it('is asked once, signed, with the exact bytes; the log says what it did', async () => {
    const endpoints = new Map<string, Endpoint>()
    for (const [path] of cases) endpoints.set(path, await register(customer, path))
    const tested = await Promise.all(
      cases.map(([path]) => customer.ask<Delivery>('POST', `/v1/webhooks/${endpoints.get(path)!.webhook_id}/test`)),
    )
    const logs = new Map<string, Delivery>()
    await until('every attempt is on record', 240_000, async () => {
      for (const [path] of cases) logs.set(path, (await logOf(customer, endpoints.get(path)!))[0]!)
      return [...logs.values()].every(({ attempts }) => attempts.length > 0)
    })
    for (const [n, [path, status, status_code, wait, said]] of cases.entries()) {
      const one = logs.get(path)!
      expect([path, one.status, one.event_key, one.event_id]).toEqual([path, status, 'webhook.test', tested[n]!.event_id])
      expect(one.attempts).toHaveLength(1)
      const [made] = one.attempts
      expect([path, made!.attempt, made!.status_code]).toEqual([path, 1, status_code])
      if (said instanceof RegExp) expect(made!.response_body).toMatch(said)
      else expect(made!.response_body).toBe(said)
      if (status_code === null) expect(made!.error).toMatch(/^(No answer within 5 seconds|The connection failed)\.$/)
      else expect(made!.error).toBeNull()
      if (wait === null) expect(one.next_attempt_at).toBeNull()
      else {
        // From the attempt's end, to the second.
        const waits = (Date.parse(one.next_attempt_at!) - Date.parse(made!.attempted_at) - made!.duration_ms) / 1_000
        expect(waits).toBeGreaterThanOrEqual(wait)
        expect(waits).toBeLessThan(wait + 5)
      }
      const [received, ...again] = hooks.of(path)
      expect(again).toEqual([])
      expect(received!.headers).toMatchObject({
        host: 'hooks.example.com',
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(received!.body.length),
        'service-event': 'webhook.test',
        'service-delivery-id': one.event_id,
        'service-attempt': '1',
        'webhook-id': one.event_id,
      })
      expect(isSigned(received!, endpoints.get(path)!.signing_secret)).toBe(true)
      expect(JSON.parse(received!.body.toString())).toMatchObject({ event: 'webhook.test', event_id: one.event_id })
    }
    expect(logs.get('/a/hang')!.attempts[0]!.duration_ms).toBeGreaterThanOrEqual(4_900)
  }, 60_000)

  it('can verify what it is sent as docs/webhooks.md says, with openssl and with the libraries of others; and nothing else', async () => {
    const endpoint = await register(customer, '/v/200')
    const secret = endpoint.signing_secret
    await customer.ask('POST', `/v1/webhooks/${endpoint.webhook_id}/test`)
    await until('it is delivered', 240_000, () => hooks.of('/v/200').length > 0)
    const [{ headers, body }] = hooks.of('/v/200') as [Received]
    const header = String(headers['service-signature'])
    const changed = Buffer.from(body.toString().replace('webhook.test', 'webhook.text'))
    if (hasOpenssl) expect(`v1,${opensslHmac(Buffer.from(secret), body)}`).toBe(header)
    for (const language of LANGUAGES.filter(isInstalled)) {
      const verify = verifierOf(language)
      expect([language.name, verify({ secret, header, body }), verify({ secret, header, body: changed })]).toEqual([
        language.name,
        true,
        false,
      ])
    }
    for (const library of [new Standard(secret), new Svix(secret)]) {
      library.verify(body.toString(), headers as Record<string, string>)
      expect(() => library.verify(changed.toString(), headers as Record<string, string>)).toThrow('No matching signature')
    }
  }, 60_000)

  it('that hangs delays nobody else', async () => {
    const [hanging, healthy] = [await register(customer, '/b/hang'), await register(customer, '/b/200')]
    for (let n = 0; n < 6; n++) await customer.ask('POST', `/v1/webhooks/${hanging.webhook_id}/test`)
    await until('it hangs', 240_000, () => hooks.of('/b/hang').length >= 4)
    for (let n = 0; n < 6; n++) await customer.ask('POST', `/v1/webhooks/${healthy.webhook_id}/test`)
    await until('the healthy one has everything', 240_000, () => hooks.of('/b/200').length === 6)
    const unanswered = await logOf(customer, hanging)
    // Of those that hang none has run into its five seconds twice meanwhile.
    expect(unanswered.every(({ attempts }) => attempts.length <= 1)).toBe(true)
  }, 60_000)
})
