import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { app } from '../../../src/app/app.ts'
import { Unhealthy } from '../../../src/platform/http/health.ts'
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
async function health(bindings: Env = env) {
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

const lacksMigrations = (name: string) =>
  `${name} has no migrations. Apply them with \`npm start\` locally, or with \`npm run deploy\` for a hosted service.`
const failing = (message: string) => {
  const statement = { bind: () => statement, first: () => Promise.reject(new Error(message)) }
  return { prepare: () => statement }
}

describe('/health', () => {
  it('answers 200 with one statement for each database, and without a credential', async () => {
    const shards = Object.keys(env).filter((name) => /^(LEDGER|EVENTS)_\d+$/.test(name)).length
    const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => health())
    expect(result).toEqual({ status: 200, body: { status: 'ok', environment: 'test', tax_authority: 'sandbox' } })
    expect([cost.d1_calls, cost.d1_statements, cost.rows_written]).toEqual([1 + shards, 1 + shards, 0])
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

  it('names a database without the tables of the current migrations', async () => {
    const reading = (database: D1Database, table: string) => ({
      prepare: (query: string) => database.prepare(query.replace('guards', table)),
    })
    for (const name of ['DB', 'LEDGER_0', 'EVENTS_0'] as const)
      expect((await health(withEnv({ [name]: reading(env[name], 'absent') }))).body.missing).toEqual([lacksMigrations(name)])
  })

  it('names all that is missing at once: settings, databases, and a database that does not answer', async () => {
    const bindings = withEnv({
      ENVIRONMENT: 'prod',
      DB: failing('D1_ERROR: no such table: guards: SQLITE_ERROR'),
      LEDGER_0: failing('D1_ERROR: the network'),
      LEDGER_1: undefined,
    })
    expect((await health(bindings)).body.missing).toEqual([
      'LEDGER_0 to LEDGER_n must be bound without a gap.',
      'ENVIRONMENT must be test or live.',
      lacksMigrations('DB'),
      'LEDGER_0 does not answer.',
      'LEDGER_1 is not bound.',
    ])
    expect(error.mock.calls.flat().join()).toContain('"database":"LEDGER_0"')
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
