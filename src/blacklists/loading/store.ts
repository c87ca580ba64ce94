import { sql } from 'drizzle-orm'
import { eachJsonChunk } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
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
  and rfc not in (select value from json_each(?3))`

const stepsOf = (history: readonly ListingStep[]) =>
  history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])

/** What one commit of a load holds at most: all of 69-B, or a part of a longer list. */
const PART_ROWS = 16_000
const PART_CHUNKS = 5
/** The most statements of a part. */
export const PART_STATEMENTS = 4 * PART_CHUNKS + 4

/**
 * Yields the batches that replace a list, and record what they change, to be committed one after the other. A load that ends before the last
 * of them is done again: a part that is committed writes nothing the second time. The guard `list.version` refuses a part when another load
 * has begun or replaced the list meanwhile. Entries come in the order of their RFCs. Unchanged entries are not written.
 */
export function* loadParts(d1: D1Database, load: ListLoad, entries: Iterable<ListEntry>): Generator<D1PreparedStatement[]> {
  let statements: D1PreparedStatement[] = []
  let [rows, chunks, parts] = [0, 0, 0]
  for (const chunk of chunksInOrder(entries, load.list_date)) {
    rows += chunk.rows
    if (++chunks > PART_CHUNKS || (chunks > 1 && rows > PART_ROWS)) {
      yield [...(parts++ === 0 ? beginStatements(d1, load) : [isOurs(d1, load)]), ...statements]
      statements = []
      chunks = 1
      rows = chunk.rows
    }
    statements.push(...chunkStatements(d1, load, chunk))
  }
  yield [...(parts === 0 ? [] : [isOurs(d1, load)]), ...endStatements(d1, load), ...statements]
}

/** Returns the batch that does the same at once. */
export const loadStatements = (d1: D1Database, load: ListLoad, entries: Iterable<ListEntry>): D1PreparedStatement[] => [
  ...endStatements(d1, load),
  ...[...chunksInOrder(entries, load.list_date)].flatMap((chunk) => chunkStatements(d1, load, chunk)),
]

const isOurs = (d1: D1Database, { organization_id, source, version, digest }: ListLoad): D1PreparedStatement =>
  assertThat(
    d1,
    sql`(select version = ${version} and loading = ${digest} from blacklist_lists
      where organization_id = ${organization_id} and source = ${source})`,
    'list.version',
  )

const beginStatements = (d1: D1Database, load: ListLoad): D1PreparedStatement[] => [
  d1
    .prepare('insert into blacklist_lists (organization_id, source, version, row_count) values (?1, ?2, 0, 0) on conflict do nothing')
    .bind(load.organization_id, load.source),
  d1
    .prepare(`update blacklist_lists set loading = ?4 where organization_id = ?1 and source = ?2 and version = ?3 and loading is null`)
    .bind(load.organization_id, load.source, load.version, load.digest),
  isOurs(d1, load),
]

const endStatements = (d1: D1Database, load: ListLoad): D1PreparedStatement[] => {
  const { organization_id, source, version, label, digest, list_date, fetched_at, row_count } = load
  return [
    d1
      .prepare(
        `insert into blacklist_lists (organization_id, source, version, label, digest, list_date, fetched_at, row_count)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         on conflict do update set version = excluded.version, label = excluded.label, digest = excluded.digest,
           list_date = excluded.list_date, fetched_at = excluded.fetched_at, row_count = excluded.row_count, loading = null,
           refused_digest = null, refused_code = null, refused_detail = null, refused_at = null`,
      )
      .bind(organization_id, source, version + 1, label, digest, list_date, fetched_at, row_count),
    d1
      .prepare('delete from blacklist_changes where organization_id = ?1 and source = ?2 and changed_at < ?3')
      .bind(organization_id, source, fetched_at - KEPT_MS),
  ]
}

/**
 * Gives up a load that did not come to its end, because another file is to be loaded. What it has changed is a version of its own, so that it
 * is told, and no file is that list.
 */
export const abandonStatement = (d1: D1Database, { organization_id, source, version, loading }: ListState): D1PreparedStatement =>
  d1
    .prepare(
      `update blacklist_lists set ${version === 0 ? '' : 'version = version + 1, '}digest = null, loading = null
       where organization_id = ?1 and source = ?2 and version = ?3 and loading = ?4`,
    )
    .bind(organization_id, source, version, loading)

interface ListChunk {
  json: string
  /** Its RFCs, and perhaps one before or after. */
  rfcs: string
  /** How many rows it has, or one more. */
  rows: number
  /** The range of RFCs for which the chunk stands. */
  from: string
  before: string
}

function chunkStatements(d1: D1Database, load: ListLoad, { json, rfcs, from, before }: ListChunk): D1PreparedStatement[] {
  const { organization_id, source, version, fetched_at } = load
  const key = [organization_id, source]
  const changes = `insert into blacklist_changes
    (organization_id, source, rfc, version, name, change, situacion_before, situacion, changed_at)`
  const upsert = d1
    .prepare(
      `insert into blacklist_entries as held (organization_id, source, rfc, name, situacion, history, seen_on)
       select ?1, ?2, value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?3) where true
       on conflict do update set name = excluded.name, situacion = excluded.situacion, history = excluded.history,
         seen_on = iif(excluded.seen_on is null, null, coalesce(held.seen_on, excluded.seen_on))
       where held.name <> excluded.name or held.situacion is not excluded.situacion or held.history <> excluded.history`,
    )
    .bind(...key, json)
  const remove = d1.prepare(`delete ${REMOVED}`).bind(...key, rfcs, from, before)
  if (version === 0) return [upsert, remove]
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
      .bind(...key, rfcs, from, before, version + 1, fetched_at),
    upsert,
    remove,
  ]
}

/** The rows in chunks, each with the range of RFCs for which it stands. */
function* chunksInOrder(entries: Iterable<ListEntry>, list_date: string): Generator<ListChunk> {
  let taken: string[] = []
  const rows = function* () {
    for (const { rfc, name, situacion, history, has_undated } of entries) {
      taken.push(rfc)
      yield [rfc, name, situacion, stepsOf(history), has_undated ? list_date : null]
    }
  }
  let chunk: Omit<ListChunk, 'before'> = { json: '[]', rfcs: '[]', rows: 0, from: '' }
  for (const json of eachJsonChunk(rows())) {
    // A chunk begins with its first RFC: `[["RFC",…`.
    const before = json.slice(3, json.indexOf('"', 3))
    if (chunk.rows > 0) yield { ...chunk, before }
    chunk = { json, rfcs: JSON.stringify(taken), rows: taken.length, from: chunk.rows > 0 ? before : '' }
    // The last one may be the first of the next chunk.
    taken = taken.slice(-1)
  }
  yield { ...chunk, before: AFTER_LAST }
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
