import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { documented, Email, GivenDay, GivenInstant, Id, Instant, integerParameter, trimmedText } from '../../../src/platform/http/shapes.ts'
import { InvalidInput, parse } from '../../../src/platform/http/validation/faults.ts'
import { expectationOf } from '../../../src/platform/http/validation/json-schema.ts'

type Target = 'json' | 'query' | 'param'

/** The faults of a value, as `path: message`. */
function faultsOf(schema: z.ZodType, value: unknown, target: Target = 'json'): string[] {
  try {
    parse(target, schema, value)
  } catch (error) {
    if (error instanceof InvalidInput) return error.faults.map(({ path, message }) => `${path}: ${message}`)
    throw error
  }
  return []
}

const Cadence = z.enum(['daily', 'every_n_days', 'nth_weekday_monthly']).meta({ id: 'TestCadence' })
const commaSeparated = documented(
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(Cadence).min(1).max(2)),
  { type: 'string', description: 'Comma separated.' },
)

const DATE = 'a date, YYYY-MM-DD'
const INSTANT = 'a date and time with an offset, such as 2026-01-31T18:00:00Z'

/** Every construct of the contracts: its schema, values at fault, and what is said of each of them. */
const CONSTRUCTS: [name: string, schema: z.ZodType, wrong: unknown[], message: string][] = [
  ['text', z.string(), [1, null, [], {}, true], 'Must be text.'],
  ['text with a least length', z.string().min(2), ['', 'a', 5], 'Must be text of at least 2 characters.'],
  ['text of one character at least', z.string().min(1), ['', 5], 'Must be text of at least 1 character.'],
  ['text with a greatest length', z.string().max(3), ['abcd', null], 'Must be text of at most 3 characters.'],
  ['text with both', z.string().min(1).max(40), ['', 'x'.repeat(41), 1], 'Must be text of 1 to 40 characters.'],
  ['text with one length', z.string().length(3), ['ab', 'abcd', 1], 'Must be text of 3 characters.'],
  ['text with a pattern', z.string().regex(/^\d{2}$/), ['x', 1], 'Must be text that matches ^\\d{2}$.'],
  ['trimmed text', trimmedText(1, 120), ['', '  ', 'x'.repeat(121), 1], 'Must be text of 1 to 120 characters.'],
  [
    'trimmed text with control characters',
    trimmedText(1, 120),
    ['a\u0007b', 'a\u0085b', 'a\nb', 'a\u2028b', 'a\u202eb', 'a\u2066b\u2069'],
    'Must not contain control characters.',
  ],
  [
    'trimmed text that nobody can see',
    trimmedText(1, 120),
    ['\u200b', '\u200b\u200d\u2060', '\u00ad', '\u200f', '\u3164', '\u{e0020}', ' \u200b \u200b ', '\ufe0f'],
    'Must contain a visible character.',
  ],
  [
    'trimmed text with half of a pair',
    trimmedText(1, 120),
    ['\ud83d', 'a\ude00b', '\ude00\ud83d', 'x\ud800'],
    'Must be well-formed Unicode, without half of a surrogate pair.',
  ],
  ['text or null', z.string().max(3).nullable(), ['abcd', 1], 'Must be text of at most 3 characters or null.'],
  ['an integer', z.int(), ['1', 1.5, null, true], 'Must be an integer.'],
  ['an integer in a range', z.int().min(1).max(240), [0, 241, 1.5, '5', null], 'Must be an integer from 1 to 240.'],
  ['an integer with a floor', z.int().min(1), [0, 'x'], 'Must be an integer of at least 1.'],
  ['an integer with a ceiling', z.int().max(9), [10, 'x'], 'Must be an integer of at most 9.'],
  ['a positive integer', z.int().positive(), [0, -1, 'x'], 'Must be an integer of more than 0.'],
  ['an integer or null', z.int().min(1).max(240).nullable(), [0, 241, 'x'], 'Must be an integer from 1 to 240 or null.'],
  ['a number', z.number(), ['1', Number.POSITIVE_INFINITY], 'Must be a number.'],
  ['a number in a range', z.number().min(0.5).max(2), [0, 3, 'x'], 'Must be a number from 0.5 to 2.'],
  ['a boolean', z.boolean(), ['true', 1, null], 'Must be true or false.'],
  ['a boolean or null', z.boolean().nullable(), ['true'], 'Must be true or false, or null.'],
  ['a choice', Cadence, ['weekly', 1, null, 'd'], 'Must be one of daily, every_n_days, nth_weekday_monthly.'],
  ['a choice or null', Cadence.nullable(), ['weekly', 1], 'Must be one of daily, every_n_days, nth_weekday_monthly, or null.'],
  [
    'a choice with a default',
    Cadence.nullable().default(null),
    ['weekly'],
    'Must be one of daily, every_n_days, nth_weekday_monthly, or null.',
  ],
  ['one value', z.literal('custom'), ['other', null, 1], 'Must be "custom".'],
  ['one value or null', z.literal('custom').nullable(), ['other', 1], 'Must be "custom" or null.'],
  ['a date', z.iso.date(), ['2026-02-30', '2026-1-1', '', 1], `Must be ${DATE}.`],
  ['a date or null', z.iso.date().nullable(), ['x'], `Must be ${DATE}, or null.`],
  ['an instant', Instant, ['2026-01-31', '2026-01-31T18:00:00', 1], `Must be ${INSTANT}.`],
  [
    'a given day outside the years',
    GivenDay,
    ['1999-12-31', '0001-01-01', '2200-01-01', '9999-12-31'],
    'Must be in a year from 2000 to 2199.',
  ],
  ['a given day that is none', GivenDay, ['1999-13-01', 'x', '-1880-01-01', '+010000-01-01', '10000-01-01'], `Must be ${DATE}.`],
  [
    'a given instant outside the years',
    GivenInstant,
    ['1999-12-31T23:59:59Z', '2200-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+23:59'],
    'Must be in a year from 2000 to 2199.',
  ],
  ['a given instant that is none', GivenInstant, ['1999', '2026-01-31', '+010000-01-01T00:00:00Z'], `Must be ${INSTANT}.`],
  ['a date or an instant', z.union([z.iso.date(), Instant]), ['soon', 1], `Must be ${DATE}, or ${INSTANT}.`],
  ['text or a number', z.union([z.string(), z.number()]).transform(String), [true, null, []], 'Must be text or a number.'],
  [
    'an e-mail address',
    Email,
    ['ada', 'ada@', `${'a'.repeat(250)}@example.com`, 1],
    'Must be an e-mail address of at most 254 characters.',
  ],
  ['an e-mail address behind a pipe', z.string().trim().pipe(z.email()), ['ada'], 'Must be an e-mail address.'],
  ['a URL', z.url().max(2048), ['x', 1, `https://e.example/${'x'.repeat(2048)}`], 'Must be a URL of at most 2048 characters.'],
  ['an identifier', Id('ext'), ['ext_1', 'run_01kabcdefghjkmnpqrstvwxyz0', ''], 'Must be an identifier with the prefix ext_.'],
  ['a list', z.array(z.string()), ['x', {}, null], 'Must be a list.'],
  ['a list with bounds', z.array(z.string()).min(1).max(3), [[], ['a', 'b', 'c', 'd'], 'x'], 'Must be a list of 1 to 3 items.'],
  ['a list with a floor', z.array(z.string()).min(1), [[], null], 'Must be a list of at least 1 item.'],
  ['a list with a ceiling', z.array(z.string()).max(1), [['a', 'b'], 'x'], 'Must be a list of at most 1 item.'],
  ['an object', z.strictObject({ a: z.string().optional() }), ['x', [], null, 1], 'Must be an object.'],
  [
    'an object that is documented otherwise',
    z.custom((it) => it === 1).meta({ documented: { type: 'object' } }),
    [2],
    'Must be an object.',
  ],
  ['what is not documented', z.custom((it) => it === 1), [2], 'Is not valid.'],
  ['what has words of its own', z.string().refine((text) => text === 'a', 'Must be a.'), ['b'], 'Must be a.'],
  ['what is null only', z.null(), [1], 'Must be null.'],
]

