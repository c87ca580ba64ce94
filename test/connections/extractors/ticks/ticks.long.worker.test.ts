import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Extractor } from '../../../../src/connections/extractors/contract.ts'
import { at } from '../../../support/clock.ts'
import { runs } from '../../../support/fuzz.ts'
import { connect, type Organization, organization, synced } from '../../../support/tenants.ts'
import { created, draft, EXTRACTORS, listed, monthly, scheduled, weekly } from '../support/extractors.ts'
import { Clockwork, datesOf, daysAfter, forget, runsOf } from '../support/ticks.ts'

beforeEach(forget)
afterEach(() => {
  vi.useRealTimers()
})

const patch = async (of: Organization, { extractor_id }: Extractor, changes: object): Promise<Extractor> =>
  (await of.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, changes)).body

const QUARTER = 900_000
const HOUR = 3_600_000

/** Every quarter of an hour from one instant to another, as the cron comes. */
async function everyQuarter(clockwork: Clockwork, from: string, to: string): Promise<void> {
  for (let time = Date.parse(from); time <= Date.parse(to); time += QUARTER) await clockwork.pass(new Date(time).toISOString())
}

describe('a tick', () => {
  it('that is repeated, or comes several times at once, runs an extractor once: the customer’s RFC is not asked for twice', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    const extractors = [await created(acme, scheduled), await created(acme, scheduled)]
    const clockwork = new Clockwork()
    await Promise.all([1, 2, 3, 4, 5].map(() => clockwork.tick('2026-11-19T06:00:00Z')))
    await clockwork.tick('2026-11-19T06:00:00Z')
    await clockwork.settle()
    await clockwork.pass('2026-11-19T06:00:00Z')
    await clockwork.pass('2026-11-19T06:15:00Z')
    for (const { extractor_id, next_run_at } of extractors) {
      expect(next_run_at).toBe('2026-11-19T06:00:00.000Z')
      expect(await runsOf(acme, extractor_id)).toEqual([
        expect.objectContaining({ trigger: 'schedule', local_date: '2026-11-19', started_at: next_run_at, status: 'no_connections' }),
      ])
    }
    expect((await listed(acme)).map(({ next_run_at }) => next_run_at)).toEqual(['2026-11-20T06:00:00.000Z', '2026-11-20T06:00:00.000Z'])
  })

  it('that comes after days without one runs what it missed once, for the last of its dates, and not what fell due on none', async () => {
    at('2026-11-02T18:00:00Z')
    const acme = await organization()
    const [daily, everyWeek, firstMonday] = [await created(acme, scheduled), await created(acme, weekly), await created(acme, monthly)]
    const clockwork = new Clockwork()
    await clockwork.pass('2026-11-20T15:00:00Z')
    expect(await runsOf(acme, daily.extractor_id)).toEqual([
      expect.objectContaining({ local_date: '2026-11-20', started_at: '2026-11-20T15:00:00.000Z' }),
    ])
    expect(await datesOf(acme, everyWeek.extractor_id)).toEqual(['2026-11-16'])
    expect(await datesOf(acme, firstMonday.extractor_id)).toEqual([])
    expect((await listed(acme)).map(({ next_run_at }) => next_run_at)).toEqual([
      '2026-11-21T06:00:00.000Z',
      '2026-11-23T06:00:00.000Z',
      '2026-12-07T06:00:00.000Z',
    ])
    await everyQuarter(clockwork, '2026-11-20T15:15:00Z', '2026-11-21T07:00:00Z')
    expect(await datesOf(acme, daily.extractor_id)).toEqual(['2026-11-20', '2026-11-21'])
  })

  it('that is delivered late, after a later one, changes nothing', async () => {
    at('2026-11-15T18:00:00Z')
    const acme = await organization()
    const { extractor_id } = await created(acme, scheduled)
    const clockwork = new Clockwork()
    await clockwork.pass('2026-11-20T06:00:00Z')
    const before = await runsOf(acme, extractor_id)
    for (const time of ['2026-11-19T06:00:00Z', '2026-11-16T06:00:00Z', '2026-11-20T05:45:00Z']) await clockwork.pass(time)
    expect(await runsOf(acme, extractor_id)).toEqual(before)
    await clockwork.pass('2026-11-21T06:00:00Z')
    expect(await datesOf(acme, extractor_id)).toEqual(['2026-11-20', '2026-11-21'])
  })

  it.each([
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'Asia/Kolkata',
    'Australia/Eucla',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Marquesas',
  ])('finds midnight in %s, which is no full hour of UTC: neither early nor an hour late', async (timezone) => {
    at('2026-11-18T18:07:00Z')
    const acme = await organization()
    const { extractor_id, next_run_at } = await created(acme, { ...scheduled, timezone })
    const clockwork = new Clockwork()
    await everyQuarter(clockwork, '2026-11-18T18:15:00Z', new Date(Date.parse(next_run_at!) - 900_000).toISOString())
    expect(await runsOf(acme, extractor_id)).toEqual([])
    await clockwork.pass(next_run_at!)
    expect(await runsOf(acme, extractor_id)).toEqual([expect.objectContaining({ started_at: next_run_at })])
  })

  it.each([
    ['Asia/Beirut', 'no midnight', ['2026-03-27T22:00:00.000Z', '2026-03-28T22:00:00.000Z', '2026-03-29T21:00:00.000Z']],
    ['America/Havana', 'no midnight', ['2026-03-07T05:00:00.000Z', '2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z']],
    ['America/Havana', 'two midnights', ['2026-10-31T04:00:00.000Z', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z']],
    ['Africa/Cairo', 'no midnight', ['2026-04-22T22:00:00.000Z', '2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z']],
    ['Africa/Cairo', 'its last hour twice', ['2026-10-28T21:00:00.000Z', '2026-10-29T22:00:00.000Z', '2026-10-30T22:00:00.000Z']],
  ] as const)('runs once a day in %s where a day has %s', async (timezone, _, midnights) => {
    at(new Date(Date.parse(midnights[0]) - 3_600_000).toISOString())
    const acme = await organization()
    const { extractor_id, next_run_at } = await created(acme, { ...scheduled, timezone })
    expect(next_run_at).toBe(midnights[0])
    const clockwork = new Clockwork()
    // Away from the midnights the cron of each third hour stands for all.
    const isNear = (time: number) => midnights.some((midnight) => Math.abs(time - Date.parse(midnight)) <= 2 * HOUR)
    for (let time = Date.parse(midnights[0]); time <= Date.parse(midnights[2]) + 3 * HOUR; time += QUARTER)
      if (isNear(time) || time % runs(3 * HOUR, QUARTER) === 0) await clockwork.pass(new Date(time).toISOString())
    expect((await runsOf(acme, extractor_id)).map(({ started_at }) => started_at).reverse()).toEqual(midnights)
    expect(new Set(await datesOf(acme, extractor_id)).size).toBe(3)
  })
})

describe('what is due', () => {
  it('is nothing of an extractor on the day it was saved, even when that day’s tick comes after', async () => {
    at('2026-11-18T05:59:59Z')
    const acme = await organization()
    const before = await created(acme, scheduled)
    at('2026-11-18T06:00:01Z')
    const after = await created(acme, scheduled)
    const clockwork = new Clockwork()
    await clockwork.pass('2026-11-18T06:15:00Z')
    expect([await datesOf(acme, before.extractor_id), await datesOf(acme, after.extractor_id)]).toEqual([['2026-11-18'], []])
    await clockwork.pass('2026-11-19T06:00:00Z')
    expect(await datesOf(acme, after.extractor_id)).toEqual(['2026-11-19'])
  })

  it('is no date twice when an extractor moves across the date line and back', async () => {
    at('2026-11-16T12:00:00Z')
    const acme = await organization()
    const extractor = await created(acme, { ...scheduled, timezone: 'Pacific/Kiritimati' })
    const clockwork = new Clockwork()
    await clockwork.pass('2026-11-17T10:00:00Z')
    expect(await datesOf(acme, extractor.extractor_id)).toEqual(['2026-11-18'])
    at('2026-11-17T10:30:00Z')
    // In Midway it is the 16th. It has run for the 18th, so the next date is the 19th, and that is what is promised.
    expect((await patch(acme, extractor, { timezone: 'Pacific/Midway' })).next_run_at).toBe('2026-11-19T11:00:00.000Z')
    await everyQuarter(clockwork, '2026-11-17T10:30:00Z', '2026-11-19T11:00:00Z')
    expect(await datesOf(acme, extractor.extractor_id)).toEqual(['2026-11-18', '2026-11-19'])
    at('2026-11-19T11:05:00Z')
    expect((await patch(acme, extractor, { timezone: 'Pacific/Kiritimati' })).next_run_at).toBe('2026-11-20T10:00:00.000Z')
    await everyQuarter(clockwork, '2026-11-19T11:15:00Z', '2026-11-20T11:00:00Z')
    expect(await datesOf(acme, extractor.extractor_id)).toEqual(['2026-11-18', '2026-11-19', '2026-11-21'])
  })

  it('is a date that was promised when the schedule changes before its tick has come; a minute later it runs, once', async () => {
    at('2026-11-16T18:00:00Z')
    const acme = await organization()
    const extractors = [await created(acme, scheduled), await created(acme, scheduled), await created(acme, scheduled)]
    const clockwork = new Clockwork()
    // The 17th began at 06:00 in Mexico City; the cron is late.
    at('2026-11-17T06:05:00Z')
    const [moved, changed, disabled] = extractors as [Extractor, Extractor, Extractor]
    expect((await patch(acme, moved, { timezone: 'Asia/Tokyo' })).next_run_at).toBe('2026-11-17T15:00:00.000Z')
    expect((await patch(acme, changed, weekly)).next_run_at).toBe('2026-11-24T06:00:00.000Z')
    expect((await patch(acme, disabled, { timezone: 'Asia/Tokyo', is_enabled: false })).next_run_at).toBeNull()
    await clockwork.sweep('2026-11-17T06:06:00Z')
    await clockwork.settle()
    await clockwork.pass('2026-11-17T06:15:00Z')
    const dates = async () => [await datesOf(acme, moved.extractor_id), await datesOf(acme, changed.extractor_id)]
    expect(await dates()).toEqual([['2026-11-17'], ['2026-11-17']])
    expect(await runsOf(acme, moved.extractor_id)).toMatchObject([{ trigger: 'schedule', started_at: '2026-11-17T06:05:00.000Z' }])
    expect(await runsOf(acme, disabled.extractor_id)).toEqual([])
    // Another change finds the date done.
    at('2026-11-17T06:20:00Z')
    await patch(acme, changed, scheduled)
    await clockwork.pass('2026-11-17T15:00:00Z')
    expect(await dates()).toEqual([['2026-11-17', '2026-11-18'], ['2026-11-17']])
  })

  it('is nothing of an extractor that is disabled or deleted; enabled again, it goes on in the same grid', async () => {
    at('2026-11-02T18:00:00Z')
    const acme = await organization()
    const [paused, gone, kept] = [await created(acme, weekly), await created(acme, weekly), await created(acme, weekly)]
    const clockwork = new Clockwork()
    at('2026-11-05T18:00:00Z')
    expect((await patch(acme, paused, { is_enabled: false })).next_run_at).toBeNull()
    await acme.ask('DELETE', `${EXTRACTORS}/${gone.extractor_id}`)
    for (let day = 6; day < 18; day += 1) await clockwork.pass(`${daysAfter('2026-11-01', day - 1)}T06:00:00Z`)
    expect([await datesOf(acme, paused.extractor_id), await datesOf(acme, kept.extractor_id)]).toEqual([[], ['2026-11-09', '2026-11-16']])
    at('2026-11-17T18:00:00Z')
    expect((await patch(acme, paused, { is_enabled: true })).next_run_at).toBe('2026-11-23T06:00:00.000Z')
    await everyQuarter(clockwork, '2026-11-17T18:15:00Z', '2026-11-18T18:00:00Z')
    for (let day = 18; day < 25; day += 1) await clockwork.pass(`2026-11-${day}T06:00:00Z`)
    expect(await datesOf(acme, paused.extractor_id)).toEqual(['2026-11-23'])
  })

  it('stays where it was after a run by hand', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    await connect(acme.owner, undefined, { data_source_keys: ['sat_csf'] })
    const daily = await created(acme, scheduled)
    const clockwork = new Clockwork()
    at('2026-11-19T05:59:00Z')
    expect((await acme.ask('POST', `${EXTRACTORS}/${daily.extractor_id}/run`)).body.status).toBe('dispatched')
    expect((await listed(acme))[0]).toMatchObject({ next_run_at: daily.next_run_at, last_run_at: '2026-11-19T05:59:00.000Z' })
    await clockwork.pass('2026-11-19T06:00:00Z')
    expect((await runsOf(acme, daily.extractor_id)).map(({ trigger, local_date }) => [trigger, local_date])).toEqual([
      ['schedule', '2026-11-19'],
      ['manual', null],
    ])
    expect((await listed(acme))[0]).toMatchObject({ next_run_at: '2026-11-20T06:00:00.000Z', last_run_at: '2026-11-19T06:00:00.000Z' })
  })
})

