import { type SQL, sql } from 'drizzle-orm'
import type { System } from '../../platform/context.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { configOf } from '../connector.ts'
import { type Destination, DestinationError, isRefusal } from '../drivers/port.ts'
import { storageConnectors as connectors } from '../tables.ts'
import { connectorLease, setConnector, type WorkRow } from './store.ts'

/**
 * Each batch leaves a part with a line for each of its documents. Parts are numbered, so that a batch that is repeated leaves the same part
 * again. Manifests are made of them, and list the documents at the destination.
 */

/** A manifest at a destination. Each one names the one before it, so that none can be missing unnoticed. */
interface Listed {
  path: string
  sha256: string
}

/**
 * The last manifest of each place, with its day and the last number of that day, and the part up to which nothing remains to be listed.
 * `due` is the day for which the daily review wants another one; null or absent when it wants none.
 */
interface Manifest {
  last: Record<string, { day: string; n: number; listed: Listed | null }>
  parts: number
  due?: string | null
}

/** Places of which the last manifest is remembered. */
const REMEMBERED = 20

/** The most bytes of a manifest, and the most parts, each of which is read separately. */
const BYTES = 4 * 1024 * 1024
const PARTS = 250
const READS_AT_ONCE = 4

const NONE: Manifest = { last: {}, parts: 0 }
const KNOWN = sql`coalesce(${connectors.manifest}, ${JSON.stringify(NONE)})`
const LAST = ({ manifest }: Pick<WorkRow, 'manifest'>): Manifest => (manifest === null ? NONE : (JSON.parse(manifest) as Manifest))
const encoded = (...texts: string[]): Uint8Array => new TextEncoder().encode(texts.join(''))
const lineOf = (value: object): string => `${JSON.stringify(value)}\n`

/** The part of a config that says where objects lie: each place has manifests of its own. */
export function locationOf(config: object): string {
  const { path_template, region, path_style, tenant, ...location } = config as Record<string, unknown>
  return JSON.stringify(Object.entries(location).sort())
}

/** The last manifest at the place of a connector; null before the first one. */
export const lastManifestOf = (row: Pick<WorkRow, 'manifest' | 'config'>): Listed | null =>
  LAST(row).last[locationOf(configOf(row))]?.listed ?? null

/** When a connector moves, keeps the copies at its old place out of the manifests of the new one. */
export const moveManifests = (connector: number): SQL =>
  setConnector(connector, { manifest: sql`json_set(${KNOWN}, '$.parts', ${connectors.parts}, '$.due', null)` })

/** Says that a manifest of the day is due, unless there is nothing left to list. The sweep finds it until it is written. */
export const orderManifest = ({ connector }: Pick<WorkRow, 'connector'>, day: string): SQL => {
  const due = sql`iif(${connectors.parts} > coalesce(${connectors.manifest}->>'parts', 0), ${day}, null)`
  return setConnector(connector, { manifest: sql`json_set(${KNOWN}, '$.due', ${due})` })
}

/**
 * Deletes the parts that no manifest lists any more because the connector moved. A crash leaves parts that are deleted with the connector.
 */
export async function dropParts({ env }: System, row: Pick<WorkRow, 'connector_id' | 'manifest' | 'parts'>): Promise<void> {
  for (let after = LAST(row).parts; after < row.parts; after += 1_000)
    await env.FILES.delete(keysOf(row, after, Math.min(after + 1_000, row.parts)))
}

export const partsPrefix = (connector_id: string): string => `storage/${connector_id}/`
const keyOf = ({ connector_id }: Pick<WorkRow, 'connector_id'>, part: number): string => `${partsPrefix(connector_id)}${part}`
const keysOf = (row: Pick<WorkRow, 'connector_id'>, after: number, last: number): string[] =>
  Array.from({ length: last - after }, (_, i) => keyOf(row, after + 1 + i))

