import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trialEmailOf } from '../../../../src/accounts/billing/subscription/status.ts'

describe('the address of a trial', () => {
  it.each([
    ['Ana@Example.COM', 'ana@example.com'],
    [' ana@example.com ', 'ana@example.com'],
    ['ana+sat@example.com', 'ana@example.com'],
    ['ana+a+b@example.com', 'ana@example.com'],
    ['a.na@example.com', 'a.na@example.com'],
    ['A.N.A@gmail.com', 'ana@gmail.com'],
    ['an.a+uno@GoogleMail.com', 'ana@gmail.com'],
    ['+ana@example.com', '+ana@example.com'],
    ['++ana@example.com', '+@example.com'],
    ['ana@gmail.com.mx', 'ana@gmail.com.mx'],
    ['a.na+x@mail.gmail.com', 'a.na@mail.gmail.com'],
  ])('of %s is %s', (email, expected) => {
    expect(trialEmailOf(email)).toBe(expected)
  })

  it('is its own normal form, whatever the case, the tag or the dots', () => {
    const local = fc.stringMatching(/^[a-z0-9]{1,12}$/)
    const domain = fc.constantFrom('example.com', 'despacho.mx', 'gmail.com', 'googlemail.com')
    fc.assert(
      fc.property(local, domain, fc.stringMatching(/^[a-z0-9.+]{0,8}$/), fc.boolean(), (name, host, tag, isUpper) => {
        const dotted = host.startsWith('g') ? [...name].join('.') : name
        const written = `${dotted}+${tag}@${host}`
        const normal = trialEmailOf(isUpper ? written.toUpperCase() : written)
        expect(normal).toBe(`${name}@${host === 'googlemail.com' ? 'gmail.com' : host}`)
        expect(trialEmailOf(normal)).toBe(normal)
      }),
    )
  })
})
