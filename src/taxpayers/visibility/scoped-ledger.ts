import { type SQL, sql } from 'drizzle-orm'
import { type OldestAt, oldestOf } from '../../authority/oldest.ts'
import type { Ctx } from '../../platform/context.ts'
import { all } from '../../platform/db/statement.ts'
import { isReadable, notActive } from '../connection.ts'
import { type GrantedRange, parseGrantedRanges, reachedAt } from './granted-ranges.ts'
import { combinedWindowOf, earliestOf, reachedWindowsOf, type Window, type Windows, windowsOf } from './window.ts'

const OPENED: unique symbol = Symbol('opened')

/**
 * What an organization may read of one RFC. Every query on fiscal data takes a scoped ledger, and only this module makes one, so that no
 * such query can be written without a window.
 */
export interface ScopedLedger {
  readonly [OPENED]: true
  readonly d1: D1Database
  readonly organization_id: string
  readonly fiscal_entity_id: string
  readonly rfc: string
  readonly windows: Windows
  /** The combined window. */
  readonly window: Window
  /** When the connection first became active, in milliseconds. */
  readonly first_active_at: number
  /** Returns the connection's granted ranges of a direction, in the order of their instants. */
  grantedRangesOf(direction: DirectionNumber): readonly GrantedRange[]
  /** The partition that holds what the authority delivered. */
  readonly entity: number
  /** The partition that holds the organization's own imports, which no window hides; null when there are none. */
  readonly importPartition: number | null
  /** How far back the tax authority gives documents. */
  readonly oldestAt: OldestAt
}

/** A direction of CFDIs as the ledger has it: 0 issued, 1 received. */
export type DirectionNumber = 0 | 1

/** The bounds of possibly visible documents of some directions of a partition. */
export interface DirectionBounds {
  readonly directions: readonly DirectionNumber[]
  /** The first visible literal day; null without a floor. */
  readonly floor: string | null
  /** Least issued_at, in seconds, that can be visible; null without a bound. It is exact to the hour only: `conditions` decides. */
  readonly since: number | null
  /** Greatest issued_at, in seconds, that can be visible; null without a bound. */
  readonly until: number | null
}

/** A partition of the ledger with the conditions under which its rows may be read. */
export interface Partition {
  readonly origin: 'authority' | 'import'
  readonly number: number
  /** The bounds of the directions that can have visible documents: one item for both when their windows are the same. */
  readonly bounds: readonly DirectionBounds[]
  /**
   * Returns the instant, in milliseconds, as of which earlier changes of a document are reported: when the organization's own runs first
   * reached the document, and not before the connection first became active. Alone, the organization would have stored it no earlier.
   */
  changesFrom(document: { direction: number; fecha: string; issued_at: number }): number
  /** The conditions under which a row is visible, besides `entity` and the ceiling. No index serves them. */
  conditions(alias: string): SQL[]
}

type Reader = Pick<Ctx, 'organization' | 'connection' | 'settings'>

/**
 * Opens the ledger of the RFC that the request names, through the organization's windows. Throws Failure 404 fiscal_entity.not_found
 * without a connection, and fiscal_entity.not_active unless it is active, or paused only for a debt.
 */
export const openLedger = (reader: Reader): ScopedLedger => opened(reader, windowsOf)

/** Opens the ledger as far as the organization's runs have reached: these documents stay visible, whatever is configured later. */
export const openReachedLedger = (reader: Reader): ScopedLedger => opened(reader, (_, connection) => reachedWindowsOf(connection))

function opened(reader: Reader, windowsFor: typeof windowsOf): ScopedLedger {
  const { organization, connection, settings } = reader
  if (!connection || !isReadable(connection)) throw notActive({ settings }, connection)
  const windows = windowsFor(organization.extractor_count, connection)
  return {
    [OPENED]: true,
    d1: settings.ledgers[connection.shard]!,
    organization_id: organization.id,
    fiscal_entity_id: connection.fiscal_entity_id,
    rfc: connection.rfc,
    windows,
    window: combinedWindowOf(windows),
    first_active_at: connection.first_active_at ?? 0,
    grantedRangesOf: parsedOnce([connection.issued_granted_ranges, connection.received_granted_ranges], connection.asked_ranges),
    entity: connection.entity,
    importPartition: connection.imported_at === null ? null : -connection.connection,
    oldestAt: oldestOf(reader),
  }
}

/** Parses the granted ranges of a direction when they are first asked for. */
function parsedOnce(texts: readonly [issued: string, received: string], asked: string): ScopedLedger['grantedRangesOf'] {
  const parsed: GrantedRange[][] = []
  return (direction) => {
    parsed[direction] ??= parseGrantedRanges(texts[direction], asked)
    return parsed[direction]
  }
}

/** The partitions that can hold something visible, the authority's first. */
export const partitionsToRead = (ledger: ScopedLedger): Partition[] => [
  ...(ledger.window.isEmpty ? [] : [authorityPartition(ledger)]),
  ...(ledger.importPartition === null ? [] : [importPartition(ledger, ledger.importPartition)]),
]

