import { createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consume } from '../../src/app/work.ts'
import { deliverDue } from '../../src/delivery/deliveries/delivery.ts'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { countJobs } from '../../src/downloads/counts/counts.ts'
import { systemOf } from '../../src/platform/context.ts'
import { EVERYTHING } from '../../src/taxpayers/visibility/window.ts'
import { beforeBatch, drainNow, watchAuthority } from '../authority/support/authority.ts'
import { connected, factsOf, fetching, jobsOf, runNow } from '../platform/outbox/support/outbox-events.ts'
import { at, restore } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import type { Organization } from '../support/tenants.ts'
import { dump } from '../support/world.ts'

const NOW = '2026-03-15T18:00:00Z'
/** What settles a job. */
const SETTLING = '"finished_after" = ?'

beforeEach(() => {
  at(NOW)
})

afterEach(restore)

const wait = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000)

/** Of what is kept for the RFC: how many of a month and direction, and when the first and last were issued. */
const leasedOf = (entity: number, source: string, month: string) =>
  env.LEDGER_0.prepare(
    'select count(*) as created_count, min(issued_at) as first_issued_at, max(issued_at) as last_issued_at from cfdi where entity = ? and direction = ? and substr(fecha, 1, 7) = ?',
  )
    .bind(entity, source === 'sat_cfdi_issued' ? 0 : 1, month)
    .first()

const relayNow = () => relayOutbox(systemOf(env, new Date(), 'relay'), 0)

type Counted = Record<string, unknown>

/** What a job brought, as the event and the list of jobs say it. */
const said = ({ job_id, period, created_count, updated_count, cancelled_count, completed_at, finished_at, status }: Counted) => ({
  ...{ job_id, period, created_count, updated_count, cancelled_count, at: completed_at ?? finished_at },
  status: status ?? 'succeeded',
})

const ofMonths = ({ body }: { body: { data: Counted[] } }) =>
  body.data
    .filter(({ period, status }) => period !== null && status !== 'queued' && status !== 'waiting')
    .map(said)
    .sort((a, b) => (String(a.period) < String(b.period) ? 1 : -1))

const monthsNotified = async (of: Organization) => ofMonths(await of.ask('GET', '/v1/events?event_key=sync.completed'))
const monthsListed = async (of: Organization, id: string) => ofMonths(await of.ask('GET', `/v1/fiscal-entities/${id}/sync-jobs`))

/** What a job brought to an organization that sees everything. */
const countsOf = async (organization_id: string, job: { entity: number; source: string; month: string; job_id: string }) =>
  (await countJobs(env.LEDGER_0, [{ ...job, organization_id, windows: EVERYTHING }])).map(({ document_ids: _, ...counts }) => counts)[0]

