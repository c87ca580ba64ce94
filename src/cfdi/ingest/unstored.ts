import type { MetadataRow } from '../package/metadata.ts'
import type { IngestTarget } from './commit-slice.ts'
import type { UnopenedFile } from './read-entries.ts'
import { type KnownCfdi, readStored } from './reads.ts'

/** Documents of one look-up. It takes one statement, where a slice that is unchanged takes two for a tenth as many. */
const LOOKED_UP = 10_000

/** Returns the files whose documents are not stored with these bytes. */
export const unstoredFiles = (target: IngestTarget, files: Iterable<UnopenedFile>): Promise<UnopenedFile[]> =>
  unstored(target, files, (file, stored) => stored.xml_crc === file.crc && stored.xml_size === file.size)

/** Returns the metadata rows that would change something. */
export const unstoredRows = (target: IngestTarget, rows: Iterable<MetadataRow>): Promise<MetadataRow[]> =>
  unstored(target, rows, (row, stored) => !row.cancelled || stored.cancelled === 1)

async function unstored<T extends { uuid: string | null }>(
  { ledger, entity, beforeSlice }: IngestTarget,
  items: Iterable<T>,
  isStored: (item: T, stored: KnownCfdi) => boolean,
): Promise<T[]> {
  const all = [...items]
  const left: T[] = []
  for (let at = 0; at < all.length; at += LOOKED_UP) {
    beforeSlice?.()
    const group = all.slice(at, at + LOOKED_UP)
    const stored = await readStored(
      ledger,
      entity,
      group.flatMap(({ uuid }) => uuid ?? []),
    )
    for (const item of group) {
      const known = item.uuid === null ? undefined : stored.get(item.uuid)
      if (known === undefined || !isStored(item, known)) left.push(item)
    }
  }
  return left
}
