import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, inlined } from '../../platform/db/statement.ts'
import { boundsOf, type DirectionNumber, isAfterCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf } from '../../taxpayers/visibility/window.ts'
import { complements } from '../cash/events.ts'
import { checkSql } from '../checks/checks.ts'
import { type CfdiRow, cfdiAs, listOf } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { isCounterparty, isSubstituted, populationOf } from '../population/population.ts'
import { NOT_COUNTED } from '../population/sums.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { countedApplications, LEAST_OPEN, listOfApplications } from './applications.ts'
import { atRate, DIGITS, isOddAmount, isOddRate } from './in-pesos.ts'

const own = cfdiAs('own')
const later = cfdiAs('later')
const p = alias(cfdiPayments, 'p')

/** As of when invoices are open. */
export interface OpenAt {
  day: string
  /** Only invoices from this day on. */
  first?: string
  /** The day, when it is before today. */
  past: string | null
  /** Only invoices of these counterparties. */
  counterparty?: readonly string[]
  /** After how many days an invoice is due that states no terms, as SQL over the column with its day. */
  terms: (column: string) => string
  /** The fiscal entity whose status checks tell which cancellations are in process. */
  checker?: string
}

const EARLIEST = '1990-01-01'
export const LATEST = '2199-12-31'

/** What is settled of the invoice `own`, in its currency; null when SQL cannot add it up. */
function settled(partition: Partition, past: string | null): SQL {
  const isOdd = sql`${sql.raw(isOddAmount(inlined(sql`${p.amount}`)))} or (${p.kind} = 'E' and coalesce(${p.currency}, 'MXN') <> coalesce(${own.currency}, 'MXN'))`
  return sql`(select iif(coalesce(max(${isOdd}), 0), null, coalesce(sum(${p.amount} + 0), 0)) ${countedApplications(partition, past)})`
}

/** What is settled of an invoice as it is stored; null when SQL cannot add it up. */
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

/** UUIDs that the complements and credit notes of a direction name with which something was settled on a day or later. */
function namedSince(partition: Partition, direction: DirectionNumber, since: string): SQL {
  const days = { first: since, last: LATEST }
  const notes = populationOf(partition, {
    direction,
    ...days,
    types: ['E'],
    acting: true,
    conditions: [sql`${own.related} is not null`],
  })
  const settling = [...complements(partition, direction, days, { acting: true }), ...(notes ? [sql`select ${own.related} ${notes}`] : [])]
  return sql.join(
    [...settling.map((select) => sql`select named.value as uuid from (${select}) own cross join json_each(${own.related}) named`)],
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
  // What was issued after the ceiling may have settled an invoice that the window shows open. Usually nothing was.
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
 * Selects the open PPD invoices of a direction that count (insights.md 8.0), one row each: less than half a cent is nothing. Columns: `uuid`,
 * `issued_at`, `day`, `rfc` and `name` of the counterparty, `currency`, `due`, `is_parsed` (its terms are stated), `is_in_process` (its
 * cancellation), `balance` in micros of its currency, `pesos` in micros at its own exchange rate, and `odd`: a JSON list for `measureOpen` where
 * SQL cannot compute the two, else null. Such a row may not be open after all. `more` are conditions on the alias `own`. Null when the window shows nothing of the direction.
 */
export function openInvoices(partition: Partition, direction: DirectionNumber, at: OpenAt, more: readonly SQL[] = []): SQL | null {
  const found = candidates(partition, direction, at, OWN, more)
  if (found.length === 0) return null
  const isOdd = sql.raw(`(own.settled is null or ${isOddAmount(inlined(sql`${own.total_micros}`))} or ${isOddRate('own')})`)
  const balance = inlined(sql`max(${own.total_micros} - own.settled, 0)`)
  // With a limit, SQLite computes `settled` once, and not once for each place that names it.
  const applied = sql`case when own.is_recomputed then ${listOfApplications(partition, at.past)} end`
  const isInProcess =
    at.checker === undefined || at.past !== null ? '0' : `coalesce(${checkSql(at.checker, 'estatus_cancelacion')} = 'en_proceso', 0)`
  return sql`select uuid, issued_at, day, rfc, name, currency, is_parsed, is_in_process, date(day, '+' || terms || ' days') as due, balance, pesos, odd
    from (select ${own.uuid}, ${own.issued_at}, substr(${own.fecha}, 1, 10) as day, ${own.counterparty_rfc} as rfc, ${own.currency},
        ${direction === 0 ? own.receptor_nombre : own.emisor_nombre} as name,
        ${own.terms_days} is not null as is_parsed, ${sql.raw(isInProcess)} as is_in_process, coalesce(${own.terms_days}, ${sql.raw(at.terms(inlined(sql`${own.fecha}`)))}) as terms,
        iif(${isOdd}, null, ${sql.raw(balance)}) as balance, iif(${isOdd}, null, ${sql.raw(atRate(balance, 'own'))}) as pesos,
        case when ${isOdd} then json_array(${own.uuid}, substr(${own.fecha}, 1, 10), ${own.currency}, ${own.tipo_cambio}, ${own.total_micros}, ${own.paid},
          ${own.credited}, ${applied}) end as odd
      from (${sql.join([...found], sql` union all `)} limit -1) own)
    where odd is not null or balance >= ${sql.raw(String(LEAST_OPEN))}`
}
