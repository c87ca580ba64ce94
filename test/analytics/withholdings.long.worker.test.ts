import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, it } from 'vitest'
import { WithholdingEntriesQuery, WithholdingsQuery } from '../../src/analytics/withholdings/contract.ts'
import { listWithholdingEntries, listWithholdings } from '../../src/analytics/withholdings/withholdings.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { FISCAL_ENTITY } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { type WithholdingQuery, withholdingsOf } from './oracle/drilldowns/withholdings.ts'
import { qualityOf } from './oracle/quality.ts'
import { lastDayOf } from './oracle/world.ts'
import { type Ask, expectSurface } from './support/compare.ts'
import { keptYear } from './support/kept.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const ask =
  (ctx: Ctx): Ask =>
  async (path, query) => {
    const sent = { ...query, fiscal_entity_id: FISCAL_ENTITY }
    const answer = path.endsWith('/entries')
      ? await listWithholdingEntries(ctx, WithholdingEntriesQuery.parse({ ...sent, limit: '7' }))
      : await listWithholdings(ctx, WithholdingsQuery.parse({ ...sent, limit: '9' }))
    return answer as unknown as Awaited<ReturnType<Ask>>
  }

const FILTERS: Partial<WithholdingQuery>[] = [
  {},
  { missing: true },
  { role: 'withheld_by_us', impuesto: 'IVA' },
  { concept_class: 'resico_pf' },
  { concept_class: 'otros', source: 'pago' },
  { concept_class: 'sueldos' },
  { source: 'retencion_cfdi' },
]

const SEEDS = Array.from({ length: runs(1, 40) }, (_, n) => n + 1)

describe('withholdings are those of the oracle', () => {
  it.each(SEEDS)('in a seeded year, without windows and within them (%i)', { timeout: 900_000 }, async (seed) => {
    for (const { ctx, world, year } of await keptYear(seed)) {
      const [from, to] = [`${year.months[0]}-01`, lastDayOf(year.months[7]!)]
      const {
        months_missing: _,
        months_downloading: __,
        ...data_quality
      } = {
        ...qualityOf(world, { from, to }).counts,
        ...{ months_missing: 0, months_downloading: 0 },
      }
      for (const filter of FILTERS.slice(0, runs(3, FILTERS.length))) {
        const { rows, totals, tally } = withholdingsOf(world, { from, to, ...filter })
        const query = Object.fromEntries(Object.entries({ from, to, ...filter }).map(([name, value]) => [name, String(value)]))
        const every = filter.missing ? 1_000 : runs(4, 1)
        await expectSurface(ask(ctx), { path: '/cfdi/withholdings', query, head: { data_quality, totals }, rows, tally }, every)
      }
    }
  })
})
