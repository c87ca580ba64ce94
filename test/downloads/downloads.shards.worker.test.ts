import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SandboxComprobante } from '../../src/authority/sandbox/world/comprobante.ts'
import { stampedAt } from '../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../src/authority/sandbox/world/month.ts'
import type { SyncJob } from '../../src/downloads/contract.ts'
import { created } from '../connections/extractors/support/extractors.ts'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import {
  bookOf,
  callOf,
  cfdiOf,
  deliver,
  jobsOf,
  later,
  ledgerOf,
  losingMessages,
  monthsOf,
  sinceWatermark,
  subscriber,
  work,
} from './support/downloads.ts'

let queue: ReturnType<typeof losingMessages>

beforeEach(() => {
  later(0)
  queue = losingMessages()
})

afterEach(restore)

const ISSUED = 'sat_cfdi_issued'
const RECEIVED = 'sat_cfdi_received'

describe('an RFC that several organizations connect', () => {
  it('is downloaded once: a run joins what is queued, and every window moves all the same', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(3)), await subscriber(rfc, cfdiOf(2))]
    expect(await first.run()).toMatchObject({ status: 'dispatched', connections: 1, dispatched: 1 })
    const ids = async () => (await jobsOf(rfc)).map(({ job_id }) => job_id)
    const jobs = await ids()
    later(60)
    expect(await second.run()).toMatchObject({ status: 'dispatched', connections: 1, dispatched: 0 })
    expect(await ids()).toEqual(jobs)
    expect(await first.entity()).toMatchObject({ visible_from: '2026-02-19', visible_to: '2026-05-20T09:00:00.000Z' })
    expect(await second.entity()).toMatchObject({ visible_from: '2026-03-21', visible_to: '2026-05-20T09:01:00.000Z' })
    await work(rfc)
    expect((await jobsOf(rfc)).every(({ status, attempts }) => status === 'succeeded' && attempts === 1)).toBe(true)
    for (const one of [first, second]) expect(await one.sync()).toMatchObject({ status: 'idle', percent: 100, jobs: { failed: 0 } })
    // The joined run's jobs are its own in every count: four months of two sources here, three there, and the mandatory one.
    expect([(await first.sync()).jobs.total, (await second.sync()).jobs.total]).toEqual([9, 7])
  })

  it('has only what is missing queued by a run that reaches further', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, cfdiOf(3))]
    await first.run()
    expect(await second.run()).toMatchObject({ dispatched: 1 })
    const jobs = await jobsOf(rfc)
    for (const source of [ISSUED, RECEIVED]) expect(monthsOf(jobs, source)).toEqual(['2026-02', '2026-03', '2026-04', '2026-05'])
    expect(jobs).toHaveLength(9)
  })

  it('counts in connections and not in dispatched, beside one that is new', async () => {
    const [shared, own] = [freshRfc(), freshRfc()]
    const [first, second] = [await subscriber(shared, cfdiOf(1)), await subscriber(shared, cfdiOf(1))]
    await second.ask('POST', '/v1/fiscal-entities', { rfc: own, ciec: 'secreta1' })
    await first.run()
    expect(await second.run()).toMatchObject({ status: 'dispatched', connections: 2, dispatched: 1 })
  })

  it('is not fetched again for the same instant, and is for a later one', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, cfdiOf(1))]
    await first.run()
    await work(rfc)
    const count = (await jobsOf(rfc)).length
    expect(await second.run()).toMatchObject({ connections: 1, dispatched: 0 })
    expect(await jobsOf(rfc)).toHaveLength(count)
    expect((await second.page()).body.data).not.toHaveLength(0)
    later(601)
    expect(await second.run()).toMatchObject({ dispatched: 1 })
    expect(await jobsOf(rfc)).toHaveLength(2 * count)
  })

  it('shows its documents to each whose run fetched or joined them, and to nobody else', async () => {
    const rfc = freshRfc()
    const csf = cfdiOf(1, { data_source_keys: ['sat_csf'] })
    const [first, joins, stays] = [await subscriber(rfc, csf), await subscriber(rfc, csf), await subscriber(rfc, cfdiOf(1))]
    await first.run()
    await joins.run()
    await work(rfc)
    const csfOf = async (one: typeof first) => (await one.ask('GET', `${one.path}/documents?data_source_key=sat_csf`)).body.data.length
    expect([await csfOf(first), await csfOf(joins), await csfOf(stays)]).toEqual([1, 1, 0])
  })
})

describe('documents that were fetched already for the instant of a run', () => {
  // Known defect: such a run joins no open job, and only open jobs hand their documents on. All organizations' daily extractors tick
  // at one instant, so all but the first to run would miss the RFC's certificate of that day. When this passes, make it an `it`.
  it('are seen by the organization whose run it is', async () => {
    const rfc = freshRfc()
    const csf = cfdiOf(1, { data_source_keys: ['sat_csf'] })
    const [first, second] = [await subscriber(rfc, csf), await subscriber(rfc, csf)]
    await first.run()
    await work(rfc)
    await second.run()
    await work(rfc)
    expect((await second.ask('GET', `${second.path}/documents?data_source_key=sat_csf`)).body.data).toHaveLength(1)
  })
})

