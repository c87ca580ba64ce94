import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import { prepared } from '../../platform/db/statement.ts'
import { firstChunkOf } from '../chunks/chunks.ts'
import { cfdiAs, listOf } from '../columns.ts'
import { cfdi, cfdiCommits } from '../tables.ts'

const c = cfdiAs('c')
const d = cfdiAs('d')
const commits = alias(cfdiCommits, 'commits')

export interface StoredCommit {
  number: number
  sequence: number
  committed_at: number
  /** As `readTouched` reads it. */
  touched: string
}

/** A partition, and the commit before which others are asked for; null for its last ones. */
export type CommitsBefore = readonly [number: number, before: number | null]

/** Reads so many commits of each partition, the newest first. One call. */
export const commitsBefore = async (d1: D1Database, asked: readonly CommitsBefore[], count: number): Promise<StoredCommit[]> =>
  (
    await prepared(
      d1,
      sql`with asked as materialized (
          select value->>0 as number, coalesce(value->>1, 1 + (
            select ${commits.sequence} from ${cfdiCommits} ${commits} where ${commits.entity} = value->>0 order by ${commits.sequence} desc limit 1)) as before
          from json_each(${JSON.stringify(asked)}))
        select a.number, ${commits.sequence}, ${commits.committed_at}, hex(${commits.touched}) as touched from asked a cross join ${cfdiCommits} ${commits}
          on ${commits.entity} = a.number and ${commits.sequence} < a.before and ${commits.sequence} >= a.before - ${count}
        order by a.number, ${commits.sequence} desc`,
    ).all<StoredCommit>()
  ).results

export type NamedRow = readonly [entity: number, uuid: string]

export interface NamedDocument {
  entity: number
  uuid: string
  direction: 0 | 1
  fecha: string
  issued_at: number
  utc_offset: number
  /** Whether its XML came in a later commit than its metadata. */
  has_later_xml: 0 | 1
}

/** Finds named documents. One call, none without names. */
export async function findRows(d1: D1Database, names: readonly NamedRow[]): Promise<NamedDocument[]> {
  if (names.length === 0) return []
  const results = await d1.batch<NamedDocument>(
    jsonChunks(names).map((json) =>
      prepared(
        d1,
        sql`select ${listOf([c.entity, c.uuid, c.direction, c.fecha, c.issued_at, c.utc_offset])},
            coalesce(${c.chunk} >= (${c.stored_by} + 1) * ${sql.raw(String(firstChunkOf(1)))}, 0) as has_later_xml
          from json_each(${json}) j cross join ${cfdi} ${c} on ${c.entity} = j.value->>0 and ${c.uuid} = j.value->>1`,
      ),
    ),
  )
  return results.flatMap(({ results: rows }) => rows)
}

/** What the window of a direction shows: between two seconds and from a literal day on, all inclusive. */
export interface ShownRange {
  /** Whose range it is. */
  n: number
  entity: number
  direction: 0 | 1
  floor: string
  since: number
  until: number
}

/** What a run newly showed because it reached further back: a ShownRange up to a literal day, exclusive, since the run, in milliseconds. */
export interface WidenedRange extends ShownRange {
  before: string
  at: number
}

/** The newest document of a range, vigente or cancelled, with what it calls the RFC. */
export type NewestDocument = Pick<ShownRange, 'n' | 'direction'> & { fecha: string; issued_at: number; name: string | null }

const IN_RANGE = sql`${c.entity} = j.value->>'entity' and ${c.direction} = j.value->>'direction'
  and ${c.issued_at} between j.value->>'since' and j.value->>'until' and ${c.fecha} >= j.value->>'floor'`

/** Reads the newest documents of ranges, and which of the widened ones show any. One call, none without ranges. */
export async function readReached(
  d1: D1Database,
  shown: readonly ShownRange[],
  widened: readonly WidenedRange[],
): Promise<{ newest: NewestDocument[]; widened: { n: number; at: number }[] }> {
  if (shown.length === 0) return { newest: [], widened: [] }
  const isAny = (cancelled: SQL) => sql`exists (
    select 1 from ${cfdi} ${c} indexed by cfdi_dirc where ${IN_RANGE} and ${c.cancelled} = ${cancelled} and ${c.fecha} < j.value->>'before')`
  const looked = jsonChunks(shown).map((json) =>
    prepared(
      d1,
      sql`select j.value->>'n' as n, ${d.direction}, ${d.fecha}, ${d.issued_at}, iif(${d.direction} = 0, ${d.emisor_nombre}, ${d.receptor_nombre}) as name
        from json_each(${json}) j cross join json_each('[0, 1]') k cross join ${cfdi} ${d} on ${d.entity} = j.value->>'entity' and ${d.uuid} = (
          select ${c.uuid} from ${cfdi} ${c} indexed by cfdi_dirc where ${IN_RANGE} and ${c.cancelled} = k.value order by ${c.issued_at} desc limit 1)`,
    ),
  )
  const wider = jsonChunks(widened).map((json) =>
    prepared(
      d1,
      sql`select j.value->>'n' as n, max(j.value->>'at') as at from json_each(${json}) j where ${isAny(sql`0`)} or ${isAny(sql`1`)} group by j.value->>'n'`,
    ),
  )
  const results = await d1.batch([...looked, ...wider])
  const rows = (from: number, to?: number) => results.slice(from, to).flatMap(({ results: list }) => list)
  return { newest: rows(0, looked.length) as NewestDocument[], widened: rows(looked.length) as { n: number; at: number }[] }
}
