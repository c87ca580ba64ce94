import { Buffer } from 'node:buffer'
import type { PagePosition } from '../../../cfdi/search/search.ts'
import { emptyWorkbook, type WorkbookState } from './formats/xlsx.ts'
import { emptyZip, type ZipState } from './formats/zip.ts'
import { emptyOutput, type OutputState } from './output.ts'

/** How far an export is made, after a committed step. It lies in an object of its own, which the row names. */
export interface MakingState {
  /** The counterparties that were on a list when the first document was read, as `writeListed` writes them. */
  listed: string
  /** Documents are read, then the central directory is copied, then the object is completed. */
  phase: 'reading' | 'directory' | 'complete'
  after: PagePosition | null
  rows: number
  documents: number
  without_xml: number
  zip: ZipState
  workbook: WorkbookState
  output: OutputState
  /** Of the central directory: where it begins, and how many of its objects are copied. */
  directory: { at: number; copied: number }
  bytes: number
}

export const newState = (key: string, listed: string): MakingState => ({
  ...{ listed, phase: 'reading', after: null, rows: 0, documents: 0, without_xml: 0 },
  ...{ zip: emptyZip(), workbook: emptyWorkbook(), output: emptyOutput(key), directory: { at: 0, copied: 0 }, bytes: 0 },
})

/** A state with the bytes that it carries: those of the file that are no part yet, and those of its central directory. */
export interface Carried {
  state: MakingState
  tail: Uint8Array
  directory: Uint8Array
}

const LENGTHS = 8

export function writeState({ state, tail, directory }: Carried): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(state))
  const lengths = Buffer.alloc(LENGTHS)
  lengths.writeUInt32LE(text.length, 0)
  lengths.writeUInt32LE(tail.length, LENGTHS / 2)
  const whole = new Uint8Array(LENGTHS + text.length + tail.length + directory.length)
  let at = 0
  for (const bytes of [lengths, text, tail, directory]) {
    whole.set(bytes, at)
    at += bytes.length
  }
  return whole
}

export function readState(bytes: Uint8Array): Carried {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const [text, tail] = [LENGTHS + view.readUInt32LE(0), LENGTHS + view.readUInt32LE(0) + view.readUInt32LE(LENGTHS / 2)]
  return {
    state: JSON.parse(view.subarray(LENGTHS, text).toString()) as MakingState,
    tail: bytes.slice(text, tail),
    directory: bytes.slice(tail),
  }
}
