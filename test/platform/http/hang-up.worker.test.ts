import { env } from 'cloudflare:workers'
import { beforeAll, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { json, send } from '../../support/wire.ts'
import { type Side, sideOf } from '../../support/world.ts'

let ours: Side
beforeAll(async () => {
  ours = await sideOf()
})

/** A body of which some bytes arrive before the client hangs up. */
const cutAfter = (text: string): ReadableStream<Uint8Array> => {
  let isSent = false
  return new ReadableStream({
    pull(controller) {
      if (isSent) controller.error(new TypeError('Network connection lost.'))
      else controller.enqueue(new TextEncoder().encode(text))
      isSent = true
    },
  })
}

const kept = async () => (await env.FILES.list()).objects.length

it.each([
  ['POST', () => '/v1/extractors', 'application/json', 400],
  ['PATCH', () => `/v1/fiscal-entities/${ours.fiscal_entity_id}`, 'application/json', 400],
  ['POST', () => '/v1/auth/signup', 'application/json', 400],
  ['PUT', () => '/v1/blacklists/custom/unheard-of', 'text/csv', 400],
  ['POST', () => `/v1/fiscal-entities/${ours.fiscal_entity_id}/cfdi/imports`, 'application/xml', 400],
  // No body belongs there.
  ['POST', () => '/v1/webhooks/wh_01kabcdefghjkmnpqrstvwxyz0/test', 'application/json', 422],
])(
  '%s %s: a client that hangs up in the middle of a body is no failure of ours, and leaves nothing',
  async (method, path, type, status) => {
    const errors = vi.spyOn(console, 'error')
    const before = await kept()
    const length: Record<string, string>[] = [{}, { 'content-length': '1000' }]
    for (const headers of length) {
      const answer = await send(method, path(), {
        authorization: path().includes('/auth/') ? undefined : basic(ours.callers.owner),
        headers: { ...headers, 'content-type': type },
        body: cutAfter('{"name": "Nightly", '),
      })
      expect([answer.status, answer.body.code]).toEqual([status, status === 400 ? 'request.interrupted' : 'request.unexpected_body'])
    }
    expect([errors.mock.calls, await kept()]).toEqual([[], before])
  },
)

it('a key whose request was cut can be sent again', async () => {
  const key = { 'idempotency-key': crypto.randomUUID(), 'content-type': 'application/json' }
  const authorization = basic(ours.callers.owner)
  const name = { name: 'CI', role: 'member' }
  const cut = await send('POST', '/v1/credentials', { authorization, headers: key, body: cutAfter('{"name": "CI"') })
  const whole = await send('POST', '/v1/credentials', { authorization, headers: key, body: json(name).body })
  expect([cut.status, whole.status]).toEqual([400, 201])
})
