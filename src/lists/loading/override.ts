import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import { PUBLIC, type PublicSource, type Situacion } from '../catalog.ts'
import { blacklistChanges as changes, blacklistEntries as entries, type ListState, blacklistLists as lists } from '../tables.ts'
import { findList } from './store.ts'

const stored = alias(entries, 'stored')

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
export async function overrideListing(d1: D1Database, override: Override, now: number): Promise<D1PreparedStatement[] | null> {
  const list = await findList(d1, PUBLIC, override.source)
  return list && list.version > 0 ? statementsOf(d1, list, override, now) : null
}

function statementsOf(d1: D1Database, { version }: ListState, override: Override, now: number): D1PreparedStatement[] {
  const { source, rfc, name, situacion, is_listed, day } = override
  const row = sql`${entries.organization_id} = ${PUBLIC} and ${entries.source} = ${source}
    and ${entries.rfc} = ${rfc}`
  const next = version + 1
  const list = sql`${lists.organization_id} = ${PUBLIC} and ${lists.source} = ${source}`
  const guard = assertThat(
    d1,
    sql`exists (select 1 from ${lists} where ${list} and ${lists.version} = ${version}
      and ${lists.loading} is null)`,
    'list.version',
  )
  const change = sql`insert into ${changes} ${[
    ...[changes.organization_id, changes.source, changes.rfc, changes.version, changes.name],
    ...[changes.change, changes.situacion_before, changes.situacion, changes.changed_at],
  ].map(bare)}`
  if (!is_listed)
    return [
      guard,
      prepared(
        d1,
        sql`${change} select ${entries.organization_id}, ${entries.source}, ${entries.rfc}, ${next},
          ${entries.name}, 'removed', ${entries.situacion}, null, ${now} from ${entries} where ${row}`,
      ),
      prepared(
        d1,
        sql`update ${lists} set ${bare(lists.version)} = ${next},
          ${bare(lists.row_count)} = ${lists.row_count} - exists (select 1 from ${entries} where ${row})
          where ${list}`,
      ),
      prepared(d1, sql`delete from ${entries} where ${row}`),
    ]
  const history = JSON.stringify([[situacion, day, situacion === null ? null : day, null]])
  return [
    guard,
    prepared(
      d1,
      sql`${change} select ${PUBLIC}, ${source}, ${rfc}, ${next}, ${name}, iif(h.rfc is null, 'listed', 'situacion_changed'), h.situacion,
        ${situacion}, ${now}
        from (select 1) left join (select ${entries.rfc}, ${entries.situacion} from ${entries} where ${row}) h
        where h.rfc is null or h.situacion is not ${situacion}`,
    ),
    prepared(
      d1,
      sql`update ${lists} set ${bare(lists.version)} = ${next},
        ${bare(lists.row_count)} = ${lists.row_count} + not exists (select 1 from ${entries} where ${row})
        where ${list}`,
    ),
    prepared(
      d1,
      sql`insert into ${entries} as ${stored} ${[
        ...[entries.organization_id, entries.source, entries.rfc, entries.name],
        ...[entries.situacion, entries.history, entries.seen_on],
      ].map(bare)}
        values (${PUBLIC}, ${source}, ${rfc}, ${name}, ${situacion}, ${history}, null)
        on conflict do update set ${bare(entries.name)} = excluded.${bare(stored.name)},
          ${bare(entries.situacion)} = excluded.${bare(stored.situacion)},
          ${bare(entries.history)} = iif(${stored.situacion} is excluded.${bare(stored.situacion)}, ${stored.history},
            json_insert(${stored.history}, '$[#]', json(excluded.${bare(stored.history)}->'$[0]')))`,
    ),
  ]
}
