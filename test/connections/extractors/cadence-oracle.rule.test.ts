import { Temporal } from 'temporal-polyfill'
import { expect, it } from 'vitest'
import type { ScheduleKind } from '../../../src/connections/extractors/rules.ts'
import { cadenceOf, cadencesBetween, isDue, lastDueDay, nextRunAt } from '../../../src/connections/extractors/rules.ts'
import { localDayOf } from '../../../src/platform/time/calendar.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

const TUPLES = runs(2_000, 100_000)
const MS = 86_400_000
const ZONES = Intl.supportedValuesOf('timeZone')

/** The calendar, written out day by day: what day of the week each is, and the how manyth of these in its month. */
const FIRST = Temporal.PlainDate.from('2016-06-01')
const CALENDAR: { text: string; weekday: number; nth: number }[] = []
const indexOf = new Map<string, number>()
for (let day = FIRST, seen: number[] = []; day.year < 2038; day = day.add({ days: 1 })) {
  if (day.day === 1) seen = [0, 0, 0, 0, 0, 0, 0]
  const weekday = day.dayOfWeek - 1
  seen[weekday]! += 1
  indexOf.set(day.toString(), CALENDAR.length)
  CALENDAR.push({ text: day.toString(), weekday, nth: seen[weekday]! })
}
const dayAt = (index: number): string => CALENDAR[index]!.text
const indexAt = (text: string): number => indexOf.get(text)!

/** When each day begins in each zone, as Temporal says, asked for once. */
const starts = new Map<string, number[]>()
function startOf(index: number, zone: string): number {
  const known = starts.get(zone) ?? []
  starts.set(zone, known)
  known[index] ??= Temporal.PlainDate.from(dayAt(index)).toZonedDateTime(zone).startOfDay().epochMilliseconds
  return known[index]
}
const localDayAt = (at: number, zone: string): number =>
  indexAt(Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString())

interface Saved {
  kind: ScheduleKind
  spec: Record<string, number>
  anchor: number
}

/** decisions.md 5, word by word: walks the days after the one on which the cadence was saved, and stops where it is told. */
function walk({ kind, spec, anchor }: Saved, until: number, onDue: (index: number) => boolean): void {
  for (let index = anchor + 1, days = 1; index <= until; index += 1, days += 1) {
    const { weekday, nth } = CALENDAR[index]!
    const is = kind === 'daily' || (kind === 'every_n_days' ? days === spec['n'] : weekday === spec['weekday'] && nth === spec['nth'])
    if (days === spec['n']) days = 0
    if (is && onDue(index)) return
  }
}

function oracleNext(saved: Saved, zone: string, now: number): number {
  // No zone is a whole day from UTC: what began two days before is over.
  const clearlyOver = Math.floor(now / MS) - Math.floor(Date.parse(dayAt(0)) / MS) - 2
  let next = Number.NaN
  walk(saved, CALENDAR.length - 1, (index) => {
    if (index <= clearlyOver) return false
    next = startOf(index, zone)
    return next > now
  })
  return next
}

/** The local date for which an extractor runs when the days after `from`, up to `to`, are evaluated at once: the last; null for none. */
function oracleDue(saved: Saved, from: number, to: number): string | null {
  let last: number | null = null
  walk(saved, to, (index) => {
    if (index > from) last = index
    return false
  })
  return last === null ? null : dayAt(last)
}

/** A day in the same grid on which it may have been saved as well, so that nothing of the range comes before it. */
function anchorBefore({ kind, spec, anchor }: Saved, index: number): number {
  let before = anchor
  while (before > index) before -= kind === 'every_n_days' ? spec['n']! : 1
  return before
}

const random = randomOf(20_180_101)
const below = (limit: number): number => Math.floor(random() * limit)
const pick = <T>(of: readonly T[]): T => of[below(of.length)]!
const [FIRST_DAY, LAST_DAY] = [indexAt('2018-01-01'), indexAt('2035-12-31')]
const anyDay = () => FIRST_DAY + below(LAST_DAY - FIRST_DAY + 1)

function anySaved(): Saved {
  const anchor = anyDay()
  const kind = pick(['daily', 'every_n_days', 'every_n_days', 'nth_weekday_monthly', 'nth_weekday_monthly'] as const)
  if (kind === 'daily') return { kind, spec: {}, anchor }
  if (kind === 'every_n_days') return { kind, spec: { n: 1 + below(random() < 0.5 ? 31 : 365) }, anchor }
  return { kind, spec: { weekday: below(7), nth: 1 + below(5) }, anchor }
}

