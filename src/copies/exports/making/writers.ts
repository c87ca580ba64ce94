import { Buffer } from 'node:buffer'
import { csvLine } from '../../../platform/csv.ts'
import type { ExportRow } from '../store.ts'
import { valuesOf } from './formats/columns.ts'
import { Workbook } from './formats/xlsx.ts'
import { Zip } from './formats/zip.ts'
import { columnsFor, sheetNameOf } from './headings.ts'
import type { ExportLimits } from './limits.ts'
import type { FileOutput } from './output.ts'
import type { MakingState } from './state.ts'

/** What writes the rows of an export in its format. */
export interface RowWriter {
  /** Before the first row. */
  begin(): void
  write(rows: readonly unknown[]): void
  /** After the last one. */
  end(): void
}

const BYTE_ORDER_MARK = '\ufeff'

const nothing = () => {}

export const zipOf = ({ created_at }: ExportRow, state: MakingState, output: FileOutput, { zip }: ExportLimits): Zip =>
  new Zip(output, state.zip, new Date(created_at), zip)

export function rowWriterOf(row: ExportRow, state: MakingState, output: FileOutput, limits: ExportLimits): RowWriter {
  const kind = row.kind as Exclude<ExportRow['kind'], 'xml'>
  const columns = columnsFor(kind, row.headings)
  const push = (text: string) => output.push(Buffer.from(text))
  if (row.format === 'ndjson')
    return { begin: nothing, write: (rows) => push(rows.map((one) => `${JSON.stringify(one)}\n`).join('')), end: nothing }
  if (row.format === 'csv')
    return {
      begin: () => push(BYTE_ORDER_MARK + csvLine(columns.map(({ heading }) => heading))),
      write: (rows) => push(rows.map((one) => csvLine(valuesOf(columns, one))).join('')),
      end: nothing,
    }
  const workbook = new Workbook(zipOf(row, state, output, limits), state.workbook, columns, sheetNameOf(kind, row.headings), limits.sheet)
  return { begin: nothing, write: (rows) => workbook.write(rows), end: () => workbook.end() }
}
