import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Meaning } from '../../../src/authority/sat/answers.ts'
import {
  outcomeOfCheck,
  outcomeOfPackage,
  outcomeOfRequest,
  outcomeOfTooLarge,
} from '../../../src/authority/sat/conversation/rules/outcomes.ts'
import {
  halvesOf,
  isCovered,
  lastAskable,
  literalOf,
  oldestAt,
  type Period,
  periodOfMonth,
  secondsAfter,
  secondsBetween,
  unusedPeriod,
} from '../../../src/authority/sat/conversation/rules/periods.ts'
import {
  addDays,
  merged,
  metadataRequests,
  type PlannedRequest,
  progressOf,
  unlistedRequests,
  wantedOf,
  xmlPeriods,
} from '../../../src/authority/sat/conversation/rules/plan.ts'
import type { AuthorityRequest, DayCounts, WantedMonth } from '../../../src/authority/sat/conversation/rules/requests.ts'
import { deadlineOf, MOST_ATTEMPTS, nextCheck, waitAfter } from '../../../src/authority/sat/conversation/rules/requests.ts'
import { addMonths } from '../../../src/platform/time/months.ts'
import { runs } from '../../support/fuzz.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-20T18:00:00Z')

const row = (planned: PlannedRequest, asked_at: number, more: Partial<AuthorityRequest> = {}): AuthorityRequest => ({
  ...planned,
  ...{
    n: 1,
    state: 'stored',
    request_id: 'r',
    code: null,
    message: null,
    announced: 0,
    packages: [],
    asked_at,
    attempts: 1,
    heard_at: null,
  },
  ...more,
})
const wantedMonth = (month: string, asked_at: number, is_complete = false): WantedMonth => ({
  ...{ source: 'sat_cfdi_issued', month, asked_at, is_complete, is_interactive: false },
})
/** The last so many months at an instant, newest first. */
const monthsAt = (at: number, count: number): string[] => Array.from({ length: count }, (_, n) => addMonths(literalOf(at).slice(0, 7), -n))

describe('the checks of a request', () => {
  it('come 1, 2, 5, 10, 20 and 30 minutes after it was sent, then hourly, for seven days', () => {
    const checks: number[] = []
    for (let at: number | null = nextCheck(0, 0, 1); at !== null; at = nextCheck(0, at, 1)) checks.push(at / MINUTE)
    expect(checks.slice(0, 9)).toEqual([1, 2, 5, 10, 20, 30, 90, 150, 210])
    expect(new Set(checks.slice(6).map((at, n) => at - checks[n + 5]!))).toEqual(new Set([60]))
    expect(checks.at(-1)!).toBeGreaterThan(7 * 24 * 60 - 60)
    expect(checks.at(-1)!).toBeLessThanOrEqual(7 * 24 * 60)
    expect(checks.length).toBeLessThanOrEqual(MOST_ATTEMPTS)
  })

  it('lie after now, whatever the factor, and on the same grid wherever one looks from', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 * DAY }), fc.double({ min: 0.001, max: 3, noNaN: true }), (passed, factor) => {
        const now = NOW + passed * factor
        const next = nextCheck(NOW, now, factor)
        if (next === null) {
          expect(now).toBeGreaterThan(deadlineOf(NOW, factor) - HOUR * factor - 2)
          return
        }
        expect(next).toBeGreaterThan(now - 1)
        expect(next).toBeLessThanOrEqual(deadlineOf(NOW, factor) + 1)
        expect(next - now).toBeLessThanOrEqual(Math.max(HOUR * factor, MINUTE * factor) + 1)
      }),
      { numRuns: runs(150, 5000) },
    )
  })

  it('wait longer the more often something failed, up to an hour', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 100].map((n) => waitAfter(n, 1) / MINUTE)).toEqual([1, 1, 3, 5, 10, 10, 60, 60])
    expect(waitAfter(7, 0.01)).toBe(36_000)
  })
})

