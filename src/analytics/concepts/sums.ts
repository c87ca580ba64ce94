import { parseSum } from '../../cfdi/population/sums.ts'
import type { Micros } from '../../platform/money.ts'
import type { ConceptLevel } from './contract.ts'
import { type ConvertedDocument, ownOf, pesosOf, productsOf } from './documents.ts'
import { amountOf, byDocument, type ConceptLine } from './lines.ts'
import { FOREIGN, type ProductRow } from './store.ts'

/** What the lines with one key add up to, in micros of MXN. The key is empty for lines without one. */
export interface ConceptSum {
  key: string
  amount: Micros
  invoices: number
  months: Map<string, Micros>
  /** By RFC. `name` is for `nameOf`. */
  parties: Map<string, { amount: Micros; name: string }>
}

export interface ConceptSums {
  concepts: ConceptSum[]
  total: Micros
  unclassified: Micros
  /** Documents that are converted at a rate that they do not state. */
  dof_rate: number
}

const DIGITS: Record<Exclude<ConceptLevel, 'description'>, number> = { segment: 2, family: 4, class: 6, key: 8 }

/** How many digits of a key tell rows apart. */
export const digitsOf = (level: ConceptLevel): number => (level === 'description' ? 8 : DIGITS[level])

/** The key of the row of a line. */
export const keyOf = ({ clave, text }: ConceptLine, level: ConceptLevel): string =>
  level === 'description' ? text.toUpperCase() : clave.slice(0, digitsOf(level))

export const isAmong = (prefixes: readonly string[], key: string): boolean => prefixes.some((prefix) => key.startsWith(prefix))

class Sums {
  readonly concepts = new Map<string, ConceptSum>()

  of(key: string): ConceptSum {
    const known = this.concepts.get(key) ?? { key, amount: 0n, invoices: 0, months: new Map(), parties: new Map() }
    this.concepts.set(key, known)
    return known
  }

  addMonth(key: string, month: string, amount: Micros, invoices: number): void {
    const concept = this.of(key)
    concept.amount += amount
    concept.invoices += invoices
    concept.months.set(month, (concept.months.get(month) ?? 0n) + amount)
  }

  addParty(key: string, rfc: string, amount: Micros, name: string | null): void {
    const { parties } = this.of(key)
    const known = parties.get(rfc) ?? { amount: 0n, name: '' }
    parties.set(rfc, { amount: known.amount + amount, name: name !== null && name > known.name ? name : known.name })
  }

  /** Adds what a document has of a key. */
  addDocument(key: string, { tipo, day, rfc, issued_at, uuid, name }: ConvertedDocument, amount: Micros): void {
    this.addMonth(key, day.slice(0, 7), amount, tipo === 'I' ? 1 : 0)
    this.addParty(key, rfc, amount, name === null ? null : `${issued_at}${uuid}${name}`)
  }

  /** The largest amount first, then by key, the row without one last among equals. */
  sorted(): ConceptSum[] {
    return [...this.concepts.values()].sort((a, b) => (isAfter(b, [a.amount.toString(), a.key]) ? -1 : 1))
  }
}

/** Whether a concept comes after the position of another one. */
export const isAfter = ({ amount, key }: ConceptSum, [than, last]: readonly [amount: string, key: string]): boolean =>
  amount === BigInt(than) ? last !== '' && (key === '' || key > last) : amount < BigInt(than)

/** Adds up the rows of `productStatements`, and the documents that are converted one by one. */
export function sumProducts(
  rows: readonly ProductRow[],
  foreign: readonly ConvertedDocument[],
  level: ConceptLevel,
  unclassified: readonly string[],
): ConceptSums {
  const sums = new Sums()
  let [total, none] = [0n, 0n]
  for (const { key, by, of, invoices, income, credit, name, is_unclassified } of rows) {
    if (key === FOREIGN) continue
    const amount = parseSum(income) - parseSum(credit)
    if (by === 1) sums.addParty(key, of, amount, name)
    else {
      sums.addMonth(key, of, amount, invoices)
      total += amount
      if (is_unclassified === 1) none += amount
    }
  }
  for (const document of foreign) {
    const keys = new Set(productsOf(document).map(([key]) => key.slice(0, digitsOf(level))))
    for (const key of keys)
      sums.addDocument(
        key,
        document,
        pesosOf(
          document,
          ownOf(document, (one) => one.slice(0, digitsOf(level)) === key),
        ),
      )
    total += pesosOf(
      document,
      ownOf(document, () => true),
    )
    none += pesosOf(
      document,
      ownOf(document, (key) => isAmong(unclassified, key)),
    )
  }
  return { concepts: sums.sorted(), total, unclassified: none, dof_rate: foreign.filter(({ isDof }) => isDof).length }
}

/** The same out of lines. */
export function sumLines(lines: readonly ConceptLine[], level: ConceptLevel, unclassified: readonly string[]): ConceptSums {
  const sums = new Sums()
  for (const [key, some] of Map.groupBy(lines, (line) => keyOf(line, level)))
    for (const { document, amount } of byDocument(some)) sums.addDocument(key, document, amount)
  return {
    concepts: sums.sorted(),
    total: amountOf(lines),
    unclassified: amountOf(lines.filter(({ clave }) => isAmong(unclassified, clave))),
    dof_rate: new Set(lines.flatMap(({ document }) => (document.isDof ? [document.uuid] : []))).size,
  }
}
