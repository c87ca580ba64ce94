import { type SQL, sql } from 'drizzle-orm'
import { readerOf } from '../../accounts/organization/organization.ts'
import {
  countLeg,
  type Found,
  findNamed,
  inflated,
  type Leg,
  lastCommits,
  legsTo,
  readLeg,
  readPacked,
  type XmlLocation,
} from '../../cfdi/mirrored/mirrored.ts'
import { contain } from '../../cfdi/mirrored/visible-ranges.ts'
import { printPdf } from '../../cfdi/print/print.ts'
import { type MirroredDocument, mirroredDocuments } from '../../documents/documents.ts'
import { mirroredNotifications } from '../../documents/mailbox/mirrored.ts'
import type { System } from '../../platform/context.ts'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { idOfUuid } from '../../platform/db/id.ts'
import { bare, excluded, readColumn, readRows, type Values } from '../../platform/db/statement.ts'
import { memory } from '../../platform/memory-limiter.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Destination, DestinationError } from '../drivers/port.ts'
import type { ConnectorScope, MirroredKind } from '../provider-contract.ts'
import { storageConnectors as connectors, storageMirrors as mirrors, storageRefused } from '../tables.ts'
import { documentPathOf, pathOf } from '../template.ts'
import { putPart } from './manifest.ts'
import {
  type Copying,
  type CopyRound,
  copiedOf,
  copyItems,
  type Item,
  isLegOf,
  isOfCfdi,
  type RoundLeg,
  type RoundPosition,
} from './review.ts'
import {
  assertStopping,
  connectorLease,
  doneAmong,
  insertCopied,
  isLeased,
  type MirrorRow,
  setConnector,
  setMirror,
  type WorkRow,
} from './store.ts'

/** The documents of a fiscal entity that a destination refused while it stored others. */

type Key = Pick<MirrorRow, 'connector' | 'fiscal_entity'>

/** A document that was refused just now. */
interface Refusal {
  document: string
  path: string
  error: DestinationError
}

const PAGE = 100

const REFUSAL = [storageRefused.path, storageRefused.code, storageRefused.message, storageRefused.at, storageRefused.due]
const COLUMNS = [storageRefused.connector, storageRefused.fiscal_entity, storageRefused.document, ...REFUSAL].map(bare)

/** Quarantines documents. */
const insertRefused = ({ connector, fiscal_entity }: Key, refused: readonly Refusal[], now: Date) =>
  jsonChunks(refused.map(({ document, path, error: { code, message } }) => [document, path, code, message])).map(
    (json) =>
      sql`insert into ${storageRefused} ${COLUMNS}
        select ${connector}, ${fiscal_entity}, value->>0, value->>1, value->>2, value->>3, ${now.toISOString()}, 0 from json_each(${json})
          where true
        on conflict do update set ${excluded(REFUSAL)}`,
  )

/** Forgets documents that were copied, or are no longer to be copied. */
const deleteRefused = ({ connector, fiscal_entity }: Key, documents: readonly string[]): SQL[] =>
  jsonChunks(documents).map(
    (json) =>
      sql`delete from ${storageRefused} where ${storageRefused.connector} = ${connector}
          and ${storageRefused.fiscal_entity} = ${fiscal_entity}
        and ${storageRefused.document} in (select value from json_each(${json}))`,
  )

/** The documents after one that are to be tried again, and whether there are more. */
async function readRefused(d1: D1Database, { connector, fiscal_entity }: Key, after: string | null) {
  const results = await readRows(
    d1,
    sql<{ document: string }>`select ${storageRefused.document} from ${storageRefused} where ${storageRefused.connector} = ${connector}
        and ${storageRefused.fiscal_entity} = ${fiscal_entity} and ${storageRefused.document} > ${after ?? ''}
      and ${storageRefused.due} order by ${storageRefused.document} limit 100`,
  )
  const documents = results.map(({ document }) => document)
  return { documents, next: documents.length === PAGE ? documents.at(-1)! : null }
}