describe('sync.completed', () => {
  it('tells once, of every month and source, what came, to those whose runs asked', async () => {
    silenceQueues()
    const [wide, narrow] = [await fetching(['sat_cfdi_issued', 'sat_cfdi_received'], 2), await fetching(['sat_cfdi_issued'], 1)]
    const { rfc, entity } = await connected(wide)
    await connected(narrow, rfc)
    await drainNow(entity)
    const [facts, jobs] = [await factsOf(entity, 'sync.'), await jobsOf(entity)]
    expect(jobs.map(({ source, month }) => `${source} ${month}`).sort()).toEqual([
      ...['2026-01', '2026-02', '2026-03'].map((month) => `sat_cfdi_issued ${month}`),
      ...['2026-01', '2026-02', '2026-03'].map((month) => `sat_cfdi_received ${month}`),
      'sat_miinformacion ',
    ])
    expect(facts.map(({ outbox_event_id }) => outbox_event_id)).toEqual(
      jobs.map(({ source, month, job_id }) => `sync.completed:${entity}:${source}:${month}:${job_id}`),
    )
    for (const [n, { source, month, job_id }] of jobs.entries()) {
      const isShared = source === 'sat_miinformacion' || (source === 'sat_cfdi_issued' && month > '2026-01')
      expect(facts[n]).toMatchObject({ kind: 'sync.completed', organizations: isShared ? [wide.id, narrow.id] : [wide.id] })
      const counts =
        month === '' ? { created_count: 1, first_issued_at: null, last_issued_at: null } : await leasedOf(entity, source, month)
      const notified = {
        job_id,
        data_source_key: source,
        period: month || null,
        attempts: 1,
        error_class: null,
        completed_at: Date.parse(NOW),
      }
      expect(facts[n]!.body).toEqual({ ...notified, deferred: {} })
      // What it brought adds up to the same for each of them that sees everything.
      for (const organization_id of facts[n]!.organizations!)
        expect(await countsOf(organization_id, { entity, source, month, job_id })).toEqual({
          updated_count: 0,
          cancelled_count: 0,
          ...counts,
        })
    }
  })

  it.each([
    { seconds: 1, jobs: 2, who: 'that had begun when the connection was paused, or has its login from before' },
    { seconds: 6, jobs: 1, who: 'that had begun when the connection was paused, and none that begins six seconds later' },
  ])('has the counts of a job $who, and so has the list of jobs, then and afterwards', async ({ seconds, jobs }) => {
    silenceQueues()
    const begun: string[] = []
    watchAuthority(async (_, source, month) => void (source === 'sat_cfdi_issued' && begun.push(month)))
    const one = await fetching(['sat_cfdi_issued'], 1)
    const { entity, fiscal_entity_id } = await connected(one)
    const setActive = async (active: boolean) =>
      expect((await one.ask('PATCH', `/v1/billing/rfcs/${fiscal_entity_id}`, { active })).status).toBe(200)
    beforeBatch('insert into "cfdi_commits"', async () => {
      wait(1)
      await setActive(false)
      wait(seconds)
    })
    await drainNow(entity)
    expect(begun).toHaveLength(jobs)
    await relayNow()
    const notified = await monthsNotified(one)
    expect(notified).toHaveLength(jobs)
    const stored = await leasedOf(entity, 'sat_cfdi_issued', '2026-03')
    expect(notified.find(({ period }) => period === '2026-03')!['created_count']).toBe(stored!['created_count'])
    for (const { created_count } of notified) expect(created_count).toBeGreaterThan(5)
    const inOrder = (of: typeof notified) => of.toSorted((a, b) => String(a['period']).localeCompare(String(b['period'])))
    expect(inOrder(await monthsListed(one, fiscal_entity_id))).toEqual(inOrder(notified))
    wait(60)
    await setActive(true)
    expect(inOrder(await monthsListed(one, fiscal_entity_id))).toEqual(inOrder(notified))
  })

  it('of a job that ended while its RFC was unlinked is in the feed and in the log when the RFC is linked again', async () => {
    silenceQueues()
    const one = await fetching(['sat_cfdi_issued'], 1)
    const url = 'https://hooks.example.com/'
    const { webhook_id } = (await one.ask('POST', '/v1/webhooks', { name: 'n', url, event_keys: ['sync.completed'] })).body
    const { entity, rfc, fiscal_entity_id } = await connected(one)
    beforeBatch('insert into "cfdi_commits"', async () => {
      wait(1)
      expect((await one.ask('DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)).status).toBe(204)
      // Until then, the next job would have its login from before.
      wait(6)
    })
    await drainNow(entity)
    await relayNow()
    expect(await factsOf(entity, 'sync.')).toEqual([])
    expect(await monthsNotified(one)).toEqual([])
    const [row] = await env.EVENTS_0.prepare('select webhook from webhooks where webhook_id = ?').bind(webhook_id).raw()
    await deliverDue(systemOf(env, new Date(), 'deliver'), `0.${row![0]}`)
    wait(60)
    expect((await connected(one, rfc)).fiscal_entity_id).toBe(fiscal_entity_id)
    const [notified, ...more] = await monthsNotified(one)
    expect([more.length, notified!['created_count']]).toEqual([
      0,
      (await leasedOf(entity, 'sat_cfdi_issued', notified!['period'] as string))!['created_count'],
    ])
    expect(await monthsListed(one, fiscal_entity_id)).toEqual([notified])
    // What was not sent can be asked for.
    const { data } = (await one.ask('GET', `/v1/webhooks/${webhook_id}/deliveries?status=failed`)).body
    expect(data.map(({ attempts }: { attempts: { error: string }[] }) => attempts[0]!.error)).toEqual(
      Array(2).fill('Not sent: The RFC is no longer linked.'),
    )
    const again = await one.ask('POST', `/v1/webhooks/${webhook_id}/deliveries/redeliver`, { since: NOW, statuses: ['failed'] })
    expect(again.body.redelivered_count).toBe(2)
  })

  it('of a job that began before its RFC was unlinked is told once when it ends after the RFC is linked again', async () => {
    silenceQueues()
    const one = await fetching(['sat_cfdi_issued'], 1)
    const { entity, rfc, fiscal_entity_id } = await connected(one)
    beforeBatch('insert into "cfdi_commits"', async () => {
      wait(1)
      expect((await one.ask('DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)).status).toBe(204)
      wait(1)
      await connected(one, rfc)
    })
    for (let n = 0; n < 3; n++) {
      await drainNow(entity)
      await relayNow()
    }
    const notified = await monthsNotified(one)
    expect(notified).toHaveLength(2)
    expect(notified[0]!['created_count']).toBeGreaterThan(5)
    expect(await monthsListed(one, fiscal_entity_id)).toEqual(notified)
  })

  it('of a job that waited while its RFC was unlinked, and ran for others, is told once it has run after the RFC is linked again', async () => {
    silenceQueues()
    const [one, other] = [await fetching(['sat_cfdi_issued'], 1), await fetching(['sat_cfdi_issued'], 1)]
    const { entity, rfc, fiscal_entity_id } = await connected(one)
    await connected(other, rfc)
    expect((await one.ask('DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)).status).toBe(204)
    wait(1)
    await drainNow(entity)
    await relayNow()
    expect(await monthsNotified(other)).toHaveLength(2)
    wait(60)
    await connected(one, rfc)
    expect(await monthsNotified(one)).toEqual([])
    expect(await monthsListed(one, fiscal_entity_id)).toEqual([])
    for (let n = 0; n < 3; n++) {
      await drainNow(entity)
      await relayNow()
    }
    const notified = await monthsNotified(one)
    expect(notified).toHaveLength(2)
    expect(notified[0]!['created_count']).toBeGreaterThan(5)
    expect(await monthsListed(one, fiscal_entity_id)).toEqual(notified)
    expect(await monthsNotified(other)).toHaveLength(2)
  })

  it('is told as well, once, to whose run finds the job done', async () => {
    silenceQueues()
    const [first, late] = [await fetching(['sat_csf']), await fetching(['sat_csf'])]
    const { rfc, entity } = await connected(first)
    await drainNow(entity)
    // In the same instant, as two runs of one midnight: what is done is not done again.
    await connected(late, rfc)
    await drainNow(entity)
    wait(11 * 60)
    await drainNow(entity)
    const [facts, jobs] = [await factsOf(entity, 'sync.completed'), await jobsOf(entity)]
    expect(jobs).toHaveLength(2)
    for (const { job_id, source } of jobs) {
      const notified = facts.filter(({ body }) => body['job_id'] === job_id && body['data_source_key'] === source)
      expect(notified.map(({ organizations }) => organizations)).toEqual([[first.id], [late.id]])
      expect(notified[1]!.body).toEqual(notified[0]!.body)
      expect(notified[0]!.body).toMatchObject({ data_source_key: source, completed_at: Date.parse(NOW) })
    }
  })

  it('is told with the job’s end or not at all', async () => {
    silenceQueues()
    const of = await fetching(['sat_csf'])
    const { entity } = await connected(of)
    beforeBatch(SETTLING, 'spoil')
    await drainNow(entity)
    const failed = (await jobsOf(entity)).filter(({ status }) => status === 'queued')
    expect(failed).toMatchObject([{ attempts: 1, error_class: 'internal_error' }])
    expect(await factsOf(entity, 'sync.')).toHaveLength(1)
    wait(5)
    await drainNow(entity)
    expect((await jobsOf(entity)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    expect((await factsOf(entity, 'sync.')).map(({ body }) => body['attempts']).sort()).toEqual([1, 2])
  })

  it('counts all that came for it, also when another worker held the job before', async () => {
    silenceQueues()
    const of = await fetching(['sat_cfdi_issued'])
    const { entity } = await connected(of)
    const released = Promise.withResolvers<void>()
    let second: Promise<void> | undefined
    watchAuthority(async (_, source, month) => {
      if (source !== 'sat_cfdi_issued' || month !== '2026-03') return
      if (second) return released.promise
      // The first worker stalls beyond its lease before anything is written; the second has claimed the job when the first goes on.
      wait(31)
      second = drainNow(entity)
      // A worker that takes over claims each job by itself.
      await vi.waitUntil(async () => (await jobsOf(entity)).some(({ status }) => status === 'running'))
    })
    await drainNow(entity)
    // It lost its claim and wrote nothing: no document, no fact.
    expect(await leasedOf(entity, 'sat_cfdi_issued', '2026-03')).toMatchObject({ created_count: 0 })
    expect((await factsOf(entity, 'sync.')).map(({ body }) => body['data_source_key'])).toEqual(['sat_miinformacion'])
    released.resolve()
    await second
    const march = (await factsOf(entity, 'sync.completed')).filter(({ body }) => body['period'] === '2026-03')
    expect(march).toHaveLength(1)
    const job = { entity, source: 'sat_cfdi_issued', month: '2026-03', job_id: march[0]!.body['job_id'] as string }
    expect(march[0]!.body).toMatchObject({ attempts: 1 })
    expect(await countsOf(of.id, job)).toMatchObject((await leasedOf(entity, job.source, job.month))!)
  })
})

describe('sync.failed', () => {
  it.each([
    ['unavailable1', 'sat_unavailable'],
    ['limited1', 'rate_limited'],
  ])('%s: is told once, when no attempt is left, with the class %s', async (ciec, error_class) => {
    silenceQueues()
    const of = await fetching(['sat_csf'])
    const { entity } = await connected(of, undefined, ciec)
    for (let attempt = 1; attempt <= 12; attempt++) {
      expect(await factsOf(entity, 'sync.')).toEqual([])
      await drainNow(entity)
      // Nothing is tried before its wait is over.
      await drainNow(entity)
      expect(await jobsOf(entity)).toMatchObject(
        Array(2).fill({ attempts: attempt, error_class, status: attempt < 12 ? 'queued' : 'failed' }),
      )
      wait(15 * 60)
    }
    await drainNow(entity)
    const facts = await factsOf(entity, 'sync.')
    expect(facts.map(({ outbox_event_id }) => outbox_event_id)).toEqual(
      (await jobsOf(entity)).map(({ source, month, job_id }) => `sync.failed:${entity}:${source}:${month}:${job_id}`),
    )
    for (const { organizations, body } of facts) {
      expect(organizations).toEqual([of.id])
      expect(body).toMatchObject({ error_class, attempts: 12 })
      const job = { entity, source: body['data_source_key'], month: '', job_id: body['job_id'] }
      expect(await countsOf(of.id, job)).toMatchObject({ created_count: 0, first_issued_at: null })
    }
    // The next run that covers it tries again, as a job of its own.
    await runNow(of)
    expect((await jobsOf(entity)).map(({ status }) => status)).toEqual(['failed', 'failed', 'queued', 'queued'])
  })
})

describe('messages', () => {
  const deliver = async (purpose: string, bodies: readonly unknown[]): Promise<void> => {
    const messages = bodies.map((body, n) => ({ id: `m${n}`, timestamp: new Date(), attempts: 1, body }))
    await consume(createMessageBatch(`fiscal-local-${purpose}`, messages), env)
  }

  it('of downloads that come twice, at once, in any order and late, change nothing that was done', async () => {
    const sent = silenceQueues()
    const of = await fetching(['sat_cfdi_received', 'sat_csf'])
    const entities = [await connected(of), await connected(of)].map(({ entity }) => entity)
    // The relay is called as well: by messages of another queue.
    const due = () => sent.splice(0).filter((message) => 'entity' in (message as object))
    const calls = due()
    expect(calls).toEqual(entities.map((entity) => ({ shard: 0, entity })))
    await deliver('downloads', [...calls, ...calls.toReversed()])
    for (let next = due(); next.length > 0; next = due()) await deliver('downloads', next)
    const everything = await dump()
    for (const entity of entities) {
      const jobs = await jobsOf(entity)
      expect(jobs.map(({ status, attempts }) => [status, attempts])).toEqual(Array(4).fill(['succeeded', 1]))
      expect(await factsOf(entity, 'sync.')).toHaveLength(4)
    }
    wait(3_600)
    await deliver('downloads', [...calls.toReversed(), ...calls])
    await deliver('downloads-spread', calls)
    const runs = await env.DB.prepare('select run_id from runs where organization_id = ?').bind(of.id).all<{ run_id: string }>()
    await deliver('dispatch', [
      { runs: runs.results.map(({ run_id }) => run_id) },
      { page: { timezone: 'America/Mexico_City', day: '2026-03-15', cadence: 'daily' } },
    ])
    // Who is sent away from an RFC that is being worked on has it called again, which ends.
    for (let next = due(); next.length > 0; next = due()) await deliver('downloads', next)
    expect(await dump()).toBe(everything)
  })
})
