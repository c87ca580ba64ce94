import { partsOf } from '../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../cfdi/chunks/content.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import { amountsIn } from '../../cfdi/products.ts'
import { addTax, type Groups, NOT_SUBJECT, transferred } from '../../cfdi/taxes/breakdown.ts'
import { rateOf } from '../../cfdi/totals.ts'
import type { Concepto } from '../../cfdi/xml/document.ts'
import type { System } from '../../platform/context.ts'
import { dividedBy, type Micros, micros, sumAll } from '../../platform/money.ts'
import { inPesos, parseUnrated, ratesOf, type Unrated } from '../common/insight.ts'
import type { ConceptLevel } from './contract.ts'
import { FOREIGN, type LineSource, type ProductRow } from './store.ts'

/** An invoice or credit note that is converted separately. */
interface ConvertedDocument extends Unrated {
  rfc: string
  /** MXN for one unit of its currency. */
  rate: string
  /** Whether the rate is not the document’s own. */
  isDof: boolean
  sign: 1n | -1n
}

/** Parses lists that `foreignJson` selected, separated by commas, and leaves out documents without any rate. At most one D1 call. */
export async function documentsOf(system: System, texts: readonly (string | null)[]): Promise<ConvertedDocument[]> {
  const all = texts.flatMap((text) =>
    (JSON.parse(`[${text ?? ''}]`) as [string, string | null, unknown][]).map(([rfc, tipo_cambio, list]) => {
      const [one] = parseUnrated(JSON.stringify(list))
      return { ...one!, rfc, rate: rateOf(one!.currency, tipo_cambio), sign: one!.tipo === 'E' ? (-1n as const) : (1n as const) }
    }),
  )
  const unrated = all.filter(({ rate }) => rate === null)
  const rates = new Map((await ratesOf(system, unrated)).map((rate, n) => [unrated[n]!.uuid, rate]))
  return all.flatMap((one) => {
    const rate = one.rate ?? rates.get(one.uuid) ?? null
    return rate === null || inPesos(one.net, rate) === null ? [] : [{ ...one, rate, isDof: one.rate === null }]
  })
}

/** Converts an amount in the document’s currency to MXN, rounded once, negative for a credit note. */
export const pesosOf = ({ rate, sign }: Pick<ConvertedDocument, 'rate' | 'sign'>, own: Micros): Micros => (inPesos(own, rate) ?? 0n) * sign

/** The amounts of the product keys of a document, in its currency. The key is empty where lines have none of eight digits. */
const productsOf = ({ products, net }: Pick<Unrated, 'products' | 'net'>): [key: string, own: Micros][] => amountsIn(products ?? '', net)

/** Adds up the amounts of some keys. */
export const ownOf = (document: Pick<Unrated, 'products' | 'net'>, isMeant: (key: string) => boolean): Micros =>
  productsOf(document).reduce((sum, [key, own]) => (isMeant(key) ? sum + own : sum), 0n)

export const MIXES = ['16', '8', '0', 'exento', 'otras', 'no_objeto', 'sin_traslado'] as const
export type Mix = (typeof MIXES)[number]

/** A line of an invoice or credit note. Amounts are in millionths. */
export interface ConceptLine {
  document: ConvertedDocument
  /** ClaveProdServ, empty without one of eight digits. */
  clave: string
  /** Descripcion with single spaces, or empty. */
  text: string
  /** importe − descuento in the document’s currency. */
  own: Micros
  /** Negative for a credit note. */
  quantity: Micros
  unit: string | null
  /** MXN for one unit. Null on credit notes and without a quantity. */
  price: Micros | null
  /** The amount behind `price`, in MXN. */
  amount: Micros
  mix: Mix
  isOfThirdParty: boolean
}

const KEY = /^\d{8}$/

