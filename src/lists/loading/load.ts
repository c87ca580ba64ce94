import { LISTED } from '../../authority/sandbox/lists/listed.ts'
import { joined } from '../../platform/bytes/bytes.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { retryOnConflict } from '../../platform/db/guard.ts'
import { readFirst } from '../../platform/db/statement.ts'
import { Failure } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { memory } from '../../platform/memory-limiter.ts'
import { BudgetUsedUp } from '../../platform/work/budget.ts'
import { sendAll, sendHints } from '../../platform/work/send.ts'
import { type ListingStep, objectOf, PUBLIC, PUBLIC_SOURCES, type PublicSource, type Situacion } from '../catalog.ts'
import type { ListState } from '../tables.ts'
import { entriesOf, formatOf, type ListEntry, ListRefused, plainEntriesOf, readList, refuseImplausible } from './read-list.ts'
import { abandonStatement, findList, loadParts, loadStatements, PART_STATEMENTS, recordRefusal } from './store.ts'

const TIMEOUT_MS = 120_000

/** Reads the body. Throws as soon as it exceeds the limit. */
async function bytesOf(response: Response, limit: number, name: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > limit) throw new Error(`The response of ${name} exceeds ${limit} bytes.`)
    parts.push(part)
  }
  return joined(parts)
}

/**
 * Stores the file at a URL as an object of the bucket. Does nothing when the file has not changed since it was last fetched from that URL,
 * or when the object has been replaced since `before` was read. Returns whether it stored the file. Throws when the response is neither 200
 * nor 304; the error has the `name` of the URL, and not its path and query, which may be secret.
 */
async function fetchInto(
  files: R2Bucket,
  key: string,
  { url, name }: { url: string; name: string },
  before: R2Object | null,
  limit: number,
): Promise<boolean> {
  const known = before?.customMetadata?.['address'] === url ? before.customMetadata : {}
  const headers = {
    ...(known['etag'] !== undefined && { 'If-None-Match': known['etag'] }),
    ...(known['last_modified'] !== undefined && { 'If-Modified-Since': known['last_modified'] }),
  }
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new Error(`${name} could not be fetched (${error.name}).`)
  })
  if (response.status !== 200) await response.body?.cancel()
  if (response.status === 304) return false
  if (response.status !== 200) throw new Error(`${name}, at ${new URL(url).host}, answered ${response.status}.`)
  const [etag, last_modified] = [response.headers.get('etag'), response.headers.get('last-modified')]
  const customMetadata = { address: url, ...(etag !== null && { etag }), ...(last_modified !== null && { last_modified }) }
  const onlyIf = before === null ? { etagDoesNotMatch: '*' } : { etagMatches: before.etag }
  return (await files.put(key, await bytesOf(response, limit, name), { customMetadata, onlyIf })) !== null
}

/** The day up to which the sandbox's lists are current. */
const SANDBOX_DAY = '2026-01-01'

const step = (situacion: Situacion | null, sat_at: string, dof_at: string | null): ListingStep => ({
  ...{ situacion, sat_at, dof_at },
  oficio: situacion && `500-05-${sat_at.slice(0, 4)}-${situacion.length}${sat_at.slice(5, 7)} de fecha ${sat_at}`,
})

const PRESUMED = step('presunto', '2023-03-01', '2023-03-24')
const RESOLVED: Record<Exclude<Situacion, 'presunto'>, ListingStep> = {
  desvirtuado: step('desvirtuado', '2024-02-01', '2024-02-26'),
  definitivo: step('definitivo', '2024-06-03', '2024-06-28'),
  sentencia_favorable: step('sentencia_favorable', '2025-04-01', '2025-04-29'),
}

function historyOn(source: PublicSource, situacion: Situacion): ListingStep[] {
  if (source === 'sat_69b') return situacion === 'presunto' ? [PRESUMED] : [PRESUMED, RESOLVED[situacion]]
  if (source === 'sat_69b_bis') return [RESOLVED.definitivo]
  return [step(null, '2022-05-16', null)]
}

