import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { cashEvents } from '../../src/cfdi/cash/events.ts'
import { type ExactEvent, exactAmounts } from '../../src/cfdi/cash/exact-amounts.ts'
import { BREAKDOWN } from '../../src/cfdi/taxes/breakdown.ts'
import { prepared } from '../../src/platform/db/statement.ts'
import { openLedger, partitionsToRead } from '../../src/taxpayers/visibility/scoped-ledger.ts'
import { newBook } from '../cfdi/support/book.ts'
import { contextOf, reaching } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { type CashEvent, figuresOf, movementsOf } from './oracle/cash.ts'
import { rateTable } from './oracle/rules.ts'
import { taxSum } from './oracle/taxes.ts'
import { lastDayOf, type Range, type World, within } from './oracle/world.ts'
import { ingestYear, readDocuments } from './support/service.ts'
import { worldOfYear } from './years/readable.ts'
import { type Year, yearOf } from './years/year.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

/** IEPS is in no figure, and the service converts the sum of its rates, the oracle each. */
const COMPARED = BREAKDOWN.filter((name) => name !== 'ieps')

const breakdownOf = (event: CashEvent): bigint[] => {
  const figures = new Map<string, bigint>()
  for (const [figure, amount] of figuresOf(event)) figures.set(figure, (figures.get(figure) ?? 0n) + amount)
  const { taxes } = event
  figures.set('iva_retenido', taxSum(taxes, 'retencion', '002'))
  figures.set('isr_retenido', taxSum(taxes, 'retencion', '001'))
  figures.set('ieps_retenido', taxSum(taxes, 'retencion', '003'))
  return COMPARED.map((name) => figures.get(name) ?? 0n)
}

/** Every movement of a direction and range, as the oracle has it. */
function expectedIn(world: World, direction: 'issued' | 'received', range: Range): string[] {
  const { events, unreconciled } = movementsOf(world)
  const isIn = (one: { direction: string; day: string }) => one.direction === direction && within(range, one.day)
  return [
    ...events
      .filter(isIn)
      .map((one) =>
        [one.uuid, one.applies_to, one.day, one.refund === null ? one.forma : '', one.paid, one.net, ...breakdownOf(one)].join('|'),
      ),
    ...unreconciled.filter(isIn).map((one) => [one.uuid, one.applies_to, one.day, one.reason].join('|')),
  ].sort()
}

/** The same as the service selects it. */
async function foundIn(world: World, ctx: ReturnType<typeof contextOf>, direction: 0 | 1, { from, to }: Range): Promise<string[]> {
  const found: string[] = []
  for (const partition of partitionsToRead(openLedger(ctx))) {
    const events = cashEvents(partition, direction, { first: from, last: to })
    if (events === null) continue
    const { results } = await prepared(env.LEDGER_0, events).all<Record<string, string | number | null> & ExactEvent>()
    for (const row of results) {
      const key = [row['uuid'], row['applies_to'], row.day]
      const exact =
        row['reason'] ??
        (row['needs_exact'] === 1 || row['net'] === null
          ? exactAmounts(row, (currency, day) => world.rates(currency, day)?.rate ?? null)
          : row)
      if (exact === 'not_counted' || (exact === 'missing_rate' && row['tipo'] !== 'P')) continue
      // A credit note that turns out to return nothing.
      if (typeof exact === 'object' && row['tipo'] === 'E' && BigInt(exact['paid'] as bigint) === 0n) continue
      if (typeof exact === 'object')
        found.push(
          [
            ...key,
            row['tipo'] === 'E' ? '' : row['forma'],
            ...['paid', 'net', ...COMPARED].map((name) => (exact as Record<string, unknown>)[name]),
          ].join('|'),
        )
      else found.push([...key, exact].join('|'))
    }
  }
  return found.sort()
}

const rangesOf = ({ months, today }: Year): Range[] => [
  { from: `${months[0]}-01`, to: today },
  { from: `${months[3]}-10`, to: lastDayOf(months[7]!) },
]

describe('cash events are those of the oracle', () => {
  it.each(Array.from({ length: runs(1, 60) }, (_, n) => n + 1))('in seeded years, without windows and within them (%i)', async (seed) => {
    const year = yearOf(seed)
    const target = newBook()
    await ingestYear(target, year)
    const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc }
    const middle = `${year.months[Math.floor(year.months.length / 2)]}-15T18:00:00Z`
    const windows = reaching([`${year.months[2]}-11`, `${year.today}T00:00:00Z`], [`${year.months[0]}-01`, middle])
    for (const ctx of [contextOf(connection), contextOf({ ...connection, ...windows }, { extractor_count: 1 })]) {
      const documents = await readDocuments(ctx)
      const world: World = { ...worldOfYear({ ...year, documents: [] }), documents, rates: rateTable(year.rates) }
      for (const range of rangesOf(year))
        for (const [n, direction] of (['issued', 'received'] as const).entries())
          expect(await foundIn(world, ctx, n as 0 | 1, range)).toEqual(expectedIn(world, direction, range))
    }
  })
})
