import { crc32 } from 'node:zlib'
import { readStoredPlaces, type StoredPlace } from '../../../cfdi/chunks/contents.ts'
import { inflated, readPacked, type XmlPlace } from '../../../cfdi/mirrored/mirrored.ts'
import type { PageItem } from '../../../cfdi/search/search.ts'
import type { ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import type { Zip } from './formats/zip.ts'
import { byPartition } from './rows.ts'

type Known = StoredPlace & XmlPlace

const isKnown = (one: StoredPlace | undefined): one is Known => one !== undefined && one.xml_object !== null

/** A document of which the XML is known, with its place and the name of its file. */
export interface FileOf {
  name: string
  place: Known
}

/** By month; what was imported apart, because the authority may deliver the same document. */
const nameOf = ({ row, context }: PageItem): string =>
  `${context.partition.origin === 'import' ? 'imported/' : ''}${row.direction === 0 ? 'issued' : 'received'}/${row.fecha.slice(0, 7)}/${row.uuid}.xml`

/** The files of those documents whose XML is known, in their order. One statement for each partition. */
export async function filesOf(ledger: ScopedLedger, items: readonly PageItem[]): Promise<FileOf[]> {
  const places = new Map<string, StoredPlace>()
  for (const [partition, some] of byPartition(items))
    for (const [uuid, place] of await readStoredPlaces(ledger, partition, some)) places.set(uuid, place)
  return items.flatMap((item) => {
    const place = places.get(item.row.uuid)
    return isKnown(place) ? [{ name: nameOf(item), place }] : []
  })
}

/** Divides files so that those of a batch have so many bytes, or are one. */
export function* batchesOf(files: readonly FileOf[], bytes: number): Generator<FileOf[]> {
  let batch: FileOf[] = []
  let size = 0
  for (const file of files) {
    if (batch.length > 0 && size + file.place.xml_length > bytes) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(file)
    size += file.place.xml_length
  }
  if (batch.length > 0) yield batch
}

/** Adds files to an archive as they are stored, without packing them again. */
export async function addFiles(bucket: R2Bucket, zip: Zip, files: readonly FileOf[]): Promise<void> {
  const packed = await readPacked(
    bucket,
    files.map(({ place }) => place),
  )
  for (const { name, place } of files) {
    const bytes = packed.get(place)!
    const { xml_method: method, xml_crc, xml_size } = place
    if (xml_crc !== null && xml_size !== null) {
      zip.add(name, bytes, { method, crc: xml_crc, size: xml_size })
      continue
    }
    const plain = inflated(bytes, method)
    zip.add(name, bytes, { method, crc: crc32(plain), size: plain.length })
  }
}