describe('the list of runs', () => {
  it('says of each what started it, when, and what came of it; a page at a time, newest first', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    const daily = await created(acme, scheduled)
    const { fiscal_entity_id } = await connect(acme.owner, undefined, { data_source_keys: ['sat_csf'] })
    await synced(acme.owner, fiscal_entity_id)
    at('2026-11-18T18:20:00Z')
    await acme.ask('POST', `${EXTRACTORS}/${daily.extractor_id}/run`)
    await synced(acme.owner, fiscal_entity_id)
    await new Clockwork().pass('2026-11-19T06:00:00Z')
    const common = {
      run_id: expect.any(String),
      extractor_id: daily.extractor_id,
      fiscal_entity_id: null,
      status: 'dispatched',
      connections: 1,
      gap_jobs: 0,
    }
    const expected = [
      { ...common, trigger: 'schedule', local_date: '2026-11-19', started_at: '2026-11-19T06:00:00.000Z', dispatched: 1 },
      { ...common, trigger: 'manual', local_date: null, started_at: '2026-11-18T18:20:00.000Z', dispatched: 1 },
      {
        ...common,
        fiscal_entity_id,
        trigger: 'connection_created',
        local_date: null,
        started_at: '2026-11-18T18:00:00.000Z',
        dispatched: 1,
      },
    ]
    expect(await runsOf(acme, daily.extractor_id)).toEqual(expected)
    let path = `${EXTRACTORS}/${daily.extractor_id}/runs?limit=1`
    for (const run of expected) {
      const { body } = await acme.ask('GET', path)
      expect(body.data).toEqual([run])
      path = `${EXTRACTORS}/${daily.extractor_id}/runs?limit=1&cursor=${body.next_cursor}`
      expect(body.has_more).toBe(run !== expected.at(-1))
    }
  })

  it('is nobody else’s, and its cursor is for no other list', async () => {
    at('2026-11-18T18:00:00Z')
    const [acme, other] = [await organization(), await organization()]
    const [mine, theirs] = [await created(acme, scheduled), await created(other, draft)]
    const clockwork = new Clockwork()
    await clockwork.pass('2026-11-19T06:00:00Z')
    await clockwork.pass('2026-11-20T06:00:00Z')
    const { body } = await acme.ask('GET', `${EXTRACTORS}/${mine.extractor_id}/runs?limit=1`)
    expect(body.has_more).toBe(true)
    expect((await other.ask('GET', `${EXTRACTORS}/${mine.extractor_id}/runs`)).status).toBe(404)
    expect((await other.ask('GET', `${EXTRACTORS}/${theirs.extractor_id}/runs?cursor=${body.next_cursor}`)).status).toBe(400)
    expect((await acme.ask('GET', `${EXTRACTORS}/ext_1/runs`)).status).toBe(400)
    await acme.ask('DELETE', `${EXTRACTORS}/${mine.extractor_id}`)
    expect((await acme.ask('GET', `${EXTRACTORS}/${mine.extractor_id}/runs`)).status).toBe(404)
  })
})
