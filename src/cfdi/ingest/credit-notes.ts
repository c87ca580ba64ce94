import type { Micros } from '../../platform/money.ts'
import { dividedByRate, openAt, type Taxed } from '../cash/credits.ts'
import type { ApplicationRow, CfdiRow } from '../columns.ts'
import type { Applied, Payable, Substitution } from '../totals.ts'
import { creditOn, relatedOf } from './applications.ts'
import type { Advance, StoredApplication, StoredRow } from './reads.ts'
import { markedElsewhere } from './row.ts'
import type { SliceWrites } from './writes.ts'

/** A document of the slice, as far as it is or has a credit note. */
interface Incoming {
  row: CfdiRow
  applications: ApplicationRow[]
  advances: string[]
}

/** What is applied to an invoice, with the document that applies it. */
export type AppliedBy = Applied & Pick<ApplicationRow, 'source' | 'n' | 'forma_pago'>

type Seen = Pick<ApplicationRow, 'seen_from' | 'seen_until'>

/** Whether what a note lowers depends on the ceiling: then its relations are known to decide it. */
export const isTurning = ({ seen_from, seen_until }: Seen): boolean => seen_from !== null || seen_until !== null

/** An application with the ceilings that show it: it begins as if it were issued then, and ends as if it were substituted. */
export const asSeen = <One extends Applied & Seen>(one: One): One => ({
  ...one,
  issued_at: Math.max(one.issued_at, one.seen_from ?? 0),
  substituted_from:
    one.seen_until === null ? one.substituted_from : Math.min(one.seen_until, one.substituted_from ?? Number.POSITIVE_INFINITY),
})

/** The documents of a slice and everything stored that they affect, as they stand after it. */
export interface AfterSlice {
  documents: readonly Incoming[]
  /** Stored rows that stay. */
  stored: readonly StoredRow[]
  applications: readonly StoredApplication[]
  advances: readonly Advance[]
  substitutions: readonly Substitution[]
  /** By invoice. It is brought up to date. */
  applied: Map<string, AppliedBy[]>
}

/** What a credit note takes off an invoice, and the ceilings that show it there. */
type Part = Pick<ApplicationRow, 'invoice' | 'amount' | 'taxes'> & Seen

/** A credit note that names an advance or several invoices. */
interface Note {
  uuid: string
  fecha: string
  issued_at: number
  emisor_rfc: string
  receptor_rfc: string
  currency: string | null
  tipo_cambio: string | null
  forma_pago: string | null
  cancelled: boolean
  substituted_from: number | null
  amount: Micros
  taxes: string | null
  /** What it lowers so far. */
  before: readonly Part[]
  incoming: Incoming | null
}

export type RelatedInvoice = Payable &
  Pick<
    CfdiRow,
    'uuid' | 'fecha' | 'issued_at' | 'cancelled' | 'substituted_from' | 'tipo_relacion' | 'taxes' | 'forma_pago' | 'beyond_advances'
  >

/** How many invoices one advance leads to, how often another one counts for it, and how many share one note. Real advances have a few. */
const MOST_REACHED = 100
const MOST_TARGETS = 3
const MOST_SHARING = 10

/**
 * Decides what credit notes lower that name an advance, or several invoices. A note that names an advance lowers the invoice that applies it
 * and counts, also one that is issued later, and follows it to its substitute, or to another one that applies the same advance. What the note
 * is too large for goes on to the next one; without any it lowers the advance. One of several invoices is divided by rate and by what is open
 * of each. Sets the applications of incoming notes, and returns the stored ones that change.
 */
