import { Failure } from '../../failures.ts'
import type { System } from '../../platform/context.ts'
import { retryOnConflict } from '../../platform/db/retry.ts'
import { log } from '../../platform/log.ts'
import type { PublicSource } from '../catalog.ts'
import type { ListState } from '../tables.ts'
import { entriesOf } from './entries.ts'
import { fetchInto } from './fetch.ts'
import { readList69b } from './list-69b.ts'
import { ListRefused, refuseImplausible } from './refusal.ts'
import { findList, loadStatements, recordRefusal } from './store.ts'

const SOURCE: PublicSource = 'sat_69b'

/** The key of the list's file in the bucket FILES. An operator or `refreshLists` puts it there. */
export const LIST_OBJECT = 'lists/sat_69b.csv'

/** The authority's file has 5 MB. It is read into memory as a whole. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

export type LoadOutcome = 'loaded' | 'unchanged' | 'refused'

interface ListFile {
  /** SHA-256 of its content, in hexadecimal. */
  digest: string
  fetched_at: Date
}

/**
 * Brings the list up to date: loads the file in the bucket, and then, when LIST_69B_URL is set, the file at that address if it is newer.
 * Throws when the address cannot be read; the loaded list stays in use.
 */
export async function refreshLists(system: System): Promise<void> {
  const before = await loadObject(system)
  const url = system.settings.list69bUrl
  if (url !== null && (await fetchInto(system.env.FILES, LIST_OBJECT, url, before, MAX_FILE_BYTES))) await loadObject(system)
}

async function loadObject(system: System): Promise<R2Object | null> {
  const object = await system.env.FILES.get(LIST_OBJECT)
  if (object === null) return null
  if (object.size > MAX_FILE_BYTES) {
    await object.body.cancel()
    const refusal = new ListRefused('list.too_large', `The file has ${object.size} bytes. The limit is ${MAX_FILE_BYTES} bytes.`)
    await refuse(system, await findList(system.db.$client, SOURCE), object.etag, refusal)
  } else await loadList(system, await object.bytes(), object.uploaded)
  return object
}

/**
 * Replaces the loaded list by a file, or refuses the file as a whole. A file that is loaded or refused a second time writes nothing. Throws
 * Failure 409 list.changed when other loads keep replacing the list at the same time.
 */
export async function loadList(system: System, bytes: Uint8Array, fetched_at: Date): Promise<LoadOutcome> {
  const file = { digest: new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex(), fetched_at }
  return retryOnConflict(
    () => attemptLoad(system, file, bytes),
    () => new Failure('contention', 'list.changed', 'Other loads keep replacing the list at the same time. Try again.'),
  )
}

async function attemptLoad(system: System, file: ListFile, bytes: Uint8Array): Promise<LoadOutcome> {
  const loaded = await findList(system.db.$client, SOURCE)
  if (loaded?.digest === file.digest) return 'unchanged'
  try {
    await replace(system, loaded, file, bytes)
    return 'loaded'
  } catch (error) {
    if (error instanceof ListRefused) return refuse(system, loaded, file.digest, error)
    throw error
  }
}

const vintageOf = (loaded: ListState | null) => (loaded?.list_date ? { list_date: loaded.list_date, row_count: loaded.row_count } : null)

async function replace(system: System, loaded: ListState | null, { digest, fetched_at }: ListFile, bytes: Uint8Array): Promise<void> {
  const { list_date, rows } = readList69b(bytes)
  const { entries, row_count, suppressed, illegible } = entriesOf(rows)
  refuseImplausible(vintageOf(loaded), { list_date, row_count }, system.now)
  const load = { source: SOURCE, version: loaded?.version ?? 0, digest, list_date, fetched_at: fetched_at.getTime(), row_count }
  await system.db.$client.batch(loadStatements(system.db.$client, load, entries))
  const members = { source: SOURCE, list_date, row_count, rfcs: entries.length, suppressed, illegible }
  log.info(system, { message: 'A list was loaded.', ...members })
}

async function refuse(system: System, loaded: ListState | null, digest: string, { code, message }: ListRefused): Promise<'refused'> {
  const refusal = { source: SOURCE, digest, code, detail: message, at: system.now.getTime() }
  const isRecorded = loaded?.refused_digest === digest && loaded.refused_code === code && loaded.refused_detail === message
  if (!isRecorded) await recordRefusal(system.db.$client, refusal).run()
  const members = { source: SOURCE, code, detail: message, loaded: loaded?.list_date ?? null }
  log.error(system, 'A list was refused. The loaded list stays in use.', members)
  return 'refused'
}
