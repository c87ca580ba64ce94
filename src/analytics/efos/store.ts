import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { countedOn } from '../../cfdi/applied/applied.ts'
import { cashEventsOf } from '../../cfdi/cash/events.ts'
import { afterDay } from '../../cfdi/literal-day.ts'
import { openInvoices } from '../../cfdi/open/applications.ts'
import { cfdi, own } from '../../cfdi/population/aliases.ts'
import { type Days, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { unratedList } from '../common/insight.ts'
import { nameColumn } from '../common/omitted.ts'

/** The documents of a direction that are read. */
export interface EfosReading extends Days {
  direction: DirectionNumber
  /** The day of `as_of`, and the same when it is before today. */
  day: string
  past: string | null
  /** Whether a company could deduct the purchases. */
  isDeducted: boolean
  /** The rate of ISR of the year of `own`, as SQL; null where it does not change, or nothing can be lost. */
  isr: SQL | null
}

/** The documents of all counterparties: `income` of I less `credit` of E, for `parseSum`. */
export interface TotalRow {
  income: string
  credit: string
  /** For `parseUnrated`. */
  unrated: string | null
}

/** The documents of a listed counterparty, before or since it was listed. */
export interface DetailRow {
  rfc: string
  is_before: 0 | 1
  /** The rate of ISR of their years, where it changes. */
  isr_rate?: string
  income: string
  credit: string
  total_income: string
  total_credit: string
  invoices: number
  documents: number
  /** For `nameOf`. */
  name: string | null
  /** For `parseUnrated`. */
  unrated: string | null
}

export interface OpenSum {
  rfc: string
  pesos: string
  /** Lists for `exactBalance`, as members of a JSON list. */
  exactRow: string | null
}

export interface IvaRow {
  rfc: string
  iva_16: string
  iva_8: string
  iva_otras: string
  /** `ExactEvent` rows, as members of a JSON list. */
  exactRow: string | null
}

const each = (ledger: ScopedLedger, statement: (partition: Partition) => SQL | null): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => statement(partition) ?? [])

const ofType = (tipo: 'I' | 'E', amount: SQLiteColumn): SQL =>
  sumOf(inlined(sql`(case ${own.tipo_comprobante} when ${tipo} then ${amount} end)`))

/** The net amounts of all counterparties together. */
export const totalStatements = (ledger: ScopedLedger, { direction, past, ...days }: EfosReading): SQL[] =>
  each(ledger, (partition) => {
    const population = populationOf(partition, { ...days, direction, past, types: ['I', 'E'] })
    return (
      population &&
      sql`select ${ofType('I', own.net_mxn)} as income, ${ofType('E', own.net_mxn)} as credit, ${unratedList(nameColumn(direction))} as unrated ${population}`
    )
  })

/** RFCs with the day on which each was listed. */
export type ListedOn = readonly (readonly [rfc: string, day: string])[]

const rfcsOf = (listed: ListedOn): string[] => listed.map(([rfc]) => rfc)

/** The sums of the documents of listed counterparties, before and since the listing. */
export const detailStatements = (ledger: ScopedLedger, { direction, past, isr, ...days }: EfosReading, listed: ListedOn): SQL[] =>
  each(ledger, (partition) => {
    const isInvoiceOrNote = sql`${own.tipo_comprobante} in ('I', 'E')`
    const population = populationOf(partition, { ...days, direction, past, counterparty: rfcsOf(listed), conditions: [isInvoiceOrNote] })
    const isBefore = sql`substr(${own.fecha}, 1, 10) < (select value->>1 from json_each(${JSON.stringify(listed)}) where value->>0 = ${own.counterparty_rfc})`
    const name = nameColumn(direction)
    return (
      population &&
      sql`select ${own.counterparty_rfc} as rfc, ${isBefore} as is_before, ${ofType('I', own.net_mxn)} as income, ${ofType('E', own.net_mxn)} as credit,
        ${ofType('I', own.total_mxn)} as total_income, ${ofType('E', own.total_mxn)} as total_credit, count(${own.net_mxn}) as documents,
        count(case when ${own.tipo_comprobante} = 'I' then ${own.net_mxn} end) as invoices,
        max(case when ${own.net_mxn} is not null then ${own.issued_at} || ${own.uuid} || ${own[name]} end) as name, ${unratedList(name)} as unrated${isr === null ? sql`` : sql`, ${isr} as isr_rate`}
        ${population} group by 1, 2${isr === null ? sql`` : sql`, isr_rate`}`
    )
  })

/** The open invoices of listed counterparties. */
export const openOf = (
  partition: Partition,
  { first, last, direction, day, past }: EfosReading,
  counterparty: readonly string[],
  more: readonly SQL[] = [],
): SQL | null =>
  openInvoices(partition, direction, { day, past, first, terms: () => '0', counterparty }, [
    sql`${own.fecha} >= ${first} and ${own.fecha} < ${afterDay(last)}`,
    ...more,
  ])

export const openStatements = (ledger: ScopedLedger, reading: EfosReading, listed: ListedOn): SQL[] =>
  each(ledger, (partition) => {
    const open = openOf(partition, reading, rfcsOf(listed))
    return open && sql`select rfc, ${sumOf('pesos')} as pesos, group_concat(exactRow) as exactRow from (${open}) group by rfc`
  })

/** How long before its invoice a payment is looked for. */
const DAYS_BEFORE = 366
const dayBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10)

const x = alias(cfdi, 'x')

/** The cash events of listed counterparties up to the day, as the alias `e`: of documents of the range. */
export function eventsOf(partition: Partition, { first, last, direction, day, past }: EfosReading, listed: ListedOn): SQL | null {
  const invoices = { first, last, counterparty: rfcsOf(listed) }
  const events = cashEventsOf(partition, direction, invoices, { first: dayBefore(first, DAYS_BEFORE), last: day })
  const counts =
    past === null
      ? sql`1`
      : sql`not exists (select 1 from ${cfdi} ${x} where ${x.entity} = ${partition.number} and (${x.uuid} = e.invoice or (e.tipo = 'E' and ${x.uuid} = e.uuid))
          and not coalesce(${countedOn(partition, 'x', past)}, 0))`
  return events && sql`from (${events}) e where e.reason is null and ${counts}`
}

/** A row of `cashEvents` that needs exact arithmetic, as JSON. */
export const EXACT_EVENT = sql`json_object('tipo', e.tipo, 'day', e.day, 'source', e.source)`
const plain = (name: string) => sumOf(`(case when e.needs_exact then 0 else e.${name} end)`)

export const ivaStatements = (ledger: ScopedLedger, reading: EfosReading, listed: ListedOn): SQL[] =>
  each(ledger, (partition) => {
    const events = eventsOf(partition, reading, listed)
    return (
      events &&
      sql`select e.counterparty as rfc, ${plain('iva_16')} as iva_16, ${plain('iva_8')} as iva_8, ${plain('iva_otras')} as iva_otras,
        group_concat(case when e.needs_exact then ${EXACT_EVENT} end) as exactRow ${events} group by e.counterparty`
    )
  })
