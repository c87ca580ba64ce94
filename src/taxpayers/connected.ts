import type { Database } from '../platform/db/commit.ts'

/** Selects the RFCs that an organization has connected, one row for each. */
export const connectedStatement = ({ $client }: Database, organization_id: string): D1PreparedStatement =>
  $client
    .prepare("select rfc from connections indexed by connections_organization where organization_id = ?1 and state <> 'unlinked'")
    .bind(organization_id)

/** Returns those of these RFCs that an organization has connected and not unlinked. Reads at most two rows for each. One call, none without RFCs. */
export async function connectedAmong(db: Database, organization_id: string, rfcs: readonly string[]): Promise<Set<string>> {
  if (rfcs.length === 0) return new Set()
  const { results } = await db.$client
    .prepare(
      `select f.rfc from json_each(?2) j cross join fiscal_entities f on f.rfc = j.value
       cross join connections c on c.organization_id = ?1 and c.entity = f.entity and c.state <> 'unlinked'`,
    )
    .bind(organization_id, JSON.stringify(rfcs))
    .all<{ rfc: string }>()
  return new Set(results.map(({ rfc }) => rfc))
}
