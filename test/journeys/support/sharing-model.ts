import { Temporal } from 'temporal-polyfill'
import type { DataSourceKey } from '../../../src/authority/port/authority.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import type { InventedFile } from '../../../src/authority/sandbox/documents/port.ts'
import type { SandboxComprobante } from '../../../src/authority/sandbox/world/comprobante.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'

/** The plain oracle of a shared RFC: what was fetched by anybody, and what each organization may see of it. Nothing here is clever. */

export const MEXICO = 'America/Mexico_City'
/** How far behind UTC Mexico's months begin first and end last. */
const [EAST, WEST] = ['-05:00', '-08:00']
export const MANDATORY = 'sat_miinformacion'
export type Direction = 'issued' | 'received'
export const DIRECTIONS: readonly Direction[] = ['issued', 'received']

export interface Rule {
  extractor_id: string
  trigger_kind: 'connection_created' | 'connection_reactivated' | 'schedule'
  scope: 'full_history' | 'last_n_months' | 'since_watermark'
  scope_months: number | null
  timezone: string
  is_enabled: boolean
  sources: string[]
}

/** A document that is kept: as XML or as metadata only, and what the authority said of it last. */
export interface Leased {
  document: SandboxComprobante
  direction: Direction
  hasXml: boolean
  cancelled: boolean
  /** When the document itself was last stored or cancelled here, in milliseconds. */
  changed: number
}

/** From a day, up to an instant in milliseconds. */
export interface Reached {
  floor: string
  ceiling: number
}

/** An organization and its connection to the RFC. */
export interface Seat {
  state: 'none' | 'draft' | 'active' | 'unlinked'
  /** When it first became active, in milliseconds. */
  firstActive: number | null
  /** Sources enabled on the connection. */
  sources: string[]
  rules: Rule[]
  /** What its own runs have reached of each source. */
  reached: Record<Direction, Reached | null>
  /** When it last became active, in milliseconds. */
  activeSince: number
  /** Its own runs of each source: when, and the first and last month that they downloaded. */
  ran: Record<Direction, { at: number; month: string; last: string }[]>
  watermarks: Partial<Record<Direction, number>>
  imports: Map<string, Leased>
  files: Map<string, InventedFile & { source: string }>
}

export interface Shared {
  rfc: string
  stored: Map<string, Leased>
  /** What test helpers told the authority, by UUID: when it was cancelled. */
  notified: Map<string, number>
  files: Map<string, InventedFile & { source: string }>
  /** The months that anybody's runs downloaded, and when. */
  fetched: { direction: Direction; month: string; at: number }[]
}

export const emptySeat = (): Seat => ({
  ...{
    state: 'none',
    firstActive: null,
    activeSince: 0,
    sources: [],
    rules: [],
    reached: { issued: null, received: null },
    ran: { issued: [], received: [] },
  },
  ...{ watermarks: {}, imports: new Map(), files: new Map() },
})

const clock = (instant: number, zone: string) => Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone)
export const dayIn = (instant: number, zone: string): string => clock(instant, zone).toPlainDate().toString()
const wallClock = (instant: number, zone: string): string => clock(instant, zone).toPlainDateTime().toString({ smallestUnit: 'second' })

/** The instant of a document in milliseconds: by the zone of its place, which metadata does not tell. */
export const instantOf = ({ document, hasXml }: Leased): number =>
  Temporal.PlainDateTime.from(document.fecha).toZonedDateTime(hasXml ? document.lugar.zone : MEXICO).epochMilliseconds

const monthsBetween = (first: string, last: string): string[] => {
  const months: string[] = []
  for (let at = Temporal.PlainYearMonth.from(first); at.toString() <= last; at = at.add({ months: 1 })) months.push(at.toString())
  return months
}

/** A document is stamped within 72 hours of its Fecha. */
const STAMPING = 72 * 3_600_000

