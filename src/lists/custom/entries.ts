import { recordsOf, textsOf } from '../../platform/csv.ts'
import { type Fault, invalid } from '../../platform/failures.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import type { ListEntry } from '../loading/entries.ts'
import { EntryName, MOST_CHARACTERS } from './contract.ts'

/** Faults that one answer names. */
const MOST_FAULTS = 50

/** A row of an upload, and how the answer names it. */
interface UploadedRow {
  at: string
  rfc: unknown
  name: unknown
  /** Its last cell is a quoted one that is never closed: something was cut off. */
  isCut?: boolean
}

const unreadable = (message: string) => invalid('blacklist.unreadable', [{ path: 'body', message }])

function* rowsOfCsv(bytes: Uint8Array): Generator<UploadedRow> {
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
    line++
    next = records.next()
    const isCut = next.done === true && next.value
    if (isCut || record.some((cell) => cell.trim() !== ''))
      yield { at: `record ${line}`, rfc: record[rfc], name: record[name] ?? '', isCut }
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
  for (const [n, entry] of entries.entries()) {
    const { rfc, name, ...others } = (entry ?? {}) as Record<string, unknown>
    const [unknown] = Object.keys(others)
    if (unknown !== undefined)
      throw invalid('blacklist.invalid', [{ path: `entries[${n}].${unknown.slice(0, 100)}`, message: 'Is not a known member.' }])
    yield { at: `entries[${n}]`, rfc, name: name ?? '' }
  }
}

/**
 * Reads an organization's own list: CSV with the columns rfc and name, or JSON with `entries`. An RFC that comes twice counts once. Throws
 * Failure 422 blacklist.unreadable, or blacklist.invalid with each row that is no entry.
 */
export function readCustomList(bytes: Uint8Array, isJson: boolean): ListEntry[] {
  const found = new Map<string, ListEntry>()
  const faults: Fault[] = []
  for (const { at, rfc, name, isCut } of isJson ? rowsOfJson(bytes) : rowsOfCsv(bytes)) {
    const read = EntryName.safeParse(name)
    const normal = typeof rfc === 'string' ? normalRfc(rfc) : ''
    if (isCut) faults.push({ path: at, message: 'A quote is not closed.' })
    else if (!isRfc(normal)) faults.push({ path: `${at}.rfc`, message: 'Must be an RFC: 12 or 13 characters with a valid date.' })
    else if (!read.success)
      faults.push({
        path: `${at}.name`,
        message: `Must be a text of at most ${MOST_CHARACTERS} characters that can be read, without control characters. A quote that is not closed takes in what follows.`,
      })
    else found.set(normal, { rfc: normal, name: read.data.replace(/\s+/g, ' '), situacion: null, history: [], has_undated: false })
    if (faults.length === MOST_FAULTS) break
  }
  const [first, ...others] = faults
  if (first) throw invalid('blacklist.invalid', [first, ...others])
  return [...found.keys()].sort().map((rfc) => found.get(rfc)!)
}
