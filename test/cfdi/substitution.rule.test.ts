import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSubstituted, type Substitutable, type Substitution, substitutionsAmong } from '../../src/cfdi/totals.ts'
import { runs } from '../support/fuzz.ts'

const document = (uuid: string, issued_at: number, more: Partial<Substitutable> = {}): Substitutable => ({
  ...{ uuid, issued_at, emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1', cancelled: 0 },
  ...more,
})

/** Relations of one letter to another, as `B>A`: B states that it substitutes A. */
const relations = (...texts: string[]): Substitution[] =>
  texts.map((text) => {
    const [source = '', substituted = ''] = text.split('>')
    return { source, substituted }
  })

/** Which documents count with a ceiling. */
const countedOf = (documents: readonly Substitutable[], stated: readonly Substitution[], until: number | null = null): string =>
  [...substitutionsAmong(documents, stated)]
    .filter(([uuid, state]) => {
      const { cancelled, issued_at } = documents.find((one) => one.uuid === uuid)!
      return cancelled === 0 && (until === null || issued_at <= until) && !isSubstituted(state, until)
    })
    .map(([uuid]) => uuid)
    .sort()
    .join('')

const CHAIN = [document('A', 1), document('B', 2), document('C', 3)]
const cancelled = (uuid: string, documents = CHAIN) => documents.map((one) => (one.uuid === uuid ? { ...one, cancelled: 1 as const } : one))

/** What breaks without it: a cycle of a thousand small documents of one instant takes the time of its cube, minutes in which nothing else runs. */
it('a cycle of documents of one instant is walked a few times for each of them', () => {
  let reads = 0
  const cycle = (length: number) => {
    const documents = Array.from({ length }, (_, n) =>
      Object.defineProperty(document(`${n}`.padStart(4, '0'), 5), 'issued_at', {
        get: () => {
          reads++
          return 5
        },
      }),
    )
    const stated = documents.map(({ uuid }, n) => ({ source: uuid, substituted: documents[(n + 1) % length]!.uuid }))
    return [...substitutionsAmong(documents, stated).values()].filter(({ substituted_from }) => substituted_from === null)
  }
  expect(cycle(200)).toHaveLength(1)
  expect(reads).toBeLessThan(7 * 200 ** 2)
})

describe('a substitution', () => {
  it('leaves the newer document, and says of both that neither is cancelled', () => {
    const states = substitutionsAmong(CHAIN, relations('B>A'))
    expect([...states.values()]).toEqual([
      { substituted_from: 2, substitutes_from: null },
      { substituted_from: null, substitutes_from: 1 },
      { substituted_from: null, substitutes_from: null },
    ])
    for (const one of ['A', 'B']) {
      const [a, b] = [...substitutionsAmong(cancelled(one), relations('B>A')).values()]
      expect([a, b]).toEqual([a, a])
      expect(a).toEqual({ substituted_from: null, substitutes_from: null })
    }
  })

  it('leaves the last of a chain, the one before it when that is cancelled, and the first beside the last when the middle is', () => {
    const chain = relations('B>A', 'C>B')
    expect(countedOf(CHAIN, chain)).toBe('C')
    expect(countedOf(cancelled('C'), chain)).toBe('B')
    expect(countedOf(cancelled('B'), chain)).toBe('AC')
    expect(countedOf(cancelled('A'), chain)).toBe('C')
  })

  it('leaves the newest of a cycle, and none of it when a document outside substitutes one of them', () => {
    expect(countedOf(CHAIN, relations('A>B', 'B>A'))).toBe('BC')
    expect(countedOf(CHAIN, relations('A>B', 'B>C', 'C>A'))).toBe('C')
    expect(countedOf(CHAIN, relations('B>A', 'C>B', 'A>C'))).toBe('C')
    expect(countedOf(CHAIN, relations('A>B', 'B>A', 'C>A'))).toBe('C')
    expect(countedOf([document('A', 5), document('B', 5)], relations('A>B', 'B>A'))).toBe('B')
    expect(countedOf(cancelled('B'), relations('A>B', 'B>A'))).toBe('AC')
    expect(countedOf(CHAIN, relations('A>A'))).toBe('ABC')
  })

  it('needs the same issuer and receiver, and both documents', () => {
    for (const more of [{ emisor_rfc: 'CCC030303CC2' }, { receptor_rfc: 'CCC030303CC2' }])
      expect(countedOf([document('A', 1), document('B', 2, more)], relations('B>A'))).toBe('AB')
    expect(countedOf([document('B', 2)], relations('B>A'))).toBe('B')
  })

  it('holds although the newer document has the earlier Fecha', () => {
    expect(countedOf([document('A', 5), document('B', 4)], relations('B>A'))).toBe('B')
    expect(countedOf([document('A', 5), document('B', 4)], relations('B>A'), 4)).toBe('B')
  })

  it('is unknown below its ceiling', () => {
    const chain = relations('B>A', 'C>B')
    expect([1, 2, 3, null].map((until) => countedOf(CHAIN, chain, until))).toEqual(['A', 'B', 'C', 'C'])
  })
})

it('with any ceiling it leaves what the documents up to it leave alone, never nothing of what refers to each other', () => {
  const uuids = ['A', 'B', 'C', 'D', 'E']
  const parts = fc.record({
    instants: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 5, maxLength: 5 }),
    states: fc.array(fc.constantFrom(0 as const, 0 as const, 0 as const, 1 as const), { minLength: 5, maxLength: 5 }),
    stated: fc.array(fc.record({ source: fc.constantFrom(...uuids), substituted: fc.constantFrom(...uuids) }), { maxLength: 9 }),
  })
  fc.assert(
    fc.property(parts, ({ instants, states, stated }) => {
      const documents = uuids.map((uuid, n) => document(uuid, instants[n]!, { cancelled: states[n]! }))
      for (const until of [1, 2, 3, 4]) {
        const known = documents.filter(({ issued_at }) => issued_at <= until)
        const counted = countedOf(documents, stated, until)
        expect(counted).toBe(countedOf(known, stated))
        // From every valid document one gets to one that counts, by what substitutes it.
        const valid = new Set(known.filter((one) => one.cancelled === 0).map(({ uuid }) => uuid))
        const reached = new Set(counted)
        for (let size = -1; size !== reached.size; ) {
          size = reached.size
          for (const { source, substituted } of stated) if (valid.has(substituted) && reached.has(source)) reached.add(substituted)
        }
        for (const uuid of valid) expect(reached).toContain(uuid)
        // What nothing valid names counts; what something valid names, and does not lead back to, does not.
        for (const uuid of valid) {
          const naming = stated.filter(({ source, substituted }) => substituted === uuid && source !== uuid && valid.has(source))
          if (naming.length === 0) expect(counted).toContain(uuid)
        }
      }
    }),
    { numRuns: runs(300, 20_000) },
  )
})

it('of 1,000 documents in a row is computed at once', () => {
  const chain = Array.from({ length: 1_000 }, (_, n) => document(`D${n}`, n))
  const stated = chain.slice(1).map((one, n) => ({ source: one.uuid, substituted: chain[n]!.uuid }))
  const began = performance.now()
  const states = substitutionsAmong(chain, stated)
  expect([...states.values()].filter(({ substituted_from }) => substituted_from === null)).toHaveLength(1)
  expect(performance.now() - began).toBeLessThan(5_000)
})
