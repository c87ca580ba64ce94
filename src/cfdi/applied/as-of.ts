import { type SQL, sql } from 'drizzle-orm'
import { all, inlined } from '../../platform/db/statement.ts'
import { isCounted, type Partition } from '../../visibility/scoped-ledger.ts'
import { afterDay } from '../literal-day.ts'
import type { ReadRow } from '../read-row.ts'

// A past day is one before today; today's state is what the rows say.

/** These conditions are long, and D1 binds at most 100 values to a statement. */
const written = (condition: SQL): SQL => sql.raw(inlined(condition))

/** The condition that a document was vigente at the end of a past day: it still is, or it existed then and was cancelled later. */
export const isValidOn = (alias: string, day: string): SQL =>
  written(
    sql`(${sql.raw(alias)}.estatus = 'vigente' or (${sql.raw(alias)}.fecha < ${afterDay(day)} and substr(${sql.raw(alias)}.cancelled_at, 1, 10) > ${day}))`,
  )

/** The same of a document that acts on others: a complement does so from its payment's day, whenever it was issued. */
const actsOn = (partition: Partition, alias: string, day: string): SQL =>
  all([
    isCounted(partition, alias),
    isValidOn(alias, day),
    sql`${sql.raw(alias)}.kind = 'cfdi' and (${sql.raw(alias)}.tipo_comprobante = 'P' or ${sql.raw(alias)}.fecha < ${afterDay(day)})`,
  ])

/** The rows `s` that name a document in relation 04 and are between the parties of `of`. */
const replacing = (partition: Partition, uuid: string, of: string, day: string): SQL =>
  sql`from cfdi_substitutions r cross join cfdi s
    where r.entity = ${partition.number} and r.substituted = ${sql.raw(uuid)} and s.uuid = r.source and s.uuid <> ${sql.raw(uuid)}
      and s.emisor_rfc = ${sql.raw(of)}.emisor_rfc and s.receptor_rfc = ${sql.raw(of)}.receptor_rfc and ${actsOn(partition, 's', day)}`

/** Everything that replaces a document, directly or through others, as the common table `name`. */
const later = (partition: Partition, name: string, alias: string, day: string): SQL =>
  sql`with recursive ${sql.raw(name)}(uuid) as (select s.uuid ${replacing(partition, `${alias}.uuid`, alias, day)}
    union select s.uuid from ${sql.raw(name)} l cross join (select 1) cross join cfdi_substitutions r cross join cfdi s
      where r.entity = ${partition.number} and r.substituted = l.uuid and s.uuid = r.source and s.uuid <> l.uuid
        and s.emisor_rfc = ${sql.raw(alias)}.emisor_rfc and s.receptor_rfc = ${sql.raw(alias)}.receptor_rfc and ${actsOn(partition, 's', day)})`

const isNewer = (a: string, b: string): string => `(${a}.issued_at, ${a}.uuid) > (${b}.issued_at, ${b}.uuid)`

/**
 * The condition that another document substituted this one at the end of a past day (substitution.ts): of those between the same parties that
 * were vigente then, one that is newer or outside of a cycle with it replaces it. The document itself must have been vigente then.
 */
export function isSubstitutedOn(partition: Partition, alias: string, day: string): SQL {
  const direct = replacing(partition, `${alias}.uuid`, alias, day)
  return written(sql`(exists (select 1 ${direct}) and (exists (select 1 ${direct} and ${sql.raw(isNewer('s', alias))}) or exists (
    ${later(partition, 'later', alias, day)}
    select 1 from later l cross join cfdi y where y.entity = ${partition.number} and y.uuid = l.uuid and y.uuid <> ${sql.raw(alias)}.uuid
      and (${sql.raw(isNewer('y', alias))} or not exists (${later(partition, 'back', 'y', day)} select 1 from back where back.uuid = ${sql.raw(alias)}.uuid)))))`)
}

/** The condition that a document counted at the end of a past day. */
export const countedOn = (partition: Partition, alias: string, day: string): SQL =>
  written(sql`(${actsOn(partition, alias, day)} and not ${isSubstitutedOn(partition, alias, day)})`)

/** The condition that a document replaces one that was vigente at the end of a past day. */
const replacesOn = (partition: Partition, alias: string, day: string): SQL =>
  sql`exists (select 1 from cfdi_substitutions r indexed by cfdi_substitutions_source cross join cfdi s
    where r.entity = ${partition.number} and r.source = ${sql.raw(alias)}.uuid and s.uuid = r.substituted and s.uuid <> ${sql.raw(alias)}.uuid
      and s.emisor_rfc = ${sql.raw(alias)}.emisor_rfc and s.receptor_rfc = ${sql.raw(alias)}.receptor_rfc and ${actsOn(partition, 's', day)})`

/** What `rowOn` needs of a document, as JSON. */
export const stateOn = (partition: Partition, alias: string, day: string): SQL =>
  written(sql`json_array(${isValidOn(alias, day)}, ${isSubstitutedOn(partition, alias, day)}, ${replacesOn(partition, alias, day)})`)

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
