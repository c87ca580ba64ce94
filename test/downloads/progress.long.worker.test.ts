import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { systemOf } from '../../src/platform/context.ts'
import { clock } from '../../src/platform/time/clock.ts'
import { pagesOf } from '../delivery/support/feed.ts'
import { restore } from '../support/clock.ts'
import { freshRfc, organization } from '../support/tenants.ts'
import { callOf, cfdiOf, later, ledgerOf, losingMessages, subscriber, work } from './support/downloads.ts'

const ISSUED = 'sat_cfdi_issued'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any

/** An instant, so many seconds after the test began. */
const instant = (seconds: number): string => new Date(Date.parse('2026-05-20T09:00:00Z') + seconds * 1_000).toISOString()

const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const finished = async (one: Subscriber): Promise<Notified[]> =>
  (await pagesOf<Notified>(one, '/v1/events?limit=100&event_key=sync.completed')).items
const documentsOf = async (one: Subscriber, source = 'sat_csf') =>
  (await one.ask('GET', `${one.path}/documents?data_source_key=${source}`)).body.data as {
    document_id: string
    created_at: string
    name: string
  }[]

describe('a job that several organizations share', () => {
  it('has an identifier for each of them, the same in the list and in its event', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, cfdiOf(1))]
    await first.run()
    await second.run()
    await work(rfc)
    await relay(rfc)
    const lists = await Promise.all([first, second].map((one) => one.jobs()))
    const ids = lists.map((jobs) => jobs.map(({ job_id }) => job_id))
    const events = await Promise.all([first, second].map(finished))
    expect(events.map((all) => all.map(({ job_id }) => job_id).sort())).toEqual(ids.map((all) => all.toSorted()))
    const { results } = await (await ledgerOf(rfc)).prepare('select job_id from sync_jobs').all<{ job_id: string }>()
    const stored = results.map(({ job_id }) => job_id)
    expect(new Set([...ids.flat(), ...stored]).size).toBe(2 * ids[0]!.length + new Set(stored).size)
    // The identifier of a run tells its time; that of a shown job tells nothing.
    for (const id of ids.flat()) expect(id).toMatch(/^job_[0-9a-z]{26}$/)
  })

  it('tells of no attempt, failure, wait or time from before the organization joined it', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1), 'unavailable1'), await subscriber(rfc, cfdiOf(1), 'unavailable1')]
    await first.run()
    for (const seconds of [0, 5, 15, 35]) {
      later(seconds)
      await work(rfc)
    }
    later(40)
    await second.run()
    const before = { status: 'queued', attempts: 0, error_class: null, next_attempt_at: null, started_at: null, finished_at: null }
    const [ofFirst, ofSecond] = [await first.jobs(), await second.jobs()]
    expect(ofSecond.length).toBeGreaterThan(4)
    for (const job of ofSecond) expect(job).toMatchObject({ ...before, created_at: instant(40) })
    const waiting = { status: 'waiting', attempts: 4, error_class: 'sat_unavailable', next_attempt_at: instant(75) }
    for (const job of ofFirst) expect(job).toMatchObject({ ...waiting, created_at: instant(0), started_at: instant(0) })
    // What happens from then on, it is told of.
    later(75)
    await work(rfc)
    for (const job of await second.jobs())
      expect(job).toMatchObject({ attempts: 1, error_class: 'sat_unavailable', next_attempt_at: instant(155), started_at: instant(40) })
    await second.give('secreta1')
    later(155)
    await work(rfc)
    const done = { status: 'succeeded', error_class: null, next_attempt_at: null, finished_at: instant(155) }
    for (const job of await second.jobs())
      expect(job).toMatchObject({ ...done, attempts: 2, created_at: instant(40), started_at: instant(40) })
    for (const job of await first.jobs())
      expect(job).toMatchObject({ ...done, attempts: 6, created_at: instant(0), started_at: instant(0) })
  })

  it('that is found finished began and ended with the run that found it', async () => {
    const rfc = freshRfc()
    const sources = cfdiOf(1, { data_source_keys: [ISSUED, 'sat_csf'] })
    const [first, second] = [await subscriber(rfc, sources), await subscriber(rfc, sources)]
    await first.run()
    later(3)
    await work(rfc)
    // Another run of the same instant, dispatched later.
    later(30)
    const asked = vi.spyOn(clock, 'date').mockReturnValue(new Date(instant(0)))
    await second.run()
    asked.mockRestore()
    later(60)
    await relay(rfc)
    for (const job of await second.jobs())
      expect(job).toMatchObject({ attempts: 1, created_at: instant(30), started_at: instant(30), finished_at: instant(30) })
    expect(await second.sync()).toMatchObject({ last_success_at: instant(30) })
    expect(await first.sync()).toMatchObject({ last_success_at: instant(3) })
    const documents = await Promise.all([first, second].map((one) => documentsOf(one)))
    expect(documents.map((all) => all.map(({ created_at }) => created_at))).toEqual([[instant(3)], [instant(30)]])
    const [ofFirst, ofSecond] = [await finished(first), await finished(second)]
    expect(new Set(ofFirst.map(({ completed_at }) => completed_at))).toEqual(new Set([instant(3)]))
    expect(new Set(ofSecond.map(({ completed_at }) => completed_at))).toEqual(new Set([instant(30)]))
  })

  it('counts what the window shows, as its event does', async () => {
    const rfc = freshRfc()
    const [wide, narrow] = [await subscriber(rfc, cfdiOf(2)), await subscriber(rfc, cfdiOf(1))]
    await wide.run()
    await narrow.run()
    await work(rfc)
    await relay(rfc)
    let isTrimmed = false
    for (const one of [wide, narrow]) {
      const cfdi = (await pagesOf<Notified>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items
      const events = new Map((await finished(one)).map((event) => [event.job_id, event]))
      for (const { job_id, period, data_source_key, created_count, updated_count, cancelled_count, rejected_count } of await one.jobs()) {
        expect(events.get(job_id)).toMatchObject({ created_count, updated_count, cancelled_count })
        expect(rejected_count).toBe(0)
        if (period === null) continue
        const direction = data_source_key === ISSUED ? 'issued' : 'received'
        expect(created_count).toBe(cfdi.filter((it) => it.fecha.startsWith(period) && it.direction === direction).length)
      }
    }
    const { results } = await (await ledgerOf(rfc))
      .prepare("select month, source, created_count from sync_jobs where month <> ''")
      .all<{ month: string; source: string; created_count: number }>()
    const shown = await narrow.jobs()
    for (const { month, source, created_count } of results) {
      const own = shown.find((job) => job.period === month && job.data_source_key === source)
      if (own && own.created_count < created_count) isTrimmed = true
    }
    expect(isTrimmed).toBe(true)
  })

  it('of CFDIs that ends when the connection is no longer active counts nothing for its organization', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, cfdiOf(1))]
    await first.run()
    await second.run()
    expect((await second.ask('PATCH', second.path, { ciec: null })).body.status).toBe('invalid_ciec')
    await work(rfc)
    const counts = async (one: Subscriber) =>
      (await one.jobs()).filter(({ period }) => period !== null).map(({ created_count }) => created_count)
    expect(Math.max(...(await counts(first)))).toBeGreaterThan(0)
    expect(Math.max(...(await counts(second)))).toBe(0)
  })

  it('goes on for others while a connection is not active: what that one is shown stands still, and what it asked for is made up for', async () => {
    const rfc = freshRfc()
    const extractor = cfdiOf(1, { data_source_keys: [ISSUED, 'sat_csf'] })
    const [first, second] = [await subscriber(rfc, extractor, 'limited1'), await subscriber(rfc, extractor, 'secreta1')]
    await first.run()
    await second.run()
    expect((await second.ask('PATCH', second.path, { ciec: null })).body.status).toBe('invalid_ciec')
    const shown = async () => [
      (await second.jobs()).map(({ next_attempt_at: _, ...job }) => job),
      (await second.jobs('&status=waiting')).length,
      (await second.jobs('&status=running')).length,
      await second.sync(),
    ]
    const before = await shown()
    const notified = (one: Subscriber) => one.jobs().then((jobs) => jobs.map(({ status, attempts }) => `${status} ${attempts}`))
    // Attempts for the other fail, one is running, and in the end they succeed.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    later(60)
    await work(rfc)
    expect(await notified(first)).toContain('waiting 1')
    expect(await shown()).toEqual(before)
    const ledger = await ledgerOf(rfc)
    await ledger
      .prepare("update sync_work set token = 'worker', leased_at = 9e15, lease_until = 9e15 where entity = ?")
      .bind((await callOf(rfc)).entity)
      .run()
    expect((await first.sync()).jobs.running).toBe(4)
    expect(await shown()).toEqual(before)
    await ledger.prepare('update sync_work set token = null, leased_at = null, lease_until = null').run()
    await first.give('secreta2')
    later(3_600)
    await work(rfc)
    await relay(rfc)
    expect(await notified(first)).toEqual(Array(4).fill('succeeded 2'))
    expect(await shown()).toEqual(before)
    expect(await finished(second)).toEqual([])

    later(7_200)
    await second.give('secreta2')
    await work(rfc)
    await relay(rfc)
    const jobs = await second.jobs()
    const [was] = before as [Notified[]]
    expect(jobs.map(({ job_id, created_at }) => [job_id, created_at])).toEqual(was.map(({ job_id, created_at }) => [job_id, created_at]))
    for (const job of jobs)
      expect(job).toMatchObject({ status: 'succeeded', attempts: 1, started_at: instant(7_200), finished_at: instant(7_200) })
    // It gets what the other's download had brought, and its events under the identifiers that it knows.
    const events = await finished(second)
    const summary = ({ job_id, created_count }: Notified) => [job_id, created_count]
    expect(events.map(summary).sort()).toEqual(jobs.map(summary).sort())
    expect(jobs.map(({ created_count }) => created_count)).toEqual((await first.jobs()).map(({ created_count }) => created_count))
    expect((await documentsOf(second)).map(({ created_at }) => created_at)).toEqual([instant(7_200)])
    expect(await finished(first)).toHaveLength(4)
    expect((await second.sync()).status).toBe('idle')
    // Nothing is left over for another pass.
    const open = ledger.prepare('select count(*) as n from sync_jobs where entity = ? and open = 1').bind((await callOf(rfc)).entity)
    expect(await open.first()).toEqual({ n: 0 })
  })

  it('that fails for others fails for nobody who waits for a login', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1), 'limited1'), await subscriber(rfc, cfdiOf(1), 'secreta1')]
    await first.run()
    await second.run()
    await second.ask('PATCH', `/v1/billing/rfcs/${second.fiscal_entity_id}`, { active: false })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let n = 1; n <= 14; n++) {
      later(n * 1_200)
      await work(rfc)
    }
    await relay(rfc)
    expect(new Set((await first.jobs()).map(({ status }) => status))).toEqual(new Set(['failed']))
    expect(new Set((await second.jobs()).map(({ status }) => status))).toEqual(new Set(['waiting']))
    expect((await second.ask('GET', '/v1/events?event_key=sync.failed')).body.data).toEqual([])
    later(20_000)
    expect((await second.ask('PATCH', `/v1/billing/rfcs/${second.fiscal_entity_id}`, { active: true })).status).toBe(200)
    await work(rfc)
    expect(new Set((await second.jobs()).map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(new Set((await first.jobs()).map(({ status }) => status))).toEqual(new Set(['failed']))
  })

  it('is listed in the order of the organization’s own runs, with a cursor that names nothing else', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1), 'unavailable1'), await subscriber(rfc, cfdiOf(3), 'unavailable1')]
    const recent = await second.ask('POST', '/v1/extractors', { ...cfdiOf(1), name: 'Recent', trigger_kind: 'connection_reactivated' })
    // The oldest months were asked for by the other organization last, the newest first.
    await first.run()
    later(1)
    await second.run()
    later(2)
    await second.run(recent.body.extractor_id)
    const cells = (jobs: readonly { data_source_key: string; period: string | null }[]) =>
      jobs.map(({ data_source_key, period }) => `${data_source_key} ${period ?? ''}`)
    const months = ['2026-05', '2026-04', '2026-03', '2026-02']
    const expected = [ISSUED, 'sat_cfdi_received'].flatMap((source) => months.map((month) => `${source} ${month}`))
    const jobs = await second.jobs()
    expect(cells(jobs)).toEqual([...expected, 'sat_miinformacion '])
    const { body } = await second.ask('GET', `${second.path}/sync-jobs?limit=3`)
    const [cursor] = [JSON.parse(atob((body.next_cursor as string).split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/')))]
    const { results } = await env.DB.prepare('select run_id from runs where organization_id = ? order by run_id')
      .bind(second.id)
      .all<Notified>()
    expect(cursor).toEqual([results[0]!.run_id, ISSUED, '2026-03'])
  })
})

