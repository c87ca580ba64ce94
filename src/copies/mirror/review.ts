import { findOrganization } from '../../accounts/organization/organization.ts'
import { type Copied, type Leg, lastCommits, legsTo, type Now, type Place } from '../../cfdi/mirrored/mirrored.ts'
import { fetchedSince } from '../../documents/mailbox/mirrored.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Budget } from '../../platform/work/budget.ts'
import { each, pageByPage } from '../../platform/work/pages.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { type ConnectionRow, listConnections, storedGrantedRangesOf } from '../../taxpayers/taxpayers.ts'
import { boundsAt, parseGrantedRanges } from '../../taxpayers/visibility/granted-ranges.ts'
import { type Windows, windowsOf } from '../../taxpayers/visibility/window.ts'
import { type Destination, DestinationError, type DestinationFault, isRefusal } from '../drivers/port.ts'
import type { MirroredKind } from '../provider-contract.ts'
import { isUnlisted, orderManifest } from './manifest.ts'
import { activeConnectors, findIdle, findMirrors, insertMirrors, type MirrorRow, markMirrors, markRefused, type WorkRow } from './store.ts'

/**
 * The documents that are not CFDIs, and those of the mailbox, are legs of their own: each finds documents that are not copied yet. So are
 * the CFDIs that the destination refused.
 */
export type RoundLeg = Leg | { documents: 'sources' | 'mailbox' } | { refused: true }

/** Whether a kind is made of the XML of CFDIs. */
export const isOfCfdi = (kind: MirroredKind): kind is 'cfdi_xml' | 'cfdi_pdf' => kind === 'cfdi_xml' || kind === 'cfdi_pdf'

/** Whether any of these kinds is one that a leg finds. */
export const isLegOf = (leg: RoundLeg, kinds: readonly MirroredKind[]): boolean => {
  if (!('documents' in leg)) return kinds.some(isOfCfdi)
  return leg.documents === 'mailbox' ? kinds.includes('buzon') : kinds.some((kind) => !isOfCfdi(kind) && kind !== 'buzon')
}

/** Where a round continues: in a leg, at a checkpoint of it. A checkpoint of documents is the last one. */
export interface RoundPosition {
  leg: number
  checkpoint: Place | string
}

/** The work of one round. The round ends when everything that existed at its start has been handled. */
export interface CopyRound {
  /** The progress at its end. */
  to: Copied
  legs: RoundLeg[]
  at: RoundPosition
  /** For a round of a backfill, how many documents it copies. */
  total?: number
}

/** A document on its way to a destination. */
export interface Item {
  path: string
  content_type: string
  /** For the manifest: its RFC, and its UUID or the id of the document. */
  rfc: string
  id: { uuid: string } | { document_id: string }
  /** Where the round continues behind it. */
  behind: RoundPosition
  read(): Promise<Uint8Array>
}

/** How the first items of a list have been settled: each is at the destination, or it was refused while the destination took others. */
export interface Copying {
  settled: number
  copied: Item[]
  /** The line of the manifest for each of these. */
  lines: string[]
  refused: { item: Item; error: DestinationError }[]
  /** How many others could not be stored, and why copying stopped. */
  failed: number
  error: DestinationError | null
}

/** The destination and the conditions of copying. */
export interface Copier {
  destination: Destination
  budget: Budget
  mayGoOn: () => Promise<boolean>
  /** Whether the destination takes a valid object. */
  works: () => Promise<boolean>
  /** Failures in a row before: then the first item is the one that failed. */
  failures: number
}

/** The platform allows an invocation six connections. */
const AT_ONCE = 4
/** How often the copy asks whether it may continue. */
const ASK_MS = 2_000
/** Statements that are left for the commit. */
const STATEMENTS = 20
/** After so many failures in a row, an object at which the provider fails counts as refused. */
const SLOW_RESPONSE_LIMIT = 2
const PROVIDER_FAILS: readonly string[] = ['unavailable', 'timeout', 'connection_failed'] satisfies DestinationFault[]

/**
 * Stores items in their order, four at once, until the destination fails, the budget ends, or `mayGoOn` says no. A refusal of one stops no
 * other if the destination takes an object afterwards. Throws errors that are not the destination's fault.
 */
