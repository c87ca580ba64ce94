import { sql } from 'drizzle-orm'
import { reserveQuota } from '../../accounts/plans/reserve-quota.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { recordsOf, textsOf } from '../../platform/csv.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { readFirst, readRows } from '../../platform/db/statement.ts'
import { Failure, type Fault, invalid, MOST_FAULTS, notFound, refuseFaults } from '../../platform/failures.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { letOthersGoOn } from '../../platform/work/pause.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { forgetListed } from '../listed/counterparties.ts'
import { replacingList } from '../loading/load.ts'
import type { ListEntry } from '../loading/read-list.ts'
import { findList, loadParts } from '../loading/store.ts'
import type { ListState } from '../tables.ts'
import { type CustomList, type CustomListDraft, type CustomLists, EntryName, MOST_CHARACTERS } from './contract.ts'
import { deleteCustomList, entriesUsed, findCustomLists, insertCustomList, listsUsed } from './store.ts'

/** Records of a CSV, empty ones too: as many as RFCs fit into the largest body. */
const MOST_RECORDS = 400_000
/** Cells of a CSV, or members of JSON, that are read before others go on. */
const CELLS_AT_ONCE = 10_000

/** A row of an upload, and how the answer names it. */
interface UploadedRow {
  /** How many cells it has. */
  cells: number
  at: string
  rfc: unknown
  name: unknown
  /** Its last cell is a quoted one that is never closed: something was cut off. */
  isCut?: boolean
}

const unreadable = (message: string) => invalid('blacklist.unreadable', [{ path: 'body', message }])

/** The rows of a CSV, and how many cells an empty one has. */
function* rowsOfCsv(bytes: Uint8Array): Generator<UploadedRow | Pick<UploadedRow, 'cells'>> {
  const records = recordsOf(textsOf(bytes))
  const first = records.next()
  const header = (first.done ? [] : first.value).map((cell) => cell.trim().toLowerCase())
  if (new Set(header).size < header.length) throw unreadable('The first line must name each column once.')
  const [rfc, name] = [header.indexOf('rfc'), header.findIndex((cell) => /^(name|nombre|raz[oó]n social)$/.test(cell))]
  if (rfc === -1) throw unreadable('The first line must name the columns: rfc, and name if there are names.')
  let line = 1
  let next = records.next()
  if (next.done && next.value) throw unreadable('The first line has a quote that is not closed.')
  while (!next.done) {
    const record = next.value
    if (++line > MOST_RECORDS) throw unreadable('The list has more than 400,000 lines, of which empty ones count too.')
    next = records.next()
    const isCut = next.done === true && next.value
    const isEmpty = !isCut && record.every((cell) => cell.trim() === '')
    const cells = record.length
    yield isEmpty ? { cells } : { cells, at: `record ${line}`, rfc: record[rfc], name: record[name] ?? '', isCut }
  }
}

function* rowsOfJson(bytes: Uint8Array): Generator<UploadedRow> {
  let entries: unknown
  try {
    entries = (JSON.parse([...textsOf(bytes)].join('')) as { entries?: unknown } | null)?.entries
  } catch {
    throw unreadable('The body is not valid JSON.')
  }
  if (!Array.isArray(entries))
    throw unreadable('Must be an object with the list `entries` of objects with rfc, and name if there are names.')
  if (entries.length > MOST_RECORDS) throw unreadable('The list has more than 400,000 entries.')
  for (const [n, entry] of entries.entries()) {
    const { rfc, name, ...others } = (entry ?? {}) as Record<string, unknown>
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw invalid('blacklist.invalid', [{ path: `entries[${n}].${unknown}`, message: 'Is not a known member.' }])
    yield { cells: 2, at: `entries[${n}]`, rfc, name: name ?? '' }
  }
}

/**
 * Reads an organization's own list: CSV with the columns rfc and name, or JSON with `entries`. An RFC that comes twice counts once. Throws
 * Failure 422 blacklist.unreadable, or blacklist.invalid with each row that is no entry.
 */
async function readCustomList(bytes: Uint8Array, isJson: boolean): Promise<ListEntry[]> {
  const found = new Map<string, ListEntry>()
  const faults: Fault[] = []
  let unlisted = 0
  const refuse = (path: string, message: string) => {
    if (faults.length < MOST_FAULTS) faults.push({ path, message })
    else unlisted++
  }
  let cells = 0
  for (const row of isJson ? rowsOfJson(bytes) : rowsOfCsv(bytes)) {
    cells += row.cells
    if (cells >= CELLS_AT_ONCE) {
      await letOthersGoOn()
      cells = 0
    }
    if (!('at' in row)) continue
    const { at, rfc, name, isCut } = row
    const read = EntryName.safeParse(name)
    const normal = typeof rfc === 'string' ? normalRfc(rfc) : ''
    if (isCut) refuse(at, 'A quote is not closed.')
    else if (!isRfc(normal))
      refuse(`${at}.rfc`, 'Must be an RFC: 12 or 13 characters with a valid date, of which the last is a digit or A.')
    else if (!read.success)
      refuse(
        `${at}.name`,
        `Must be readable text of at most ${MOST_CHARACTERS} characters without control characters. Check for an unclosed quote, because it includes the text after it.`,
      )
    else found.set(normal, { rfc: normal, name: read.data.replace(/\s+/g, ' '), situacion: null, history: [], has_undated: false })
  }
  refuseFaults('blacklist.invalid', faults, unlisted)
  return [...found.keys()].sort().map((rfc) => found.get(rfc)!)
}

