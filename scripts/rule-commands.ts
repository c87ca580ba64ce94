import * as z from 'zod'
import { hasKey, judgeOf } from '../src/analytics/common/deductible.ts'
import { proportionFlags, splitOf } from '../src/analytics/vat/proportion.ts'
import { ANY_DAY, byDay } from '../src/authority/rules/by-day.ts'
import { type RuleKey, type RuleRow, Rules } from '../src/authority/rules/dated.ts'
import { CONFIDENCES, SHAPES } from '../src/authority/rules/shapes.ts'
import { recordsOf } from '../src/platform/csv.ts'
import { inlined, quoted } from '../src/platform/db/statement.ts'

/** What an operator asks of the rules. */
export type RuleCommand = { kind: 'show'; key: RuleKey } | { kind: 'set' | 'products'; file: string }

/** The command that the words of a command line give; null when they give none. Throws an error that names a rule that there is not. */
export function ruleCommandOf([verb, given = '', ...rest]: readonly string[]): RuleCommand | null {
  if (given === '' || rest.length > 0) return null
  if (verb === 'show') {
    if (!isKey(given)) throw new Error(`There is no rule ${given}. \`npm run rules\` lists them.`)
    return { kind: verb, key: given }
  }
  return verb === 'set' || verb === 'products' ? { kind: verb, file: given } : null
}

const isKey = (text: string): text is RuleKey => Object.hasOwn(SHAPES, text)

/** A file is refused as a whole; the message has a line for each fault. */
export class FileRefused extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
  }
}

const Row = z.strictObject({
  key: z.string().refine(isKey, 'Is not the key of a rule: `npm run rules` lists them.'),
  value: z.unknown(),
  rule_ref: z.string().min(1),
  valid_from: z.iso.date(),
  valid_to: z.iso.date().nullable(),
  source: z.string().min(1),
  confidence: z.enum(CONFIDENCES),
})

/** What is wrong with a value, in a sentence. */
const sentenceOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined && issue.code !== 'custom') return 'Is missing.'
  switch (issue.code) {
    case 'invalid_type':
      return `Must be ${KINDS[issue.expected] ?? issue.expected}.`
    case 'unrecognized_keys':
      return `There is no member ${issue.keys.join(', ')} here.`
    case 'invalid_value':
      return `Must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}.`
    case 'too_small':
      return issue.origin === 'string' ? 'Must not be empty.' : `Must be at least ${issue.minimum}.`
    case 'invalid_format':
      return issue.format === 'date' ? 'Must be a day that exists, YYYY-MM-DD.' : undefined
    default:
      return undefined
  }
}
const KINDS: Partial<Record<string, string>> = {
  ...{ string: 'text', number: 'a number', int: 'a whole number', boolean: 'true or false' },
  ...{ object: 'an object', array: 'a list', record: 'an object' },
}

const faultsOf = (place: string, { issues }: z.ZodError): string[] =>
  issues.map(({ path, message }) => `${[place, ...path].join('.')}: ${message}`)

/** Reads the values that a deployment sets itself: an array of rows as in `assets/rules.json`. Throws FileRefused. */
export function ownRulesIn(text: string): RuleRow[] {
  let rows: unknown
  try {
    rows = JSON.parse(text)
  } catch (error) {
    throw new FileRefused([`The file is not JSON: ${(error as Error).message}`])
  }
  if (!Array.isArray(rows)) throw new FileRefused(['The file must be an array of rules, as assets/rules.json is.'])
  const faults: string[] = []
  const firsts = new Map<string, number>()
  const found = rows.flatMap((row, n): RuleRow[] => {
    const read = Row.safeParse(row, { error: sentenceOf })
    if (!read.success) {
      faults.push(...faultsOf(`[${n}]`, read.error))
      return []
    }
    const { key, valid_from, valid_to, value } = read.data
    const shape = SHAPES[key].safeParse(value, { error: sentenceOf })
    if (!shape.success) faults.push(...faultsOf(`[${n}].value`, shape.error))
    if (valid_to !== null && valid_to < valid_from) faults.push(`[${n}].valid_to: Must not be before valid_from.`)
    const before = firsts.get(key + valid_from)
    if (before !== undefined) faults.push(`[${n}]: ${key} from ${valid_from} on stands at [${before}] already.`)
    firsts.set(key + valid_from, n)
    return [{ ...read.data, key, value }]
  })
  if (faults.length > 0) throw new FileRefused(faults)
  return found
}

/**
 * D1 refuses statements of more than 100 KB. What the longest ones have room for says which product keys and forms of payment decide about
 * a purchase or sale, once for each value on its days.
 */
const MOST_SQL = 20_000

