import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
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

/** Reads the locations of documents of a partition that are visible, by UUID. One statement. */
export async function readStoredLocations(
  { d1 }: ScopedLedger,
  partition: Partition,
  items: readonly Item[],
): Promise<Map<string, StoredLocation>> {
  const uuids = JSON.stringify(items.map(({ row }) => row.uuid))
  const { results } = await prepared(
    d1,
    sql`select ${LOCATION} from json_each(${uuids}) wanted cross join ${cfdi} ${c} where ${c.uuid} = wanted.value and ${isVisible(partition, 'c')}`,
  ).all<StoredLocation>()
  return new Map(results.map((row) => [row.uuid, row]))
}

/**
 * Calls `take` with the content of each of these documents of a partition beyond its row, in any order. Chunks are unpacked one after the
 * other, so that only one is in memory. Documents of which only metadata is known are left out. Two statements.
 */
export async function readContents(
  ledger: ScopedLedger,
  partition: Partition,
  items: readonly Item[],
  take: (uuid: string, content: KnownDetail) => void,
): Promise<void> {
  const locations = [...(await readStoredLocations(ledger, partition, items)).values()].filter(
    (one): one is StoredLocation & ChunkLocation => one.chunk !== null && one.chunk_at !== null && one.chunk_parts !== null,
  )
  if (locations.length === 0) return
  const { results } = await prepared(
    ledger.d1,
    sql`select ${k.chunk}, hex(${k.data}) as data from json_each(${JSON.stringify(chunksOf(locations))}) wanted cross join ${cfdiChunks} ${k}
      where ${k.entity} = ${partition.number} and ${k.chunk} = wanted.value`,
  ).all<{ chunk: number; data: string }>()
  const dataOf = new Map(results.map(({ chunk, data }) => [chunk, data]))
  for (const [chunk, some] of Map.groupBy(locations, (one) => one.chunk)) {
    const parts = partsOf(Array.from({ length: some[0]!.chunk_parts }, (_, n) => dataOf.get(chunk + n)!))
    for (const { uuid, chunk_at } of some) take(uuid, contentOf(parts[chunk_at]))
  }
}
