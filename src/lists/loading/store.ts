import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { eachJsonChunk, type Statement } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, excluded, insertion } from '../../platform/db/statement.ts'
import type { ListingStep } from '../catalog.ts'
import { PUBLIC } from '../catalog.ts'
import { blacklistChanges as changes, blacklistEntries as entries, type ListState, blacklistLists as lists } from '../tables.ts'
import type { ListEntry, RefusalCode } from './read-list.ts'

/** The state of a list; null before its first load or refusal. `organization_id` is PUBLIC for a public list. */
export const findList = (organization_id: string, source: string): SQL<ListState> =>
  sql<ListState>`select * from ${lists} where ${isList({ organization_id, source })}`

export const isList = ({ organization_id, source }: Pick<ListLoad, 'organization_id' | 'source'>): SQL =>
  sql`${lists.organization_id} = ${organization_id} and ${lists.source} = ${source}`

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

/** The part of a load that its changes name. */
type Versioned = Pick<ListLoad, 'organization_id' | 'source' | 'version' | 'fetched_at'>

/** How long changes are kept. */
const KEPT_MS = 90 * 86_400_000
/** After every RFC. */
const AFTER_LAST = '\u{10ffff}'
/** The stored entries that a chunk lacks in its range. */
const removed = ({ organization_id, source }: Versioned, { rfcs, from, before }: ListChunk): SQL =>
  sql`from ${entries} where ${entries.organization_id} = ${organization_id} and ${entries.source} = ${source}
    and ${entries.rfc} >= ${from} and ${entries.rfc} < ${before} and ${entries.rfc} not in (select value from json_each(${rfcs}))`

const stepsOf = (history: readonly ListingStep[]) =>
  history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])

/** The most rows of one commit of a load: all of 69-B, or a part of a longer list. */
const PART_ROWS = 16_000
const PART_CHUNKS = 5
/** The most statements of a part. */
export const PART_STATEMENTS = 4 * PART_CHUNKS + 4

/**
 * Yields the batches that replace a list and record the changes, to be committed one after the other. A load that ends before the last
 * batch is repeated: a committed part writes nothing the second time. The guard `list.version` refuses a part when another load has begun
 * or replaced the list since. Entries come in the order of their RFCs. Unchanged entries are not written.
 */
export function* loadParts(load: ListLoad, entries: Iterable<ListEntry>): Generator<Statement[]> {
  let statements: Statement[] = []
  let [rows, chunks, parts] = [0, 0, 0]
  for (const chunk of chunksInOrder(entries, load.list_date)) {
    rows += chunk.rows
    if (++chunks > PART_CHUNKS || (chunks > 1 && rows > PART_ROWS)) {
      yield [...(parts++ === 0 ? beginStatements(load) : [isOurs(load)]), ...statements]
      statements = []
      chunks = 1
      rows = chunk.rows
    }
    statements.push(...chunkStatements(load, chunk))
  }
  yield [...(parts === 0 ? [] : [isOurs(load)]), ...endStatements(load), ...statements]
}

/** Returns the batch that does the same at once. */
export const loadStatements = (load: ListLoad, entries: Iterable<ListEntry>): SQL[] => [
  ...endStatements(load),
  ...[...chunksInOrder(entries, load.list_date)].flatMap((chunk) => chunkStatements(load, chunk)),
]

const isOurs = (load: ListLoad): SQL =>
  assertThat(
    sql`(select ${lists.version} = ${load.version} and ${lists.loading} = ${load.digest} from ${lists} where ${isList(load)})`,
    'list.version',
  )

const beginStatements = (load: ListLoad): Statement[] => [
  sql`${insertion(lists, { organization_id: load.organization_id, source: load.source, version: 0, row_count: 0 })} on conflict do nothing`,
  sql`update ${lists} set ${bare(lists.loading)} = ${load.digest}
    where ${isList(load)} and ${lists.version} = ${load.version} and ${lists.loading} is null`,
  isOurs(load),
]

const LOADED = [lists.version, lists.label, lists.digest, lists.list_date, lists.fetched_at, lists.row_count]
const CLEARED = { loading: null, refused_digest: null, refused_code: null, refused_detail: null, refused_at: null }

const endStatements = (load: ListLoad): SQL[] => {
  const { organization_id, source, version, fetched_at } = load
  return [
    sql`${insertion(lists, { ...load, ...CLEARED, version: version + 1 })}
      on conflict do update set ${excluded([...LOADED, ...Object.keys(CLEARED).map((name) => lists[name as keyof typeof CLEARED])])}`,
    sql`delete from ${changes} where ${changes.organization_id} = ${organization_id} and ${changes.source} = ${source}
        and ${changes.changed_at} < ${fetched_at - KEPT_MS}`,
  ]
}

