import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Delivery } from '../../../src/delivery/deliveries/contract.ts'
import { SINK_FAULTS } from '../../../src/platform/egress/answer-status.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { connect, type Organization, organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf, pending, WEBHOOKS } from '../support/deliveries.ts'

const NOW = '2027-02-03T04:05:06.789Z'
const WAITS = [60, 300, 1_800, 7_200, 21_600]

let of: Organization
let courier: Courier
let queue: ReturnType<typeof losingMessages>
let hosts = 0
const receiver = (): Promise<Endpoint> => endpoint(of, `https://hooks-${++hosts}.acme.example/in?key=1`)
const logOf = async ({ webhook_id }: Endpoint): Promise<Delivery[]> =>
  (await of.ask('GET', `${WEBHOOKS}/${webhook_id}/deliveries`)).body.data

beforeEach(async () => {
  queue = losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  of ??= await organization()
  at(NOW)
  courier = new Courier()
})
afterEach(restore)

const answering = (status: number, body: BodyInit | null = null, headers = {}) => {
  courier.answer = () => new Response(body, { status, headers })
}

describe('an answer', () => {
  const cases: [name: string, answer: () => Response, status: string, status_code: number, said: string | null][] = [
    ['200', () => new Response('ok'), 'delivered', 200, 'ok'],
    ['201 without a body', () => new Response('', { status: 201 }), 'delivered', 201, null],
    ['204', () => new Response(null, { status: 204 }), 'delivered', 204, null],
    ['299', () => new Response('fine', { status: 299 }), 'delivered', 299, 'fine'],
    ['500', () => new Response('broken', { status: 500 }), 'pending', 500, 'broken'],
    ['503', () => new Response('busy', { status: 503 }), 'pending', 503, 'busy'],
    ['599', () => new Response('exactRow', { status: 599 }), 'pending', 599, 'exactRow'],
    ['429', () => new Response('slow down', { status: 429, headers: { 'retry-after': '1' } }), 'pending', 429, 'slow down'],
    ['408', () => new Response('late', { status: 408 }), 'pending', 408, 'late'],
    ['400', () => new Response('what?', { status: 400 }), 'failed', 400, 'what?'],
    ['404', () => new Response('no such hook', { status: 404 }), 'failed', 404, 'no such hook'],
    ['410', () => new Response(null, { status: 410 }), 'failed', 410, null],
    ['301', () => Response.redirect('https://elsewhere.example/', 301), 'failed', 301, null],
    ['302', () => Response.redirect('https://elsewhere.example/', 302), 'failed', 302, null],
    ['307', () => Response.redirect('https://elsewhere.example/', 307), 'failed', 307, null],
    ['304', () => new Response(null, { status: 304 }), 'failed', 304, null],
    ['103 and nothing after', () => new Response(null, { status: 400, headers: { 'egress-status': '103' } }), 'failed', 103, null],
    ['199', () => new Response(null, { status: 400, headers: { 'egress-status': '199' } }), 'failed', 199, null],
  ]

  it.each(cases)('%s', async (_, answer, status, status_code, response_body) => {
    const to = await receiver()
    courier.answer = answer
    const event_id = await pending(to)
    await courier.deliver(to.webhook)
    const attempt = { attempt: 1, attempted_at: NOW, duration_ms: 0, status_code, error: null, response_body }
    const next_attempt_at = status === 'pending' ? '2027-02-03T04:06:06.789Z' : null
    expect(await logOf(to)).toEqual([expect.objectContaining({ event_id, status, attempts: [attempt], next_attempt_at })])
    expect(courier.notified).toEqual(status === 'pending' ? [{ webhook: to.webhook, delaySeconds: 60, at: Date.parse(NOW) + 60_000 }] : [])
    expect(courier.sent.map(({ url, method, redirect }) => [url, method, redirect])).toEqual([[to.url, 'POST', 'manual']])
  })

  it('that does not come within five seconds is none', async () => {
    const to = await receiver()
    const [timer, given] = [new AbortController(), vi.spyOn(AbortSignal, 'timeout')]
    given.mockImplementation(() => timer.signal)
    const asked = Promise.withResolvers<void>()
    courier.answer = ({ signal }) =>
      new Promise((_, refuse) => {
        signal.addEventListener('abort', () => refuse(signal.reason as Error), { once: true })
        asked.resolve()
      })
    await pending(to)
    const work = courier.deliver(to.webhook)
    await asked.promise
    at('2027-02-03T04:05:11.789Z')
    timer.abort(new DOMException('Too late.', 'TimeoutError'))
    await work
    expect(given.mock.calls).toEqual([[5_000]])
    const error = 'No answer within 5 seconds.'
    expect((await logOf(to))[0]).toMatchObject({
      status: 'pending',
      attempts: [{ attempt: 1, attempted_at: NOW, duration_ms: 5_000, status_code: null, error, response_body: null }],
      next_attempt_at: '2027-02-03T04:06:11.789Z',
    })
  })

  it('that the connection loses is none, and what the network says of it is told to nobody', async () => {
    const to = await receiver()
    courier.answer = () => Promise.reject(new TypeError('connect ECONNREFUSED 10.1.2.3:6379'))
    await pending(to)
    await courier.deliver(to.webhook)
    const attempts = [expect.objectContaining({ status_code: null, error: 'The connection failed.', response_body: null })]
    expect((await logOf(to))[0]).toMatchObject({ status: 'pending', attempts })
    expect(JSON.stringify(await keptOf(to))).not.toContain('10.1.2.3')
  })

  it.each(Object.values(SINK_FAULTS))('that goes nowhere on a laptop is told by the name of the setting: %s', async (error) => {
    const to = await receiver()
    courier.answer = () => Promise.reject(new Error(`No answer: nothing accepts connections at 10.1.2.3:9000. ${error}`))
    await pending(to)
    await courier.deliver(to.webhook)
    expect((await logOf(to))[0]).toMatchObject({ attempts: [{ status_code: null, error, response_body: null }] })
  })

  /** A body in pieces, and what is done with it. */
  function pieces(of: (n: number) => Uint8Array | null | Error | Promise<Uint8Array>) {
    const seen = { read: 0, cancelled: false }
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const piece = await of(seen.read++)
          if (piece === null) controller.close()
          else if (piece instanceof Error) controller.error(piece)
          else controller.enqueue(piece)
        },
        cancel: () => {
          seen.cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    return { seen, stream }
  }
  const text = new TextEncoder()

  it('of ten megabytes is kept to its first kilobyte, the rest is not read', async () => {
    const to = await receiver()
    const { seen, stream } = pieces((n) => (n < 20_000 ? text.encode(String(n % 10).repeat(500)) : null))
    answering(200, stream)
    await pending(to)
    await courier.deliver(to.webhook)
    const [{ status, attempts }] = (await logOf(to)) as [Delivery]
    expect([status, attempts[0]!.response_body]).toEqual(['delivered', '0'.repeat(500) + '1'.repeat(500) + '2'.repeat(24)])
    expect(seen).toEqual({ read: 3, cancelled: true })
  })

  it('that trickles is read until the five seconds of its attempt are over, and changes nothing', async () => {
    const to = await receiver()
    const { seen, stream } = pieces((n) => (n < 3 ? text.encode('.') : new Promise(() => {})))
    courier.answer = () => {
      at('2027-02-03T04:05:11.689Z')
      return new Response(stream)
    }
    await pending(to)
    const began = performance.now()
    await courier.deliver(to.webhook)
    expect(performance.now() - began).toBeLessThan(4_000)
    expect((await logOf(to))[0]).toMatchObject({
      status: 'delivered',
      attempts: [{ duration_ms: 4_900, status_code: 200, response_body: '...' }],
    })
    expect(seen.cancelled).toBe(true)
  })

  it('whose body breaks off is the answer that it was, with what came', async () => {
    const to = await receiver()
    answering(404, pieces((n) => (n === 0 ? text.encode('no su') : new Error('Connection reset.'))).stream)
    await pending(to)
    await courier.deliver(to.webhook)
    expect((await logOf(to))[0]).toMatchObject({ status: 'failed', attempts: [{ status_code: 404, error: null, response_body: 'no su' }] })
  })

  it('with control characters, or none of any encoding, is kept so that it harms nobody who looks at it', async () => {
    const to = await receiver()
    answering(500, new Uint8Array([0, 27, ...text.encode('[31mañil\r\n\t\u0085</script>'), 0x7f, 0xff, 0xc3]))
    await pending(to)
    await courier.deliver(to.webhook)
    expect((await logOf(to))[0]!.attempts[0]!.response_body).toBe('\ufffd\ufffd[31mañil\ufffd\n\t\ufffd</script>\ufffd\ufffd\ufffd')
  })
})

