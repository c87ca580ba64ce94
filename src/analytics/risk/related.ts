import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { cfdi, cfdiSubstitutions, own, source } from '../../cfdi/population/aliases.ts'
import { isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { bitOf, type FlagCode } from './flags.ts'
import { isPaidBy } from './payments.ts'

/** The documents that a flag of a row rests on: JSON lists of UUIDs, null without the flag. */
export interface Related {
  cancelled_complements: string | null
  substitutes: string | null
}

const r = alias(cfdiSubstitutions, 'r')
const s = alias(cfdi, 's')

const substitutes = (partition: Partition): SQL =>
  sql`(select json_group_array(${s.uuid}) from ${cfdiSubstitutions} ${r} cross join ${cfdi} ${s}
    where ${r.entity} = ${partition.number} and ${r.substituted} = ${own.uuid} and ${s.uuid} = ${r.source} and ${s.uuid} <> ${own.uuid} and ${s.cancelled} = 0
      and ${s.emisor_rfc} = ${own.emisor_rfc} and ${s.receptor_rfc} = ${own.receptor_rfc} and ${isVisible(partition, 's')})`

const complements = (partition: Partition): SQL =>
  isPaidBy(partition, 1, isVisible(partition, 'source'), sql`json_group_array(distinct ${source.uuid})`)

/** The columns of `Related` of the row `own` with the flags `page.mask`. They name only documents that the window shows. */
export function relatedColumns(partitions: readonly Partition[]): SQL {
  const ofFlag = (code: FlagCode, select: (partition: Partition) => SQL): SQL => {
    const each = partitions.map((one) => sql`when ${one.number} then ${select(one)}`)
    return sql`case when page.mask & ${sql.raw(String(bitOf(code)))} then case page.entity ${sql.join(each, sql` `)} end end`
  }
  return sql`${ofFlag('complement_cancelled', complements)} as cancelled_complements, ${ofFlag('substituted_not_cancelled', substitutes)} as substitutes`
}
