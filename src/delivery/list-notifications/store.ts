import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { cfdi } from '../../cfdi/tables.ts'
import type { BlacklistChangedBody } from '../../lists/listed/listed.ts'
import { blacklistChanges, blacklistLists, type ListState } from '../../lists/tables.ts'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare, inlined, readAll, readRows } from '../../platform/db/statement.ts'
import { decimal, sumAll } from '../../platform/money.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'

const c = alias(blacklistChanges, 'c')
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

export type TradedWith = Pick<BlacklistChangedBody, 'purchases_mxn' | 'sales_mxn'>
export const NOT_TRADED: TradedWith = { purchases_mxn: null, sales_mxn: null }

const DIRECTIONS = [0, 1] as const
const WHOLE = { first: '0000-01-01', last: '9999-12-31' }
const amountOf = (tipo: 'I' | 'E') => sumOf(inlined(sql`case ${own.tipo_comprobante} when ${tipo} then ${own.net_mxn} end`))

/** Which of these RFCs are the counterparty of a document that the organization may read, with what it bought from them and sold to them. */
export async function visibleCounterparties(ledger: ScopedLedger, rfcs: readonly string[]): Promise<Map<string, TradedWith>> {
  const rows = await readAll<{ rfc: string; direction: 0 | 1 | null; income: string; credit: string }>(
    ledger.d1,
    partitionsToRead(ledger).flatMap((partition) => [
      sql`select j.value as rfc, null as direction, '0' as income, '0' as credit from json_each(${JSON.stringify(rfcs)}) j
          where exists (
            select 1 from ${cfdi} ${own} indexed by cfdi_cpd where ${own.counterparty_rfc} = j.value and ${isVisible(partition, 'own')})`,
      ...DIRECTIONS.flatMap((direction) => {
        const population = populationOf(partition, {
          ...WHOLE,
          direction,
          counterparty: rfcs,
          conditions: [sql`${own.tipo_comprobante} in ('I', 'E')`],
        })
        return population === null
          ? []
          : [
              sql`select ${own.counterparty_rfc} as rfc, ${sql.raw(String(direction))} as direction, ${amountOf('I')} as income,
                ${amountOf('E')} as credit ${population} group by 1`,
            ]
      }),
    ]),
  )
  return new Map(
    [...Map.groupBy(rows, ({ rfc }) => rfc)].map(([rfc, some]) => {
      const [sales_mxn, purchases_mxn] = DIRECTIONS.map((direction) =>
        decimal(sumAll(some.filter((row) => row.direction === direction).map(({ income, credit }) => parseSum(income) - parseSum(credit)))),
      ) as [string, string]
      return [rfc, { purchases_mxn, sales_mxn }]
    }),
  )
}
