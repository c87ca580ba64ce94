import type { System } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import type { PublicSource } from '../catalog.ts'
import type { ListState } from '../tables.ts'
import { entriesOf } from './entries.ts'
import { fetchInto } from './fetch.ts'
import { readList69b } from './list-69b.ts'
import { ListRefused, type RefusalCode, refuseUnlikely } from './refusal.ts'
import { findList, keepRefusal, loadStatements } from './store.ts'

const SOURCE: PublicSource = 'sat_69b'

/** Where the list's file lies in FILES, whoever put it there: README, "Operating". */
export const LIST_OBJECT = 'lists/sat_69b.csv'

/** The authority's is 5 MB. It is held whole while it is read. */
const LARGEST_FILE = 16 * 1024 * 1024

export type Outcome = 'loaded' | 'unchanged' | 'refused'

interface ListFile {
  /** SHA-256 of its content, in hex. */
  digest: string
  fetched_at: Date
}

/** Of loads at once each round lets one through. */
const MAX_ATTEMPTS = 5

/**
 * Brings the list up to date from the bucket: first whatever file lies there, then, where LIST_69B_URL says one, what that address has
 * new. Throws when the address cannot be asked; the list that is held stays.
 */
export async function refreshLists(system: System): Promise<void> {
  const before = await loadObject(system)
  const address: string = system.env.LIST_69B_URL
  if (address !== '' && (await fetchInto(system.env.FILES, LIST_OBJECT, address, before, LARGEST_FILE))) await loadObject(system)
}

async function loadObject(system: System): Promise<R2Object | null> {
  const object = await system.env.FILES.get(LIST_OBJECT)
  if (object === null) return null
  if (object.size > LARGEST_FILE) {
    await object.body.cancel()
    const refusal = new ListRefused('list.too_large', `The file has ${object.size} bytes; ${LARGEST_FILE} are the most that is read.`)
    await refuse(system, await findList(system.env.DB, SOURCE), object.etag, refusal)
  } else await loadList(system, await object.bytes(), object.uploaded)
  return object
}

/** Takes a file in the place of the list that is held, whole or not at all. The same file again writes nothing, nor does one refused again. */
export async function loadList(system: System, bytes: Uint8Array, fetched_at: Date, attempt = 1): Promise<Outcome> {
  const file = { digest: new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex(), fetched_at }
  const held = await findList(system.env.DB, SOURCE)
  if (held?.digest === file.digest) return 'unchanged'
  try {
    await replace(system, held, file, bytes)
  } catch (error) {
    if (error instanceof ListRefused) return refuse(system, held, file.digest, error)
    // Another load came first: judged again, against what that one left.
    if (isGuardViolation(error) && attempt < MAX_ATTEMPTS) return loadList(system, bytes, fetched_at, attempt + 1)
    throw error
  }
  return 'loaded'
}

const vintageOf = (held: ListState | null) => (held?.list_date ? { list_date: held.list_date, row_count: held.row_count } : null)

async function replace(system: System, held: ListState | null, { digest, fetched_at }: ListFile, bytes: Uint8Array): Promise<void> {
  const { list_date, rows } = readList69b(bytes)
  const { entries, row_count, suppressed, illegible } = entriesOf(rows)
  refuseUnlikely(vintageOf(held), { list_date, row_count }, system.now)
  const load = { source: SOURCE, onto: held?.version ?? 0, digest, list_date, fetched_at: fetched_at.getTime(), row_count }
  await system.env.DB.batch(loadStatements(system.env.DB, load, entries))
  say(system, 'info', { message: 'A list was loaded.', list_date, row_count, rfcs: entries.length, suppressed, illegible })
}

async function refuse(system: System, held: ListState | null, digest: string, { code, message }: ListRefused): Promise<'refused'> {
  const refusal = { source: SOURCE, digest, code, detail: message, at: system.now.getTime() }
  const isKnown = held?.refused_digest === digest && held.refused_code === code && held.refused_detail === message
  if (!isKnown) await keepRefusal(system.env.DB, refusal).run()
  say(system, 'error', { message: 'A list was refused, the one that is held stays.', code, detail: message, held: held?.list_date ?? null })
  return 'refused'
}

type Told = Record<string, string | number | null> & { code?: RefusalCode }

const say = ({ requestId }: System, level: 'info' | 'error', told: Told): void =>
  console[level === 'info' ? 'log' : 'error'](JSON.stringify({ level, request_id: requestId, source: SOURCE, ...told }))
