import type { MetadataRow } from '../package/metadata.ts'
import type { IngestTarget } from './commit-slice.ts'
import type { UnopenedFile } from './read-entries.ts'
import { type KnownCfdi, readStored } from './reads.ts'

/** Documents of one look-up. It takes one statement, where a slice that is unchanged takes two for a fifth as many. */
const LOOKED_UP = 5_000

type Few<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>

/** The files whose documents are not stored with these bytes. */
export async function* unstoredFiles(
  target: IngestTarget,
  files: AsyncIterable<UnopenedFile>,
): AsyncGenerator<UnopenedFile, void, undefined> {
  const isStored = (file: UnopenedFile, stored: KnownCfdi) => stored.xml_crc === file.crc && stored.xml_size === file.size
  for await (const group of groupsOf(one(files))) yield* await unstored(target, group, isStored)
}

/** The metadata rows that would change something, some at a time. */
export async function* unstoredRows(target: IngestTarget, rows: Few<MetadataRow>): AsyncGenerator<MetadataRow[], void, undefined> {
  const isStored = (row: MetadataRow, stored: KnownCfdi) => !row.cancelled || stored.cancelled === 1
  for await (const group of groupsOf(rows)) yield await unstored(target, group, isStored)
}

async function* one<T>(items: AsyncIterable<T>): AsyncGenerator<T[], void, undefined> {
  for await (const item of items) yield [item]
}

async function* groupsOf<T>(few: Few<T>): AsyncGenerator<T[], void, undefined> {
  let group: T[] = []
  for await (const items of few)
    for (const item of items) {
      group.push(item)
      if (group.length < LOOKED_UP) continue
      yield group
      group = []
    }
  if (group.length > 0) yield group
}

async function unstored<T extends { uuid: string | null }>(
  { ledger, entity, beforeSlice }: IngestTarget,
  group: readonly T[],
  isStored: (item: T, stored: KnownCfdi) => boolean,
): Promise<T[]> {
  beforeSlice?.()
  const uuids = group.flatMap(({ uuid }) => uuid ?? [])
  const stored = await readStored(ledger, entity, uuids)
  return group.filter((item) => {
    const known = item.uuid === null ? undefined : stored.get(item.uuid)
    return known === undefined || !isStored(item, known)
  })
}