export { entriesUsed, listsUsed } from './store.ts'

const sourceOf = (slug: string): string => `custom:${slug}`

const view = ({ source, label, row_count, version, fetched_at }: ListState): CustomList => ({
  source,
  slug: source.slice(sourceOf('').length),
  label: label ?? source,
  row_count,
  version,
  uploaded_at: fetched_at === null ? null : new Date(fetched_at).toISOString(),
})

/** Returns the organization's own lists, by slug. */
export const listCustomLists = async ({ db, organization }: Ctx): Promise<CustomLists> => ({
  data: (await readRows(db.$client, findCustomLists(organization.id))).map(view),
  ...WHOLE,
})

async function requireList({ db, organization }: Ctx, source: string): Promise<ListState> {
  const list = await readFirst(db.$client, findList(organization.id, source))
  if (!list) throw notFound('blacklist')
  return list
}

/** Creates an empty list of the organization. Throws Failure 409 blacklist.exists and blacklist.plan_limit. */
export async function createCustomList(ctx: Ctx, { slug, label }: CustomListDraft): Promise<CustomList> {
  const { organization, now } = ctx
  const source = sourceOf(slug)
  await reserveQuota(ctx, 'blacklists', listsUsed(organization.id), (reserved) =>
    change(ctx, { action: 'blacklist.created', resource_id: slug, changed: ['slug', 'label'] }, [
      ...reserved,
      insertCustomList(organization.id, source, label, now.getTime()),
    ]),
  ).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    throw new Failure('conflict', 'blacklist.exists', 'The organization has a list with this slug. Replace its content with PUT.')
  })
  return view(await requireList(ctx, source))
}

/**
 * Replaces the content of the organization's own list. The same content again changes nothing. Throws Failure 404 blacklist.not_found, 422
 * as `readCustomList` does, and 409 blacklist_entry.plan_limit.
 */
export async function replaceCustomList(ctx: Ctx, slug: string, bytes: Uint8Array, isJson: boolean): Promise<CustomList> {
  const source = sourceOf(slug)
  await requireList(ctx, source)
  const entries = await readCustomList(bytes, isJson)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
  await replacingList(
    ctx.db.$client,
    digest,
    () => requireList(ctx, source),
    (list) => attemptReplace(ctx, slug, list, entries, digest),
    () => new Failure('contention', 'blacklist.changed', 'Other requests keep replacing the list at the same time. Try again.'),
  )
  await sendHints(ctx, ctx.env.TASKS, [{ body: { task: 'notifyListings', at: ctx.now.getTime(), cursor: '' } }])
  return view(await requireList(ctx, source))
}

/** Replaces a long list in parts, between which the database answers others. One that ends before its last part is finished by a repetition. */
async function attemptReplace(ctx: Ctx, slug: string, list: ListState, entries: readonly ListEntry[], digest: string): Promise<void> {
  const { organization, now } = ctx
  const { source, version, label } = list
  if (list.digest === digest && list.loading === null) return
  const list_date = localDayOf(now, organization.timezone)
  const row = { organization_id: organization.id, source, version, label }
  const load = { ...row, digest, list_date, fetched_at: now.getTime(), row_count: entries.length }
  // The last of the entries takes a place behind all others.
  const others = sql`${entries.length - 1} + (${entriesUsed(organization.id, source)})`
  const reserving = <T>(make: (reserved: readonly Statement[]) => Promise<T>) =>
    reserveQuota(ctx, 'blacklist_entries', sql`select ${others}`, make)
  const parts = [...loadParts(load, entries)]
  const last = parts.pop()!
  // What does not fit is refused before anything of it is written.
  for (const [n, part] of parts.entries())
    await (n === 0 ? reserving((reserved) => commit(ctx.db.$client, [...reserved, ...part])) : commit(ctx.db.$client, part))
  await reserving((reserved) =>
    change(ctx, { action: 'blacklist.replaced', resource_id: slug, changed: ['entries'] }, [
      ...reserved,
      ...last,
      forgetListed(organization.id),
    ]),
  )
}

/** Deletes the organization's own list. Throws Failure 404 blacklist.not_found. */
export async function removeCustomList(ctx: Ctx, slug: string): Promise<void> {
  const { organization } = ctx
  const source = sourceOf(slug)
  await requireList(ctx, source)
  await change(ctx, { action: 'blacklist.deleted', resource_id: slug }, [
    ...deleteCustomList(organization.id, source),
    forgetListed(organization.id),
  ])
}
