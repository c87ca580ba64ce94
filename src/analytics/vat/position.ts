import { type SQL, sql } from 'drizzle-orm'
import { isLarge, type Named, paidByComplement, refunds, wholeEvents } from '../../cfdi/cash/events.ts'
import { cfdiAs } from '../../cfdi/columns.ts'
import { LATEST } from '../../cfdi/open/applications.ts'
import { microsOfText, needsExactRate } from '../../cfdi/open/in-pesos.ts'
import {
  balanceColumns,
  creditedSince,
  invoicesIn,
  isOpenSince,
  openByMonth,
  paidSince,
  type Through,
} from '../../cfdi/open/open-through.ts'
import { MISSING_RATE, taxOf } from '../../cfdi/population/population.ts'
import { BREAKDOWN } from '../../cfdi/taxes/breakdown.ts'
import { type ReturnRow, returnsOf } from '../../documents/returns.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos, micros, decimal as money } from '../../platform/money.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { type DirectionNumber, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTIONS, latestOf, type Window } from '../../taxpayers/visibility/window.ts'
import type { Insight } from '../common/insight.ts'
import type { VatMonth } from './contract.ts'
import type { KnownSuppliers } from './exclusions.ts'
import { type Exclusions, exclusionsOf } from './exclusions.ts'
import { SUMS, type Sum } from './proportion.ts'
import { FLAGS, type Marks, MORE, marked, type NotesRow, notes, type SupplierUses, WITHOUT } from './store.ts'

/** IVA of open balances at the ends of months, from `month` until `until`; or one balance to be measured. */
interface OpenRow {
  month: string
  until: string | null
  iva: number
  /** For `partOf`, with an invoice. */
  balance: string | null
  invoice: string | null
}

const RATES = ['iva_16', 'iva_8', 'iva_otras'] as const

/** The place of the amounts in the currency of the document, in its taxes (taxes/breakdown.ts). */
const OWN = BREAKDOWN.length

/** Columns for the balances of invoices: `open_iva` in MXN, the IVA of each rate in its own currency, and the exchange rate in micros. */
const openColumns =
  (partition: Partition): Named =>
  (alias) => {
    const { currency, taxes, tipo_cambio } = cfdiAs(alias)
    const isPesos = inPesos(inlined(sql`${currency}`))
    const own = (name: (typeof RATES)[number]) =>
      `iif(${isPesos}, ${taxOf(alias, name)}, coalesce(${inlined(sql`${taxes}`)}->>'$[${OWN}][${BREAKDOWN.indexOf(name)}]', 0)) + 0`
    return {
      ...balanceColumns(partition, alias, `(${MISSING_RATE(alias)} or ${isLarge(alias)})`),
      rate: `case when ${isPesos} then 1000000 when not ${needsExactRate(alias)} then ${microsOfText(inlined(sql`${tipo_cambio}`))} end`,
      open_iva: RATES.map((name) => `(${taxOf(alias, name)})`).join(' + '),
      ...Object.fromEntries(RATES.map((name) => [`open_${name}`, own(name)])),
    }
  }

const shareOf = (name: string): SQL => sql`(${sql.identifier(`open_${name}`)} * 1.0 * balance / total)`
const rounded = (name: string): SQL => sql`cast(${shareOf(name)} + 0.5 as integer)`
const inMxn = (micros: SQL): SQL => sql`${micros} / 1000000 * rate + (${micros} % 1000000 * rate + 500000) / 1000000`
/** Floating point decides how a share is rounded, unless it is too close to a half. */
const IS_CLOSE = sql.join(
  RATES.map((name) => sql`abs(${shareOf(name)} - cast(${shareOf(name)} as integer) - 0.5) < 0.01`),
  sql` or `,
)
const IVA = sql.join(
  RATES.map((name) => inMxn(rounded(name))),
  sql` + `,
)

/** Adds up the IVA of `open` by the months in which it was, as `OpenRow`. */
const pendingGroups = (partition: Partition, first: string): SQL => sql`
  select month, until, sum(iif(is_single, 0, iva)) as iva, iif(is_single, cast(balance as text), null) as balance,
    iif(is_single, (${invoicesIn(partition, sql`select owed.uuid`)}), null) as invoice
  from (select uuid, month, until, balance, balance <> total and (rate is null or ${IS_CLOSE}) as is_single,
      iif(balance = total, open_iva, ${IVA}) as iva
    from open where ${isOpenSince(first)} limit -1) owed
  group by month, until, iif(is_single, uuid, '')`

/** Movements of one month that are alike. */
export type GroupRow = Record<(typeof FLAGS)[number], boolean> & {
  month: string
  /** Whether they are paid or returned parts, not whole documents. */
  is_part: boolean
  /** Whether they restate the month, because something of it was returned later. */
  is_restated: boolean
  /** Why they are no cash events. */
  reason: string | null
  /** Pairs of a document and what it applies to that are no cash events. */
  pairs: number
  sums: Record<Sum, bigint>
  /** What is found of them (`ExactRow.found`), and what cannot be credited. */
  found: number
  without: Record<(typeof WITHOUT)[number], bigint>
  /** The IVA stated by paid parts that are no cash events. */
  stated: bigint
  /** Rows to be measured, for `parseExactRow`. */
  exactRows: string[]
}

