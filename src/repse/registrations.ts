import { type Database, jsonChunks } from '../platform/db/commit.ts'

/** A supplier that the registry did not have, or whose registration has ended, when it last answered. */
export interface Lapsed {
  rfc: string
  is_registered: 0 | 1
  /** The last day of the registration; null when the registry does not have it. */
  vigencia_hasta: string | null
  /** Whether the registry knows specialized activities of it. */
  has_activities: 0 | 1
}

/**
 * The statements, on the control database, that select which of these RFCs are known to have no registration that is valid on a day. Those
 * about which the registry was never asked are not among them. They read one row for each RFC that was asked about.
 */
export const lapsedStatements = ({ $client }: Database, rfcs: readonly string[], day: string): D1PreparedStatement[] =>
  jsonChunks(rfcs).map((json) =>
    $client
      .prepare(
        `select r.rfc, coalesce(r.is_registered, 0) as is_registered, r.vigencia_hasta, coalesce(r.actividades, '[]') <> '[]' as has_activities
         from json_each(?1) j cross join repse_records r
         where r.rfc = j.value and r.checked_at is not null and (coalesce(r.is_registered, 0) = 0 or r.vigencia_hasta < ?2)`,
      )
      .bind(json, day),
  )