const instants = fc.integer({ min: Date.parse('2024-01-01T00:00:00Z'), max: Date.parse('2026-11-01T00:00:00Z') })
const literals = instants.map((at) => literalOf(at))
const periods = fc
  .tuple(literals, fc.integer({ min: 1, max: 400 * 86_400 }))
  .map(([first, long]): Period => ({ first, last: secondsAfter(first, long) }))

describe('a period', () => {
  it('has halves that cover it, touch, and have no second in common', () => {
    fc.assert(
      fc.property(periods, (period) => {
        const halves = halvesOf(period)
        if (!halves) {
          expect(secondsBetween(period)).toBeLessThan(2)
          return
        }
        const [one, other] = halves
        expect([one.first, other.last]).toEqual([period.first, period.last])
        expect(other.first).toBe(secondsAfter(one.last, 1))
        expect(one.first < one.last && other.first <= other.last).toBe(true)
        expect(isCovered(period, [other, one])).toBe(true)
        expect(isCovered(period, [one]) || isCovered(period, [other])).toBe(false)
      }),
      { numRuns: runs(100, 3000) },
    )
  })

  it('that was asked for before is a second longer, and has a second at least', () => {
    fc.assert(
      fc.property(literals, fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 20 }), (first, long, times) => {
        const used = new Set<string>()
        for (let n = 0; n <= times; n++) {
          const { last } = unusedPeriod({ first, last: secondsAfter(first, long) }, (one) => used.has(`${one.first} ${one.last}`))
          expect(used.has(`${first} ${last}`)).toBe(false)
          expect(last).toBe(secondsAfter(first, Math.max(1, long) + n))
          used.add(`${first} ${last}`)
        }
      }),
      { numRuns: runs(40, 1000) },
    )
  })

  it('is covered when each of its seconds is, and merged ones cover what they are made of', () => {
    fc.assert(
      fc.property(fc.array(periods, { minLength: 1, maxLength: 8 }), (all) => {
        const whole = merged(all)
        for (const one of all) expect(isCovered(one, whole)).toBe(true)
        whole.forEach((one, n) => {
          if (n > 0) expect(secondsBetween({ first: whole[n - 1]!.last, last: one.first })).toBeGreaterThan(92 * 86_400)
        })
      }),
      { numRuns: runs(60, 2000) },
    )
  })

  it('begins no earlier than six years ago, also on 29 February', () => {
    expect(oldestAt(Date.parse('2026-11-20T05:00:00Z'))).toBe('2020-11-19T00:00:00')
    expect(oldestAt(Date.parse('2028-02-29T18:00:00Z'))).toBe('2022-03-01T00:00:00')
  })
})

