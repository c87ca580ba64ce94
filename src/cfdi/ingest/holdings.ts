import { Buffer } from 'node:buffer'
import type { MetadataRow } from '../package/metadata.ts'
import type { XmlPlace } from '../xml/xml-store.ts'
import { type StatusColumns, statusOf } from './row.ts'

/** What one import says of one document: its XML, its metadata, or both. Several imports can hold a document. */
export interface Holding {
  uuid: string
  xml: HeldXml | null
  metadata: MetadataRow | null
}

/** Where the import's own copy of an XML is, and what its inflated bytes are known by. */
export interface HeldXml extends XmlPlace {
  xml_size: number
  xml_crc: number
}

/** Holdings that one commit adds, in the order in which they came. */
export interface HoldingPart {
  part: number
  holdings: Holding[]
}

/** More parts than one commit can add. */
const PARTS_PER_COMMIT = 1_000
/** What the holdings of a part may take as JSON. 1,000 usual ones have a third of it. */
const MOST_BYTES = 1024 * 1024
/** What a holding takes besides the texts of its metadata. */
const HOLDING_BYTES = 250

/** Divides the holdings of a commit into parts. */
export function holdingParts(holdings: readonly Holding[], sequence: number): HoldingPart[] {
  const parts: HoldingPart[] = []
  let bytes = MOST_BYTES
  for (const holding of holdings) {
    const size = HOLDING_BYTES + (holding.metadata === null ? 0 : Buffer.byteLength(JSON.stringify(holding.metadata)))
    bytes += size
    if (bytes > MOST_BYTES) {
      parts.push({ part: sequence * PARTS_PER_COMMIT + parts.length, holdings: [] })
      bytes = size
    }
    parts.at(-1)!.holdings.push(holding)
  }
  return parts
}

/** The parts that a `held` column names. */
export const partsIn = (held: string | null): number[] => (held === null ? [] : held.split(',').map(Number))

/** What holdings say together. */
export interface Combined {
  /** The first XML; null when only metadata is known. */
  xml: HeldXml | null
  /** The first metadata; null when an XML came first. */
  metadata: MetadataRow | null
  status: StatusColumns
}

/**
 * What is stored of a document after its imports, in their order: the first XML stays, the first metadata counts until there is an XML, and
 * a document that is cancelled never becomes valid again. Null without holdings.
 */
export function combine(holdings: readonly Holding[]): Combined | null {
  let combined: Combined | null = null
  for (const { xml, metadata } of holdings) {
    if (xml === null && metadata === null) continue
    combined ??= { xml, metadata: xml === null ? metadata : null, status: statusOf(metadata ?? undefined) }
    combined.xml ??= xml
    if (combined.status.cancelled === 0 && metadata?.cancelled) combined.status = statusOf(metadata)
  }
  return combined
}
