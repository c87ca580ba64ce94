import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import {
  assertShort,
  FileRefused,
  ownRulesIn,
  ownRulesSql,
  productKeysIn,
  productKeysSql,
  ruleCommandOf,
} from '../../../scripts/rule-commands.ts'
import type { RuleRow } from '../../../src/authority/rules/dated.ts'

const faultsOf = (verb: () => unknown): string[] => {
  try {
    verb()
  } catch (error) {
    if (error instanceof FileRefused) return error.message.split('\n')
    throw error
  }
  return []
}

/** The control plane's tables of rules. */
function database(): DatabaseSync {
  const made = new DatabaseSync(':memory:')
  const migration = readFileSync(`migrations/control/${readdirSync('migrations/control').find((name) => name.endsWith('.sql'))}`, 'utf8')
  for (const name of ['rules', 'product_keys'])
    made.exec(new RegExp(`CREATE TABLE \`${name}\` \\([\\s\\S]*?WITHOUT ROWID;`).exec(migration)![0])
  return made
}

const uma = {
  ...{ key: 'uma', value: { daily: '120', monthly: '3648', annual: '43776' }, rule_ref: "Ley de la UMA, 4 (the “INEGI's”)" },
  ...{ valid_from: '2027-02-01', valid_to: null, source: 'INEGI 2027; a test', confidence: 'verified' },
}

it.each([
  [['show', 'uma'], { kind: 'show', key: 'uma' }],
  [['set', 'own.json'], { kind: 'set', file: 'own.json' }],
  [['products', 'claves.csv'], { kind: 'products', file: 'claves.csv' }],
  [['show'], null],
  [['set', 'own.json', 'more'], null],
  [['delete', 'uma'], null],
])('the words %j are %j', (words, command) => {
  expect(ruleCommandOf(words)).toEqual(command)
})

it.each(['nonsense', 'toString'])('there is no rule %s, which the operator is told', (name) => {
  expect(() => ruleCommandOf(['show', name])).toThrow(`There is no rule ${name}. \`npm run rules\` lists them.`)
})

it.each([
  ['no JSON', '{', [expect.stringMatching(/^The file is not JSON: /)]],
  ['no array', '{"uma": 1}', ['The file must be an array of rules, as assets/rules.json is.']],
  ['an unknown key', [{ ...uma, key: 'iva' }], ['[0].key: Is not the key of a rule: `npm run rules` lists them.']],
  [
    'another shape',
    [uma, { ...uma, valid_from: '2028-02-01', value: { daily: 120, monthly: '3648' } }],
    ['[1].value.daily: Must be text.', '[1].value.annual: Is missing.'],
  ],
  ['an unknown member', [{ ...uma, until: '2028-01-31' }], ['[0]: There is no member until here.']],
  ['a rate that is a number', [{ ...uma, key: 'vat.general', value: 0.16 }], ['[0].value: Must be text.']],
  ['no provision', [{ ...uma, rule_ref: '' }], ['[0].rule_ref: Must not be empty.']],
  ['days in disorder', [{ ...uma, valid_to: '2027-01-31' }], ['[0].valid_to: Must not be before valid_from.']],
  ['a day that does not exist', [{ ...uma, valid_from: '2027-02-30' }], ['[0].valid_from: Must be a day that exists, YYYY-MM-DD.']],
  ['a confidence that is none', [{ ...uma, confidence: 'sure' }], ['[0].confidence: Must be one of verified, from_memory, proposed.']],
  ['no value', [{ ...uma, value: undefined }], ['[0].value: Is missing.']],
  ['two values from one day on', [uma, { ...uma, valid_to: '2027-06-30' }], ['[1]: uma from 2027-02-01 on stands at [0] already.']],
])('a file of own values with %s is refused, and says where', (_, rows, faults) => {
  expect(faultsOf(() => ownRulesIn(typeof rows === 'string' ? rows : JSON.stringify(rows)))).toEqual(faults)
})

it('own values replace all that were set before, whatever their texts contain', () => {
  const made = database()
  const set = (rows: unknown[]) => {
    for (const sql of ownRulesSql(ownRulesIn(JSON.stringify(rows)))) made.exec(sql)
  }
  set([{ ...uma, key: 'cash.threshold', value: '3000' }, uma])
  set([{ ...uma, valid_to: '2028-01-31' }])
  set([uma])
  expect(made.prepare('select * from rules').all()).toEqual([{ ...uma, value: JSON.stringify(uma.value) }])
  set([])
  expect(made.prepare('select * from rules').all()).toEqual([])
})