describe('a document that several organizations may read', () => {
  const CSF = cfdiOf(1, { data_source_keys: ['sat_csf'] })
  const DAY = 86_400

  it('came to each of them with a run of its own', async () => {
    const rfc = freshRfc()
    const [first, joins, finds] = [await subscriber(rfc, CSF), await subscriber(rfc, CSF), await subscriber(rfc, CSF)]
    await first.run()
    later(10)
    await joins.run()
    later(20)
    await work(rfc)
    later(DAY)
    await finds.run()
    await work(rfc)
    const shown = await Promise.all([first, joins, finds].map((one) => documentsOf(one)))
    expect(shown.map((all) => all.map(({ created_at }) => created_at))).toEqual([[instant(20)], [instant(20)], [instant(DAY)]])
    // Its identifier is made from its content and its own date.
    expect(new Set(shown.flat().map(({ document_id }) => document_id)).size).toBe(1)
    // Fetching it again changes nothing.
    later(2 * DAY)
    await first.run()
    await work(rfc)
    expect(await Promise.all([first, joins, finds].map((one) => documentsOf(one)))).toEqual(shown)
  })

  it('is not shown in a version that only a later run of another fetched', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, CSF), await subscriber(rfc, CSF)]
    await first.run()
    await second.run()
    await work(rfc)
    // The certificate of another month.
    later(31 * DAY)
    await first.run()
    await work(rfc)
    const [ofFirst, ofSecond] = [await documentsOf(first), await documentsOf(second)]
    expect(ofFirst).toHaveLength(2)
    expect(ofSecond).toEqual([{ ...ofFirst[1], is_latest: true }])
    const path = `${second.path}/documents/${ofFirst[0]!.document_id}/content`
    expect((await second.ask('GET', path)).status).toBe(404)
    later(32 * DAY)
    await second.run()
    await work(rfc)
    expect(await documentsOf(second)).toEqual([{ ...ofFirst[0], created_at: instant(32 * DAY) }, ofFirst[1]])
  })

  it('came not before its first activation to an organization without extractors, which sees all', async () => {
    const rfc = freshRfc()
    const first = await subscriber(rfc, CSF)
    await first.run()
    await work(rfc)
    later(100)
    const all = await organization('enterprise_gold')
    const { body } = await all.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })
    const read = async () =>
      (await all.ask('GET', `/v1/fiscal-entities/${body.fiscal_entity_id}/documents?data_source_key=sat_csf`)).body.data
    expect((await read()).map(({ created_at }: Notified) => created_at)).toEqual([instant(100)])
    later(31 * DAY)
    await first.run()
    await work(rfc)
    expect((await read()).map(({ created_at }: Notified) => created_at)).toEqual([instant(31 * DAY), instant(100)])
  })
})
