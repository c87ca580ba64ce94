import type { Ctx } from '../platform/context.ts'
import { all, type Fragment, raw, sql } from '../platform/db/fragment.ts'
import { isReadable, notActive } from '../taxpayers/connection.ts'
import { earliestOf, reachOf, type Window, windowOf } from './window.ts'

const OPENED: unique symbol = Symbol('opened')

/**
 * What an organization may read of one RFC. Only this module makes one, and every query on fiscal data takes one: there is no way to
 * write such a query without a window.
 */
export interface ScopedLedger {
  readonly [OPENED]: true
  readonly ledger: D1Database
  readonly fiscal_entity_id: string
  readonly rfc: string
  readonly window: Window
  /** The authority's book. */
  readonly entity: number
  /** The organization's own imports, which no window hides; null when there are none. */
  readonly importBook: number | null
}

/** One book of the two, to be read through its conditions. */
export interface Partition {
  readonly origin: 'authority' | 'import'
  readonly number: number
  /** Greatest issued_at, in seconds, that can be visible; null without a bound. */
  readonly until: number | null
  /** Least issued_at, in seconds, that can be visible; null without a bound. Tight only to the hour: `conditions` decides. */
  readonly since: number | null
  /** What a row must meet to be shown, beyond `entity`, `until` and `since`: conditions that no index serves. */
  conditions(alias: string): Fragment[]
}

type Reader = Pick<Ctx, 'organization' | 'connection' | 'settings'>

/** Opens the books of the fiscal entity that the request names. 404 fiscal_entity.not_found without a connection to it that is active or would be but for a debt. */
export const openLedger = (reader: Reader): ScopedLedger => opened(reader, windowOf)

/** The same as far as the organization's extractions reach: what is visible through these books stays visible whatever is configured. */
export const openReachedLedger = (reader: Reader): ScopedLedger => opened(reader, (_, connection) => reachOf(connection))

function opened({ organization, connection, settings }: Reader, see: typeof windowOf): ScopedLedger {
  if (!connection || !isReadable(connection)) throw notActive()
  return {
    [OPENED]: true,
    ledger: settings.ledgers[connection.shard]!,
    fiscal_entity_id: connection.fiscal_entity_id,
    rfc: connection.rfc,
    window: see(organization.extractor_count, connection),
    entity: connection.entity,
    importBook: connection.imported_at === null ? null : -connection.connection,
  }
}

/** The books that can hold something visible, the authority's first. */
export const partitionsToRead = (books: ScopedLedger): Partition[] => [
  ...(books.window.isEmpty ? [] : [authorityBook(books)]),
  ...(books.importBook === null ? [] : [importBook(books, books.importBook)]),
]

/** A row of the book that may be shown: the whole of it, for statements that need no index. */
export const visible = (book: Partition, alias: string): Fragment =>
  all([
    sql`${raw(alias)}.entity = ${book.number}`,
    ...(book.until === null ? [] : [sql`+${raw(alias)}.issued_at <= ${book.until}`]),
    ...book.conditions(alias),
  ])

/**
 * Whether a document of the book counts in the balance of one that is shown: the ceiling decides, the floor does not. A document names
 * an invoice by a UUID that the invoice has from its stamp on, and is itself stamped within 72 hours of its Fecha: none counts that is
 * dated further before its invoice. So of what lies before the floor a balance tells at most an amount of its last three days, and
 * nothing of years that others downloaded; the document itself stays hidden. Of the organization's own files each counts.
 */
export const counts = (book: Partition, alias: string): Fragment =>
  all([sql`${raw(alias)}.entity = ${book.number}`, ...(book.until === null ? [] : [sql`+${raw(alias)}.issued_at <= ${book.until}`])])

const authorityBook = ({ entity, window: { floor, ceiling } }: ScopedLedger): Partition => ({
  origin: 'authority',
  number: entity,
  until: ceiling === null ? null : Math.floor(ceiling / 1_000),
  since: floor === null ? null : earliestOf(floor),
  conditions: (alias) => (floor === null ? [] : [sql`+${raw(alias)}.fecha >= ${floor}`]),
})

// An import steps back as soon as the authority's own row of the same UUID can be seen, not before.
const importBook = (books: ScopedLedger, number: number): Partition => ({
  origin: 'import',
  number,
  until: null,
  since: null,
  conditions: (alias) =>
    books.window.isEmpty
      ? []
      : [sql`not exists (select 1 from cfdi twin where twin.uuid = ${raw(alias)}.uuid and ${visible(authorityBook(books), 'twin')})`],
})
