import type { Database } from '../platform/db/commit.ts'

/** Selects the RFCs that an organization has connected, one row for each. */
export const connectedStatement = ({ $client }: Database, organization_id: string): D1PreparedStatement =>
  $client
    .prepare("select rfc from connections indexed by connections_organization where organization_id = ?1 and state <> 'unlinked'")
    .bind(organization_id)
