import { jsonChunks } from '../../platform/db/commit.ts'
import { PUBLIC } from '../catalog.ts'
import type { ListingStep } from '../listing-status.ts'
import type { ListState } from '../tables.ts'
import type { ListEntry } from './entries.ts'
import type { RefusalCode } from './refusal.ts'

/** The state of a list; null before its first load or refusal. `organization_id` is PUBLIC for a public list. */
export const findList = (d1: D1Database, organization_id: string, source: string) =>
  d1.prepare('select * from blacklist_lists where organization_id = ?1 and source = ?2').bind(organization_id, source).first<ListState>()

export interface ListLoad {
  organization_id: string
  source: string
  /** The version that the load replaces, 0 for none. */
  version: number
  label: string | null
  digest: string
  list_date: string
  /** Milliseconds. */
  fetched_at: number
  row_count: number
}

/** How long changes are kept. */
const KEPT_MS = 90 * 86_400_000
/** After every RFC. */
const AFTER_LAST = '\u{10ffff}'
/** The held entries of the range for which a chunk stands that the chunk does not have. */
const REMOVED = `from blacklist_entries where organization_id = ?1 and source = ?2 and rfc >= ?4 and rfc < ?5
  and rfc not in (select value->>0 from json_each(?3))`

const stepsOf = (history: readonly ListingStep[]) =>
  history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])

/**
 * Returns the batch that replaces a list, and records what it changes. A trigger refuses it, as the guard `list.version`, when another load
 * has replaced the list meanwhile. Entries come in the order of their RFCs. Unchanged entries are not written.
 */
export function loadStatements(d1: D1Database, load: ListLoad, entries: Iterable<ListEntry>): D1PreparedStatement[] {
  const { organization_id, source, version, label, digest, list_date, fetched_at, row_count } = load
  const key = [organization_id, source]
  const chunks = chunksInOrder(entries, list_date)
  const changes = `insert into blacklist_changes
    (organization_id, source, rfc, version, name, change, situacion_before, situacion, changed_at)`
  return [
    d1
      .prepare(
        `insert into blacklist_lists (organization_id, source, version, label, digest, list_date, fetched_at, row_count)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         on conflict do update set version = excluded.version, label = excluded.label, digest = excluded.digest,
           list_date = excluded.list_date, fetched_at = excluded.fetched_at, row_count = excluded.row_count,
           refused_digest = null, refused_code = null, refused_detail = null, refused_at = null`,
      )
      .bind(...key, version + 1, label, digest, list_date, fetched_at, row_count),
    d1
      .prepare('delete from blacklist_changes where organization_id = ?1 and source = ?2 and changed_at < ?3')
      .bind(...key, fetched_at - KEPT_MS),
    ...chunks.flatMap(({ json, from, before }) => {
      const upsert = d1
        .prepare(
          `insert into blacklist_entries as held (organization_id, source, rfc, name, situacion, history, seen_on)
           select ?1, ?2, value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?3) where true
           on conflict do update set name = excluded.name, situacion = excluded.situacion, history = excluded.history,
             seen_on = iif(excluded.seen_on is null, null, coalesce(held.seen_on, excluded.seen_on))
           where held.name <> excluded.name or held.situacion is not excluded.situacion or held.history <> excluded.history`,
        )
        .bind(...key, json)
      if (version === 0) return [upsert]
      return [
        d1
          .prepare(
            `${changes} select ?1, ?2, n.value->>0, ?4, n.value->>1, iif(h.rfc is null, 'listed', 'situacion_changed'), h.situacion,
               n.value->>2, ?5
             from json_each(?3) n left join blacklist_entries h on h.organization_id = ?1 and h.source = ?2 and h.rfc = n.value->>0
             where h.rfc is null or h.situacion is not n.value->>2`,
          )
          .bind(...key, json, version + 1, fetched_at),
        d1
          .prepare(`${changes} select ?1, ?2, rfc, ?6, name, 'removed', situacion, null, ?7 ${REMOVED}`)
          .bind(...key, json, from, before, version + 1, fetched_at),
        upsert,
        d1.prepare(`delete ${REMOVED}`).bind(...key, json, from, before),
      ]
    }),
  ]
}

/** The rows in chunks, each with the range of RFCs for which it stands. */
function chunksInOrder(entries: Iterable<ListEntry>, list_date: string): { json: string; from: string; before: string }[] {
  const rows = function* () {
    for (const { rfc, name, situacion, history, has_undated } of entries)
      yield [rfc, name, situacion, stepsOf(history), has_undated ? list_date : null]
  }
  const found = jsonChunks(rows())
  const chunks = found.length === 0 ? ['[]'] : found
  // A chunk begins with its first RFC: `[["RFC",…`.
  const bounds = ['', ...chunks.slice(1).map((json) => json.slice(3, json.indexOf('"', 3))), AFTER_LAST]
  return chunks.map((json, n) => ({ json, from: bounds[n]!, before: bounds[n + 1]! }))
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
