import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { readRows } from '../platform/db/statement.ts'
import type { ScopedLedger } from '../taxpayers/visibility/scoped-ledger.ts'
import type { Window } from '../taxpayers/visibility/window.ts'
import { documents } from './tables.ts'

export type DocumentRow = typeof documents.$inferSelect

/** A document, and another one, as statements name them. */
export const d = alias(documents, 'd')
const b = alias(documents, 'b')
const base = alias(documents, 'base')

/** Selects the fields of a document, whole, out of its row. */
export const fieldsOf = ({ entity, fields, fields_base }: Record<'entity' | 'fields' | 'fields_base', SQLiteColumn>): SQL =>
  sql`iif(${fields_base} is null, ${fields}, (
    select json_patch(${base.fields}, ${fields}) from ${documents} ${base} where ${base.entity} = ${entity} and ${base.document_id} = ${fields_base}))`

/** A document whose row has all of its fields. */
type Base = Pick<DocumentRow, 'series' | 'document_id'> & { fields: string }

/** Finds the latest document of each of these series whose row has all of its fields. */
export const basesOf = async (
  ledger: D1Database,
  { entity, source }: Pick<DocumentRow, 'entity' | 'source'>,
  series: readonly string[],
): Promise<Map<string, Base>> => {
  const results = await readRows(
    ledger,
    sql<Base>`select ${d.series}, max(${d.document_id}) as document_id, ${d.fields} from ${documents} ${d}
      where ${d.entity} = ${entity} and ${d.source} = ${source} and ${d.series} in (select value from json_each(${JSON.stringify(series)}))
        and ${d.fields_status} = 'read' and ${d.fields_base} is null group by ${d.series}`,
  )
  return new Map(results.map((base) => [base.series, base]))
}

/** A document with its place among the versions of its series that the organization may read. */
export type VersionRow = DocumentRow & { version: number; versions: number; all_fields: string | null }

/** Who reads documents of an entity: an organization through its combined window. */
export interface DocumentReader {
  entity: number
  organization_id: string
  window: Window
}

/** Without extractors an organization may read every document. */
export const seesAll = ({ isEmpty, floor, ceiling }: Window): boolean => !isEmpty && floor === null && ceiling === null

/** The day on which the document's period ends, or its date. */
const END = sql`coalesce(${d.period_end}, ${d.document_date})`

/**
 * An organization may read a document when its own run fetched it or joined its job, and the document's period, or date, ends on or after
 * its floor. It does not get documents that only later runs of others fetch. One without extractors may read all. `a.value` is the reader,
 * as JSON `[entity, floor, the organization, or null for all]`.
 */
const IS_VISIBLE = sql`${d.entity} = a.value->>0 and (a.value->>1 is null or ${END} >= a.value->>1)
  and (a.value->>2 is null or json_extract(${d.organizations}, '$.' || (a.value->>2)) is not null)`

export const readerJson = ({ entity, organization_id, window }: DocumentReader) => [
  entity,
  window.floor,
  seesAll(window) ? null : organization_id,
]

/**
 * The versions `v` that each reader `a` of a JSON list may read, numbered in each series: by their dates, and those of a day in the order
 * in which the organization got them. Documents that it may not read count for nothing.
 */
export const versionsOf = (readers: string, conditions: SQL): SQL => sql`versions as materialized (
  select a.key as n, ${d.entity}, ${d.document_id}, ${d.kind}, ${d.fields_status},
    row_number() over (partition by a.key, ${d.source}, ${d.series} order by ${d.document_date},
      coalesce(json_extract(${d.organizations}, '$.' || (a.value->>2)), ${d.created_at}), ${d.document_id}) as version,
    count(*) over (partition by a.key, ${d.source}, ${d.series}) as versions
  from json_each(${readers}) a cross join ${documents} ${d}
  where ${IS_VISIBLE} and ${conditions})`

/** Joins the document of a row of the versions. */
export const documentOf = (row: string): SQL =>
  sql`cross join ${documents} ${d} on ${d.entity} = ${sql.identifier(row)}.entity and ${d.document_id} = ${sql.identifier(row)}.document_id`

export const readersOf = (ledger: ScopedLedger): string => JSON.stringify([readerJson(ledger)])

interface DocumentFilters {
  document_id?: string | null
  /** The last document of the page before. */
  before: string | null
  source?: string | null
  kind?: string | null
  from?: string | null
  to?: string | null
  isLatest?: boolean
  limit: number
}

