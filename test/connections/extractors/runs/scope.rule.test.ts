import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EARLIEST, gapStart, monthsOf, rangeOf, sweptMonths } from '../../../../src/connections/extractors/runs/scope.ts'
import { localDayOf } from '../../../../src/platform/time/calendar.ts'

const MEXICO = 'America/Mexico_City'
const now = new Date('2026-03-10T18:00:00Z')

describe('the range of a run', () => {
  it.each([
    ['full_history', null, MEXICO, null, '2018-01-01'],
    ['full_history', null, MEXICO, new Date('2026-01-01T00:00:00Z'), '2018-01-01'],
    ['last_n_months', 1, MEXICO, null, '2026-02-08'],
    ['last_n_months', 3, MEXICO, null, '2025-12-10'],
    ['last_n_months', 36, MEXICO, null, '2023-03-26'],
    ['last_n_months', 240, MEXICO, null, '2018-01-01'],
    ['last_n_months', 1, 'Pacific/Kiritimati', null, '2026-02-09'],
    ['since_watermark', null, MEXICO, null, '2018-01-01'],
    // Documents may be stamped 72 hours after they were issued.
    ['since_watermark', null, MEXICO, new Date('2026-03-09T18:00:00Z'), '2026-03-06'],
    ['since_watermark', null, MEXICO, new Date('2026-03-03T18:00:00Z'), '2026-02-28'],
    // 00:30 of the first in Tokyo is still February in Mexico.
    ['since_watermark', null, 'Asia/Tokyo', new Date('2026-03-03T15:30:00Z'), '2026-02-28'],
    ['since_watermark', null, 'Pacific/Midway', new Date('2026-03-04T08:00:00Z'), '2026-02-28'],
    // Midnight in Mexico City is ten at night in Tijuana, where documents of the month before were still issued 72 hours earlier.
    ['since_watermark', null, MEXICO, new Date('2026-03-04T07:59:59Z'), '2026-02-28'],
    ['since_watermark', null, MEXICO, new Date('2026-03-04T08:00:00Z'), '2026-03-01'],
    ['since_watermark', null, MEXICO, new Date('2017-06-01T00:00:00Z'), '2018-01-01'],
  ] as const)('of %s %s in %s with the watermark %s starts on %s', (scope, months, zone, watermark, from) => {
    expect(rangeOf(scope, months, now, zone, watermark)).toEqual({ from, to: now })
  })

  it('never starts before 2018, whatever the scope', () => {
    const scope = fc.constantFrom('full_history' as const, 'last_n_months' as const, 'since_watermark' as const)
    const watermark = fc.option(fc.date({ min: new Date('2015-01-01'), max: now, noInvalidDate: true }))
    fc.assert(
      fc.property(scope, fc.integer({ min: 1, max: 240 }), watermark, (kind, months, mark) => {
        const { from } = rangeOf(kind, kind === 'last_n_months' ? months : null, now, MEXICO, mark)
        expect(from >= EARLIEST && from <= localDayOf(now, MEXICO)).toBe(true)
      }),
    )
  })
})

describe('the months of a range', () => {
  it.each([
    ['2025-12-10', '2026-03-10T18:00:00Z', MEXICO, ['2025-12', '2026-01', '2026-02', '2026-03']],
    ['2026-03-10', '2026-03-10T18:00:00Z', MEXICO, ['2026-03']],
    // The first of the month in Tokyo, the last of the month before in Mexico.
    ['2026-03-10', '2026-03-31T16:00:00Z', 'Asia/Tokyo', ['2026-03', '2026-04']],
    // The last of the month in Midway, the first of the next in Mexico: documents with its date exist already.
    ['2026-03-10', '2026-04-01T08:00:00Z', 'Pacific/Midway', ['2026-03', '2026-04']],
    // Half past eleven on the last of the month in Mexico City is half past midnight on the first of the next in Cancun.
    ['2026-03-10', '2026-04-01T05:30:00Z', MEXICO, ['2026-03', '2026-04']],
    ['2026-03-10', '2026-04-01T04:59:59Z', MEXICO, ['2026-03']],
  ])('from %s to %s in %s are %s', (from, to, zone, months) => {
    expect(monthsOf({ from, to: new Date(to) }, zone)).toEqual(months)
  })

  it('are one hundred and twenty from 2018 to the end of 2027', () => {
    const months = monthsOf({ from: EARLIEST, to: new Date('2027-12-31T12:00:00Z') }, MEXICO)
    expect([months.length, new Set(months).size, months[0], months.at(-1)]).toEqual([120, 120, '2018-01', '2027-12'])
  })
})

