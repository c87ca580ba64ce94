import type { SQL } from 'drizzle-orm'
import { type ReturnRow, returnsOf } from '../../documents/returns.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import { type DirectionNumber, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { type Exclusions, exclusionsOf } from './exclusions.ts'
import type { OpenRow } from './pending.ts'
import { type GroupRow, groupIn, openIn, type PositionRow, positionOf } from './position.ts'
import { type NotesRow, notes } from './store.ts'
import type { KnownSuppliers } from './suppliers.ts'

type OfDirection<Row> = Row & { direction: DirectionNumber }

/** What the figures of some months are computed of. */
export interface VatReading {
  groups: OfDirection<GroupRow>[]
  open: OfDirection<OpenRow>[]
  /** Invoices for `measureOpenOn`. */
  odd: OfDirection<{ invoice: string }>[]
  notes: NotesRow
  returns: ReturnRow[]
  exclusions: Exclusions
}

/** The months of a span that have begun, and the end of each: its last day, or today. */
export const monthsOf = ({ span, today }: Pick<Insight, 'span' | 'today'>): { month: string; end: string }[] => {
  const months = []
  for (let month = span.first.slice(0, 7); month <= span.last.slice(0, 7) && month <= today.slice(0, 7); month = addMonths(month, 1))
    months.push({ month, end: [lastDayOf(month), today].sort()[0]! })
  return months
}

const DIRECTIONS = [0, 1] as const

/** What reads the movements of the months and of the one before, what the months issued, and what was open at their ends. */
export function statementsOf(
  insight: Insight,
  suppliers: KnownSuppliers,
): { statements: SQL[]; parse: (found: readonly unknown[][]) => VatReading } {
  const { ledger, span, rules } = insight
  const exclusions = exclusionsOf(rules, span)
  const ends = monthsOf(insight).map(({ end }) => end)
  const through = { first: ends[0] ?? '', last: ends.at(-1) ?? '' }
  const days = { first: `${addMonths(span.first.slice(0, 7), -1)}-01`, last: span.last }
  const reads = (ends.length === 0 ? [] : partitionsToRead(ledger)).flatMap((partition) =>
    DIRECTIONS.flatMap((direction) =>
      [
        { direction, isPosition: true, statement: positionOf(partition, direction, days, through, exclusions, suppliers) },
        { direction, isPosition: false, statement: notes(partition, direction, span) },
      ].flatMap((one) => (one.statement === null ? [] : [{ ...one, statement: one.statement }])),
    ),
  )
  const statements = [...reads.map(({ statement }) => statement), returnsOf(ledger, span.first, span.last)]
  const parse = (found: readonly unknown[][]): VatReading => {
    const reading: VatReading = {
      groups: [],
      open: [],
      odd: [],
      notes: { of_others: 0, of_unpaid: 0 },
      returns: found.at(-1) as ReturnRow[],
      exclusions,
    }
    for (const [n, { direction, isPosition }] of reads.entries()) {
      if (!isPosition) {
        const [row] = found[n] as NotesRow[]
        reading.notes = { of_others: reading.notes.of_others + row!.of_others, of_unpaid: reading.notes.of_unpaid + row!.of_unpaid }
      } else
        for (const { kind, row } of found[n] as PositionRow[]) {
          if (kind === 'group') reading.groups.push({ direction, ...groupIn(row) })
          else if (kind === 'open') reading.open.push({ direction, ...openIn(row) })
          else reading.odd.push({ direction, invoice: row })
        }
    }
    return reading
  }
  return { statements, parse }
}