/** The `last_error` after a success: one of the refused documents, with its path; null without one. */
const refusedError = (connector: number): SQL =>
  sql`(select json_object('code', ${storageRefused.code}, 'message',
      ${storageRefused.message} || ' It was quarantined: ' || ${storageRefused.path}, 'at', ${storageRefused.at}) from ${storageRefused}
    where ${storageRefused.connector} = ${connector} limit 1)`

/** A page of documents that the organization may read, newest first, and whether each of them can be copied. */
async function readPage(ledger: ScopedLedger, of: 'sources' | 'mailbox', after: string | null) {
  if (of === 'sources') return mirroredDocuments(ledger, after, PAGE)
  return (await mirroredNotifications(ledger, after, PAGE)).map((one) => ({ ...one, kind: 'buzon' as const }))
}

type Row = Awaited<ReturnType<typeof readPage>>[number]

/** A document that is not a CFDI and is to be copied. */
type KnownDocument = Row & Pick<MirroredDocument, 'content_type' | 'size' | 'object'>

const isKnown = (row: Row): row is KnownDocument => row.object !== null && row.content_type !== null

/** Reads a page of documents after one, and returns those that are to be copied. `next` is the last one; null after the last page. */
async function readDocuments(
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  of: 'sources' | 'mailbox',
  kinds: readonly MirroredKind[],
  after: string | null,
): Promise<{ found: KnownDocument[]; next: string | null }> {
  const page = await readPage(ledger, of, after)
  const meant = page.filter(isKnown).filter(({ kind, got_at }) => kinds.includes(kind) && got_at > mirror.documents_since)
  const ids = meant.map(({ document_id }) => document_id)
  const done = ids.length === 0 ? new Set() : new Set(await readColumn(d1, doneAmong(mirror, ids)))
  return {
    found: meant.filter(({ document_id }) => !done.has(document_id)),
    next: page.length === PAGE ? page.at(-1)!.document_id : null,
  }
}

/** The most documents that one commit copies, and the most bytes of them. */
const DOCUMENTS = 100
const BYTES = 8 * 1024 * 1024
/** Pages that one batch reads at most: there may be nothing to copy in many of them. */
const PAGES = 10
/** The most statements of a page, and of the steps after the last one. */
const BATCH_STATEMENTS = 20

/** The kinds and the path template of a connector. */
export interface Selection {
  /** None for a fiscal entity that is not in the scope. */
  kinds: readonly MirroredKind[]
  path_template: string
}

/** The next documents of a round, and where it continues behind them. The legs can be others that find the same. */
export interface Batch {
  items: Item[]
  /** UUIDs that were refused before, and are no longer to be copied. */
  gone: string[]
  legs: CopyRound['legs']
  end: RoundPosition
}

/** The documents of a page of a leg, and the checkpoint where the leg continues; null at its end. */
interface Page {
  found: { item: Item; size: number; xml?: XmlLocation }[]
  next: RoundPosition['checkpoint']
  instead?: Leg
}

