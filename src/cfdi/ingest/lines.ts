import { Buffer } from 'node:buffer'
import { LINE_COLUMNS, type LineRow, lineHeaderOf } from '../columns.ts'
import { type Concepto, conceptoDetailOf } from '../xml/document.ts'
import type { LineReader } from '../xml/parse-state.ts'
import { MAX_BYTES, tooLarge } from './row.ts'
import { LineTaxes } from './taxes.ts'

const [, ...AFTER_UUID] = LINE_COLUMNS

/**
 * The lines of a document while it is read: each becomes the JSON of its row at once, which takes a third of the memory that a line takes
 * as objects. Throws RowRejected when a line is too long to be stored.
 */
export class Lines implements LineReader {
  taxes = new LineTaxes()
  /** Rows without their UUID, which stands at the end of a document. */
  #rows: string[] = []

  begin(): void {
    this.taxes = new LineTaxes()
    this.#rows = []
  }

  take(concepto: Concepto): void {
    this.taxes.add(concepto)
    const line = { n: this.#rows.length + 1, ...lineHeaderOf(concepto), detail: JSON.stringify(conceptoDetailOf(concepto)) }
    const text = JSON.stringify(AFTER_UUID.map((name) => line[name as keyof Omit<LineRow, 'uuid'>]))
    if (text.length > MAX_BYTES / 3 && Buffer.byteLength(text) > MAX_BYTES) throw tooLarge()
    this.#rows.push(text)
  }

  /** The rows as JSON, numbered from 1. */
  rowsOf(uuid: string): string[] {
    return this.#rows.map((row) => `["${uuid}",${row.slice(1)}`)
  }
}
