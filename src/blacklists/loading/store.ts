import { jsonChunks } from '../../platform/db/commit.ts'
import { PUBLIC } from '../catalog.ts'
import type { ListingStep } from '../listing-status.ts'
import type { ListState } from '../tables.ts'
import type { ListEntry } from './entries.ts'
import type { RefusalCode } from './refusal.ts'

/** The state of a public list; null before its first load or refusal. */
export const findList = (d1: D1Database, source: string) =>
  d1.prepare('select * from blacklist_lists where organization_id = ?1 and source = ?2').bind(PUBLIC, source).first<ListState>()

export interface ListLoad {
  source: string
  /** The version that the load replaces, 0 for none. */
  version: number
  digest: string
  list_date: string
  /** Milliseconds. */
  fetched_at: number
  row_count: number
}

const stepsOf = (history: readonly ListingStep[]) =>
  history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])

/**
 * Returns the batch that replaces a public list. A trigger refuses it, as the guard `list.version`, when another load has replaced the list
 * meanwhile. Unchanged entries are not written.
 */
export function loadStatements(d1: D1Database, load: ListLoad, entries: readonly ListEntry[]): D1PreparedStatement[] {
  const { source, version, digest, list_date, fetched_at, row_count } = load
  const rows = entries.map(({ rfc, name, situacion, history, has_undated }) => [
    ...[rfc, name, situacion, stepsOf(history), has_undated ? list_date : null],
  ])
  return [
    d1
      .prepare(
        `insert into blacklist_lists (organization_id, source, version, digest, list_date, fetched_at, row_count)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         on conflict do update set version = excluded.version, digest = excluded.digest,
           list_date = excluded.list_date, fetched_at = excluded.fetched_at, row_count = excluded.row_count,
           refused_digest = null, refused_code = null, refused_detail = null, refused_at = null`,
      )
      .bind(PUBLIC, source, version + 1, digest, list_date, fetched_at, row_count),
    ...jsonChunks(rows).map((json) =>
      d1
        .prepare(
          `insert into blacklist_entries as held (organization_id, source, rfc, name, situacion, history, seen_on)
           select ?1, ?2, value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?3) where true
           on conflict do update set name = excluded.name, situacion = excluded.situacion, history = excluded.history,
             seen_on = iif(excluded.seen_on is null, null, coalesce(held.seen_on, excluded.seen_on))
           where held.name <> excluded.name or held.situacion is not excluded.situacion or held.history <> excluded.history`,
        )
        .bind(PUBLIC, source, json),
    ),
    d1
      .prepare('delete from blacklist_entries where organization_id = ?1 and source = ?2 and rfc not in (select value from json_each(?3))')
      .bind(PUBLIC, source, JSON.stringify(entries.map(({ rfc }) => rfc))),
  ]
}

/** Records why a file was refused, once. */
export const recordRefusal = (
  d1: D1Database,
  { source, digest, code, detail, at }: { source: string; digest: string; code: RefusalCode; detail: string; at: number },
) =>
  d1
    .prepare(
      `insert into blacklist_lists (organization_id, source, version, row_count, refused_digest, refused_code, refused_detail, refused_at)
       values (?1, ?2, 0, 0, ?3, ?4, ?5, ?6)
       on conflict do update set refused_digest = excluded.refused_digest, refused_code = excluded.refused_code,
         refused_detail = excluded.refused_detail, refused_at = excluded.refused_at
       where refused_digest is not excluded.refused_digest or refused_code <> excluded.refused_code or refused_detail <> excluded.refused_detail`,
    )
    .bind(PUBLIC, source, digest, code, detail, at)