export function directNotes({ documents, stored, applications, advances, substitutions, applied }: AfterSlice): SliceWrites['redirected'] {
  const invoices = new Map<string, RelatedInvoice>([...stored, ...documents.map(({ row }) => row)].map((row) => [row.uuid, row]))
  const notes = [...incomingNotes(documents), ...storedNotes(applications, invoices, advances)]
  if (notes.length === 0) return []
  const named = Map.groupBy(advances, ({ source }) => source)
  const reached = reachedAmong(invoices, advances, substitutions)
  const redirected: SliceWrites['redirected'] = []
  for (const note of notes.sort((a, b) => (a.fecha === b.fecha ? (a.uuid < b.uuid ? -1 : 1) : a.fecha < b.fecha ? -1 : 1))) {
    const stated = (named.get(note.uuid) ?? []).map(({ advance }) => advance)
    const follows = new Set(stated.flatMap((uuid) => [...reached(uuid).itself, ...reached(uuid).applying, ...reached(uuid).others.keys()]))
    const isAdvance = stated.length > 0 && invoices.get(note.uuid)?.tipo_relacion === '07'
    const kept = isAdvance ? [] : note.before.map(({ invoice }) => invoice).filter((uuid) => !follows.has(uuid))
    const choices = stated.map((uuid) => ({ named: uuid, candidates: candidatesOf(note, reached(uuid), invoices) }))
    /** What is left of an invoice after the notes of advances before this one. */
    const leftOf = (uuid: string, from: number): Micros => {
      const before = (applied.get(uuid) ?? []).filter(({ source }) => named.has(source))
      const left = openAt({ ...note, issued_at: from }, invoices.get(uuid), before)
      return left === null ? note.amount : left.open + left.paid
    }
    const after = targetsOf(note, kept, choices, leftOf).flatMap(({ from, uuids }, n, all): Part[] => {
      const open = (uuid: string): Taxed => {
        const one = openAt({ ...note, issued_at: from }, invoices.get(uuid), applied.get(uuid) ?? [])
        const { taxes, total_micros } = invoices.get(uuid) ?? {}
        return one && { ...one, stated: total_micros ?? 0n, taxes: taxes ?? null }
      }
      const { amount, taxes } = note
      // What is open takes long to add up where much is applied.
      const parts = uuids.length === 1 ? [{ amount, taxes: null }] : dividedByRate(amount, taxes, uuids.map(open))
      const seen = { seen_from: n === 0 ? null : from, seen_until: all[n + 1]?.from ?? null }
      return uuids.map((invoice, k) => ({ invoice, ...parts[k]!, ...seen }))
    })
    const from = turnedFrom(note, after)
    if (from === null) continue
    const credit = { ...note, source: note.uuid, fecha_pago: note.fecha }
    const rows = after.map((part, n): ApplicationRow => ({ ...creditOn(credit, part.invoice, n + 1), ...part }))
    // What it lowers without a ceiling comes first.
    const related = relatedOf([...rows.filter(({ seen_until }) => seen_until === null), ...rows])!
    for (const invoice of new Set(note.before.map(({ invoice }) => invoice))) {
      const others = (applied.get(invoice) ?? []).filter(({ source }) => source !== note.uuid)
      applied.set(invoice, others)
    }
    for (const row of rows) {
      const { emisor_rfc, receptor_rfc, issued_at, cancelled, substituted_from } = note
      const one = asSeen({ ...row, emisor_rfc, receptor_rfc, issued_at, cancelled, substituted_from })
      applied.set(row.invoice, [...(applied.get(row.invoice) ?? []), one])
    }
    if (note.incoming === null) {
      const gone = [...new Set(note.before.map(({ invoice }) => invoice))]
      redirected.push({ uuid: note.uuid, from, related, gone, applications: rows })
    } else {
      note.incoming.applications = rows
      note.incoming.row.related = related
    }
  }
  return redirected
}

/**
 * What a document leads to: itself with what substitutes it (04), the invoices that apply it as an advance (07), with their substitutes, and
 * the others that apply the advances of itself, with the ceiling from which one can know it.
 */
interface Reached {
  itself: ReadonlySet<string>
  applying: ReadonlySet<string>
  others: ReadonlyMap<string, number>
}

