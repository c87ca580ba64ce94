import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { AuthorityRequest } from '../../authority/sat/conversation/rules/requests.ts'
import { cfdi } from '../../cfdi/tables.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import type { MonthCoverage } from '../../taxpayers/visibility/coverage.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { ALL_REQUESTERS } from '../awaited/awaited-store.ts'
import { LISTED } from '../jobs/key.ts'
import { coverage, syncJobs, syncWork } from '../jobs/tables.ts'
import { hastenWork, JOBS_OF_WORK } from '../lease-store.ts'

export interface MonthRow {
  source: 'sat_cfdi_issued' | 'sat_cfdi_received'
  month: string
  /** When it was asked for by the clock of its run, and how far that was ahead of the real one. */
  asked_at: number
  ahead: number
  not_before: number
  error_class: string | null
  is_interactive: number
  is_continued: number
  /** The organizations that asked for it, including those that wait for a login, as a JSON array. */
  organizations: string
  /** A MonthCoverage as JSON; null when nothing is known of the month. */
  covered: string | null
}

const [s, w, c] = [alias(syncJobs, 's'), alias(syncWork, 'w'), alias(coverage, 'c')]
const own = alias(cfdi, 'own')

/** The open jobs of a taxpayer's months of CFDIs. */
export const openMonths = async (ledger: D1Database, entity: number): Promise<MonthRow[]> => {
  const statement = prepared(
    ledger,
    sql`select ${s.source}, ${s.month}, max(${s.created_at}, ${s.as_of}) as asked_at, max(0, ${s.as_of} - ${s.created_at}) as ahead,
          ${s.not_before}, ${s.error_class}, ${s.is_continued}, ${syncWork.is_interactive}, ${ALL_REQUESTERS} as organizations,
          (select ${c.months} -> ('$."' || ${s.month} || '"') from ${coverage} ${c} where ${c.entity} = ${s.entity} and ${c.source} = ${s.source})
            as covered
        from ${syncWork} cross join ${JOBS_OF_WORK} where ${syncWork.entity} = ${entity} and ${s.open} = 1 and ${s.month} <> ''`,
  )
  return (await statement.all<MonthRow>()).results
}

export const coveredOf = ({ covered }: MonthRow): MonthCoverage => JSON.parse(covered ?? '[]') as MonthCoverage

/** The values of tipo_comprobante by which the index finds the documents of a family. Metadata of retenciones has an empty one, or none. */
const TYPES = { cfdi: [sql`in ('I', 'E', 'T', 'N', 'P')`], retenciones: [sql`is null`, sql`= ''`] }

/** Whether documents are stored that a request asks for. It reads a few rows, however many there are. */
export async function holdsAny(
  ledger: D1Database,
  entity: number,
  { family, source, first, last }: Pick<AuthorityRequest, 'family' | 'source' | 'first' | 'last'>,
): Promise<boolean> {
  const direction = source === 'sat_cfdi_issued' ? sql`0` : sql`1`
  const found = TYPES[family].map(
    (types) => sql`exists (
      select 1 from ${cfdi} ${own} indexed by cfdi_tipoc
      where ${own.entity} = ${entity} and ${own.tipo_comprobante} ${types} and ${own.direction} = ${direction} and ${own.cancelled} in (0, 1)
        and ${own.issued_at} >= ${earliestOf(first.slice(0, 10))} and ${own.issued_at} <= ${latestOf(last.slice(0, 10))}
        and ${own.kind} = ${family} and ${own.fecha} >= ${first} and ${own.fecha} <= ${last})`,
  )
  const statement = prepared(ledger, sql`select ${sql.join(found, sql` or `)} as holds`)
  return (await statement.first<{ holds: number }>())?.holds === 1
}

/** Makes the sleeping jobs of these months due now. */
export function wakeStatements(
  ledger: D1Database,
  entity: number,
  months: readonly { source: string; month: string }[],
): D1PreparedStatement[] {
  const json = JSON.stringify(months.map(({ source, month }) => [source, month]))
  return [
    prepared(
      ledger,
      sql`update ${syncJobs} set ${bare(syncJobs.not_before)} = 0
          where ${[syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id]} in (
            select ${w.entity}, ${sql.join([...LISTED], sql`, `)} from ${syncWork} ${w} cross join json_each(${w.jobs}) j
            where ${w.entity} = ${entity}
              and exists (select 1 from json_each(${json}) m where m.value->>0 = j.value->>0 and m.value->>1 = j.value->>1))
          and ${syncJobs.open} = 1 and ${syncJobs.error_class} is null`,
    ),
    hastenWork(ledger, entity),
  ]
}