it.each(['Panadería Ñandú, S.A. de C.V.', '株式会社', 'शर्मा', 'مؤسسة', '👨‍👩‍👧', 'e\u0301lite', 'a\u200bb'])('%s is a name', (name) => {
  expect(faultsOf(z.strictObject({ it: trimmedText(1, 120) }), { it: name })).toEqual([])
})

it.each(['2000-01-01', '2026-02-28', '2199-12-31'])('%s is a day and begins an instant', (day) => {
  const schema = z.strictObject({ day: GivenDay, instant: GivenInstant })
  expect(faultsOf(schema, { day, instant: `${day}T23:59:59.999-06:00` })).toEqual([])
})

it('an instant has at most nine digits after its second', () => {
  const schema = z.strictObject({ instant: GivenInstant })
  const of = (digits: number) => faultsOf(schema, { instant: `2026-01-31T18:00:00.${'1'.repeat(digits)}-06:00` })
  expect([of(9), of(10), of(900_000)]).toEqual([
    [],
    ['instant: Must have at most nine digits after the second.'],
    ['instant: Must have at most nine digits after the second.'],
  ])
})

describe('what is said of a value at fault', () => {
  it.each(CONSTRUCTS)('%s', (_, schema, wrong, message) => {
    for (const value of wrong) expect([value, faultsOf(z.strictObject({ it: schema }), { it: value })]).toEqual([value, [`it: ${message}`]])
  })

  it.each(CONSTRUCTS)('%s, deep inside', (_, schema, wrong, message) => {
    const list = z
      .strictObject({
        list: z
          .array(z.strictObject({ it: schema }))
          .nullable()
          .default([]),
      })
      .meta({ id: `Deep${_}` })
    for (const value of wrong) expect(faultsOf(list, { list: [{ it: value }] })).toEqual([`list[0].it: ${message}`])
  })

  it.each(
    CONSTRUCTS.filter(([name]) => !name.includes('default') && !name.includes('not documented') && !name.includes('documented otherwise')),
  )('%s: is required where it is absent', (_, schema) => {
    expect(faultsOf(z.strictObject({ it: schema }), {})).toEqual(['it: Is required.'])
  })

  it('of what is not an object at all', () => {
    for (const value of [null, [], 'x', 1, true])
      expect(faultsOf(z.strictObject({ a: z.string() }), value)).toEqual([': Must be an object.'])
  })

  it('of unknown members, each by itself', () => {
    const schema = z.strictObject({ a: z.strictObject({ b: z.string() }) })
    expect(faultsOf(schema, { a: { b: 'x', c: 1, d: 2 }, e: 1 })).toEqual([
      'a.c: Unknown member.',
      'a.d: Unknown member.',
      'e: Unknown member.',
    ])
    expect(faultsOf(z.strictObject({}), { a: '1' }, 'query')).toEqual(['a: Unknown query parameter.'])
    expect(faultsOf(z.strictObject({}), { a: '1' }, 'param')).toEqual(['a: Unknown path parameter.'])
  })

  it('of twenty at the most, whose hints are looked up for them alone', () => {
    const members = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`m${n}`, 1]))
    const hint = vi.fn(() => '')
    expect(() => parse('json', z.strictObject({}), members, hint)).toThrow(InvalidInput)
    expect(hint).toHaveBeenCalledTimes(20)
    const list = (length: number) => faultsOf(z.strictObject({ a: z.array(z.string()) }), { a: Array.from({ length }, () => 1) })
    expect(list(20_000)).toHaveLength(20)
    expect(list(400_000)).toEqual([': Has too many faults to be listed.'])
  })

  it('of an instant in a query whose plus sign was not encoded', () => {
    const at = 'Must be a date and time with an offset, such as 2026-01-31T18:00:00Z.'
    const schema = z.strictObject({ at: Instant })
    for (const value of ['2026-01-01T00:00:00 00:00', '2026-01-01T00:00:00.000 06:00'])
      expect(faultsOf(schema, { at: value }, 'query')).toEqual([`at: ${at} A plus sign in a query is written %2B.`])
    expect(faultsOf(schema, { at: '2026-01-01 00:00:00' }, 'query')).toEqual([`at: ${at}`])
    expect(faultsOf(schema, { at: '2026-01-01T00:00:00 00:00' })).toEqual([`at: ${at}`])
  })

  it('of several faults: one each, in the order of the schema', () => {
    const schema = z.strictObject({ a: z.int().min(1).max(2), b: z.array(Cadence), c: z.string() })
    expect(faultsOf(schema, { a: 3, b: ['x', 'daily', 1] })).toEqual([
      'a: Must be an integer from 1 to 2.',
      'b[0]: Must be one of daily, every_n_days, nth_weekday_monthly.',
      'b[2]: Must be one of daily, every_n_days, nth_weekday_monthly.',
      'c: Is required.',
    ])
  })

  it('of a query', () => {
    const schema = z.strictObject({ limit: integerParameter(1, 100, 25), cadence: commaSeparated.optional(), day: z.iso.date().optional() })
    for (const limit of ['0', '101', 'x', '1.5', '-1', '', '1e2'])
      expect([limit, faultsOf(schema, { limit }, 'query')]).toEqual([limit, ['limit: Must be an integer from 1 to 100.']])
    expect(faultsOf(schema, { limit: ['1', '2'], day: ['2026-01-01', '2026-01-02'] }, 'query')).toEqual([
      'limit: Must be given only once.',
      'day: Must be given only once.',
    ])
    expect(faultsOf(schema, { cadence: 'daily,weekly' }, 'query')).toEqual([
      'cadence[1]: Must be one of daily, every_n_days, nth_weekday_monthly.',
    ])
    expect(faultsOf(schema, { cadence: 'daily,daily,daily' }, 'query')).toEqual(['cadence: Must be a list of at most 2 items.'])
  })
})

