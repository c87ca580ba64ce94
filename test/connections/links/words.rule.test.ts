import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { DATA_SOURCE_KEYS } from '../../../src/authority/port/authority.ts'
import { PURPOSE_KEYS, purposeName, sourceNames } from '../../../src/connections/consents/text.ts'
import { PAGE_WORDS } from '../../../src/connections/links/words.ts'

const read = (file: string): string => readFileSync(`src/${file}.ts`, 'utf8')
const codesIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, code]) => code!)

it('the page of a link has a sentence for every refusal that a taxpayer can meet, in both languages', () => {
  const giving = read('connections/links/giving')
  const codes = [
    ...codesIn(giving, /fault\('([a-z_]+)'/g).map((code) => `connect_link.${code}`),
    ...codesIn(read('authority/efirma/der'), /'(efirma\.[a-z_]+)': \[/g),
    ...['fiscal_entity.ciec_rejected', 'fiscal_entity.efirma_rejected', 'fiscal_entity.ciec_attempts', 'connect_link.busy'],
    ...['authority.unavailable', 'authority.account_locked', 'billing.refused'],
  ]
  expect(codes.length).toBeGreaterThan(20)
  for (const { errors } of Object.values(PAGE_WORDS)) {
    expect(codes.filter((code) => !errors[code])).toEqual([])
    expect(Object.keys(errors).filter((code) => !codes.includes(code))).toEqual([])
  }
  expect(Object.keys(PAGE_WORDS.en.errors)).toEqual(Object.keys(PAGE_WORDS.es.errors))
})

it('every purpose and every source has words in both languages', () => {
  for (const language of ['es', 'en'] as const) {
    expect(PURPOSE_KEYS.filter((key) => !/^[A-Z].*\.$/.test(purposeName(key, language)))).toEqual([])
    expect(sourceNames(DATA_SOURCE_KEYS, language)).toHaveLength(DATA_SOURCE_KEYS.length)
  }
})
