import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../platform/db/commit.ts'
import { readRows } from '../platform/db/statement.ts'
import { connections, fiscalEntities } from './tables.ts'

const [c, f] = [alias(connections, 'c'), alias(fiscalEntities, 'f')]

/** Selects the RFCs that an organization has connected, one row for each. */
export const connectedStatement = (organization_id: string): SQL =>
  sql`select ${connections.rfc} from ${connections} indexed by connections_organization
      where ${connections.organization_id} = ${organization_id} and ${connections.state} <> 'unlinked'`

/** The RFCs among these that an organization has connected and not unlinked. Reads at most two rows each. One call, none without RFCs. */
export async function connectedAmong(db: Database, organization_id: string, rfcs: readonly string[]): Promise<Set<string>> {
  if (rfcs.length === 0) return new Set()
  const rows = await readRows<{ rfc: string }>(
    db.$client,
    sql`select ${f.rfc} from json_each(${JSON.stringify(rfcs)}) j cross join ${fiscalEntities} ${f} on ${f.rfc} = j.value
       cross join ${connections} ${c} on ${c.organization_id} = ${organization_id} and ${c.entity} = ${f.entity}
         and ${c.state} <> 'unlinked'`,
  )
  return new Set(rows.map(({ rfc }) => rfc))
}
