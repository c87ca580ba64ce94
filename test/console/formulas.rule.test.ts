import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { words as concentration } from '../../console/pages/insight/concentration/words.ts'
import { words as concepts } from '../../console/pages/insight/concepts/words.ts'
import { words as deductions } from '../../console/pages/insight/deductions/words.ts'
import { words as diot } from '../../console/pages/insight/diot/words.ts'
import { words as efos } from '../../console/pages/insight/efos/words.ts'
import { formulasOf, inWords } from '../../console/pages/insight/figures/formulas.ts'
import { words as flagged } from '../../console/pages/insight/flagged/words.ts'
import { words as fx } from '../../console/pages/insight/fx/words.ts'
import { words as isr } from '../../console/pages/insight/isr/words.ts'
import { words as report } from '../../console/pages/insight/report/words.ts'
import { words as risk } from '../../console/pages/insight/risk/words.ts'
import { SPANISH } from '../../console/pages/insight/sentences/spanish.ts'
import { words as vat } from '../../console/pages/insight/vat/words.ts'
import { words as withholdings } from '../../console/pages/insight/withholdings/words.ts'
import { words as financing } from '../../console/pages/work/financing/words.ts'
import { words as months } from '../../console/pages/work/months/words.ts'
import { words as suppliers } from '../../console/pages/work/suppliers/words.ts'
import { FIGURES as DEDUCTIONS } from '../../src/analytics/deductions/contract.ts'
import { FIGURES as FINANCING } from '../../src/analytics/financing/contract.ts'
import { ISR_FIGURES } from '../../src/analytics/isr/contract.ts'
import { REPORTS } from '../../src/analytics/reports/reports.ts'
import { VAT_FIGURES } from '../../src/analytics/vat/contract.ts'
import { FIGURES as WITHHOLDINGS } from '../../src/analytics/withholdings/contract.ts'

const sourcesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: join(folder, file), text: readFileSync(join(folder, file), 'utf8') }))
const insight = sourcesOf('src/analytics').filter(({ file }) => !file.startsWith('src/analytics/repse/'))

/** The value of a constant, which holds nothing but text and what is `given`. */
function constantOf(text: string, name: string, given: object = {}): unknown {
  const [, value] = new RegExp(`^(?:export )?const ${name}(?:: [^=]+)? =\\s+([^]*?)\\n(?=\\n|\\S)(?![\\]}])`, 'm').exec(`${text}\n\n`)!
  return runInNewContext(`(${value})`, given)
}
const textOf = (file: string): string => insight.find((one) => one.file === `src/analytics/${file}`)!.text

const REPSE_NOTE = constantOf(textOf('common/omitted.ts'), 'REPSE_NOTE') as string
const BASIS = /^(?:export )?const BASIS\b/m
const bases = insight
  .filter(({ text }) => BASIS.test(text))
  .map(({ file, text }) => ({
    file,
    ...(constantOf(text, 'BASIS', { REPSE_NOTE }) as { formulas: Record<string, string>; notes: string[] }),
  }))

/** Where a basis is put together otherwise. */
const OTHERS: Record<string, () => readonly string[]> = {
  'src/analytics/common/insight.ts': () =>
    ['DAY_OF_RULES', 'CURRENCIES'].map((name) => constantOf(textOf('common/insight.ts'), name) as string),
  'src/analytics/indicators/indicators.ts': () => [
    ...Object.values(constantOf(textOf('indicators/indicators.ts'), 'FORMULAS') as Record<string, string>),
    ...(runInNewContext(/notes: (\[.*\])/.exec(textOf('indicators/indicators.ts'))![1]!, { REPSE_NOTE }) as string[]),
  ],
  'src/analytics/reports/reports.ts': () => [
    ...Object.values(REPORTS).flatMap(({ formulas }) => Object.values(formulas)),
    ...(constantOf(textOf('reports/reports.ts'), 'NOTES') as string[]),
  ],
}

const ENGLISH = /\b(the|of|and|with|that|is|are|by|to|paragraph|as_of|repealed|Guidelines|service)\b/i

const rules = JSON.parse(readFileSync('assets/rules.json', 'utf8')) as { rule_ref: string }[]
const provisions = [...new Set(rules.map(({ rule_ref }) => rule_ref))].filter((text) => ENGLISH.test(text))

const said = [
  ...provisions,
  ...bases.flatMap(({ formulas, notes }) => [...Object.values(formulas), ...notes]),
  ...Object.values(OTHERS).flatMap((read) => read()),
]