/** Collects the next documents of a round, as far as one commit copies them and the budget allows. */
async function nextBatch(
  system: System,
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  { legs: before, at }: CopyRound,
  { kinds, path_template }: Selection,
): Promise<Batch> {
  const legs = [...before]
  const items: Item[] = []
  const gone: string[] = []
  const xmls: XmlLocation[] = []
  // The contents of a batch are read together, when its first one is to be copied.
  const packed = once(() => readPacked(system.env.FILES, xmls))
  const again = async (after: string | null) => {
    const { documents, next } = await readRefused(d1, mirror, after)
    const uuids = documents.filter((document) => !document.includes('_'))
    const rows = uuids.length === 0 ? [] : await findNamed(ledger, uuids)
    gone.push(...uuids.filter((uuid) => rows.every((row) => row.uuid !== uuid)))
    const found = rows.sort((a, b) => (a.uuid < b.uuid ? -1 : 1)).map((row) => ({ row, checkpoint: row.uuid }))
    return { found, next }
  }
  const pageOf = async (leg: CopyRound['legs'][number], { leg: n, checkpoint }: RoundPosition): Promise<Page> => {
    if ('documents' in leg) {
      const page = await readDocuments(d1, ledger, mirror, leg.documents, kinds, checkpoint as string | null)
      const itemOf = (one: KnownDocument) => documentItem(system, ledger.rfc, one, { leg: n, checkpoint: one.document_id })
      return { ...page, found: page.found.map((one) => ({ item: itemOf(one), size: one.size })) }
    }
    const page =
      'refused' in leg
        ? await again(checkpoint as string | null)
        : await readLeg(ledger, leg, checkpoint as Exclude<RoundPosition['checkpoint'], string>)
    let before: RoundPosition = { leg: n, checkpoint }
    const found = page.found.flatMap((one) => {
      const xml = one.row as unknown as XmlLocation
      const readXml = async () => inflated((await packed()).get(xml)!, xml.xml_method)
      const behind = { leg: n, checkpoint: one.checkpoint }
      const of = kinds.filter(isOfCfdi)
      const items = of.map((kind, at): Page['found'][number] => ({
        // A document is behind the round once all that is copied of it is.
        item: cfdiItem(system, ledger, path_template, { kind, row: one.row, behind: at < of.length - 1 ? before : behind }, readXml),
        size: one.row.xml_size ?? 0,
        ...(at === 0 && { xml }),
      }))
      before = behind
      return items
    })
    return { ...page, found }
  }
  let [end, bytes] = [at, 0]
  const isFull = () => items.length >= DOCUMENTS || bytes >= BYTES
  for (let pages = 0; end.leg < legs.length && !isFull() && pages < PAGES && system.budget.allows(BATCH_STATEMENTS); pages++) {
    const { leg: n } = end
    // The scope may have become narrower since the round began.
    const isMeant = isLegOf(legs[n]!, kinds)
    const { found, next, instead }: Page = isMeant ? await pageOf(legs[n]!, end) : { found: [], next: null }
    if (instead) legs[n] = instead
    end = next === null && !instead ? { leg: n + 1, checkpoint: null } : { leg: n, checkpoint: next }
    for (const { item, size, xml } of found) {
      items.push(item)
      if (xml) xmls.push(xml)
      bytes += size
      if (!isFull()) continue
      end = item.behind
      break
    }
  }
  return { items, gone, legs, end }
}

/** Does the work when it is first asked for. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => (done ??= work())
}

/** The XML of a CFDI, or the PDF beside it. */
function cfdiItem(
  system: System,
  { rfc }: ScopedLedger,
  template: string,
  { kind, row, behind }: Pick<Found, 'row'> & { kind: 'cfdi_xml' | 'cfdi_pdf'; behind: RoundPosition },
  readXml: Item['read'],
): Item {
  const path = pathOf(template, { ...row, rfc, direction: row.direction === 0 ? 'issued' : 'received' })
  const item = { rfc, id: { uuid: row.uuid }, behind }
  if (kind === 'cfdi_xml') return { ...item, path, content_type: 'application/xml', read: readXml }
  const state = { ...row, status_checked_at: null }
  const read = async () => memory.hold(row.xml_size ?? 0, async () => printPdf(system, await readXml(), state, 'es'))
  return { ...item, path: path.replace(/\.xml$/, '.pdf'), content_type: 'application/pdf', read }
}

function documentItem({ env }: System, rfc: string, document: KnownDocument, behind: RoundPosition): Item {
  const { kind, document_id, document_date: date, content_type, object } = document
  const read = async () => {
    const found = await env.FILES.get(object)
    if (found === null) throw new Error(`There is no object ${object}.`)
    return new Uint8Array(await found.arrayBuffer())
  }
  return { path: documentPathOf({ rfc, kind, date, document_id, content_type }), content_type, rfc, id: { document_id }, behind, read }
}

/** A connector that this invocation holds. */
export interface LeasedConnector {
  d1: D1Database
  row: Leased<WorkRow>
  scope: ConnectorScope
  path_template: string
  destination: Destination
  /** Whether the destination takes a valid object. */
  works: () => Promise<boolean>
}

/** The most statements of a batch. */
const STATEMENTS = 60

