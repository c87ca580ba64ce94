import { Buffer } from 'node:buffer'
import { LINE_COLUMNS, type LineRow, lineHeaderOf } from '../columns.ts'
import { type Concepto, conceptoDetailOf } from '../xml/document.ts'
import type { LineReader } from '../xml/parse-state.ts'
import { MAX_BYTES, tooLarge } from './row.ts'
import { LineTaxes } from './taxes.ts'

/**
 * The lines of a document while it is read: each becomes the JSON of its row at once, which takes a third of the memory that a line takes
 * as objects. Throws RowRejected when a line is too long to be stored.
 */
export class Lines implements LineReader {
  taxes = new LineTaxes()
  /** The UUID that the file's name states; the document's own comes after its lines. */
  readonly #expected: string
  #rows: string[] = []

  constructor(uuid: string | null) {
    this.#expected = uuid ?? ''
  }

  begin(): void {
    this.taxes = new LineTaxes()
    this.#rows = []
  }

  take(concepto: Concepto): void {
    this.taxes.add(concepto)
    const detail = JSON.stringify(conceptoDetailOf(concepto))
    const line: LineRow = { uuid: this.#expected, n: this.#rows.length + 1, ...lineHeaderOf(concepto), detail }
    const text = JSON.stringify(LINE_COLUMNS.map((name) => line[name]))
    if (text.length > MAX_BYTES / 3 && Buffer.byteLength(text) > MAX_BYTES) throw tooLarge()
    this.#rows.push(text)
  }

  /** The rows as JSON, numbered from 1. */
  rowsOf(uuid: string): string[] {
    const [begins, should] = [`["${this.#expected}",`, `["${uuid}",`]
    return begins === should ? this.#rows : this.#rows.map((row) => should + row.slice(begins.length))
  }
}
