import formas from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_formas_pago'
import regimes from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_regimenes_fiscales'
import uses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_usos_cfdi'
import Big from 'big.js'
import { describe, expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { ownRulesIn } from '../../../scripts/rule-commands.ts'
import { type RuleKey, type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { SHAPES } from '../../../src/authority/rules/shapes.ts'
import { dayOfEpoch, epochDayOf } from '../../../src/platform/time/calendar.ts'

const rows = defaults as RuleRow[]
const rowsOf = (key: string) => rows.filter((row) => row.key === key).sort((a, b) => (a.valid_from < b.valid_from ? -1 : 1))
const on = (day: string) => Rules.of([], rows, day)
const today = on('2026-11-22')

/** Rules that did not exist when CFDIs began to be held, and those with a gap. */
const LATER = [
  'withholding.resico_primario',
  'withholding.resico_autotransporte',
  'withholding.resico_desperdicios',
  'withholding.resico_pf',
  'deduction.excluded_regimes',
  'repse.claves',
  'vat.border',
  'isr.resico_pf',
  'vat.border_regions',
  'diot.file',
  'catalog.regimen_fiscal',
  'catalog.uso_cfdi',
]

describe('the rules that the service comes with', () => {
  it('are of the shape of their keys, and every key has one', () => {
    expect(ownRulesIn(JSON.stringify(defaults))).toHaveLength(rows.length)
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(Object.keys(SHAPES)))
  })

  it('have one value a day, from 2018 on without a gap, and no end', () => {
    for (const key of Object.keys(SHAPES)) {
      const own = rowsOf(key)
      expect([key, own.at(-1)!.valid_to]).toEqual([key, null])
      expect([key, own[0]!.valid_from <= '2018-01-01' || LATER.includes(key)]).toEqual([key, true])
      for (const [n, { valid_to }] of own.slice(0, -1).entries()) {
        const next = own[n + 1]!.valid_from
        if (key === 'vat.border') expect(valid_to! < next).toBe(true)
        else expect([key, dayOfEpoch(epochDayOf(valid_to!) + 1)]).toEqual([key, next])
      }
    }
  })

  it('are the numbers of insights.md', () => {
    const value = (key: RuleKey) => today.get(key)
    expect(['vat.general', 'vat.border', 'vat.zero', 'isr.company'].map((key) => value(key as RuleKey))).toEqual([
      '0.16',
      '0.08',
      '0',
      '0.30',
    ])
    expect(Object.values(value('risk.weights'))).toEqual([
      80, 50, 40, 40, 20, 80, 30, 60, 30, 15, 50, 15, 15, 25, 10, 25, 40, 20, 25, 10, 5,
    ])
    expect(value('risk.levels')).toEqual({ critical: 70, high: 40, medium: 20, most: 100 })
    expect([value('rep.grace_days'), value('rep.due_day'), value('cash.threshold')]).toEqual([45, 5, '2000'])
    expect(value('payment_forms')).toEqual({ cash: ['01'], electronic: ['02', '03', '04', '05', '28', '29'], review: ['06', '08'] })
    // Those of payments of December 2021 are still due on the 10th.
    expect(['2018-05-31', '2021-12-31', '2022-01-31'].map((day) => on(day).get('rep.due_day'))).toEqual([10, 10, 5])
    expect(Object.values(value('deduction.tuition'))).toEqual(['14200', '12900', '19900', '17100', '24500'])
    expect(value('deduction.global_cap')).toEqual({ uma: '5', income: '0.15' })
    expect(value('concentration.levels')).toEqual({ moderate: 1000, high: 1800 })
    const financing = ['advance_rate', 'max_age_days', 'debtor_cap', 'default_terms_days', 'max_overdue_days', 'dso_days', 'payment_months']
    expect(financing.map((name) => value(`financing.${name}` as RuleKey))).toEqual(['0.80', 120, '0.25', 30, 30, 90, 12])
    expect([value('efos.correction_business_days'), value('concepts.outlier_mad'), value('obligation.due_day')]).toEqual([30, '3', 17])
    expect(value('obligation.extension_days')).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4, 9: 5, 0: 5 })
    expect(value('fx.sensitivity')).toEqual(['0.01', '0.05', '0.10'])
    expect(Object.keys(SHAPES).filter((key) => key.startsWith('indicator.'))).toHaveLength(12)
  })

  it('have the UMA of each year: a month is 30.4 days, a year twelve months', () => {
    expect(on('2025-06-01').get('uma').annual).toBe('41273.52')
    expect(today.get('uma').annual).toBe('42794.64')
    expect(new Big(today.get('uma').annual).times(5).toFixed(2)).toBe('213973.20')
    for (const { value } of rowsOf('uma')) {
      const { daily, monthly, annual } = value as Record<string, string>
      expect(new Big(daily!).times('30.4').toFixed(2)).toBe(monthly)
      expect(new Big(monthly!).times(12).toFixed(2)).toBe(annual)
    }
    expect(on('2026-01-31').get('uma').annual).toBe('41273.52')
    expect(on('2026-02-01').get('uma').annual).toBe('42794.64')
  })

  it('say what is from memory or proposed, as insights.md does', () => {
    const confidence = (key: RuleKey) => rowsOf(key).at(-1)!.confidence
    for (const uso of ['D03', 'D04', 'D05', 'D06', 'D09'] as const) expect(confidence(`deduction.${uso}`)).toBe('from_memory')
    for (const key of ['concentration.levels', 'efos.correction_business_days'] as const) expect(confidence(key)).toBe('from_memory')
    for (const { key, confidence: one } of rows)
      if (/^(indicator|financing|withholding)\./.test(key)) expect([key, one]).toEqual([key, 'proposed'])
    for (const key of ['vat.general', 'uma', 'deduction.tuition', 'deduction.global_cap'] as const) expect(confidence(key)).toBe('verified')
  })

  it("have the authority's catalogs as the package keeps them, with each use open to its regimes alone", () => {
    type Row = Record<'id' | 'texto' | 'regimenes_fiscales_receptores' | 'aplica_fisica' | 'aplica_moral', string>
    const of = (catalog: unknown) => catalog as Row[]
    const plain = (text: string) => text.replace(/\.$/, '')
    expect(today.get('catalog.forma_pago')).toEqual(Object.fromEntries(of(formas).map(({ id, texto }) => [id, plain(texto)])))
    const known = today.get('catalog.regimen_fiscal')
    expect(Object.keys(known)).toEqual(of(regimes).map(({ id }) => id))
    for (const row of of(uses))
      for (const regimen of Object.keys(known))
        for (const isCompany of [true, false]) {
          const isOpen = row.regimenes_fiscales_receptores.split(/,\s*/).includes(regimen)
          const applies = Boolean(isCompany ? row.aplica_moral : row.aplica_fisica)
          const use = today.get('catalog.uso_cfdi')[row.id]!
          expect((isCompany ? use.moral : use.fisica) && use.regimenes.includes(regimen)).toBe(isOpen && applies)
        }
    // The uses of CFDI 4.0 begin with it.
    expect(today.get('catalog.uso_cfdi').G03).toMatchObject({ valid_from: '2022-01-01', valid_to: null })
  })

  it('label every segment that the sandbox and the authority use, and each family below a labelled segment', () => {
    const labels = today.get('catalog.clave_prod_serv')
    for (const code of Object.keys(labels)) expect([code, labels[code.slice(0, 2)]]).toEqual([code, expect.any(String)])
    for (const code of ['14', '43', '44', '50', '72', '78', '80', '81', '84', '85', '86', '90', '8013', '7810', '8411', '01'])
      expect(labels[code]).toBeTruthy()
  })
})
