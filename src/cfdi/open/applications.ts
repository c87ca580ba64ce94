import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, inlined } from '../../platform/db/statement.ts'
import { fits, type Micros } from '../../platform/money.ts'
import { boundsOf, type DirectionNumber, isAfterCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf } from '../../taxpayers/visibility/window.ts'
import { countedApplications } from '../cash/counted-applications.ts'
import { complements } from '../cash/events.ts'
import type { ExactEvent } from '../cash/exact-amounts.ts'
import { checkSql } from '../checks/checks.ts'
import { type CfdiRow, cfdiAs, listOf, relatedIn } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { isCounterparty, isSubstituted, NOT_COUNTED, populationOf } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { creditOf, inMxn, rateOf } from '../totals.ts'
import { atRate, DIGITS, needsExactAmount, needsExactRate } from './in-pesos.ts'

const own = cfdiAs('own')
const p = alias(cfdiPayments, 'p')

/** These as a JSON list, for `sumOfApplications`. */
export const listOfApplications = (partition: Partition, past: string | null = null): SQL =>
  sql`(select json_group_array(json_array(substr(${p.fecha_pago}, 1, 10), ${p.amount}, ${p.kind}, ${p.currency}, ${p.tipo_cambio})) || ''
    ${countedApplications(partition, past)})`

type Application = [day: string, amount: string | number, kind: 'P' | 'E', currency: string | null, tipo_cambio: string | null]

/** The amount of an invoice that such a list settles, in micros of its currency; with a day, up to its end. */
function sumOfApplications(list: string, invoice: { currency: string | null; tipo_cambio: string | null }, until?: string): Micros {
  let settled = 0n
  for (const [day, amount, kind, currency, tipo_cambio] of JSON.parse(list) as Application[]) {
    if (until !== undefined && day > until) continue
    const credit = { amount: BigInt(amount), currency, tipo_cambio }
    settled += kind === 'P' ? credit.amount : (creditOf({ version: '4.0', ...invoice }, credit) ?? 0n)
  }
  return settled
}

/** Less than half a cent is nothing. */
export const LEAST_OPEN = 5_000

/** The `invoice` of a row of `openThrough`, parsed. */
type Invoice = [
  day: string,
  applied: string,
  currency: string | null,
  tipo_cambio: string | null,
  total: string | number,
  ...rest: (string | number | null)[],
]

/** What was left to pay of an invoice at the end of a day, in micros of its currency; zero before it was issued. */
export function exactBalanceOn(invoice: string, day: string): Micros {
  const [issued, applied, currency, tipo_cambio, total] = JSON.parse(invoice) as Invoice
  if (issued > day) return 0n
  const left = BigInt(total) - sumOfApplications(applied, { currency, tipo_cambio }, day)
  return left >= LEAST_OPEN ? left : 0n
}

/** A part of an invoice at its own exchange rate, or that of its day, for `exactAmounts`. */
export function partOf(invoice: string, amount: Micros): ExactEvent {
  const [day, , currency, rate, ...more] = JSON.parse(invoice) as Invoice
  const conversion = `1 ${Number(rate) > 0 ? rate : currency}`
  return { tipo: 'P', day, source: JSON.stringify([amount.toString(), currency, conversion, null, currency, rate, ...more]) }
}

/** The `exactRow` of an open invoice, parsed. */
type ExactRow = [
  uuid: string,
  day: string,
  currency: string | null,
  tipo_cambio: string | null,
  total: string | number,
  paid: string | number,
  credited: string | number,
  /** The applications, where they differ from what is stored. */
  applied: string | null,
]

/** The currency and the day of an invoice that takes the exchange rate of the table, because it states none; null for another. */
export function rateWanted(exactRow: string): { currency: string; day: string } | null {
  const [, day, currency, tipo_cambio] = JSON.parse(exactRow) as ExactRow
  return currency !== null && rateOf(currency, tipo_cambio) === null ? { currency, day } : null
}

/**
 * Computes the balance of an open invoice in micros of its currency, and in MXN at its own exchange rate or that of the table: null without
 * either. Returns null when it is not open after all, or too large.
 */
export function exactBalance(exactRow: string, tableRate: string | null): { balance: Micros; pesos: Micros | null } | null {
  const [, , currency, tipo_cambio, total, paid, credited, applied] = JSON.parse(exactRow) as ExactRow
  const settled = applied === null ? BigInt(paid) + BigInt(credited) : sumOfApplications(applied, { currency, tipo_cambio })
  const balance = BigInt(total) - settled
  if (balance < LEAST_OPEN) return null
  const rate = rateOf(currency, tipo_cambio) ?? tableRate
  const whole = inMxn(BigInt(total), rate)
  if (whole !== null && !fits(whole)) return null
  return { balance, pesos: inMxn(balance, rate) }
}