describe('the metadata that is asked for', () => {
  it('is one request for each family and source, however many months are wanted', () => {
    for (const count of [1, 3, 36, 72]) {
      const months = monthsAt(NOW, count).map((month) => wantedMonth(month, NOW))
      const both = [...months, ...months.map((month): WantedMonth => ({ ...month, source: 'sat_cfdi_received' }))]
      const planned = metadataRequests(both, [], NOW + 5_000)
      expect(planned.map(({ family, source }) => `${family} ${source}`).sort()).toEqual([
        ...['cfdi sat_cfdi_issued', 'cfdi sat_cfdi_received', 'retenciones sat_cfdi_issued', 'retenciones sat_cfdi_received'],
      ])
      for (const { first, last, months: named } of planned) {
        expect(first).toBe(periodOfMonth(monthsAt(NOW, count).at(-1)!).first)
        // To the exact second, a minute before now.
        expect(last).toBe(lastAskable(NOW + 5_000))
        expect(named).toHaveLength(count)
      }
    }
  })

  it('never begins before what the authority gives, and a month that is older wants nothing', () => {
    const months = monthsAt(NOW, 80).map((month) => wantedMonth(month, NOW))
    for (const { first } of metadataRequests(months, [], NOW)) expect(first).toBe(oldestAt(NOW))
    expect(progressOf(wantedMonth('2019-01', NOW), []).state).toBe('ready')
  })

  it('is the same period however often a month is looked at, and nothing once it came', () => {
    const month = wantedMonth('2026-11', NOW)
    const [planned] = metadataRequests([month], [], NOW)
    expect(wantedOf(month, 'cfdi', [])).toEqual({ first: '2026-11-01T00:00:00', last: lastAskable(NOW) })
    const both = (['cfdi', 'retenciones'] as const).map((family, n) => row({ ...planned!, family }, NOW + 100, { n: n + 1 }))
    expect(progressOf(month, both).state).toBe('ready')
    expect(progressOf(month, both).requests.map(({ n }) => n)).toEqual([1, 2])
    expect(progressOf(month, [both[0]!, { ...both[1]!, state: 'waiting' }]).state).toBe('waiting')
    expect(progressOf(month, [both[0]!, { ...both[1]!, state: 'failed' }]).state).toBe('failed')
    expect(progressOf(month, [both[0]!, { ...both[1]!, state: 'replaced' }]).state).toBe('unplanned')
    expect(progressOf(month, [both[0]!]).unplanned.map(({ family }) => family)).toEqual(['retenciones'])
    // XML that is still to come keeps the month waiting; XML that will not come does not.
    const xml = row({ ...planned!, kind: 'xml' }, NOW + 200, { n: 3, state: 'planned' })
    expect(progressOf(month, [...both, xml]).state).toBe('waiting')
    expect(progressOf(month, [...both, { ...xml, state: 'failed' }])).toMatchObject({ state: 'ready', failed: { n: 3 } })
  })

  it('covers each late stamp, sweeps thirteen months each week, and repeats no period, however the runs fall and fail', () => {
    const history = fc.record({
      months: fc.integer({ min: 1, max: 15 }),
      // Hours between two runs, and how each ends.
      days: fc.array(
        fc.record({
          after: fc.constantFrom(1, 5, 24, 24, 24, 24, 25, 60, 24 * 9, 24 * 40),
          fails: fc.constantFrom(false, false, false, true),
        }),
        {
          minLength: 10,
          maxLength: 40,
        },
      ),
      documents: fc.array(fc.tuple(fc.integer({ min: 0, max: 60 * 24 }), fc.integer({ min: 0, max: 72 })), { minLength: 5, maxLength: 30 }),
    })
    fc.assert(
      fc.property(history, ({ months: count, days, documents }) => {
        const requests: AuthorityRequest[] = []
        const complete = new Set<string>()
        let at = NOW
        for (const { after, fails } of days) {
          at += after * HOUR
          const months = monthsAt(at, count).map((month) => wantedMonth(month, at, complete.has(month)))
          const planned = metadataRequests(months, requests, at + 5_000)
          expect(planned.length).toBeLessThanOrEqual(2)
          for (const one of planned) {
            expect(requests.some((other) => other.family === one.family && other.first === one.first && other.last === one.last)).toBe(
              false,
            )
            requests.push(row(one, at + 10_000, { n: requests.length + 1, state: fails ? 'failed' : 'stored' }))
          }
          for (const month of months) {
            const { state } = progressOf(month, requests)
            expect(['ready', 'failed']).toContain(state)
            if (state === 'ready') complete.add(month.month)
            else complete.delete(month.month)
          }
          // What a request that came covers, as of the instant at which it was sent.
          const has = (fecha: string, since: number) =>
            requests.some(
              (one) =>
                one.state === 'stored' &&
                one.family === 'cfdi' &&
                one.asked_at >= since &&
                one.first <= fecha &&
                fecha <= one.last &&
                one.months.includes(fecha.slice(0, 7)),
            )
          for (const [hours, late] of documents) {
            const issued = NOW + hours * HOUR
            const fecha = literalOf(issued)
            const stamped = issued + late * HOUR
            if (complete.has(fecha.slice(0, 7)) && months.some(({ month }) => fecha.startsWith(month)) && stamped < at - 2 * MINUTE)
              expect(has(fecha, stamped), `${fecha} stamped ${new Date(stamped).toISOString()} at ${new Date(at).toISOString()}`).toBe(true)
          }
          for (const { month } of months.slice(0, 13))
            if (complete.has(month) && month < literalOf(at).slice(0, 7)) {
              const { first, last } = periodOfMonth(month)
              for (const fecha of [first, last].filter((one) => one <= lastAskable(at)))
                expect(has(fecha, at - 6.5 * DAY), `${fecha} at ${new Date(at).toISOString()}`).toBe(true)
            }
        }
      }),
      { numRuns: runs(20, 600) },
    )
  })
})

