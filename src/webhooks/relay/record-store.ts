import type { Outbox } from '../../outbox/outbox.ts'

/** What an events shard knows of an outbox (tables.ts). */
export interface RelayRecord {
  version: number
  known: Map<string, number>
}

export async function findRecord(d1: D1Database, outbox: Outbox): Promise<RelayRecord> {
  const row = await d1
    .prepare('select version, known from relays where outbox = ?')
    .bind(String(outbox))
    .first<{ version: number; known: string }>()
  return { version: row?.version ?? 0, known: new Map(Object.entries(JSON.parse(row?.known ?? '{}') as Record<string, number>)) }
}

/** Replaces what a shard knows. Refuses the batch by the fence `relays.version` when it is not of this version any more. */
export const replaceRecord = (d1: D1Database, outbox: Outbox, version: number, known: ReadonlyMap<string, number>): D1PreparedStatement =>
  d1
    .prepare(
      `insert into relays (outbox, version, known)
       select ?1, iif(coalesce((select version from relays where outbox = ?1), 0) = ?2, ?2 + 1, null), ?3 where true
       on conflict (outbox) do update set version = excluded.version, known = excluded.known`,
    )
    .bind(String(outbox), version, JSON.stringify(Object.fromEntries(known)))