/** The first day that a run of this rule downloads: documents may have been stamped since its watermark. */
function floorOf({ scope, scope_months, timezone }: Rule, now: number, watermark: number | undefined): string {
  const today = clock(now, timezone).toPlainDate()
  let day = '2018-01-01'
  if (scope === 'last_n_months') day = today.subtract({ days: 30 * scope_months! }).toString()
  if (scope === 'since_watermark' && watermark !== undefined)
    day = [timezone, WEST].map((zone) => dayIn(watermark - STAMPING, zone)).sort()[0]!
  return day < '2018-01-01' ? '2018-01-01' : day
}

/** What a month holds at an instant, as the authority tells it. */
function fetchMonth({ rfc, stored, notified }: Shared, direction: Direction, month: string, now: number): void {
  for (const document of documentsOf(rfc, direction, month)) {
    // The authority has a document from its stamp on.
    if (stampedAt(document) > wallClock(now, MEXICO)) continue
    const own = document.cancellation !== null && document.cancellation.at <= wallClock(now, MEXICO)
    const cancelled = own || notified.has(document.uuid)
    const known = stored.get(document.uuid)
    if (known && cancelled && !known.cancelled) Object.assign(known, { cancelled, changed: now })
    // Received documents that are cancelled come in the metadata only.
    if (!known) stored.set(document.uuid, { document, direction, cancelled, hasXml: direction === 'issued' || !cancelled, changed: now })
  }
}

export const fileKey = ({ source, name, document_date, bytes }: InventedFile & { source: string }): string =>
  [source, name, document_date, new TextDecoder('latin1').decode(bytes)].join('|')

/** Does what a run of a rule over this connection does. Its downloads are over before anything else happens. */
export function runRule(shared: Shared, seat: Seat, rule: Rule, now: number): void {
  for (const source of rule.sources.filter((key) => seat.sources.includes(key))) {
    const direction = source === 'sat_cfdi_issued' ? 'issued' : source === 'sat_cfdi_received' ? 'received' : null
    if (direction === null) {
      for (const file of filesOf(shared.rfc, source as DataSourceKey, new Date(now))) {
        const kept = { ...file, source }
        shared.files.set(fileKey(kept), kept)
        seat.files.set(fileKey(kept), kept)
      }
      continue
    }
    const from = floorOf(rule, now, seat.watermarks[direction])
    const last = [dayIn(now, rule.timezone), dayIn(now, EAST)].sort()[1]!
    const before = seat.reached[direction]
    // Active again, it also gets the months since its last extraction.
    const isFirst = before !== null && before.ceiling < seat.activeSince
    const since = [from, ...(isFirst ? [dayIn(before.ceiling - STAMPING, WEST)] : [])].sort()[0]!.slice(0, 7)
    for (const month of monthsBetween(since, last.slice(0, 7))) {
      fetchMonth(shared, direction, month, now)
      shared.fetched.push({ direction, month, at: now })
    }
    seat.ran[direction].push({ at: now, month: since, last: last.slice(0, 7) })
    seat.reached[direction] = {
      floor: before === null || from < before.floor ? from : before.floor,
      ceiling: before === null || now > before.ceiling ? now : before.ceiling,
    }
    seat.watermarks[direction] = now
  }
}

/** The rules that run when the connection becomes active. */
export function activate(shared: Shared, seat: Seat, now: number): void {
  const trigger = seat.firstActive !== null ? 'connection_reactivated' : 'connection_created'
  Object.assign(seat, { state: 'active', firstActive: seat.firstActive ?? now, activeSince: now })
  for (const rule of seat.rules)
    if (rule.is_enabled && (rule.trigger_kind === trigger || rule.trigger_kind === 'schedule')) runRule(shared, seat, rule, now)
}

const seesAll = ({ rules }: Seat): boolean => rules.length === 0

/** Whether the window of the organization shows a document that the authority delivered. */
export function isInWindow(seat: Seat, stored: Leased): boolean {
  return seesAll(seat) || isInReach(seat, stored)
}

/** The same without regard to a lack of extractors, which may end. */
function isInReach(seat: Seat, stored: Leased): boolean {
  const reached = seat.reached[stored.direction]
  return reached !== null && stored.document.fecha.slice(0, 10) >= reached.floor && instantOf(stored) <= reached.ceiling
}