describe('a value that is near a known one', () => {
  const faultOf = (value: unknown) =>
    faultsOf(z.strictObject({ it: Cadence, all: z.array(Cadence).optional() }), { it: 'daily', all: [value] })

  it.each([
    ['DAILY', 'daily'],
    ['daly', 'daily'],
    ['every-n-days', 'every_n_days'],
    ['nth_weekday', 'nth_weekday_monthly'],
  ])('%s is taken for %s', (written, meant) => {
    expect(faultOf(written)).toEqual([`all[0]: Must be one of daily, every_n_days, nth_weekday_monthly. Did you mean ${meant}?`])
  })

  it('is one of at most 20 that are named', () => {
    const Many = z.enum(Array.from({ length: 23 }, (_, n) => `value_${n}`) as [string, ...string[]])
    const [fault] = faultsOf(z.strictObject({ it: Many }), { it: 'VALUE-22' })
    expect(fault).toMatch(/value_18, value_19, … \(3 more\)\. Did you mean value_22\?$/)
  })
})

describe('an expectation', () => {
  it.each([
    [{ type: 'string', minLength: 1, maxLength: 120 }, 'text of 1 to 120 characters'],
    [{ type: 'string', format: 'uuid' }, 'a UUID'],
    [{ type: 'string', format: 'unheard-of', maxLength: 1 }, 'text of at most 1 character'],
    [{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, 'an integer'],
    [{ type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 }, 'an integer of more than 0 and less than 10'],
    [{ type: ['string', 'number'] }, 'text or a number'],
    [{ enum: ['a'] }, '"a"'],
    [{ const: null }, 'null'],
    [{ oneOf: [{ type: 'object' }, { type: 'object' }, { type: 'null' }] }, 'an object or null'],
    [{ anyOf: [{ type: 'string' }, {}] }, undefined],
    [{}, undefined],
  ])('%j is %s', (schema, expected) => {
    expect(expectationOf(schema)).toBe(expected)
  })
})
