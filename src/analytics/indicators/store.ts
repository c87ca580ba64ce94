import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { daysUntilDue } from '../../authority/rules/by-day.ts'
import { openInvoices } from '../../cfdi/open/applications.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { type DirectionNumber, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Insight, unratedList } from '../common/insight.ts'
import { isPaid, repseNotValid } from '../risk/flags.ts'
import type { Sets } from '../risk/sets.ts'

/** The totals of a counterparty, as issuer or receiver, split by what indicators distinguish. Sums are for `parseSum`. */
export interface PartyRow {
  direction: DirectionNumber
  rfc: string
  /** An invoice that was paid in cash; a received one of a supplier without a valid REPSE registration. */
  is_cash: 0 | 1
  is_at_risk: 0 | 1
  is_foreign: 0 | 1
  documents: number
  invoices: number
  income: string
  credit: string
  /** Totals of invoices, including taxes. */
  total: string
  unrated: string | null
}

const INVOICE = sql`${own.tipo_comprobante} = 'I'`
export const IS_CASH = sql`(${INVOICE} and coalesce(${own.forma_pago} = '01', 0))`
export const IS_FOREIGN = sql`not ${sql.raw(inPesos(inlined(sql`${own.currency}`)))}`
export const isAtRisk = (partition: Partition, direction: DirectionNumber, { rules, span }: Insight, { sets }: Sets): SQL => {
  const condition = repseNotValid({ direction, rules, days: span, sets }, (day) => isPaid(partition, day))
  return condition === null ? sql`0` : sql`(${INVOICE} and ${own.version} is not null and coalesce(${condition}, 0))`
}

const ofType = (tipo: 'I' | 'E', amount: SQLiteColumn) => sumOf(inlined(sql`case ${own.tipo_comprobante} when ${tipo} then ${amount} end`))

/** The statements that group the invoices and credit notes of a range, in one pass. */
export const partyStatements = (insight: Insight, sets: Sets): SQL[] =>
  partitionsToRead(insight.ledger).flatMap((partition) =>
    ([0, 1] as const).flatMap((direction) => {
      const { first, last } = insight.span
      const population = populationOf(partition, { first, last, direction, types: ['I', 'E'] })
      if (population === null) return []
      return [
        sql`with ${sets.ctes} no_more as (select 1)
          select ${sql.raw(String(direction))} as direction, ${own.counterparty_rfc} as rfc, ${IS_CASH} as is_cash,
            ${isAtRisk(partition, direction, insight, sets)} as is_at_risk, ${IS_FOREIGN} as is_foreign,
            count(${own.net_mxn}) as documents, count(iif(${INVOICE} and ${own.net_mxn} is not null, 1, null)) as invoices,
            ${ofType('I', own.net_mxn)} as income, ${ofType('E', own.net_mxn)} as credit, ${ofType('I', own.total_mxn)} as total,
            ${unratedList('emisor_nombre')} as unrated
          ${population} group by 2, 3, 4, 5`,
      ]
    }),
  )

/**
 * Open and overdue amounts of issued PPD invoices, for `parseSum`. `exactRow` has those that `overdueOf` measures: `[due, list]`, with
 * commas.
 */
export interface OverdueRow {
  invoices: number
  open: string
  overdue: string
  exactRow: string | null
}

/** The statements that add up the issued PPD invoices that are open today. */
export const openStatements = ({ ledger, today, rules }: Insight): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const invoices = openInvoices(partition, 0, { day: today, past: null, terms: daysUntilDue(rules, today) })
    const plain = (condition: SQL) => sumOf(inlined(sql`iif(exactRow is null and ${condition}, pesos, null)`))
    return invoices === null
      ? []
      : [
          sql`select count(iif(exactRow is null, 1, null)) as invoices, ${plain(sql`1`)} as open, ${plain(sql`due < ${today}`)} as overdue,
            group_concat(iif(exactRow is null, null, json_array(due, json(exactRow)))) as exactRow from (${invoices})`,
        ]
  })
