import type { Micros } from '../../platform/money.ts'
import { dividedAmong, openAt } from '../cash/credits.ts'
import type { ApplicationRow, CfdiRow } from '../columns.ts'
import type { Applied, Payable } from '../totals.ts'
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
export type AppliedBy = Applied & { source: string }

/** The documents of a slice and everything stored that they affect, as they stand after it. */
interface AfterSlice {
  documents: readonly Incoming[]
  /** Stored rows that stay. */
  stored: readonly StoredRow[]
  applications: readonly StoredApplication[]
  advances: readonly Advance[]
  /** By invoice. It is brought up to date. */
  applied: Map<string, AppliedBy[]>
}

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
  amount: Micros
  /** What it lowers so far, with amounts. */
  before: ReadonlyMap<string, Micros>
  incoming: Incoming | null
}

type Invoice = Payable & { uuid: string; issued_at: number }

/**
 * Decides what credit notes lower that name an advance, or several invoices. One that names an advance lowers the invoice that applies it, the
 * newest that was issued until then; one of several is divided by what is open of each. Sets the applications of incoming notes, and
 * returns the stored ones that change.
 */
export function directNotes({ documents, stored, applications, advances, applied }: AfterSlice): SliceWrites['redirected'] {
  const notes = [...incomingNotes(documents), ...storedNotes(applications, advances)]
  if (notes.length === 0) return []
  const invoices = new Map<string, Invoice>([...stored, ...documents.map(({ row }) => row)].map((row) => [row.uuid, row]))
  const named = Map.groupBy(advances, ({ source }) => source)
  const applying = Map.groupBy(advances, ({ advance }) => advance)
  const redirected: SliceWrites['redirected'] = []
  for (const note of notes.sort((a, b) => (a.fecha === b.fecha ? (a.uuid < b.uuid ? -1 : 1) : a.fecha < b.fecha ? -1 : 1))) {
    const stated = (named.get(note.uuid) ?? []).map(({ advance }) => advance)
    const appliers = (advance: string): Invoice[] =>
      (applying.get(advance) ?? []).flatMap(({ source }) => {
        const invoice = invoices.get(source)
        return invoice !== undefined && isApplier(note, invoice) ? [invoice] : []
      })
    const set = new Set(stated.flatMap((advance) => [advance, ...appliers(advance).map(({ uuid }) => uuid)]))
    const kept = [...note.before.keys()].filter((uuid) => !set.has(uuid))
    // In an order that does not depend on what came first.
    const targets = [...new Set([...kept, ...stated.map((uuid) => newest(appliers(uuid)) ?? uuid)])].sort()
    const parts = dividedAmong(
      note.amount,
      targets.map((uuid) => openAt(note, invoices.get(uuid), applied.get(uuid) ?? [])),
    )
    const after = new Map(targets.map((uuid, n) => [uuid, parts[n]!]))
    if (isSame(note.before, after)) continue
    move(applied, note, after)
    const rows = targets.map(
      (uuid, n): ApplicationRow => ({
        ...creditOn({ ...note, source: note.uuid, fecha_pago: note.fecha }, uuid, n + 1),
        amount: parts[n]!,
      }),
    )
    if (note.incoming === null) {
      redirected.push({ uuid: note.uuid, related: relatedOf(rows)!, gone: [...note.before.keys()], applications: rows })
    } else {
      note.incoming.applications = rows
      note.incoming.row.related = relatedOf(rows)
    }
  }
  return redirected
}

/**
 * Marks the incoming credit notes that name an invoice whose IVA was withheld, and returns the stored ones to be marked: they may count on the
 * day of its payment.
 */
export function markNotes(
  documents: readonly Incoming[],
  stored: readonly StoredRow[],
  applied: ReadonlyMap<string, readonly AppliedBy[]>,
): SliceWrites['marked'] {
  const incoming = new Map(documents.map(({ row }) => [row.uuid, row]))
  const marked = new Map<string, string>()
  for (const { uuid, iva_retenido } of [...stored, ...incoming.values()]) {
    if ((iva_retenido ?? 0n) === 0n) continue
    for (const { kind, source, fecha_pago } of applied.get(uuid) ?? []) {
      if (kind !== 'E') continue
      const note = incoming.get(source)
      if (note !== undefined) Object.assign(note, markedElsewhere(fecha_pago))
      else if (incoming.has(uuid)) marked.set(source, fecha_pago)
    }
  }
  return [...marked].map(([uuid, fecha]) => ({ uuid, ...markedElsewhere(fecha) }))
}

const isApplier = (note: Note, invoice: Invoice): boolean =>
  invoice.tipo_comprobante === 'I' &&
  invoice.version !== null &&
  invoice.emisor_rfc === note.emisor_rfc &&
  invoice.receptor_rfc === note.receptor_rfc &&
  invoice.issued_at <= note.issued_at

const newest = (invoices: readonly Invoice[]): string | undefined =>
  [...invoices].sort((a, b) => b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : -1))[0]?.uuid

const isSame = (before: ReadonlyMap<string, Micros>, after: ReadonlyMap<string, Micros>): boolean =>
  before.size === after.size && [...after].every(([uuid, amount]) => before.get(uuid) === amount)

/** Moves what a note applies to other invoices. */
function move(applied: Map<string, AppliedBy[]>, { uuid, before }: Note, after: ReadonlyMap<string, Micros>): void {
  const [one] = [...before.keys()].flatMap((invoice) => applied.get(invoice)?.filter(({ source }) => source === uuid) ?? [])
  for (const invoice of before.keys())
    applied.set(
      invoice,
      (applied.get(invoice) ?? []).filter(({ source }) => source !== uuid),
    )
  if (one !== undefined) for (const [invoice, amount] of after) applied.set(invoice, [...(applied.get(invoice) ?? []), { ...one, amount }])
}

const incomingNotes = (documents: readonly Incoming[]): Note[] =>
  documents
    .filter(
      ({ row, applications, advances }) =>
        row.tipo_comprobante === 'E' && applications.length > 0 && (applications.length > 1 || advances.length > 0),
    )
    .map((incoming) => ({
      ...incoming.row,
      amount: incoming.row.total_micros ?? 0n,
      before: new Map(incoming.applications.map(({ invoice, amount }) => [invoice, amount])),
      incoming,
    }))

/** The stored notes of which every part has been read. */
function storedNotes(applications: readonly StoredApplication[], advances: readonly Advance[]): Note[] {
  const advanced = new Set(advances.map(({ source }) => source))
  const meant = applications.filter(({ kind, shared, source }) => kind === 'E' && (shared !== null || advanced.has(source)))
  return [...Map.groupBy(meant, ({ source }) => source)].flatMap(([uuid, parts]): Note[] => {
    const [one] = parts
    const list = parts.find(({ shared }) => shared)?.shared
    if (one === undefined || parts.length < (one.shared === null ? 1 : (JSON.parse(list ?? '[]') as string[]).length)) return []
    const before = new Map(parts.map(({ invoice, amount }) => [invoice, amount]))
    return [{ ...one, uuid, fecha: one.fecha_pago, amount: parts.reduce((sum, { amount }) => sum + amount, 0n), before, incoming: null }]
  })
}
