import { env } from 'cloudflare:workers'
import type { RuleRow } from '../../../src/authority/rules/dated.ts'
import { rulesAt } from '../../../src/authority/rules/rules.ts'
import { at } from '../../support/clock.ts'
import { contextOf } from '../../support/context.ts'
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

const LONG_AGO = '2000-01-01'

/** Sets the own values of the deployment, as `npm run rules -- set` does. The clock is faked. */
export async function setOwnRules(rows: readonly RuleRow[]): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('delete from rules'),
    insert(
      `insert into rules (key, valid_from, valid_to, value, rule_ref, source, confidence)
       select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6 from json_each(?)`,
      rows.map((one) => [one.key, one.valid_from, one.valid_to, JSON.stringify(one.value), one.rule_ref, one.source, one.confidence]),
    ),
  ])
  // An isolate goes on with what it has read for a minute.
  const now = new Date().toISOString()
  at(`${LONG_AGO}T00:00:00Z`)
  await rulesAt(contextOf(), LONG_AGO)
  at(now)
}
