import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { cashEvents } from '../../../cfdi/cash/events.ts'
import { cfdi, cfdiChunks, cfdiPayments, i, k, own, p, source } from '../../../cfdi/population/aliases.ts'
import { type Days, isSubstituted, populationOf, sumOf, taxOf } from '../../../cfdi/population/population.ts'
import { mainKey } from '../../../cfdi/products.ts'
import { all, inlined } from '../../../platform/db/statement.ts'
import { type DirectionNumber, isCounted, type Partition } from '../../../taxpayers/visibility/scoped-ledger.ts'
import { nameColumn } from '../../common/omitted.ts'
import { type Marks, movements, without } from '../../vat/store.ts'

/** The digits of micros up to which SQL adds them up. */
const LARGE = 13
/** A name behind the position of its document, so that the greatest is the newest. */
const newest = (of: typeof own | typeof i, name: SQLiteColumn): SQL =>
  sql`max(case when ${name} is not null then printf('%010d', ${of.issued_at}) || ${of.uuid} || ${name} end)`

/** Documents that SQL leaves to `exactAmounts`, as with cash events. */
const NEEDS_EXACT = sql`(${own.version} is not null and (${own.net_mxn} is null or length(${own.total_mxn}) > ${sql.raw(String(LARGE))} or coalesce(instr(${own.taxes}, '"'), 0) > 0))`
const SOURCE = sql`json_array(${own.total_micros}, ${own.currency}, null, null, ${own.currency}, ${own.tipo_cambio}, ${own.total_micros}, ${own.subtotal},
  ${own.descuento}, ${own.taxes}, ${own.iva_trasladado})`
const withXml = (amount: SQLWrapper): SQL => sql`case when ${own.version} is not null then ${amount} end`
const taxes = (...names: Parameters<typeof taxOf>[1][]): SQL => sql.raw(`(${names.map((name) => `(${taxOf('own', name)})`).join(' + ')})`)

/** A group of documents. A document with a `source` is alone, and its amounts are those that `exactAmounts` computes. */
export interface DocumentsRow {
  rfc: string
  tipo: 'I' | 'E'
  cancelled: 0 | 1
  reason: string
  source: string | null
  day: string
  is_goods: 0 | 1
  newest: string | null
  first: string
  last: string
  n: number
  lag: number
  dated: number
  after: number
  /** Documents of which only metadata is known. */
  without_amount: number
  net: string
  goods: string
  iva: string
  iva_retenido: string
  isr_retenido: string
  total: string
}

/** Selects the I and E of a direction and month by counterparty: those that count, and cancelled ones. Null when nothing is visible. */
export function documentsStatement(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const select = (cancelled: 0 | 1): SQL[] => {
    const conditions = cancelled === 0 ? [sql`${own.version} is not null`] : []
    const population = populationOf(partition, { ...days, direction, cancelled, types: ['I', 'E'], conditions })
    if (population === null) return []
    const day = sql`substr(${own.fecha}, 1, 10)`
    const at = sql`substr(${own.cancelled_at}, 1, 10)`
    const reason = cancelled === 0 ? sql`''` : sql`coalesce(${own.cancellation_reason}, 'unknown')`
    const columns = sql`${own.counterparty_rfc} as rfc, ${own.tipo_comprobante} as tipo, ${sql.raw(String(cancelled))} as cancelled, ${reason} as reason,
      case when ${NEEDS_EXACT} then ${own.uuid} end as exactRow, max(case when ${NEEDS_EXACT} then ${SOURCE} end) as source,
      max(${day}) as day, max(${own.uso_cfdi} is 'G01') as is_goods, ${newest(own, own[nameColumn(direction)])} as newest,
      min(${day}) as first, max(${day}) as last, count(*) as n,
      cast(coalesce(sum(julianday(${at}) - julianday(${day})), 0) as integer) as lag, count(${own.cancelled_at}) as dated,
      coalesce(sum(substr(${own.cancelled_at}, 1, 7) > substr(${own.fecha}, 1, 7)), 0) as after, count(iif(${own.version} is null, 1, null)) as without_amount`
    const sums = Object.entries({
      net: own.net_mxn,
      goods: sql`case when ${own.uso_cfdi} = 'G01' then ${own.net_mxn} end`,
      iva: taxes('iva_16', 'iva_8', 'iva_otras'),
      iva_retenido: taxes('iva_retenido'),
      isr_retenido: taxes('isr_retenido'),
      total: own.total_mxn,
    }).map(([name, amount]) => sql`${sumOf(inlined(withXml(amount)))} as ${sql.identifier(name)}`)
    return [sql`select ${columns}, ${sql.join(sums, sql`, `)} ${population} group by 1, 2, 4, 5`]
  }
  const parts = [...select(0), ...select(1)]
  return parts.length === 0 ? null : sql.join([...parts], sql` union all `)
}

/** What is added up of each cash event. */
export const PAID_FIGURES = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras', 'iva_retenido'] as const),
  ...(['base_no_objeto', 'base_sin_traslado'] as const),
]
/** What credit notes return of these has figures of its own, and so has the IVA that is not creditable. */
export const RETURNED_FIGURES = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_otras', 'iva_otras'] as const
export const IVA_FIGURES = ['iva_16', 'iva_8', 'iva_otras'] as const

export const CASH_FIGURES = [
  ...PAID_FIGURES,
  ...RETURNED_FIGURES.map((name) => `devuelto_${name}` as const),
  ...IVA_FIGURES.map((name) => `no_acreditable_${name}` as const),
]