/** Stores the lines of the next batch, before it is committed. */
export const putPart = async ({ env }: System, row: WorkRow, lines: readonly string[]): Promise<void> => {
  await env.FILES.put(keyOf(row, row.parts + 1), `${lines.join('\n')}\n`)
}

/** Whether a copy is in no manifest. */
export const isUnlisted = (row: WorkRow): boolean => row.parts > LAST(row).parts

/** The day for which a manifest is due: that of the daily review, or the present one when there is enough for a whole one; null when none is. */
export const dueManifest = (row: WorkRow): string | null =>
  (isUnlisted(row) && LAST(row).due) || (row.parts - LAST(row).parts >= PARTS ? clock.date().toISOString().slice(0, 10) : null)

const folderOf = ({ connector_id }: Pick<WorkRow, 'connector_id'>): string => `manifests/${connector_id}`

/** The path of the nth manifest of a day. Several connectors may have one place. */
const manifestPath = (row: WorkRow, day: string, n: number): string => `${folderOf(row)}/${day}/manifest${n === 1 ? '' : `-${n}`}.jsonl`

async function putText(destination: Destination, path: string, bytes: Uint8Array, content_type: string): Promise<Listed> {
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource)).toHex()
  await destination.put(path, { bytes, content_type, sha256 })
  return { path, sha256 }
}

/** Whether a destination takes a valid object of ours. */
export async function takesObjects(destination: Destination, row: Pick<WorkRow, 'connector_id'>): Promise<boolean> {
  try {
    await putText(destination, `${folderOf(row)}/check.txt`, encoded(`${clock.date().toISOString()}\n`), 'text/plain')
    return true
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
    return false
  }
}

/** Says which manifest is the last. Where no object can be replaced, only the connector's record says it. */
async function putLatest(destination: Destination, row: Pick<WorkRow, 'connector_id'>, listed: Listed): Promise<void> {
  try {
    await putText(destination, `${folderOf(row)}/latest.json`, encoded(lineOf(listed)), 'application/json')
  } catch (error) {
    if (!(error instanceof DestinationError && isRefusal(error))) throw error
  }
}

/**
 * Lists everything unlisted in manifests, as far as the budget allows. A manifest that a crash interrupted is written again under the same
 * name, or under the next one where it cannot be replaced. Days never go back: a manifest for an earlier day counts among those of the
 * last. The last line of each says how many lines it has, and which manifest comes before it. Returns whether something is left. Throws
 * DestinationError.
 */
export async function writeManifests(
  system: System,
  d1: D1Database,
  row: Leased<WorkRow>,
  destination: Destination,
  wanted: string,
): Promise<boolean> {
  const location = locationOf(configOf(row))
  const keep = async (manifest: Manifest): Promise<void> => {
    row.manifest = JSON.stringify(manifest)
    await connectorLease.commit(d1, row, [setConnector(row.connector, { manifest: row.manifest })])
  }
  for (let known = LAST(row); known.parts < row.parts; known = LAST(row)) {
    if (!system.budget.allows(20)) return true
    const { texts, parts } = await readParts(system, row, known.parts)
    const { [location]: before, ...others } = known.last
    const day = before === undefined || wanted > before.day ? wanted : before.day
    const n = before?.day === day ? before.n + 1 : 1
    const remembered = Object.fromEntries(Object.entries(others).slice(1 - REMEMBERED))
    const end = lineOf({ lines: texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0), previous: before?.listed ?? null })
    const listed = await putText(destination, manifestPath(row, day, n), encoded(...texts, end), 'application/x-ndjson').catch(
      async (error) => {
        if (error instanceof DestinationError && error.code === 'refused')
          await keep({ ...known, last: { ...remembered, [location]: { day, n, listed: before?.listed ?? null } } })
        throw error
      },
    )
    await putLatest(destination, row, listed)
    const due = parts < row.parts ? (known.due ?? null) : null
    await keep({ last: { ...remembered, [location]: { day, n, listed } }, parts, due })
    await system.env.FILES.delete(keysOf(row, known.parts, parts))
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
