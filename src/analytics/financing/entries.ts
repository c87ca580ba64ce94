import { type SQL, sql } from 'drizzle-orm'
import { measureOpen, rateWanted } from '../../cfdi/open/measure-open.ts'
import { own } from '../../cfdi/population/aliases.ts'
import type { Ctx } from '../../platform/context.ts'
import { all } from '../../platform/db/statement.ts'
import { invalid } from '../../platform/failures.ts'
import { type Micros, micros } from '../../platform/money.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from '../common/entries.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { isUnmatched } from '../common/omitted.ts'
import { ratesOf } from '../common/unrated.ts'
import { pageOfUnreconciled } from '../common/unreconciled.ts'
import { BUCKETS, type FinancingEntriesQuery } from './contract.ts'
import { PATH, partiesOf } from './financing.ts'
import { ineligible } from './pool.ts'
import { openFinancing } from './reading.ts'
import { judged } from './store.ts'

interface JudgedRow extends EntryRow {
  rfc: string
  pesos: string | null
  odd: string | null
  reported: number | null
  is_old: 0 | 1
  is_late: 0 | 1
  is_in_process: 0 | 1
  is_mismatch: 0 | 1
}

/** The condition of a figure on `judged` rows. The other reasons of the pool are decided when a row has been read. */
function conditionOf(figure: string, month: string | undefined): SQL {
  if (figure === 'overdue') return sql`bucket > 0`
  if (figure === 'expected') return month === undefined ? sql`1` : sql`month = ${month}`
  if (figure.startsWith('aging.')) return sql`bucket = ${BUCKETS.findIndex((name) => figure === `aging.${name}`)}`
  if (figure === 'too_old') return sql`is_old`
  if (figure === 'overdue_30') return sql`is_late and not is_old`
  return figure === 'outstanding' ? sql`1` : sql`not is_old and not is_late`
}

/** Rows in the order of entries after a position, at most so many. */
const cut = (columns: SQL, rows: SQL, conditions: readonly SQL[], take: number): SQL =>
  sql`select ${columns} from (${rows}) where ${all(conditions)} order by issued_at desc, uuid desc limit ${sql.raw(String(take))}`

/** Returns a page of the documents behind a figure. At most six D1 calls with authentication. Throws Failure as `getFinancing` does. */
export async function getFinancingEntries(ctx: Ctx, query: FinancingEntriesQuery): Promise<EntriesPage> {
  const opened = await openFinancing(ctx, query)
  const { insight, at } = opened
  const { figure, rfc, month } = query
  const asked = { ...query, as_of: at.day }
  // What is overdue is expected in the month of the day.
  if (month !== undefined && month < at.day.slice(0, 7))
    throw invalid('range.invalid', [{ path: 'month', message: `Must not be before ${at.day.slice(0, 7)}, the month of as_of.` }])
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...asked, figure })
  if (isUnmatched(figure)) return pageOfUnreconciled(insight, PATH, { ...asked, figure }, at.past)
  const dot = figure.indexOf('.')
  const [side, name] = [figure.slice(0, dot), figure.slice(dot + 1)]
  const tolerance = micros(insight.rules.get('balance.tolerance'))!
  const columns = sql`uuid, issued_at, rfc, cast(pesos as text) as pesos, odd, reported, is_old, is_late, is_in_process, coalesce(abs(reported - balance) > ${Number(tolerance)}, 0) as is_mismatch`
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const rows = judged(partition, side === 'payables' ? 1 : 0, at, rfc === undefined ? [] : [sql`${own.counterparty_rfc} = ${rfc}`])
    const later = after ? [sql`(issued_at, uuid) < (${after[0]}, ${after[1]})`] : []
    return rows && cut(columns, rows, [conditionOf(name, month), ...later], take)
  }
  return pageOfEntries<JudgedRow>(insight, PATH, asked, select, async (rows) => {
    const wanted = rows.flatMap(({ uuid, odd }) => {
      const one = odd === null ? null : rateWanted(odd)
      return one ? [{ uuid, ...one }] : []
    })
    const rates = await ratesOf(ctx, wanted)
    const rateOf = new Map(wanted.map(({ uuid }, n) => [uuid, rates[n] ?? null]))
    const parties = side === 'pool' ? (await partiesOf(ctx, [...new Set(rows.map((row) => row.rfc))], at.past)).parties : null
    return rows.map((row): Micros | null => {
      const measured = row.odd === null ? null : measureOpen(row.odd, rateOf.get(row.uuid) ?? null)
      if (row.odd !== null && measured === null) return null
      const pesos = measured ? measured.pesos : BigInt(row.pesos!)
      if (parties === null) return pesos
      const difference = measured && row.reported !== null ? BigInt(row.reported) - measured.balance : 0n
      const is_mismatch = row.is_mismatch === 1 || difference > tolerance || difference < -tolerance
      return (ineligible({ ...row, pesos, is_mismatch }, parties) ?? 'eligible_amount') === name ? (pesos ?? 0n) : null
    })
  })
}
