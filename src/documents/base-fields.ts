import { prepared, sql } from '../platform/db/fragment.ts'
import type { documents } from './tables.ts'

type DocumentRow = typeof documents.$inferSelect

/** Selects the fields of a document, whole, out of its row. */
export const fieldsOf = (d: string): string =>
  `iif(${d}.fields_base is null, ${d}.fields, (
    select json_patch(base.fields, ${d}.fields) from documents base where base.entity = ${d}.entity and base.document_id = ${d}.fields_base))`

/** A document whose row has all of its fields. */
export type Base = Pick<DocumentRow, 'series' | 'document_id'> & { fields: string }

/** Finds the latest document of each of these series whose row has all of its fields. */
export const basesOf = async (
  ledger: D1Database,
  { entity, source }: Pick<DocumentRow, 'entity' | 'source'>,
  series: readonly string[],
): Promise<Map<string, Base>> => {
  const { results } = await prepared(
    ledger,
    sql`select series, max(document_id) as document_id, fields from documents
      where entity = ${entity} and source = ${source} and series in (select value from json_each(${JSON.stringify(series)}))
        and fields_status = 'read' and fields_base is null group by series`,
  ).all<Base>()
  return new Map(results.map((base) => [base.series, base]))
}

/** The fields of a document as its row keeps them: those that differ from a base when that is shorter, because a version repeats most. */
export function keptFields(fields: string | null, base: Base | undefined): Pick<DocumentRow, 'fields' | 'fields_base'> {
  const changed = fields === null || base === undefined ? null : changedFields(JSON.parse(base.fields) as Json, JSON.parse(fields) as Json)
  return changed === null ? { fields, fields_base: null } : { fields: JSON.stringify(changed), fields_base: base!.document_id }
}

type Json = Record<string, unknown>

/** The members that changed. Null when `json_patch`, which removes nulls and merges objects, cannot put them in. */
function changedFields(before: Json, after: Json): Json | null {
  if (Object.keys(before).join() !== Object.keys(after).join()) return null
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  const isReplaced = ([, value]: [string, unknown]): boolean => value !== null && (typeof value !== 'object' || Array.isArray(value))
  return changed.every(isReplaced) ? Object.fromEntries(changed) : null
}
