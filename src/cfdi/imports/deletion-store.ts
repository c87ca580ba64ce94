import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { packed, unpacked } from '../../platform/db/packed.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import type { Holding, HoldingPart } from '../ingest/ingest.ts'
import { importHoldings, importResults, imports } from './tables.ts'

/** The order of the metadata of a stored holding. */
const METADATA = [
  ...(['cancelled', 'emisor_rfc', 'emisor_nombre', 'receptor_rfc', 'receptor_nombre', 'pac_rfc', 'fecha', 'certified_at'] as const),
  ...(['total', 'kind', 'tipo_comprobante', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
]

const XML = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc'] as const

type Stored = [uuid: string, xml: unknown[] | null, metadata: unknown[] | null]

const stored = ({ uuid, xml, metadata }: Holding): Stored => [
  uuid,
  xml && XML.map((name) => xml[name]),
  metadata && METADATA.map((name) => metadata[name]),
]

const named = (names: readonly string[], values: unknown[]) => Object.fromEntries(names.map((name, n) => [name, values[n]]))

const parsed = ([uuid, xml, metadata]: Stored): Holding => ({
  uuid,
  xml: xml && (named(XML, xml) as unknown as Holding['xml']),
  metadata: metadata && ({ uuid, ...named(METADATA, metadata) } as unknown as Holding['metadata']),
})

const [PARTS, DOCUMENTS] = [bare(imports.parts), bare(imports.documents)]
const HOLDING = [importHoldings.book, importHoldings.part, importHoldings.import_id, importHoldings.data].map(bare)
const h = alias(importHoldings, 'h')
const i = alias(imports, 'i')

/** Adds what an import holds. */
export const insertHoldings = (
  ledger: D1Database,
  import_id: string,
  book: number,
  parts: readonly HoldingPart[],
): D1PreparedStatement[] =>
  parts.length === 0
    ? []
    : [
        ...parts.map(({ part, holdings }) =>
          prepared(
            ledger,
            sql`insert into ${importHoldings} ${HOLDING}
              values (${book}, ${part}, ${import_id}, unhex(${packed(JSON.stringify(holdings.map(stored)))}))`,
          ),
        ),
        prepared(
          ledger,
          sql`update ${imports} set ${PARTS} = (select json_group_array(value) from (select value from json_each(${imports.parts})
              union all select value from json_each(${JSON.stringify(parts.map(({ part }) => part))})))
            where ${imports.import_id} = ${import_id}`,
        ),
      ]

/** The parts of what an import holds. */
export const partsOfImport = async (ledger: D1Database, import_id: string): Promise<number[]> =>
  JSON.parse(
    (await prepared(ledger, sql`select ${imports.parts} from ${imports} where ${imports.import_id} = ${import_id}`).first<string>(
      'parts',
    )) ?? '[]',
  )

/** A holding, and where it is. */
export type PlacedHolding = Holding & { part: number; import_id: string }

/** Parts of which this many are in memory at once. */
export const PARTS_AT_ONCE = 20

/** Returns what imports hold in these parts and is wanted, in the order of the imports and of the parts. */
export async function readHoldings(
  ledger: D1Database,
  book: number,
  parts: readonly number[],
  isWanted: (uuid: string, part: number) => boolean = () => true,
): Promise<PlacedHolding[]> {
  const found: PlacedHolding[] = []
  for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
    const { results } = await prepared(
      ledger,
      sql`select ${h.part}, ${h.import_id}, hex(${h.data}) as data from json_each(${JSON.stringify(parts.slice(at, at + PARTS_AT_ONCE))}) j
        cross join ${importHoldings} ${h} where ${h.book} = ${book} and ${h.part} = j.value`,
    ).all<{ part: number; import_id: string; data: string }>()
    for (const { part, import_id, data } of results)
      for (const one of JSON.parse(unpacked(data).toString()) as Stored[])
        if (isWanted(one[0], part)) found.push({ part, import_id, ...parsed(one) })
  }
  return found.sort((a, b) => (a.import_id === b.import_id ? a.part - b.part : a.import_id < b.import_id ? -1 : 1))
}

/** Deletes a part of what an import held. */
export const deletePart = (ledger: D1Database, import_id: string, book: number, part: number): D1PreparedStatement[] => [
  prepared(ledger, sql`delete from ${importHoldings} where ${importHoldings.book} = ${book} and ${importHoldings.part} = ${part}`),
  prepared(
    ledger,
    sql`update ${imports} set ${PARTS} = (select json_group_array(value) from json_each(${imports.parts}) where value <> ${part})
      where ${imports.import_id} = ${import_id}`,
  ),
]

/** Makes documents count through other imports: those that these name. */
export const countThrough = (ledger: D1Database, heirs: ReadonlyMap<string, readonly string[]>): D1PreparedStatement =>
  prepared(
    ledger,
    sql`update ${imports} set ${DOCUMENTS} = ${imports.documents} + j.n
      from (select value->>0 as id, value->>1 as n from json_each(${JSON.stringify([...heirs].map(([heir, uuids]) => [heir, uuids.length]))})) j
      where ${imports.import_id} = j.id`,
  )

/** Returns how many documents count through each of these imports. */
export const documentsOf = async (ledger: D1Database, import_ids: readonly string[]): Promise<Map<string, number>> => {
  const { results } = await prepared(
    ledger,
    sql`select ${i.import_id}, ${i.documents} from json_each(${JSON.stringify(import_ids)}) j
      cross join ${imports} ${i} on ${i.import_id} = j.value`,
  ).all<{ import_id: string; documents: number }>()
  return new Map(results.map((row) => [row.import_id, row.documents]))
}

/** Marks an import as one to delete. A consumer that works on it keeps its lease until it notices, and can commit nothing more. */
export const markDeleting = (ledger: D1Database, import_id: string): D1PreparedStatement =>
  prepared(
    ledger,
    sql`update ${imports} set ${bare(imports.lease_until)} = iif(${imports.status} = 'running', ${imports.lease_until}, 0),
        ${bare(imports.status)} = 'deleting', ${bare(imports.token)} = null
      where ${imports.import_id} = ${import_id} and ${imports.status} <> 'deleting'`,
  )

export const removeImport = (ledger: D1Database, import_id: string, token: string): D1PreparedStatement[] => [
  prepared(ledger, sql`delete from ${importResults} where ${importResults.import_id} = ${import_id}`),
  prepared(ledger, sql`delete from ${imports} where ${imports.import_id} = ${import_id} and ${imports.token} = ${token}`),
]