describe('metadata that takes long', () => {
  const LONG = 3.5 * HOUR
  const history = fc.record({
    months: fc.integer({ min: 1, max: 15 }),
    // Hours between two runs, which lists come, and whether those of earlier runs do.
    days: fc.array(
      fc.record({
        after: fc.constantFrom(5, 24, 24, 24, 25, 60, 24 * 9),
        isLong: fc.boolean(),
        comes: fc.constantFrom(false, false, true),
      }),
      { minLength: 5, maxLength: 25 },
    ),
    documents: fc.array(fc.tuple(fc.integer({ min: -24 * 90, max: 24 * 40 }), fc.integer({ min: 0, max: 72 })), {
      minLength: 5,
      maxLength: 30,
    }),
  })

  it('holds no document back, and no period is asked for twice, however lists come', () => {
    fc.assert(
      fc.property(history, ({ months: count, days, documents }) => {
        const requests: AuthorityRequest[] = []
        const complete = new Set<string>()
        let at = NOW
        const add = (planned: PlannedRequest, asked_at: number, more: Partial<AuthorityRequest>) => {
          expect(
            requests.some(
              (one) =>
                one.family === planned.family && one.kind === planned.kind && one.first === planned.first && one.last === planned.last,
            ),
          ).toBe(false)
          requests.push(row(planned, asked_at, { n: requests.length + 1, ...more }))
        }
        for (const { after, isLong, comes } of days) {
          at += after * HOUR
          const months = monthsAt(at, count).map((month) => wantedMonth(month, at, complete.has(month)))
          for (const one of metadataRequests(months, requests, at + 5_000)) add(one, at + 10_000, isLong ? { state: 'waiting' } : {})
          // Lists of earlier runs are asked about once a run at least.
          for (const [n, one] of requests.entries())
            if (one.state === 'waiting' && one.asked_at < at)
              requests[n] = { ...one, heard_at: at + MINUTE, ...(comes && { state: 'stored' }) }
          expect(unlistedRequests(months, requests)).toEqual([])
          const own = requests.filter((one) => one.state === 'waiting' && one.asked_at >= at)
          for (const one of own) requests[one.n - 1] = { ...one, heard_at: at + LONG }
          for (const one of unlistedRequests(months, requests)) {
            expect(one.months.length).toBeLessThanOrEqual(6)
            // What was delivered, and was not recent then, is not asked for again.
            for (const other of requests.filter(({ kind, family }) => kind === 'xml' && family === one.family))
              for (const fecha of [other.first, other.last].filter((time) => time < literalOf(other.asked_at - 7 * DAY)))
                expect(fecha < one.first || fecha > one.last).toBe(true)
            add(one, at + LONG, {})
          }
          expect(unlistedRequests(months, requests)).toEqual([])
          for (const month of months) {
            const progress = progressOf(month, requests)
            expect(progress.state).toBe('ready')
            if (progress.isUnlisted) complete.delete(month.month)
            else complete.add(month.month)
            for (const [hours, late] of documents) {
              const issued = NOW + hours * HOUR
              const [fecha, stamped] = [literalOf(issued), issued + late * HOUR]
              if (!fecha.startsWith(month.month) || stamped >= at - 2 * MINUTE) continue
              const brings = requests.some(
                (one) =>
                  one.state === 'stored' &&
                  one.family === 'cfdi' &&
                  one.asked_at >= stamped &&
                  one.first <= fecha &&
                  fecha <= one.last &&
                  one.months.includes(month.month),
              )
              expect(brings, `${fecha} stamped ${new Date(stamped).toISOString()} at ${new Date(at).toISOString()}`).toBe(true)
            }
          }
        }
      }),
      { numRuns: runs(30, 1000) },
    )
  })
})

