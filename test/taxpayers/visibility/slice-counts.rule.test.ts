import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countSlice, type DocumentChange } from '../../../src/taxpayers/visibility/slice-counts.ts'

const AS_OF = Date.parse('2026-03-20T18:00:00Z')
const HOUR = 3_600
const fecha = (issued_at: number): string => new Date((issued_at - 6 * HOUR) * 1_000).toISOString().slice(0, 19)

/** What a download brings: of the last days before the job's instant and of a little after it. */
const change = fc
  .record({
    what: fc.constantFrom('created' as const, 'updated' as const, 'cancelled' as const),
    issued_at: fc.oneof(fc.integer({ min: -6 * 24 * HOUR, max: 2 * HOUR }), fc.integer({ min: -2 * HOUR, max: 60 })),
  })
  .map(({ what, issued_at }) => ({ what, issued_at: AS_OF / 1_000 + issued_at, fecha: fecha(AS_OF / 1_000 + issued_at) }))

const isLate = ({ issued_at }: DocumentChange): boolean => issued_at > AS_OF / 1_000 - HOUR

/** Instants of runs and ends of earlier jobs, in seconds, some of them those of documents. */
const boundaries = fc.uniqueArray(
  fc.integer({ min: -6 * 24 * HOUR, max: 0 }).map((at) => AS_OF / 1_000 + at),
  { maxLength: 4 },
)

describe('the counts of a slice', () => {
  it('say of each day how many documents were created, completed and cancelled, and when the first and last were issued', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const early = changes.filter((one) => !isLate(one))
        const counts = countSlice(changes, AS_OF, []).slice(0, -changes.filter(isLate).length || undefined)
        const kinds = new Set(early.map(({ what, fecha }) => `${what} ${fecha.slice(0, 10)}`))
        expect(counts.map(([what, day]) => `${what} ${day}`)).toEqual([...kinds])
        for (const [what, day, count, first, last] of counts) {
          const times = early.filter((one) => one.what === what && one.fecha.startsWith(day)).map(({ issued_at }) => issued_at)
          expect([count, first, last]).toEqual([times.length, Math.min(...times), Math.max(...times)])
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('keep documents of a day apart on both sides of a boundary, and together otherwise', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), boundaries, fc.nat(39), (changes, drawn, n) => {
        const all = [...drawn, ...(changes[n] ? [changes[n].issued_at] : [])]
        const counts = countSlice(changes, AS_OF, all)
        const sideOf = (at: number): number => all.filter((boundary) => boundary < at).length
        for (const [, , , first, last] of counts) expect(sideOf(first)).toBe(sideOf(last))
        const early = changes.filter((one) => !isLate(one))
        const kinds = new Set(early.map(({ what, fecha, issued_at }) => `${what} ${fecha.slice(0, 10)} ${sideOf(issued_at)}`))
        expect(counts).toHaveLength(kinds.size + changes.length - early.length)
        const plain = (list: typeof counts, kind: string) =>
          list.filter(([what, day]) => `${what} ${day}` === kind).reduce((sum, [, , count]) => sum + count, 0)
        const whole = countSlice(changes, AS_OF, [])
        for (const [what, day] of whole) expect(plain(counts, `${what} ${day}`)).toBe(plain(whole, `${what} ${day}`))
      }),
      { numRuns: 1_000 },
    )
  })

  it('say when the last of the documents was stored, if that was after the last of them was issued, apart on both sides of a boundary', () => {
    const of = (issued: number, stored: number): DocumentChange => {
      const issued_at = AS_OF / 1_000 + issued * HOUR
      return { what: 'cancelled', fecha: fecha(issued_at), issued_at, stored_at: AS_OF / 1_000 + stored * HOUR }
    }
    const at = (hours: number): number => AS_OF / 1_000 + hours * HOUR
    const changes = [of(-58, -57), of(-57, -50), of(-56, -30), of(-55, -56), of(-54, -54), of(0, 1)]
    expect(countSlice(changes, AS_OF, [at(-40), at(-57)])).toEqual([
      ['cancelled', '2026-03-18', 1, at(-58), at(-58), at(-57)],
      ['cancelled', '2026-03-18', 1, at(-57), at(-57), at(-50)],
      ['cancelled', '2026-03-18', 1, at(-56), at(-56), at(-30)],
      ['cancelled', '2026-03-18', 2, at(-55), at(-54)],
      ['cancelled', '2026-03-20', 1, at(0), at(0), at(1)],
    ])
  })

  it('keep each document that was issued less than an hour before the job, or later, on its own', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const late = changes.filter(isLate)
        expect(countSlice(changes, AS_OF, []).slice(countSlice(changes, AS_OF, []).length - late.length)).toEqual(
          late.map(({ what, fecha, issued_at }) => [what, fecha.slice(0, 10), 1, issued_at, issued_at]),
        )
      }),
      { numRuns: 1_000 },
    )
  })

  it('take a few kilobytes for a month of ten thousand documents', () => {
    const changes = Array.from({ length: 10_000 }, (_, n) => {
      const issued_at = AS_OF / 1_000 - 2 * HOUR - n * 250
      return { what: 'created' as const, issued_at, fecha: fecha(issued_at) }
    })
    expect(JSON.stringify(countSlice(changes, AS_OF, [])).length).toBeLessThan(3_000)
  })
})
