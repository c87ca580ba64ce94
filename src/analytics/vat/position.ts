import { type SQL, sql } from 'drizzle-orm'
import { type Named, paidByComplement, wholeEvents } from '../../cfdi/cash/events.ts'
import { LATEST } from '../../cfdi/open/open-invoices.ts'
import { creditedSince, invoicesIn, openByMonth, paidSince, type Through } from '../../cfdi/open/open-through.ts'
import type { Days } from '../../cfdi/population/population.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Exclusions } from './exclusions.ts'
import { type OpenRow, openColumns, pendingGroups } from './pending.ts'
import { FLAGS, MORE, marked, SUMS, type Sum } from './store.ts'
import type { KnownSuppliers } from './suppliers.ts'

/** Movements of one month that are alike. */
export type GroupRow = Record<(typeof FLAGS)[number], boolean> & {
  month: string
  /** Of paid parts; otherwise of whole documents. */
  is_part: boolean
  /** Why they are no cash events. */
  reason: string | null
  /** Pairs of a document and what it applies to that are no cash events. */
  pairs: number
  sums: Record<Sum, bigint>
  /** IVA that paid parts state which are no cash events. */
  stated: bigint
  /** What SQL leaves to be measured: for `parseOdd`. */
  odds: string[]
}

/** What `positionOf` selects, by `kind`: `row` is JSON of a `group` or an `open` row; of an `odd` invoice, for `measureOpenOn`. */
export interface PositionRow {
  kind: 'group' | 'open' | 'odd'
  row: string
}

// The month, whether it is of paid parts, and the flags as one number, by which SQLite sorts fast.
const KEY = sql`(substr(day, 1, 4) || substr(day, 6, 2)) * 16 + (tipo = 'P') * 8 + iif(reason is null, is_excluded * 4 + is_presumed * 2 + is_lapsed, 0)`

export function groupIn(row: string): GroupRow {
  const [key, reason, pairs, odds, ...amounts] = JSON.parse(row) as [number, string | null, number, string[], ...string[]]
  const month = String(Math.floor(key / 16))
  const [stated = 0n, ...sums] = amounts.map(BigInt)
  return {
    ...{ month: `${month.slice(0, 4)}-${month.slice(4)}`, is_part: (key & 8) !== 0, reason, pairs, odds, stated },
    ...{ is_excluded: (key & 4) !== 0, is_presumed: (key & 2) !== 0, is_lapsed: (key & 1) !== 0 },
    sums: Object.fromEntries(SUMS.map((name, n) => [name, sums[n]])) as Record<Sum, bigint>,
  }
}

export function openIn(row: string): OpenRow {
  const [month, until, iva, balance, invoice] = JSON.parse(row) as [string, string | null, number, string | null, string | null]
  return { month, until, iva, balance, invoice }
}

const sumOf = (name: string): SQL => sql`cast(coalesce(sum(iif(is_odd, 0, ${sql.identifier(name)})), 0) as text)`

/**
 * Reads a direction in one pass: movements of the days by month, what the documents of these days accrue, and what was open at the ends of
 * months. Null when the window shows nothing of it.
 */
export function positionOf(
  partition: Partition,
  direction: DirectionNumber,
  days: Days,
  through: Through,
  exclusions: Exclusions,
  suppliers: KnownSuppliers,
): SQL | null {
  const columns = openColumns(partition)
  const more: Named = (alias) => ({ ...MORE(alias), metodo_pago: `${alias}.metodo_pago`, ...columns(alias) })
  const whole = wholeEvents(partition, direction, days, MORE)
  // What was paid since says what was open before.
  const parts = paidByComplement(partition, direction, { first: days.first, last: LATEST }, more, true)
  const credited = creditedSince(partition, direction, days.first, columns)
  if (whole === null || parts === null || credited === null) return null
  const own = Object.keys(columns('i'))
  const paid = marked(parts, direction, exclusions, suppliers, ['invoice', 'amount', 'metodo_pago', 'is_hidden', ...own])
  const moved = sql.raw(['uuid', 'applies_to', 'day', 'tipo', 'reason', ...FLAGS, ...SUMS, 'is_odd', 'stated', 'as_json'].join(', '))
  const changes = sql`${paidSince(sql`paid`, columns)} union all ${credited}`
  return sql`with paid as materialized (${paid}), ${openByMonth(partition, direction, through, changes, columns)}
    select 'group' as kind, json_array(key, reason, count(distinct pair), json_group_array(as_json) filter (where is_odd), ${sql.join(['stated', ...SUMS].map(sumOf), sql`, `)}) as row
      from (select ${KEY} as key, iif(reason is null or tipo <> 'P', null, uuid || applies_to) as pair, ${moved} from (
        select * from (select ${moved} from (${marked(whole, direction, exclusions, suppliers)}) limit -1)
        union all select ${moved} from paid where not is_hidden and day <= ${days.last}))
      group by key, reason
    union all select 'open', json_array(month, until, iva, balance, invoice) from (${pendingGroups(partition, through.first)})
    union all select 'odd', invoice from (${invoicesIn(partition, sql`select uuid from odd`)})`
}
