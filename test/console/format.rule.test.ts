import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { withInstants } from '../../console/api/instants.ts'

/** It knows the language of the browser, whose types the program of the tests does not have. */
const FILE = '../../console/format.ts'
type Say = (value: unknown, currency?: string) => string
type Format = Record<'binary' | 'compact' | 'count' | 'decimal' | 'exact' | 'money' | 'percent' | 'rate', Say> & {
  unsigned: (text: string | null) => string | null
}

describe.each(['es', 'en'] as const)('a figure below zero, in %s', (language) => {
  let format: Format
  beforeAll(async () => {
    vi.stubGlobal('localStorage', { getItem: () => language, setItem: () => undefined })
    vi.resetModules()
    format = (await import(FILE)) as Format
  })
  afterAll(() => vi.unstubAllGlobals())

  it('has one minus, whatever it is', () => {
    const { compact, count, decimal, exact, money, percent, rate } = format
    const shown = [
      money('-62996.37'),
      money('-1.5', 'USD'),
      exact('-0.005'),
      decimal('-2.50'),
      percent('-0.5'),
      rate('-0.125'),
      count(-3),
      compact(-12),
    ]
    expect(shown.filter((text) => !text.startsWith('−') || text.includes('-'))).toEqual([])
    expect(money('-62996.37')).toBe('−$62,996.37')
  })

  it.each([
    [524_288_000, '500 MiB'],
    [1_073_741_824, '1 GiB'],
    [10 * 1_073_741_824, '10 GiB'],
    [1_536, '1.5 KiB'],
  ])('of %d bytes, a limit is %s', (size, shown) => expect(format.binary(size)).toBe(shown))

  it('times in the sentences of the API are said as those of the page', () => {
    const say = (iso: string, zone: string) => `<${iso} ${zone}>`
    const zone = 'America/Mexico_City'
    expect(withInstants('Sigue el 24/11/2026 a las 17:11 (America/Mexico_City), o el 25/11/2026 a las 00:00.', zone, say)).toBe(
      'Sigue el <2026-11-24T17:11:00Z UTC>, o el <2026-11-25T00:00:00Z UTC>.',
    )
    expect(withInstants('It begins at 2026-11-25 06:00 UTC.', zone, say)).toBe('It begins at <2026-11-25T06:00:00Z America/Mexico_City>.')
    expect(withInstants('Sigue el 24/11/2026 a las 17:11.', zone, () => '24 nov, 5:11 p.m.')).toBe('Sigue el 24 nov, 5:11 p.m.')
  })

  it('has no sign where its name says it', () => {
    expect(format.money(format.unsigned('-62996.37'))).toBe('$62,996.37')
    expect(format.unsigned('0.00')).toBe('0.00')
    expect(format.unsigned(null)).toBeNull()
  })
})