describe('since_watermark', () => {
  const early = (day: string) => vi.setSystemTime(`2018-${day}T12:00:00Z`)
  const newest = async (rfc: string, before: number, source: string) => {
    const { results } = await (await ledgerOf(rfc))
      .prepare('select source, month from sync_jobs where entity = ? order by job_id')
      .bind((await callOf(rfc)).entity)
      .all<{ source: string; month: string }>()
    return results
      .slice(before)
      .filter((job) => job.source === source)
      .map(({ month }) => month)
      .sort()
  }

  it('begins with all of history, and goes on from the last range that succeeded', async () => {
    early('04-10')
    const rfc = freshRfc()
    const one = await subscriber(rfc, sinceWatermark())
    await one.run()
    expect(monthsOf(await jobsOf(rfc), ISSUED)).toEqual(['2018-01', '2018-02', '2018-03', '2018-04'])
    await work(rfc)
    early('06-02')
    const before = (await jobsOf(rfc)).length
    await one.run()
    for (const source of [ISSUED, RECEIVED]) expect(await newest(rfc, before, source)).toEqual(['2018-04', '2018-05', '2018-06'])
    expect(await one.entity()).toMatchObject({ visible_from: '2018-01-01', visible_to: '2018-06-02T12:00:00.000Z' })
  })

  it('brings what was stamped late, as each month is downloaded once more when 72 hours have passed since its end', async () => {
    // March ends at 08:00 UTC on 1 April in the west of Mexico: 3 hours later some of its documents are not stamped yet.
    const isLate = (document: SandboxComprobante) => stampedAt(document) > '2018-04-01T05:00:00'
    const rfc = Array.from({ length: 400 }, () => freshRfc()).find((one) => documentsOf(one, 'issued', '2018-03').some(isLate))!
    const late = documentsOf(rfc, 'issued', '2018-03')
      .filter(isLate)
      .map(({ uuid }) => uuid)
    vi.setSystemTime('2018-04-01T11:00:00Z')
    const one = await subscriber(rfc, sinceWatermark({ data_source_keys: [ISSUED] }))
    const stored = async () => ((await bookOf(rfc, ['cfdi']))['cfdi'] as { uuid: string }[]).map(({ uuid }) => uuid)
    const status = async () => {
      const { body } = await one.ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${one.fiscal_entity_id}&from=2018-03&to=2018-03`)
      return body.data.map(({ data_status }: { data_status: string }) => data_status)
    }
    await one.run()
    await work(rfc)
    for (const uuid of late) expect(await stored()).not.toContain(uuid)
    expect(await status()).toEqual(['complete'])
    const days: [string, string[]][] = [
      ['2018-04-04T11:00:00Z', ['2018-03', '2018-04']],
      ['2018-04-05T11:00:00Z', ['2018-04']],
    ]
    for (const [day, months] of days) {
      vi.setSystemTime(day)
      const before = (await jobsOf(rfc)).length
      await one.run()
      expect(await newest(rfc, before, ISSUED)).toEqual(months)
      await work(rfc)
      expect(await stored()).toEqual(expect.arrayContaining(late))
      expect(await status()).toEqual(['complete'])
    }
  })

  it('is each source’s and each organization’s own', async () => {
    early('04-10')
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, sinceWatermark()), await subscriber(rfc, sinceWatermark())]
    const { extractor_id } = await created(one, cfdiOf(1, { data_source_keys: [ISSUED] }))
    await one.run(extractor_id)
    await work(rfc)
    early('05-10')
    let before = (await jobsOf(rfc)).length
    await one.run()
    // Of issued ones one month was asked for, so far back only the watermark goes; received ones were never asked for.
    expect(await newest(rfc, before, ISSUED)).toEqual(['2018-04', '2018-05'])
    expect(await newest(rfc, before, RECEIVED)).toEqual(['2018-01', '2018-02', '2018-03', '2018-04', '2018-05'])
    await work(rfc)
    early('05-20')
    before = (await jobsOf(rfc)).length
    await other.run()
    for (const source of [ISSUED, RECEIVED])
      expect(await newest(rfc, before, source)).toEqual(['2018-01', '2018-02', '2018-03', '2018-04', '2018-05'])
  })

  it.each(['unavailable', 'interrupted'])('does not pass a range that the authority left open (%s)', async (scenario) => {
    early('02-10')
    const rfc = freshRfc()
    const one = await subscriber(rfc, sinceWatermark())
    await one.run()
    await work(rfc)
    early('03-10')
    await one.give(`${scenario}1`)
    const before = (await jobsOf(rfc)).length
    const stored = await bookOf(rfc, ['cfdi', 'cfdi_months'])
    await one.run()
    await work(rfc)
    expect(await bookOf(rfc, ['cfdi', 'cfdi_months'])).toEqual(stored)
    expect(await newest(rfc, before, ISSUED)).toEqual(['2018-02', '2018-03'])
    await one.give('secreta2')
    // What is open is joined and not doubled; that the window moved shows nothing that is not there.
    early('04-10')
    await one.run()
    expect(await newest(rfc, before, ISSUED)).toEqual(['2018-02', '2018-03', '2018-04'])
    await work(rfc)
    expect((await jobsOf(rfc)).every(({ status }) => status === 'succeeded')).toBe(true)
    early('04-20')
    const after = (await jobsOf(rfc)).length
    await one.run()
    expect(await newest(rfc, after, ISSUED)).toEqual(['2018-04'])
    await work(rfc)
    const expected = ['2018-01', '2018-02', '2018-03'].flatMap((month) => documentsOf(rfc, 'issued', month))
    const found = (await bookOf(rfc, ['cfdi']))['cfdi'] as { uuid: string; direction: number; fecha: string; xml_object: string | null }[]
    const issued = found.filter(({ direction, fecha }) => direction === 0 && fecha < '2018-04')
    expect(issued.map(({ uuid }) => uuid).sort()).toEqual(expected.map(({ uuid }) => uuid).sort())
    expect(issued.every(({ xml_object }) => xml_object !== null)).toBe(true)
  })
})

describe('progress', () => {
  it('is told in jobs and percent, and is the organization’s own', async () => {
    const rfc = freshRfc()
    // Without documents, the budget of a message suffices for as many jobs as it may do.
    const [wide, narrow] = [await subscriber(rfc, cfdiOf(18), 'empty1'), await subscriber(rfc, cfdiOf(1), 'empty1')]
    expect(await wide.sync()).toMatchObject({ status: 'idle', percent: 100, jobs: { total: 0 }, last_success_at: null })
    await wide.run()
    await narrow.run()
    expect(await wide.sync()).toMatchObject({ status: 'running', percent: 0, jobs: { queued: 39, total: 39 } })
    expect(await narrow.sync()).toMatchObject({ status: 'running', percent: 0, jobs: { queued: 5, total: 5 } })
    queue.announced()
    await deliver([await callOf(rfc)])
    // A message does 25 jobs, and another one is sent for the rest. Newest months come first.
    expect(queue.announced()).toEqual([await callOf(rfc)])
    expect(await wide.sync()).toMatchObject({ status: 'running', percent: 64, jobs: { succeeded: 25, queued: 14, total: 39 } })
    await deliver([await callOf(rfc)])
    expect(queue.announced()).toEqual([])
    expect(await wide.sync()).toMatchObject({ status: 'idle', percent: 100, last_success_at: '2026-05-20T09:00:00.000Z' })
    expect(await narrow.sync()).toMatchObject({ status: 'idle', percent: 100, jobs: { succeeded: 5, total: 5 } })
  })

  it('lists jobs page by page, those of the newest run first, then by source and month, each once, and by status', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(4))
    await one.run()
    await work(rfc)
    later(700)
    await one.run()
    const jobs: SyncJob[] = []
    for (let cursor = ''; ; ) {
      const { body } = await one.ask('GET', `${one.path}/sync-jobs?limit=4${cursor}`)
      jobs.push(...body.data)
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    const months = ['2026-05', '2026-04', '2026-03', '2026-02', '2026-01']
    const cells = [...[ISSUED, RECEIVED].flatMap((source) => months.map((month) => [source, month])), ['sat_miinformacion', null]]
    const times = ['2026-05-20T09:11:40.000Z', '2026-05-20T09:00:00.000Z']
    expect(jobs.map(({ created_at, data_source_key, period }) => [created_at, data_source_key, period])).toEqual(
      times.flatMap((time) => cells.map(([source, month]) => [time, source, month])),
    )
    expect(new Set(jobs.map(({ job_id }) => job_id)).size).toBe(2 * 11)
    const [queued, succeeded] = [await one.jobs('&status=queued'), await one.jobs('&status=succeeded')]
    expect([queued.length, succeeded.length]).toEqual([11, 11])
    expect(succeeded.filter(({ period }) => period === null).map(({ data_source_key }) => data_source_key)).toEqual(['sat_miinformacion'])
    const created_count = succeeded.reduce((sum, job) => sum + job.created_count, 0)
    const { cfdi, documents } = await bookOf(rfc)
    const { visible_from } = await one.entity()
    const visible = (cfdi as { fecha: string }[]).filter(({ fecha }) => fecha.slice(0, 10) >= visible_from)
    expect(visible.length).toBeLessThan(cfdi!.length)
    expect(created_count).toBe(visible.length + documents!.length)
  })
})

describe('a second run over the same months', () => {
  it('writes nothing that a reader could notice, and puts nothing', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(3, { data_source_keys: [ISSUED, RECEIVED, 'sat_csf', 'sat_declaracion_mensual'] }))
    await one.run()
    await work(rfc)
    const book = await bookOf(rfc)
    expect(book['cfdi']!.length).toBeGreaterThan(100)
    // Nobody issues anything at three in the morning.
    later(660)
    const puts = vi.spyOn(Object.getPrototypeOf(env.FILES) as R2Bucket, 'put')
    await one.run()
    await work(rfc)
    expect((await one.jobs('&status=succeeded')).length).toBe(2 * 11)
    expect(await bookOf(rfc)).toEqual(book)
    expect(puts).not.toHaveBeenCalled()
  })
})
