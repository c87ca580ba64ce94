import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recordsOf, textsOf } from '../../src/platform/csv.ts'
import { bytesOf, csvOf } from '../lists/support/list-csv.ts'

/** A CSV reader one character at a time: slow, and plain to see through. */
function slowRecords(text: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let cell = ''
  let state: 'start' | 'plain' | 'quoted' = 'start'
  let isPending = false
  const endCell = () => {
    record.push(cell)
    cell = ''
    state = 'start'
  }
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    isPending = true
    if (state === 'quoted') {
      if (char !== '"') cell += char
      else if (text[at + 1] === '"') {
        cell += '"'
        at++
      } else state = 'plain'
    } else if (char === '"' && state === 'start') state = 'quoted'
    else if (char === ',') endCell()
    else if (char === '\n' || char === '\r') {
      if (char === '\r' && text[at + 1] === '\n') at++
      endCell()
      records.push(record)
      record = []
      isPending = false
    } else {
      cell += char
      state = 'plain'
    }
  }
  if (isPending) {
    endCell()
    records.push(record)
  }
  return records
}

describe('a CSV', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'Ñ', ' ', '"', ',', '\n', '\r', '/'), maxLength: 6 })

  it('reads as an oracle of one character at a time reads it, however broken', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r'), maxLength: 24 }), (text) => {
        expect([...recordsOf(text)]).toEqual(slowRecords(text))
      }),
      { numRuns: 3_000 },
    )
  })

  it('gives back what was written into it', () => {
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 6 }), (records) => {
        expect([...recordsOf(csvOf(records))]).toEqual(records)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is the same without the mark of its byte order, and in pieces of any size', () => {
    const text = 'a,"b\r\nc"\r\nñ,"d""e"\r\n'
    for (let size = 1; size <= text.length + 1; size++) {
      const pieces = `\uFEFF${text}`.match(new RegExp(`[^]{1,${size}}`, 'g'))!
      expect([...recordsOf(pieces)]).toEqual(slowRecords(text))
    }
  })

  it('says whether its last quote is closed', () => {
    const isCut = (text: string): boolean => {
      const records = recordsOf([text])
      for (;;) {
        const next = records.next()
        if (next.done) return next.value
      }
    }
    expect(['', 'a', '"a"', '"a', 'a\n"', '"a\n', '"a""', 'a"'].map(isCut)).toEqual([false, false, false, true, true, true, true, false])
  })

  it('is decoded as UTF-8, and as windows-1252 when it is none', () => {
    const long = 'ñ'.repeat(40_000)
    expect([...textsOf(new TextEncoder().encode(`\uFEFF${long}`))].join('')).toBe(long)
    expect([...textsOf(bytesOf(`${long}“`))].join('')).toBe(`${long}“`)
  })
})

it('a record has at most 1,000 cells, and the rest of its line is passed over', () => {
  const cells = (count: number) => ','.repeat(count - 1)
  const read = [...recordsOf([`${cells(1_000)}\n`, `${cells(3_000_000)}\r\n`, `a,b`])]
  expect(read.map(({ length }) => length)).toEqual([1_000, 1_000, 2])
})