/** Finds documents older than `before`, newest first. */
export const listDocuments = (
  ledger: ScopedLedger,
  { document_id = null, before, source = null, kind = null, from = null, to = null, isLatest = false, limit }: DocumentFilters,
): SQL<VersionRow> =>
  sql<VersionRow>`with ${versionsOf(readersOf(ledger), sql`true`)}
        select ${d}.*, ${fieldsOf(d)} as all_fields, v.version, v.versions from versions v ${documentOf('v')}
        where (${document_id} is null or v.document_id = ${document_id}) and (${before} is null or v.document_id < ${before})
          and (${source} is null or ${d.source} = ${source}) and (${kind} is null or ${d.kind} = ${kind})
          and (${from} is null or ${END} >= ${from}) and (${to} is null or ${END} <= ${to}) and (${Number(isLatest)} = 0 or v.version = v.versions)
        order by v.document_id desc limit ${limit}`

/** Finds a document that the organization may read. */
export const findDocument = (ledger: ScopedLedger, document_id: string): SQL<DocumentRow> =>
  sql<DocumentRow>`select ${d}.* from json_each(${readersOf(ledger)}) a cross join ${documents} ${d}
      where ${IS_VISIBLE} and ${d.document_id} = ${document_id} limit 1`

/** Selects the latest compliance opinion of each of these readers that could be read. */
export const latestOpinions = (readers: readonly DocumentReader[]) =>
  sql<{ n: number; document_id: string; document_date: string; fields: string }>`with ${versionsOf(
    JSON.stringify(readers.map(readerJson)),
    sql`${d.kind} = 'opinion_32d'`,
  )},
    ranked as (select *, row_number() over (partition by n order by version desc) as place from versions where fields_status = 'read')
    select r.n, ${d.document_id}, ${d.document_date}, ${fieldsOf(d)} as fields from ranked r ${documentOf('r')} where r.place = 1`

export type ReadVersion = Pick<
  VersionRow,
  'kind' | 'document_id' | 'source' | 'document_date' | 'organizations' | 'created_at' | 'version' | 'versions'
> & {
  fields: string
  /** The fields of the version before that could be read; null without one. */
  before: string | null
}

/** Selects the latest version of each of these kinds that could be read. */
export const latestReadStatement = (ledger: ScopedLedger, kinds: readonly string[]): SQL<ReadVersion> =>
  sql<ReadVersion>`with ${versionsOf(readersOf(ledger), ofKinds(kinds))},
    ranked as (
      select *, row_number() over (partition by kind order by version desc) as place from versions where fields_status = 'read')
    select ${d.kind}, ${d.document_id}, ${d.source}, ${d.document_date}, ${d.organizations}, ${d.created_at}, r.version, r.versions,
      ${fieldsOf(d)} as fields, ${fieldsOf(b)} as before
    from ranked r ${documentOf('r')}
    left join ranked p on p.kind = r.kind and p.place = 2
    left join ${documents} ${b} on ${b.entity} = p.entity and ${b.document_id} = p.document_id
    where r.place = 1`

/** Reads these versions. One call. */
export const latestRead = (ledger: ScopedLedger, kinds: readonly string[]): Promise<ReadVersion[]> =>
  readRows(ledger.d1, latestReadStatement(ledger, kinds))

/** A document of a reader's own, for its news. */
export interface NewsRow extends Pick<VersionRow, 'kind' | 'document_id' | 'document_date' | 'version' | 'fields_status' | 'fields'> {
  /** The number of the question. */
  n: number
  /** When the organization got it, in milliseconds. */
  got_at: number
  /** The fields of the version before that could be read; null without one. */
  before: string | null
}

/** Reads the named documents that are visible and not pending, each with the last version before it that could be read. */
export async function readNews(d1: D1Database, kinds: readonly string[], asked: readonly AskedDocuments[]): Promise<NewsRow[]> {
  const json = JSON.stringify(asked.map((one) => [...readerJson(one), one.document_ids, one.organization_id]))
  const got_at = sql`json_extract(${d.organizations}, '$.' || (a.value->>4))`
  const results = await readRows(
    d1,
    sql<NewsRow>`with ${versionsOf(json, ofKinds(kinds))},
      numbered as (
        select *, max(iif(fields_status = 'read', version, null)) over (
          partition by n, kind order by version rows between unbounded preceding and 1 preceding) as previous
        from versions)
      select v.n, v.kind, v.document_id, ${d.document_date}, v.version, v.fields_status, ${fieldsOf(d)} as fields, ${fieldsOf(b)} as before,
        ${got_at} as got_at
      from json_each(${json}) a
      cross join numbered v on v.n = a.key and v.document_id in (select value from json_each(a.value->3))
      ${documentOf('v')}
      left join numbered p on p.n = v.n and p.kind = v.kind and p.version = v.previous
      left join ${documents} ${b} on ${b.entity} = p.entity and ${b.document_id} = p.document_id
      where v.fields_status <> 'pending' and ${got_at} is not null
      order by v.n, v.document_id`,
  )
  return results
}

/** Documents of a reader. */
export type AskedDocuments = DocumentReader & { document_ids: readonly string[] }

const ofKinds = (kinds: readonly string[]): SQL => sql`${d.kind} in ${kinds}`
