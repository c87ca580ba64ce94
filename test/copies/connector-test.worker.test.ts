import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { at, restore } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { organization } from '../support/tenants.ts'
import { connector, DRAFTS, rowOf, s3 } from './support/connectors.ts'

const acme = await organization('enterprise_gold')

/** Each test has a minute of its own: no cooldown of another one runs. */
let minute = 0
const next = () => at(new Date(Date.UTC(2029, 0, 1, 0, minute++)).toISOString())
beforeEach(() => {
  silenceQueues()
  next()
})
afterEach(restore)

const MS = expect.any(Number)
const test = ({ path }: { path: string }) => acme.ask('POST', `${path}/test`)

describe('the test of a connector', () => {
  it('writes below the prefix, reads back and deletes, and leaves nothing', async () => {
    const { standIn, called } = s3()
    const made = await connector(acme, 's3', { config: { ...DRAFTS.s3.config, prefix: 'copia/uno' } })
    const before = await rowOf(made)
    const { status, body } = await test(made)
    expect([status, body]).toEqual([
      200,
      { ok: true, steps: ['write', 'read', 'delete'].map((step) => ({ step, ok: true, ms: MS })), error: null },
    ])
    expect(called.map((line) => line.replace(/(?<=test-)[0-9a-f-]{36}/, '…'))).toEqual(
      ['PUT', 'GET', 'DELETE'].map(
        (method) => `${method} https://fiscal-archive.s3.mx-central-1.amazonaws.com/copia/uno/connection-test-….txt`,
      ),
    )
    expect(standIn.objects()).toEqual([])
    expect(await rowOf(made)).toEqual(before)
  })

  it('says in words why a step failed, and answers 200', async () => {
    s3()
    const { credentials } = DRAFTS.s3
    const wrong = await connector(acme, 's3', { credentials: { ...credentials, secret_access_key: 'no-es-el-secreto' } })
    const { status, body } = await test(wrong)
    expect([status, body]).toEqual([
      200,
      {
        ok: false,
        steps: [{ step: 'write', ok: false, ms: MS }],
        error: { code: 'access_denied', message: expect.stringMatching(/^The secret access key does not belong to the access key.*\.$/) },
      },
    ])
    expect(JSON.stringify(body)).not.toContain('no-es-el-secreto')
    const missing = await connector(acme, 's3', { config: { ...DRAFTS.s3.config, bucket: 'no-hay-tal' } })
    expect((await test(missing)).body).toMatchObject({ ok: false, error: { code: 'not_found' } })
  })

  it.each([
    ['nothing', async () => new Response('<Error><Code>NoSuchKey</Code></Error>', { status: 404 }), 'refused', /is not there/],
    ['something else', async () => new Response('otra cosa', { headers: { etag: 'x' } }), 'refused', /not the one that was written/],
    ['an error', async () => new Response('', { status: 503 }), 'unavailable', /./],
  ])('notices that %s comes back, and removes what it wrote', async (_, answer, code, message) => {
    const { standIn, fetch } = s3()
    const made = await connector(acme)
    const real = fetch.getMockImplementation()!
    fetch.mockImplementation(async (input, init) => (init?.method === 'GET' ? answer() : real(input, init)))
    const { body } = await test(made)
    expect(body).toEqual({
      ok: false,
      steps: [
        { step: 'write', ok: true, ms: MS },
        { step: 'read', ok: false, ms: MS },
      ],
      error: { code, message: expect.stringMatching(message) },
    })
    expect(standIn.objects()).toEqual([])
  })

  it('notices that nothing can be deleted', async () => {
    const { fetch } = s3()
    const made = await connector(acme)
    const real = fetch.getMockImplementation()!
    fetch.mockImplementation(async (input, init) =>
      init?.method === 'DELETE' ? new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 }) : real(input, init),
    )
    const { body } = await test(made)
    expect([body.ok, body.steps.map(({ ok }: { ok: boolean }) => ok), body.error.code]).toEqual([
      false,
      [true, true, false],
      'access_denied',
    ])
  })

  it('works whatever the status of the connector, and changes none', async () => {
    s3()
    for (const status of ['paused', 'error'] as const) {
      const made = await connector(acme)
      await env.EVENTS_0.prepare('update storage_connectors set connector_status = ?2, failures = 5 where connector_id = ?1')
        .bind(made.connector_id, status)
        .run()
      const before = await rowOf(made)
      next()
      expect((await test(made)).body.ok).toBe(true)
      expect(await rowOf(made)).toEqual(before)
    }
  })

  it('can be repeated after ten seconds, also by a connector that is made again, and of another destination at once', async () => {
    s3()
    const [made, other] = [await connector(acme), await connector(acme, 's3', { config: { ...DRAFTS.s3.config, prefix: 'otra' } })]
    at('2030-01-01T00:00:00Z')
    expect((await test(made)).status).toBe(200)
    at('2030-01-01T00:00:04Z')
    const refused = await test(made)
    expect([refused.status, refused.body.code, refused.body.detail.retry_after_seconds, refused.headers.get('retry-after')]).toEqual([
      429,
      'storage_connector.cooldown',
      6,
      '6',
    ])
    expect((await test(other)).status).toBe(200)
    await acme.ask('DELETE', made.path)
    const again = await connector(acme)
    expect((await test(again)).status).toBe(429)
    at('2030-01-01T00:00:10Z')
    expect((await test(again)).status).toBe(200)
  })
})