const later = cfdiAs('later')

/** The day and the scope of open invoices. */
export interface OpenAt {
  day: string
  /** Only invoices from this day on. */
  first?: string
  /** The day, when it is before today. */
  past: string | null
  /** Only invoices of these counterparties. */
  counterparty?: readonly string[]
  /** The days until an invoice without stated terms is due, as SQL over the column with its day. */
  terms: (column: string) => string
  /** The fiscal entity whose status checks tell which cancellations are in process. */
  checker?: string
}

const EARLIEST = '1990-01-01'
export const LATEST = '2199-12-31'

/** The settled amount of the invoice `own`, in its currency; null when SQL cannot add it up. */
function settled(partition: Partition, past: string | null): SQL {
  const needsExact = sql`${sql.raw(needsExactAmount(inlined(sql`${p.amount}`)))} or (${p.kind} = 'E' and coalesce(${p.currency}, 'MXN') <> coalesce(${own.currency}, 'MXN'))`
  return sql`(select iif(coalesce(max(${needsExact}), 0), null, coalesce(sum(${p.amount} + 0), 0)) ${countedApplications(partition, past)})`
}

/** The stored settled amount of an invoice; null when SQL cannot add it up. */
export const storedOf = (alias: string): string => {
  const { paid, credited } = cfdiAs(alias)
  return inlined(sql`iif(length(${paid}) > ${DIGITS} or length(${credited}) > ${DIGITS}, null, ${paid} + ${credited})`)
}
const STORED = sql.raw(storedOf('own'))

const isDeferred = (alias: string): SQL => {
  const { metodo_pago, version } = cfdiAs(alias)
  return sql`${metodo_pago} = 'PPD' and ${version} is not null and not ${sql.raw(NOT_COUNTED(alias))}`
}

/** The condition that a document is a PPD invoice that counts. */
export const isOwed = (partition: Partition, alias: string): SQL => {
  const { tipo_comprobante, kind, cancelled, emisor_rfc, receptor_rfc } = cfdiAs(alias)
  return sql`${tipo_comprobante} = 'I' and ${kind} = 'cfdi' and ${cancelled} = 0 and ${emisor_rfc} <> ${receptor_rfc}
    and not ${isSubstituted(partition, alias)} and ${isDeferred(alias)}`
}

/** UUIDs in the complements and credit notes of a direction that settled something on a day or later. */
function namedSince(partition: Partition, direction: DirectionNumber, since: string): SQL {
  const days = { first: since, last: LATEST }
  const notes = populationOf(partition, {
    direction,
    ...days,
    types: ['E'],
    acting: true,
    conditions: [sql`${own.related} is not null`],
  })
  const settling = [
    ...complements(partition, direction, days, { acting: true }),
    ...(notes ? [sql`select ${listOf([own.entity, own.uuid, own.related])} ${notes}`] : []),
  ]
  return sql.join(
    [...settling.map((select) => sql`select named.value as uuid from (${select}) own cross join json_each(${relatedIn(own)}) named`)],
    sql` union `,
  )
}

/**
 * The visible PPD invoices of a direction that may be open, as selects of the alias `own`: `columns` of it, `is_recomputed`, and what settles
 * them (`settled`). With `since`, also those that are settled but were open on that day or later.
 */
