import { createExecutionContext, createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import Background from '../../background/worker.ts'
import api from '../../src/index.ts'
import { Secrets } from '../../src/platform/secrets.ts'
import * as queues from '../../src/queues.ts'
import * as schedule from '../../src/schedule.ts'

const NAMES = ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'SESSION_KEYS', 'WEBHOOK_KEYS']
const context = createExecutionContext()
const secrets = (bindings: Env = env) => new Secrets(context, bindings).all()

/** The Worker as it is deployed: it has no secret of its own. */
function backgroundWith(SECRETS: { all(): Promise<Record<string, string>> }): Background {
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !NAMES.includes(name)))
  return new Background(context, { ...others, SECRETS } as never)
}

afterEach(() => void vi.restoreAllMocks())

describe('the Worker of background work', () => {
  const batch = () => createMessageBatch('fiscal-local-tasks', [{ id: 'one', timestamp: new Date(), attempts: 1, body: {} }])

  it('is given every secret of the Worker that answers requests, and nothing else that it has', () => {
    expect(Object.keys(secrets()).sort()).toEqual(NAMES)
    const stripe = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' }
    expect(secrets({ ...env, ...stripe } as Env)).toEqual({ ...secrets(), ...stripe })
  })

  it('consumes with the secrets of now, also after one was rotated, and keeps what is derived from them until then', async () => {
    const consume = vi.spyOn(queues, 'consume').mockResolvedValue(undefined)
    const given = vi.fn(async () => secrets())
    const worker = backgroundWith({ all: given })
    for (let n = 0; n < 2; n++) await worker.queue(batch())
    given.mockResolvedValue({ ...secrets(), CIEC_KEYS: `2:new,${env.CIEC_KEYS}` })
    await worker.queue(batch())
    const [first, second, third] = consume.mock.calls.map(([, bindings]) => bindings)
    expect(second).toBe(first)
    expect([first!.CIEC_KEYS, third!.CIEC_KEYS]).toEqual([env.CIEC_KEYS, `2:new,${env.CIEC_KEYS}`])
    expect(third!.DB).toBe(env.DB)
  })

  it('consumes nothing while the secrets cannot be had, so that the platform retries the messages', async () => {
    const consume = vi.spyOn(queues, 'consume')
    const worker = backgroundWith({ all: () => Promise.reject(new Error('No such Worker.')) })
    await expect(worker.queue(batch())).rejects.toThrow('No such Worker.')
    expect(consume).not.toHaveBeenCalled()
  })

  it('does the work of a cron, also when the local runtime fires it at the other Worker', async () => {
    const tick = vi.spyOn(schedule, 'tick').mockResolvedValue(undefined)
    const worker = backgroundWith({ all: async () => secrets() })
    const cron = { cron: '*/15 * * * *', scheduledTime: Date.UTC(2026, 5, 1, 6) } as ScheduledController
    await worker.scheduled(cron)
    await api.scheduled(cron, { ...env, BACKGROUND: worker })
    const expected = { cron: cron.cron, scheduledTime: cron.scheduledTime }
    expect(tick.mock.calls.map(([given]) => given)).toEqual([expected, expected])
    expect(tick.mock.calls.every(([, bindings]) => bindings.CIEC_KEYS === env.CIEC_KEYS)).toBe(true)
  })
})

it('hosted, a cron at the Worker that answers requests does nothing', async () => {
  const tick = vi.spyOn(schedule, 'tick')
  await api.scheduled({ cron: '* * * * *', scheduledTime: Date.now() } as ScheduledController, env)
  expect(tick).not.toHaveBeenCalled()
})