export async function copyItems(items: readonly Item[], { destination, budget, mayGoOn, works, failures }: Copier): Promise<Copying> {
  const results: (string | DestinationError | undefined)[] = items.map(() => undefined)
  const isOfObject = (error: DestinationError, n: number): boolean =>
    isRefusal(error) ||
    (n === 0 && failures >= SLOW_RESPONSE_LIMIT && error.retry_after_seconds === null && PROVIDER_FAILS.includes(error.code))
  let next = 0
  let isOver = false
  let askedAt = Date.now()
  let answer = Promise.resolve(true)
  // The refusals after which nothing has been taken yet, as they came.
  let toRecheck: { n: number; at: number }[] = []
  let refusals = 0
  let hasTaken = false
  const taken = (began: number): void => {
    hasTaken = true
    toRecheck = toRecheck.filter(({ at }) => at > began)
  }
  let checking: Promise<void> | null = null
  const check = async (): Promise<void> => {
    const began = refusals
    if (await works()) taken(began)
    else isOver = true
    checking = null
  }
  const copyNext = async (): Promise<void> => {
    while (!isOver && next < items.length && budget.allows(STATEMENTS)) {
      if (Date.now() - askedAt >= ASK_MS) {
        askedAt = Date.now()
        answer = mayGoOn()
      }
      if (!(await answer)) isOver = true
      if (isOver || next >= items.length) break
      const n = next++
      const began = refusals
      try {
        results[n] = await copyItem(destination, items[n]!)
        taken(began)
      } catch (error) {
        isOver ||= !(error instanceof DestinationError && isOfObject(error, n))
        if (!(error instanceof DestinationError)) throw error
        results[n] = error
        if (isOfObject(error, n)) toRecheck.push({ n, at: ++refusals })
        if (isOver || toRecheck.length < (hasTaken ? AT_ONCE : 1)) continue
        checking ??= check()
        await checking
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, copyNext))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  if (!isOver && toRecheck.length > 0) await check()
  const isSettled = (result: string | DestinationError | undefined, n: number) =>
    typeof result === 'string' || (result !== undefined && isOfObject(result, n) && toRecheck.every((one) => one.n !== n))
  const first = results.findIndex((result, n) => !isSettled(result, n))
  const settled = first < 0 ? items.length : first
  const copying: Copying = { settled, copied: [], lines: [], refused: [], failed: 0, error: null }
  for (const [n, result] of results.entries()) {
    const item = items[n]!
    if (typeof result === 'string' && n < settled) {
      copying.copied.push(item)
      copying.lines.push(result)
    } else if (result instanceof DestinationError && n < settled) copying.refused.push({ item, error: result })
    else if (result instanceof DestinationError) {
      copying.failed++
      if (!isSettled(result, n)) copying.error ??= result
    }
  }
  return copying
}

async function copyItem(destination: Destination, { path, content_type, rfc, id, read }: Item): Promise<string> {
  const bytes = await read()
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource)).toHex()
  await destination.put(path, { bytes, content_type, sha256 })
  return JSON.stringify({ sha256, ...id, path, rfc, size: bytes.length })
}

/** Connections of a page. */
const PAGE = 500
/** The review is daily: a document of the mailbox that was fetched since then may be one that no event reported. */
const FETCHED_MS = 2 * 86_400_000
const NOTHING: Copied = { sequence: 0, import_sequence: 0, windows: null, all_until: 0 }

/** The progress of a mirror. */
export const copiedOf = ({ sequence, import_sequence, windows, all_until }: MirrorRow): Copied => ({
  ...{ sequence, import_sequence, all_until },
  windows: windows === null ? null : (JSON.parse(windows) as Windows),
})

/**
 * Inserts a mirror for each connection of a page that has none. A mirror of a connection that existed when the connector was created begins
 * at the state of that time; any other begins at nothing. Returns the last connection, null after the last page.
 */
export async function planPage(system: System, d1: D1Database, row: WorkRow, after: string): Promise<string | null> {
  const page = await readPage(system, row, after)
  const begin = row.backfill === null ? row.created_at : 0
  const known = await findMirrors(d1, row.connector, page.keys)
  const missing = page.connections.filter(({ fiscal_entity_id }) => !known.has(uuidOf(fiscal_entity_id)))
  const [now, grantedRanges] = await Promise.all([
    readNow(system, page.extractor_count, missing, begin),
    storedGrantedRangesOf(
      system.db,
      missing.map(({ connection }) => connection),
    ),
  ])
  const rows = missing.map((connection) => {
    const isOlder = connection.linked_at.getTime() <= begin
    const { windows: _, ...sequences } = isOlder ? now.get(connection)! : NOTHING
    // Ranges that a run has added since are to be copied, however late the connector is planned.
    const { issued_granted_ranges, received_granted_ranges } = grantedRanges.get(connection.connection)!
    const then = boundsAt(parseGrantedRanges(issued_granted_ranges), parseGrantedRanges(received_granted_ranges), begin)
    const windows = isOlder ? windowsOf(page.extractor_count, then) : null
    return {
      ...{
        fiscal_entity: uuidOf(connection.fiscal_entity_id),
        due: isOlder ? (0 as const) : (1 as const),
        documents_since: isOlder ? begin : 0,
      },
      ...{ sequence: sequences.sequence, import_sequence: sequences.import_sequence, windows: windows && JSON.stringify(windows) },
    }
  })
  if (rows.length > 0) await commit(d1, insertMirrors(row.connector, rows))
  return page.next
}

