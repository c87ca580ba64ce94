import { type IngestTarget, ingestXmlPackage, type Outcomes } from '../../../src/cfdi/ingest/ingest.ts'
import type { StatusLookup } from '../../../src/cfdi/package/rejections.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'

/** Ingests the CFDIs of a ZIP that is in memory. */
export const ingestZip = (target: IngestTarget, zip: Uint8Array, reported?: StatusLookup): Outcomes =>
  ingestXmlPackage(target, bytesInMemory(zip), reported)