describe('the XML that is asked for', () => {
  const days = fc
    .array(
      fc.record({
        day: fc.integer({ min: 0, max: 400 }),
        others: fc.integer({ min: 0, max: 900 }),
        missing: fc.array(fc.integer({ min: 0, max: 86_399 }), { maxLength: 300 }),
      }),
      {
        maxLength: 40,
      },
    )
    .map((all): DayCounts => {
      const day = (n: number) => secondsAfter('2025-01-01T00:00:00', n * 86_400).slice(0, 10)
      const timeOf = (second: number) => secondsAfter('2025-01-01T00:00:00', second).slice(11)
      return Object.fromEntries(
        all.map(({ day: n, others, missing }) => {
          const times = missing.toSorted((one, other) => one - other).map(timeOf)
          return [day(n), [others + missing.length, missing.length, times[0] ?? '', times.at(-1) ?? '']] as const
        }),
      )
    })

  it('covers everything that is missing, and delivers no more than a request may, unless one day does', () => {
    fc.assert(
      fc.property(days, fc.integer({ min: 100, max: 5_000 }), (all, most) => {
        const asked = xmlPeriods(all, most)
        for (const [day, [, missing, first, last]] of Object.entries(all))
          if (missing > 0) expect(isCovered({ first: `${day}T${first}`, last: `${day}T${last}` }, asked)).toBe(true)
        for (const { first, last } of asked) {
          const within = Object.entries(all).filter(([day]) => first.slice(0, 10) <= day && day <= last.slice(0, 10))
          const delivered = within.reduce((sum, [, [deliverable]]) => sum + deliverable, 0)
          if (first.slice(0, 10) !== secondsAfter(last, -1).slice(0, 10)) expect(delivered).toBeLessThanOrEqual(most)
          expect(first < last).toBe(true)
          // It begins and ends with something that is missing.
          expect(Object.entries(all).some(([day, [, missing, from]]) => missing > 0 && `${day}T${from}` === first)).toBe(true)
        }
        const missing = Object.values(all).reduce((sum, [, count]) => sum + count, 0)
        if (missing === 0) expect(asked).toEqual([])
        else if (Object.values(all).reduce((sum, [count]) => sum + count, 0) <= most) expect(asked).toHaveLength(1)
      }),
      { numRuns: runs(100, 3000) },
    )
  })

  it('adds up the days of several packages', () => {
    const sum = addDays([
      { '2026-01-01': [2, 0, '', ''], '2026-01-02': [1, 1, '10:00:00', '10:00:00'] },
      { '2026-01-01': [3, 1, '09:00:00', '09:00:00'], '2026-01-02': [4, 2, '08:00:00', '12:00:00'] },
      { '2026-01-02': [5, 0, '', ''] },
    ])
    expect(sum).toEqual({ '2026-01-01': [5, 1, '09:00:00', '09:00:00'], '2026-01-02': [10, 3, '08:00:00', '12:00:00'] })
  })
})

