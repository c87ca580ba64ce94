import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { VatEntriesQuery, VatQuery } from '../../src/analytics/vat/contract.ts'
import { getVatPosition, listVatEntries } from '../../src/analytics/vat/vat.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { FISCAL_ENTITY } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { vatPositionOf } from './oracle/analytics/vat.ts'
import { creditsOfUnpaid, qualityOf } from './oracle/quality.ts'
import { lastDayOf } from './oracle/world.ts'
import { type Ask, expectEntries, expectSurface } from './support/compare.ts'
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
      ? await listVatEntries(ctx, VatEntriesQuery.parse({ ...sent, limit: '9' }))
      : await getVatPosition(ctx, VatQuery.parse(sent))
    return answer as unknown as Awaited<ReturnType<Ask>>
  }

let counted = 0

describe('the VAT position is that of the oracle', () => {
  it.each(Array.from({ length: runs(1, 40) }, (_, n) => n + 1))('in a seeded year, without windows and within them (%i)', async (seed) => {
    for (const { ctx, world, year } of await keptYear(seed)) {
      const [from, to] = [year.months[4]!, year.months[9]!]
      const range = { from: `${from}-01`, to: lastDayOf(to) }
      const { rows, tally } = vatPositionOf(world, range)
      const {
        months_missing: _,
        months_downloading: __,
        ...data_quality
      } = { ...qualityOf(world, range).counts, months_missing: 0, months_downloading: 0 }
      const unpaid = creditsOfUnpaid(world, range)
      const count = unpaid.count('credit_notes_of_unpaid')
      const answer = await expectSurface(
        ask(ctx),
        {
          path: '/analytics/vat-position',
          query: { from, to },
          head: { data_quality: { ...data_quality, credit_notes_of_unpaid: count } },
          rows,
          tally,
        },
        runs(5, 1),
      )
      const { drilldown } = answer['data_quality'] as { drilldown: Record<string, string> }
      await expectEntries(ask(ctx), drilldown['credit_notes_of_unpaid']!, unpaid.entries('credit_notes_of_unpaid'))
      counted += count
    }
  })

  it('and some credit notes were of unpaid invoices', () => {
    expect(counted).toBeGreaterThan(0)
  })
})
