import { describe, expect, it } from 'vitest'
import { contain, type VisibleRange, visibleRangesBetween } from '../../../src/cfdi/mirrored/visible-ranges.ts'
import { shows, type Window, type Windows } from '../../../src/taxpayers/visibility/window.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

const random = randomOf(77)
const int = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1))
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!

const EMPTY: Window = { isEmpty: true, floor: null, ceiling: null }
const day = (n: number): string => new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10)

interface Dated {
  direction: 0 | 1
  fecha: string
  issued_at: number
}

/** A document of one of Mexico's zones, near the days that windows begin and end on. */
function document(): Dated {
  const local = Date.UTC(2026, 0, int(-1, 9), pick([0, 5, 6, 12, 18, 23]), int(0, 59), int(0, 59))
  const fecha = new Date(local).toISOString().slice(0, 19)
  return { direction: pick([0, 1] as const), fecha, issued_at: local / 1_000 + int(5, 8) * 3_600 }
}

const bounded = (floor: number, ceiling: number): Window => ({ isEmpty: false, floor: day(floor), ceiling })
const instant = (): number => Date.UTC(2026, 0, int(0, 9), int(0, 23), int(0, 59), int(0, 59), int(0, 999))

/** A window, and one that shows at least as much. */
function widening(): [Window, Window] {
  const unbounded = { isEmpty: false, floor: null, ceiling: null }
  const [floor, ceiling] = [int(0, 8), instant()]
  const before = pick([EMPTY, bounded(floor, ceiling), bounded(floor, ceiling), unbounded])
  if (before === unbounded) return [before, unbounded]
  const wider = bounded(pick([floor, int(0, floor)]), pick([ceiling, Math.max(ceiling, instant())]))
  return [before, pick([before, wider, wider, unbounded])]
}

const isIn = ({ direction, since, until, floor, before }: VisibleRange, of: Dated): boolean =>
  of.direction === direction &&
  (since === null || of.issued_at >= since) &&
  (until === null || of.issued_at <= until) &&
  (floor === null || of.fecha >= floor) &&
  (before === null || of.fecha < before)

const windowOf = ({ issued, received }: Windows, { direction }: Dated): Window => (direction === 0 ? issued : received)

describe('the visible ranges between two windows', () => {
  it('hold each document once that the wider one shows and the other one does not, and no other', () => {
    let found = 0
    for (let n = 0; n < runs(2_000, 100_000); n++) {
      const [issued, received] = [widening(), widening()]
      const before: Windows = { issued: issued[0], received: received[0] }
      const now: Windows = { issued: issued[1], received: received[1] }
      expect(contain(now, before)).toBe(true)
      const visibleRanges = visibleRangesBetween(before, now)
      for (let k = 0; k < 20; k++) {
        const one = document()
        const isNew = shows(windowOf(now, one), one) && !shows(windowOf(before, one), one)
        const times = visibleRanges.filter((visibleRange) => isIn(visibleRange, one)).length
        if (times !== (isNew ? 1 : 0)) expect({ before, now, one, times }).toEqual({ isNew })
        if (isNew) found++
      }
      expect(visibleRangesBetween(now, now)).toEqual([])
    }
    expect(found).toBeGreaterThan(1_000)
  })

  it('hold everything that a window shows when nothing was shown before', () => {
    for (let n = 0; n < 500; n++) {
      const now: Windows = { issued: widening()[1], received: widening()[1] }
      const one = document()
      expect(visibleRangesBetween(null, now).filter((visibleRange) => isIn(visibleRange, one)).length).toBe(
        shows(windowOf(now, one), one) ? 1 : 0,
      )
    }
  })

  it('are not asked for when a window shows less than before: that is told apart', () => {
    const everything: Windows = { issued: { isEmpty: false, floor: null, ceiling: null }, received: EMPTY }
    expect(contain({ issued: bounded(0, 1), received: EMPTY }, everything)).toBe(false)
    expect(contain({ issued: EMPTY, received: EMPTY }, { issued: bounded(0, 1), received: EMPTY })).toBe(false)
    expect(contain({ issued: bounded(0, 2), received: EMPTY }, { issued: bounded(0, 1), received: EMPTY })).toBe(true)
    expect(contain({ issued: bounded(1, 2), received: EMPTY }, { issued: bounded(0, 1), received: EMPTY })).toBe(false)
  })
})
