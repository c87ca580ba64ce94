import type { DocumentFields } from '../authority/port/fields-contract.ts'
import type { FieldChange } from './contract.ts'

type Json = FieldChange['from']

/** Members that differ in every version. */
const OWN = ['issued_on', 'folio', 'date']

/** The members of fields, and those of the address separately. */
function membersOf(fields: DocumentFields): Map<string, Json> {
  const members = new Map<string, Json>()
  for (const [name, value] of Object.entries(fields) as [string, Json][])
    if (name === 'address') for (const [part, inner] of Object.entries(value as Record<string, Json>)) members.set(`address.${part}`, inner)
    else if (!OWN.includes(name)) members.set(name, value)
  return members
}

/** Returns what changed from one version of a document to another; nothing without an earlier one. */
export function changesOf(before: DocumentFields | null, after: DocumentFields): FieldChange[] {
  if (before === null) return []
  const old = membersOf(before)
  return [...membersOf(after)].flatMap(([field, to]) => {
    const from = old.get(field) ?? null
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ field, from, to }]
  })
}

/** The fields of a document in its row: only those that differ from a base, if that is shorter, because a version repeats most. */
export function keptFields(
  fields: string | null,
  base: { document_id: string; fields: string } | undefined,
): { fields: string | null; fields_base: string | null } {
  const changed =
    fields === null || base === undefined ? null : changedFields(JSON.parse(base.fields) as Members, JSON.parse(fields) as Members)
  return changed === null ? { fields, fields_base: null } : { fields: JSON.stringify(changed), fields_base: base!.document_id }
}

type Members = Record<string, unknown>

/** The members that changed. Null when `json_patch`, which removes nulls and merges objects, cannot put them in. */
function changedFields(before: Members, after: Members): Members | null {
  if (Object.keys(before).join() !== Object.keys(after).join()) return null
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  const isReplaced = ([, value]: [string, unknown]): boolean => value !== null && (typeof value !== 'object' || Array.isArray(value))
  return changed.every(isReplaced) ? Object.fromEntries(changed) : null
}