/**
 * Gives up an unfinished load, because another file is to be loaded. Its changes become a version of their own, so that they are reported,
 * and no file is that list.
 */
export const abandonStatement = (list: ListState): SQL =>
  sql`update ${lists} set ${list.version === 0 ? undefined : sql`${bare(lists.version)} = ${lists.version} + 1,`}
        ${bare(lists.digest)} = null, ${bare(lists.loading)} = null
      where ${isList(list)} and ${lists.version} = ${list.version} and ${lists.loading} = ${list.loading}`

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

const CHANGE = [
  ...[changes.organization_id, changes.source, changes.rfc, changes.version, changes.name],
  ...[changes.change, changes.situacion_before, changes.situacion, changes.changed_at],
].map(bare)
const UPSERTED = [entries.name, entries.situacion, entries.history]
const [h, stored] = [alias(entries, 'h'), alias(entries, 'stored')]

function chunkStatements(load: Versioned, chunk: ListChunk): SQL[] {
  const { organization_id, source, version, fetched_at } = load
  const { json } = chunk
  const seenOn = bare(entries.seen_on)
  const columns = [entries.organization_id, entries.source, entries.rfc, ...UPSERTED, entries.seen_on].map(bare)
  const upsert = sql`insert into ${entries} as ${stored} ${columns}
      select ${organization_id}, ${source}, value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(${json}) where true
      on conflict do update set ${excluded(UPSERTED)},
        ${seenOn} = iif(excluded.${seenOn} is null, null, coalesce(${stored.seen_on}, excluded.${seenOn}))
      where ${stored.name} <> excluded.${bare(entries.name)} or ${stored.situacion} is not excluded.${bare(entries.situacion)}
        or ${stored.history} <> excluded.${bare(entries.history)}`
  const remove = sql`delete ${removed(load, chunk)}`
  if (version === 0) return [upsert, remove]
  return [
    sql`insert into ${changes} ${CHANGE}
        select ${organization_id}, ${source}, n.value->>0, ${version + 1}, n.value->>1,
          iif(${h.rfc} is null, 'listed', 'situacion_changed'), ${h.situacion}, n.value->>2, ${fetched_at}
        from json_each(${json}) n left join ${entries} ${h}
          on ${h.organization_id} = ${organization_id} and ${h.source} = ${source} and ${h.rfc} = n.value->>0
        where ${h.rfc} is null or ${h.situacion} is not n.value->>2`,
    sql`insert into ${changes} ${CHANGE}
        select ${organization_id}, ${source}, ${entries.rfc}, ${version + 1}, ${entries.name}, 'removed', ${entries.situacion}, null,
          ${fetched_at}
        ${removed(load, chunk)}`,
    upsert,
    remove,
  ]
}

/** The statements that give one RFC this entry, or none, and record the change. They read the entry before they write it. */
export function entryStatements(
  load: Versioned,
  rfc: string,
  entry: (Pick<ListEntry, 'name' | 'situacion' | 'history'> & { seen_on: string | null }) | null,
): SQL[] {
  const rows = entry ? [[rfc, entry.name, entry.situacion, stepsOf(entry.history), entry.seen_on]] : []
  const [json, rfcs] = [rows, rows.map(() => rfc)].map((part) => JSON.stringify(part))
  return chunkStatements(load, { json: json!, rfcs: rfcs!, rows: rows.length, from: rfc, before: `${rfc} ` })
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

const REFUSAL = [lists.refused_digest, lists.refused_code, lists.refused_detail, lists.refused_at]

interface Refusal {
  source: string
  digest: string
  code: RefusalCode
  detail: string
  at: number
}

/** Records why a file was refused, once. */
export const recordRefusal = ({ source, digest, code, detail, at }: Refusal): SQL =>
  sql`${insertion(lists, {
    ...{ organization_id: PUBLIC, source, version: 0, row_count: 0 },
    ...{ refused_digest: digest, refused_code: code, refused_detail: detail, refused_at: at },
  })}
      on conflict do update set ${excluded(REFUSAL)}
      where ${lists.refused_digest} is not excluded.${bare(lists.refused_digest)}
        or ${lists.refused_code} <> excluded.${bare(lists.refused_code)}
          or ${lists.refused_detail} <> excluded.${bare(lists.refused_detail)}`
