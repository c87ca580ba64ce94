import { sql } from 'drizzle-orm'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import { PUBLIC, type PublicSource, type Situacion } from '../catalog.ts'
import type { ListState } from '../tables.ts'
import { findList } from './store.ts'

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
 * Returns the statements after which a public list of the sandbox has an RFC, or has it no more: a version of the list, so that what it changes
 * is told; null before the list is loaded. The guard `list.version` refuses them when a load has begun or replaced the list meanwhile.
 */
export async function overrideListing(d1: D1Database, override: Override, now: number): Promise<D1PreparedStatement[] | null> {
  const list = await findList(d1, PUBLIC, override.source)
  return list && list.version > 0 ? statementsOf(d1, list, override, now) : null
}

function statementsOf(d1: D1Database, { version }: ListState, override: Override, now: number): D1PreparedStatement[] {
  const { source, rfc, name, situacion, is_listed, day } = override
  const row = sql`organization_id = ${PUBLIC} and source = ${source} and rfc = ${rfc}`
  const next = version + 1
  const list = sql`organization_id = ${PUBLIC} and source = ${source}`
  const guard = assertThat(
    d1,
    sql`exists (select 1 from blacklist_lists where ${list} and version = ${version} and loading is null)`,
    'list.version',
  )
  const change = sql`insert into blacklist_changes
    (organization_id, source, rfc, version, name, change, situacion_before, situacion, changed_at)`
  if (!is_listed)
    return [
      guard,
      prepared(
        d1,
        sql`${change} select organization_id, source, rfc, ${next}, name, 'removed', situacion, null, ${now} from blacklist_entries where ${row}`,
      ),
      prepared(
        d1,
        sql`update blacklist_lists set version = ${next}, row_count = row_count - exists (select 1 from blacklist_entries where ${row}) where ${list}`,
      ),
      prepared(d1, sql`delete from blacklist_entries where ${row}`),
    ]
  const history = JSON.stringify([[situacion, day, situacion === null ? null : day, null]])
  return [
    guard,
    prepared(
      d1,
      sql`${change} select ${PUBLIC}, ${source}, ${rfc}, ${next}, ${name}, iif(h.rfc is null, 'listed', 'situacion_changed'), h.situacion, ${situacion}, ${now}
        from (select 1) left join (select rfc, situacion from blacklist_entries where ${row}) h
        where h.rfc is null or h.situacion is not ${situacion}`,
    ),
    prepared(
      d1,
      sql`update blacklist_lists set version = ${next}, row_count = row_count + not exists (select 1 from blacklist_entries where ${row}) where ${list}`,
    ),
    prepared(
      d1,
      sql`insert into blacklist_entries as held (organization_id, source, rfc, name, situacion, history, seen_on)
        values (${PUBLIC}, ${source}, ${rfc}, ${name}, ${situacion}, ${history}, null)
        on conflict do update set name = excluded.name, situacion = excluded.situacion,
          history = iif(held.situacion is excluded.situacion, held.history, json_insert(held.history, '$[#]', json(excluded.history->'$[0]')))`,
    ),
  ]
}