/** Days around which a zone changes its clocks. */
const changes = new Map<string, number[]>()
function changesOf(zone: string): number[] {
  const known = changes.get(zone)
  if (known) return known
  const found: number[] = []
  const next = (at: Temporal.ZonedDateTime) => at.getTimeZoneTransition('next')
  for (let at = next(Temporal.ZonedDateTime.from(`2018-01-02T00:00[${zone}]`)); at && at.year <= 2035; at = next(at))
    found.push(indexAt(at.toPlainDate().toString()))
  changes.set(zone, found)
  return found
}

/** A third on the edge of a day, a third where the clocks change, else whenever; as often as not soon after the cadence was saved. */
function anyInstant(zone: string, anchor: number): number {
  const near = Math.min(LAST_DAY, Math.max(FIRST_DAY, anchor - 3 + below(60)))
  const day = random() < 0.5 ? near : anyDay()
  const turn = random()
  if (turn < 1 / 3) return startOf(day, zone) + pick([-1, 0, 1, 59_999, 900_000])
  const change = turn < 2 / 3 ? pick(changesOf(zone)) : undefined
  if (change !== undefined) return startOf(change + pick([-1, 0, 1]), zone) + pick([-1, 0, 1, below(MS)])
  return startOf(day, zone) + below(MS)
}

/**
 * What breaks without it: a customer's extractor runs on a day that nobody chose, twice, or not at all, or the console shows a
 * next run that does not happen, in one of the zones or on one of the days that nobody thought of.
 */
it(`tells the next run and what is due as a walk through the calendar does, for ${TUPLES} tuples over all zones`, {
  timeout: 120_000,
}, () => {
  expect(ZONES.length).toBeGreaterThan(400)
  const wrong: unknown[] = []
  let [planned, skipped] = [0, 0]
  for (let n = 0; n < TUPLES; n += 1) {
    const timezone = ZONES[n % ZONES.length]!
    const saved = anySaved()
    const now = anyInstant(timezone, saved.anchor)
    const armed_day = dayAt(saved.anchor)
    const cadence = cadenceOf(saved.kind, saved.spec, armed_day)
    const missed = 1 + below(90)
    const today = localDayAt(now, timezone)
    const evaluated = localDayAt(now - missed * MS, timezone)

    const next = nextRunAt({ is_enabled: true, cadence, armed_day, timezone }, new Date(now))?.getTime()
    // As evaluateCadences finds the key, and planPage the extractors of it.
    const due = lastDueDay(cadence, dayAt(evaluated), localDayOf(new Date(now), timezone))
    const notified = { next, due: due !== null && armed_day < due ? due : null, today: isDue(cadence, armed_day, dayAt(today)) }

    const oracle = {
      next: oracleNext(saved, timezone, now),
      due: oracleDue(saved, evaluated, today),
      today: oracleDue(saved, today - 1, today) !== null,
    }
    // What a tick looks for is all that can be due, and no more. Slow, so not for every tuple.
    if (n % (TUPLES / 100) === 0) {
      const looked = cadencesBetween(dayAt(evaluated), dayAt(today)).includes(cadence)
      expect(looked, `${cadence} ${dayAt(evaluated)} ${dayAt(today)}`).toBe(
        oracleDue({ ...saved, anchor: anchorBefore(saved, evaluated) }, evaluated, today) !== null,
      )
    }
    if (oracle.due === null) skipped += 1
    else planned += 1
    if (notified.next !== oracle.next || notified.due !== oracle.due || notified.today !== oracle.today)
      wrong.push({ timezone, cadence, armed_day, now: new Date(now).toISOString(), missed, notified, oracle })
  }
  expect(wrong.slice(0, 5)).toEqual([])
  expect(Math.min(planned, skipped)).toBeGreaterThan(TUPLES / 10)
})

/** What breaks without it: after a long outage a rare cadence would be taken for one that fell on no day, and be skipped. */
it('falls on a day of any 400, the fifth weekday and every 365 days included, so that looking back so far is enough', () => {
  const longest = (saved: Saved): number => {
    let [before, gap] = [saved.anchor, 0]
    walk(saved, CALENDAR.length - 1, (index) => {
      gap = Math.max(gap, index - before)
      before = index
      return false
    })
    return gap
  }
  const gaps = Array.from({ length: 7 }, (_, weekday) => longest({ kind: 'nth_weekday_monthly', spec: { weekday, nth: 5 }, anchor: 0 }))
  expect(Math.max(...gaps)).toBe(119)
  for (const cadence of ['nth:0:5', 'nth:6:5', 'every:365:364', 'daily']) {
    const last = lastDueDay(cadence, '2018-01-01', '2035-12-31')!
    expect(last, cadence).toBe(lastDueDay(cadence, '2034-12-31', '2035-12-31'))
    expect(isDue(cadence, '2018-01-01', last), cadence).toBe(true)
  }
})
