import { populationOf } from '../../cfdi/population/population.ts'
import { sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { nameColumn } from '../common/names.ts'
import { IS_UNRATED, unratedJson } from '../common/unrated.ts'

interface Days {
  first: string
  last: string
}

/** What the products of a key add up to in a month (`by` 0), or with a counterparty (`by` 1). */
export interface ProductRow {
  key: string
  by: 0 | 1
  /** The month, or the RFC. */
  of: string
  invoices: number
  income: string
  credit: string
  /** Whether the keys say that the product is in no catalog. */
  is_unclassified: 0 | 1
  /** issued_at, UUID and name of the newest document of the counterparty, joined. */
  name: string | null
  /** For `parseForeign`: the documents whose amounts are to be converted one by one. */
  foreign: string | null
}

/** How product keys are grouped. */
interface Keys {
  digits: number
  /** What the keys begin with that say that the product is in no catalog. */
  unclassified: readonly string[]
}

/** The key of what is converted one by one. */
export const FOREIGN = '*'

export const IN_AMOUNTS = raw(`own.products is not null and (own.net_mxn is not null or ${IS_UNRATED})`)
/** Several keys of a document in another currency: each amount is to be rounded. */
const IS_FOREIGN = `(own.net_mxn is null or (instr(own.products, '=') > 0 and coalesce(own.currency, 'MXN') not in ('MXN', 'XXX')))`

export const foreignJson = (direction: DirectionNumber): string =>
  `json_array(own.counterparty_rfc, own.tipo_cambio, json(${unratedJson(nameColumn(direction))}))`

/** Groups the product keys of a partition's documents, cut to so many digits, by month and by counterparty, in one pass. */
function products(partition: Partition, direction: DirectionNumber, days: Days, { digits, unclassified }: Keys): Fragment | null {
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: [IN_AMOUNTS] })
  const sign = "instr(j.value, '=')"
  const amount = `case ${sign} when 0 then d.net else substr(j.value, ${sign} + 1) end`
  const ofType = (tipo: string) => sumOf(`(case d.tipo when '${tipo}' then ${amount} end)`).text
  return (
    population &&
    sql`with atoms as materialized (
        select ${raw(`case when d.odd is not null then '${FOREIGN}' else substr(j.value, 1, min(${digits}, case ${sign} when 0 then 8 else ${sign} - 1 end)) end as key,
          d.month, d.rfc, count(distinct case when d.tipo = 'I' then d.uuid end) as invoices, ${ofType('I')} as income, ${ofType('E')} as credit,
          max(d.name) as name, group_concat(d.odd) as odd`)}, exists (select 1 from json_each(${JSON.stringify(unclassified)}) u where substr(j.value, 1, length(u.value)) = u.value) as none
        from (
          select own.uuid, own.tipo_comprobante as tipo, own.counterparty_rfc as rfc, substr(own.fecha, 1, 7) as month, own.net_mxn as net,
            ${raw(`own.issued_at || own.uuid || own.${nameColumn(direction)} as name, case when ${IS_FOREIGN} then ${foreignJson(direction)} end as odd,
            case when ${IS_FOREIGN} then '[0]' else '["' || replace(own.products, ',', '","') || '"]' end as keys`)}
          ${population}) d
        cross join json_each(d.keys) j group by 1, 2, 3, none)
      select key, 0 as "by", month as "of", none as is_unclassified, sum(invoices) as invoices, ${sumOf('income')} as income, ${sumOf('credit')} as credit, null as name,
        group_concat(odd) as "foreign" from atoms group by key, month, none
      union all
      select key, 1, rfc, 0, sum(invoices), ${sumOf('income')}, ${sumOf('credit')}, max(name), null from atoms where key <> ${FOREIGN} group by key, rfc`
  )
}

/** The statements that read the products of a range. */
export const productStatements = (ledger: ScopedLedger, direction: DirectionNumber, days: Days, keys: Keys): Fragment[] =>
  partitionsToRead(ledger).flatMap((partition) => products(partition, direction, days, keys) ?? [])

/** How many documents, and packed bytes of their chunks, are read for their lines. */
export const MOST_DOCUMENTS = 5_000
const MOST_BYTES = 3 * 1024 * 1024

/** A document of which the lines are read, and a chunk that has them: `document` is for `parseForeign`, `data` is packed. */
export type LineSource = { document: string; chunk: number; chunk_at: number; chunk_parts: number } | { chunk: number; data: string }

/**
 * The statements that read documents of a range with the chunks of their lines, by turns for each partition: first at most one document
 * too many, then the chunks, none when there are too many documents or bytes.
 */
export const lineStatements = (ledger: ScopedLedger, direction: DirectionNumber, days: Days): Fragment[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: [IN_AMOUNTS] })
    if (population === null) return []
    const limit = raw(`limit ${MOST_DOCUMENTS + 1}`)
    return [
      sql`select ${raw(foreignJson(direction))} as document, own.chunk, own.chunk_at, own.chunk_parts ${population} ${limit}`,
      sql`with places as materialized (select own.chunk, own.chunk_parts ${population} ${limit}),
          found as materialized (
            select k.chunk, length(k.data) as bytes from (select distinct chunk, chunk_parts from places) p
            cross join cfdi_chunks k where k.entity = ${partition.number} and k.chunk >= p.chunk and k.chunk < p.chunk + p.chunk_parts)
        select k.chunk, hex(k.data) as data from found cross join cfdi_chunks k
        where k.entity = ${partition.number} and k.chunk = found.chunk
          and ${raw(`(select count(*) from places) <= ${MOST_DOCUMENTS} and (select sum(bytes) from found) <= ${MOST_BYTES}`)}
        order by k.chunk`,
    ]
  })