/** Marks the mirrors with something to copy of a page of connections, and inserts missing ones. */
export async function reviewPage(system: System, d1: D1Database, row: WorkRow, after: string): Promise<string | null> {
  const page = await readPage(system, row, after)
  const [known, now, fetched] = await Promise.all([
    findMirrors(d1, row.connector, page.keys),
    readNow(system, page.extractor_count, page.connections, Number.MAX_SAFE_INTEGER),
    readFetched(system, page.connections),
  ])
  const keys = page.connections.filter(isReadable).flatMap((connection) => {
    const key = uuidOf(connection.fiscal_entity_id)
    const mirror = known.get(key)
    if (mirror?.due === 1) return []
    const isBehind = legsTo(mirror ? copiedOf(mirror) : NOTHING, now.get(connection)!).legs.length > 0
    return isBehind || mirror?.refused || fetched.has(connection.entity) ? [key] : []
  })
  const refused = [...known.values()].filter((mirror) => mirror.refused).map(({ fiscal_entity }) => fiscal_entity)
  const missing = keys.filter((key) => !known.has(key))
  const rows = missing.map((fiscal_entity) => ({ fiscal_entity, due: 1 as const, documents_since: 0, ...NOTHING, windows: null }))
  if (keys.length + refused.length > 0)
    await commit(d1, [...insertMirrors(row.connector, rows), ...markMirrors(row.connector, keys), ...markRefused(row.connector, refused)])
  return page.next
}

/** Reads for which RFCs a document of the mailbox was fetched lately. One statement for each ledger. */
async function readFetched({ settings }: System, connections: readonly ConnectionRow[]): Promise<Set<number>> {
  const since = clock.now() - FETCHED_MS
  const found = await Promise.all(
    [...Map.groupBy(connections, ({ shard }) => shard)].map(([shard, own]) => {
      const entities = own.map(({ entity }) => entity)
      return readColumn(settings.ledgers[shard]!, fetchedSince(entities, since))
    }),
  )
  return new Set(found.flat())
}

async function readPage({ db }: System, { organization_id }: WorkRow, after: string) {
  const [{ extractor_count }, connections] = await Promise.all([
    findOrganization(db, organization_id),
    listConnections(db, { id: organization_id }, after === '' ? undefined : after, PAGE),
  ])
  const keys = connections.map(({ fiscal_entity_id }) => uuidOf(fiscal_entity_id))
  return { extractor_count, connections, keys, next: connections.length === PAGE ? connections.at(-1)!.fiscal_entity_id : null }
}

/** Reads the windows of connections, and the last commits up to an instant. One statement for each ledger. */
async function readNow({ settings }: System, extractor_count: number, connections: readonly ConnectionRow[], until: number) {
  const now = new Map<ConnectionRow, Now>()
  for (const [shard, own] of Map.groupBy(connections, (connection) => connection.shard)) {
    const partitions = own.flatMap(({ entity, connection, imported_at }) => (imported_at === null ? [entity] : [entity, -connection]))
    const last = await lastCommits(settings.ledgers[shard]!, partitions, until)
    for (const one of own) {
      const windows = windowsOf(extractor_count, {
        ...one,
        issued_to: one.issued_to?.getTime() ?? null,
        received_to: one.received_to?.getTime() ?? null,
      })
      now.set(one, { windows, sequence: last.get(one.entity) ?? 0, import_sequence: last.get(-one.connection) ?? 0 })
    }
  }
  return now
}

const CONNECTORS = 1_000
const PAGES = 20

const wake = (system: System, shard: number, connectors: readonly number[]): Promise<void> =>
  sendHints(
    system,
    system.env.STORAGE,
    connectors.map((connector) => ({ body: { shard, connector } })),
  )

/** Wakes the connectors on which nobody works although something is due, or that are to be planned or cleaned up. */
export const sweepConnectors = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    let after = 0
    for (let page = 0; page < PAGES; page++) {
      const found = await readColumn(d1, findIdle(clock.now(), after, CONNECTORS))
      await wake(system, shard, found)
      if (found.length < CONNECTORS) return
      after = found.at(-1)!
    }
  })

/**
 * Marks mirrors of active connectors that have work although no event has reported it: after a resumed connection or an opened window. Has
 * the copies since the last manifest listed in one of this day. A task, whose cursor is a shard, a connector, and a connection of its
 * organization.
 */
export const reviewConnectors = (system: System, cursor = ''): Promise<string | null> => {
  const { events, ledgers } = system.settings
  return pageByPage(system, 7 + 2 * ledgers.length, cursor, async (from) => {
    const [shard = 0, before = 0, after = ''] = from.split('.')
    const d1 = events[Number(shard)]!
    const [row] = await readRows(d1, activeConnectors(Number(before), 1))
    if (!row) return Number(shard) + 1 < events.length ? `${Number(shard) + 1}` : null
    const next = await reviewPage(system, d1, row, after)
    if (next !== null) return `${shard}.${before}.${next}`
    if (isUnlisted(row)) {
      await commit(d1, [orderManifest(row, system.now.toISOString().slice(0, 10))])
      await wake(system, Number(shard), [row.connector])
    }
    return `${shard}.${row.connector}`
  })
}
