import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countSlice, visibleCounts } from '../../src/visibility/visible-counts.ts'
import { EVERYTHING, NOTHING, type Window } from '../../src/visibility/window.ts'

const AS_OF = Date.parse('2026-03-20T18:00:00Z')
const HOUR = 3_600
const fecha = (issued_at: number): string => new Date((issued_at - 6 * HOUR) * 1_000).toISOString().slice(0, 19)

/** What a download brings: of the last days before the job's instant and of a little after it. */
const brought = fc
  .record({
    what: fc.constantFrom('created' as const, 'updated' as const, 'cancelled' as const),
    issued_at: fc.oneof(fc.integer({ min: -6 * 24 * HOUR, max: 2 * HOUR }), fc.integer({ min: -2 * HOUR, max: 60 })),
  })
  .map(({ what, issued_at }) => ({ what, issued_at: AS_OF / 1_000 + issued_at, fecha: fecha(AS_OF / 1_000 + issued_at) }))
type Brought = ReturnType<typeof countSlice>['late'][number]
const slices = fc.array(fc.array(brought, { maxLength: 30 }), { maxLength: 4 })

const floor = fc.option(
  fc.integer({ min: -8, max: 2 }).map((days) => fecha(AS_OF / 1_000 + days * 24 * HOUR).slice(0, 10)),
  { nil: null },
)

const hides = ({ isEmpty, floor, ceiling }: Window, change: Brought): boolean =>
  isEmpty || (floor !== null && change.fecha < floor) || (ceiling !== null && change.issued_at > ceiling / 1_000)

/** The plain count of these changes. */
function counted(changes: readonly Brought[]) {
  const of = (what: Brought['what']) => changes.filter((change) => change.what === what).length
  const times = changes.map(({ issued_at }) => issued_at).sort((a, b) => a - b)
  return {
    created_count: of('created'),
    updated_count: of('updated'),
    cancelled_count: of('cancelled'),
    first_issued_at: times[0] ?? null,
    last_issued_at: times.at(-1) ?? null,
  }
}

/** As a job keeps it. */
const kept = (all: readonly (readonly Brought[])[]) =>
  JSON.parse(JSON.stringify(all.map((slice) => countSlice(slice, AS_OF)))) as ReturnType<typeof countSlice>[]

describe('what a job brought, counted through a window', () => {
  it('is what the window shows, for every floor and every ceiling from an hour before the job on', () => {
    const ceiling = fc.option(
      fc.integer({ min: -HOUR * 1_000, max: 3 * HOUR * 1_000 }).map((ms) => AS_OF + ms),
      { nil: null },
    )
    fc.assert(
      fc.property(slices, floor, ceiling, (all, floor, ceiling) => {
        const window = { isEmpty: false, floor, ceiling }
        expect(visibleCounts(window, kept(all))).toEqual(counted(all.flat().filter((change) => !hides(window, change))))
      }),
      { numRuns: 1_000 },
    )
  })

  it('is never more than that, and misses nothing but of the days that a ceiling cuts, for any ceiling', () => {
    const ceiling = fc.integer({ min: -8 * 24 * HOUR, max: 0 }).map((seconds) => AS_OF + seconds * 1_000)
    fc.assert(
      fc.property(slices, floor, ceiling, (all, floor, ceiling) => {
        const window = { isEmpty: false, floor, ceiling }
        const isLate = ({ issued_at }: Brought) => issued_at > AS_OF / 1_000 - HOUR
        const expected = all.flatMap((slice) => {
          const cut = new Set(
            slice.filter((change) => !isLate(change) && change.issued_at > ceiling / 1_000).map((it) => it.fecha.slice(0, 10)),
          )
          return slice.filter((change) => !hides(window, change) && (isLate(change) || !cut.has(change.fecha.slice(0, 10))))
        })
        expect(visibleCounts(window, kept(all))).toEqual(counted(expected))
      }),
      { numRuns: 1_000 },
    )
  })

  it('is all of it for who sees everything, and nothing for who sees nothing', () => {
    fc.assert(
      fc.property(slices, (all) => {
        expect(visibleCounts(EVERYTHING.issued, kept(all))).toEqual(counted(all.flat()))
        expect(visibleCounts(NOTHING.received, kept(all))).toEqual(counted([]))
      }),
    )
  })

  it('is kept by day: a month of ten thousand documents takes a few kilobytes', () => {
    const changes = Array.from({ length: 10_000 }, (_, n) => {
      const issued_at = AS_OF / 1_000 - 2 * HOUR - n * 250
      return { what: 'created' as const, issued_at, fecha: fecha(issued_at) }
    })
    expect(JSON.stringify(countSlice(changes, AS_OF)).length).toBeLessThan(3_000)
  })
})
