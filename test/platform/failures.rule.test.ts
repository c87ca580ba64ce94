import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fault, invalid } from '../../src/platform/failures.ts'

const fault = fc.record({ path: fc.string({ maxLength: 300, unit: 'binary' }), message: fc.string({ maxLength: 1_500, unit: 'binary' }) })

describe('a refusal of values', () => {
  it('names the first twenty faults, cut, and counts every other', () => {
    fc.assert(
      fc.property(fc.array(fault, { minLength: 1, maxLength: 60 }), fc.nat(1_000), (faults, unlisted) => {
        const { extra } = invalid('a.code', faults as [Fault, ...Fault[]], unlisted)
        const { errors = [], left_out } = extra
        expect(errors.length).toBe(Math.min(faults.length, 20))
        expect(errors.length + left_out!).toBe(faults.length + unlisted)
        for (const [n, { path, message }] of errors.entries()) {
          expect([path.length <= 100, message.length <= 500, `${path}${message}`.isWellFormed()]).toEqual([true, true, true])
          const sent = faults[n]!
          if (sent.path.length <= 100) expect(path).toBe(sent.path)
          else expect([path.at(-1), path.length]).toEqual(['…', 100])
          if (sent.message.length <= 500) expect(message).toBe(sent.message)
          else expect([message.at(-1), message.length]).toEqual(['…', 500])
        }
      }),
    )
  })

  it('says its first fault in the sentence, of the body when it has no path', () => {
    const { message } = invalid('a.code', [{ path: 'x'.repeat(101), message: 'Is wrong.' }])
    expect(message).toBe(`${'x'.repeat(99)}…: Is wrong.`)
    expect(invalid('a.code', [{ path: '', message: 'Is wrong.' }]).message).toBe('body: Is wrong.')
  })

  it('does not cut a character in two', () => {
    const [cut] = invalid('a.code', [{ path: `${'x'.repeat(98)}😀😀`, message: 'Is wrong.' }]).extra.errors!
    expect(cut!.path).toBe(`${'x'.repeat(98)}\ufffd…`)
  })
})
