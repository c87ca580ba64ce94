import type { Micros } from '../platform/money.ts'
import { type Countable, contribution, isInSums } from './totals.ts'

/** The totals of one supplier: its valid documents of types I and E that the RFC received. */
export interface SupplierTotals {
  /** Documents of type I. */
  invoices: number
  /** Documents of type E. */
  credit_notes: number
  with_xml: number
  /** Documents that add no amount, because their exchange rate is not known, or because it does not fit. */
  missing_rate: number
  not_counted: number
  /** The totals of type I minus those of type E, in micros of MXN. */
  amount: Micros
}

/** Totals by the supplier's RFC. */
export type Suppliers = Map<string, SupplierTotals>

/** A month and one of the parts into which its suppliers are divided, `YYYY-MM|0`. */
export type PartKey = `${string}|${number}`

/** The share of one document in the totals of its supplier. */
export interface Share {
  key: PartKey
  rfc: string
  totals: SupplierTotals
}

/** With four parts, a month of 200,000 suppliers still fits into its rows. */
const PARTS = 4

/** The part that holds a supplier in each month. It depends on the last character of the RFC, which SQL can evaluate too. */
export const partOf = (rfc: string): number => (rfc.codePointAt(rfc.length - 1) ?? 0) % PARTS

type Received = Pick<Countable, 'fecha' | 'tipo_comprobante' | 'emisor_rfc'> & { direction: number }

/** The part that a document counts in while it is valid. Null for documents that never count. */
export const partKeyOf = ({ direction, tipo_comprobante, emisor_rfc, fecha }: Received): PartKey | null =>
  direction === 1 && (tipo_comprobante === 'I' || tipo_comprobante === 'E') ? `${fecha.slice(0, 7)}|${partOf(emisor_rfc)}` : null

/**
 * A document's share in its supplier's totals, for a ceiling in seconds. Null unless it is a received invoice or credit note that counts.
 */
export function shareOf(row: Countable & { direction: number }, until: number | null = null): Share | null {
  const key = partKeyOf(row)
  const counted = key === null || !isInSums(row, until) ? null : contribution(row)
  if (key === null || counted === null) return null
  const { total, with_xml, missing_rate, not_counted } = counted.values
  const isInvoice = row.tipo_comprobante === 'I'
  return {
    key,
    rfc: row.emisor_rfc,
    totals: {
      ...{ invoices: isInvoice ? 1 : 0, credit_notes: isInvoice ? 0 : 1, with_xml, missing_rate, not_counted },
      amount: isInvoice ? total : -total,
    },
  }
}

const COUNTS = ['invoices', 'credit_notes', 'with_xml', 'missing_rate', 'not_counted'] as const

/** Adds totals to a supplier, or subtracts them with sign -1. */
export function addSupplier(suppliers: Suppliers, rfc: string, totals: SupplierTotals, sign: 1 | -1 = 1): void {
  const known = suppliers.get(rfc) ?? { invoices: 0, credit_notes: 0, with_xml: 0, missing_rate: 0, not_counted: 0, amount: 0n }
  suppliers.set(rfc, known)
  for (const name of COUNTS) known[name] += sign * totals[name]
  known.amount += sign === 1 ? totals.amount : -totals.amount
}

/** Whether a supplier has any document. */
export const hasAny = ({ invoices, credit_notes }: SupplierTotals): boolean => invoices + credit_notes > 0

/** Parses the `totals` column. There are no suppliers without a row. */
export function parseSuppliers(text: string | null): Suppliers {
  const suppliers: Suppliers = new Map()
  if (text === null) return suppliers
  for (const [rfc, stored] of Object.entries(JSON.parse(text) as Record<string, Stored>)) {
    const [invoices, credit_notes, with_xml, missing_rate, not_counted, amount] = stored
    suppliers.set(rfc, { invoices, credit_notes, with_xml, missing_rate, not_counted, amount: BigInt(amount) })
  }
  return suppliers
}

type Stored = [number, number, number, number, number, string]

/** Formats the `totals` column: sorted, so that the same documents give the same text, and without suppliers that have no documents. */
export function writeSuppliers(suppliers: Suppliers): string {
  const kept = [...suppliers].filter(([, totals]) => hasAny(totals)).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(
    Object.fromEntries(kept.map(([rfc, totals]) => [rfc, [...COUNTS.map((name) => totals[name]), totals.amount.toString()]])),
  )
}
