/** What bounds the steps and formats of an export. Tests have lower ones. */
export interface ExportLimits {
  /** Documents that are read at once: of which only rows are written, of which contents are, and of which files are. */
  page: Readonly<Record<'cfdi' | 'conceptos' | 'pagos' | 'xml', number>>
  /** After so many documents a step is committed. */
  commit: number
  /** Compressed bytes of XML that are read at once. */
  xmlBytes: number
  sheet: { rows: number; bytes: number }
  zip: { bytes: number; entries: number }
  /** Bytes of the central directory that a state carries. More go into objects of their own. */
  directory: number
  /** Objects of XML that an invocation reads. */
  objects: number
}

const MIB = 1024 ** 2

export const LIMITS: ExportLimits = {
  page: { cfdi: 500, conceptos: 250, pagos: 250, xml: 250 },
  commit: 5_000,
  xmlBytes: 8 * MIB,
  sheet: { rows: 1_048_576, bytes: 2 * 1024 * MIB },
  zip: { bytes: 2 ** 32 - 1, entries: 65_535 },
  directory: MIB,
  objects: 400,
}

/** R2 takes 10,000 parts, each but the last of the same size and of 5 MiB at least. */
export const PART_BYTES = 5 * MIB
export const MOST_PARTS = 10_000

/** The most statements of a step, its commit included. */
export const STEP_STATEMENTS = 30