/** A row of `positionOf`, by `kind`: `row` is JSON of a `group` or an `open` row, or of an `exact` invoice for `exactBalanceOn`. */
interface PositionRow {
  kind: 'group' | 'open' | 'exact'
  row: string
}

// The month, whether they restate it and are of parts, and the flags as one number, by which SQLite sorts fast. An accrued note has a reason, and
// whole documents have no number.
const KEY = sql`(substr(day, 1, 4) || substr(day, 6, 2)) * 128 + is_restated * 64 + (n > 0 or (tipo = 'E' and reason is null)) * 32
  + iif(reason is null, ${sql.raw(FLAGS.map((name, n) => `${name} * ${1 << n}`).join(' + '))}, 0)`

function groupIn(row: string): GroupRow {
  const [key, reason, pairs, exactRows, found, ...amounts] = JSON.parse(row) as [
    number,
    string | null,
    number,
    string[],
    number,
    ...string[],
  ]
  const month = String(Math.floor(key / 128))
  const [stated = 0n, ...sums] = amounts.map(BigInt)
  return {
    ...{
      month: `${month.slice(0, 4)}-${month.slice(4)}`,
      is_restated: (key & 64) !== 0,
      is_part: (key & 32) !== 0,
      reason,
      pairs,
      exactRows,
      stated,
      found,
    },
    ...(Object.fromEntries(FLAGS.map((name, n) => [name, (key & (1 << n)) !== 0])) as Record<(typeof FLAGS)[number], boolean>),
    sums: Object.fromEntries(SUMS.map((name, n) => [name, sums[n]])) as Record<Sum, bigint>,
    without: Object.fromEntries(WITHOUT.map((name, n) => [name, sums[SUMS.length + n]])) as GroupRow['without'],
  }
}

function openIn(row: string): OpenRow {
  const [month, until, iva, balance, invoice] = JSON.parse(row) as [string, string | null, number, string | null, string | null]
  return { month, until, iva, balance, invoice }
}

/** The columns of events that `marked` needs. */
const EVENT = [
  ...['uuid', 'applies_to', 'n', 'issued_at', 'day', 'counterparty', 'tipo', 'forma', 'invoice', 'reason', 'is_restated', 'is_returned'],
  ...['payment', 'judged', 'payment_of', 'needs_exact', 'source', ...SUMS, ...Object.keys(MORE('i'))],
]

const sumOf = (name: string): SQL => sql`cast(coalesce(sum(iif(needs_exact, 0, ${sql.identifier(name)})), 0) as text)`

/**
 * Reads a direction in one pass: movements of the days by month, accruals of the documents of these days, and balances open at the ends of
 * months. Null when the window shows nothing of it.
 */
function positionOf(partition: Partition, direction: DirectionNumber, marks: Marks, through: Through): SQL | null {
  const { days } = marks
  const columns = openColumns(partition)
  const more: Named = (alias) => ({ ...MORE(alias), metodo_pago: `${alias}.metodo_pago`, ...columns(alias) })
  const whole = wholeEvents(partition, direction, days, MORE)
  const returned = refunds(partition, direction, days, MORE, direction === 1 ? marks.exclusions.judge : undefined)
  // Later payments tell what was open before.
  const parts = paidByComplement(partition, direction, { first: days.first, last: LATEST }, more, true)
  const credited = creditedSince(partition, direction, days.first, columns)
  if (whole === null || returned === null || parts === null || credited === null) return null
  // What is paid and what is not is judged in one place, because its SQL is long.
  const names = sql.raw(EVENT.join(', '))
  const events = sql`select ${names} from paid where not is_hidden and day <= ${days.last}
    union all select ${names} from (${whole}) union all select ${names} from (${returned})`
  const sums = sql.raw(['reason', ...SUMS, ...WITHOUT, 'needs_exact', 'stated', 'as_json'].join(', '))
  const changes = sql`${paidSince(sql`paid`, columns)} union all ${credited}`
  return sql`with paid as materialized (${parts}), ${openByMonth(partition, direction, through, changes, columns)}
    select 'group' as kind, json_array(key, reason, count(distinct pair), json_group_array(as_json) filter (where needs_exact), found, ${sql.join(['stated', ...SUMS, ...WITHOUT].map(sumOf), sql`, `)}) as row
      from (select ${KEY} as key, iif(reason is null, found, 0) as found, iif(reason is null or tipo <> 'P', null, uuid || applies_to) as pair, ${sums} from (
        ${marked(events, partition, direction, marks)}))
      group by key, reason, found
    union all select 'open', json_array(month, until, iva, balance, invoice) from (${pendingGroups(partition, through.first)})
    union all select 'exact', invoice from (${invoicesIn(partition, sql`select uuid from exact`)})`
}

