import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { sql } from '../../platform/db/fragment.ts'
import type { Destination } from '../drivers/port.ts'
import { assertHeld, setConnector, type WorkRow } from './store.ts'

/**
 * Each batch leaves a part with a line for each of its documents. Parts are numbered, so that a batch that is repeated leaves the same part
 * again. Manifests are made of them, and tell what lies at the destination.
 */

/** The nth manifest of a day is the last one that is written, and has the parts up to this one. */
interface Manifest {
  day: string
  n: number
  parts: number
}

/** What a manifest has at most: bytes, and parts, each of which is read by itself. */
const BYTES = 4 * 1024 * 1024
const PARTS = 250
const READS_AT_ONCE = 4

const LAST = (row: WorkRow): Manifest => (row.manifest === null ? { day: '', n: 0, parts: 0 } : (JSON.parse(row.manifest) as Manifest))

export const partsPrefix = (connector_id: string): string => `storage/${connector_id}/`
const keyOf = ({ connector_id }: WorkRow, part: number): string => `${partsPrefix(connector_id)}${part}`

/** Stores what the next batch has copied, before it is committed. */
export const putPart = async ({ env }: System, row: WorkRow, lines: readonly string[]): Promise<void> => {
  await env.FILES.put(keyOf(row, row.parts + 1), `${lines.join('\n')}\n`)
}

/** Whether something has been copied that is in no manifest, and none is written yet this day. */
export const isManifestDue = (row: WorkRow, day: string): boolean => row.parts > LAST(row).parts && LAST(row).day !== day

/** The path of the nth manifest of a day. */
export const manifestPath = (day: string, n: number): string => `manifests/${day}/manifest${n === 1 ? '' : `-${n}`}.jsonl`

/**
 * Writes manifests of everything that is in none yet, as far as the budget allows. A manifest that a crash interrupted is written again
 * under the same name. Returns whether something is left. Throws DestinationError.
 */
export async function writeManifests(
  system: System,
  d1: D1Database,
  row: WorkRow,
  destination: Destination,
  day: string,
): Promise<boolean> {
  for (let last = LAST(row); last.parts < row.parts; last = LAST(row)) {
    if (!system.budget.allows(20)) return true
    const { texts, parts } = await readParts(system, row, last.parts)
    const bytes = new TextEncoder().encode(texts.join(''))
    const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
    const n = last.day === day ? last.n + 1 : 1
    await destination.put(manifestPath(day, n), { bytes, content_type: 'application/x-ndjson', sha256 })
    row.manifest = JSON.stringify({ day, n, parts } satisfies Manifest)
    await commit(d1, [assertHeld(d1, row), setConnector(d1, row.connector, sql`manifest = ${row.manifest}`)])
    await system.env.FILES.delete(Array.from({ length: parts - last.parts }, (_, i) => keyOf(row, last.parts + 1 + i)))
  }
  return false
}

/** Reads the parts after one, as many as a manifest has. */
async function readParts({ env }: System, row: WorkRow, after: number): Promise<{ texts: string[]; parts: number }> {
  const texts: string[] = []
  let size = 0
  for (let at = after; at < row.parts && at - after < PARTS; ) {
    const numbers = Array.from({ length: Math.min(READS_AT_ONCE, row.parts - at) }, (_, i) => at + 1 + i)
    const read = await Promise.all(numbers.map(async (n) => (await env.FILES.get(keyOf(row, n)))?.text() ?? ''))
    for (const text of read) {
      if (texts.length > 0 && size + text.length > BYTES) return { texts, parts: at }
      texts.push(text)
      size += text.length
      at++
    }
  }
  return { texts, parts: after + texts.length }
}