/** The sheet of catCFDI, with its legends. */
const sheet = (keys: readonly (readonly [string, string])[]): string =>
  [
    'Versión CFDI,Versión catálogo,,',
    '4.0,5.0,,',
    ',,Catálogo de productos / servicios.,',
    'c_ClaveProdServ,Descripción,Incluir IVA trasladado,Palabras similares',
    ...keys.map(([key, label]) => `${key},"${label.replaceAll('"', '""')}",Opcional,""`),
    ',,,',
  ].join('\r\n')
const many = (count: number, from = 10101500) => Array.from({ length: count }, (_, n) => [String(from + n), `Producto ${n}`] as const)

it('the keys of c_ClaveProdServ replace those that were held, and the second time nothing changes', () => {
  const made = database()
  const changes = () => (made.prepare('select total_changes() as n').get() as { n: number }).n
  const load = (text: string) => {
    const before = changes()
    const statements = productKeysSql(productKeysIn(text))
    for (const sql of statements) made.exec(sql)
    expect(Math.max(...statements.map((sql) => Buffer.byteLength(sql)))).toBeLessThan(100_000)
    return changes() - before
  }
  // A spreadsheet has taken the zeros from the front of the first key.
  const keys = [['1010101', 'No existe en el catálogo'] as const, ...many(1_500), ['95141904', 'Campamento, "móvil"; d\'urgencia'] as const]
  expect(load(sheet(keys))).toBe(1_502)
  expect(load(sheet(keys))).toBe(0)
  expect(load(sheet(keys.slice(0, -2)))).toBe(2)
  expect(load(sheet([...keys.slice(0, -2), ['95141904', 'Campamento']]))).toBe(1)
  expect(made.prepare("select * from product_keys where key in ('01010101', '95141904')").all()).toEqual([
    { key: '01010101', label: 'No existe en el catálogo' },
    { key: '95141904', label: 'Campamento' },
  ])
})

it.each([
  ['without a header', 'a,b\n1,2', ['No row has the columns c_ClaveProdServ and Descripción.']],
  ['that is cut off', sheet(many(999)), ['The file has 999 keys; the catalog has more than 50,000, so that it is probably cut off.']],
  [
    'with keys that are none',
    sheet([['1010150A', 'x'], ['101015001', 'x'], ['10101501', ''], ...many(1_200), ['10101503', 'again']]),
    [
      'Row 5: “1010150A” is not a key of eight digits.',
      'Row 6: “101015001” is not a key of eight digits.',
      'Row 7: 10101501 has no description.',
      'Row 1208: 10101503 stands in the file already.',
    ],
  ],
])('a sheet %s is refused, with the rows', (_, text, faults) => {
  expect(faultsOf(() => productKeysIn(text))).toEqual(faults)
})

it('values whose SQL does not fit into a statement are refused, in whatever part of it they are', () => {
  const row = (key: string, value: unknown, valid_from = '2020-01-01') => ({ ...uma, key, value, valid_from }) as RuleRow
  const keys = Array.from({ length: 2_000 }, (_, n) => String(10_000_000 + n))
  const check = (...rows: RuleRow[]) => faultsOf(() => assertShort(rows, defaults as RuleRow[]))
  expect(check()).toEqual([])
  expect(check(row('repse.claves', keys.slice(0, 200)))).toEqual([])
  for (const [rows, meant] of [
    [[row('repse.claves', keys)], 'deduction.…, payment_forms, cash.… and repse.claves'],
    [[row('deduction.fuel', { claves: keys })], 'deduction.…, payment_forms, cash.… and repse.claves'],
    [
      Array.from({ length: 20 }, (_, n) => row('deduction.fuel', { claves: keys.slice(n, n + 100) }, `${2000 + n}-01-01`)),
      'deduction.…, payment_forms, cash.… and repse.claves',
    ],
    [[row('vat.proportion', [{ reason: 'land', treatment: 'review', claves: keys }])], 'vat.proportion'],
  ] as const)
    expect(check(...rows)).toEqual([
      expect.stringMatching(new RegExp(`^The values of ${meant} make SQL of \\d+ characters, and at most 20000 fit into a statement.`)),
    ])
})
