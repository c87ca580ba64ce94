import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isOddRfc } from '../../console/pages/work/connect/check-digit.ts'
import { hasValidCheckDigit } from '../../src/taxpayers/rfc.ts'

it('whoever connects an RFC is asked about those of which the API warns, and about no other', () => {
  const digits = fc.stringMatching(/^\d{6}$/)
  const all = fc.tuple(fc.stringMatching(/^[A-ZÑ&]{3,4}$/), digits, fc.stringMatching(/^[A-Z\d]{2}[A\d]$/)).map((parts) => parts.join(''))
  fc.assert(fc.property(all, (rfc) => isOddRfc(rfc) !== hasValidCheckDigit(rfc)))
  expect(['EKU9003173C9', 'EKU9003173C8', 'nothing'].map(isOddRfc)).toEqual([false, true, false])
})