export function reachedAmong(
  invoices: ReadonlyMap<string, RelatedInvoice>,
  advances: readonly Advance[],
  substitutions: readonly Substitution[],
): (uuid: string) => Reached {
  const isInvoice = ({ source }: { source: string }): boolean => invoices.get(source)?.tipo_comprobante === 'I'
  const substitutes = Map.groupBy(substitutions.filter(isInvoice), ({ substituted }) => substituted)
  const appliers = Map.groupBy(advances.filter(isInvoice), ({ advance }) => advance)
  const advancesOf = Map.groupBy(advances.filter(isInvoice), ({ source }) => source)
  const known = new Map<string, Reached>()
  const follow = (uuid: string, isFollowed: (advance: string) => readonly Advance[]): Set<string> => {
    const found = new Set([uuid])
    for (const one of found)
      for (const { source } of [...(substitutes.get(one) ?? []), ...isFollowed(one)]) if (found.size < MOST_REACHED) found.add(source)
    return found
  }
  return (uuid) => {
    const before = known.get(uuid)
    if (before !== undefined) return before
    const itself = follow(uuid, () => [])
    const applyingOf = (advance: string) => follow(advance, (one) => appliers.get(one) ?? []).difference(follow(advance, () => []))
    const applying = applyingOf(uuid)
    const others = new Map<string, number>()
    for (const one of itself)
      for (const { advance } of advancesOf.get(one) ?? [])
        for (const other of others.size < MOST_REACHED ? applyingOf(advance) : [])
          if (!itself.has(other) && !applying.has(other))
            others.set(other, Math.min(others.get(other) ?? Number.POSITIVE_INFINITY, invoices.get(one)!.issued_at))
    const found = { itself, applying, others }
    known.set(uuid, found)
    return found
  }
}

/** An invoice that a note may lower in the place of a document that it names, for the ceilings from one on and before another. */
interface Candidate {
  uuid: string
  from: number
  until: number
}

/** Of the invoices that count for a ceiling, those that apply what is named before itself; of these the newest that was there before the note, else the first one after. */
function candidatesOf(note: Note, { itself, applying, others }: Reached, invoices: ReadonlyMap<string, RelatedInvoice>): Candidate[] {
  const rank = ({ issued_at }: RelatedInvoice): number => (issued_at <= note.issued_at ? note.issued_at - issued_at : issued_at)
  const preferred = (uuids: Iterable<string>): Candidate[] => {
    const found = [...uuids].flatMap((uuid) => invoices.get(uuid) ?? []).filter((one) => isLowered(note, one))
    const sorted = found.sort((a, b) => rank(a) - rank(b) || (a.uuid < b.uuid ? 1 : -1))
    const last = sorted.findIndex(({ substituted_from }) => substituted_from === null)
    const end = last < 0 ? sorted.length : last
    return [...sorted.slice(0, Math.min(end, MOST_TARGETS)), ...sorted.slice(end, end + MOST_SHARING)].map(
      ({ uuid, issued_at, substituted_from }) => ({
        ...{ uuid, from: Math.max(issued_at, note.issued_at, others.get(uuid) ?? 0) },
        until: substituted_from ?? Number.POSITIVE_INFINITY,
      }),
    )
  }
  return [applying, itself, others.keys()].flatMap(preferred)
}

/** Whether a note can lower an invoice, for a ceiling that shows it and no substitute. */
const isLowered = (note: Note, invoice: RelatedInvoice): boolean =>
  invoice.tipo_comprobante === 'I' &&
  invoice.version !== null &&
  invoice.cancelled === 0 &&
  invoice.emisor_rfc === note.emisor_rfc &&
  invoice.receptor_rfc === note.receptor_rfc &&
  (invoice.substituted_from === null || invoice.substituted_from > note.issued_at)

/** All that a note lowers, from each ceiling on that shows a change. The order does not depend on what came first. */
function targetsOf(
  note: Note,
  kept: readonly string[],
  choices: readonly { named: string; candidates: readonly Candidate[] }[],
  leftOf: (uuid: string, from: number) => Micros,
): { from: number; uuids: string[] }[] {
  const ends = choices.flatMap(({ candidates }) => candidates.flatMap(({ from, until }) => [from, until]))
  const instants = [...new Set([note.issued_at, ...ends.filter(Number.isFinite)])].sort((a, b) => a - b)
  const targets = instants.map((from) => {
    const shown = choices.map(({ named, candidates }) => {
      const found = candidates.filter((one) => one.from <= from && from < one.until).map(({ uuid }) => uuid)
      return found.length === 0 ? [named] : found
    })
    // What is left takes long to add up where much is applied.
    const chosen = (list: string[]): string => (list.length > 1 && list.find((uuid) => leftOf(uuid, from) > 0n)) || list[0]!
    const uuids = new Set([...kept, ...shown.map(chosen)])
    if (shown.flat().every((uuid) => uuids.has(uuid))) return { from, uuids: [...uuids].sort() }
    let rest = [...uuids].reduce((sum, uuid) => sum - leftOf(uuid, from), note.amount)
    for (const uuid of shown.flat()) {
      if (rest <= 0n || uuids.size >= MOST_SHARING) break
      const left = uuids.has(uuid) ? 0n : leftOf(uuid, from)
      if (left > 0n) uuids.add(uuid)
      rest -= left
    }
    return { from, uuids: [...uuids].sort() }
  })
  const turns = targets.filter(({ uuids }, n) => n === 0 || uuids.join() !== targets[n - 1]!.uuids.join())
  return [turns[0]!, ...turns.slice(1).slice(-MOST_TARGETS)]
}

