import * as fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import type { ScheduleKind } from '../../../src/connections/extractors/rules.ts'
import { cadenceOf, isDue, nextDay, nextRunAt } from '../../../src/connections/extractors/rules.ts'
import { firstInstantOf, localDayOf } from '../../../src/platform/time/calendar.ts'
import { runs } from '../../support/fuzz.ts'

const ZONES = [
  'America/Mexico_City',
  'America/Tijuana',
  'America/Cancun',
  'Asia/Beirut',
  'America/Havana',
  'America/Asuncion',
  'America/Sao_Paulo',
  'America/Santiago',
  'America/Godthab',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Tehran',
  'Asia/Amman',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Midway',
  'Etc/GMT+12',
  'UTC',
]

interface Saved {
  kind: ScheduleKind
  spec: Record<string, number>
}

const saved: fc.Arbitrary<Saved> = fc.oneof(
  fc.constant<Saved>({ kind: 'daily', spec: {} }),
  fc.integer({ min: 1, max: 365 }).map((n): Saved => ({ kind: 'every_n_days', spec: { n } })),
  fc
    .record({ weekday: fc.integer({ min: 0, max: 6 }), nth: fc.integer({ min: 1, max: 5 }) })
    .map((spec): Saved => ({ kind: 'nth_weekday_monthly', spec })),
)
const epochDay = fc.integer({ min: 17_532, max: 25_567 })
const textOf = (days: number) => Temporal.PlainDate.from('1970-01-01').add({ days }).toString()

/** The specification, word by word: is this day of the calendar one of the cadence's? */
function oracleIsDue({ kind, spec }: Saved, anchor: Temporal.PlainDate, day: Temporal.PlainDate): boolean {
  if (Temporal.PlainDate.compare(day, anchor) <= 0) return false
  if (kind === 'daily') return true
  if (kind === 'every_n_days') return anchor.until(day, { largestUnit: 'day' }).days % spec['n']! === 0
  if (day.dayOfWeek - 1 !== spec['weekday']) return false
  let occurrences = 0
  for (let before = day; before.month === day.month; before = before.subtract({ days: 1 }))
    if (before.dayOfWeek === day.dayOfWeek) occurrences += 1
  return occurrences === spec['nth']
}

const oracleStart = (day: Temporal.PlainDate, zone: string) => day.toZonedDateTime(zone).startOfDay().epochMilliseconds

/** Walks the calendar, from some days before now. */
function oracleNext(it: Saved, anchor: Temporal.PlainDate, zone: string, now: number): number {
  for (let day = Temporal.PlainDate.from(new Date(now).toISOString().slice(0, 10)).subtract({ days: 5 }); ; day = day.add({ days: 1 }))
    if (oracleIsDue(it, anchor, day) && oracleStart(day, zone) > now) return oracleStart(day, zone)
}

describe('the first instant of a local day', () => {
  it('agrees with Temporal in zones whose clocks jump at midnight, and everywhere else', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), epochDay, (zone, days) => {
        expect(firstInstantOf(textOf(days), zone).getTime()).toBe(oracleStart(Temporal.PlainDate.from(textOf(days)), zone))
      }),
      { numRuns: runs(1_000, 4_000) },
    )
  })

  it('agrees on every day around every change of the clocks, 2018 to 2040', () => {
    let changes = 0
    for (const zone of ZONES) {
      const next = (at: Temporal.ZonedDateTime) => at.getTimeZoneTransition('next')
      for (let at = next(Temporal.ZonedDateTime.from(`2018-01-01T12:00[${zone}]`)); at && at.year <= 2040; at = next(at)) {
        changes += 1
        for (const days of [-1, 0, 1]) {
          const day = at.toPlainDate().add({ days })
          expect(firstInstantOf(day.toString(), zone).toISOString(), `${zone} ${day}`).toBe(new Date(oracleStart(day, zone)).toISOString())
        }
      }
    }
    expect(changes).toBeGreaterThan(400)
  })

  it.each([
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z', 'no midnight'],
    ['America/Havana', '2026-03-08', '2026-03-08T05:00:00.000Z', 'no midnight'],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z', 'two midnights'],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', 'no midnight'],
    ['America/Sao_Paulo', '2018-02-18', '2018-02-18T03:00:00.000Z', 'the hour before midnight twice'],
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z', 'no midnight'],
    ['Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15:00.000Z', 'an offset of quarter hours'],
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30:00.000Z', 'a minute of the day, then the day before again'],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z', 'a day that never was'],
  ])('%s %s is %s: %s', (zone, day, instant) => {
    expect(firstInstantOf(day, zone).toISOString()).toBe(instant)
  })

  it('is the start of what localDayOf calls that day', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), epochDay, (zone, days) => {
        const start = firstInstantOf(textOf(days), zone)
        expect(localDayOf(start, zone)).toBe(textOf(days))
        expect(localDayOf(new Date(start.getTime() - 1), zone)).toBe(textOf(days - 1))
      }),
      { numRuns: runs(500, 1_000) },
    )
  })
})

