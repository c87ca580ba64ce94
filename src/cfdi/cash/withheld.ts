import { type SQL, sql } from 'drizzle-orm'
import { all } from '../../platform/db/statement.ts'
import { boundsOf, type DirectionNumber, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import type { Days } from '../population/population.ts'
import { isSubstituted } from '../population/population.ts'
import { cfdi } from '../tables.ts'
import { dayFrom, IS_LATE, USUAL_DAYS } from './events.ts'

const own = cfdiAs('own')

/**
 * Selects the payroll receipts (N) and CFDI de retenciones (`tipo` R) of a direction that withhold something on some days: of payment, and
 * the last day of the period. Columns: `uuid`, `issued_at`, `day`, `tipo`, `counterparty` and `taxes` (`WITHHELD`). Null when the window shows
 * nothing of the direction.
 */
export function withheldDocuments(partition: Partition, direction: DirectionNumber, { first, last }: Days): SQL | null {
  const bounds = boundsOf(partition, direction)
  if (!bounds) return null
  const common = all([
    sql`${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(direction))} and ${own.cancelled} = 0`,
    sql`${own.last_paid_on} >= ${first} and ${own.last_paid_on} <= ${last} and ${own.taxes} is not null and ${own.emisor_rfc} <> ${own.receptor_rfc}`,
    sql`not ${isSubstituted(partition, 'own')}`,
    ...(bounds.until === null ? [] : [sql`${own.issued_at} <= ${bounds.until}`]),
    ...partition.conditions('own'),
  ])
  const usual = sql`${own.issued_at} >= ${Date.parse(dayFrom(first, -USUAL_DAYS - 1)) / 1_000}
    and ${own.issued_at} <= ${Date.parse(dayFrom(last, USUAL_DAYS + 2)) / 1_000} and ${own.fecha} < ${afterDay(dayFrom(last, USUAL_DAYS))}
    and not ${IS_LATE}`
  const select = (index: string, where: SQL) =>
    sql`select ${own.uuid}, ${own.issued_at}, ${own.last_paid_on} as day, coalesce(${own.tipo_comprobante}, 'R') as tipo, ${own.counterparty_rfc} as counterparty, ${own.taxes}
      from ${cfdi} ${own} indexed by ${sql.raw(index)} where ${where} and ${common}`
  return sql`${select('cfdi_tipoc', sql`${own.tipo_comprobante} = 'N' and ${usual}`)}
    union all ${select('cfdi_tipoc', sql`${own.tipo_comprobante} is null and ${own.kind} = 'retenciones' and ${usual}`)}
    union all ${select('cfdi_late', sql`(${own.tipo_comprobante} = 'N' or ${own.kind} = 'retenciones') and ${IS_LATE}`)}`
}
