import { crc32, deflateRawSync } from 'node:zlib'
import type { SandboxCancellation, SandboxComprobante } from '../world/comprobante.ts'
import { pacOf, stampedAt } from '../world/invoices.ts'
import { money } from '../xml/markup.ts'

/** A document with its cancellation at the time of the download, null while it is valid. */
export interface Reported {
  document: SandboxComprobante
  cancellation: SandboxCancellation | null
}

/** The twelve columns of the bulk service and the portal's columns about cancellations. */
const COLUMNS: Readonly<Record<string, (reported: Reported) => string>> = {
  Uuid: ({ document }) => document.uuid,
  RfcEmisor: ({ document }) => document.emisor.rfc,
  NombreEmisor: ({ document }) => document.emisor.nombre,
  RfcReceptor: ({ document }) => document.receptor.rfc,
  NombreReceptor: ({ document }) => document.receptor.nombre,
  RfcPac: ({ document }) => pacOf(document),
  FechaEmision: ({ document }) => document.fecha.replace('T', ' '),
  FechaCertificacionSat: ({ document }) => stampedAt(document).replace('T', ' '),
  Monto: ({ document }) => money(document.amounts.total),
  EfectoComprobante: ({ document }) => document.tipo ?? '',
  Estatus: ({ cancellation }) => (cancellation ? '0' : '1'),
  FechaCancelacion: ({ cancellation }) => cancellation?.at.replace('T', ' ') ?? '',
  Motivo: ({ cancellation }) => cancellation?.motivo ?? '',
  FolioSustitucion: ({ cancellation }) => cancellation?.folio_sustitucion ?? '',
}

/** Returns a metadata TXT. */
export function metadataText(list: readonly Reported[]): string {
  const rows = list.map((reported) => Object.values(COLUMNS).map((value) => value(reported)))
  return [Object.keys(COLUMNS), ...rows].map((row) => `${row.join('~')}\r\n`).join('')
}

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const UTF8_NAMES = 0x0800
const DEFLATE = 8
/** 1980-01-01, the first date in the ZIP format. A fixed date makes packages reproducible. */
const DOS_DATE = 0x0021
const STEP = 256 * 1024

const utf8 = new TextEncoder()

/** Writes ZIPs one after the other into the same memory. */
export class ZipWriter {
  #bytes = new Uint8Array(STEP)
  #at = 0

  /**
   * Returns a ZIP of deflated entries in the given order. Each entry is done with before the next is asked for. The bytes of a ZIP are
   * overwritten by those of the next.
   */
  zipOf(entries: Iterable<{ name: string; bytes: Uint8Array }>): Uint8Array {
    this.#at = 0
    const offsets: number[] = []
    for (const { name, bytes } of entries) {
      offsets.push(this.#at)
      const label = utf8.encode(name)
      const packed = deflateRawSync(bytes, { level: 3 })
      this.#fields([4, LOCAL], [2, 20], [2, UTF8_NAMES], [2, DEFLATE], [2, 0], [2, DOS_DATE])
      this.#fields([4, crc32(bytes)], [4, packed.length], [4, bytes.length], [2, label.length], [2, 0])
      this.#append(label)
      this.#append(packed)
    }
    const start = this.#at
    for (const offset of offsets) {
      const label = offset + 30
      const data = label + this.#bytes[offset + 26]! + this.#bytes[offset + 27]! * 256
      this.#fields([4, CENTRAL], [2, 20])
      // Both headers have these fields.
      this.#repeat(offset + 4, label)
      this.#fields([2, 0], [2, 0], [2, 0], [4, 0], [4, offset])
      this.#repeat(label, data)
    }
    this.#fields([4, END], [4, 0], [2, offsets.length], [2, offsets.length], [4, this.#at - start], [4, start], [2, 0])
    return this.#bytes.subarray(0, this.#at)
  }

  #fields(...fields: [size: 2 | 4, value: number][]): void {
    for (const [size, value] of fields) {
      const end = this.#reserve(size)
      for (let shift = 0; this.#at < end; shift += 8) this.#bytes[this.#at++] = value >>> shift
    }
  }

  #append(bytes: Uint8Array): void {
    const end = this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at = end
  }

  #repeat(from: number, to: number): void {
    const end = this.#reserve(to - from)
    this.#bytes.copyWithin(this.#at, from, to)
    this.#at = end
  }

  /** Frees the memory at once. The bytes of the last ZIP are gone. */
  close(): void {
    this.#bytes.buffer.transfer(0)
  }

  /** Makes room for so many bytes, and returns where they end. */
  #reserve(length: number): number {
    const end = this.#at + length
    if (end > this.#bytes.length) this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(end + STEP))
    return end
  }
}
