import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { cfdi } from '../../cfdi/tables.ts'
import type { BlacklistChangedBody } from '../../lists/listed/changed.ts'
import { blacklistChanges, blacklistLists, type ListState } from '../../lists/tables.ts'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare, readAll, readRows } from '../../platform/db/statement.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'

const [c, own] = [alias(blacklistChanges, 'c'), alias(cfdi, 'own')]
const { organization_id, source, label, version, notified_version } = blacklistLists

/** A list whose last versions are not reported yet. */
export type UnnotifiedList = Pick<ListState, 'organization_id' | 'source' | 'label' | 'version' | 'notified_version'>

/** The lists that have versions to be reported, of the first organization that has any; public lists come first. */
export const unnotifiedLists = (): SQL<UnnotifiedList> =>
  sql<UnnotifiedList>`select ${organization_id}, ${source}, ${label}, ${version}, ${notified_version}
        from ${blacklistLists} indexed by blacklist_lists_unnotified where ${notified_version} < ${version} and ${organization_id} = (
          select min(${organization_id}) from ${blacklistLists} indexed by blacklist_lists_unnotified where ${notified_version} < ${version})`

/** Notes that versions of lists are reported. */
export const markNotified = (lists: readonly Pick<UnnotifiedList, 'organization_id' | 'source' | 'version'>[]): SQL => {
  const json = JSON.stringify(lists.map((list) => [list.organization_id, list.source, list.version]))
  return sql`update ${blacklistLists} set ${bare(notified_version)} = max(${notified_version}, j.value->>2) from json_each(${json}) j
      where ${organization_id} = j.value->>0 and ${source} = j.value->>1`
}

/** A change of a list, as its load recorded it. */
export type RecordedChange = Pick<BlacklistChangedBody, 'source' | 'change' | 'situacion_before' | 'situacion' | 'changed_at'> & {
  rfc: string
  version: number
  name: string
}

/** Selects the changes in the unreported versions of lists: of these RFCs, a JSON list, or of all. */
const changesIn = (lists: readonly UnnotifiedList[], rfcs?: string): SQL => {
  const of = JSON.stringify(lists.map((list) => [list.organization_id, list.source, list.notified_version, list.version]))
  return sql`select ${c.source}, ${c.rfc}, ${c.version}, ${c.name}, ${c.change}, ${c.situacion_before}, ${c.situacion}, ${c.changed_at}
    from json_each(${of}) l ${rfcs === undefined ? sql`` : sql`cross join json_each(${rfcs}) j`}
    cross join ${blacklistChanges} ${c} on ${c.organization_id} = l.value->>0 and ${c.source} = l.value->>1
      ${rfcs === undefined ? sql`` : sql`and ${c.rfc} = j.value`} and ${c.version} > l.value->>2 and ${c.version} <= l.value->>3`
}

/** Finds the changes of these RFCs in the unreported versions of lists, in one call. */
export const findChanges = (d1: D1Database, lists: readonly UnnotifiedList[], rfcs: readonly string[]): Promise<RecordedChange[]> =>
  readAll(
    d1,
    jsonChunks(rfcs).map((json) => changesIn(lists, json)),
  )

/** Finds all changes in the unreported versions of lists, in one call; null when there are more than `most`. */
export async function findAllChanges(d1: D1Database, lists: readonly UnnotifiedList[], most: number): Promise<RecordedChange[] | null> {
  const results = await readRows(d1, sql<RecordedChange>`${changesIn(lists)} limit ${most + 1}`)
  return results.length > most ? null : results
}

/** Which of these RFCs are the counterparty of a document that the organization may read. */
export async function visibleCounterparties(ledger: ScopedLedger, rfcs: readonly string[]): Promise<Set<string>> {
  const rows = await readAll<{ rfc: string }>(
    ledger.d1,
    partitionsToRead(ledger).map(
      (partition) =>
        sql`select j.value as rfc from json_each(${JSON.stringify(rfcs)}) j
          where exists (
            select 1 from ${cfdi} ${own} indexed by cfdi_cpd where ${own.counterparty_rfc} = j.value and ${isVisible(partition, 'own')})`,
    ),
  )
  return new Set(rows.map(({ rfc }) => rfc))
}
