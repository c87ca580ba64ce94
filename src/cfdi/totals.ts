import { fits, isPesos, type Micros, micros, times } from '../platform/money.ts'
import { isSubstituted } from './substitution.ts'

/** A value of an integer column: a number or decimal text as it was read, or a bigint before it is stored. */
export type Integer = Micros | number | string | null

/** The columns of a row of `cfdi` that the totals of its month depend on. */
export interface Countable {
  kind: string
  /** Null while only metadata is known. */
  version: string | null
  fecha: string
  tipo_comprobante: string | null
  metodo_pago: string | null
  estatus: string
  substituted_from: number | null
  emisor_rfc: string
  receptor_rfc: string
  currency: string | null
  tipo_cambio: string | null
  subtotal: string | null
  descuento: string | null
  total: string | null
  iva_trasladado: Integer
  iva_retenido: Integer
  isr_retenido: Integer
  ieps_trasladado: Integer
}

/** Sums over documents. Amounts are micros of MXN. */
export interface Totals {
  n: number
  with_xml: number
  /** Documents that add no amount, because their exchange rate is not known. */
  missing_rate: number
  /** Documents that add no amount, because one of theirs does not fit (money.ts). */
  not_counted: number
  subtotal: Micros
  descuento: Micros
  total: Micros
  iva_trasladado: Micros
  iva_retenido: Micros
  isr_retenido: Micros
  ieps: Micros
}

/**
 * What one document adds to its month. `cell` is `dd|tipo|metodo|state`; a part that the document does not have is empty. The state is the
 * estatus, or `sustituido` for a valid document that does not count because another one substitutes it. Documents that are in no sum have
 * cells of their own (`ASIDE`).
 */
export interface Contribution {
  month: string
  cell: string
  values: Totals
}

/** Totals of one month and direction by key: that of a `Contribution`, or the same without its day. */
export type Cells = Map<string, Totals>

