import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readRows } from '../../platform/db/statement.ts'
import { isVisible, type Partition, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { cfdiAs, listOf } from '../columns.ts'
import { cfdi, cfdiChunks } from '../tables.ts'
import type { XmlLocation } from '../xml/xml-store.ts'
import { type ChunkLocation, chunksOf, partsOf } from './chunks.ts'
import { contentOf, type KnownDetail } from './content.ts'

const c = cfdiAs('c')
const k = alias(cfdiChunks, 'k')

/** A document as a page of a search has it. */
interface Item {
  row: { uuid: string }
  context: { partition: Pick<Partition, 'origin'> }
}

/** Where the contents of a document lie that pages do not show; null if unknown. */
export type StoredLocation = { [Name in keyof ChunkLocation]: number | null } & {
  [Name in keyof XmlLocation]: XmlLocation[Name] | null
} & {
  uuid: string
  xml_size: number | null
  xml_crc: number | null
}

const LOCATION = listOf([
  ...[c.uuid, c.chunk, c.chunk_at, c.chunk_parts],
  ...[c.xml_object, c.xml_offset, c.xml_length, c.xml_method, c.xml_size, c.xml_crc],
])

/** A document with the place of its contents. */
export interface Located<One extends Item = Item> {
  item: One
  location: StoredLocation
}

const byPartition = <One>(list: readonly One[], itemOf: (one: One) => Item): Map<Partition, One[]> =>
  Map.groupBy(list, (one) => itemOf(one).context.partition as Partition)

/** Finds where the contents of these documents are, in their order. One statement for each partition. */
export async function locateContents<One extends Item>({ d1 }: ScopedLedger, items: readonly One[]): Promise<Located<One>[]> {
  const found = new Map<string, StoredLocation>()
  for (const [partition, some] of byPartition(items, (item) => item)) {
    const uuids = JSON.stringify(some.map(({ row }) => row.uuid))
    const rows = await readRows(
      d1,
      sql<StoredLocation>`select ${LOCATION} from json_each(${uuids}) wanted cross join ${cfdi} ${c} where ${c.uuid} = wanted.value and ${isVisible(partition, 'c')}`,
    )
    for (const row of rows) found.set(row.uuid, row)
  }
  return items.flatMap((item) => {
    const location = found.get(item.row.uuid)
    return location === undefined ? [] : [{ item, location }]
  })
}

/** Divides documents, in their order, into batches with at most so many bytes of some kind, or of one document. */
export function batchesOf<One extends Located>(
  list: readonly One[],
  bytes: number,
  sizeOf: (location: One['location']) => number,
): One[][] {
  const batches: One[][] = []
  let left = -1
  for (const one of list) {
    const size = sizeOf(one.location)
    if (batches.length === 0 || size > left) {
      batches.push([])
      left = bytes
    }
    left -= size
    batches.at(-1)!.push(one)
  }
  return batches
}

/** The contents of documents with so many bytes of XML together are read at once. */
const CONTENT_BYTES = 4 * 1024 * 1024

/** Divides documents, in their order, into batches of which the contents may be in memory together. */
export const readableOf = <One extends Located>(list: readonly One[]): One[][] =>
  batchesOf(list, CONTENT_BYTES, ({ xml_size }) => xml_size ?? 0)

/**
 * Calls `take` with the content of each of these documents beyond its row, in any order. Chunks are unpacked one after the other, so that
 * only one is in memory. Documents of which only metadata is known are left out. One statement for each partition.
 */
export async function readContents(
  ledger: ScopedLedger,
  located: readonly Located[],
  take: (uuid: string, content: KnownDetail) => void,
): Promise<void> {
  for (const [partition, some] of byPartition(located, ({ item }) => item)) {
    const locations = some
      .map(({ location }) => location)
      .filter((one): one is StoredLocation & ChunkLocation => one.chunk !== null && one.chunk_at !== null && one.chunk_parts !== null)
    if (locations.length === 0) continue
    const rows = await readRows(
      ledger.d1,
      sql<{
        chunk: number
        data: string
      }>`select ${k.chunk}, hex(${k.data}) as data from json_each(${JSON.stringify(chunksOf(locations))}) wanted cross join ${cfdiChunks} ${k}
        where ${k.entity} = ${partition.number} and ${k.chunk} = wanted.value`,
    )
    const dataOf = new Map(rows.map(({ chunk, data }) => [chunk, data]))
    for (const [chunk, of] of Map.groupBy(locations, (one) => one.chunk)) {
      const parts = partsOf(Array.from({ length: of[0]!.chunk_parts }, (_, n) => dataOf.get(chunk + n)!))
      for (const { uuid, chunk_at } of of) take(uuid, contentOf(parts[chunk_at]))
    }
  }
}
