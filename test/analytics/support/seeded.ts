import { env } from 'cloudflare:test'
import type * as z from 'zod'
import { EntriesPage } from '../../../src/analytics/common/contract.ts'
import { getConcentration, getConcentrationEntries } from '../../../src/analytics/concentration/concentration.ts'
import { Concentration, ConcentrationEntriesQuery, ConcentrationQuery } from '../../../src/analytics/concentration/contract.ts'
import { getConcepts, getConceptsEntries } from '../../../src/analytics/concepts/concepts.ts'
import { Concepts, ConceptsEntriesQuery, ConceptsQuery } from '../../../src/analytics/concepts/contract.ts'
import { DeductionEntriesQuery, Deductions, DeductionsQuery } from '../../../src/analytics/deductions/contract.ts'
import { getDeductionEntries, getDeductions } from '../../../src/analytics/deductions/deductions.ts'
import { EfosEntriesQuery, EfosExposure, EfosQuery } from '../../../src/analytics/efos/contract.ts'
import { getEfosEntries, getEfosExposure } from '../../../src/analytics/efos/efos.ts'
import { Financing, FinancingEntriesQuery, FinancingQuery } from '../../../src/analytics/financing/contract.ts'
import { getFinancing, getFinancingEntries } from '../../../src/analytics/financing/financing.ts'
import { FxEntriesQuery, FxExposure, FxQuery } from '../../../src/analytics/fx/contract.ts'
import { getFxEntries, getFxExposure } from '../../../src/analytics/fx/fx.ts'
import { IndicatorEntriesQuery, Indicators, IndicatorsQuery } from '../../../src/analytics/indicators/contract.ts'
import { getIndicators, listIndicatorEntries } from '../../../src/analytics/indicators/indicators.ts'
import { Risk, RiskEntriesQuery, RiskQuery } from '../../../src/analytics/risk/contract.ts'
import { getRisk, getRiskEntries } from '../../../src/analytics/risk/risk.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { newBook } from '../../cfdi/support/book.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../../support/context.ts'
import { rateTable } from '../oracle/rules.ts'
import type { World } from '../oracle/world.ts'
import { worldOfYear } from '../years/readable.ts'
import { type Sight, sightsOf } from '../years/sights.ts'
import type { Year } from '../years/year.ts'
import type { Ask } from './compare.ts'
import { ingestYear, readDocuments } from './service.ts'

type Verb = (ctx: Ctx, query: never) => Promise<object>

/** The verbs of the surfaces that are asked for without HTTP, by path: its query, and the shape of its answer. */
const SURFACES: Record<string, [query: z.ZodType, verb: Verb, answer: z.ZodType]> = {
  '/cfdi/concentration': [ConcentrationQuery, getConcentration, Concentration],
  '/analytics/risk': [IndicatorsQuery, getIndicators, Indicators],
  '/analytics/risk/entries': [IndicatorEntriesQuery, listIndicatorEntries, EntriesPage],
  '/cfdi/deductions': [DeductionsQuery, getDeductions, Deductions],
  '/cfdi/deductions/entries': [DeductionEntriesQuery, getDeductionEntries, EntriesPage],
  '/cfdi/risk': [RiskQuery, getRisk, Risk],
  '/cfdi/risk/entries': [RiskEntriesQuery, getRiskEntries, EntriesPage],
  '/analytics/efos-exposure': [EfosQuery, getEfosExposure, EfosExposure],
  '/analytics/efos-exposure/entries': [EfosEntriesQuery, getEfosEntries, EntriesPage],
  '/analytics/concepts': [ConceptsQuery, getConcepts, Concepts],
  '/analytics/concepts/entries': [ConceptsEntriesQuery, getConceptsEntries, EntriesPage],
  '/cfdi/concentration/entries': [ConcentrationEntriesQuery, getConcentrationEntries, EntriesPage],
  '/analytics/fx-exposure': [FxQuery, getFxExposure, FxExposure],
  '/analytics/fx-exposure/entries': [FxEntriesQuery, getFxEntries, EntriesPage],
  '/analytics/financing': [FinancingQuery, getFinancing, Financing],
  '/analytics/financing/entries': [FinancingEntriesQuery, getFinancingEntries, EntriesPage],
}

