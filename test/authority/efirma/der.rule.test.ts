import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bytesOfBits, DerReader, integerOf, NotDer, oidOf, TAG, takeTime, textOf } from '../../../src/authority/efirma/der.ts'
import { runs } from '../../support/fuzz.ts'
import { der, oid, SEQUENCE } from '../support/certificates.ts'

const bytes = (...all: number[]): Uint8Array => new Uint8Array(all)
const text = (value: string): Uint8Array => new TextEncoder().encode(value)

it('values are read one after the other, with lengths of up to three bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0, 1, 127, 128, 255, 256, 65_535, 65_536), { maxLength: 4 }), (lengths) => {
      const contents = lengths.map((length, n) => new Uint8Array(length).fill(n))
      const reader = new DerReader(der(SEQUENCE, ...contents.map((content) => der(TAG.octetString, content)))).enter(TAG.sequence)
      for (const content of contents) expect(Buffer.compare(reader.take(TAG.octetString), content)).toBe(0)
      reader.end()
      expect(reader.tag).toBeNull()
    }),
    { numRuns: runs(30, 300) },
  )
})

it('a value can be taken whole, with its tag and length', () => {
  const value = der(SEQUENCE, der(TAG.null), der(TAG.oid, bytes(0x2a)))
  const reader = new DerReader(new Uint8Array([...value, 5, 0]))
  expect(reader.takeWhole(TAG.sequence)).toEqual(new Uint8Array(value))
  expect(() => reader.end()).toThrow(NotDer)
  expect(reader.take(TAG.null)).toHaveLength(0)
})

it.each([
  ['nothing', bytes()],
  ['another tag', bytes(0x31, 0)],
  ['no length', bytes(0x30)],
  ['an indefinite length', bytes(0x30, 0x80, ...new Array(130).fill(0))],
  ['a length of four bytes', bytes(0x30, 0x84, 0, 0, 0, 1, 0)],
  ['a length that breaks off', bytes(0x30, 0x82, 1)],
  ['a short length in the long form', bytes(0x30, 0x81, 1, 0)],
  ['a length with a leading zero', bytes(0x30, 0x82, 0, 0x80, ...new Array(128).fill(0))],
  ['a content that breaks off', bytes(0x30, 2, 0)],
])('%s is refused', (_, value) => {
  expect(() => new DerReader(value).take(TAG.sequence)).toThrow(NotDer)
})

it.each([
  ['an empty integer', () => integerOf(bytes())],
  ['a negative integer', () => integerOf(bytes(0x80))],
  ['an integer with a leading zero', () => integerOf(bytes(0, 1))],
  ['an empty object identifier', () => oidOf(bytes())],
  ['an object identifier that breaks off', () => oidOf(bytes(0x2a, 0x86))],
  ['an object identifier with a leading zero', () => oidOf(bytes(0x2a, 0x80, 1))],
  ['an object identifier without bounds', () => oidOf(bytes(0x2a, ...new Array(20).fill(0xff), 1))],
  ['bits that are no bytes', () => bytesOfBits(bytes(3, 0xf8))],
  ['bits without their count', () => bytesOfBits(bytes())],
  ['a name that is no text', () => textOf(TAG.null, bytes())],
  ['a time without seconds', () => takeTime(new DerReader(der(TAG.utcTime, text('2501010000Z'))))],
  ['a time with an offset', () => takeTime(new DerReader(der(TAG.utcTime, text('250101000000+0100'))))],
  ['a month that does not exist', () => takeTime(new DerReader(der(TAG.utcTime, text('251301000000Z'))))],
  ['a day that does not exist', () => takeTime(new DerReader(der(TAG.generalizedTime, text('20250229000000Z'))))],
  ['a minute that does not exist', () => takeTime(new DerReader(der(TAG.utcTime, text('250101006000Z'))))],
  ['a second that does not exist', () => takeTime(new DerReader(der(TAG.utcTime, text('250101000060Z'))))],
  ['an hour that does not exist', () => takeTime(new DerReader(der(TAG.utcTime, text('250101240000Z'))))],
])('%s is refused', (_, read) => {
  expect(read).toThrow(NotDer)
})

it('numbers, object identifiers, times and texts are what they stand for', () => {
  expect(integerOf(bytes(0))).toBe(0n)
  expect(integerOf(bytes(0, 0xff))).toBe(255n)
  expect(integerOf(bytes(0, 0x80))).toBe(128n)
  expect(integerOf(text('30001000000500003415'))).toBe(292233162870206001759766198462772978647764840757n)
  for (const one of ['1.2.840.113549.1.1.1', '2.5.4.45', '0.9.2342.19200300.100.1.25', '2.16.840.1.101.3.4.1.42'])
    expect(oidOf(new DerReader(oid(one)).take(TAG.oid))).toBe(one)
  expect([bytes(39), bytes(79), bytes(80), bytes(0x2a, 0x81, 0x80, 1)].map(oidOf)).toEqual(['0.39', '1.39', '2.0', '1.2.16385'])
  const timeOf = (tag: number, time: string) => takeTime(new DerReader(der(tag, text(time)))).toISOString()
  expect(timeOf(TAG.utcTime, '490101000000Z')).toBe('2049-01-01T00:00:00.000Z')
  expect(timeOf(TAG.utcTime, '500101000000Z')).toBe('1950-01-01T00:00:00.000Z')
  expect(timeOf(TAG.generalizedTime, '20280229235959Z')).toBe('2028-02-29T23:59:59.000Z')
  for (const tag of [TAG.utf8String, TAG.printableString, TAG.t61String]) expect(textOf(tag, text('Ñ&A'))).toBe('Ñ&A')
  expect(textOf(TAG.t61String, bytes(0xd1, 0x26))).toBe('Ñ&')
  expect(textOf(TAG.bmpString, bytes(0, 0xd1, 0, 0x26))).toBe('Ñ&')
  expect(textOf(TAG.bitString, bytes(0, 0xc3, 0x91))).toBe('Ñ')
})
