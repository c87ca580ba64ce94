import { expect, it } from 'vitest'
import type * as z from 'zod'
import { InvalidInput, parse } from '../../../src/platform/http/validation/faults.ts'
import { nameOf, ROUTES } from '../../support/wire.ts'

const BROKEN: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e15, 2 ** 60, Number.POSITIVE_INFINITY, Number.NaN],
  ...['', ' ', 'x', '0', '-1', 'true', '2026-13-01', '2026-01-01T00:00:00', 'fe_1', 'x@', 'https://', '\u0000', 'x'.repeat(5_000)],
  ...['a,b,,c', 'I,E,P,N,T,X', '123456', '99999999'],
  ...[[], [null], [1], [''], ['x', 'x'], ['x'.repeat(5_000)], Array(600).fill('x'), Array(600).fill({})],
  ...[{}, { surprise: 1 }, { n: 0 }, { weekday: 9, nth: 9 }, [{ descripcion: '', folio: 1 }], [{}]],
]

/** How zod begins its own messages. */
const ZODS = /^(Invalid|Too (small|big)|Unrecognized|Expected|Required$|Input|Must be a (valid|multiple)|Nonoptional)/

const INPUTS = ROUTES.flatMap((route) =>
  route.clauses.flatMap(({ input }) => (input ? [{ name: `${nameOf(route)} ${input.target}`, ...input }] : [])),
)

function faultsOf(target: 'json' | 'query' | 'param', schema: z.ZodObject, value: unknown) {
  try {
    parse(target, schema, value)
    return []
  } catch (error) {
    if (error instanceof InvalidInput) return error.faults
    throw error
  }
}

it.each(INPUTS)('$name: every fault is said in a sentence of ours', ({ target, schema }) => {
  const names = Object.keys(schema.shape)
  const values = [...BROKEN, ...names.flatMap((name) => BROKEN.map((value) => ({ [name]: value }))), { surprise: 1, ['x'.repeat(200)]: 1 }]
  let faults = 0
  for (const value of values)
    for (const { path, message } of faultsOf(target, schema, value)) {
      faults++
      const what = `${path} of ${JSON.stringify(value)?.slice(0, 100)}: ${message}`
      expect(message, what).not.toMatch(ZODS)
      expect(message, what).toMatch(/^[A-Z`].{4,500}[.?]$/)
      // A value that is refused without a word about what is expected needs a message or a documented schema.
      expect(message, what).not.toBe('Is not valid.')
    }
  expect(faults).toBeGreaterThanOrEqual(BROKEN.filter((value) => typeof value !== 'object' || value === null).length)
})

it('covers every schema of a request', () => {
  expect(INPUTS.length).toBeGreaterThan(70)
})
