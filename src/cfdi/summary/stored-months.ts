import type { MonthKey, Totals } from '../totals.ts'

/** The documents of a month and direction that the authority's metadata announces, retenciones included, as far as they are visible. */
export interface StoredDocuments {
  announced: number
  with_xml: number
  /** Documents without the XML that the authority delivers. It delivers none of cancelled received documents. */
  missingXml: number
}

export type StoredMonths = Map<MonthKey, StoredDocuments>

export const NOTHING_STORED: StoredDocuments = { announced: 0, with_xml: 0, missingXml: 0 }

/** Whether the authority delivers the XML of a document. */
const isDeliverable = (direction: number, state: string): boolean => direction === 0 || state !== 'cancelado'

/** Adds documents of one cell to those of their month, or subtracts them with sign -1. `cell` is its key. */
export function addStored(
  stored: StoredMonths,
  { month, direction, cell }: { month: string; direction: number; cell: string },
  { n, with_xml }: Pick<Totals, 'n' | 'with_xml'>,
  sign: 1 | -1,
): void {
  const key: MonthKey = `${month}|${direction}`
  const before = stored.get(key) ?? NOTHING_STORED
  const missingXml = isDeliverable(direction, cell.slice(cell.lastIndexOf('|') + 1)) ? n - with_xml : 0
  stored.set(key, {
    announced: before.announced + sign * n,
    with_xml: before.with_xml + sign * with_xml,
    missingXml: before.missingXml + sign * missingXml,
  })
}
