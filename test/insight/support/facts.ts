import { env } from 'cloudflare:workers'
import type { Registration } from '../oracle/world.ts'
import type { Year } from '../years/year.ts'

const insert = (sql: string, rows: unknown) => env.DB.prepare(sql).bind(JSON.stringify(rows))

/** Inserts what the registry answered about suppliers. */
export const insertRegistrations = (repse: ReadonlyMap<string, Registration>): D1PreparedStatement =>
  insert(
    `insert or replace into repse_records (rfc, checked_at, is_registered, vigencia_hasta, actividades, attempts)
     select value->>0, 0, value->>1, value->>2, value->>3, 0 from json_each(?1)`,
    [...repse].map(([rfc, { is_registered, vigencia_hasta, has_activities }]) => [
      ...[rfc, Number(is_registered), vigencia_hasta, JSON.stringify(has_activities ? [{ actividad: 'Limpieza', vigencia: null }] : [])],
    ]),
  )

/** Loads the rates, lists and answers of the registry of a year, and nothing else of their kind. */
export async function loadFacts({ rates, lists, repse }: Pick<Year, 'rates' | 'lists' | 'repse'>): Promise<void> {
  const entries = lists.map(({ source, rfc, name, history }) => [
    ...[source, rfc, name, history.at(-1)?.situacion ?? null],
    JSON.stringify(history.map((step) => [step.situacion, step.sat_at, step.dof_at, step.oficio])),
  ])
  await env.DB.batch([
    ...['fx_rates', 'blacklist_lists', 'blacklist_entries', 'repse_records'].map((table) => env.DB.prepare(`delete from ${table}`)),
    insert("insert into fx_rates select value->>'currency', value->>'date', value->>'rate', value->>'source' from json_each(?)", rates),
    insert("insert into blacklist_lists (organization_id, source, version, row_count) select '', value, 1, 1 from json_each(?)", [
      ...new Set(lists.map(({ source }) => source)),
    ]),
    insert(
      `insert into blacklist_entries (organization_id, source, rfc, name, situacion, history)
       select '', value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?)`,
      entries,
    ),
    insertRegistrations(repse),
  ])
}
