import Big from 'big.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fixed, product, ratioOf, shifted, sumOf } from '../../src/platform/money.ts'

/** Amounts as documents have them, and longer ones. */
const decimal = fc
  .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat(9), fc.bigInt({ min: 0n, max: 10n ** 9n }))
  .map(
    ([sign, whole, places, fraction]) =>
      `${sign}${whole}${places === 0 ? '' : `.${String(fraction).padStart(places, '0').slice(0, places)}`}`,
  )
const integer = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n })
const big = (value: bigint | string): Big => new Big(value.toString())
const rounded = (value: Big): bigint => BigInt(value.round(0, Big.roundHalfUp).toFixed(0))

it('decimal arithmetic agrees with the reference library', () => {
  Big.DP = 60
  fc.assert(
    fc.property(decimal, decimal, integer, fc.nat(8), (a, b, n, places) => {
      expect(shifted(a, places)).toBe(rounded(big(a).times(big(10n ** BigInt(places)))))
      expect(product(n, a)).toBe(rounded(big(n).times(a)))
      if (!big(a).eq(0)) expect(ratioOf(n, a)).toBe(rounded(big(n).div(a)))
      expect(new Big(sumOf(a, b)).eq(big(a).plus(b))).toBe(true)
      expect(new Big(fixed(n, places)).eq(big(n).div(big(10n ** BigInt(places))))).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

it('halves are rounded up in size, and decimal places are kept', () => {
  expect([shifted('0.0000005', 6), shifted('-0.0000005', 6), shifted('0.00000049', 6)]).toEqual([1n, -1n, 0n])
  expect([sumOf('1.10', '2'), sumOf('0', '0'), sumOf('10.5', '-0.5'), fixed(160_000n, 6)]).toEqual(['3.10', '0', '10.0', '0.160000'])
  for (const text of ['', '.', '-', '1e3', '0x1', '1.2.3']) expect(() => shifted(text, 6)).toThrow(TypeError)
  expect(() => ratioOf(1n, '0.00')).toThrow(RangeError)
})