describe('a delivery that is not received', () => {
  it('is tried six times, after exactly the waits of the table, each with the same bytes; then it is lost and stays in the log', async () => {
    const to = await receiver()
    const codes = [500, 503, 429, 408, 599]
    courier.answer = ({ attempt }) => {
      // Each takes a while: the wait begins when it is over.
      at(new Date(Date.now() + attempt * 1_000).toISOString())
      if (attempt === 6) throw new TypeError('gone')
      return new Response(null, { status: codes[attempt - 1]! })
    }
    const event_id = await pending(to, '{  "razón": "Ñandú \\u00e9"}')
    courier.notified.push({ webhook: to.webhook, delaySeconds: 0, at: Date.now() })
    const delays: number[] = []
    for (let attempt = 1; attempt <= 6; attempt++) {
      await courier.next()
      const [{ status, attempts, next_attempt_at }] = (await logOf(to)) as [Delivery]
      expect(attempts.map((one) => one.attempt)).toEqual(Array.from({ length: attempt }, (_, n) => n + 1))
      const { attempted_at, duration_ms } = attempts.at(-1)!
      expect([duration_ms, Date.parse(attempted_at) + duration_ms]).toEqual([attempt * 1_000, Date.now()])
      if (attempt < 6) {
        const [message] = courier.notified
        delays.push(message!.delaySeconds)
        expect([status, next_attempt_at]).toEqual(['pending', new Date(message!.at).toISOString()])
        expect(message!.at).toBe(Date.now() + WAITS[attempt - 1]! * 1_000)
        at(new Date(message!.at - 1).toISOString())
        await courier.deliver(to.webhook)
      } else expect([status, next_attempt_at]).toEqual(['lost', null])
    }
    expect(delays).toEqual(WAITS)
    expect(courier.notified).toEqual([])
    expect(courier.sent.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6])
    expect(new Set(courier.sent.map(({ body }) => new TextDecoder().decode(body)))).toEqual(
      new Set([
        `{"event":"webhook.test","event_id":"${event_id}","ordering":${courier.sent[0]!.headers['Service-Ordering']},  "razón": "Ñandú \\u00e9"}`,
      ]),
    )
    expect(new Set(courier.sent.map((sent) => sent.event_id))).toEqual(new Set([event_id]))
    const notified = courier.sent.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(notified.slice(1).map((second, n) => second - notified[n]! - (n + 1))).toEqual(WAITS)
    const [{ attempts }] = (await logOf(to)) as [Delivery]
    expect(attempts.map(({ status_code }) => status_code)).toEqual([...codes, null])
    at('2027-03-03T00:00:00Z')
    await courier.sweep()
    await courier.deliver(to.webhook)
    expect(courier.sent.length).toBe(6)
  })

  it('is sent at once the first time, by the request that makes it', async () => {
    const to = await receiver()
    queue.announced()
    const { status, body } = await of.ask('POST', `${WEBHOOKS}/${to.webhook_id}/test`)
    expect([status, body.status, body.next_attempt_at]).toEqual([202, 'pending', new Date(NOW).toISOString()])
    expect(queue.announced()).toEqual([{ endpoint: `0.${to.webhook}` }])
    await courier.deliver(to.webhook)
    expect(courier.sent.map(({ headers }) => headers)).toEqual([
      {
        'Content-Type': 'application/json; charset=utf-8',
        'User-Agent': 'Fiscal-Data-Service/1 (webhooks)',
        'Service-Event': 'webhook.test',
        'Service-Delivery-Id': body.event_id,
        'Service-Ordering': expect.stringMatching(/^\d{13}$/),
        'Service-Attempt': '1',
        'Service-Signature': expect.stringMatching(/^v1,[0-9a-f]{64}$/),
        'webhook-id': body.event_id,
        'webhook-timestamp': '1801627506',
        'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      },
    ])
  })

  it('is sent again with attempts from 1 and the same id and bytes when that is asked for', async () => {
    const to = await receiver()
    answering(404)
    const event_id = await pending(to)
    await courier.deliver(to.webhook)
    answering(200)
    expect((await of.ask('POST', `${WEBHOOKS}/${to.webhook_id}/deliveries/${event_id}/redeliver`)).status).toBe(202)
    await courier.deliver(to.webhook)
    expect(courier.sent.map((sent) => [sent.event_id, sent.attempt])).toEqual([
      [event_id, 1],
      [event_id, 1],
    ])
    expect(courier.sent[0]!.body).toEqual(courier.sent[1]!.body)
    expect((await logOf(to)).map(({ redelivery, status }) => [redelivery, status])).toEqual([
      [1, 'delivered'],
      [0, 'failed'],
    ])
  })

  it('three times in a row is an alert, one a day, and the endpoint stays enabled; what is received ends the row', async () => {
    const to = await receiver()
    const alerts = async () => (await of.ask('GET', `/v1/alerts?resource_id=${to.webhook_id}`)).body.data
    const deliver = async (status: number) => {
      answering(status)
      await pending(to)
      await courier.deliver(to.webhook)
    }
    for (const status of [404, 404, 200, 404, 404]) await deliver(status)
    expect(await alerts()).toEqual([])
    for (const status of [410, 404]) await deliver(status)
    expect(await alerts()).toEqual([
      expect.objectContaining({ kind: 'webhook.undelivered', severity: 'warning', resource_id: to.webhook_id }),
    ])
    expect((await of.ask('GET', `${WEBHOOKS}/${to.webhook_id}`)).body.is_enabled).toBe(true)
  })
})

