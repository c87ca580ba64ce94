import { type SQL, sql } from 'drizzle-orm'
import { cfdiChunks, k, own } from '../../cfdi/population/aliases.ts'
import { populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { IS_UNRATED, unratedJson } from '../common/insight.ts'
import { nameColumn } from '../common/omitted.ts'

interface Days {
  first: string
  last: string
}

/** The sums of the products of a key in a month (`by` 0), or with a counterparty (`by` 1). */
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
  /** The prefixes of the keys of products that are in no catalog. */
  unclassified: readonly string[]
}

/** The key of documents converted one by one. */
export const FOREIGN = '*'

export const IN_AMOUNTS = sql`${own.products} is not null and (${own.net_mxn} is not null or ${IS_UNRATED})`
/** Several keys of a document in another currency: each amount is to be rounded. */
const IS_FOREIGN = sql`(${own.net_mxn} is null or (instr(${own.products}, '=') > 0 and not ${sql.raw(inPesos(inlined(sql`${own.currency}`)))}))`

export const foreignJson = (direction: DirectionNumber): SQL =>
  sql`json_array(${own.counterparty_rfc}, ${own.tipo_cambio}, json(${unratedJson(nameColumn(direction))}))`

/** Groups the product keys of a partition's documents, cut to so many digits, by month and by counterparty, in one pass. */
function products(partition: Partition, direction: DirectionNumber, days: Days, { digits, unclassified }: Keys): SQL | null {
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: [IN_AMOUNTS] })
  if (population === null) return null
  const ofType = (tipo: 'I' | 'E') => sumOf(`(case d.tipo when '${tipo}' then d.amount end)`)
  // Rules allow only digits.
  const isNone = sql.raw(unclassified.map((prefix) => `substr(d.key, 1, ${prefix.length}) = '${prefix}'`).join(' or ') || '0')
  const common = sql`${own.uuid}, ${own.tipo_comprobante} as tipo, ${own.counterparty_rfc} as rfc, substr(${own.fecha}, 1, 7) as month, ${own.net_mxn} as amount,
    ${own.issued_at} || ${own.uuid} || ${own[nameColumn(direction)]} as name, case when ${IS_FOREIGN} then ${sql.raw(`'${FOREIGN}'`)} else ${own.products} end as key,
    case when ${IS_FOREIGN} then ${foreignJson(direction)} end as exactRow`
  return sql`with documents as materialized (select ${common} ${population}),
      keys as (
        select uuid, tipo, rfc, month, amount, name, key, exactRow, 1 as is_whole from documents where instr(key, '=') = 0
        union all
        select uuid, tipo, rfc, month, substr(j.value, instr(j.value, '=') + 1), name, substr(j.value, 1, instr(j.value, '=') - 1), null, 0
        from documents cross join json_each('["' || replace(documents.key, ',', '","') || '"]') j where instr(documents.key, '=') > 0),
      atoms as materialized (
        select substr(d.key, 1, ${sql.raw(String(digits))}) as key, d.month, d.rfc, (${isNone}) as none, max(d.name) as name, group_concat(d.exactRow) as exactRow,
          ${ofType('I')} as income, ${ofType('E')} as credit,
          sum(d.is_whole and d.tipo = 'I') + count(distinct case when d.is_whole = 0 and d.tipo = 'I' then d.uuid end) as invoices
        from keys d group by 1, 2, 3, 4)
    select key, 0 as "by", month as "of", none as is_unclassified, sum(invoices) as invoices, ${sumOf('income')} as income,
      ${sumOf('credit')} as credit, null as name, group_concat(exactRow) as "foreign" from atoms group by key, month, none
    union all
    select key, 1, rfc, 0, sum(invoices), ${sumOf('income')}, ${sumOf('credit')}, max(name), null from atoms where key <> ${FOREIGN} group by key, rfc`
}

/** The statements that read the products of a range. */
export const productStatements = (ledger: ScopedLedger, direction: DirectionNumber, days: Days, keys: Keys): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => products(partition, direction, days, keys) ?? [])

/** The most documents, and packed bytes of their chunks, that are read for lines. */
export const MOST_DOCUMENTS = 5_000
const MOST_BYTES = 3 * 1024 * 1024

/** A document whose lines are read, for `documentsOf`, and where they are. */
export interface LineSource {
  document: string
  chunk: number
  chunk_at: number
  chunk_parts: number
}

const MOST = sql.raw(String(MOST_DOCUMENTS))
const FEW = sql`(select n from counted) <= ${MOST}`

/**
 * The statements that read documents of a range with the chunks of their lines, by turns for each partition: first the documents, or
 * one row of nulls when there are too many; then the chunks, none when there are too many documents or bytes.
 */
export const lineStatements = (ledger: ScopedLedger, direction: DirectionNumber, days: Days): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: [IN_AMOUNTS] })
    if (population === null) return []
    const some = (columns: SQL) => sql`select ${columns} ${population} limit ${sql.raw(String(MOST_DOCUMENTS + 1))}`
    return [
      sql`with counted as materialized (select count(*) as n from (${some(sql`1`)}))
        select * from (${some(sql`${foreignJson(direction)} as document, ${own.chunk}, ${own.chunk_at}, ${own.chunk_parts}`)}) where ${FEW}
        union all select null, null, null, null where not ${FEW}`,
      sql`with places as materialized (${some(sql`${own.chunk}, ${own.chunk_parts}`)}),
          found as materialized (
            select ${k.chunk}, length(${k.data}) as bytes from (select distinct chunk, chunk_parts from places) p
            cross join ${cfdiChunks} ${k} where ${k.entity} = ${partition.number} and ${k.chunk} >= p.chunk and ${k.chunk} < p.chunk + p.chunk_parts
              and (select count(*) from places) <= ${MOST})
        select ${k.chunk}, hex(${k.data}) as data from found cross join ${cfdiChunks} ${k}
        where ${k.entity} = ${partition.number} and ${k.chunk} = found.chunk
          and (select sum(bytes) from found) <= ${sql.raw(String(MOST_BYTES))}
        order by ${k.chunk}`,
    ]
  })
