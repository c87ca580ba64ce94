import { jsonChunks } from '../../../platform/db/commit.ts'

const DOCUMENTS = [
  ...(['direction', 'rfc', 'tipo', 'cancelled', 'reason', 'newest', 'first', 'last', 'n', 'lag', 'dated', 'after'] as const),
  'without_amount' as const,
  ...(['net', 'goods', 'iva', 'iva_retenido', 'isr_retenido', 'total'] as const),
] as const

/** The members of a cell of each kind. Amounts are micros of MXN as text. */
const MEMBERS = {
  /** I and E by counterparty; cancelled ones by reason. `newest` is a name behind the position of its document. */
  documents: DOCUMENTS,
  /** The same without counterparties, and N. */
  sums: DOCUMENTS,
  /** Cash events of received documents, by supplier and kind of operation. */
  cash: [
    ...(['rfc', 'operacion', 'newest', 'base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras'] as const),
    ...(['iva_otras', 'iva_retenido'] as const),
  ],
  /** PPD invoices by counterparty, with what was paid of them, and what is open by the day when it is due, `[due, micros, day]`: with its day if that was still to come. */
  payments: ['direction', 'rfc', 'newest', 'invoices', 'count', 'invoices_paid', 'paid', 'weighted', 'on_time', 'open'] as const,
  /** Receipts by the month of their payment and receiver. */
  payroll: ['month', 'rfc', 'receipts', 'percepciones', 'deducciones', 'otros_pagos', 'isr', 'wages', 'wage_count'] as const,
  /** What is left out: how often the rate of a day was used, and the paid parts without an invoice. */
  quality: ['dof_rate', 'unreconciled_payments', 'other_parties'] as const,
} as const

export type PartKind = keyof typeof MEMBERS
export const KINDS = Object.keys(MEMBERS) as PartKind[]

export type Cell<Kind extends PartKind> = Record<(typeof MEMBERS)[Kind][number], string | number>
export type ReportCells = { [Kind in PartKind]: Cell<Kind>[] }

/** What is stored of a month: the chunks of each kind. */
export const writeCells = (cells: ReportCells): [kind: PartKind, n: number, data: string][] =>
  KINDS.flatMap((kind) =>
    jsonChunks((cells[kind] as Record<string, unknown>[]).map((cell) => MEMBERS[kind].map((name) => cell[name]))).map(
      (data, n): [PartKind, number, string] => [kind, n, data],
    ),
  )

/** Reads a chunk. */
export const parseCells = <Kind extends PartKind>(kind: Kind, data: string): Cell<Kind>[] =>
  (JSON.parse(data) as unknown[][]).map((values) => Object.fromEntries(MEMBERS[kind].map((name, n) => [name, values[n]])) as Cell<Kind>)
