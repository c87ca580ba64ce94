import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { getCfdi } from '../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../src/cfdi/search/search.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { newBook } from '../cfdi/support/book.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { costOf } from '../support/meter.ts'
import { type BalanceRow, balancesAsOf } from './oracle/as-of.ts'
import { rateTable } from './oracle/rules.ts'
import { addDays, type World } from './oracle/world.ts'
import { ingestYear, readDocuments } from './support/service.ts'
import { worldOfYear } from './years/readable.ts'
import { sightsOf } from './years/sights.ts'
import { yearOf } from './years/year.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

/** Every row of a search, page by page. */
async function search(ctx: Ctx, filters: Record<string, string>, limit = '100') {
  const rows: Awaited<ReturnType<typeof searchCfdi>>['data'] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit, ...filters, ...(cursor && { cursor }) })
    const page: Awaited<ReturnType<typeof searchCfdi>> = await searchCfdi(ctx, query)
    rows.push(...page.data)
    cursor = page.next_cursor
  }
  return rows
}

const said = ({ uuid, estatus, is_substituted, payment_status, paid_amount, credited_amount, balance }: BalanceRow): BalanceRow => ({
  ...{ uuid, estatus, is_substituted, payment_status, paid_amount, credited_amount, balance },
})

describe('GET /v1/cfdi?as_of= says what the slow oracle says', () => {
  it.each(Array.from({ length: runs(1, 40) }, (_, n) => n + 1))('of past days, and with filters, through windows (%i)', async (seed) => {
    const year = yearOf(seed)
    const target = newBook()
    await ingestYear(target, year)
    const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc }
    const now = new Date(`${year.today}T22:00:00-06:00`)
    const days = [year.today, addDays(year.today, -45), addDays(year.today, -(100 + seed * 7)), `${year.months[1]}-15`]
    for (const sight of sightsOf(year)) {
      const windows = sight && reaching(sight.issued, sight.received)
      const ctx = contextOf({ ...connection, ...windows }, { extractor_count: sight === null ? 0 : 1, now })
      const documents = await readDocuments(ctx)
      const world: World = { ...worldOfYear({ ...year, documents: [] }), documents, rates: rateTable(year.rates) }
      for (const as_of of days) {
        const expected = balancesAsOf(world, as_of)
        expect((await search(ctx, { as_of })).map(said)).toEqual(expected)
        const filtered = async (filters: Record<string, string>, fits: (row: BalanceRow) => boolean) =>
          expect((await search(ctx, { as_of, ...filters }, '25')).map(said)).toEqual(expected.filter(fits))
        await filtered({ balance_min: '0.01' }, ({ balance }) => Number(balance) >= 0.01)
        await filtered({ payment_status: 'unpaid,partially_paid', estatus: 'vigente', is_substituted: 'false' }, (row) => {
          return ['unpaid', 'partially_paid'].includes(row.payment_status) && row.estatus === 'vigente' && !row.is_substituted
        })
        await filtered({ payment_status: 'paid,not_applicable' }, (row) => ['paid', 'not_applicable'].includes(row.payment_status))
        await filtered({ estatus: 'cancelado' }, ({ estatus }) => estatus === 'cancelado')
        await filtered({ is_substituted: 'true' }, (row) => row.is_substituted)
        for (const row of expected.slice(0, 6)) expect(said(await getCfdi(ctx, row.uuid, as_of))).toEqual(row)
      }
    }
  })

  it('refuses a day after today in central Mexico, and does not know a document of a later day', async () => {
    const year = yearOf(1)
    const target = newBook()
    await ingestYear(target, year)
    const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc }
    const ctx = contextOf(connection, { now: new Date(`${year.today}T22:00:00-06:00`) })
    const tomorrow = search(ctx, { as_of: addDays(year.today, 1) })
    await expect(tomorrow).rejects.toMatchObject({ kind: 'invalid', code: 'as_of.future' })
    const newest = (await search(ctx, {}))[0]!
    await expect(getCfdi(ctx, newest.uuid, addDays(newest.fecha.slice(0, 10), -1))).rejects.toMatchObject({ code: 'cfdi.not_found' })
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () =>
      searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, as_of: '2024-06-30' })),
    )
    expect(cost.d1_calls).toBe(1)
  })
})