describe('what the API says of its figures', () => {
  it('is said only where this test reads it', () => {
    const files = insight.filter(({ text }) => /\b(formulas: [[{O]|notes: (\[|NOTES))/.test(text)).map(({ file }) => file)
    expect(files.sort()).toEqual([...bases.map(({ file }) => file), ...Object.keys(OTHERS)].sort())
  })

  it('has a sentence in Spanish, and no sentence is of nothing', () => {
    expect(bases.length).toBeGreaterThan(7)
    expect(said.filter((text) => !SPANISH[text])).toEqual([])
    expect(Object.keys(SPANISH).filter((text) => !said.includes(text))).toEqual([])
  })

  it('is a whole sentence in Spanish, without English words', () => {
    const texts = Object.values(SPANISH)
    const sentences = Object.entries(SPANISH).flatMap(([key, text]) => (provisions.includes(key) ? [] : [text]))
    expect(sentences.filter((text) => !/^[A-ZÁÉÍÓÚ0-9(].*\.$/.test(text))).toEqual([])
    expect(texts.filter((text) => ENGLISH.test(text))).toEqual([])
  })

  it.each([
    ['src/cfdi/summary/summary.ts', months.es],
    ['src/analytics/repse/report.ts', suppliers.es],
  ])('%s has its words on the page', (file, { basisKeys, basisText }) => {
    const names = Object.keys(constantOf(readFileSync(file, 'utf8'), 'BASIS') as object)
    expect(names.length).toBeGreaterThan(3)
    expect(names.filter((name) => !basisKeys[name] || !basisText[name])).toEqual([])
  })

  it('has the name of its figure on the page, in both languages', () => {
    type Named = { formulas: Record<string, string> }
    const pages: Record<string, { es: Named; en: Named }> = {
      concentration,
      concepts,
      deductions,
      diot,
      efos,
      fx,
      isr,
      vat,
      withholdings,
      financing,
      risk: flagged,
    }
    expect(Object.keys(pages).sort()).toEqual(bases.map(({ file }) => file.split('/')[2]).sort())
    const unnamed = bases.flatMap(({ file, formulas }) => {
      const { es, en } = pages[file.split('/')[2]!]!
      return Object.keys(formulas).filter((name) => !es.formulas[name] || !en.formulas[name])
    })
    expect(unnamed).toEqual([])
    const indicators = Object.keys(constantOf(textOf('indicators/indicators.ts'), 'FORMULAS') as object)
    expect(indicators.filter((name) => !(name in risk.es.names) || !(name in risk.en.names))).toEqual([])
    const members = Object.values(REPORTS).flatMap(({ formulas }) => Object.keys(formulas))
    expect(members.filter((name) => !report.es.members[name] || !report.en.members[name])).toEqual([])
  })

  it.each([
    ['vat', VAT_FIGURES, 25],
    ['isr', ISR_FIGURES, 7],
    ['withholdings', WITHHOLDINGS, 5],
    ['deductions', DEDUCTIONS, 3],
    ['financing', FINANCING, 6],
  ])('of %s is said beside the documents of a figure, in Spanish that needs no other sentence', (surface, figures, least) => {
    const { formulas } = bases.find(({ file }) => file.split('/')[2] === surface)!
    const shown = figures.flatMap((figure) => formulasOf(figure, formulas).map(([, formula]) => SPANISH[formula] ?? formula))
    expect(shown.length).toBeGreaterThanOrEqual(least)
    expect(shown.filter((text) => ENGLISH.test(text) || text.startsWith('Lo mismo'))).toEqual([])
  })

  it('of the VAT position names no member of the API in English', () => {
    const { formulas } = bases.find(({ file }) => file.split('/')[2] === 'vat')!
    const members = new Set([...VAT_FIGURES.flatMap((figure) => figure.split('.')), 'acreditable', 'saldo', 'prorrateo', 'proporcion'])
    const named = (text: string) => (text.match(/[a-z_]+/g) ?? []).filter((word) => members.has(word) || word.includes('_'))
    expect(Object.values(formulas).flatMap(named).length).toBeGreaterThan(20)
    expect(Object.values(formulas).flatMap((formula) => named(inWords(formula, vat.en.members)))).toEqual([])
  })

  it('is said by `useSentence` alone', () => {
    const pages = readdirSync('console', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.tsx'))
    const raw = pages.filter((file) => />\{(formula|rule_ref)\}</.test(readFileSync(join('console', file), 'utf8')))
    expect(raw).toEqual([])
  })
})
