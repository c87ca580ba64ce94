import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { normalized } from './normalized.ts'
import type { Recording } from './record.ts'

/** What is kept of an operation: its answers by status, those that are errors by code too, and the body that a success was asked for with. */
export interface Kept {
  request?: unknown
  success: Record<string, unknown>
  errors: Record<string, Record<string, unknown>>
}

const FOLDER = join(import.meta.dirname, '../../../docs/examples')
const fileOf = (operation: string): string => join(FOLDER, `${operation}.json`)

/** `missing` keeps what there is and replaces only lists without items; `better` also what says less; `all` also what other runs recorded. */
const MODE = process.env['RECORD']

/** Operations whose files this run has begun anew. */
const begun = new Set<string>()

function read(operation: string): Kept {
  const isNew = MODE === 'all' && !begun.has(operation)
  begun.add(operation)
  if (isNew || !existsSync(fileOf(operation))) return { success: {}, errors: {} }
  return JSON.parse(readFileSync(fileOf(operation), 'utf8')) as Kept
}

/** How many different members of a body say something. */
function richness(value: unknown, at = '', found = new Set<string>()): number {
  if (Array.isArray(value)) for (const inner of value) richness(inner, `${at}[]`, found)
  else if (value !== null && typeof value === 'object')
    for (const [key, inner] of Object.entries(value)) richness(inner, `${at}.${key}`, found)
  else if (value !== null && value !== '') found.add(at)
  return found.size
}

/** A table of headings alone. */
const HEADINGS = /^[^<\r\n]*\r\n$/

const isEmpty = (body: unknown): boolean =>
  (typeof body === 'string' && HEADINGS.test(body)) ||
  (Array.isArray(body) && body.length === 0) ||
  (Array.isArray((body as { data?: unknown } | null)?.data) && (body as { data: [] }).data.length === 0)

const isWorse = (known: unknown, body: unknown): boolean =>
  known === undefined ||
  (isEmpty(known) && !isEmpty(body)) ||
  (MODE !== 'missing' && typeof body !== 'string' && richness(known) < richness(body))

const sorted = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)))

/** What a request says to come is to come whenever it is read. */
const inFuture = (asked: unknown): unknown =>
  asked !== null && typeof asked === 'object' && 'expires_at' in asked ? { ...asked, expires_at: '2030-01-01T00:00:00Z' } : asked

/** Keeps a reply as an example when there is none yet, or a worse one. */
export function keep({ operation, status, content_type, body, request }: Recording): void {
  const kept = read(operation)
  const { code } = (body ?? {}) as { code?: string }
  const isError = status >= 400 && content_type === null && code !== undefined
  if (isError) kept.errors[status] ??= {}
  const [of, key] = isError ? [kept.errors[status]!, code] : [kept.success, content_type ? `${status} ${content_type}` : String(status)]
  const [notified, asked] = normalized([body, request])
  if (!isWorse(of[key], notified)) return
  of[key] = notified
  if (!isError && content_type === null && request !== null) kept.request = inFuture(asked)
  kept.success = sorted(kept.success)
  kept.errors = sorted(Object.fromEntries(Object.entries(kept.errors).map(([one, codes]) => [one, sorted(codes)])))
  mkdirSync(FOLDER, { recursive: true })
  // Another process may be reading.
  const fresh = `${fileOf(operation)}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(kept, null, 1)}\n`)
  renameSync(fresh, fileOf(operation))
}

/** What a Worker of the tests is bound to as RECORDER. */
export const recorder =
  MODE === undefined
    ? undefined
    : async (request: { json(): Promise<unknown> }): Promise<Response> => {
        keep((await request.json()) as Recording)
        return new Response(null, { status: 204 })
      }