describe('a backfill', () => {
  it('is requested once, however often it is asked for while it runs, and begins at nothing', async () => {
    const made = await connector(acme)
    const { connector: number } = (await rowOf(made))!
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare(
        `insert into storage_mirrors (connector, fiscal_entity, due, sequence, import_sequence, windows, round)
         values (?1, 'a', 0, 7, 8, '{}', null), (?1, 'b', 2, 9, 0, '{}', '{}')`,
      ).bind(number),
      env.EVENTS_0.prepare("insert into storage_copied (connector, document_id) values (?1, 'doc_1')").bind(number),
      env.EVENTS_0.prepare("update storage_connectors set token = 't', lease_until = 9e15 where connector = ?").bind(number),
    ])
    at('2030-01-01T00:00:00Z')
    const { status, body } = await acme.ask('POST', `${made.path}/backfill`)
    const backfill = { status: 'queued', total: null, copied: 0, failed: 0, requested_at: '2030-01-01T00:00:00.000Z', completed_at: null }
    expect([status, body]).toEqual([202, backfill])
    const { results } = await env.EVENTS_0.prepare(
      'select due, sequence, import_sequence, windows, round from storage_mirrors where connector = ?',
    )
      .bind(number)
      .all()
    const nothing = { due: 1, sequence: 0, import_sequence: 0, windows: null, round: null }
    expect(results).toEqual([nothing, nothing])
    expect(await env.EVENTS_0.prepare('select count(*) as n from storage_copied where connector = ?').bind(number).first('n')).toBe(0)
    expect(await rowOf(made)).toMatchObject({ token: null, lease_until: 0 })
    // As far as it has come since.
    const running = { ...backfill, status: 'running', total: 12, copied: 3 }
    await env.EVENTS_0.prepare("update storage_connectors set backfill = ?2, token = 'u' where connector = ?1")
      .bind(number, JSON.stringify(running))
      .run()
    at('2030-01-01T00:01:00Z')
    expect(await acme.ask('POST', `${made.path}/backfill`)).toMatchObject({ status: 202, body: running })
    expect(await rowOf(made)).toMatchObject({ token: 'u' })
    expect((await acme.ask('GET', made.path)).body.backfill).toEqual(running)
    // Another one, once it is done.
    const done = { ...running, status: 'completed', copied: 12, completed_at: '2030-01-01T00:02:00.000Z' }
    await env.EVENTS_0.prepare('update storage_connectors set backfill = ?2 where connector = ?1').bind(number, JSON.stringify(done)).run()
    at('2030-01-01T00:03:00Z')
    expect((await acme.ask('POST', `${made.path}/backfill`)).body).toEqual({ ...backfill, requested_at: '2030-01-01T00:03:00.000Z' })
  })

  it.each([
    [0, 60],
    [600, 60],
    [6_010, 601],
    [5_000_000, 86_400],
  ])('after one that copied %i documents begins %i seconds later at the earliest, and is refused before then', async (copied, seconds) => {
    const made = await connector(acme)
    const end = Date.parse('2030-01-01T00:00:00Z')
    const requested_at = '2029-12-01T00:00:00.000Z'
    const done = { status: 'completed', total: copied, copied, failed: 0, requested_at, completed_at: new Date(end).toISOString() }
    await env.EVENTS_0.prepare('update storage_connectors set backfill = ?2 where connector_id = ?1')
      .bind(made.connector_id, JSON.stringify(done))
      .run()
    // A change of the place does not shorten the wait.
    await acme.ask('PATCH', made.path, { config: { prefix: 'otro' } })
    at(new Date(end + 1_000 * seconds - 40_500).toISOString())
    const refused = await acme.ask('POST', `${made.path}/backfill`)
    expect([refused.status, refused.body.code, refused.body.detail.retry_after_seconds, refused.headers.get('retry-after')]).toEqual([
      429,
      'storage_connector.cooldown',
      41,
      '41',
    ])
    expect((await acme.ask('GET', made.path)).body.backfill).toEqual(done)
    at(new Date(end + 1_000 * seconds).toISOString())
    expect((await acme.ask('POST', `${made.path}/backfill`)).status).toBe(202)
  })

  it('is one, when several requests ask for it at once', async () => {
    const made = await connector(acme)
    const replies = await Promise.all(Array.from({ length: 8 }, () => acme.ask('POST', `${made.path}/backfill`)))
    expect(new Set(replies.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    const log = (await acme.ask('GET', `/v1/audit-events?resource_id=${made.connector_id}`)).body.data
    expect(log.filter(({ action }: { action: string }) => action === 'storage_connector.backfill_requested')).toHaveLength(1)
  })

  it('needs an active connector', async () => {
    const made = await connector(acme)
    await acme.ask('PATCH', made.path, { connector_status: 'paused' })
    const { status, body } = await acme.ask('POST', `${made.path}/backfill`)
    expect([status, body.code]).toEqual([409, 'storage_connector.not_active'])
  })
})
