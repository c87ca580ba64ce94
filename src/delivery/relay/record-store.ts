import { sql } from 'drizzle-orm'
import { bare, prepared } from '../../platform/db/statement.ts'
import type { Outbox } from '../../platform/outbox/outbox.ts'
import { relays } from './tables.ts'

/** What an events shard knows of an outbox (tables.ts). */
export interface RelayRecord {
  version: number
  known: Map<string, number>
}

export async function findRecord(d1: D1Database, outbox: Outbox): Promise<RelayRecord> {
  const row = await prepared(
    d1,
    sql`select ${relays.version}, ${relays.known} from ${relays} where ${relays.outbox} = ${String(outbox)}`,
  ).first<{ version: number; known: string }>()
  return { version: row?.version ?? 0, known: new Map(Object.entries(JSON.parse(row?.known ?? '{}') as Record<string, number>)) }
}

/** Replaces what a shard knows. Refuses the batch by the fence `relays.version` when it is not of this version any more. */
export const replaceRecord = (d1: D1Database, outbox: Outbox, version: number, known: ReadonlyMap<string, number>): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into ${relays} ${[relays.outbox, relays.version, relays.known].map(bare)}
      select ${String(outbox)},
        iif(coalesce((select ${relays.version} from ${relays} where ${relays.outbox} = ${String(outbox)}), 0) = ${version}, ${version + 1}, null),
        ${JSON.stringify(Object.fromEntries(known))} where true
      on conflict (${bare(relays.outbox)}) do update
        set ${bare(relays.version)} = excluded.${bare(relays.version)}, ${bare(relays.known)} = excluded.${bare(relays.known)}`,
  )