/** The rate of IVA that a line transfers. Before CFDI 4.0 lines do not say whether they are subject. */
function mixOf({ impuestos: { traslados }, objeto_imp }: Concepto): Mix {
  const groups: Groups = new Map()
  for (const tax of traslados) addTax(groups, tax)
  const [first] = groups
  if (!first) return objeto_imp === null || objeto_imp === NOT_SUBJECT ? 'no_objeto' : 'sin_traslado'
  const one = { ...first[1], base: 1n, importe: 1n, hasBase: true }
  const { base_16, base_8, base_0, base_exento } = transferred(new Map([[first[0], one]]), new Map())
  return base_16 ? '16' : base_8 ? '8' : base_0 ? '0' : base_exento ? 'exento' : 'otras'
}

function lineOf(document: ConvertedDocument, line: Concepto): ConceptLine {
  const own = (micros(line.importe) ?? 0n) - (micros(line.descuento) ?? 0n)
  const amount = pesosOf(document, own)
  const quantity = (micros(line.cantidad) ?? 0n) * document.sign
  return {
    ...{ document, clave: KEY.test(line.clave_prod_serv ?? '') ? line.clave_prod_serv! : '', own, amount, quantity },
    ...{ text: (line.descripcion ?? '').trim().replace(/\s+/g, ' '), unit: line.clave_unidad, mix: mixOf(line) },
    isOfThirdParty: line.a_cuenta_terceros_rfc !== null,
    price: document.sign > 0n && Number(line.cantidad ?? 0) > 0 ? dividedBy(amount, line.cantidad!) : null,
  }
}

/** How many lines are read. A few invoices can have hundreds of thousands, which would keep others waiting. */
export const MOST_LINES = 50_000

/** Reads the lines that `lineStatements` selected. Null when there are too many documents or lines. At most one D1 call. */
export async function linesOf(system: System, found: readonly unknown[][]): Promise<ConceptLine[] | null> {
  const lines: ConceptLine[] = []
  for (let n = 0; n < found.length; n += 2) {
    const [sources, chunks] = [found[n]!, found[n + 1]!] as [LineSource[], { chunk: number; data: string }[]]
    if (sources.length > 0 && chunks.length === 0) return null
    const documents = new Map(
      (
        await documentsOf(
          system,
          sources.map(({ document }) => document),
        )
      ).map((one) => [one.uuid, one]),
    )
    const data = new Map(chunks.map((one) => [one.chunk, one.data]))
    for (const [chunk, some] of Map.groupBy(sources, (one) => one.chunk)) {
      const parts = partsOf(Array.from({ length: some[0]!.chunk_parts }, (_, at) => data.get(chunk + at)!))
      for (const { document, chunk_at } of some) {
        const converted = documents.get(uuidOf(document))
        if (converted) for (const line of contentOf(parts[chunk_at]).conceptos) lines.push(lineOf(converted, line))
      }
      if (lines.length > MOST_LINES) return null
    }
  }
  return lines
}

const uuidOf = (json: string): string => (JSON.parse(json) as [unknown, unknown, [string]])[2][0]

/** Adds up lines in MXN, rounded once for each document. */
export const amountOf = (lines: readonly ConceptLine[]): Micros => sumAll(byDocument(lines).map(({ amount }) => amount))

/** Adds up lines by document. */
export const byDocument = (lines: readonly ConceptLine[]): { document: ConvertedDocument; amount: Micros }[] =>
  [...Map.groupBy(lines, ({ document }) => document)].map(([document, some]) => ({
    document,
    amount: pesosOf(document, sumAll(some.map(({ own }) => own))),
  }))

/** The sums of the lines with one key, in micros of MXN. The key is empty for lines without one. */
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

  /** Adds a document’s amount under a key. */
  addDocument(key: string, { tipo, day, rfc, issued_at, uuid, name }: ConvertedDocument, amount: Micros): void {
    this.addMonth(key, day.slice(0, 7), amount, tipo === 'I' ? 1 : 0)
    this.addParty(key, rfc, amount, name === null ? null : `${issued_at}${uuid}${name}`)
  }

  /** The largest amount first, then by key; a row without a key comes last among equals. */
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

/** Adds up lines in the same way. */
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