/** The bounds of one direction of a partition; undefined when nothing of it is visible. */
export const boundsOf = ({ bounds }: Pick<Partition, 'bounds'>, direction: DirectionNumber): DirectionBounds | undefined =>
  bounds.find(({ directions }) => directions.includes(direction))

/** The condition that a row is in the partition and visible. It keeps the indexes free for other conditions. */
export const isVisible = (partition: Partition, alias: string): SQL => all([isCounted(partition, alias), ...partition.conditions(alias)])

/**
 * The condition that a payment or credit note in the partition may count in the balance of a visible invoice: it was issued up to the
 * ceiling of its own direction, which is the invoice's when both have the same issuer. The floor does not matter. A balance can therefore
 * reveal amounts from before the floor, but only from the last three days before it: a payment names its invoice by the UUID of the
 * invoice's stamp and is stamped within 72 hours of its own Fecha, so that it is dated at most three days before the invoice. The payment
 * itself stays hidden. Everything that the organization imported counts.
 */
export const isCounted = (partition: Partition, alias: string): SQL =>
  all([
    sql`${sql.raw(alias)}.entity = ${partition.number}`,
    ...byDirection(partition, alias, ({ until }) => (until === null ? [] : [sql`+${sql.raw(alias)}.issued_at <= ${until}`])),
  ])

export const hasCeiling = ({ bounds }: Partition): boolean => bounds.some(({ until }) => until !== null)

/**
 * The condition that an instant column of a row, or of `owner`, in seconds, is after the ceiling of the row's direction. Null when there is no ceiling.
 * Only for rows of directions that can be visible.
 */
export function isAfterCeiling(partition: Partition, alias: string, column: string, owner = alias): SQL | null {
  if (!hasCeiling(partition)) return null
  const { bounds } = partition
  const after = ({ until }: DirectionBounds): string => `${owner}.${column} > ${until}`
  const [first, second] = bounds
  return sql.raw(
    second ? `case ${alias}.direction when ${first!.directions[0]} then ${after(first!)} else ${after(second)} end` : after(first!),
  )
}

/** The conditions that the bounds of its direction put on a row. */
function byDirection({ bounds }: Partition, alias: string, conditionsOf: (one: DirectionBounds) => SQL[]): SQL[] {
  const [first, second] = bounds
  if (!first) return [sql.raw('0')]
  const [direction, other] = first.directions
  if (second)
    return [
      sql`case ${sql.raw(`${alias}.direction when ${direction}`)} then ${all(conditionsOf(first))} else ${all(conditionsOf(second))} end`,
    ]
  return [...(other === undefined ? [sql.raw(`+${alias}.direction = ${direction}`)] : []), ...conditionsOf(first)]
}

const within = ({ floor, ceiling }: Window, ...directions: DirectionNumber[]): DirectionBounds => ({
  directions,
  floor,
  since: floor === null ? null : earliestOf(floor),
  until: ceiling === null ? null : Math.floor(ceiling / 1_000),
})

function authorityBounds({ issued, received }: Windows): DirectionBounds[] {
  const isSame = issued.isEmpty === received.isEmpty && issued.floor === received.floor && issued.ceiling === received.ceiling
  if (isSame) return issued.isEmpty ? [] : [within(issued, 0, 1)]
  return [...(issued.isEmpty ? [] : [within(issued, 0)]), ...(received.isEmpty ? [] : [within(received, 1)])]
}

function authorityPartition(ledger: ScopedLedger): Partition {
  const { entity, windows, first_active_at, grantedRangesOf } = ledger
  const partition: Partition = {
    origin: 'authority',
    number: entity,
    bounds: authorityBounds(windows),
    changesFrom: (document) => Math.max(first_active_at, reachedAt(grantedRangesOf(document.direction === 0 ? 0 : 1), document) ?? 0),
    conditions: (alias) =>
      byDirection(partition, alias, ({ floor }) => (floor === null ? [] : [sql`+${sql.raw(alias)}.fecha >= ${floor}`])),
  }
  return partition
}

/** A whole partition, for work in the background that shows nobody anything: whoever reads what it makes applies windows to it. */
export const wholePartition = (number: number): Partition => ({
  origin: number < 0 ? 'import' : 'authority',
  number,
  bounds: [{ directions: [0, 1], floor: null, since: null, until: null }],
  changesFrom: () => 0,
  conditions: () => [],
})

// An imported document is hidden as soon as the authority's row of the same UUID is visible, and not before.
const importPartition = (ledger: ScopedLedger, number: number): Partition => ({
  origin: 'import',
  number,
  bounds: [{ directions: [0, 1], floor: null, since: null, until: null }],
  changesFrom: () => 0,
  conditions: (alias) =>
    ledger.window.isEmpty
      ? []
      : [
          sql`not exists (select 1 from cfdi twin where twin.uuid = ${sql.raw(alias)}.uuid and ${isVisible(authorityPartition(ledger), 'twin')})`,
        ],
})
