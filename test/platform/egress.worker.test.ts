import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Egress } from '../../src/index.ts'
import { SINK_FAULTS } from '../../src/platform/egress/answer-status.ts'

const URL_OF_HOOK = 'https://hooks.example.com/in/box?a=1&b=%20'
const delivery = (): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'service-signature': 'v1,00ff' },
  body: '{"año":2026}',
  redirect: 'manual',
  signal: AbortSignal.timeout(5_000),
})

const hosted = () => new Egress(createExecutionContext(), { ...env, PUBLIC_HOSTS: 'api.example.com' })

afterEach(() => vi.restoreAllMocks())

describe('where the service is hosted, requests leave', () => {
  it('to the public network, as they are', async () => {
    const asked: unknown[] = []
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const { method, url, redirect, headers, body } = new Request(input as Request, init as RequestInit)
      asked.push({ method, url, redirect, headers: Object.fromEntries(headers), body: await new Response(body).text() })
      return new Response('seen', { status: 202, headers: { 'x-of': 'receiver' } })
    })
    const answer = await hosted().fetch(new Request(URL_OF_HOOK, delivery()))
    expect([answer.status, answer.headers.get('x-of'), await answer.text()]).toEqual([202, 'receiver', 'seen'])
    const headers = { 'content-type': 'application/json', 'service-signature': 'v1,00ff' }
    expect(asked).toEqual([{ method: 'POST', url: URL_OF_HOOK, redirect: 'manual', headers, body: '{"año":2026}' }])
  })

  it('and are followed nowhere', async () => {
    const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.redirect('https://elsewhere.example.com/', 307))
    const answer = await hosted().fetch(new Request(URL_OF_HOOK, delivery()))
    expect([answer.status, answer.headers.get('location')]).toEqual([307, 'https://elsewhere.example.com/'])
    expect(spy).toHaveBeenCalledTimes(1)
  })
})

it('a local service without a sink sends nothing', async () => {
  await expect(env.EGRESS.fetch(URL_OF_HOOK, delivery())).rejects.toThrow(SINK_FAULTS.unset)
})