describe('a cadence', () => {
  it('runs next when a walk through the calendar says so', () => {
    fc.assert(
      fc.property(
        saved,
        fc.constantFrom(...ZONES),
        epochDay,
        fc.integer({ min: -3, max: 800 }),
        fc.integer({ min: 0, max: 86_399_999 }),
        (it, timezone, days, later, ms) => {
          const armed_day = textOf(days)
          const now = (days + later) * 86_400_000 + ms
          const next = nextRunAt({ is_enabled: true, cadence: cadenceOf(it.kind, it.spec, armed_day), armed_day, timezone }, new Date(now))
          expect(next!.getTime()).toBe(oracleNext(it, Temporal.PlainDate.from(armed_day), timezone, now))
        },
      ),
      { numRuns: runs(1_000, 3_000) },
    )
  })

  it('is due on the days that the walk finds, and on no other', () => {
    fc.assert(
      fc.property(saved, epochDay, fc.integer({ min: -40, max: 800 }), (it, anchor, later) => {
        const [armed, day] = [textOf(anchor), textOf(anchor + later)]
        const due = isDue(cadenceOf(it.kind, it.spec, armed), armed, day)
        expect(due).toBe(oracleIsDue(it, Temporal.PlainDate.from(armed), Temporal.PlainDate.from(day)))
      }),
      { numRuns: runs(1_000, 5_000) },
    )
  })

  it('goes from due day to due day', () => {
    const cadence = cadenceOf('nth_weekday_monthly', { weekday: 0, nth: 5 }, '2026-01-01')
    const days = ['2026-01-01']
    for (let n = 0; n < 4; n += 1) days.push(nextDay(cadence, '2026-01-01', days.at(-1)!))
    // Months with four Mondays are skipped.
    expect(days.slice(1)).toEqual(['2026-03-30', '2026-06-29', '2026-08-31', '2026-11-30'])
  })

  it('saved on a Wednesday for the first Monday runs first on the next first Monday', () => {
    const cadence = cadenceOf('nth_weekday_monthly', { weekday: 0, nth: 1 }, '2026-11-18')
    expect(nextDay(cadence, '2026-11-18', '2026-11-18')).toBe('2026-12-07')
  })

  it('has the documented keys', () => {
    expect(cadenceOf('daily', {}, '2026-11-18')).toBe('daily')
    expect(cadenceOf('every_n_days', { n: 7 }, '1970-01-10')).toBe('every:7:2')
    expect(cadenceOf('nth_weekday_monthly', { weekday: 6, nth: 2 }, '2026-11-18')).toBe('nth:6:2')
  })

  it('has no next run when it is disabled or not scheduled', () => {
    const scheduled = { is_enabled: true, cadence: 'daily', armed_day: '2026-01-01', timezone: 'UTC' }
    const now = new Date('2026-01-01T12:00:00Z')
    expect(nextRunAt(scheduled, now)?.toISOString()).toBe('2026-01-02T00:00:00.000Z')
    expect(nextRunAt({ ...scheduled, is_enabled: false }, now)).toBeNull()
    expect(nextRunAt({ ...scheduled, cadence: null, armed_day: null }, now)).toBeNull()
  })

  it('at the very instant of a run tells of the one after', () => {
    const scheduled = { is_enabled: true, cadence: 'daily', armed_day: '2026-01-01', timezone: 'America/Mexico_City' }
    expect(nextRunAt(scheduled, new Date('2026-01-05T06:00:00Z'))?.toISOString()).toBe('2026-01-06T06:00:00.000Z')
  })
})
