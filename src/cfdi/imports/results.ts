import { Buffer } from 'node:buffer'
import { packed, unpacked } from '../../platform/db/packed.ts'
import type { EntryResult } from '../ingest/ingest.ts'
import type { ImportedFile } from './contract.ts'

/** The files of one row, and its bytes before it is packed. */
const MOST_FILES = 1_000
const MOST_BYTES = 256 * 1024

type Counts = Record<EntryResult['status'], number>

/** The results of files, as one row stores them. `data` is packed. */
export interface ResultsRow {
  first_n: number
  last_n: number
  counts: Counts
  ranges: [from: number, to: number][]
  data: string
}

/** Divides the results of files into rows. */
export function rowsOfResults(results: readonly EntryResult[]): ResultsRow[] {
  const rows: ResultsRow[] = []
  let [from, bytes] = [0, 0]
  const sorted = results.toSorted((a, b) => a.n - b.n)
  const texts = sorted.map(({ n, name, status, uuid, code, detail, rejected_rows = [] }) =>
    JSON.stringify([n, name, status, uuid, code, detail, rejected_rows.map(({ line, code: why }) => [line, why])]),
  )
  const close = (to: number) => {
    if (to > from) rows.push(rowOf(sorted.slice(from, to), `[${texts.slice(from, to).join(',')}]`))
    from = to
    bytes = 0
  }
  texts.forEach((text, n) => {
    const size = Buffer.byteLength(text) + 1
    if (n - from === MOST_FILES || bytes + size > MOST_BYTES) close(n)
    bytes += size
  })
  close(sorted.length)
  return rows
}

function rowOf(results: readonly EntryResult[], text: string): ResultsRow {
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  const ranges: ResultsRow['ranges'] = []
  for (const { n, status } of results) {
    counts[status]++
    const last = ranges.at(-1)
    if (last?.[1] === n - 1) last[1] = n
    else ranges.push([n, n])
  }
  return { first_n: results[0]!.n, last_n: results.at(-1)!.n, counts, ranges, data: packed(text) }
}

type Stored = [number, ...[string, ImportedFile['status'], string | null, string | null, string | null], [line: number, code: string][]]

/** The first results of rows, in the order of the upload. */
export const filesIn = (rows: readonly { data: string }[], limit: number): ImportedFile[] =>
  rows
    .flatMap(({ data }) => JSON.parse(unpacked(data).toString()) as Stored[])
    .sort(([a], [b]) => a - b)
    .slice(0, limit)
    .map(([, name, status, uuid, code, detail, rejected]) => {
      return { name, status, uuid, code, detail, rejected_rows: rejected.map(([line, code]) => ({ line, code })) }
    })
