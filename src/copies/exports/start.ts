import type { FixedFilters } from '../../cfdi/search/search.ts'
import type { Ctx, System } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { sendHints } from '../../platform/work/send.ts'
import type { ExportRow } from './store.ts'
import type { EXPORT_CONTENT } from './tables.ts'

/** Sends exports to the queue. The messages are hints: the rows are committed, and the sweep sends them again. */
export const wakeExports = (system: System, ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.EXPORTS,
    ids.map((export_id) => ({ body: { export_id } })),
  )

const OF_WINDOWS = [
  ...(['first_active_at', 'imported_at', 'issued_from', 'issued_to', 'issued_granted_ranges'] as const),
  ...(['received_from', 'received_to', 'received_granted_ranges'] as const),
]

/** An organization's view of an RFC, and the meaning of its filters, at the time when it asked for an export. */
export interface Start {
  /** Which files of each document; absent of other kinds, and of exports begun before there was a choice. */
  content?: readonly (typeof EXPORT_CONTENT)[number][] | undefined
  filters: FixedFilters
  extractor_count: number
  connection: Pick<Connection, (typeof OF_WINDOWS)[number]>
}

type Reader = Pick<Ctx, 'organization'> & { connection: Connection }

export const startOf = ({ organization, connection }: Reader, filters: FixedFilters, content?: Start['content']): Start => ({
  content,
  filters,
  extractor_count: organization.extractor_count,
  connection: Object.fromEntries(OF_WINDOWS.map((name) => [name, connection[name]])) as Start['connection'],
})

/** The reader as it was then, on the connection of now. */
export const readerAt = <R extends Reader>(reader: R, { extractor_count, connection }: Start): R => ({
  ...reader,
  organization: { ...reader.organization, extractor_count },
  connection: { ...reader.connection, ...connection },
})

/** The day of a bound; for an instant, its day in central Mexico. */
const dayOf = (bound: string): string => (bound.includes('T') ? centralDayOf(Date.parse(bound)) : bound)

/**
 * The period of filters, as a name shows it: `2026-10` for a whole month, `2026-01-01_2026-03-31` for a range. Without an end it ends
 * today, without a beginning it is its end after the word `until`, and without both it is null.
 */
export function periodOf({ issued_from, issued_to, last_day }: Start['filters'], today: string, until: string): string | null {
  const ends = [...(issued_to ? [dayOf(issued_to)] : []), ...(last_day ? [last_day] : [])].sort()
  if (!issued_from) return ends[0] ? `${until}-${ends[0]}` : null
  const from = dayOf(issued_from)
  const to = ends[0] ?? (from > today ? from : today)
  const month = from.slice(0, 7)
  if (from === `${month}-01` && to === lastDayOf(month)) return month
  return from === to ? from : `${from}_${to}`
}

/** The words of a name in the language of its headings. */
const WORDS = {
  api: { until: 'until', issued: 'issued', received: 'received' },
  es: { until: 'hasta', issued: 'emitidos', received: 'recibidos' },
} as const

/** The name under which the content of an export of an RFC is downloaded. */
export function nameOf(rfc: string, { kind, format, headings, start, created_at }: ExportRow): string {
  const { filters } = JSON.parse(start) as Start
  const words = WORDS[headings]
  const today = centralDayOf(created_at)
  const direction = filters.direction && words[filters.direction]
  return `${[rfc, kind, ...(direction ? [direction] : []), periodOf(filters, today, words.until) ?? today].join('-')}.${format}`
}
