import { isDeferred } from '../balances.ts'
import { type PartKey, partKeyOf } from '../supplier-totals.ts'
import { type MonthKey, monthKey } from '../totals.ts'
import { invoicesOf, relatedTo, type SliceChanges } from './apply-changes.ts'
import { type AffectedKeys, type AffectedRows, readAffected, type StoredRow } from './reads.ts'

const monthsOf = (rows: readonly { fecha: string; direction: number }[]): MonthKey[] => [...new Set(rows.map(monthKey))]
const partsOf = (rows: readonly Parameters<typeof partKeyOf>[0][]): PartKey[] => [...new Set(rows.flatMap((row) => partKeyOf(row) ?? []))]

/** Reads the stored rows that the changes affect: one call, or two when the rows themselves lead to others. */
export async function readAffectedBy(
  ledger: D1Database,
  entity: number,
  { created, completed, cancelled, removed }: SliceChanges,
): Promise<AffectedRows> {
  const rows = [...created, ...completed].map(({ row }) => row)
  const cancelledUuids = cancelled.map(({ uuid }) => uuid)
  // What these paid has to be computed again.
  const withdrawn = [...cancelledUuids, ...removed]
  const changed = [...completed.map(({ row }) => row.uuid), ...withdrawn]
  const invoices = invoicesOf({ created, completed })
  const deferred = rows.filter(isDeferred).map(({ uuid }) => uuid)
  const keys: AffectedKeys = {
    rows: [...new Set([...changed, ...invoices])],
    applied: [...new Set([...invoices, ...deferred, ...cancelledUuids])],
    months: monthsOf(rows),
    suppliers: partsOf(rows),
  }
  const affected = await readAffected(ledger, entity, keys)
  const more = await readAffected(ledger, entity, keysOfStored(affected.rows, new Set(changed), new Set(withdrawn), keys))
  return {
    rows: [...affected.rows, ...more.rows],
    applications: [...affected.applications, ...more.applications],
    months: [...affected.months, ...more.months],
    suppliers: [...affected.suppliers, ...more.suppliers],
  }
}

/** The keys that changed documents affect as stored: the months and suppliers that count them, the invoices that a withdrawn one paid. */
function keysOfStored(
  rows: readonly StoredRow[],
  changed: ReadonlySet<string>,
  withdrawn: ReadonlySet<string>,
  read: AffectedKeys,
): AffectedKeys {
  const before = rows.filter(({ uuid }) => changed.has(uuid))
  const related = relatedTo(before.filter(({ uuid }) => withdrawn.has(uuid)))
  return {
    rows: except(related, read.rows),
    applied: except(related, read.applied),
    months: except(monthsOf(before), read.months),
    suppliers: except(partsOf(before), read.suppliers),
  }
}

/** The elements of a list that are not in another. */
export const except = <T>(list: readonly T[], others: readonly T[]): T[] => {
  const excluded = new Set(others)
  return list.filter((one) => !excluded.has(one))
}
