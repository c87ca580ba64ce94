import type { DocumentFields } from '../authority/port/fields-contract.ts'
import type { FieldChange } from './contract.ts'

type Json = FieldChange['from']

/** What differs in every version. */
const OWN = ['issued_on', 'folio', 'date']

/** The members of fields, those of the address each by itself. */
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
