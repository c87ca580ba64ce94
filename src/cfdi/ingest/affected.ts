import { isDeferred } from '../balances.ts'
import { type PartKey, partKeyOf } from '../supplier-totals.ts'
import { type MonthKey, monthKey } from '../totals.ts'
import { invoicesOf, recountedIn, relatedTo, type SliceChanges } from './apply-changes.ts'
import { type AffectedKeys, type AffectedRows, readAffected } from './reads.ts'

const monthsOf = (rows: readonly { fecha: string; direction: number }[]): MonthKey[] => [...new Set(rows.map(monthKey))]
const partsOf = (rows: readonly Parameters<typeof partKeyOf>[0][]): PartKey[] => [...new Set(rows.flatMap((row) => partKeyOf(row) ?? []))]

/** What changes of its own accord: documents that get their XML, and those that are withdrawn, which may have paid something. */
const withdrawnIn = ({ cancelled, removed }: SliceChanges): string[] => [...cancelled.map(({ uuid }) => uuid), ...removed]
const changedIn = (changes: SliceChanges): string[] => [...changes.completed.map(({ row }) => row.uuid), ...withdrawnIn(changes)]

/** Reads the stored rows that the changes affect: one call, and more when the rows themselves lead to others. */
export async function readAffectedBy(ledger: D1Database, entity: number, changes: SliceChanges): Promise<AffectedRows> {
  const asked: AffectedKeys = { rows: [], applied: [], linked: [], months: [], suppliers: [] }
  const read: AffectedRows = { rows: [], applications: [], substitutions: [], months: [], suppliers: [] }
  for (let keys = keysOf(changes); Object.values(keys).some(({ length }) => length > 0); keys = keysOfStored(changes, read, asked)) {
    append(asked, keys)
    append(read, await readAffected(ledger, entity, keys))
  }
  return read
}

function append<Lists extends object>(to: Lists, more: Lists): void {
  for (const name of Object.keys(to) as (keyof Lists)[])
    to[name] = [...(to[name] as unknown[]), ...(more[name] as unknown[])] as Lists[typeof name]
}

function keysOf(changes: SliceChanges): AffectedKeys {
  const rows = [...changes.created, ...changes.completed].map(({ row }) => row)
  const invoices = invoicesOf(changes)
  const changed = changedIn(changes)
  return {
    rows: [...new Set([...changed, ...invoices])],
    applied: [...new Set([...invoices, ...rows.filter(isDeferred).map(({ uuid }) => uuid), ...changes.cancelled.map(({ uuid }) => uuid)])],
    linked: [...new Set([...rows.map(({ uuid }) => uuid), ...changed, ...invoices])],
    months: monthsOf(rows),
    suppliers: partsOf(rows),
  }
}

/**
 * The keys to which stored rows lead: the documents that a changed one substitutes or that substitute it, the months and suppliers of those
 * that count now or no more, and the invoices that these and the withdrawn ones paid.
 */
function keysOfStored(changes: SliceChanges, read: AffectedRows, asked: AffectedKeys): AffectedKeys {
  const changed = new Set(changedIn(changes))
  const withdrawn = new Set(withdrawnIn(changes))
  const recounted = recountedIn(changes, read)
  const created = changes.created.map(({ row }) => row.uuid)
  const before = [...read.rows.filter(({ uuid }) => changed.has(uuid)), ...recounted]
  const related = relatedTo([...read.rows.filter(({ uuid }) => withdrawn.has(uuid)), ...recounted])
  const linked = read.substitutions.flatMap(({ substituted, source }) => [substituted, source])
  const rows = [...new Set([...related, ...except(linked, created)])]
  return {
    rows: except(rows, asked.rows),
    applied: except(rows, asked.applied),
    linked: [],
    months: except(monthsOf(before), asked.months),
    suppliers: except(partsOf(before), asked.suppliers),
  }
}

/** The elements of a list that are not in another. */
export const except = <T>(list: readonly T[], others: readonly T[]): T[] => {
  const excluded = new Set(others)
  return list.filter((one) => !excluded.has(one))
}
