import { jsonChunks } from '../../platform/db/commit.ts'

/** Commits of a partition that are looked at. */
const COMMITS = 3

export interface StoredCommit {
  number: number
  committed_at: number
  /** As `readTouched` reads it. */
  touched: string
}

/** Reads the last commits of partitions. One call. */
export const lastCommitsOf = async (d1: D1Database, numbers: readonly number[]): Promise<StoredCommit[]> =>
  (
    await d1
      .prepare(
        `select j.value as number, c.committed_at, hex(c.touched) as touched from json_each(?1) j cross join cfdi_commits c
         on c.entity = j.value and c.sequence > (
           select sequence from cfdi_commits where entity = j.value order by sequence desc limit 1) - ${COMMITS}`,
      )
      .bind(JSON.stringify(numbers))
      .all<StoredCommit>()
  ).results

export type NamedRow = readonly [entity: number, uuid: string]

export interface NamedDocument {
  entity: number
  uuid: string
  direction: 0 | 1
  fecha: string
  issued_at: number
}

/** Documents of a direction between two seconds, both inclusive. */
export interface ReachedRange {
  /** Whose range it is. */
  n: number
  entity: number
  direction: 0 | 1
  since: number
  until: number
}

/** Finds named documents, and the numbers of those with a document in one of their ranges. At most one call. */
export async function findRows(
  d1: D1Database,
  names: readonly NamedRow[],
  ranges: readonly ReachedRange[],
): Promise<{ rows: NamedDocument[]; reached: Set<number> }> {
  const lookUps = jsonChunks(names).map((json) =>
    d1
      .prepare(
        `select c.entity, c.uuid, c.direction, c.fecha, c.issued_at from json_each(?1) j
         cross join cfdi c on c.entity = j.value->>0 and c.uuid = j.value->>1`,
      )
      .bind(json),
  )
  const inRange = (cancelled: 0 | 1) => `exists (select 1 from cfdi c indexed by cfdi_dirc where c.entity = j.value->>'entity'
    and c.direction = j.value->>'direction' and c.cancelled = ${cancelled} and c.issued_at between j.value->>'since' and j.value->>'until')`
  const looked = jsonChunks(ranges).map((json) =>
    d1.prepare(`select j.value->>'n' as n from json_each(?1) j where ${inRange(0)} or ${inRange(1)}`).bind(json),
  )
  const statements = [...lookUps, ...looked]
  if (statements.length === 0) return { rows: [], reached: new Set() }
  const results = await d1.batch(statements)
  return {
    rows: results.slice(0, lookUps.length).flatMap(({ results: rows }) => rows as NamedDocument[]),
    reached: new Set(results.slice(lookUps.length).flatMap(({ results: rows }) => (rows as { n: number }[]).map(({ n }) => n))),
  }
}