export function candidates(
  partition: Partition,
  direction: DirectionNumber,
  { day, past, first, since, counterparty }: Omit<OpenAt, 'terms'> & { since?: string },
  columns: readonly (keyof CfdiRow)[],
  more: readonly SQL[] = [],
): SQL[] {
  const bounds = boundsOf(partition, direction)
  if (!bounds) return []
  const names = listOf(columns.map((name) => own[name]))
  if (past !== null) {
    const days = { first: first ?? EARLIEST, last: day }
    const conditions = [isDeferred('own'), ...more]
    const population = populationOf(partition, { direction, ...days, types: ['I'], past, counterparty, conditions })
    return population ? [sql`select ${names}, 1 as is_recomputed, ${settled(partition, past)} as settled ${population}`] : []
  }
  const isBeyond = isAfterCeiling(partition, 'own', 'applied_until')
  const select = (statuses: SQL, from: SQL, ...others: SQL[]) =>
    sql`select ${names}, ${isBeyond ? sql`coalesce(${isBeyond}, 0)` : sql`0`} as is_recomputed,
      ${isBeyond ? sql`case when ${isBeyond} then ${settled(partition, null)} else ${STORED} end` : STORED} as settled
      from ${from} where ${all([
        sql`${own.entity} = ${partition.number} and ${own.payment_status} in (${statuses}) and ${own.direction} = ${sql.raw(String(direction))}`,
        sql`${own.issued_at} >= ${Math.max(bounds.since ?? 0, first === undefined ? 0 : earliestOf(first))} and ${own.issued_at} <= ${bounds.until ?? Number.MAX_SAFE_INTEGER} and ${own.fecha} < ${afterDay(day)}`,
        isOwed(partition, 'own'),
        ...(counterparty === undefined ? [] : [isCounterparty(counterparty)]),
        ...partition.conditions('own'),
        ...more,
        ...others,
      ])}`
  const byIndex = sql`${cfdi} ${own} indexed by ${sql.raw(counterparty === undefined ? 'cfdi_pay' : 'cfdi_cpd')}`
  const open = [select(sql`'unpaid', 'partially_paid'`, byIndex)]
  const isWithin = isBeyond ? [sql`not coalesce(${isBeyond}, 0)`] : []
  if (since !== undefined) {
    const named = sql`(${namedSince(partition, direction, since)}) named cross join ${cfdi} ${own} not indexed`
    open.push(select(sql`'paid'`, named, sql`${own.uuid} = named.uuid`, ...isWithin))
  }
  if (isBeyond === null) return open
  // A document issued after the ceiling may have settled an invoice that the window shows open. Usually none was.
  const isAny = (index: string, condition: SQL) =>
    sql`exists (select 1 from ${cfdi} ${later} indexed by ${sql.raw(index)} where ${later.entity} = ${partition.number} and ${later.direction} = ${sql.raw(String(direction))}
      and ${condition} > ${bounds.until})`
  const hidden = sql`(select 1 where ${isAny('cfdi_tipoc', sql`${later.cancelled} = 0 and ${later.tipo_comprobante} in ('P', 'E') and ${later.issued_at}`)}
    or ${isAny('cfdi_substituted', sql`${later.substituted_from}`)}) hidden cross join ${byIndex}`
  return [...open, select(sql`'paid'`, hidden, isBeyond)]
}

const OWN = [
  ...(['uuid', 'issued_at', 'fecha', 'counterparty_rfc', 'currency', 'tipo_cambio', 'total_micros', 'terms_days', 'emisor_rfc'] as const),
  ...(['receptor_rfc', 'receptor_nombre', 'emisor_nombre', 'paid', 'credited', 'status_checks'] as const),
]

/**
 * Selects the open PPD invoices of a direction that count, one row each: less than half a cent is nothing. Columns: `uuid`,
 * `issued_at`, `day`, `rfc` and `name` of the counterparty, `currency`, `due`, `is_parsed` (its terms are stated), `is_in_process` (its
 * cancellation), `balance` in micros of its currency, `pesos` in micros at its own exchange rate, and `exactRow`: a JSON list for `exactBalance` where
 * SQL cannot compute the two, else null. Such a row may not be open after all. `more` are conditions on the alias `own`. Null when the window shows nothing of the direction.
 */
export function openInvoices(partition: Partition, direction: DirectionNumber, at: OpenAt, more: readonly SQL[] = []): SQL | null {
  const found = candidates(partition, direction, at, OWN, more)
  if (found.length === 0) return null
  const needsExact = sql.raw(`(own.settled is null or ${needsExactAmount(inlined(sql`${own.total_micros}`))} or ${needsExactRate('own')})`)
  const balance = inlined(sql`max(${own.total_micros} - own.settled, 0)`)
  // With a limit, SQLite computes `settled` once, and not once for each place that names it.
  const applied = sql`case when own.is_recomputed then ${listOfApplications(partition, at.past)} end`
  const isInProcess =
    at.checker === undefined || at.past !== null ? '0' : `coalesce(${checkSql(at.checker, 'estatus_cancelacion')} = 'en_proceso', 0)`
  return sql`select uuid, issued_at, day, rfc, name, currency, is_parsed, is_in_process, date(day, '+' || terms || ' days') as due, balance, pesos, exactRow
    from (select ${own.uuid}, ${own.issued_at}, substr(${own.fecha}, 1, 10) as day, ${own.counterparty_rfc} as rfc, ${own.currency},
        ${direction === 0 ? own.receptor_nombre : own.emisor_nombre} as name,
        ${own.terms_days} is not null as is_parsed, ${sql.raw(isInProcess)} as is_in_process, coalesce(${own.terms_days}, ${sql.raw(at.terms(inlined(sql`${own.fecha}`)))}) as terms,
        iif(${needsExact}, null, ${sql.raw(balance)}) as balance, iif(${needsExact}, null, ${sql.raw(atRate(balance, 'own'))}) as pesos,
        case when ${needsExact} then json_array(${own.uuid}, substr(${own.fecha}, 1, 10), ${own.currency}, ${own.tipo_cambio}, ${own.total_micros}, ${own.paid},
          ${own.credited}, ${applied}) end as exactRow
      from (${sql.join([...found], sql` union all `)} limit -1) own)
    where exactRow is not null or balance >= ${sql.raw(String(LEAST_OPEN))}`
}
