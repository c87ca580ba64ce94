import { all, type Fragment, raw, sql } from '../platform/db/fragment.ts'
import { counts, type Partition } from '../visibility/scoped-ledger.ts'
import type { Applied } from './balances.ts'

/** What was applied to an invoice and counts for the reader, in the members of AppliedRow, as one JSON text. */
export const appliedTo = (book: Partition, alias: string): Fragment => sql`(
  select json_group_array(json_object('source', p.source, 'n', p.n, 'kind', p.kind, 'amount', cast(p.amount as text), 'currency', p.currency,
    'tipo_cambio', p.tipo_cambio, 'fecha_pago', p.fecha_pago, 'issued_at', source.issued_at, 'forma_pago', p.forma_pago, 'num_parcialidad', p.num_parcialidad,
    'imp_saldo_ant', p.imp_saldo_ant, 'imp_pagado', p.imp_pagado, 'imp_saldo_insoluto', p.imp_saldo_insoluto, 'estatus', source.estatus,
    'is_shown', ${isShown(book)}))
  from cfdi_payments p cross join cfdi source
  where p.entity = ${book.number} and p.invoice = ${raw(alias)}.uuid and source.uuid = p.source and ${counts(book, 'source')})`

// An own file is shown with what it applies to also where the authority's copy of it is shown instead.
const isShown = (book: Partition): Fragment => (book.origin === 'import' ? raw('1') : all(book.conditions('source')))

/** `appliedTo`, for pages: null where the stored balance counts nothing that was issued after the ceiling. */
export const appliedWhereHidden = (book: Partition, alias: string): Fragment =>
  book.until === null ? raw('null') : sql`case when ${raw(alias)}.applied_until > ${book.until} then ${appliedTo(book, alias)} end`

/** A row of `cfdi_payments` with the state of its source. */
export interface AppliedRow {
  source: string
  n: number
  kind: 'P' | 'E'
  amount: string
  currency: string | null
  tipo_cambio: string | null
  fecha_pago: string
  issued_at: number
  forma_pago: string | null
  num_parcialidad: string | null
  imp_saldo_ant: string | null
  imp_pagado: string | null
  imp_saldo_insoluto: string | null
  estatus: 'vigente' | 'cancelado'
  /** Whether the source is visible: all of these count, and those before the floor are not told of. */
  is_shown: 0 | 1
}

export const parseApplied = (text: string): AppliedRow[] => JSON.parse(text) as AppliedRow[]

export const appliedOf = ({ kind, amount, currency, tipo_cambio, fecha_pago, issued_at, estatus }: AppliedRow): Applied => ({
  kind,
  amount: BigInt(amount),
  currency,
  tipo_cambio,
  fecha_pago,
  issued_at,
  cancelled: estatus === 'cancelado',
})