/** How the work on a mirror ended: nothing is left, the budget ended first, or the destination failed. */
export type Ended = { isOver: boolean; error: DestinationError | null; failed: number }

/**
 * Copies the due documents of a fiscal entity, batch by batch. The state of the mirror moves on in the commit of each batch, which the
 * lease fences: a batch that a crash interrupted is copied again, to the same paths.
 */
export async function workOnMirror(system: System, leased: LeasedConnector, mirror: MirrorRow): Promise<Ended> {
  const { d1 } = leased
  let round = mirror.round === null ? null : (JSON.parse(mirror.round) as CopyRound)
  // From here on, a report is seen, or begins another round.
  if (round === null && mirror.due === 1) await connectorLease.commit(d1, leased.row, [setMirror(mirror, { due: 2 })])
  for (;;) {
    const ledger = await openedFor(system, leased, mirror)
    if (ledger === null) {
      await connectorLease.commit(d1, leased.row, [setMirror(mirror, AT_REST)])
      return { isOver: true, error: null, failed: 0 }
    }
    // The organization no longer sees everything: the rest of the round is planned again.
    if (round !== null && !contain(ledger.windows, round.to.windows!)) round = null
    round ??= await beginRound(ledger, leased, mirror)
    const ended = await copyBatch(system, leased, ledger, mirror, round)
    if (ended.error !== null || ended.round === null) return { isOver: ended.error === null, error: ended.error, failed: ended.failed }
    round = ended.round
    if (!system.budget.allows(STATEMENTS)) return { isOver: false, error: null, failed: 0 }
  }
}

/** For a mirror without work, unless something has been reported since. */
const AT_REST = { due: sql`iif(${mirrors.due} = 1, 1, 0)` }

async function openedFor(system: System, { row }: LeasedConnector, { fiscal_entity }: MirrorRow): Promise<ScopedLedger | null> {
  const reader = await readerOf(system, { id: row.organization_id }, idOfUuid('fe', fiscal_entity))
  return reader && isReadable(reader.connection) ? openLedger({ settings: system.settings, ...reader }) : null
}

/** Begins a round from the documents that were dealt with to those that exist now. Documents outside the scope count as dealt with. */
async function beginRound(ledger: ScopedLedger, { scope }: LeasedConnector, mirror: MirrorRow): Promise<CopyRound> {
  const { entity, importPartition, windows, d1 } = ledger
  const last = await lastCommits(d1, importPartition === null ? [entity] : [entity, importPartition], Number.MAX_SAFE_INTEGER)
  const now = { windows, sequence: last.get(entity) ?? 0, import_sequence: last.get(importPartition ?? 0) ?? 0 }
  const { legs, to } = legsTo(copiedOf(mirror), now)
  const all: RoundLeg[] = [
    ...legs,
    { documents: 'sources' },
    { documents: 'mailbox' },
    ...(mirror.refused ? [{ refused: true } as const] : []),
  ]
  const kinds = kindsOf(scope, ledger)
  return { to, legs: all.filter((leg) => isLegOf(leg, kinds)), at: { leg: 0, checkpoint: null } }
}

/** The kinds that are copied of a fiscal entity. */
const kindsOf = ({ fiscal_entity_ids, kinds }: ConnectorScope, { fiscal_entity_id }: ScopedLedger): readonly MirroredKind[] =>
  fiscal_entity_ids === null || fiscal_entity_ids.includes(fiscal_entity_id) ? kinds : []

/** Begins the round of a backfill, and counts its documents. */
export async function beginBackfill(system: System, leased: LeasedConnector, mirror: MirrorRow): Promise<void> {
  const { d1, row, scope } = leased
  await connectorLease.commit(d1, row, [setMirror(mirror, { due: 2 })])
  const ledger = await openedFor(system, leased, mirror)
  if (ledger === null) return void (await connectorLease.commit(d1, row, [setMirror(mirror, AT_REST)]))
  const round = await beginRound(ledger, leased, mirror)
  let total = 0
  for (const leg of round.legs)
    if ('of' in leg) total += (await countLeg(ledger, leg)) * scope.kinds.filter(isOfCfdi).length
    else if ('documents' in leg)
      for (let after: string | null = null; ; ) {
        const page = await readDocuments(d1, ledger, mirror, leg.documents, scope.kinds, after)
        total += page.found.length
        after = page.next
        if (after === null) break
      }
  await connectorLease.commit(d1, row, [setMirror(mirror, { round: JSON.stringify({ ...round, total } satisfies CopyRound) })])
}

