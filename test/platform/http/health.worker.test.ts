import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { app } from '../../../src/app/app.ts'
import { Unhealthy } from '../../../src/platform/http/health.ts'
import { at } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { record } from '../../support/recorder/record.ts'
import { ROUTES, send } from '../../support/wire.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
const error = vi.spyOn(console, 'error').mockImplementation(() => {})
afterEach(() => {
  error.mockClear()
})

const withEnv = (changed: Record<string, unknown>): Env => ({ ...env, ...changed }) as unknown as Env

/** What /health answers under these bindings, with the headers of every answer. */
async function health(bindings: Env = fresh()) {
  const response = await app.fetch(new Request('https://api.test/health'), bindings)
  const text = await response.text()
  await record(
    ROUTES.find(({ path }) => path === '/health'),
    undefined,
    response,
    text,
  )
  const answer = { status: response.status, body: JSON.parse(text) as { missing: string[] } }
  expect(response.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect([response.headers.get('cache-control'), response.headers.get('x-frame-options')]).toEqual(['no-store', 'DENY'])
  if (answer.status === 503) expect(Unhealthy.safeParse(answer.body).error).toBeUndefined()
  return answer
}

/** Bindings of which nothing is known yet. */
const fresh = () => withEnv({})

const lacksMigrations = (name: string) =>
  `${name} has no migrations. Apply them with \`npm start\` locally, or with \`npm run deploy\` for a hosted service.`
const failing = (message: string) => {
  const statement = { bind: () => statement, first: () => Promise.reject(new Error(message)) }
  return { prepare: () => statement }
}

describe('/health', () => {
  it('answers 200 with one statement, however many databases there are, and without a credential', async () => {
    const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => health())
    expect(result).toEqual({ status: 200, body: { status: 'ok', environment: 'test', tax_authority: 'sandbox' } })
    expect([cost.d1_calls, cost.d1_statements, cost.rows_written]).toEqual([1, 1, 0])
  })

  /** The control plane, slow to answer or failing on demand, which counts what it is asked. */
  function watched() {
    const state = { asked: 0, fails: false }
    const statement = {
      bind: () => statement,
      async first() {
        state.asked++
        await scheduler.wait(50)
        if (state.fails) throw new Error('D1_ERROR: the network')
        return null
      },
    }
    return { state, bindings: withEnv({ DB: { prepare: () => statement } }) }
  }

  it('keeps an answer for ten seconds, good or bad, and asks once for all who come at a time', async () => {
    at('2026-11-29T12:00:00Z')
    const { state, bindings } = watched()
    const all = await Promise.all(Array.from({ length: 20 }, () => health(bindings)))
    expect([new Set(all.map(({ status }) => status)), state.asked]).toEqual([new Set([200]), 1])
    state.fails = true
    at('2026-11-29T12:00:09.999Z')
    expect([(await health(bindings)).status, state.asked]).toEqual([200, 1])
    at('2026-11-29T12:00:10Z')
    expect([(await health(bindings)).status, state.asked]).toEqual([503, 2])
    state.fails = false
    expect([(await health(bindings)).status, state.asked]).toEqual([503, 2])
    at('2026-11-29T12:00:20Z')
    expect([(await health(bindings)).status, state.asked]).toEqual([200, 3])
    vi.useRealTimers()
  })

  it('does not wait for ever for a check that was broken off', async () => {
    at('2026-11-29T13:00:00Z')
    let asked = 0
    const statement = { bind: () => statement, first: () => (++asked === 1 ? new Promise(() => {}) : Promise.resolve(null)) }
    const bindings = withEnv({ DB: { prepare: () => statement } })
    void app.fetch(new Request('https://api.test/health'), bindings)
    await vi.waitFor(() => expect(asked).toBe(1))
    const waiting = health(bindings)
    at('2026-11-29T13:00:10Z')
    expect([(await waiting).status, asked]).toEqual([200, 2])
    vi.useRealTimers()
  })

  it('says which authority a deployment has', async () => {
    for (const ENVIRONMENT of ['test', 'live'])
      expect(await health(withEnv({ ENVIRONMENT, TAX_AUTHORITY: 'sat' }))).toEqual({
        status: 200,
        body: { status: 'ok', environment: ENVIRONMENT, tax_authority: 'sat' },
      })
  })

  it('says that a live deployment cannot serve invented documents, nor those of a stand-in', async () => {
    const { status, body } = await health(withEnv({ ENVIRONMENT: 'live', TAX_AUTHORITY: 'sandbox', SAT_STAND_IN: 'http://127.0.0.1:9000' }))
    expect([status, body.missing]).toEqual([
      503,
      [
        'TAX_AUTHORITY must be sat, because ENVIRONMENT is live.',
        'SAT_STAND_IN must be empty, or http://127.0.0.1:{port} in a local service, which has no PUBLIC_HOSTS and is not live.',
      ],
    ])
  })

  it('names every setting that cannot be used, and no value of one', async () => {
    const bindings = withEnv({ SPREAD_SECONDS: 'soon', CIEC_KEYS: 'a secret that is no keyring', BILLING_PROVIDER: 'stripe' })
    const { status, body } = await health(bindings)
    expect([status, body]).toEqual([
      503,
      {
        status: 'unavailable',
        missing: [
          expect.stringMatching(/^CIEC_KEYS must be a keyring: .*\.$/),
          'SPREAD_SECONDS must be an integer from 0 to 86400.',
          'STRIPE_SECRET_KEY must be set, because BILLING_PROVIDER is stripe.',
          'STRIPE_WEBHOOK_SECRET must be set, because BILLING_PROVIDER is stripe.',
        ],
      },
    ])
    expect(JSON.stringify(body)).not.toMatch(/soon|a secret/)
  })

  it('names the control plane without the tables of the current migrations, and asks no other database', async () => {
    const reading = (database: D1Database, table: string) => ({
      prepare: (query: string) => database.prepare(query.replace('guards', table)),
    })
    expect((await health(withEnv({ DB: reading(env.DB, 'absent') }))).body.missing).toEqual([lacksMigrations('DB')])
    for (const name of ['LEDGER_0', 'EVENTS_0'] as const)
      expect((await health(withEnv({ [name]: reading(env[name], 'absent') }))).status).toBe(200)
  })

  it('names all that is missing at once: settings, and the control plane that does not answer or is not bound', async () => {
    const bindings = withEnv({ ENVIRONMENT: 'prod', DB: failing('D1_ERROR: the network'), LEDGER_1: undefined })
    expect((await health(bindings)).body.missing).toEqual([
      'LEDGER_0 to LEDGER_n must be bound without a gap.',
      'ENVIRONMENT must be test or live.',
      'DB does not answer.',
    ])
    expect(error.mock.calls.flat().join()).toContain('"database":"DB"')
    expect((await health(withEnv({ DB: undefined }))).body.missing).toEqual(['DB is not bound.'])
  })

  it('is the only path that says so: every other answers 503 with its request id and says where to look', async () => {
    const bindings = withEnv({ CURSOR_KEYS: undefined })
    for (const [method, path] of [
      ['GET', '/docs'],
      ['GET', '/v1/openapi.json'],
      ['POST', '/v1/auth/signup'],
      ['GET', '/v1/organization'],
      ['GET', '/v1/nothing'],
    ] as const) {
      const { status, body } = await send(method, path, { env: bindings, breaks: true })
      expect([status, body.code]).toEqual([503, 'service.unusable_settings'])
      expect(error.mock.calls.at(-1)?.join()).toMatch(new RegExp(`${body.request_id}.*"faults":\\["CURSOR_KEYS must be a keyring`))
    }
    expect((await send('GET', '/api/v1/organization', { env: bindings })).status).toBe(308)
  })
})