/** The least ceiling that shows that a note lowers something else, or by another amount; null when none does. */
function turnedFrom({ issued_at, before }: Note, after: readonly Part[]): number | null {
  const at = (parts: readonly Part[], instant: number): string =>
    parts
      .filter(({ seen_from, seen_until }) => (seen_from ?? 0) <= instant && instant < (seen_until ?? Number.POSITIVE_INFINITY))
      .map(({ invoice, amount, taxes }) => `${invoice} ${amount} ${taxes}`)
      .sort()
      .join()
  const instants = new Set([issued_at, ...[...before, ...after].flatMap(({ seen_from, seen_until }) => [seen_from ?? 0, seen_until ?? 0])])
  const turned = [...instants].filter((instant) => instant >= issued_at && at(before, instant) !== at(after, instant))
  return turned.length === 0 ? null : Math.min(...turned)
}

/**
 * Marks the incoming credit notes that name an invoice whose IVA was withheld, or a later one, and returns the stored ones to be marked: they
 * may count on the day of its payment.
 */
export function markNotes(
  documents: readonly Incoming[],
  stored: readonly StoredRow[],
  applied: ReadonlyMap<string, readonly AppliedBy[]>,
  redirected: SliceWrites['redirected'],
): SliceWrites['marked'] {
  const incoming = new Map(documents.map(({ row }) => [row.uuid, row]))
  const moved = new Set(redirected.map(({ uuid }) => uuid))
  const marked = new Map<string, SliceWrites['marked'][number]>()
  for (const { uuid, fecha, iva_retenido } of [...stored, ...incoming.values()])
    for (const { kind, source, fecha_pago } of applied.get(uuid) ?? []) {
      const isElsewhere = (iva_retenido ?? 0n) !== 0n || fecha.slice(0, 10) > fecha_pago.slice(0, 10)
      if (kind !== 'E' || !isElsewhere || !(incoming.has(source) || incoming.has(uuid) || moved.has(source))) continue
      const before = marked.get(source)?.last_paid_on ?? fecha_pago
      marked.set(source, { uuid: source, ...markedElsewhere(fecha_pago, before > fecha ? before : fecha) })
    }
  for (const one of marked.values()) Object.assign(incoming.get(one.uuid) ?? {}, one)
  return [...marked.values()].filter(({ uuid }) => !incoming.has(uuid))
}

const incomingNotes = (documents: readonly Incoming[]): Note[] =>
  documents
    .filter(
      ({ row, applications, advances }) =>
        row.tipo_comprobante === 'E' && applications.length > 0 && (applications.length > 1 || advances.length > 0),
    )
    .map((incoming) => {
      const { row, applications } = incoming
      return { ...row, cancelled: row.cancelled === 1, amount: row.total_micros ?? 0n, before: applications, incoming }
    })

/** The stored notes of which every part has been read. */
function storedNotes(
  applications: readonly StoredApplication[],
  rows: ReadonlyMap<string, RelatedInvoice>,
  advances: readonly Advance[],
): Note[] {
  const advanced = new Set(advances.map(({ source }) => source))
  const meant = applications.filter((one) => one.kind === 'E' && (advanced.has(one.source) || (one.names > 1 && !isTurning(one))))
  return [...Map.groupBy(meant, ({ source }) => source)].flatMap(([uuid, before]): Note[] => {
    const [one] = before
    const read = new Set(before.map(({ invoice }) => invoice))
    if (one === undefined || read.size < one.names) return []
    const amount = before.reduce((sum, part) => (part.seen_until === null ? sum + part.amount : sum), 0n)
    return [{ ...one, uuid, fecha: one.fecha_pago, amount, taxes: rows.get(uuid)?.taxes ?? null, before, incoming: null }]
  })
}