/** Copies the next batch of a round and commits it. `round` is the rest of it; null for none. */
async function copyBatch(system: System, leased: LeasedConnector, ledger: ScopedLedger, mirror: MirrorRow, round: CopyRound) {
  const { d1, row, scope, path_template } = leased
  const kinds = kindsOf(scope, ledger)
  const { items, gone, legs, end } = await nextBatch(system, d1, ledger, mirror, round, { kinds, path_template })
  const mayGoOn = async () => {
    // A connector that is paused or deleted, or whose RFC is unlinked, is sent nothing more.
    const [isOurs, opened] = await Promise.all([isLeased(d1, row), openedFor(system, leased, mirror)])
    return isOurs && opened !== null
  }
  const copying = await copyItems(items, { ...leased, budget: system.budget, failures: row.failures, mayGoOn })
  const { settled, copied, lines, failed, error } = copying
  const at: RoundPosition = settled === items.length ? end : settled === 0 ? round.at : items[settled - 1]!.behind
  const isOver = at.leg >= legs.length
  const left: CopyRound = { ...round, legs, at }
  // Another worker's part may have this number once the lease is over.
  if (clock.now() >= row.lease_until) await connectorLease.commit(d1, row, [])
  if (lines.length > 0) await putPart(system, row, lines)
  const refused = copying.refused.map(({ item, error }): Refusal => ({ document: documentOf(item), path: item.path, error }))
  // Of one document, the XML may be taken and the PDF refused.
  const isRefused = new Set(refused.map(({ document }) => document))
  const statements = [
    ...insertRefused(mirror, refused, clock.date()),
    ...(mirror.refused ? deleteRefused(mirror, [...copied.map(documentOf).filter((one) => !isRefused.has(one)), ...gone]) : []),
    ...(settled > 0 ? [setConnector(row.connector, countedColumns(leased, copying, round.total !== undefined))] : []),
    setMirror(
      mirror,
      isOver ? { ...AT_REST, round: null, ...round.to, windows: JSON.stringify(round.to.windows) } : { round: JSON.stringify(left) },
    ),
    ...insertCopied(
      row.connector,
      copied.flatMap(({ id }) => ('document_id' in id ? [id.document_id] : [])),
    ),
  ]
  try {
    await connectorLease.commit(d1, row, statements)
  } catch (error) {
    if (!connectorLease.isLost(error)) throw error
    // A change that moves the connector first lists the copies at the old place.
    await commit(d1, [assertStopping(row), ...statements])
    throw error
  }
  if (lines.length > 0) row.parts++
  if (settled > 0) row.failures = 0
  return { round: isOver ? null : left, error, failed }
}

const documentOf = ({ id }: Item): string => ('uuid' in id ? id.uuid : id.document_id)

/** The changes of a batch in its connector. A success, or one refusal among many, ends a series of failures. */
const countedColumns = (
  { row }: LeasedConnector,
  { lines: { length: copied }, refused: { length: refused } }: Copying,
  isBackfill: boolean,
): Values<typeof connectors> => ({
  failures: 0,
  last_error: refusedError(row.connector),
  failed_count: sql`${connectors.failed_count} + ${refused}`,
  ...(copied > 0 && {
    copied_count: sql`${connectors.copied_count} + ${copied}`,
    ...{ last_copied_at: clock.now(), parts: row.parts + 1 },
  }),
  ...(isBackfill && {
    backfill: sql`json_set(${connectors.backfill}, '$.copied', ${connectors.backfill}->>'copied' + ${copied},
      '$.failed', coalesce(${connectors.backfill}->>'failed', 0) + ${refused})`,
  }),
})
