import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { readAll, readFirst } from '../../platform/db/statement.ts'
import { isVisible, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { firstChunkOf } from '../chunks/chunks.ts'
import { cfdiAs } from '../columns.ts'
import { cfdi, cfdiCommits, cfdiPayments, cfdiSubstitutions } from '../tables.ts'

const own = cfdiAs('own')
const s = cfdiAs('s')
const p = alias(cfdiPayments, 'p')
const r = alias(cfdiSubstitutions, 'r')

/** A document that names another one, and how. */
export interface Referrer {
  relation: string
  uuid: string
}

/** Finds visible documents that pay, credit or substitute one, behind a position, in order. One call. */
export async function findReferrers(
  ledger: ScopedLedger,
  uuid: string,
  after: readonly [relation: string, uuid: string] | null,
  limit: number,
): Promise<Referrer[]> {
  const credited = sql`case when instr(',' || ${s.tipo_relacion} || ',', ',01,') > 0 then '01' when instr(',' || ${s.tipo_relacion} || ',', ',03,') > 0 then '03' else '07' end`
  const selects = partitionsToRead(ledger).map(
    (partition) =>
      sql`select * from (
          select coalesce(o.relation, ${credited}) as relation, ${s.uuid} from (
            select distinct ${p.source} as source, iif(${p.kind} = 'P', 'pago', null) as relation
            from ${cfdiPayments} ${p} where ${p.entity} = ${partition.number} and ${p.invoice} = ${uuid}
            union all select ${r.source}, '04' from ${cfdiSubstitutions} ${r} where ${r.entity} = ${partition.number} and ${r.substituted} = ${uuid}) o
          cross join ${cfdi} ${s} where ${s.uuid} = o.source and ${isVisible(partition, 's')})
        ${after === null ? sql`` : sql`where (relation, uuid) > (${after[0]}, ${after[1]})`} order by relation, uuid limit ${limit}`,
  )
  const order = (a: Referrer, b: Referrer) => (a.relation === b.relation ? (a.uuid < b.uuid ? -1 : 1) : a.relation < b.relation ? -1 : 1)
  return (await readAll<Referrer>(ledger.d1, selects)).sort(order).slice(0, limit)
}

/** When a visible document came, and what substitutes it. */
export interface StoredTimes {
  /** The commits that stored it and that brought its XML, in milliseconds; null when they are forgotten. */
  stored_at: number | null
  xml_at: number | null
  /** Whether the XML came with another commit than the first one. */
  is_completed: 0 | 1
  /** The visible documents that name it in a relation 04: `[uuid, issued_at, committed_at, direction, fecha]`. */
  substitutes: string
}

const committedAt = (entity: SQLiteColumn, sequence: SQL): SQL =>
  sql`(select ${cfdiCommits.committed_at} from ${cfdiCommits} where ${cfdiCommits.entity} = ${entity} and ${cfdiCommits.sequence} = ${sequence})`

/** The commit that brought the XML of a document. */
const completedBy = sql`${own.chunk} / ${sql.raw(String(firstChunkOf(1)))}`

/** Reads when a document of a partition came. One call. */
export const readTimes = (ledger: ScopedLedger, partition: Partition, uuid: string): Promise<StoredTimes | null> =>
  readFirst(
    ledger.d1,
    sql<StoredTimes>`select
        ${committedAt(own.entity, sql`${own.stored_by}`)} as stored_at,
        ${committedAt(own.entity, completedBy)} as xml_at,
        coalesce(${completedBy} > ${own.stored_by}, 0) as is_completed,
        (select json_group_array(json_array(${s.uuid}, ${s.issued_at}, ${committedAt(s.entity, sql`${s.stored_by}`)}, ${s.direction}, ${s.fecha}))
          from ${cfdiSubstitutions} ${r} cross join ${cfdi} ${s}
          where ${r.entity} = ${own.entity} and ${r.substituted} = ${own.uuid} and ${s.uuid} = ${r.source} and ${s.cancelled} = 0 and ${isVisible(partition, 's')}) as substitutes
      from ${cfdi} ${own} where ${own.uuid} = ${uuid} and ${isVisible(partition, 'own')}`,
  )
