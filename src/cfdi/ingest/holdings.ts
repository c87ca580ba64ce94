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
