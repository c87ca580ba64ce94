import { countedOn } from '../../cfdi/applied/as-of.ts'
import { cashEvents } from '../../cfdi/cash/events.ts'
import { afterDay } from '../../cfdi/literal-day.ts'
import { openInvoices } from '../../cfdi/open/open-invoices.ts'
import { type Days, populationOf } from '../../cfdi/population/population.ts'
import { sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { nameColumn } from '../common/names.ts'
import { IS_UNRATED, unratedJson } from '../common/unrated.ts'

/** What is read of the documents of a direction. */
export interface EfosReading extends Days {
  direction: DirectionNumber
  /** The day as of which is asked, and the same when it is before today. */
  day: string
  past: string | null
}

/** Sums of a counterparty. Incomes are of I, credits of E; for `parseSum`. */
export interface NetRow {
  rfc: string
  income: string
  credit: string
  invoices: number
  documents: number
  /** For `nameOf`. */
  name: string | null
  /** For `parseUnrated`. */
  unrated: string | null
}

/** The documents of a listed counterparty, before or since it was listed. */
export interface DetailRow {
  rfc: string
  is_before: 0 | 1
  income: string
  credit: string
  total_income: string
  total_credit: string
}

export interface OpenSum {
  rfc: string
  pesos: string
  /** Lists for `measureOpen`, as members of a JSON list. */
  odd: string | null
}

export interface IvaRow {
  rfc: string
  iva_16: string
  iva_8: string
  iva_otras: string
  /** `Measurable` rows, as members of a JSON list. */
  odd: string | null
}

const each = (ledger: ScopedLedger, statement: (partition: Partition) => Fragment | null): Fragment[] =>
  partitionsToRead(ledger).flatMap((partition) => statement(partition) ?? [])

const ofType = (tipo: string, column: string) => raw(sumOf(`(case own.tipo_comprobante when '${tipo}' then own.${column} end)`).text)

/** The net amounts of all counterparties. */
export const netStatements = (ledger: ScopedLedger, { direction, past, ...days }: EfosReading): Fragment[] =>
  each(ledger, (partition) => {
    const population = populationOf(partition, { ...days, direction, past, types: ['I', 'E'] })
    const name = nameColumn(direction)
    return (
      population &&
      sql`select own.counterparty_rfc as rfc, ${ofType('I', 'net_mxn')} as income, ${ofType('E', 'net_mxn')} as credit,
        count(own.net_mxn) as documents, count(case when own.tipo_comprobante = 'I' then own.net_mxn end) as invoices,
        ${raw(`max(case when own.net_mxn is not null then own.issued_at || own.uuid || own.${name} end) as name,
        group_concat(case when ${IS_UNRATED} then ${unratedJson(name)} end) as unrated`)}
        ${population} group by own.counterparty_rfc`
    )
  })

/** RFCs with the day on which each was listed. */
export type ListedOn = readonly (readonly [rfc: string, day: string])[]

const among = (column: string, listed: ListedOn): Fragment =>
  sql`${raw(column)} in (select value->>0 from json_each(${JSON.stringify(listed)}))`

/** What is known of the documents of listed counterparties: sums before and since the listing. */
export const detailStatements = (ledger: ScopedLedger, { direction, past, ...days }: EfosReading, listed: ListedOn): Fragment[] =>
  each(ledger, (partition) => {
    const population = populationOf(partition, {
      ...days,
      direction,
      past,
      types: ['I', 'E'],
      conditions: [among('own.counterparty_rfc', listed)],
    })
    const isBefore = sql`substr(own.fecha, 1, 10) < (select value->>1 from json_each(${JSON.stringify(listed)}) where value->>0 = own.counterparty_rfc)`
    return (
      population &&
      sql`select own.counterparty_rfc as rfc, ${isBefore} as is_before, ${ofType('I', 'net_mxn')} as income, ${ofType('E', 'net_mxn')} as credit,
        ${ofType('I', 'total_mxn')} as total_income, ${ofType('E', 'total_mxn')} as total_credit
        ${population} and own.net_mxn is not null group by 1, 2`
    )
  })

/** The open invoices of listed counterparties. */
export const openOf = (
  partition: Partition,
  { first, last, direction, day, past }: EfosReading,
  more: readonly Fragment[],
): Fragment | null =>
  openInvoices(partition, direction, { day, past, first, terms: 0 }, [
    sql`own.fecha >= ${first} and own.fecha < ${afterDay(last)}`,
    ...more,
  ])

export const openStatements = (ledger: ScopedLedger, reading: EfosReading, listed: ListedOn): Fragment[] =>
  each(ledger, (partition) => {
    const open = openOf(partition, reading, [among('own.counterparty_rfc', listed)])
    return open && sql`select rfc, ${sumOf('pesos')} as pesos, group_concat(odd) as odd from (${open}) group by rfc`
  })

/** How long before its invoice a payment is looked for. */
const DAYS_BEFORE = 366
const dayBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10)

/** The cash events of listed counterparties up to the day, as the alias `e`: of documents of the range. */
export function eventsOf(partition: Partition, { first, last, direction, day, past }: EfosReading, listed: ListedOn): Fragment | null {
  const events = cashEvents(partition, direction, { first: dayBefore(first, DAYS_BEFORE), last: day })
  const counts = past === null ? raw('1') : countedOn(partition, 'x', past)
  return (
    events &&
    sql`from (${events}) e where e.reason is null and ${among('e.counterparty', listed)} and exists (
      select 1 from cfdi x where x.entity = ${partition.number} and x.uuid = e.invoice and x.fecha >= ${first} and x.fecha < ${afterDay(last)} and ${counts})`
  )
}

/** A row of `cashEvents` that a caller measures, as JSON. */
export const ODD_EVENT = "json_object('tipo', e.tipo, 'day', e.day, 'source', e.source)"
const plain = (name: string) => raw(sumOf(`(case when e.is_odd then 0 else e.${name} end)`).text)

export const ivaStatements = (ledger: ScopedLedger, reading: EfosReading, listed: ListedOn): Fragment[] =>
  each(ledger, (partition) => {
    const events = eventsOf(partition, reading, listed)
    return (
      events &&
      sql`select e.counterparty as rfc, ${plain('iva_16')} as iva_16, ${plain('iva_8')} as iva_8, ${plain('iva_otras')} as iva_otras,
        group_concat(case when e.is_odd then ${raw(ODD_EVENT)} end) as odd ${events} group by e.counterparty`
    )
  })