type OfDirection<Row> = Row & { direction: DirectionNumber }

/** The rows behind the figures of some months. */
export interface VatReading {
  groups: OfDirection<GroupRow>[]
  open: OfDirection<OpenRow>[]
  /** Invoices for `exactBalanceOn`. */
  exactInvoices: OfDirection<{ invoice: string }>[]
  notes: NotesRow
  returns: ReturnRow[]
  exclusions: Exclusions
}

/** How far a window shows a month: up to which day, '' for none, and whether that is all of it. */
export function shownIn({ isEmpty, floor, ceiling }: Window, month: string, now: number): { through: string; isPartial: boolean } {
  const [first, last, end] = [`${month}-01`, lastDayOf(month), ceiling ?? now]
  const through = isEmpty || (floor !== null && floor > last) ? '' : [centralDayOf(end), last].sort()[0]!
  return {
    through: through < first ? '' : through,
    isPartial: isEmpty || (floor !== null && floor > first) || latestOf(last) * 1_000 > end,
  }
}

/** How far the windows show a month. */
export function shownOf({ ledger: { windows }, ctx }: Insight, month: string): Pick<VatMonth, 'is_partial' | 'through_date'> {
  const shown = [windows.issued, windows.received].map((window) => shownIn(window, month, ctx.now.getTime()))
  const through = shown.map((one) => one.through).sort()[0]!
  return { is_partial: shown.some(({ isPartial }) => isPartial), through_date: through === '' ? null : through }
}

/** The months of a span that have begun, and the end of each: its last day, or today. */
export const monthsOf = ({ span, today }: Pick<Insight, 'span' | 'today'>): { month: string; end: string }[] => {
  const months = []
  for (let month = span.first.slice(0, 7); month <= span.last.slice(0, 7) && month <= today.slice(0, 7); month = addMonths(month, 1))
    months.push({ month, end: [lastDayOf(month), today].sort()[0]! })
  return months
}

/** The statements for the movements of the months and of the one before, what the months issued, and what was open at their ends. */
export function statementsOf(
  insight: Insight,
  suppliers: KnownSuppliers,
  uses: SupplierUses,
): { statements: SQL[]; parse: (found: readonly unknown[][]) => VatReading } {
  const { ledger, span, rules } = insight
  const exclusions = exclusionsOf(rules, span)
  const ends = monthsOf(insight).map(({ end }) => end)
  const through = { first: ends[0] ?? '', last: ends.at(-1) ?? '' }
  const days = { first: `${addMonths(span.first.slice(0, 7), -1)}-01`, last: span.last }
  const marks: Marks = { rules, days, exclusions, suppliers, uses }
  const reads = (ends.length === 0 ? [] : partitionsToRead(ledger)).flatMap((partition) =>
    DIRECTIONS.flatMap((direction) =>
      [
        { direction, isPosition: true, statement: positionOf(partition, direction, marks, through) },
        { direction, isPosition: false, statement: notes(partition, direction, span) },
      ].flatMap((one) => (one.statement === null ? [] : [{ ...one, statement: one.statement }])),
    ),
  )
  const statements = [...reads.map(({ statement }) => statement), returnsOf(ledger, span.first, span.last)]
  const parse = (found: readonly unknown[][]): VatReading => {
    const reading: VatReading = {
      groups: [],
      open: [],
      exactInvoices: [],
      notes: { of_others: 0, of_unpaid: 0 },
      returns: found.at(-1) as ReturnRow[],
      exclusions,
    }
    for (const [n, { direction, isPosition }] of reads.entries()) {
      if (!isPosition) {
        const [row] = found[n] as NotesRow[]
        reading.notes = { of_others: reading.notes.of_others + row!.of_others, of_unpaid: reading.notes.of_unpaid + row!.of_unpaid }
      } else
        for (const { kind, row } of found[n] as PositionRow[]) {
          if (kind === 'group') reading.groups.push({ direction, ...groupIn(row) })
          else if (kind === 'open') reading.open.push({ direction, ...openIn(row) })
          else reading.exactInvoices.push({ direction, invoice: row })
        }
    }
    return reading
  }
  return { statements, parse }
}

type Declared = NonNullable<VatMonth['declarado']>

/** The latest visible return for IVA of a month. */
export function declaredIn(returns: readonly ReturnRow[], month: string): Declared | null {
  const found = returns
    .filter(({ period_end }) => period_end.slice(0, 7) === month)
    .map(
      ({ version, attributes }) =>
        ({ version, ...(JSON.parse(attributes) as Record<string, string>) }) as { version: number } & Record<string, string>,
    )
    .filter((one) => one['impuesto'] === 'IVA' && one['iva_a_cargo'] !== undefined)
    .sort((a, b) => b.version - a.version)[0]
  if (!found) return null
  const amount = (name: string) => money(micros(found[name] ?? '0')!)
  return { iva_a_cargo: amount('iva_a_cargo'), iva_a_favor: amount('iva_a_favor'), operation_number: found['numero_operacion'] ?? null }
}
