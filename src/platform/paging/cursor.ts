import type { Ctx } from '../context.ts'
import { base64ToBytes } from '../crypto/keyring.ts'
import { Failure } from '../failures.ts'

/** The position of a row in a list: its values of the columns that the list is sorted by. */
export type Position = readonly (string | number)[]

/** A cursor is valid for one list with one set of filters. */
export interface CursorScope {
  list: string
  filters: object
}

/** A page of a list, as it is answered. */
export interface Page<T> {
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

/** The members beside `data` of a list that has one page only. */
export const WHOLE = { has_more: false, next_cursor: null } as const

const MAC_BYTES = 16
const urlsafe = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true })
const utf8 = new TextEncoder()

const canonical = (filters: object): string =>
  JSON.stringify(
    Object.entries(filters)
      .filter(([name, value]) => name !== 'cursor' && name !== 'limit' && value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

const signed = ({ list, filters }: CursorScope, organization: string, position: string): string =>
  JSON.stringify([list, organization, canonical(filters), position])

/** Writes an opaque cursor that is signed for its scope and its organization. */
export async function sealCursor({ settings, organization }: Ctx, scope: CursorScope, position: Position): Promise<string> {
  const text = JSON.stringify(position)
  const { version, hmac } = settings.cursorKeys.current
  const mac = await hmac(signed(scope, organization.id, text))
  return `${version}.${urlsafe(utf8.encode(text))}.${urlsafe(mac.subarray(0, MAC_BYTES))}`
}

const refused = () =>
  new Failure('malformed', 'cursor.invalid', 'The cursor does not belong to this list with these filters. Start again without a cursor.')

/** Reads the position from a cursor; undefined without one. Throws Failure 400 when it was made for another scope or altered. */
export async function openCursor(
  { settings, organization }: Ctx,
  scope: CursorScope,
  cursor: string | undefined,
): Promise<Position | undefined> {
  if (cursor === undefined) return undefined
  const [version = '', encoded = '', mac = '', ...rest] = cursor.split('.')
  const key = settings.cursorKeys.of(version)
  if (!key || rest.length > 0 || cursor.length > 1_000 || !/^[\w-]+$/.test(encoded) || !/^[\w-]{22}$/.test(mac)) throw refused()
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(base64ToBytes(standard(encoded)))
    const expected = (await key.hmac(signed(scope, organization.id, text))).subarray(0, MAC_BYTES)
    if (!crypto.subtle.timingSafeEqual(expected, base64ToBytes(standard(mac)))) throw refused()
    return JSON.parse(text) as Position
  } catch {
    throw refused()
  }
}

/** Hidden positions are filled up to a multiple of this length, so that theirs says nothing. */
const FILLED = 640

const contextOf = ({ list, filters }: CursorScope, organization: string): string => JSON.stringify([list, organization, canonical(filters)])

/** Writes a cursor that nobody can read, for a position that the organization is not to know. */
export async function sealHidden({ settings, organization }: Ctx, scope: CursorScope, position: unknown): Promise<string> {
  const text = JSON.stringify(position)
  const { version, seal } = settings.cursorKeys.current
  const sealed = await seal(text.padEnd(Math.ceil(text.length / FILLED) * FILLED), contextOf(scope, organization.id))
  return `${version}.${urlsafe(sealed)}`
}

/** Reads the position from a hidden cursor. Throws Failure 400 when it was made for another scope or altered. */
export async function openHidden<Hidden>({ settings, organization }: Ctx, scope: CursorScope, cursor: string): Promise<Hidden> {
  const [, version = '', encoded = ''] = cursor.match(/^(\d+)\.([\w-]{1,4000})$/) ?? []
  const key = settings.cursorKeys.of(version)
  if (!key) throw refused()
  try {
    const text = await key.open(base64ToBytes(standard(encoded)), contextOf(scope, organization.id))
    if (text === null) throw refused()
    return JSON.parse(text) as Hidden
  } catch {
    throw refused()
  }
}

const standard = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat((4 - (text.length % 4)) % 4)

/** Makes a page of rows. The caller reads one row more than the limit, which tells whether there is another page. */
export async function paginate<Row, T>(
  ctx: Ctx,
  scope: CursorScope,
  limit: number,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
  view: (row: Row) => T,
): Promise<Page<T>> {
  const has_more = rows.length > limit
  const kept = rows.slice(0, limit)
  const last = kept.at(-1)
  return {
    data: kept.map(view),
    has_more,
    next_cursor: has_more && last !== undefined ? await sealCursor(ctx, scope, positionOf(last)) : null,
  }
}

/**
 * Reads a page of a list that is sorted by one column. `read` gets the position after which the page begins, undefined at the beginning, and
 * how many rows to read.
 */
export async function listPage<Row, T>(
  ctx: Ctx,
  list: string,
  query: { limit: number; cursor?: string | undefined },
  read: (after: string | undefined, limit: number) => PromiseLike<Row[]>,
  positionOf: (row: Row) => string | number,
  view: (row: Row) => T,
): Promise<Page<T>> {
  const scope = { list, filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await read(after === undefined ? undefined : String(after), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [positionOf(row)], view)
}