describe('the gap before a range', () => {
  const active = new Date('2026-02-15T12:00:00Z')
  it.each([
    // Last extracted in November; the range begins in February.
    ['2025-11-20T18:00:00Z', active, '2026-02-08', '2025-11-17'],
    // Documents of October may still have been stamped, eight hours behind UTC and 72 hours late.
    ['2025-11-04T07:59:59Z', active, '2026-02-08', '2025-10-31'],
    ['2025-11-04T08:00:00Z', active, '2026-02-08', '2025-11-01'],
    ['2026-02-03T18:00:00Z', active, '2026-02-08', '2026-01-31'],
    // The month is downloaded whole with the range.
    ['2026-02-04T18:00:00Z', active, '2026-02-08', null],
    // It was active all the time, never extracted, or never active.
    ['2026-02-15T12:00:00Z', active, '2026-03-08', null],
    [null, active, '2026-02-08', null],
    ['2025-11-20T18:00:00Z', null, '2026-02-08', null],
  ])('after %s, active again since %s, with a range from %s, begins on %s', (ceiling, since, from, expected) => {
    expect(gapStart({ from, to: now }, ceiling === null ? null : new Date(ceiling), since)).toBe(expected)
  })
})

describe('the months that a run downloads again', () => {
  const HOUR = 3_600_000
  const range = (to: Date) => ({ from: '2025-12-10', to })

  it.each([
    // A run after the watermark, on the fifth: its range begins on the second.
    ['2026-03-05T18:00:00Z', '2026-03-02', ['2026-02']],
    // Eight hours behind UTC it is still the seventh.
    ['2026-03-08T07:59:59Z', '2026-03-05', ['2026-02']],
    ['2026-03-08T08:00:00Z', '2026-03-05', []],
    ['2026-03-05T18:00:00Z', '2026-02-28', []],
  ])('at %s, in a range from %s, are those of the last seven days, although the week is not new', (to, from, months) => {
    const an_hour_ago = new Date(Date.parse(to) - HOUR)
    for (const turn of [0, 1, 2, 3, 4, 5, 6].filter((n) => (Math.floor((Date.parse(to) - 9 * HOUR) / (24 * HOUR)) + n) % 7 !== 6))
      expect(sweptMonths({ from, to: new Date(to) }, '2023-03-26', an_hour_ago, turn)).toEqual(months)
    expect(sweptMonths({ from, to: new Date(to) }, '2026-03-01', an_hour_ago, 0)).toEqual([])
  })

  it('are, with a new week, those before its range, of the last thirteen, that the connection has reached', () => {
    const before = new Date(now.getTime() - 7 * 24 * HOUR)
    const months = ['2025-02', '2025-03', '2025-04', '2025-05', '2025-06', '2025-07', '2025-08', '2025-09', '2025-10', '2025-11']
    expect(sweptMonths(range(now), '2023-03-26', before, 0)).toEqual(months)
    expect(sweptMonths(range(now), '2025-09-15', before, 0)).toEqual(['2025-09', '2025-10', '2025-11'])
    expect(sweptMonths(range(now), '2025-12-10', before, 0)).toEqual([])
    expect(sweptMonths(range(now), null, null, 0)).toEqual([])
  })

  it('come with one run a week, whenever the runs are, and with none of a day twice', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 20, maxLength: 80 }),
        fc.integer({ min: 0, max: 6 }),
        (waits, turn) => {
          let since = now
          let swept = now.getTime()
          for (const wait of waits) {
            const to = new Date(since.getTime() + wait * HOUR)
            if (sweptMonths(range(to), '2023-03-26', since, turn).length > 0) swept = to.getTime()
            // A week, and as long as no run came after it.
            expect(to.getTime() - swept).toBeLessThan(7 * 24 * HOUR + wait * HOUR)
            expect(sweptMonths(range(to), '2023-03-26', to, turn)).toEqual([])
            since = to
          }
        },
      ),
    )
  })
})
