import type { CommittedHolding, Holding } from '../cfdi/ingest/ingest.ts'
import type { MetadataRow } from '../cfdi/package/metadata.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { prepared, sql } from '../platform/db/fragment.ts'
import type { importDocuments } from './tables.ts'

type HoldingRow = typeof importDocuments.$inferSelect

/** The order of the metadata in its column. `cancelled` comes first, because SQL reads it. */
const METADATA = [
  ...(['cancelled', 'emisor_rfc', 'emisor_nombre', 'receptor_rfc', 'receptor_nombre', 'pac_rfc', 'fecha', 'certified_at'] as const),
  ...(['total', 'kind', 'tipo_comprobante', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
]

const written = (metadata: MetadataRow | null): string | null => metadata && JSON.stringify(METADATA.map((name) => metadata[name]))

function parsed(uuid: string, text: string | null): MetadataRow | null {
  if (text === null) return null
  const values = JSON.parse(text) as unknown[]
  return { uuid, ...Object.fromEntries(METADATA.map((name, i) => [name, values[i]])) } as MetadataRow
}

const XML = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc'] as const

/** Adds what an import holds. Of several XML the first stays; metadata gives way only to metadata that says cancelled. */
export const insertHoldings = (ledger: D1Database, import_id: string, book: number, holdings: readonly CommittedHolding[]) =>
  jsonChunks(
    holdings.map(({ uuid, isNew, xml, metadata }) => [uuid, isNew ? 1 : 0, ...XML.map((name) => xml?.[name] ?? null), written(metadata)]),
  ).map((json) =>
    ledger
      .prepare(
        `insert into import_documents (import_id, book, uuid, is_counted, ${XML.join(', ')}, metadata)
         select ?1, ?2, ${[...Array(9).keys()].map((n) => `value->>${n}`).join(', ')} from (select value from json_each(?3) limit -1) where true
         on conflict (import_id, uuid) do update set is_counted = max(is_counted, excluded.is_counted),
           ${XML.map((name) => `${name} = iif(import_documents.xml_object is null, excluded.${name}, import_documents.${name})`).join(', ')},
           metadata = iif(import_documents.metadata is null or excluded.metadata->>0, excluded.metadata, import_documents.metadata)
         where excluded.is_counted > import_documents.is_counted
           or (import_documents.xml_object is null and excluded.xml_object is not null)
           or (excluded.metadata is not null and (import_documents.metadata is null or excluded.metadata->>0 > import_documents.metadata->>0))`,
      )
      .bind(import_id, book, json),
  )

/** Returns some of the documents that an import holds, with the size of the largest XML that any import holds of each. */
export const someHoldings = async (ledger: D1Database, import_id: string, limit: number) =>
  (
    await prepared(
      ledger,
      sql`select d.uuid, d.is_counted, coalesce((select max(o.xml_size) from import_documents o indexed by import_documents_uuid
          where o.book = d.book and o.uuid = d.uuid), 0) as size
        from import_documents d where d.import_id = ${import_id} order by d.uuid limit ${limit}`,
    ).all<Pick<HoldingRow, 'uuid' | 'is_counted'> & { size: number }>()
  ).results

/** Returns what the other imports hold of these documents, in the order of the imports. */
export async function otherHoldings(ledger: D1Database, import_id: string, book: number, uuids: readonly string[]) {
  const { results } = await prepared(
    ledger,
    sql`select d.* from json_each(${JSON.stringify(uuids)}) j cross join import_documents d indexed by import_documents_uuid
      where d.book = ${book} and d.uuid = j.value and d.import_id <> ${import_id} order by d.import_id`,
  ).all<HoldingRow>()
  return results.map((row): Holding & { import_id: string } => ({
    import_id: row.import_id,
    uuid: row.uuid,
    xml: row.xml_object === null ? null : (row as Holding['xml']),
    metadata: parsed(row.uuid, row.metadata),
  }))
}

export const deleteHoldings = (ledger: D1Database, import_id: string, uuids: readonly string[]): D1PreparedStatement =>
  prepared(
    ledger,
    sql`delete from import_documents where import_id = ${import_id} and uuid in (select value from json_each(${JSON.stringify(uuids)}))`,
  )

/** Makes documents count through other imports: those that these name. */
export const countThrough = (ledger: D1Database, heirs: ReadonlyMap<string, readonly string[]>): D1PreparedStatement[] => [
  prepared(
    ledger,
    sql`update import_documents set is_counted = 1 where (import_id, uuid) in (select value->>0, value->>1
      from json_each(${JSON.stringify([...heirs].flatMap(([heir, uuids]) => uuids.map((uuid) => [heir, uuid])))}))`,
  ),
  prepared(
    ledger,
    sql`update imports set documents = documents + j.n
      from (select value->>0 as id, value->>1 as n from json_each(${JSON.stringify([...heirs].map(([heir, uuids]) => [heir, uuids.length]))})) j
      where import_id = j.id`,
  ),
]

/** Returns how many documents count through each of these imports. */
export const documentsOf = async (ledger: D1Database, import_ids: readonly string[]): Promise<Map<string, number>> => {
  const { results } = await prepared(
    ledger,
    sql`select i.import_id, i.documents from json_each(${JSON.stringify(import_ids)}) j cross join imports i on i.import_id = j.value`,
  ).all<{ import_id: string; documents: number }>()
  return new Map(results.map((row) => [row.import_id, row.documents]))
}

/** Marks an import as one to delete. A consumer that works on it keeps its lease until it notices, and can commit nothing more. */
export const markDeleting = (ledger: D1Database, import_id: string): D1PreparedStatement =>
  prepared(
    ledger,
    sql`update imports set lease_until = iif(status = 'running', lease_until, 0), status = 'deleting', token = null
      where import_id = ${import_id} and status <> 'deleting'`,
  )

/** Deletes some results of files. Returns how many it deleted. */
export const deleteFileResults = async (ledger: D1Database, import_id: string, limit: number): Promise<number> =>
  (
    await prepared(
      ledger,
      sql`delete from import_files where import_id = ${import_id} and n in (select n from import_files where import_id = ${import_id} limit ${limit})`,
    ).run()
  ).meta.changes

export const removeImport = (ledger: D1Database, import_id: string, token: string): D1PreparedStatement =>
  prepared(ledger, sql`delete from imports where import_id = ${import_id} and token = ${token}`)
