import { env } from 'cloudflare:test'
import type { RuleRow } from '../../../src/authority/rules/dated.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { newBook } from '../../cfdi/support/book.ts'
import { contextOf, reaching } from '../../support/context.ts'
import { rateTable } from '../oracle/rules.ts'
import type { World } from '../oracle/world.ts'
import { worldOfYear } from '../years/readable.ts'
import { type Year, yearOf } from '../years/year.ts'
import { rulesFrom } from './rules.ts'
import { ingestYear, readDocuments } from './service.ts'

/** Loads the year's list of article 69-B, what the registry answered, and its exchange rates. */
async function keepWorld({ lists, repse, rates }: Year): Promise<void> {
  await env.DB.prepare('delete from fx_rates').run()
  const entries = lists.filter(({ source }) => source === 'sat_69b')
  const steps = entries.map((one) => [
    ...[one.rfc, one.name, one.history.at(-1)!.situacion],
    JSON.stringify(one.history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])),
  ])
  await env.DB.batch([
    env.DB.prepare(
      "insert or replace into blacklist_lists (organization_id, source, version, list_date, row_count) values ('', 'sat_69b', 1, '2030-01-01', 9)",
    ),
    env.DB.prepare("delete from blacklist_entries where source = 'sat_69b'"),
    env.DB.prepare(
      `insert into blacklist_entries (organization_id, source, rfc, name, situacion, history)
       select '', 'sat_69b', value->>0, value->>1, value->>2, value->>3 from json_each(?)`,
    ).bind(JSON.stringify(steps)),
    env.DB.prepare('delete from repse_records'),
    env.DB.prepare(
      `insert into repse_records (rfc, checked_at, is_registered, vigencia_hasta, actividades, attempts)
       select value->>0, 1, value->>1, value->>2, iif(value->>3, '[{}]', '[]'), 0 from json_each(?)`,
    ).bind(
      JSON.stringify([...repse].map(([rfc, one]) => [rfc, Number(one.is_registered), one.vigencia_hasta, Number(one.has_activities)])),
    ),
    env.DB.prepare(
      `insert into fx_rates (currency, date, rate, source) select value->>0, value->>1, value->>2, 'DOF' from json_each(?)`,
    ).bind(JSON.stringify(rates.map(({ currency, date, rate }) => [currency, date, rate]))),
  ])
}

/** A seeded year in the service, as an organization without windows and one within them read it, and what the oracle knows of each. */
export async function keptYear(seed: number): Promise<{ ctx: Ctx; world: World; year: Year }[]> {
  const year = yearOf(seed)
  const target = newBook()
  await ingestYear(target, year)
  await keepWorld(year)
  const rules = (await (await env.ASSETS.fetch('https://assets.invalid/rules.json')).json()) as RuleRow[]
  const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc, listed: null }
  const middle = `${year.months[Math.floor(year.months.length / 2)]}-15T18:00:00Z`
  const windows = reaching([`${year.months[2]}-11`, `${year.today}T00:00:00Z`], [`${year.months[0]}-01`, middle])
  // All withholding classes are in force by then.
  const today = [year.today, '2022-01-05'].sort().at(-1)!
  const now = new Date(`${today}T20:00:00Z`)
  const kept = []
  for (const ctx of [
    contextOf(connection, { now }),
    contextOf({ ...connection, ...windows, imported_at: 1 }, { extractor_count: 1, now }),
  ]) {
    // The sandbox would invent the rates that nobody loads.
    ctx.settings = { ...ctx.settings, taxAuthority: 'sat' }
    const documents = await readDocuments(ctx)
    const world = {
      ...worldOfYear({ ...year, documents: [] }),
      documents,
      rates: rateTable(year.rates),
      rules: rulesFrom(rules),
      today,
    }
    kept.push({ ctx, world, year })
  }
  return kept
}
