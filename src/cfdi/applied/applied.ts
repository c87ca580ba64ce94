import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, rendered } from '../../platform/db/statement.ts'
import { isAfterCeiling, isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Applied } from '../balances.ts'
import type { ApplicationRow, CfdiRow } from '../columns.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { isSubstitutedOn, isValidOn } from './as-of.ts'

const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')

const APPLICATION = rendered(sql`'source', ${p.source}, 'n', ${p.n}, 'kind', ${p.kind}, 'amount', ${p.amount}, 'currency', ${p.currency},
  'tipo_cambio', ${p.tipo_cambio}, 'fecha_pago', ${p.fecha_pago}, 'forma_pago', ${p.forma_pago}, 'num_parcialidad', ${p.num_parcialidad},
  'imp_saldo_ant', ${p.imp_saldo_ant}, 'imp_pagado', ${p.imp_pagado}, 'imp_saldo_insoluto', ${p.imp_saldo_insoluto}`)

/**
 * The applications to an invoice that the reader's balance depends on: a JSON list for `parseApplied`. With a past day, those up to it, as
 * they were at its end. A function takes 32 arguments.
 */
export const appliedTo = (partition: Partition, alias: string, day: string | null = null): SQL => sql`(
  select json_group_array(json_object(${APPLICATION}, 'by', json_object('emisor_rfc', ${source.emisor_rfc},
      'receptor_rfc', ${source.receptor_rfc}, 'issued_at', ${source.issued_at}, 'estatus', ${statusOf(day)}, 'substituted_from', ${day === null ? substitutedFrom(partition) : substitutedOn(partition, day)}),
    'is_shown', ${isShown(partition)}))
  from ${cfdiPayments} ${p} cross join ${cfdi} ${source}
  where ${p.entity} = ${partition.number} and ${p.invoice} = ${cfdiAs(alias).uuid} and ${source.uuid} = ${p.source} and ${isCounted(partition, 'source')}
    ${day === null ? sql`` : sql`and ${p.fecha_pago} < ${afterDay(day)}`})`

const statusOf = (day: string | null): SQL =>
  day === null ? sql`${source.estatus}` : sql`case when ${isValidOn('source', day)} then 'vigente' else 'cancelado' end`

const substitutedOn = (partition: Partition, day: string): SQL => sql`case when ${isSubstitutedOn(partition, 'source', day)} then 0 end`

// An imported payment is listed with the imported invoice even when the authority's copy of the payment is shown instead of it.
const isShown = (partition: Partition): SQL => (partition.origin === 'import' ? sql`1` : all(partition.conditions('source')))

// A document that substitutes the payment counts up to the ceiling, as the payment itself does.
function substitutedFrom(partition: Partition): SQL {
  const isBeyond = isAfterCeiling(partition, 'source', 'substituted_from')
  return isBeyond === null ? sql`${source.substituted_from}` : sql`case when not ${isBeyond} then ${source.substituted_from} end`
}

/** `appliedTo` for pages: null unless the stored balance depends on something that was issued after the ceiling. */
export function appliedBeyondCeiling(partition: Partition, alias: string): SQL {
  const isBeyond = isAfterCeiling(partition, alias, 'applied_until')
  return isBeyond === null ? sql`null` : sql`case when ${isBeyond} then ${appliedTo(partition, alias)} end`
}

type SourceColumns = Pick<CfdiRow, 'emisor_rfc' | 'receptor_rfc' | 'issued_at' | 'estatus' | 'substituted_from'>

/** An application with the columns of its source that decide whether it counts. */
export interface AppliedRow extends Omit<ApplicationRow, 'invoice' | 'amount'>, SourceColumns {
  amount: string
  /** Whether the source is visible. All of these rows are considered, but those before the floor are not listed. */
  is_shown: 0 | 1
}

export const parseApplied = (text: string): AppliedRow[] =>
  (JSON.parse(text) as (AppliedRow & { by: SourceColumns })[]).map(({ by, ...row }) => ({ ...row, ...by }))

/** The application that a row describes. */
export const appliedOf = (row: AppliedRow): Applied => ({ ...row, amount: BigInt(row.amount), cancelled: row.estatus === 'cancelado' })
