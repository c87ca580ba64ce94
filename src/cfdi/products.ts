import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { fits, type Micros, micros } from '../platform/money.ts'
import { type Contribution, type Countable, inMxn, isInSums, rateOf } from './totals.ts'

/** The sums of one product key over the documents of a month and type that count. */
interface ProductTotals {
  documents: number
  /** Documents that add no amount, because their exchange rate is not known, or because it does not fit. */
  not_counted: number
  /** The importe of the lines minus their descuento, in micros of MXN. */
  amount: Micros
}

/** Totals by type, I or E, and ClaveProdServ: `I|84111506`. The key is empty where a line has none of eight digits. */
export type Products = Map<string, ProductTotals>

/** The keys of a document; the lines of the others count under the empty key. */
const KEYS_OF_DOCUMENT = 1_000
/** The cells of a month, so that its row stays below 2 MB. The catalog has 52,000 keys, and nobody invoices most of them in a month. */
const MOST_CELLS = 30_000

const KEY = /^\d{8}$/
/** The different costs of the vehicles of a key that are told apart, and of all keys of a document. */
const MOST_COSTS = 100
const MOST_IN_ALL = 300
/** The family of motor vehicles, each of which has a limit of its own (LISR 36-II), and rented ones, which have one for each day (28-XIII). */
const [VEHICLES, RENTED, DAY] = ['2510', '78111808', 'DAY']

/** The sums of the lines of one document, as they come, in its currency. */
export class LineProducts {
  readonly #sums = new Map<string, Micros>()
  /** How many vehicles or days of a key have each cost, and their sum; the count is 0 where it is not known. */
  readonly #vehicles = new Map<string, Map<string, { count: number; net: Micros }>>()

  add({
    clave_prod_serv,
    importe,
    descuento,
    cantidad,
    clave_unidad,
  }: Record<'clave_prod_serv' | 'importe' | 'descuento' | 'cantidad' | 'clave_unidad', string | null>): void {
    const stated = KEY.test(clave_prod_serv ?? '') ? clave_prod_serv! : ''
    const key = this.#sums.has(stated) || this.#sums.size < KEYS_OF_DOCUMENT ? stated : ''
    const net = (micros(importe) ?? 0n) - (micros(descuento) ?? 0n)
    this.#sums.set(key, (this.#sums.get(key) ?? 0n) + net)
    if (!key.startsWith(VEHICLES) && key !== RENTED) return
    const count = key === RENTED && clave_unidad !== DAY ? 0 : Number(cantidad ?? 1)
    const isWhole = Number.isSafeInteger(count) && count > 0
    const costs = this.#vehicles.get(key) ?? new Map<string, { count: number; net: Micros }>()
    const cost = isWhole ? String(net / BigInt(count)) : ''
    const known = costs.get(cost) ?? { count: 0, net: 0n }
    this.#vehicles.set(key, costs.set(cost, { count: isWhole ? known.count + count : 0, net: known.net + net }))
  }

  /**
   * The `products` column: `key=micros,…`, or the key alone that has the whole amount of the document. Of several vehicles or
   * days `keyxcount=micros`, where the count is 0 if it is not known; of different costs `key@micros|keyxcount@micros=sum`. Null for other
   * types than I and E.
   */
  textOf(row: Stating & Pick<Countable, 'tipo_comprobante'>): string | null {
    if ((row.tipo_comprobante !== 'I' && row.tipo_comprobante !== 'E') || this.#sums.size === 0) return null
    let left = MOST_IN_ALL
    const texts = [...this.#sums].map(([key, sum]) => {
      const costs = [...(this.#vehicles.get(key)?.values() ?? [{ count: 1, net: sum }])]
      const isTold = costs.length === 1 || costs.length <= Math.min(MOST_COSTS, left)
      if (isTold && costs.length > 1) left -= costs.length
      const told = isTold ? costs : [{ count: 0, net: sum }]
      const names = told.map(({ count }) => (count === 1 ? key : `${key}x${count}`))
      return [told.length === 1 ? names[0]! : names.map((name, n) => `${name}@${told[n]!.net}`).join('|'), sum] as const
    })
    const [[name, sum], ...others] = texts as [[string, Micros], ...[string, Micros][]]
    if (others.length === 0 && sum === netOf(row) && this.#sums.has(name)) return name
    return texts.map(([name, sum]) => `${name}=${sum}`).join()
  }
}

type Stating = Pick<Countable, 'subtotal' | 'descuento'>

const netOf = ({ subtotal, descuento }: Stating): Micros => (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n)

/** The amounts by product key of the `products` column of a document with this net amount. */
export const amountsIn = (products: string, net: Micros): [key: string, amount: Micros][] =>
  products.split(',').map((one) => {
    const [key = '', sum] = one.split('=')
    return [key.slice(0, 8), sum === undefined ? net : BigInt(sum)]
  })

/** Adds a document to the products of its month, or removes it with sign -1. `counted` is what it adds to its month. */
export function addProducts(
  products: Products,
  row: Countable & { products: string | null },
  { values: { missing_rate, not_counted } }: Contribution,
  sign: 1 | -1,
): void {
  if (row.products === null || !isInSums(row, null)) return
  const rate = rateOf(row.currency, row.tipo_cambio)
  const amounts = amountsIn(row.products, netOf(row)).map(([key, amount]) => [key, inMxn(amount, rate) ?? 0n] as const)
  const isCounted = missing_rate + not_counted === 0 && amounts.every(([, amount]) => fits(amount))
  for (const [key, amount] of amounts) {
    const cell = `${row.tipo_comprobante}|${key}`
    const totals = products.get(cell) ?? { documents: 0, not_counted: 0, amount: 0n }
    products.set(cell, totals)
    totals.documents += sign
    if (isCounted) totals.amount += sign === 1 ? amount : -amount
    else totals.not_counted += sign
  }
}

/** Parses the `products` column of a month. Null when it had too many cells. */
export const parseProducts = (text: string | null): Products | null =>
  text === null
    ? null
    : new Map(
        Object.entries(JSON.parse(text) as Record<string, [number, number, string]>).map(([cell, [documents, not_counted, amount]]) => [
          cell,
          { documents, not_counted, amount: BigInt(amount) },
        ]),
      )

/** Formats it: sorted, so that the same documents give the same text. A month that once had too many cells stays without. */
export function writeProducts(products: Products | null): string | null {
  if (products === null) return null
  const kept = [...products].filter(([, { documents }]) => documents !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  if (kept.length > MOST_CELLS) return null
  return JSON.stringify(
    Object.fromEntries(kept.map(([cell, { documents, not_counted, amount }]) => [cell, [documents, not_counted, amount.toString()]])),
  )
}

/** The product key with the largest amount, the first of equals, of the column `products` of a document (products.ts). */
export function mainKeyOf(products: string | null): string | null {
  let [largest, key]: [bigint | null, string | null] = [null, null]
  for (const [name, amount] of products === null ? [] : amountsIn(products, 0n))
    if (largest === null || amount > largest) [largest, key] = [amount, name]
  return key
}

/** The same in SQL. */
export const mainKey = (products: SQLWrapper): SQL => sql`case when instr(${products}, '=') = 0 then ${products} else (
  select substr(j.value, 1, min(8, instr(j.value, '=') - 1)) from json_each('["' || replace(${products}, ',', '","') || '"]') j
  order by cast(substr(j.value, instr(j.value, '=') + 1) as integer) desc, j.key limit 1) end`
