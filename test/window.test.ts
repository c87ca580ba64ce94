import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openBooks } from '../src/visibility/books.ts'
import { EVERYTHING, earliestOf, firstOpenDay, isBounded, latestOf, NOTHING, shows, widened, windowOf } from '../src/visibility/window.ts'
import { contextOf } from './support/context.ts'

const day = fc.integer({ min: 0, max: 5_000 }).map((n) => new Date(Date.UTC(2016, 0, 1 + n)).toISOString().slice(0, 10))
const instant = fc.integer({ min: Date.UTC(2016, 0, 1), max: Date.UTC(2029, 0, 1) })
const bounds = fc.oneof(fc.constant({ visible_from: null, visible_to: null }), fc.record({ visible_from: day, visible_to: instant }))
const range = fc.record({ from: day, to: instant })
const offset = fc.constantFrom(-300, -360, -420, -480)
const document = fc.record({ local: instant, offset }).map(({ local, offset: minutes }) => ({
  fecha: new Date(local).toISOString().slice(0, 19),
  issued_at: Math.floor(local / 1_000) - minutes * 60,
}))

describe('windowOf', () => {
  it('shows everything without extractors and nothing before the first extraction', () => {
    expect(windowOf(0, { visible_from: '2026-01-01', visible_to: 1 })).toEqual(EVERYTHING)
    expect(windowOf(0, { visible_from: null, visible_to: null })).toEqual(EVERYTHING)
    expect(windowOf(1, { visible_from: null, visible_to: null })).toEqual(NOTHING)
    expect(windowOf(1, { visible_from: '2026-01-01', visible_to: 1 })).toEqual({ isEmpty: false, floor: '2026-01-01', ceiling: 1 })
  })

  it('only widens: what was shown stays shown, and the range that was extracted is shown', () => {
    fc.assert(
      fc.property(bounds, range, document, (before, extracted, one) => {
        const after = widened(before, extracted)
        const alone = windowOf(1, { visible_from: extracted.from, visible_to: extracted.to })
        if (shows(windowOf(1, before), one) || shows(alone, one)) expect(shows(windowOf(1, after), one)).toBe(true)
        expect(widened(after, extracted)).toEqual(after)
      }),
    )
  })

  it('does not depend on the order of the extractions', () => {
    fc.assert(
      fc.property(bounds, range, range, (start, a, b) => {
        expect(widened(widened(start, a), b)).toEqual(widened(widened(start, b), a))
      }),
    )
  })
})

describe('isBounded', () => {
  const window = { isEmpty: false, floor: '2018-01-01', ceiling: 1_000 }
  it.each([
    [EVERYTHING, 5_000, false],
    [NOTHING, null, true],
    [window, 1_000, false],
    [window, null, false],
    [window, 1_001, true],
    [{ ...window, floor: '2018-01-02' }, 1_000, true],
    [{ ...window, floor: '2014-01-01' }, 1_000, false],
  ])('%j with the latest download at %s: %s', (one, latest, expected) => expect(isBounded(one, latest)).toBe(expected))
})

describe('literal days and instants', () => {
  it('bound every document of a day, in every zone', () => {
    fc.assert(
      fc.property(document, ({ fecha, issued_at }) => {
        const its = fecha.slice(0, 10)
        expect(issued_at).toBeGreaterThanOrEqual(earliestOf(its))
        expect(issued_at).toBeLessThanOrEqual(latestOf(its))
      }),
    )
  })

  it('leave no document of an earlier day after a bound', () => {
    fc.assert(
      fc.property(document, instant, ({ fecha, issued_at }, at) => {
        const until = Math.floor(at / 1_000)
        if (fecha.slice(0, 10) < firstOpenDay(until)!) expect(issued_at).toBeLessThanOrEqual(until)
      }),
      { numRuns: 2_000 },
    )
    const until = latestOf('2026-01-31')
    expect(firstOpenDay(until)).toBe('2026-02-01')
    expect(firstOpenDay(until - 1)).toBe('2026-01-31')
  })
})

describe('openBooks', () => {
  it('needs an active connection', () => {
    for (const state of ['draft', 'paused', 'invalid_ciec', 'unlinked'] as const)
      expect(() => openBooks(contextOf({ state }))).toThrow('fiscal entity')
    expect(() => openBooks(contextOf(null))).toThrow('fiscal entity')
  })

  it('has a book of imports only when something was imported', () => {
    expect(openBooks(contextOf()).importBook).toBeNull()
    expect(openBooks(contextOf({ imported_at: 1 })).importBook).toBe(-9)
  })
})
