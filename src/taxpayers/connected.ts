import type { Database } from '../platform/db/commit.ts'

/** Selects the RFCs that an organization has connected, with `rfc`: two rows read for each. */
export const connectedStatement = ({ $client }: Database, organization_id: string): D1PreparedStatement =>
  $client
    .prepare(
      `select e.rfc from connections c indexed by connections_organization cross join fiscal_entities e on e.entity = c.entity
       where c.organization_id = ?1 and c.state <> 'unlinked'`,
    )
    .bind(organization_id)
