import { type SQL, sql } from 'drizzle-orm'
import { packed, unpacked } from '../platform/db/packed.ts'
import { bare, readRows } from '../platform/db/statement.ts'
import { cfdiCommits } from './tables.ts'

/** The UUID of a document that changes for a reader, and the least ceiling that shows it, in seconds. */
type Turned = readonly [uuid: string, from: number]

/**
 * The documents that a commit changes, by what happened to them, for those that mirror the partition. A document is named wherever a reader
 * can see its row changed.
 */
export interface Touched {
  /** New documents, and those that got their XML. */
  stored?: readonly string[]
  removed?: readonly string[]
  cancelled?: readonly string[]
  /** Documents with another place among substitutions. */
  substituted?: readonly Turned[]
  /** Stored invoices of which an application came, went, or counts no more. */
  balances?: readonly Turned[]
  /** Invoices of which payments in form 30 move another part beyond their advances. */
  advanced?: readonly Turned[]
  /** Documents about whose status the authority answered, each with the fiscal entity of the organization that asked. */
  checked?: readonly (readonly [uuid: string, fiscal_entity_id: string])[]
  /** It changed more documents, too many to name them. */
  isCut?: true
}

/** More documents than this are not named: whoever mirrors the partition then reads all of it. */
const MOST_TOUCHED = 20_000

/** Writes it as packed JSON: null for too many. Removed documents are named even then, because they could not be found later. */
export function writeTouched({ isCut: _, ...lists }: Touched): string | null {
  const named = Object.entries(lists).filter(([, list]) => list.length > 0)
  const isTooLong = named.reduce((sum, [, { length }]) => sum + length, 0) > MOST_TOUCHED
  if (!isTooLong) return packed(JSON.stringify(Object.fromEntries(named)))
  return lists.removed?.length ? packed(JSON.stringify({ removed: lists.removed, isCut: true } satisfies Touched)) : null
}

/** Reads it out of the text of `hex`, which is empty for null. */
export const readTouched = (text: string): Touched => (text === '' ? { isCut: true } : (JSON.parse(unpacked(text).toString()) as Touched))

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