/** The entries of a list in the sandbox, in the order of their RFCs. */
const sandboxEntries = (source: PublicSource): ListEntry[] =>
  LISTED.filter(({ lists }) => source === 'sat_69b' || (lists as readonly string[]).includes(source))
    .map(({ rfc, nombre, situacion }) => {
      const history = historyOn(source, situacion)
      return { rfc, name: nombre, situacion: history.at(-1)!.situacion, history, has_undated: false }
    })
    .sort((a, b) => (a.rfc < b.rfc ? -1 : 1))

/** The largest files of the authority have 21 MB. A file is read into memory as a whole, one at a time in an isolate. */
const MAX_FILE_BYTES = 24 * 1024 * 1024

/** Stands for the digest of the sandbox's list. */
const SANDBOX = 'sandbox'

export type LoadOutcome = 'loaded' | 'unchanged' | 'refused'

interface ListFile {
  source: PublicSource
  /** SHA-256 of its content, in hexadecimal. */
  digest: string
  fetched_at: Date
  /** When the authority wrote it, `YYYY-MM-DD`. */
  day: string
}

/**
 * Brings every list up to date, each in an invocation of its own, or in several when it is large. A task, whose cursor is a list.
 */
export async function refreshLists(system: System, cursor: string): Promise<string | null> {
  const source = PUBLIC_SOURCES.find((one) => one === cursor)
  const at = system.now.getTime()
  const notify = { body: { task: 'notifyListings', at, cursor: '' } }
  if (source === undefined)
    await sendAll(
      system.env.TASKS,
      PUBLIC_SOURCES.map((one) => ({ body: { task: 'refreshLists', at, cursor: one } })),
    )
  else {
    try {
      if (await refreshList(system, source)) await sendHints(system, system.env.TASKS, [notify])
    } catch (error) {
      if (error instanceof BudgetUsedUp) return cursor
      throw error
    }
  }
  return null
}

/**
 * Brings a list up to date: loads its file in the bucket, and then, when LIST_URLS has its address, the file there if it is newer. Returns
 * whether the list changed. Throws when the address cannot be read; the loaded list stays in use.
 */
export const refreshList = (system: System, source: PublicSource): Promise<boolean> =>
  memory.hold(MAX_FILE_BYTES, async () => {
    const { object, isLoaded } = await loadObject(system, source)
    const url = system.settings.listUrls[source]
    if (url === undefined) return isLoaded
    const at = { url, name: `The URL of ${source} in LIST_URLS` }
    const isFetched = await fetchInto(system.env.FILES, objectOf(source), at, object, MAX_FILE_BYTES)
    return (isFetched && (await loadObject(system, source)).isLoaded) || isLoaded
  })

async function loadObject(system: System, source: PublicSource): Promise<{ object: R2Object | null; isLoaded: boolean }> {
  const object = await system.env.FILES.get(objectOf(source))
  if (object === null) return { object, isLoaded: await loadSandboxList(system, source) }
  if (object.size > MAX_FILE_BYTES) {
    await object.body.cancel()
    const refusal = new ListRefused('list.too_large', `The file has ${object.size} bytes. The limit is ${MAX_FILE_BYTES} bytes.`)
    await refuse(system, source, await readFirst(system.db.$client, findList(PUBLIC, source)), object.etag, refusal)
    return { object, isLoaded: false }
  }
  const outcome = await loadList(system, source, await object.bytes(), object.uploaded, modifiedAt(object))
  return { object, isLoaded: outcome === 'loaded' }
}

/** Loads the sandbox's list when there is no other. Any file replaces it. Returns whether it was loaded. */
async function loadSandboxList(system: System, source: PublicSource): Promise<boolean> {
  const d1 = system.db.$client
  if (system.settings.taxAuthority !== 'sandbox' || (await readFirst(d1, findList(PUBLIC, source))) !== null) return false
  const entries = sandboxEntries(source)
  const sandbox = { version: 0, digest: SANDBOX, list_date: SANDBOX_DAY, fetched_at: system.now.getTime(), row_count: entries.length }
  const load = { organization_id: PUBLIC, source, label: null, ...sandbox }
  await commit(d1, loadStatements(load, entries))
  return true
}

