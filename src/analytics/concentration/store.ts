import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import { populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { unratedList } from '../common/insight.ts'
import { nameColumn } from '../common/omitted.ts'

interface Days {
  first: string
  last: string
}

/** The totals of a counterparty, as issuer or receiver, in a partition. */
export interface CounterpartyRow {
  rfc: string
  /** `YYYY-MM=invoices=sum of invoices=sum of credit notes`, separated by `;`. */
  months: string
  /** `issued_at`, UUID and name of the newest document with a name, joined. */
  name: string | null
  /** For an invoice: issued_at × 10,000 + utc_offset + 5,000, which sorts like issued_at. */
  first: number | null
  last: number | null
  /** For `parseUnrated`. */
  unrated: string | null
}

/** How many invoices of a counterparty were cancelled: whether their XML is known says when they were downloaded. */
export interface CancelledRow {
  rfc: string
  cancelled: number
}

const sumOfType = (tipo: 'I' | 'E'): SQL => sumOf(inlined(sql`case ${own.tipo_comprobante} when ${tipo} then ${own.net_mxn} end`))
const IS_INVOICE = sql`${own.tipo_comprobante} = 'I' and ${own.net_mxn} is not null`

/** Groups the invoices and credit notes of a partition by counterparty and month, in one pass. */
function counterparties(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'] })
  const name = sql`${own.issued_at} || ${own.uuid} || ${own[nameColumn(direction)]}`
  const order = sql`${own.issued_at} * 10000 + ${own.utc_offset} + 5000`
  return (
    population &&
    sql`select rfc, group_concat(line, ';') as months, max(name) as name, min(first) as first, max(last) as last, group_concat(unrated) as unrated
      from (
        select ${own.counterparty_rfc} as rfc, case when count(${own.net_mxn}) > 0 then
            substr(${own.fecha}, 1, 7) || '=' || count(case when ${IS_INVOICE} then 1 end) || '=' || ${sumOfType('I')} || '=' || ${sumOfType('E')} end as line,
          max(case when ${own.net_mxn} is not null then ${name} end) as name,
          min(case when ${IS_INVOICE} then ${order} end) as first, max(case when ${IS_INVOICE} then ${order} end) as last, ${unratedList(nameColumn(direction))} as unrated
        ${population} group by ${own.counterparty_rfc}, substr(${own.fecha}, 1, 7))
      group by rfc having count(line) + count(unrated) > 0`
  )
}

function cancelledInvoices(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const population = populationOf(partition, { ...days, direction, cancelled: 1, types: ['I'] })
  return population && sql`select ${own.counterparty_rfc} as rfc, count(*) as cancelled ${population} group by ${own.counterparty_rfc}`
}

/** The statements that read the counterparties of a range, and those of their cancelled invoices, by turns for each partition. */
export const counterpartyStatements = (ledger: ScopedLedger, direction: DirectionNumber, days: Days): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) =>
    [counterparties(partition, direction, days), cancelledInvoices(partition, direction, days)].flatMap((one) => one ?? []),
  )
