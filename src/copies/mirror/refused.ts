import { type SQL, sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import type { DestinationError } from '../drivers/port.ts'
import { storageRefused } from '../tables.ts'
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

const COLUMNS = [
  ...[storageRefused.connector, storageRefused.fiscal_entity, storageRefused.document, storageRefused.path],
  ...[storageRefused.code, storageRefused.message, storageRefused.at, storageRefused.due],
].map(bare)

/** Puts documents aside. */
export const insertRefused = (d1: D1Database, { connector, fiscal_entity }: Key, refused: readonly Refusal[], now: Date) =>
  jsonChunks(refused.map(({ document, path, error: { code, message } }) => [document, path, code, message])).map((json) =>
    prepared(
      d1,
      sql`insert into ${storageRefused} ${COLUMNS}
        select ${connector}, ${fiscal_entity}, value->>0, value->>1, value->>2, value->>3, ${now.toISOString()}, 0 from json_each(${json})
          where true
        on conflict do update set ${bare(storageRefused.path)} = excluded.${bare(storageRefused.path)},
          ${bare(storageRefused.code)} = excluded.${bare(storageRefused.code)},
          ${bare(storageRefused.message)} = excluded.${bare(storageRefused.message)},
          ${bare(storageRefused.at)} = excluded.${bare(storageRefused.at)}, ${bare(storageRefused.due)} = 0`,
    ),
  )

/** Forgets documents that were copied, or are no longer to be copied. */
export const deleteRefused = (d1: D1Database, { connector, fiscal_entity }: Key, documents: readonly string[]): D1PreparedStatement[] =>
  jsonChunks(documents).map((json) =>
    prepared(
      d1,
      sql`delete from ${storageRefused} where ${storageRefused.connector} = ${connector}
          and ${storageRefused.fiscal_entity} = ${fiscal_entity}
        and ${storageRefused.document} in (select value from json_each(${json}))`,
    ),
  )

/** The documents after one that are to be tried again, and whether there are more. */
export async function readRefused(d1: D1Database, { connector, fiscal_entity }: Key, after: string | null) {
  const { results } = await prepared(
    d1,
    sql`select ${storageRefused.document} from ${storageRefused} where ${storageRefused.connector} = ${connector}
        and ${storageRefused.fiscal_entity} = ${fiscal_entity} and ${storageRefused.document} > ${after ?? ''}
      and ${storageRefused.due} order by ${storageRefused.document} limit 100`,
  ).all<{ document: string }>()
  const documents = results.map(({ document }) => document)
  return { documents, next: documents.length === PAGE ? documents.at(-1)! : null }
}

/** What `last_error` says after a success: one of the documents that are refused, with its path; null without one. */
export const refusedError = (connector: number): SQL =>
  sql`(select json_object('code', ${storageRefused.code}, 'message',
      ${storageRefused.message} || ' It was put aside: ' || ${storageRefused.path}, 'at', ${storageRefused.at}) from ${storageRefused}
    where ${storageRefused.connector} = ${connector} limit 1)`
