import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { commit } from '../../platform/db/commit.ts'
import { packed, unpacked } from '../../platform/db/packed.ts'
import { bare, prepared, readColumn, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntryResult, ImportSource, ImportSourcePart, Room, XmlContent } from '../ingest/ingest.ts'
import { cfdi, entities } from '../tables.ts'
import { rowsOfResults } from './results.ts'
import { importResults, importSources, imports } from './tables.ts'

/** The order of the metadata of a stored import source. */
const METADATA = [
  ...(['cancelled', 'emisor_rfc', 'emisor_nombre', 'receptor_rfc', 'receptor_nombre', 'pac_rfc', 'fecha', 'certified_at'] as const),
  ...(['total', 'kind', 'tipo_comprobante', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
]

const XML = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc'] as const

type Stored = [uuid: string, xml: unknown[] | null, metadata: unknown[] | null]

const stored = ({ uuid, xml, metadata }: ImportSource): Stored => [
  uuid,
  xml && XML.map((name) => xml[name]),
  metadata && METADATA.map((name) => metadata[name]),
]

const named = (names: readonly string[], values: unknown[]) => Object.fromEntries(names.map((name, n) => [name, values[n]]))

const parsed = ([uuid, xml, metadata]: Stored): ImportSource => ({
  uuid,
  xml: xml && (named(XML, xml) as unknown as ImportSource['xml']),
  metadata: metadata && ({ uuid, ...named(METADATA, metadata) } as unknown as ImportSource['metadata']),
})

const [PARTS, DOCUMENTS] = [bare(imports.parts), bare(imports.documents)]
const IMPORT_SOURCE = [importSources.import_partition, importSources.part, importSources.import_id, importSources.data].map(bare)
const h = alias(importSources, 'h')
const i = alias(imports, 'i')

/** Adds import sources. */
export const insertImportSources = (import_id: string, import_partition: number, parts: readonly ImportSourcePart[]): SQL[] =>
  parts.length === 0
    ? []
    : [
        ...parts.map(
          ({ part, importSources: sources }) =>
            sql`insert into ${importSources} ${IMPORT_SOURCE}
              values (${import_partition}, ${part}, ${import_id}, unhex(${packed(JSON.stringify(sources.map(stored)))}))`,
        ),
        sql`update ${imports} set ${PARTS} = (select json_group_array(value) from (select value from json_each(${imports.parts})
              union all select value from json_each(${JSON.stringify(parts.map(({ part }) => part))})))
            where ${imports.import_id} = ${import_id}`,
      ]

/** The parts of an import. */
export const partsOfImport = async (ledger: D1Database, import_id: string): Promise<number[]> =>
  JSON.parse(
    (await readFirst(ledger, sql<{ parts: string }>`select ${imports.parts} from ${imports} where ${imports.import_id} = ${import_id}`))
      ?.parts ?? '[]',
  )

/** An import source, and where it is. */
export type LocatedImportSource = ImportSource & { part: number; import_id: string }

/** Parts of which this many are in memory at once. */
export const PARTS_AT_ONCE = 20

/** Returns the wanted import sources in these parts, in the order of the imports and of the parts. */
export async function readImportSources(
  ledger: D1Database,
  import_partition: number,
  parts: readonly number[],
  isWanted: (uuid: string, part: number) => boolean = () => true,
): Promise<LocatedImportSource[]> {
  const found: LocatedImportSource[] = []
  for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
    const rows = await readRows(
      ledger,
      sql<{
        part: number
        import_id: string
        data: string
      }>`select ${h.part}, ${h.import_id}, hex(${h.data}) as data from json_each(${JSON.stringify(parts.slice(at, at + PARTS_AT_ONCE))}) j
        cross join ${importSources} ${h} where ${h.import_partition} = ${import_partition} and ${h.part} = j.value`,
    )
    for (const { part, import_id, data } of rows)
      for (const one of JSON.parse(unpacked(data).toString()) as Stored[])
        if (isWanted(one[0], part)) found.push({ part, import_id, ...parsed(one) })
  }
  return found.sort((a, b) => (a.import_id === b.import_id ? a.part - b.part : a.import_id < b.import_id ? -1 : 1))
}

/** Deletes a part of an import. */
export const deletePart = (import_id: string, import_partition: number, part: number): SQL[] => [
  sql`delete from ${importSources} where ${importSources.import_partition} = ${import_partition} and ${importSources.part} = ${part}`,
  sql`update ${imports} set ${PARTS} = (select json_group_array(value) from json_each(${imports.parts}) where value <> ${part})
      where ${imports.import_id} = ${import_id}`,
]

/** Makes documents count through other imports: `heirs`, by import. */
export const countThrough = (heirs: ReadonlyMap<string, readonly string[]>): SQL =>
  sql`update ${imports} set ${DOCUMENTS} = ${imports.documents} + j.n
      from (select value->>0 as id, value->>1 as n from json_each(${JSON.stringify([...heirs].map(([heir, uuids]) => [heir, uuids.length]))})) j
      where ${imports.import_id} = j.id`

/** Returns how many documents count through each of these imports. */
export const documentsOf = async (ledger: D1Database, import_ids: readonly string[]): Promise<Map<string, number>> => {
  const rows = await readRows(
    ledger,
    sql<{ import_id: string; documents: number }>`select ${i.import_id}, ${i.documents} from json_each(${JSON.stringify(import_ids)}) j
      cross join ${imports} ${i} on ${i.import_id} = j.value`,
  )
  return new Map(rows.map((row) => [row.import_id, row.documents]))
}

/** Marks an import as one to delete. A consumer that works on it keeps its lease until it notices, and can commit nothing more. */
export const markDeleting = (import_id: string): SQL =>
  sql`update ${imports} set ${bare(imports.lease_until)} = iif(${imports.status} = 'running', ${imports.lease_until}, 0),
        ${bare(imports.status)} = 'deleting', ${bare(imports.token)} = null
      where ${imports.import_id} = ${import_id} and ${imports.status} <> 'deleting'`

export const removeImport = (row: Leased<ImportRow>): SQL[] => [
  sql`delete from ${importResults} where ${importResults.import_id} = ${row.import_id}`,
  sql`delete from ${imports} where ${importLease.isLeased(row)}`,
]

export type ImportRow = typeof imports.$inferSelect

const INSERTED = [
  ...[
    imports.import_id,
    imports.organization_id,
    imports.fiscal_entity_id,
    imports.import_partition,
    imports.entity,
    imports.rfc,
    imports.object,
  ],
  ...[imports.bytes, imports.documents, imports.stored_bytes, imports.status, imports.lease_until, imports.attempts, imports.created_at],
].map(bare)
const { created, updated, unchanged, rejected } = importResults
const c = alias(cfdi, 'c')

/** Inserts a queued import and its partition, unless they exist. Returns the object that the row refers to. */
export const insertImport = async (
  ledger: D1Database,
  row: Pick<
    ImportRow,
    | 'import_id'
    | 'object'
    | 'organization_id'
    | 'fiscal_entity_id'
    | 'import_partition'
    | 'entity'
    | 'rfc'
    | 'bytes'
    | 'created_at'
    | 'lease_until'
  >,
) => {
  const results = await commit<{ object: string }>(ledger, [
    sql`insert into ${entities} ${[entities.entity, entities.rfc].map(bare)} values (${row.import_partition}, ${row.rfc}) on conflict do nothing`,
    sql`insert into ${imports} ${INSERTED}
        values (${row.import_id}, ${row.organization_id}, ${row.fiscal_entity_id}, ${row.import_partition}, ${row.entity}, ${row.rfc}, ${row.object},
          ${row.bytes}, 0, 0, 'queued', ${row.lease_until}, 0, ${row.created_at})
        on conflict do nothing`,
    sql`select ${imports.object} from ${imports} where ${imports.import_id} = ${row.import_id}`,
  ])
  return results.at(-1)!.results[0]!.object
}

/**
 * Finds an import of an organization, with the rows of results that hold its first files, and the number of files in each status. Rows may
 * overlap: those are read that begin before enough others end.
 */
export async function findImport(ledger: D1Database, organization_id: string, fiscal_entity_id: string, import_id: string, limit: number) {
  const { data, first_n, last_n } = importResults
  const own = sql`from ${importResults} where ${importResults.import_id} = ${import_id}`
  const count = (column: SQLiteColumn) => sql`coalesce(sum(${column}), 0) as ${bare(column)}`
  const [found, files, counts] = await commit<unknown>(ledger, [
    sql`select * from ${imports} where ${imports.import_id} = ${import_id} and ${imports.organization_id} = ${organization_id}
        and ${imports.fiscal_entity_id} = ${fiscal_entity_id}`,
    sql`select hex(${data}) as data ${own} and ${limit} > 0 and ${first_n} <= coalesce((select min(last_n) from (
          select ${last_n}, sum(${created} + ${updated} + ${unchanged} + ${rejected}) over (order by ${last_n}) as files ${own})
          where files >= ${limit}), 1e9)`,
    sql`select ${sql.join([created, updated, unchanged, rejected].map(count), sql`, `)} ${own}`,
  ])
  return {
    row: found!.results[0] as ImportRow | undefined,
    results: files!.results as { data: string }[],
    counts: counts!.results[0] as Record<EntryResult['status'], number>,
  }
}

export const readImport = (ledger: D1Database, import_id: string): Promise<ImportRow | null> =>
  readFirst(ledger, sql<ImportRow>`select * from ${imports} where ${imports.import_id} = ${import_id}`)

/** Sorts after every identifier of an import. */
const LAST = 'imq'

/** Returns a page of the imports in a partition, newest first, before an import. */
export const listImportRows = async (
  ledger: D1Database,
  import_partition: number,
  before: string | undefined,
  limit: number,
): Promise<ImportRow[]> =>
  await readRows(
    ledger,
    sql<ImportRow>`select * from ${imports} indexed by imports_import_partition where ${imports.import_partition} = ${import_partition} and ${imports.import_id} < ${before ?? LAST}
        order by ${imports.import_id} desc limit ${limit}`,
  )

const [STATUS, TOKEN, LEASE_UNTIL] = [bare(imports.status), bare(imports.token), bare(imports.lease_until)]

/**
 * The lease of a worker on an import. An import to be deleted keeps its worker's lease until that worker, which may still write objects,
 * notices that it has lost the import, and gives the lease back.
 */
export const importLease = new RowLease<ImportRow>(imports, ['import_id'], {
  isFree: (now) => sql`(${imports.status} = 'queued' or ${imports.lease_until} < ${now})`,
  release: ({ import_id, token }) =>
    sql`update ${imports} set ${TOKEN} = null, ${LEASE_UNTIL} = iif(${imports.status} = 'deleting', 0, ${clock.now()}) where ${imports.import_id} = ${import_id}
        and (${imports.token} = ${token} or (${imports.status} = 'deleting' and ${imports.token} is null))`,
})

/** Claims an import that is to be ingested or deleted. Undefined when another worker holds it, or when there is nothing to do. */
export const claimImport = async (ledger: D1Database, import_id: string): Promise<Leased<ImportRow> | undefined> => {
  const { status, attempts } = imports
  const [row] = await importLease.claim(
    ledger,
    sql`${imports.import_id} = ${import_id} and ${status} in ('queued', 'running', 'deleting')`,
    sql`${STATUS} = iif(${status} = 'deleting', 'deleting', 'running'), ${bare(attempts)} = ${attempts} + 1`,
  )
  return row
}

const RESULT = [
  ...[importResults.import_id, importResults.part, importResults.first_n, importResults.last_n, created, updated, unchanged, rejected],
  ...[importResults.ranges, importResults.data],
].map(bare)

/** Inserts the results of files. */
export const insertFileResults = (import_id: string, entries: readonly EntryResult[]): SQL[] =>
  rowsOfResults(entries).map(
    ({ first_n, last_n, counts, ranges, data }) =>
      sql`insert into ${importResults} ${RESULT} values (${import_id},
        (select coalesce(max(${importResults.part}), -1) + 1 from ${importResults} where ${importResults.import_id} = ${import_id}),
        ${first_n}, ${last_n}, ${counts.created}, ${counts.updated}, ${counts.unchanged}, ${counts.rejected}, ${JSON.stringify(ranges)}, unhex(${data}))`,
  )

/** Extends the lease of an import, and adds documents that count through it and bytes that are stored because of it from now on. */
export const extendLease = (row: Leased<ImportRow>, documents: number, stored_bytes = 0) =>
  importLease.extend(
    row,
    sql`${bare(imports.documents)} = ${imports.documents} + ${documents}, ${bare(imports.stored_bytes)} = ${imports.stored_bytes} + ${stored_bytes}`,
  )

/** What an import uses so far, and how large its ledger is, in bytes. */
export const usedByImport = async (ledger: D1Database, import_id: string): Promise<Room & { ledger_bytes: number }> => {
  const { results, meta } = await prepared(
    ledger,
    sql`select ${imports.documents}, ${imports.stored_bytes} as bytes from ${imports} where ${imports.import_id} = ${import_id}`,
  ).all<Room>()
  return { ...(results[0] ?? { documents: 0, bytes: 0 }), ledger_bytes: meta.size_after }
}

/** Completes an import. Returns what it uses. */
export const completeImport = (row: Leased<ImportRow>, now: number) =>
  sql`update ${imports} set ${STATUS} = 'completed', ${bare(imports.completed_at)} = ${now}
      where ${importLease.isLeased(row)} returning ${bare(imports.documents)}, ${bare(imports.stored_bytes)} as bytes`

/** Returns an import to the queue because the budget of the invocation is used up, which is not another attempt. */
export const interruptImport = (row: Leased<ImportRow>, checkpoint: string) =>
  importLease.set(
    row,
    sql`${STATUS} = 'queued', ${bare(imports.attempts)} = ${imports.attempts} - 1, ${bare(imports.checkpoint)} = ${checkpoint}`,
  )

/** The places in the upload of the files that have a result. */
export async function filesWithResult(ledger: D1Database, import_id: string): Promise<Set<number>> {
  const rows = await readColumn(
    ledger,
    sql<string>`select ${importResults.ranges} from ${importResults} where ${importResults.import_id} = ${import_id}`,
  )
  const ranges = rows.flatMap((ranges) => JSON.parse(ranges) as [number, number][])
  return new Set(ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, n) => from + n)))
}

