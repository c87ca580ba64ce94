import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all } from '../../platform/db/statement.ts'
import { isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import type { ReadRow } from '../read-row.ts'
import { cfdi, cfdiSubstitutions } from '../tables.ts'

const r = alias(cfdiSubstitutions, 'r')
const s = cfdiAs('s')
const y = cfdiAs('y')

// A past day is one before today; today's state is what the rows say.

/** These conditions are long, and D1 binds at most 100 values to a statement. */
const written = (condition: SQL): SQL => sql`${condition}`.inlineParams()

type Document = ReturnType<typeof cfdiAs>

/** The condition that a document was vigente at the end of a past day: it still is, or it existed then and was cancelled later. */
export const isValidOn = (alias: string, day: string): SQL => {
  const { estatus, fecha, cancelled_at } = cfdiAs(alias)
  return written(sql`(${estatus} = 'vigente' or (${fecha} < ${afterDay(day)} and substr(${cancelled_at}, 1, 10) > ${day}))`)
}

/** The same of a document that acts on others: a complement does so from its payment's day, whenever it was issued. */
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
 * The condition that another document substituted this one at the end of a past day (substitution.ts): of those between the same parties that
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

/** What `rowOn` needs of a document, as JSON. */
export const stateOn = (partition: Partition, alias: string, day: string): SQL =>
  written(
    sql`json_array(${isValidOn(alias, day)}, ${isSubstitutedOn(partition, alias, day)}, ${replacesOn(partition, cfdiAs(alias), day)})`,
  )

const NOT_CANCELLED = { estatus: 'vigente', cancelled_at: null, cancellation_reason: null, folio_sustitucion: null } as const

/** A row as it was at the end of the past day of its state: its status and substitutions. What the authority was asked since is not said. */
export function rowOn<Row extends ReadRow>(row: Row, state: string): Row {
  const [isValid, isSubstituted, replaces] = JSON.parse(state) as (0 | 1)[]
  const substitutions = {
    substituted_from: isValid && isSubstituted ? 0 : null,
    substitutes_from: isValid && replaces ? 0 : null,
  }
  return { ...row, ...(isValid ? NOT_CANCELLED : {}), ...substitutions, status_checks: null }
}