/** When the authority wrote a fetched file, as it said; otherwise when an operator put it into the bucket. */
function modifiedAt({ customMetadata, uploaded }: R2Object): Date {
  const at = new Date(customMetadata?.['last_modified'] ?? uploaded)
  return Number.isNaN(at.getTime()) ? uploaded : at
}

/**
 * Replaces a loaded list by a file, or refuses the file as a whole. A file that is loaded or refused a second time writes nothing. A list that
 * does not state its date has that of `modified_at`. Throws Failure 409 list.changed when other loads keep replacing the list at the same time.
 */
export async function loadList(
  system: System,
  source: PublicSource,
  bytes: Uint8Array,
  fetched_at: Date,
  modified_at = fetched_at,
): Promise<LoadOutcome> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
  const file = { source, digest, fetched_at, day: modified_at.toISOString().slice(0, 10) }
  const contention = () => new Failure('contention', 'list.changed', 'Other loads keep replacing the list at the same time. Try again.')
  const find = () => readFirst(system.db.$client, findList(PUBLIC, source))
  return replacingList(system.db.$client, digest, find, (loaded) => attemptLoad(system, file, bytes, loaded), contention)
}

/** Repeats an attempt to replace a list by a file, and gives up the unfinished load of another one before it. */
export function replacingList<List extends ListState | null, T>(
  d1: D1Database,
  digest: string,
  find: () => Promise<List>,
  attempt: (list: List) => Promise<T>,
  contention: () => Failure,
): Promise<T> {
  let isFirst = true
  return retryOnConflict(async () => {
    let list = await find()
    if (list?.loading != null && list.loading !== digest) {
      // Two loads of different files would give each other up without end.
      if (!isFirst) throw contention()
      await commit(d1, [abandonStatement(list)])
      list = await find()
    }
    isFirst = false
    return attempt(list)
  }, contention)
}

async function attemptLoad(system: System, file: ListFile, bytes: Uint8Array, loaded: ListState | null): Promise<LoadOutcome> {
  if (loaded?.digest === file.digest && loaded.loading === null) return 'unchanged'
  try {
    await replace(system, loaded, file, bytes)
    return 'loaded'
  } catch (error) {
    if (error instanceof ListRefused) return refuse(system, file.source, loaded, file.digest, error)
    throw error
  }
}

const vintageOf = (loaded: ListState | null) =>
  loaded?.list_date && loaded.digest !== SANDBOX ? { list_date: loaded.list_date, row_count: loaded.row_count } : null

async function replace(system: System, loaded: ListState | null, file: ListFile, bytes: Uint8Array): Promise<void> {
  const { source, digest, fetched_at, day } = file
  const d1 = system.db.$client
  const format = formatOf(source, day)
  const { list_date, rows } = readList(bytes, format, day)
  const { entries, row_count, rfcs, suppressed, illegible, others } = format.steps.length > 0 ? entriesOf(rows) : plainEntriesOf(rows)
  refuseImplausible(vintageOf(loaded), { list_date, row_count, others }, system.now, format.least_share)
  const version = loaded?.version ?? 0
  const load = { organization_id: PUBLIC, source, version, label: null, digest, list_date, fetched_at: fetched_at.getTime(), row_count }
  for (const part of loadParts(load, entries)) {
    system.budget.require(PART_STATEMENTS)
    await commit(d1, part)
  }
  log.info(system, { message: 'A list was loaded.', source, list_date, row_count, rfcs, suppressed, illegible })
}

async function refuse(
  system: System,
  source: PublicSource,
  loaded: ListState | null,
  digest: string,
  { code, message }: ListRefused,
): Promise<'refused'> {
  const refusal = { source, digest, code, detail: message, at: system.now.getTime() }
  const isRecorded = loaded?.refused_digest === digest && loaded.refused_code === code && loaded.refused_detail === message
  if (!isRecorded) await commit(system.db.$client, [recordRefusal(refusal)])
  const members = { source, code, detail: message, loaded: loaded?.list_date ?? null }
  log.error(system, 'A list was refused. The loaded list stays in use.', members)
  return 'refused'
}