describe('what may not be sent any more', () => {
  const refused = (said: string) => ({
    attempt: 1,
    duration_ms: 0,
    status_code: null,
    error: expect.stringContaining(said),
    response_body: null,
  })

  it('is not: the RFC is no longer linked', async () => {
    const to = await receiver()
    const { fiscal_entity_id } = await connect(of.owner)
    const before = await pending(to, undefined, fiscal_entity_id)
    await courier.deliver(to.webhook)
    const after = await pending(to, undefined, fiscal_entity_id)
    expect((await of.ask('DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)).status).toBe(204)
    await courier.deliver(to.webhook)
    expect(courier.sent.map(({ event_id }) => event_id)).toEqual([before])
    const [it] = await logOf(to)
    expect(it).toMatchObject({ event_id: after, status: 'failed', attempts: [refused('Not sent: The RFC is no longer linked.')] })
  })

  it('is not: the URL may be called no more, also between two attempts', async () => {
    const to = await receiver()
    answering(500)
    await pending(to)
    await courier.deliver(to.webhook)
    const later = new Courier({ PUBLIC_HOSTS: 'api.acme.example, acme.example' })
    at(new Date(courier.notified[0]!.at).toISOString())
    await later.deliver(to.webhook)
    expect([courier.sent.length, later.sent.length]).toEqual([1, 0])
    const [{ status, attempts }] = (await logOf(to)) as [Delivery]
    expect(status).toBe('failed')
    expect(attempts[1]).toMatchObject({ ...refused('Not sent: Must be a host of your own'), attempt: 2 })
  })

  it.each(['https://10.0.0.1/in', 'https://hooks.acme.internal/', 'http://hooks.acme.example/', 'https://[::1]:8443/'])(
    'is not: %s stands in our own row',
    async (url) => {
      const to = await receiver()
      await pending(to)
      await env.EVENTS_0.prepare('update webhooks set url = ?2 where webhook = ?1').bind(to.webhook, url).run()
      await courier.deliver(to.webhook)
      expect(courier.sent).toEqual([])
      expect(await logOf(to)).toEqual([
        expect.objectContaining({ status: 'failed', attempts: [expect.objectContaining({ status_code: null })] }),
      ])
    },
  )
})
