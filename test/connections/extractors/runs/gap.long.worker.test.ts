import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Run } from '../../../../src/connections/extractors/runs/contract.ts'
import { breakingAt, callOf, cfdiOf, later, losingMessages, subscriber, sweep, work } from '../../../downloads/support/downloads.ts'
import { restore } from '../../../support/clock.ts'
import { freshRfc } from '../../../support/tenants.ts'
import { created } from '../support/extractors.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const DAY = 86_400
const ISSUED = { data_source_keys: ['sat_cfdi_issued'] }

const setActive = (one: Subscriber, active: boolean) => one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })
const runsOf = async (one: Subscriber, id = one.extractor_id): Promise<Run[]> =>
  (await one.ask('GET', `/v1/extractors/${id}/runs`)).body.data
const statusesOf = async (one: Subscriber, from: string) => {
  const { body } = await one.ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${one.fiscal_entity_id}&from=${from}&direction=issued`)
  return body.data.map(({ month, data_status }: { month: string; data_status: string }) => `${month.slice(2)} ${data_status}`)
}
const jobMonths = async (one: Subscriber, status: string) =>
  (await one.jobs(`&status=${status}`))
    .flatMap(({ data_source_key, period }) => (data_source_key === 'sat_cfdi_issued' && period !== null ? [period] : []))
    .sort()

/** Downloads from April 20 on, is paused on May 20, and is active again on a later day. */
async function away(days: number, extractor: object = ISSUED) {
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(1, extractor))
  await one.run()
  await work(rfc)
  later(3_600)
  await setActive(one, false)
  later(days * DAY)
  await setActive(one, true)
  return { rfc, one }
}

/** What breaks without it: a customer who did not pay for some months sees zeros for them for good. */
describe('a connection that is active again after longer than its extractors reach', () => {
  it('has the months of the gap queued beside the run, which counts them apart; its floor stays', async () => {
    // September 17 less 30 days is August 18: from May, of which only the first 20 days were downloaded, to July.
    const { rfc, one } = await away(120)
    expect(await jobMonths(one, 'queued')).toEqual(['2026-05', '2026-06', '2026-07', '2026-08', '2026-09'])
    const [run] = await runsOf(one)
    expect(run).toMatchObject({ trigger: 'connection_reactivated', connections: 1, dispatched: 1, gap_jobs: 3 })
    expect((await one.entity()).windows.sat_cfdi_issued.visible_from).toBe('2026-04-20')
    expect(await statusesOf(one, '2026-04')).toEqual([
      '26-04 complete',
      ...['26-05', '26-06', '26-07', '26-08', '26-09'].map((month) => `${month} downloading`),
    ])
    await work(rfc)
    expect((await statusesOf(one, '2026-04')).every((text: string) => text.endsWith(' complete'))).toBe(true)
    later(121 * DAY)
    await one.run()
    expect((await runsOf(one))[0]).toMatchObject({ trigger: 'manual', dispatched: 1, gap_jobs: 0 })
    expect(await jobMonths(one, 'queued')).toEqual(['2026-08', '2026-09'])
  })

  it('has no gap within the granted range, nor for what it never fetched, nor when it was never away', async () => {
    const { one } = await away(40)
    // June 29 less 30 days is May 30: the whole of May is downloaded with the run.
    expect((await runsOf(one))[0]).toMatchObject({ trigger: 'connection_reactivated', gap_jobs: 0 })
    const rfc = freshRfc()
    const lazy = await subscriber(rfc, cfdiOf(1, ISSUED))
    await lazy.run()
    later(240 * DAY)
    await lazy.run()
    expect((await runsOf(lazy))[0]).toMatchObject({ trigger: 'manual', gap_jobs: 0 })
    expect(await statusesOf(lazy, '2026-10')).toEqual(['26-10 missing', '26-11 missing', '26-12 downloading', '27-01 downloading'])
  })

  it('has one gap for each source and several extractors, and it is closed by whichever run comes first', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const other = await created(one, { ...cfdiOf(1, ISSUED), trigger_kind: 'connection_reactivated' })
    await one.run()
    await work(rfc)
    later(3_600)
    await setActive(one, false)
    later(120 * DAY)
    await setActive(one, true)
    const counts = [(await runsOf(one))[0]!, (await runsOf(one, other.extractor_id))[0]!].map(({ gap_jobs }) => gap_jobs)
    expect(counts).toEqual([6, 0])
    expect(await jobMonths(one, 'queued')).toEqual(['2026-05', '2026-06', '2026-07', '2026-08', '2026-09'])
  })

  it.each([
    ['before the jobs are requested', /insert into extractions/],
    ['before the windows widen', /issued_from = min/],
    ['before the outcome is recorded', /update runs set status/],
  ])('asks for the gap once, and tells of it, when the isolate ends %s', async (_, like) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    await one.run()
    await work(rfc)
    later(3_600)
    await setActive(one, false)
    later(120 * DAY)
    const broken = breakingAt(like)
    await setActive(one, true)
    expect(broken.happened()).toBe(true)
    expect((await runsOf(one))[0]).toMatchObject({ status: 'planned', gap_jobs: 0 })
    later(120 * DAY + 60)
    await sweep()
    expect((await runsOf(one))[0]).toMatchObject({ status: 'dispatched', dispatched: 1, gap_jobs: 3 })
    const { results } = await env.LEDGER_0.prepare(
      "select month, count(*) as n from sync_jobs where entity = ? and open = 1 and month <> '' group by 1",
    )
      .bind((await callOf(rfc)).entity)
      .all()
    expect(results.map(({ month, n }) => `${month} ${n}`)).toEqual(['2026-05 1', '2026-06 1', '2026-07 1', '2026-08 1', '2026-09 1'])
  })

  it('is told its own gap whatever others downloaded meanwhile: they have queued it, or have it already', async () => {
    const { rfc, one } = await away(1)
    const other = await subscriber(rfc, cfdiOf(5, ISSUED))
    await setActive(one, false)
    later(119 * DAY)
    await other.run()
    await work(rfc)
    later(120 * DAY)
    await setActive(one, true)
    expect((await runsOf(one))[0]).toMatchObject({ dispatched: 1, gap_jobs: 3 })
    expect((await statusesOf(one, '2026-06')).slice(0, 2)).toEqual(['26-06 downloading', '26-07 downloading'])
  })
})