const COUNTS = ['n', 'with_xml', 'missing_rate', 'not_counted'] as const
const AMOUNTS = ['subtotal', 'descuento', 'total', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps'] as const

/** MXN for one unit of the document's currency, as decimal text. Null when the document is in another currency and states no rate. */
export function rateOf(currency: string | null, tipo_cambio: string | null): string | null {
  if (isPesos(currency)) return '1'
  return tipo_cambio !== null && Number(tipo_cambio) > 0 ? tipo_cambio : null
}

/** Converts an amount to MXN. Null when the rate is not known. */
export const inMxn = (amount: Micros, rate: string | null): Micros | null =>
  rate === null ? null : rate === '1' ? amount : times(amount, rate)

/** The totals of no documents. */
export const nothing = (): Totals => ({
  n: 0,
  with_xml: 0,
  missing_rate: 0,
  not_counted: 0,
  subtotal: 0n,
  descuento: 0n,
  total: 0n,
  iva_trasladado: 0n,
  iva_retenido: 0n,
  isr_retenido: 0n,
  ieps: 0n,
})

/**
 * What a document adds to its month, for a ceiling in seconds; null without one. Returns null for retenciones and for documents outside the
 * population (insights.md 8.0).
 */
export function contribution(row: Countable, until: number | null = null): Contribution | null {
  if (row.kind !== 'cfdi' || row.emisor_rfc === row.receptor_rfc) return null
  const counted: Totals = { ...nothing(), n: 1, with_xml: row.version === null ? 0 : 1 }
  let values = { ...counted }
  // Metadata does not state the currency of its amount. A CFDI 3.2 without Moneda is in pesos.
  const rate = row.version === null ? null : rateOf(row.currency, row.tipo_cambio)
  if (rate === null) values.missing_rate = 1
  else {
    const mxn = (amount: Micros | null): Micros => (amount === null || amount === 0n ? 0n : (inMxn(amount, rate) ?? 0n))
    values.subtotal = mxn(micros(row.subtotal))
    values.descuento = mxn(micros(row.descuento))
    values.total = mxn(micros(row.total))
    values.iva_trasladado = mxn(integer(row.iva_trasladado))
    values.iva_retenido = mxn(integer(row.iva_retenido))
    values.isr_retenido = mxn(integer(row.isr_retenido))
    values.ieps = mxn(integer(row.ieps_trasladado))
    if (!AMOUNTS.every((name) => fits(values[name]))) values = { ...counted, not_counted: 1 }
  }
  const { fecha } = row
  return {
    month: fecha.slice(0, 7),
    cell: `${fecha.slice(8, 10)}|${row.tipo_comprobante ?? ''}|${row.metodo_pago ?? ''}|${stateOf(row, until)}`,
    values,
  }
}

/** The type of cells with documents that are in no sum: retenciones, and what the RFC issued to itself. */
export const ASIDE = '-'

/** What a document adds to the cells of its month. One that contributes nothing to sums is counted aside. */
export const cellOf = (row: Countable): Contribution =>
  contribution(row) ?? {
    month: row.fecha.slice(0, 7),
    cell: `${row.fecha.slice(8, 10)}|${ASIDE}||${row.estatus}`,
    values: { ...nothing(), n: 1, with_xml: row.version === null ? 0 : 1 },
  }

/** Whether a document counts: it is valid, and no document that the ceiling shows substitutes it. */
export const isInSums = (row: Pick<Countable, 'estatus' | 'substituted_from'>, until: number | null): boolean =>
  stateOf(row, until) === 'vigente'

const stateOf = (row: Pick<Countable, 'estatus' | 'substituted_from'>, until: number | null): string =>
  row.estatus === 'vigente' && isSubstituted(row, until) ? 'sustituido' : row.estatus

const integer = (value: Integer): Micros => (value === null ? 0n : BigInt(value))

/** Adds totals to others, or subtracts them with sign -1. */
export function add(into: Totals, values: Totals, sign: 1 | -1 = 1): void {
  for (const name of COUNTS) into[name] += sign * values[name]
  for (const name of AMOUNTS) if (values[name] !== 0n) into[name] += sign === 1 ? values[name] : -values[name]
}

/** Adds a document to the cells of its month, or removes it with sign -1. */
export function addTo(cells: Cells, { cell, values }: Omit<Contribution, 'month'>, sign: 1 | -1): void {
  const totals = cells.get(cell) ?? nothing()
  cells.set(cell, totals)
  add(totals, values, sign)
}

/** Parses the `cells` column of a month. A month without a row has no cells. */
export function parseCells(text: string | null): Cells {
  const cells: Cells = new Map()
  if (text === null) return cells
  for (const [cell, values] of Object.entries(JSON.parse(text) as Record<string, (number | string)[]>)) {
    const totals = nothing()
    COUNTS.forEach((name, i) => {
      totals[name] = Number(values[i])
    })
    AMOUNTS.forEach((name, i) => {
      totals[name] = BigInt(values[COUNTS.length + i] ?? 0)
    })
    cells.set(cell, totals)
  }
  return cells
}

/** Formats the `cells` column: sorted by key, so that the same documents give the same text, and without empty cells. */
export function writeCells(cells: Cells): string {
  const kept = [...cells].filter(([, totals]) => totals.n !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(
    Object.fromEntries(
      kept.map(([cell, totals]) => [cell, [...COUNTS.map((name) => totals[name]), ...AMOUNTS.map((name) => totals[name].toString())]]),
    ),
  )
}

/** A month's cells added up over its days: the day is no part of their keys, `tipo|metodo|state`. */
export function sumDays(cells: Cells): Cells {
  const sums: Cells = new Map()
  for (const [cell, values] of cells) addTo(sums, { cell: withoutDay(cell), values }, 1)
  return sums
}

/** The key of a cell without its day. */
export const withoutDay = (cell: string): string => cell.slice(cell.indexOf('|') + 1)

/** A month and direction, `YYYY-MM|0`. */
export type MonthKey = `${string}|${number}`
export const monthKey = ({ fecha, direction }: { fecha: string; direction: number }): MonthKey => `${fecha.slice(0, 7)}|${direction}`
