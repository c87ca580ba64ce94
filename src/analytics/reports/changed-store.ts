import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readTouched } from '../../cfdi/commits/touched.ts'
import { cfdi, cfdiCommits, cfdiMonths, cfdiPayments, i, p } from '../../cfdi/population/aliases.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Sequences } from './state-store.ts'
import { reportParts } from './tables.ts'

const c = alias(cfdi, 'c')

/** Commits that are looked through. After more, all months are read. */
const MOST_COMMITS = 400
/** Documents of one question. */
const DOCUMENTS = 5_000

const partitionsOf = ({ entity, importPartition }: ScopedLedger): number[] =>
  importPartition === null ? [entity] : [entity, importPartition]

/**
 * Returns the months whose parts the commits between two states change: those of the documents that they name, of what these pay, and of
 * what pays these. Null when the commits do not say: then all months may have changed.
 */
export async function changedMonths(
  ledger: ScopedLedger,
  from: Pick<Sequences, 'sequence' | 'import_sequence'>,
  to: Pick<Sequences, 'sequence' | 'import_sequence'>,
): Promise<string[] | null> {
  const [known, ended] = [
    [from.sequence, from.import_sequence],
    [to.sequence, to.import_sequence],
  ]
  const uuids = new Set<string>()
  for (const [n, number] of partitionsOf(ledger).entries()) {
    const [after, until] = [known[n]!, ended[n]!]
    if (after === until) continue
    const { results } = await prepared(
      ledger.d1,
      sql`select hex(${cfdiCommits.touched}) as touched from ${cfdiCommits}
        where ${cfdiCommits.entity} = ${number} and ${cfdiCommits.sequence} > ${after} and ${cfdiCommits.sequence} <= ${until}
        order by ${cfdiCommits.sequence} limit ${sql.raw(String(MOST_COMMITS + 1))}`,
    ).all<{ touched: string }>()
    // Some are forgotten, or there are too many.
    if (results.length !== until - after) return null
    for (const { touched } of results) {
      const { stored = [], cancelled = [], substituted = [], balances = [], removed, isCut } = readTouched(touched)
      // Nobody knows any more of which month the removed ones were.
      if (isCut || removed) return null
      for (const uuid of [...stored, ...cancelled, ...[...substituted, ...balances].map(([one]) => one)]) uuids.add(uuid)
    }
  }
  const list = [...uuids]
  const months = new Set<string>()
  for (let at = 0; at < list.length; at += DOCUMENTS)
    for (const month of await monthsOf(ledger, list.slice(at, at + DOCUMENTS))) months.add(month)
  return [...months].sort()
}

/** The months of documents and of the payments between them and others, in both partitions: an import gives way to the authority's document. */
async function monthsOf(ledger: ScopedLedger, uuids: readonly string[]): Promise<string[]> {
  const json = JSON.stringify(uuids)
  const of = (number: number): SQL[] => {
    const own = sql`json_each(${json}) j cross join ${cfdi} ${c} on ${c.entity} = ${number} and ${c.uuid} = j.value`
    const paidBy = sql`${own} cross join json_each(${c.related}) r cross join ${cfdiPayments} ${p}
      on ${p.entity} = ${c.entity} and ${p.invoice} = r.value and ${p.source} = ${c.uuid}`
    return [
      sql`select substr(${c.fecha}, 1, 7) as month from ${own}`,
      sql`select substr(${p.fecha_pago}, 1, 7) as month from json_each(${json}) j cross join ${cfdiPayments} ${p} on ${p.entity} = ${number} and ${p.invoice} = j.value`,
      sql`select substr(${p.fecha_pago}, 1, 7) as month from ${paidBy}`,
      sql`select substr(${i.fecha}, 1, 7) as month from ${paidBy} cross join ${cfdi} ${i} on ${i.entity} = ${p.entity} and ${i.uuid} = ${p.invoice}`,
    ]
  }
  const results = await ledger.d1.batch<{ month: string }>(
    partitionsOf(ledger).flatMap((number) => of(number).map((one) => prepared(ledger.d1, sql`select distinct month from (${one})`))),
  )
  return results.flatMap(({ results: rows }) => rows.map(({ month }) => month))
}

/** Returns every month in which there is a document or a payment, or of which there is a part. */
export async function allMonths(ledger: ScopedLedger, connection: number): Promise<string[]> {
  const numbers = JSON.stringify(partitionsOf(ledger))
  const { results } = await prepared(
    ledger.d1,
    sql`select ${cfdiMonths.month} from ${cfdiMonths} where ${cfdiMonths.entity} in (select value from json_each(${numbers}))
      union select substr(${p.fecha_pago}, 1, 7) from ${cfdiPayments} ${p} where ${p.entity} in (select value from json_each(${numbers})) and ${p.kind} = 'P'
      union select ${reportParts.month} from ${reportParts} where ${reportParts.connection} = ${connection} order by 1`,
  ).all<{ month: string }>()
  return results.map(({ month }) => month)
}
