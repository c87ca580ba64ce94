import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, rendered } from '../../platform/db/statement.ts'
import { isAfterCeiling, isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { latestOf } from '../../taxpayers/visibility/window.ts'
import { type ApplicationRow, type CfdiRow, cfdiAs, countOfRelated } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import type { ReadRow } from '../read-row.ts'
import { cfdi, cfdiPayments, cfdiSubstitutions } from '../tables.ts'
import type { Applied } from '../totals.ts'

const r = alias(cfdiSubstitutions, 'r')
const s = cfdiAs('s')
const y = cfdiAs('y')

// A past day is one before today: rows have today's state.

/** These conditions are long, and D1 binds at most 100 values to a statement. */
const written = (condition: SQL): SQL => sql`${condition}`.inlineParams()

type Document = ReturnType<typeof cfdiAs>

/** The condition that a document was vigente at the end of a past day: it still is, or it existed then and was cancelled later. */
export const isValidOn = (alias: string, day: string): SQL => {
  const { estatus, fecha, cancelled_at } = cfdiAs(alias)
  return written(sql`(${estatus} = 'vigente' or (${fecha} < ${afterDay(day)} and substr(${cancelled_at}, 1, 10) > ${day}))`)
}

/** The same for a document that acts on others: a complement does so from its payment's day, whenever it was issued. */
const actsOn = (partition: Partition, alias: string, day: string): SQL => {
  const { kind, tipo_comprobante, fecha } = cfdiAs(alias)
  return all([
    isCounted(partition, alias),
    isValidOn(alias, day),
    sql`${kind} = 'cfdi' and (${tipo_comprobante} = 'P' or ${fecha} < ${afterDay(day)})`,
  ])
}

/** The condition that the row `s` is between the parties of a document, and acts on others. */
const isReplacement = (partition: Partition, of: Document, day: string): SQL =>
  sql`${s.emisor_rfc} = ${of.emisor_rfc} and ${s.receptor_rfc} = ${of.receptor_rfc} and ${actsOn(partition, 's', day)}`

/** The rows `s` that name a document in relation 04 and are between its parties. */
const replacing = (partition: Partition, of: Document, day: string): SQL =>
  sql`from ${cfdiSubstitutions} ${r} cross join ${cfdi} ${s}
    where ${r.entity} = ${partition.number} and ${r.substituted} = ${of.uuid} and ${s.uuid} = ${r.source} and ${s.uuid} <> ${of.uuid}
      and ${isReplacement(partition, of, day)}`

/** Everything that replaces a document, directly or through others, as the common table `name`. */
const later = (partition: Partition, name: SQL, of: Document, day: string): SQL =>
  sql`with recursive ${name}(uuid) as (select ${s.uuid} ${replacing(partition, of, day)}
    union select ${s.uuid} from ${name} l cross join (select 1) cross join ${cfdiSubstitutions} ${r} cross join ${cfdi} ${s}
      where ${r.entity} = ${partition.number} and ${r.substituted} = l.uuid and ${s.uuid} = ${r.source} and ${s.uuid} <> l.uuid
        and ${isReplacement(partition, of, day)})`

const isNewer = (a: Document, b: Document): SQL => sql`(${a.issued_at}, ${a.uuid}) > (${b.issued_at}, ${b.uuid})`

/**
 * The condition that another document substituted this one at the end of a past day: of those between the same parties that
 * were vigente then, one that is newer or outside of a cycle with it replaces it. The document itself must have been vigente then.
 */
export function isSubstitutedOn(partition: Partition, alias: string, day: string): SQL {
  const of = cfdiAs(alias)
  const direct = replacing(partition, of, day)
  return written(sql`(exists (select 1 ${direct}) and (exists (select 1 ${direct} and ${isNewer(s, of)}) or exists (
    ${later(partition, sql`later`, of, day)}
    select 1 from later l cross join ${cfdi} ${y} where ${y.entity} = ${partition.number} and ${y.uuid} = l.uuid and ${y.uuid} <> ${of.uuid}
      and (${isNewer(y, of)} or not exists (${later(partition, sql`back`, y, day)} select 1 from back where back.uuid = ${of.uuid})))))`)
}

/** The condition that a document counted at the end of a past day. */
export const countedOn = (partition: Partition, alias: string, day: string): SQL =>
  written(sql`(${actsOn(partition, alias, day)} and not ${isSubstitutedOn(partition, alias, day)})`)

/** The condition that a document replaces one that was vigente at the end of a past day. */
const replacesOn = (partition: Partition, of: Document, day: string): SQL =>
  sql`exists (select 1 from ${cfdiSubstitutions} ${r} indexed by cfdi_substitutions_source cross join ${cfdi} ${s}
    where ${r.entity} = ${partition.number} and ${r.source} = ${of.uuid} and ${s.uuid} = ${r.substituted} and ${s.uuid} <> ${of.uuid}
      and ${isReplacement(partition, of, day)})`

/** The facts about a document for `rowOn`, as JSON. */
export const stateOn = (partition: Partition, alias: string, day: string): SQL =>
  written(
    sql`json_array(${isValidOn(alias, day)}, ${isSubstitutedOn(partition, alias, day)}, ${replacesOn(partition, cfdiAs(alias), day)})`,
  )

const NOT_CANCELLED = { estatus: 'vigente', cancelled_at: null, cancellation_reason: null, folio_sustitucion: null } as const

/** A row with its status and substitutions at the end of the past day of `state`. It omits what the authority answered since. */
export function rowOn<Row extends ReadRow>(row: Row, state: string): Row {
  const [isValid, isSubstituted, replaces] = JSON.parse(state) as (0 | 1)[]
  const substitutions = {
    substituted_from: isValid && isSubstituted ? 0 : null,
    substitutes_from: isValid && replaces ? 0 : null,
  }
  return { ...row, ...(isValid ? NOT_CANCELLED : {}), ...substitutions, status_checks: null }
}

const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')

/** The condition that the ceiling, or a past day, shows the credit note `of` where its application `p` has it (tables.ts); true for payments. */
export function isSeen(partition: Partition, of: string, past: string | null = null): SQL {
  const after = (column: string): SQL[] => [
    ...[isAfterCeiling(partition, of, column, 'p')].flatMap((one) => one ?? []),
    ...(past === null ? [] : [sql.raw(`p.${column} > ${latestOf(past)}`)]),
  ]
  const [from, until] = [after('seen_from'), after('seen_until')]
  const isOver = sql`${p.seen_until} is null ${sql.join(
    until.map((one) => sql`or ${one}`),
    sql` `,
  )}`
  return all([...from.map((one) => sql`(${p.seen_from} is null or not ${one})`), sql`(${isOver})`])
}

const APPLICATION = rendered(sql`'source', ${p.source}, 'n', ${p.n}, 'kind', ${p.kind}, 'amount', ${p.amount}, 'currency', ${p.currency},
  'tipo_cambio', ${p.tipo_cambio}, 'fecha_pago', ${p.fecha_pago}, 'forma_pago', ${p.forma_pago}, 'num_parcialidad', ${p.num_parcialidad},
  'imp_saldo_ant', ${p.imp_saldo_ant}, 'imp_pagado', ${p.imp_pagado}, 'imp_saldo_insoluto', ${p.imp_saldo_insoluto}`)

/**
 * The applications to an invoice that the reader's balance depends on: a JSON list for `parseApplied`. With a past day, those up to it, as
 * they were at its end. A function of D1 takes 32 arguments.
 */
export const appliedTo = (partition: Partition, alias: string, day: string | null = null): SQL => sql`(
  select json_group_array(json_object(${APPLICATION}, 'by', json_object('emisor_rfc', ${source.emisor_rfc},
      'receptor_rfc', ${source.receptor_rfc}, 'issued_at', ${source.issued_at}, 'estatus', ${statusOf(day)}, 'substituted_from', ${day === null ? substitutedFrom(partition) : substitutedOn(partition, day)},
      'is_shared', ${p.kind} = 'E' and ${countOfRelated(source)} > 1 and not (${p.amount} = ${source.total_micros} and coalesce(${p.seen_from}, ${p.seen_until}) is not null)),
    'is_shown', ${isShown(partition)}))
  from ${cfdiPayments} ${p} cross join ${cfdi} ${source}
  where ${p.entity} = ${partition.number} and ${p.invoice} = ${cfdiAs(alias).uuid} and ${source.uuid} = ${p.source} and ${isCounted(partition, 'source')}
    and ${isSeen(partition, 'source', day)}
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

interface SourceColumns extends Pick<CfdiRow, 'emisor_rfc' | 'receptor_rfc' | 'issued_at' | 'estatus' | 'substituted_from'> {
  /** Whether it is a credit note that is divided among several invoices. */
  is_shared: 0 | 1
}

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
