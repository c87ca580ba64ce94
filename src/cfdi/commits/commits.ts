import { type SQL, sql } from 'drizzle-orm'
import { bare, readRows } from '../../platform/db/statement.ts'
import { cfdiCommits } from '../tables.ts'
import { writeTouched } from './touched.ts'

const { entity, sequence, committed_at, touched } = cfdiCommits

/** Returns the last commits of partitions, those up to an instant in milliseconds; 0 for a partition without one. */
export const lastCommits = async (d1: D1Database, partitions: readonly number[], until: number): Promise<Map<number, number>> =>
  new Map(
    (
      await readRows(
        d1,
        sql<{ number: number; sequence: number }>`select j.value as number, coalesce((
            select ${sequence} from ${cfdiCommits} where ${entity} = j.value and ${committed_at} <= ${until} order by ${sequence} desc limit 1), 0) as sequence
          from json_each(${JSON.stringify(partitions)}) j`,
      )
    ).map(({ number, sequence }) => [number, sequence]),
  )

/** Names a document about whose status the authority answered to organizations, in a commit of its own. */
export const commitChecked = (
  { entity: number, uuid }: { entity: number; uuid: string },
  fiscal_entity_ids: readonly string[],
  now: number,
): SQL =>
  sql`insert into ${cfdiCommits} (${bare(entity)}, ${bare(sequence)}, ${bare(committed_at)}, ${bare(touched)})
      select ${number}, coalesce(max(${sequence}), 0) + 1, ${now}, unhex(${writeTouched({ checked: fiscal_entity_ids.map((id) => [uuid, id] as const) })})
      from ${cfdiCommits} where ${entity} = ${number}`