/** Asks the verbs in the place of the API. What they answer has the shape that their contract declares. */
export const requester =
  (ctx: Ctx): Ask =>
  async (path, query) => {
    const [shape, verb, answer] = SURFACES[path]!
    const isPaged = !['/analytics/risk', '/analytics/fx-exposure'].includes(path)
    const asked = shape.parse({ ...(isPaged ? { limit: '100' } : {}), ...query, fiscal_entity_id: FISCAL_ENTITY })
    return answer.parse(JSON.parse(JSON.stringify(await verb(ctx, asked as never)))) as Awaited<ReturnType<Ask>>
  }

/** Loads the rates and lists of a year, and nothing else of their kind. */
async function load({ rates, lists, repse, intercompany }: Year): Promise<void> {
  const sources = [...new Set(lists.map(({ source }) => source))]
  await env.DB.batch([
    env.DB.prepare('delete from fx_rates'),
    env.DB.prepare('delete from blacklist_lists'),
    env.DB.prepare('delete from blacklist_entries'),
    env.DB.prepare('delete from repse_records'),
    env.DB.prepare(
      `insert into repse_records (rfc, checked_at, is_registered, vigencia_hasta, actividades, attempts)
       select value->>0, 1, value->>1, value->>2, value->>3, 0 from json_each(?)`,
    ).bind(
      JSON.stringify([...repse].map(([rfc, one]) => [rfc, one.is_registered, one.vigencia_hasta, one.has_activities ? '[{"n":1}]' : '[]'])),
    ),
    env.DB.prepare('delete from connections'),
    env.DB.prepare('delete from fiscal_entities'),
    env.DB.prepare('insert into fiscal_entities (entity, rfc, shard, created_at) select 900000 + key, value, 0, 0 from json_each(?)').bind(
      JSON.stringify(intercompany),
    ),
    env.DB.prepare(
      `insert into connections (organization_id, fiscal_entity_id, entity, rfc, shard, state, linked_at, updated_at)
       select ?2, 'fe_' || key, 900000 + key, value, 0, 'active', 0, 0 from json_each(?1)`,
    ).bind(JSON.stringify(intercompany), contextOf().organization.id),
    env.DB.prepare(
      "insert into fx_rates select value->>'currency', value->>'date', value->>'rate', value->>'source' from json_each(?)",
    ).bind(JSON.stringify(rates)),
    env.DB.prepare(
      "insert into blacklist_lists (organization_id, source, version, row_count) select '', value, 1, 1 from json_each(?)",
    ).bind(JSON.stringify(sources)),
    env.DB.prepare(
      "insert into blacklist_entries (organization_id, source, rfc, name, history) select '', value->>0, value->>1, value->>2, value->>3 from json_each(?)",
    ).bind(
      JSON.stringify(
        lists.map(({ source, rfc, name, history }) => [
          ...[source, rfc, name],
          JSON.stringify(history.map((step) => [step.situacion, step.sat_at, step.dof_at, step.oficio])),
        ]),
      ),
    ),
  ])
}

export interface Seen {
  sight: Sight
  ctx: Ctx
  /** What the oracle reads: the documents as the API answers them. */
  world: World
}

/** A seeded year in the service, as three organizations see it: one without windows, and two within theirs. */
export async function seenOf(year: Year, sights = sightsOf(year)): Promise<Seen[]> {
  const target = newBook()
  await ingestYear(target, year)
  await load(year)
  const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc, listed: null }
  const plain = worldOfYear({ ...year, documents: [] })
  const seen: Seen[] = []
  for (const sight of sights) {
    const windows = sight && reaching(sight.issued, sight.received)
    const more = { extractor_count: sight === null ? 0 : 1, now: new Date(plain.now) }
    const ctx = contextOf({ ...connection, ...windows }, more)
    // The sandbox invents the rates that nobody loaded.
    const real = { ...ctx, settings: { ...ctx.settings, taxAuthority: 'sat' as const } }
    seen.push({ sight, ctx: real, world: { ...plain, documents: await readDocuments(real), rates: rateTable(year.rates) } })
  }
  return seen
}