const OPEN = sql`${imports} indexed by imports_open where ${imports.status} <> 'completed'`

/** Finds imports that are not completed and that no consumer holds. */
export const unfinishedImports = (ledger: D1Database, before: number, limit: number) =>
  readRows<{ import_id: string }>(
    ledger,
    sql`select ${imports.import_id} from ${OPEN} and ${imports.lease_until} < ${before} order by ${imports.lease_until} limit ${limit}`,
  )

/** Returns the objects among these to which unfinished imports refer. */
export async function referredObjects(ledgers: readonly D1Database[], objects: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const ledger of ledgers) {
    const named = await readColumn(
      ledger,
      sql<string>`select ${imports.object} from ${OPEN} and ${imports.object} in (select value from json_each(${JSON.stringify(objects)}))`,
    )
    for (const object of named) found.add(object)
  }
  return found
}

/** Returns the `XmlContent` of those of these documents that are visible in the authority's partition. */
export async function visibleContents(ledger: ScopedLedger, uuids: readonly string[]): Promise<Map<string, XmlContent>> {
  const partition = partitionsToRead(ledger).find(({ origin }) => origin === 'authority')
  if (!partition || uuids.length === 0) return new Map()
  const rows = await readRows(
    ledger.d1,
    sql<{ uuid: string } & XmlContent>`select ${c.uuid}, ${c.xml_crc}, ${c.xml_size} from json_each(${JSON.stringify(uuids)}) j
      cross join ${cfdi} ${c} on ${c.entity} = ${partition.number} and ${c.uuid} = j.value where ${isVisible(partition, 'c')}`,
  )
  return new Map(rows.map((row) => [row.uuid, row]))
}