export interface Seen extends Leased {
  origin: 'authority' | 'import'
}

/** Every document that the organization may see, by UUID. */
export function seenBy({ stored }: Shared, seat: Seat): Map<string, Seen> {
  const seen = new Map<string, Seen>()
  if (seat.state !== 'active') return seen
  for (const [uuid, one] of seat.imports) seen.set(uuid, { ...one, origin: 'import' })
  // What changed before an own run first downloaded the document is told as of that run, or else as of the beginning of the own history.
  const since = (one: Leased): number => {
    const runs = seat.ran[one.direction].filter(({ at, month }) => at >= instantOf(one) && one.document.fecha >= month)
    return Math.max(seat.firstActive!, runs.length === 0 ? 0 : Math.min(...runs.map(({ at }) => at)))
  }
  for (const [uuid, one] of stored)
    if (isInWindow(seat, one)) seen.set(uuid, { ...one, origin: 'authority', changed: Math.max(one.changed, since(one)) })
  return seen
}

/** Imports a document for the organization. Answers what is told of the file. */
export function importDocument(
  shared: Shared,
  seat: Seat,
  document: SandboxComprobante,
  direction: Direction,
  now: number,
): 'created' | 'unchanged' {
  const twin = shared.stored.get(document.uuid)
  const isShownForGood = seat.state === 'active' && twin !== undefined && isInReach(seat, twin)
  if (seat.imports.has(document.uuid) || isShownForGood) return 'unchanged'
  seat.imports.set(document.uuid, { document, direction, hasXml: true, cancelled: false, changed: now })
  return 'created'
}

/** Whether no document can be issued in a month any more. */
const hasEnded = (month: string, at: number): boolean => dayIn(at, WEST).slice(0, 7) > month
/** Whether no document of a month can be stamped any more. */
const isOver = (month: string, at: number): boolean => hasEnded(month, at - STAMPING)

/** Whether the organization's own runs downloaded a month, as far as its window goes; all downloads succeed. */
export function isComplete({ fetched }: Shared, seat: Seat, direction: Direction, month: string, now: number): boolean {
  const of = seesAll(seat)
    ? fetched.filter((one) => one.direction === direction && one.month === month)
    : seat.ran[direction].filter((one) => one.month <= month && month <= one.last)
  const ceiling = seesAll(seat) ? now : (seat.reached[direction]?.ceiling ?? 0)
  const isSince = (test: typeof isOver) => of.some(({ at }) => test(month, at) || !test(month, ceiling))
  return isSince(isOver) && (seesAll(seat) || isSince(hasEnded))
}

/** The earlier floor of both sources. */
const combinedFloor = ({ reached: { issued, received } }: Seat): string | null =>
  [issued, received].flatMap((one) => one?.floor ?? []).sort()[0] ?? null

/** Documents that are no CFDI: fetched by one's own runs, and from the floor on. */
export const filesSeenBy = ({ files }: Shared, seat: Seat) =>
  seat.state !== 'active'
    ? []
    : seesAll(seat)
      ? [...files.values()]
      : [...seat.files.values()].filter(
          ({ period_end, document_date }) => combinedFloor(seat) === null || (period_end ?? document_date) >= combinedFloor(seat)!,
        )

/** Whether a floor of the organization hides what the authority has, or nothing is reached at all. What others do makes no difference. */
export function windowState(seat: Seat): 'empty' | 'bounded' | 'open' {
  if (seesAll(seat)) return 'open'
  if (DIRECTIONS.every((direction) => seat.reached[direction] === null)) return 'empty'
  return DIRECTIONS.some((direction) => (seat.reached[direction]?.floor ?? '9999') > '2018-01-01') ? 'bounded' : 'open'
}

/** Bounds as the API shows them. */
export const shownBounds = (reached: Reached | null) => ({
  visible_from: reached?.floor ?? null,
  visible_to: reached && new Date(reached.ceiling).toISOString(),
})
