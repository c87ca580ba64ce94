import type { Ctx } from '../platform/context.ts'
import { all, type Fragment, raw, sql } from '../platform/db/fragment.ts'
import { isReadable, notActive } from '../taxpayers/connection.ts'
import { earliestOf, reachOf, type Window, windowOf } from './window.ts'

const OPENED: unique symbol = Symbol('opened')

/**
 * What an organization may read of one RFC. Every query on fiscal data takes a scoped ledger, and only this module makes one, so that no
 * such query can be written without a window.
 */
export interface ScopedLedger {
  readonly [OPENED]: true
  readonly d1: D1Database
  readonly fiscal_entity_id: string
  readonly rfc: string
  readonly window: Window
  /** The partition that holds what the authority delivered. */
  readonly entity: number
  /** The partition that holds the organization's own imports, which no window hides; null when there are none. */
  readonly importPartition: number | null
}

/** A partition of the ledger with the conditions under which its rows may be read. */
export interface Partition {
  readonly origin: 'authority' | 'import'
  readonly number: number
  /** Greatest issued_at, in seconds, that can be visible; null without a bound. */
  readonly until: number | null
  /** Least issued_at, in seconds, that can be visible; null without a bound. It is exact to the hour only: `conditions` decides. */
  readonly since: number | null
  /** What a row must meet besides `entity`, `until` and `since` to be visible. No index serves these conditions. */
  conditions(alias: string): Fragment[]
}

type Reader = Pick<Ctx, 'organization' | 'connection' | 'settings'>

/**
 * Opens the ledger of the RFC that the request names, through the organization's window. Throws Failure 404 fiscal_entity.not_found without
 * a connection that is active, or paused only for a debt.
 */
export const openLedger = (reader: Reader): ScopedLedger => opened(reader, windowOf)

/** Opens it as far as the organization's runs have reached: what is visible through it stays visible, whatever is configured later. */
export const openReachedLedger = (reader: Reader): ScopedLedger => opened(reader, (_, connection) => reachOf(connection))

function opened({ organization, connection, settings }: Reader, windowFor: typeof windowOf): ScopedLedger {
  if (!connection || !isReadable(connection)) throw notActive()
  return {
    [OPENED]: true,
    d1: settings.ledgers[connection.shard]!,
    fiscal_entity_id: connection.fiscal_entity_id,
    rfc: connection.rfc,
    window: windowFor(organization.extractor_count, connection),
    entity: connection.entity,
    importPartition: connection.imported_at === null ? null : -connection.connection,
  }
}

/** The partitions that can hold something visible, the authority's first. */
export const partitionsToRead = (ledger: ScopedLedger): Partition[] => [
  ...(ledger.window.isEmpty ? [] : [authorityPartition(ledger)]),
  ...(ledger.importPartition === null ? [] : [importPartition(ledger, ledger.importPartition)]),
]

/** The condition that a row is in the partition and visible. It keeps the indexes free for other conditions. */
export const isVisible = (partition: Partition, alias: string): Fragment =>
  all([isCounted(partition, alias), ...partition.conditions(alias)])

/**
 * The condition that a payment or credit note in the partition counts in the balance of a visible invoice: it was issued up to the ceiling.
 * The floor does not matter. A balance can therefore reveal amounts from before the floor, but only from the last three days before it: a
 * payment names its invoice by the UUID of the invoice's stamp and is stamped within 72 hours of its own Fecha, so that it is dated at most
 * three days before the invoice. The payment itself stays hidden. Everything that the organization imported counts.
 */
export const isCounted = (partition: Partition, alias: string): Fragment =>
  all([
    sql`${raw(alias)}.entity = ${partition.number}`,
    ...(partition.until === null ? [] : [sql`+${raw(alias)}.issued_at <= ${partition.until}`]),
  ])

const authorityPartition = ({ entity, window: { floor, ceiling } }: ScopedLedger): Partition => ({
  origin: 'authority',
  number: entity,
  until: ceiling === null ? null : Math.floor(ceiling / 1_000),
  since: floor === null ? null : earliestOf(floor),
  conditions: (alias) => (floor === null ? [] : [sql`+${raw(alias)}.fecha >= ${floor}`]),
})

// An imported document is hidden as soon as the authority's row of the same UUID is visible, and not before.
const importPartition = (ledger: ScopedLedger, number: number): Partition => ({
  origin: 'import',
  number,
  until: null,
  since: null,
  conditions: (alias) =>
    ledger.window.isEmpty
      ? []
      : [
          sql`not exists (select 1 from cfdi twin where twin.uuid = ${raw(alias)}.uuid and ${isVisible(authorityPartition(ledger), 'twin')})`,
        ],
})
