import { applyD1Migrations, env } from 'cloudflare:test'
import { type SQL, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { isLarge, type Named, paidByComplement } from '../../../src/cfdi/cash/events.ts'
import { exactBalance, exactBalanceOn, LATEST, openInvoices } from '../../../src/cfdi/open/applications.ts'
import {
  balanceColumns,
  creditedSince,
  invoicesIn,
  isOpenSince,
  openByMonth,
  openThrough,
  paidSince,
  type Through,
} from '../../../src/cfdi/open/open-through.ts'
import { MISSING_RATE } from '../../../src/cfdi/population/population.ts'
import { prepared } from '../../../src/platform/db/statement.ts'
import { type DirectionNumber, openLedger, type Partition, partitionsToRead } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { micros } from '../../analytics/oracle/amounts.ts'
import { appliedTo, LEAST_OPEN } from '../../analytics/oracle/balances.ts'
import { countedAt, isToItself, isTooLarge } from '../../analytics/oracle/counting.ts'
import { dayOf, lastDayOf, type World } from '../../analytics/oracle/world.ts'
import { keptYear } from '../../analytics/support/kept.ts'
import { runs } from '../../support/fuzz.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const DIRECTIONS = ['issued', 'received'] as const
const rowsOf = async <Row>(statement: SQL | null): Promise<Row[]> =>
  statement === null ? [] : (await prepared(env.LEDGER_0, statement).all<Row>()).results

/** What is left to pay of each PPD invoice that counts today, by what was paid and credited up to the end of a day: `uuid balance`. */
const expectedOn = (world: World, direction: DirectionNumber, day: string): string[] =>
  world.documents
    .filter((one) => one.direction === DIRECTIONS[direction] && one.tipo_comprobante === 'I' && one.metodo_pago === 'PPD' && one.has_xml)
    .filter((one) => countedAt(world, null).has(one.uuid) && !isToItself(one) && dayOf(one.fecha) <= day)
    .flatMap((invoice) => {
      const settled = appliedTo(world, invoice, null).reduce((sum, one) => (one.day <= day ? sum + one.amount : sum), 0n)
      const balance = micros(invoice.total) - settled
      return balance < LEAST_OPEN || isTooLarge(world, invoice) ? [] : [`${invoice.uuid} ${balance}`]
    })
    .sort()

const columns =
  (partition: Partition): Named =>
  (alias) =>
    balanceColumns(partition, alias, `(${MISSING_RATE(alias)} or ${isLarge(alias)})`)

/** What `openByMonth` selects, read on its own. */
function byMonth(partition: Partition, direction: DirectionNumber, through: Through, kind: 'open' | 'exact'): SQL | null {
  const of = columns(partition)
  const more: Named = (alias) => ({ metodo_pago: `${alias}.metodo_pago`, ...of(alias) })
  const first = `${through.first.slice(0, 7)}-01`
  const paid = paidByComplement(partition, direction, { first, last: LATEST }, more, true)
  const credited = creditedSince(partition, direction, first, of)
  if (paid === null || credited === null) return null
  const tables = openByMonth(partition, direction, through, sql`${paidSince(sql`(${paid})`, of)} union all ${credited}`, of)
  const isMeant = isOpenSince(through.first)
  return kind === 'open'
    ? sql`with ${tables} select uuid, month, until, cast(balance as text) as balance from open where ${isMeant}`
    : sql`with ${tables} select exact.uuid, (${invoicesIn(partition, sql.raw('select exact.uuid'))}) as invoice from exact`
}

const partitionsOf = (ctx: Parameters<typeof openLedger>[0]): Partition[] => partitionsToRead(openLedger(ctx))

describe('what is open of an invoice is the same wherever it is asked', () => {
  it.each(Array.from({ length: runs(1, 40) }, (_, n) => n + 31))('in a seeded year, without windows and within them (%i)', async (seed) => {
    let compared = 0
    for (const { ctx, world, year } of await keptYear(seed))
      for (const direction of [0, 1] as const) {
        const ends = year.months.slice(3, 10).map((month) => [lastDayOf(month), world.today].sort()[0]!)
        const through = { first: ends[0]!, last: ends.at(-1)! }
        const [open, exact, since] = [
          (await Promise.all(partitionsOf(ctx).map((one) => rowsOf<OpenRow>(byMonth(one, direction, through, 'open'))))).flat(),
          (await Promise.all(partitionsOf(ctx).map((one) => rowsOf<InvoiceRow>(byMonth(one, direction, through, 'exact'))))).flat(),
          (await Promise.all(partitionsOf(ctx).map((one) => rowsOf<InvoiceRow>(openThrough(one, direction, through))))).flat(),
        ]
        const measuredOn = (rows: readonly InvoiceRow[], end: string): string[] =>
          rows.flatMap(({ uuid, invoice }) => {
            const balance = exactBalanceOn(invoice, end)
            return balance === 0n ? [] : [`${uuid} ${balance}`]
          })
        for (const end of ends) {
          const expected = expectedOn(world, direction, end)
          compared += expected.length
          const month = end.slice(0, 7)
          const isOpen = (row: OpenRow) => row.month <= month && (row.until === null || month < row.until)
          const found = [...open.filter(isOpen).map(({ uuid, balance }) => `${uuid} ${balance}`), ...measuredOn(exact, end)]
          expect([end, 'by month', found.sort()]).toEqual([end, 'by month', expected])
          expect([end, 'one by one', measuredOn(since, end).sort()]).toEqual([end, 'one by one', expected])
        }
        const at = { day: world.today, past: null, terms: () => '30' }
        const now = (await Promise.all(partitionsOf(ctx).map((one) => rowsOf<NowRow>(openInvoices(one, direction, at))))).flat()
        const balances = now.flatMap(({ uuid, balance, exactRow: list }) => {
          const left = list === null ? balance : exactBalance(list, null)?.balance
          return left == null ? [] : [`${uuid} ${left}`]
        })
        expect(balances.sort()).toEqual(expectedOn(world, direction, world.today))
      }
    expect(compared).toBeGreaterThan(0)
  })
})

interface InvoiceRow {
  uuid: string
  invoice: string
}
interface OpenRow {
  uuid: string
  month: string
  until: string | null
  balance: string
}
interface NowRow {
  uuid: string
  balance: number | null
  exactRow: string | null
}
