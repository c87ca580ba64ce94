import type { SQL } from 'drizzle-orm'
import { hexOf, idOfText, suffixOf } from '../../platform/db/id.ts'
import { readRows } from '../../platform/db/statement.ts'

/** Rows that the first call of a page examines when no index serves its filter, and those of each following one. */
export const SCAN_ROWS = 500
const NEXT_ROWS = 1_500

/** Rows that a page examines: it is short, or empty, only when more rows than these do not pass its filter. */
const MOST_SCANNED = 5_000

/** Consecutive rows, each with 1 if it passes the filter; otherwise 0, or null where SQL compares an absent value. */
export interface Scan<Row> {
  rows: (Row & { is_match: number | null })[]
  /** Whether no rows follow. */
  isLast: boolean
}

export async function scan<Row>(d1: D1Database, query: SQL, limit: number): Promise<Scan<Row>> {
  const rows = await readRows<Scan<Row>['rows'][number]>(d1, query)
  return { rows, isLast: rows.length < limit }
}

interface ScannedPage<Row> {
  matches: Row[]
  /** The row after which the next page begins; undefined on the last page. */
  last: Row | undefined
  /** The last row that was examined. */
  end: Row | undefined
}

/**
 * Reads the first rows that match, at most `limit`, as far as `MOST_SCANNED` rows reach. `read` examines at least so many rows after one;
 * `first` of them in the first call.
 */
export async function fillPage<Row>(
  limit: number,
  first: number,
  read: (after: Row | undefined, rows: number) => Promise<Scan<Row>>,
): Promise<ScannedPage<Row>> {
  const rows: Scan<Row>['rows'] = []
  for (let take = first; ; take = NEXT_ROWS) {
    const found = await read(rows.at(-1), Math.max(take, limit + 1))
    rows.push(...found.rows)
    const matches = rows.filter(({ is_match }) => is_match === 1)
    const end = rows.at(-1)
    if (matches.length > limit) return { matches: matches.slice(0, limit), last: rows[rows.indexOf(matches[limit]!) - 1], end }
    if (found.isLast || rows.length >= MOST_SCANNED) return { matches, last: found.isLast ? undefined : end, end }
  }
}

/** The digits of an identifier that hold its time, as in a UUID of version 7. */
const TIME_DIGITS = 12

const hexOfId = (id: string): string => hexOf(id.slice(id.indexOf('_') + 1))

/** Derives the identifier of an event from the change, its time in milliseconds since 1970, and the organization. */
export async function eventIdOf(change: string, at: number, organization_id: string): Promise<string> {
  const derived = hexOfId(await idOfText('evt', JSON.stringify([change, organization_id])))
  return `evt_${suffixOf(at.toString(16).padStart(TIME_DIGITS, '0') + derived.slice(TIME_DIGITS))}`
}

/** The time in an identifier, in milliseconds since 1970: of the change, or of a test. */
export const timeOf = (event_id: string): number => Number.parseInt(hexOfId(event_id).slice(0, TIME_DIGITS), 16)

/** The subject of a job, as its event reports it. */
export const subjectOf = (data_source_key: string, period: string | null) => ({
  document_type: period === null ? data_source_key.replace(/^sat_/, '') : 'cfdi',
  direction: DIRECTIONS[data_source_key as keyof typeof DIRECTIONS] ?? null,
})

const DIRECTIONS = { sat_cfdi_issued: 'issued', sat_cfdi_received: 'received' } as const

/** The counts of a `sync.completed` about a download that brought nothing. Most events are such. */
const NO_CHANGE = { created_count: 0, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null }

const isSync = (text: string): boolean => text.startsWith('{"event":"sync.completed"')

/** When the service recorded the change of an event, as its identifier says too. */
const occurredAt = (event_id: string): string => new Date(timeOf(event_id)).toISOString()

/** A payload as its row keeps it: a `sync.completed` omits members that follow from others, and members that say that nothing changed. */
export function storedOf(payload: string): string {
  if (!isSync(payload)) return payload
  const { document_type: _, direction: __, ...kept } = JSON.parse(payload) as Record<string, unknown>
  if (Object.entries(NO_CHANGE).every(([name, value]) => kept[name] === value)) for (const name of Object.keys(NO_CHANGE)) delete kept[name]
  if (kept['completed_at'] === kept['occurred_at']) delete kept['completed_at']
  if (kept['occurred_at'] === occurredAt(String(kept['event_id']))) delete kept['occurred_at']
  const stored = JSON.stringify(kept)
  return restored(stored) === payload ? stored : payload
}

const isSample = (body: string): boolean => body.startsWith('{"event":"webhook.test"') && body.includes('"sample":{')

/** The row of a test event that sends the sample of another one: in the feed it is a test, and its endpoint gets the sample. */
export const storedSample = (test: { event_id: string; occurred_at: string; sample_of: string }, shown: object): string => {
  const { event_id, occurred_at } = test
  const { ordering: _, ...sample } = shown as { ordering?: number }
  return JSON.stringify({ ...test, sample: { ...sample, event_id, occurred_at } })
}

/** The payload of a row's delivery, and whether it is a sample. */
export const sentOf = (body: string, seq: number): { payload: string; isTest: boolean } =>
  isSample(body)
    ? { payload: ordered(JSON.stringify((JSON.parse(body) as { sample: object }).sample), seq), isTest: true }
    : { payload: payloadOf(body, seq), isTest: false }

/** The payload of a row, with its place in the feed. */
export const payloadOf = (body: string, seq: number): string => ordered(restored(body), seq)

/** A payload with the place of its event, which is known once it is stored, behind its identifier. */
const ordered = (payload: string, seq: number): string => payload.replace(/"event_id":"\w+"/, (id) => `${id},"ordering":${seq}`)

/** The body of a row, byte for byte as it was before. */
export function restored(body: string): string {
  if (isSample(body)) {
    const { sample: _, ...test } = JSON.parse(body) as { sample: object }
    return JSON.stringify(test)
  }
  if (!isSync(body) || body.includes('"document_type"')) return body
  const { event, event_id, occurred_at = occurredAt(event_id), ...more } = JSON.parse(body) as Stored
  const { fiscal_entity_id, rfc, job_id, data_source_key, period, ...counts } = more
  const head = { event, event_id, occurred_at, fiscal_entity_id, rfc, job_id, data_source_key, period }
  return JSON.stringify({ ...head, ...subjectOf(data_source_key, period), ...NO_CHANGE, completed_at: occurred_at, ...counts })
}

interface Stored {
  event: string
  event_id: string
  occurred_at?: string
  fiscal_entity_id: string
  rfc: string
  job_id: string
  data_source_key: string
  period: string | null
}
