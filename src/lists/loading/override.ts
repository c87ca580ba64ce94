import { sql } from 'drizzle-orm'
import type { Statement } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare } from '../../platform/db/statement.ts'
import { PUBLIC, type PublicSource, type Situacion } from '../catalog.ts'
import { historyOf } from '../listings/listing.ts'
import { findEntries } from '../listings/store.ts'
import { blacklistLists as lists } from '../tables.ts'
import { entryStatements, isList } from './store.ts'

/** A place on a public list, as a test helper sets it. */
export interface Override {
  source: PublicSource
  rfc: string
  name: string
  situacion: Situacion | null
  /** Whether the RFC is on the list. Otherwise it leaves the list. */
  is_listed: boolean
  /** The day of the publication. */
  day: string
}

/**
 * Returns the statements that put an RFC on a public list of the sandbox, or take it off, as a version of the list, so that the change is
 * reported; null before the list is loaded. The guard `list.version` refuses them when a load has begun or replaced the list since.
 */
export async function overrideListing(d1: D1Database, override: Override, now: number): Promise<Statement[] | null> {
  const { source, rfc, name, situacion, is_listed, day } = override
  const { lists: loaded, found } = await findEntries(d1, PUBLIC, [rfc], [source])
  const [list, entry] = [loaded[0], found[0]]
  if (!list) return null
  const before = entry ? historyOf(entry.history) : []
  const step = { situacion, sat_at: day, dof_at: situacion === null ? null : day, oficio: null }
  const history = before.length > 0 && before.at(-1)!.situacion === situacion ? before : [...before, step]
  const row_count = list.row_count + Number(is_listed) - (entry ? 1 : 0)
  const is = isList(list)
  return [
    assertThat(
      sql`exists (select 1 from ${lists} where ${is} and ${lists.version} = ${list.version} and ${lists.loading} is null)`,
      'list.version',
    ),
    sql`update ${lists} set ${bare(lists.version)} = ${list.version + 1}, ${bare(lists.row_count)} = ${row_count} where ${is}`,
    ...entryStatements(
      { ...list, source, fetched_at: now },
      rfc,
      is_listed ? { name, situacion, history, seen_on: entry?.seen_on ?? null } : null,
    ),
  ]
}
