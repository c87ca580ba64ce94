import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { words } from '../../console/pages/insight/sentences/rule-words.ts'

/** It knows the language of the browser, whose types the program of the tests does not have. */
const FILE = '../../console/pages/insight/sentences/rules.ts'
interface Saying {
  nameOf: (key: string) => string
  valueOf: (key: string, value: unknown) => string
}

const rules = JSON.parse(readFileSync('assets/rules.json', 'utf8')) as { key: string; value: unknown }[]
const said = rules.map(({ key, value }) => ({ key, value: key.startsWith('catalog.') ? null : value }))

describe.each(['es', 'en'] as const)('what the console says of the rules, in %s', (language) => {
  let saying: Saying
  beforeAll(async () => {
    vi.stubGlobal('localStorage', { getItem: () => language, setItem: () => undefined })
    vi.resetModules()
    const { sayingRules } = (await import(FILE)) as { sayingRules: (language: string) => Saying }
    saying = sayingRules(language)
    return () => vi.unstubAllGlobals()
  })

  it('each rule of the service has a name', () => {
    expect(said.length).toBeGreaterThan(80)
    expect(said.filter(({ key }) => saying.nameOf(key) === key)).toEqual([])
  })

  it('no name is of nothing', () => {
    expect(Object.keys(words[language].names).filter((key) => rules.every((one) => one.key !== key))).toEqual([])
  })

  it('no value is shown as JSON, or by a name of the code', () => {
    const values = said.map(({ key, value }) => [key, saying.valueOf(key, value)] as const)
    expect(values.filter(([, text]) => !text || /[{}[\]"]|undefined|NaN|[a-z]_[a-z]/.test(text))).toEqual([])
  })

  it.each([
    ['isr.company', '0.30', '30 %', '30 %'],
    ['cash.threshold', '2000', '$2,000.00', '$2,000.00'],
    ['rep.due_day', 5, 'El día 5 del mes siguiente', 'Day 5 of the next month'],
    ['deduction.fuel', { claves: ['15101'] }, 'Con clave que empieza con 15101', 'With a key that begins with 15101'],
    ['fx.sensitivity', ['0.01', '0.05', '0.10'], '1 %, 5 % y 10 %', '1 %, 5 %, and 10 %'],
    [
      'deduction.global_cap',
      { uma: '5', income: '0.15' },
      'Lo menor de 5 UMA anuales y 15 % del ingreso del año',
      'The lesser of 5 annual UMA and 15 % of the income of the year',
    ],
    [
      'isr.tariff',
      [{ lower: '746.05', fixed: '14.32', rate: '0.0640' }],
      'Desde $746.05: $14.32 y 6.4 % del excedente',
      'From $746.05: $14.32 and 6.4 % of the excess',
    ],
    ['isr.resico_pf', [{ up_to: '25000', rate: '0.01' }], 'Hasta $25,000.00: 1 %', 'Up to $25,000.00: 1 %'],
    ['indicator.blacklist_status', 0, '0', '0'],
    [
      'obligation.annual_due',
      { moral: '03-31', fisica: '04-30' },
      'Personas morales: 31 de marzo; personas físicas: 30 de abril',
      'Companies: March 31; natural persons: April 30',
    ],
    ['another.rule', { of: 'an operator' }, '{"of":"an operator"}', '{"of":"an operator"}'],
  ])('%s says its value', (key, value, es, en) => expect(saying.valueOf(key, value)).toBe(language === 'es' ? es : en))

  it('a part of a whole is said to its last digit', () => {
    const withholding = rules.find(({ key }) => key === 'withholding.resico_pf')!
    expect(saying.valueOf(withholding.key, withholding.value)).toContain('ISR 1.25 %')
    expect(saying.valueOf(withholding.key, withholding.value)).toContain('IVA 2/3')
  })
})
