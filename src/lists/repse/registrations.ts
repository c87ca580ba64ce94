import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import { GENERIC_RFCS, isRfc } from '../../taxpayers/rfc.ts'
import { repseRecords } from '../tables.ts'

export { findSupplierRows, requestLookups, type SupplierStatusRow } from './store.ts'

const r = alias(repseRecords, 'r')

/** The registry's last answer about a supplier. */
export interface KnownRegistration {
  rfc: string
  is_registered: 0 | 1
  /** The last day, `YYYY-MM-DD`. */
  vigencia_hasta: string | null
  has_activities: 0 | 1
}

/** Answers as a JSON list, and how many RFCs have none. */
export interface RegistryRow {
  lapsed: string
  unknown: number
}

/**
 * The statements, on the control database, that select the registry's last answers about those of these RFCs that had no registration on a
 * day: it was absent, or had ended. RFCs without an answer are counted alone, because unknown is not the same as not registered. They read
 * one row for each RFC that was asked about.
 */
export const lapsedStatements = (rfcs: readonly string[], day: string): SQL[] =>
  jsonChunks(rfcs.filter((rfc) => isRfc(rfc) && !GENERIC_RFCS.includes(rfc))).map(
    (json) =>
      sql`select count(*) filter (where ${r.checked_at} is null) as unknown,
          json_group_array(json_object('rfc', ${r.rfc}, 'is_registered', coalesce(${r.is_registered}, 0), 'vigencia_hasta', ${r.vigencia_hasta},
            'has_activities', coalesce(json_array_length(${r.actividades}), 0) > 0))
            filter (where ${r.checked_at} is not null and (coalesce(${r.is_registered}, 0) = 0 or ${r.vigencia_hasta} < ${day})) as lapsed
        from json_each(${json}) j left join ${repseRecords} ${r} on ${r.rfc} = j.value`,
  )

/** What these statements found: the answers by RFC, and how many RFCs have none. */
export const registrationsIn = (rows: readonly RegistryRow[]): { lapsed: Map<string, KnownRegistration>; unknown: number } => ({
  lapsed: new Map(rows.flatMap(({ lapsed }) => (JSON.parse(lapsed) as KnownRegistration[]).map((one) => [one.rfc, one] as const))),
  unknown: rows.reduce((sum, { unknown }) => sum + unknown, 0),
})
