import { type SQL, sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { DestinationError } from '../drivers/port.ts'
import type { MirrorRow } from './store.ts'

/** The documents of a fiscal entity that a destination refused while it stored others. */

type Key = Pick<MirrorRow, 'connector' | 'fiscal_entity'>

/** A document that was refused just now. */
export interface Refusal {
  document: string
  path: string
  error: DestinationError
}

const PAGE = 100

/** Puts documents aside. */
export const insertRefused = (d1: D1Database, { connector, fiscal_entity }: Key, refused: readonly Refusal[], now: Date) =>
  jsonChunks(refused.map(({ document, path, error: { code, message } }) => [document, path, code, message])).map((json) =>
    prepared(
      d1,
      sql`insert into storage_refused (connector, fiscal_entity, document, path, code, message, at, due)
        select ${connector}, ${fiscal_entity}, value->>0, value->>1, value->>2, value->>3, ${now.toISOString()}, 0 from json_each(${json}) where true
        on conflict do update set path = excluded.path, code = excluded.code, message = excluded.message, at = excluded.at, due = 0`,
    ),
  )

/** Forgets documents that were copied, or are no longer to be copied. */
export const deleteRefused = (d1: D1Database, { connector, fiscal_entity }: Key, documents: readonly string[]): D1PreparedStatement[] =>
  jsonChunks(documents).map((json) =>
    prepared(
      d1,
      sql`delete from storage_refused where connector = ${connector} and fiscal_entity = ${fiscal_entity}
        and document in (select value from json_each(${json}))`,
    ),
  )

/** The documents after one that are to be tried again, and whether there are more. */
export async function readRefused(d1: D1Database, { connector, fiscal_entity }: Key, after: string | null) {
  const { results } = await prepared(
    d1,
    sql`select document from storage_refused where connector = ${connector} and fiscal_entity = ${fiscal_entity} and document > ${after ?? ''}
      and due order by document limit 100`,
  ).all<{ document: string }>()
  const documents = results.map(({ document }) => document)
  return { documents, next: documents.length === PAGE ? documents.at(-1)! : null }
}

/** What `last_error` says after a success: one of the documents that are refused, with its path; null without one. */
export const refusedError = (connector: number): SQL =>
  sql`(select json_object('code', code, 'message', message || ' It was put aside: ' || path, 'at', at) from storage_refused
    where connector = ${connector} limit 1)`