/** Throws FileRefused when the SQL under these values is too long for a statement, whatever range is asked for. */
export function assertShort(rows: readonly RuleRow[], defaults: readonly RuleRow[]): void {
  const days = { first: ANY_DAY, last: '2100-12-31' }
  const rules = Rules.of(rows, defaults, days.first)
  const { thingFound, paymentFound } = judgeOf(rules, days)
  const purchase = {
    products: 'e.products',
    total: 'e.total',
    net: 'e.net',
    uso: 'e.uso',
    fecha: 'e.fecha',
    there: 'e.there',
    here: 'e.here',
  }
  const payment = paymentFound({ forma: 'e.forma', pesos: 'e.pesos', day: 'e.day', in_cash: 'e.in_cash' }, purchase)
  const registered = byDay(rules, 'fecha', days, (on) => hasKey('products', on.find('repse.claves') ?? []))
  const ofPurchases = [thingFound(purchase), payment, payment, registered]
  const ofSales = [splitOf(rules, days), ...proportionFlags(rules, days)].map(inlined)
  for (const [keys, texts] of [
    ['deduction.…, payment_forms, cash.… and repse.claves', ofPurchases],
    ['vat.proportion', ofSales],
  ] as const) {
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (length > MOST_SQL)
      throw new FileRefused([
        `The values of ${keys} make SQL of ${length} characters, and at most ${MOST_SQL} fit into a statement. Give fewer product keys, shorter ones, or fewer values on days of their own.`,
      ])
  }
}

/** The statements that replace all of a deployment's own values. Interrupted between two of them, they can be executed again. */
export function ownRulesSql(rows: readonly RuleRow[]): string[] {
  const columns = ['key', 'valid_from', 'valid_to', 'value', 'rule_ref', 'source', 'confidence'] as const
  const texts = rows.map((row) => ({ ...row, value: JSON.stringify(row.value) }))
  return [
    ...texts.map(
      (row) =>
        `insert into rules (${columns.join(', ')}) values (${columns.map((name) => (row[name] === null ? 'null' : quoted(row[name]))).join(', ')})
         on conflict do update set valid_to = excluded.valid_to, value = excluded.value, rule_ref = excluded.rule_ref, source = excluded.source,
           confidence = excluded.confidence`,
    ),
    `delete from rules where not exists (select 1 from json_each(${quoted(JSON.stringify(rows.map(({ key, valid_from }) => [key, valid_from])))}) j
       where j.value->>0 = rules.key and j.value->>1 = rules.valid_from)`,
  ]
}

export interface ProductKey {
  key: string
  label: string
}

const LEAST_KEYS = 1_000

/**
 * Reads the sheet c_ClaveProdServ of the authority's catCFDI, exported as CSV: legends, a header with `c_ClaveProdServ` and `Descripción`,
 * and a row for each key. Throws FileRefused.
 */
export function productKeysIn(text: string): ProductKey[] {
  const records = [...recordsOf([text])].map((cells) => cells.map((cell) => cell.replace(/\s+/g, ' ').trim()))
  const at = records.findIndex((cells) => cells.includes('c_ClaveProdServ') && cells.some((cell) => /^Descripci/.test(cell)))
  if (at === -1) throw new FileRefused(['No row has the columns c_ClaveProdServ and Descripción.'])
  const [key, label] = [records[at]!.indexOf('c_ClaveProdServ'), records[at]!.findIndex((cell) => /^Descripci/.test(cell))]
  const faults: string[] = []
  const found = new Map<string, string>()
  for (const [n, cells] of records.entries()) {
    if (n <= at || cells.every((cell) => cell === '')) continue
    // A spreadsheet takes the zero from the front of a key that it reads as a number.
    const code = (cells[key] ?? '').padStart(8, '0')
    if (!/^\d{8}$/.test(code)) faults.push(`Row ${n + 1}: “${cells[key]}” is not a key of eight digits.`)
    else if (!cells[label]) faults.push(`Row ${n + 1}: ${code} has no description.`)
    else if (found.has(code)) faults.push(`Row ${n + 1}: ${code} stands in the file already.`)
    else found.set(code, cells[label])
  }
  if (faults.length === 0 && found.size < LEAST_KEYS)
    faults.push(`The file has ${found.size} keys; the catalog has more than 50,000, so that it is probably cut off.`)
  if (faults.length > 0) throw new FileRefused(faults.length > 20 ? [...faults.slice(0, 20), `… and ${faults.length - 20} more.`] : faults)
  return [...found].map(([code, text]) => ({ key: code, label: text })).sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Below 100 KB, the longest statement that D1 accepts. */
const ROWS_A_STATEMENT = 400

/** The statements that replace the keys: what has not changed is not written. */
export function productKeysSql(keys: readonly ProductKey[]): string[] {
  const chunks = Array.from({ length: Math.ceil(keys.length / ROWS_A_STATEMENT) }, (_, n) =>
    keys.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT),
  )
  return chunks.flatMap((chunk, n) => {
    const from = n === 0 ? '' : chunk[0]!.key
    const until = chunks[n + 1]?.at(0)?.key ?? '~'
    return [
      `delete from product_keys where key >= ${quoted(from)} and key < ${quoted(until)} and key not in (select value from json_each(${quoted(JSON.stringify(chunk.map(({ key }) => key)))}))`,
      `insert into product_keys (key, label) select value->>0, value->>1 from json_each(${quoted(JSON.stringify(chunk.map(({ key, label }) => [key, label])))}) where true
       on conflict do update set label = excluded.label where label <> excluded.label`,
    ]
  })
}