describe('what becomes of a request', () => {
  const said = (meaning: Meaning, more: object = {}) => ({ meaning, code: '', message: '', ...more })
  const verified = (meaning: Meaning, more: object = {}) =>
    outcomeOfCheck({ ...said(meaning), state: '', stateCode: '', announced: null, packages: [], ...more }, 1)

  it.each<[Meaning, string | null]>([
    ['accepted', 'waiting'],
    ['nothing', 'empty'],
    ['too_many', 'replaced halved'],
    ['parameters_used_up', 'replaced moved'],
    ['duplicate', 'waiting'],
    ['failed', 'replaced later'],
    ['unknown', 'replaced later'],
    ['token_refused', 'replaced moved'],
    ['daily_limit', 'replaced later'],
    ['document_cancelled', 'replaced later'],
    ['signature_refused', 'failed ours'],
    ['request_malformed', 'failed ours'],
    ['cancelled_refused', 'failed ours'],
    ['receiver_missing', 'failed ours'],
    ['too_old', 'failed ours'],
    ['not_authorized', 'failed'],
  ])('by the answer to it: %s', (meaning, expected) => {
    const outcome = outcomeOfRequest({ ...said(meaning), request: 'r' }, 1)
    const more = outcome && 'how' in outcome ? ` ${outcome.how}` : outcome && 'isOurs' in outcome && outcome.isOurs ? ' ours' : ''
    expect(outcome && `${outcome.state}${more}`).toBe(expected)
  })

  it('by a check: an answer that says nothing of it changes nothing', () => {
    expect(verified('waiting')).toBeNull()
    expect(verified('failed', { code: '404' })).toBeNull()
    expect(verified('unknown')).toBeNull()
    expect(verified('token_refused')).toBeNull()
    expect(verified('failed', { state: '4' })).toEqual({ state: 'replaced', how: 'later' })
    expect(verified('request_gone')).toEqual({ state: 'replaced', how: 'moved' })
    expect(verified('waiting', { state: '1' })).toBeNull()
  })

  it.each<[Meaning, string]>([
    ['duplicate', 'moved'],
    ['parameters_used_up', 'moved'],
    ['too_many', 'halved'],
    ...(['unknown', 'failed', 'accepted', 'daily_limit', 'document_cancelled', 'token_refused'] as const).map(
      (meaning): [Meaning, string] => [meaning, 'later'],
    ),
  ])('by a check: a rejected request (%s) is never done, and others take its place', (meaning, how) => {
    expect(verified(meaning, { state: '5' })).toEqual({ state: 'replaced', how })
  })

  it('by a check: packages, or none', () => {
    expect(verified('finished', { announced: 2, packages: ['a'] })).toEqual({ state: 'ready', announced: 2, packages: ['a'] })
    expect(verified('finished', { announced: 0 })).toEqual({ state: 'empty' })
    expect(verified('finished', { announced: 2 })).toEqual({ state: 'replaced', how: 'later' })
  })

  it('by the answer to a package, and after seven days of the same it has failed', () => {
    expect(outcomeOfPackage(said('accepted'), 1, 1)).toEqual({ state: 'stored' })
    expect(outcomeOfPackage(said('package_gone'), 1, 1)).toEqual({ state: 'replaced', how: 'moved' })
    expect(outcomeOfPackage(said('package_used_up'), 1, 2)).toEqual({ state: 'replaced', how: 'moved' })
    expect(outcomeOfPackage(said('failed'), 1, 1)).toBeNull()
    expect([1, 2, 3, 4].map((attempts) => outcomeOfTooLarge(attempts))).toEqual([
      ...Array(3).fill({ state: 'replaced', how: 'halved' }),
      { state: 'failed', isOurs: false },
    ])
    expect(outcomeOfPackage(said('failed'), 1, 9)).toEqual({ state: 'replaced', how: 'later' })
    for (const meaning of ['failed', 'unknown', 'duplicate'] as const)
      expect(outcomeOfRequest({ ...said(meaning), request: null }, MOST_ATTEMPTS)).toEqual({ state: 'failed', isOurs: false })
  })
})
