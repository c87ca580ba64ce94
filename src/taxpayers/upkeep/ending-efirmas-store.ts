import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { rowsOf } from '../../platform/db/statement.ts'
import { connections } from '../tables.ts'

const c = alias(connections, 'c')

/** The position of an e.firma in the order of their ends: the end, in milliseconds, and the number of the connection. */
export type EfirmaPosition = readonly [valid_to: number, connection: number]

/** An e.firma of an active connection, with the facts of its alert. */
export interface EndingEfirma {
  connection: number
  organization_id: string
  events_shard: number
  timezone: string
  fiscal_entity_id: string
  rfc: string
  number: string
  valid_to: number
}

/** The first e.firmas of active connections after a place that end up to an instant, in milliseconds. */
export const endingEfirmas = (
  db: Database,
  [valid_to, connection]: EfirmaPosition,
  until: number,
  limit: number,
): Promise<EndingEfirma[]> =>
  rowsOf<EndingEfirma>(
    db.$client,
    sql`select ${c.connection}, ${c.organization_id}, o.events_shard, o.timezone, ${c.fiscal_entity_id}, ${c.rfc},
        ${c.efirma_number} as number,
          ${c.efirma_valid_to} as valid_to
        from ${connections} ${c} indexed by connections_efirmas_ending cross join organizations o on o.id = ${c.organization_id}
        where ${c.state} = 'active' and ${c.efirma_valid_to} >= ${valid_to} and ${c.efirma_valid_to} <= ${until}
          and (${c.efirma_valid_to}, ${c.connection}) > (${valid_to}, ${connection})
        order by ${c.efirma_valid_to}, ${c.connection} limit ${limit}`,
  )
