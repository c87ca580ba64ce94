import { inlined } from '../../platform/db/statement.ts'
import { isVisible, type Partition } from '../../visibility/scoped-ledger.ts'
import { bitOf, type FlagCode } from './flags.ts'
import { isPaidBy } from './payments.ts'

/** The documents that a flag of a row rests on: JSON lists of UUIDs, null without the flag. */
export interface Related {
  cancelled_complements: string | null
  substitutes: string | null
}

const substitutes = (partition: Partition): string =>
  `(select json_group_array(s.uuid) from cfdi_substitutions r cross join cfdi s
    where r.entity = ${partition.number} and r.substituted = own.uuid and s.uuid = r.source and s.uuid <> own.uuid and s.cancelled = 0
      and s.emisor_rfc = own.emisor_rfc and s.receptor_rfc = own.receptor_rfc and ${inlined(isVisible(partition, 's'))})`

const complements = (partition: Partition): string =>
  isPaidBy(partition, 1, inlined(isVisible(partition, 'source')), 'json_group_array(distinct source.uuid)')

/** The columns of `Related` of the row `own` with the flags `page.mask`. They name only documents that the window shows. */
export function relatedColumns(partitions: readonly Partition[]): string {
  const ofFlag = (code: FlagCode, select: (partition: Partition) => string) =>
    `case when page.mask & ${bitOf(code)} then case page.entity ${partitions.map((one) => `when ${one.number} then ${select(one)}`).join(' ')} end end`
  return `${ofFlag('complement_cancelled', complements)} as cancelled_complements, ${ofFlag('substituted_not_cancelled', substitutes)} as substitutes`
}
