import { Buffer } from 'node:buffer'
import { packed, unpacked } from '../../platform/db/packed.ts'
import type { CfdiRow } from '../columns.ts'

/** The documents of a chunk, and its bytes before it is packed. A longer document has several chunks of its own. */
const MOST_DOCUMENTS = 100
const MOST_BYTES = 256 * 1024
/** More chunks than one commit can write: a slice has 1,000 documents and a few megabytes. */
const CHUNKS_PER_COMMIT = 10_000

/** The commit that wrote a chunk, and stored the documents in it as they are. */
export const commitOf = (chunk: number): number => Math.floor(chunk / CHUNKS_PER_COMMIT)

/** The first chunk that a commit can write. */
export const firstChunkOf = (sequence: number): number => sequence * CHUNKS_PER_COMMIT

/** A chunk with its number. `data` is packed. */
export interface Chunk {
  chunk: number
  data: string
}

/** Where the content of a document is: columns of `cfdi`. */
export type ChunkLocation = { [Name in 'chunk' | 'chunk_at' | 'chunk_parts']: NonNullable<CfdiRow[Name]> }

/**
 * Forms the chunks of a commit out of the contents of its documents, and sets their locations in the rows. They lie in the order of direction
 * and issued_at, so that what is read together lies together.
 */
export function formChunks(documents: readonly { row: CfdiRow; content: string | null }[], sequence: number): Chunk[] {
  const chunks: Chunk[] = []
  let open: string[] = []
  let bytes = 0
  const push = (data: string | Uint8Array) => chunks.push({ chunk: next(), data: packed(data) })
  const next = () => firstChunkOf(sequence) + chunks.length
  const close = () => {
    if (open.length > 0) push(`[${open.join(',')}]`)
    open = []
    bytes = 0
  }
  for (const { row, content } of documents.toSorted((a, b) => a.row.direction - b.row.direction || a.row.issued_at - b.row.issued_at)) {
    if (content === null) continue
    const size = Buffer.byteLength(content) + 2
    if (open.length === MOST_DOCUMENTS || bytes + size > MOST_BYTES) close()
    Object.assign(row, { chunk: next(), chunk_at: open.length, chunk_parts: Math.ceil(size / MOST_BYTES) } satisfies ChunkLocation)
    open.push(content)
    bytes += size
    if (size <= MOST_BYTES) continue
    const whole = Buffer.from(`[${content}]`)
    for (let at = 0; at < size; at += MOST_BYTES) push(whole.subarray(at, at + MOST_BYTES))
    open = []
    bytes = 0
  }
  close()
  return chunks
}

/** The parts of all documents of a chunk, or of the one document that has several. */
export const partsOf = (data: readonly string[]): unknown[] => JSON.parse(Buffer.concat(data.map(unpacked)).toString())

/** The part of a document, out of all its chunks. */
export const partOf = (data: readonly string[], at: number): unknown => partsOf(data)[at]

/** The numbers of the chunks in which documents are. */
export const chunksOf = (locations: readonly ChunkLocation[]): number[] => [
  ...new Set(locations.flatMap(({ chunk, chunk_parts }) => Array.from({ length: chunk_parts }, (_, n) => chunk + n))),
]

/** What is left of chunks without some of their documents. `data` is null where nothing is left. The others keep their places. */
export function withoutDocuments(chunks: readonly Chunk[], removed: readonly ChunkLocation[]): { chunk: number; data: string | null }[] {
  const locations = Map.groupBy(removed, ({ chunk }) => chunk)
  return chunks.map(({ chunk, data }) => {
    const gone = locations.get(chunk)
    // The other chunks of a longer document hold nothing else.
    if (gone === undefined || gone[0]!.chunk_parts > 1) return { chunk, data: null }
    const parts = partsOf([data])
    for (const { chunk_at } of gone) parts[chunk_at] = 0
    return { chunk, data: parts.every((part) => part === 0) ? null : packed(JSON.stringify(parts)) }
  })
}