/** A group of cash events by supplier and the facts behind its class. One with an `exactRow` is alone, for `parseExactRow`. */
export type CashRow = Record<(typeof PAID_FIGURES)[number] | `excluded_${(typeof IVA_FIGURES)[number]}`, string> & {
  rfc: string
  reason: string | null
  regimen: string | null
  clave: string | null
  /** Of the place of issue of the invoice: the first two digits of its postal code. */
  place: string | null
  tipo: string
  is_returned: 0 | 1
  exactRow: string | null
  newest: string | null
  n: number
}

const taxOfInvoice = (name: Parameters<typeof taxOf>[1]): SQL => sql.raw(`(${taxOf('i', name)})`)

/** Selects the cash events of received documents. */
export function cashStatement(partition: Partition, marks: Marks): SQL | null {
  const events = movements(partition, 1, marks, ['counterparty', 'invoice', 'part_out', 'part_of'])
  const figures = [
    ...PAID_FIGURES.map((name) => [name, `e.${name}`] as const),
    ...IVA_FIGURES.map((name) => [`excluded_${name}`, without(`e.${name}`)] as const),
  ].map(([name, amount]) => sql`${sumOf(`iif(e.needs_exact, 0, ${amount})`)} as ${sql.identifier(name)}`)
  const ofEvent = (value: SQLWrapper) => sql`case when e.reason is null then ${value} end`
  return (
    events &&
    sql`select ${ofEvent(sql`e.counterparty`)} as rfc, e.reason, ${ofEvent(i.emisor_regimen_fiscal)} as regimen, ${ofEvent(mainKey(i.products))} as clave,
        ${ofEvent(sql`iif(coalesce(${taxOfInvoice('base_8')}, 0) + 0 <> 0, substr(${i.lugar_expedicion}, 1, 2), null)`)} as place, ${ofEvent(sql`e.is_returned`)} as is_returned,
        case when e.needs_exact and e.reason is null then e.as_json end as exactRow, max(e.tipo) as tipo,
        ${newest(i, i.emisor_nombre)} as newest, count(*) as n, ${sql.join(figures, sql`, `)}
      from (${events}) e left join ${cfdi} ${i} on ${i.entity} = ${partition.number} and ${i.uuid} = e.invoice
      group by 1, 2, 3, 4, 5, 6, 7`
  )
}

/** Selects why paid parts of issued documents are no cash events, with their numbers. */
export function reasonsStatement(partition: Partition, days: Days): SQL | null {
  const events = cashEvents(partition, 0, days)
  return events && sql`select e.reason, count(*) as n from (${events}) e where e.reason is not null group by 1`
}

/** A PPD invoice that counts. `payments` are the complements that count: JSON `[[day, micros], …]`. */
export interface CreditInvoiceRow {
  rfc: string
  day: string
  terms: string | null
  currency: string | null
  tipo_cambio: string | null
  newest: string | null
  total: string
  paid: string
  credited: string
  net: string | null
  payments: string | null
}

/** Selects the PPD invoices of a direction and month with their payments up to a day. */
export function invoicesStatement(partition: Partition, direction: DirectionNumber, days: Days, today: string): SQL | null {
  const population = populationOf(partition, {
    ...{ ...days, direction, types: ['I'] },
    conditions: [sql`${own.metodo_pago} = 'PPD' and ${own.version} is not null`],
  })
  const counts = all([
    sql`${p.entity} = ${partition.number} and ${p.invoice} = ${own.uuid} and ${p.kind} = 'P' and ${source.uuid} = ${p.source} and ${source.cancelled} = 0`,
    sql`${source.emisor_rfc} = ${own.emisor_rfc} and coalesce(${p.currency}, ${own.currency}, 'MXN') = coalesce(${own.currency}, 'MXN')`,
    sql`substr(${p.fecha_pago}, 1, 10) <= ${today} and not ${isSubstituted(partition, 'source')}`,
    isCounted(partition, 'source'),
  ])
  return (
    population &&
    sql`select ${own.counterparty_rfc} as rfc, substr(${own.fecha}, 1, 10) as day, ${own.condiciones_pago} as terms, ${own.currency}, ${own.tipo_cambio},
        printf('%010d', ${own.issued_at}) || ${own.uuid} || ${own[nameColumn(direction)]} as newest, ${own.total_micros} as total,
        ${own.paid}, ${own.credited}, ${own.net_mxn} as net, (
          select json_group_array(json_array(substr(${p.fecha_pago}, 1, 10), ${p.amount})) from ${cfdiPayments} ${p} cross join ${cfdi} ${source} where ${counts}
        ) as payments ${population}`
  )
}

/** A receipt of payroll, and where its detail is. */
export interface ReceiptRow {
  rfc: string
  day: string
  subtotal: string | null
  isr: string | null
  currency: string | null
  tipo_cambio: string | null
  chunk: number
  chunk_at: number
  chunk_parts: number
}

/** Selects the issued N of a month that count. */
export function receiptsStatement(partition: Partition, days: Days): SQL | null {
  const population = populationOf(partition, {
    ...{ ...days, direction: 0, types: ['N'] },
    conditions: [sql`${own.version} is not null and ${own.chunk} is not null`],
  })
  return (
    population &&
    sql`select ${own.counterparty_rfc} as rfc, substr(${own.fecha}, 1, 10) as day, ${own.subtotal}, ${own.isr_retenido} as isr, ${own.currency},
      ${own.tipo_cambio}, ${own.chunk}, ${own.chunk_at}, ${own.chunk_parts} ${population} order by ${own.chunk}, ${own.chunk_at}`
  )
}

/** Selects chunks of a partition, packed. */
export const chunksStatement = (partition: Partition, chunks: readonly number[]): SQL =>
  sql`select ${k.chunk}, hex(${k.data}) as data from json_each(${JSON.stringify(chunks)}) j cross join ${cfdiChunks} ${k}
    where ${k.entity} = ${partition.number} and ${k.chunk} = j.value order by ${k.chunk}`
