import { Buffer } from 'node:buffer'
import { constants, crc32, deflateRawSync } from 'node:zlib'

/** What a format writes to. */
export interface Sink {
  /** Bytes that were written so far. */
  readonly at: number
  push(bytes: Uint8Array): void
  /** Keeps an entry of the central directory, which is written at the end. */
  enter(bytes: Uint8Array): void
}

/** From which sizes and numbers on the format needs its ZIP64 extensions. */
export interface ZipLimits {
  bytes: number
  entries: number
}

const [LOCAL, CENTRAL, DESCRIPTOR, END, END64, LOCATOR64] = [0x04034b50, 0x02014b50, 0x08074b50, 0x06054b50, 0x06064b50, 0x07064b50]
const [STORED, DEFLATED] = [0, 8]
const UTF8_NAMES = 0x0800
/** CRC and sizes stand behind the data. */
const DESCRIBED = 0x0008
const [VERSION, VERSION64] = [20, 45]
const [MAX16, MAX32] = [0xffff, 0xffffffff]
/** Ends a deflated stream whose blocks so far were not the last. */
const LAST_BLOCK = new Uint8Array([3, 0])
const LEVEL = 4

type Field = readonly [size: 2 | 4 | 8, value: number]

function bytesOf(fields: readonly Field[], name: Uint8Array = new Uint8Array()): Uint8Array {
  const bytes = Buffer.alloc(fields.reduce((sum, [size]) => sum + size, 0) + name.length)
  let at = 0
  for (const [size, value] of fields) {
    if (size === 8) bytes.writeBigUInt64LE(BigInt(value), at)
    else bytes.writeUIntLE(value, at, size)
    at += size
  }
  bytes.set(name, at)
  return bytes
}

/** A file of the archive whose data is being written. */
export interface OpenEntry {
  name: string
  offset: number
  crc: number
  packed: number
  size: number
}

/** How far an archive is written. It can be stored, and continued elsewhere. */
export interface ZipState {
  entries: number
  /** Bytes of the central directory. */
  directory: number
}

export const emptyZip = (): ZipState => ({ entries: 0, directory: 0 })

/** Writes an archive whose files all have the same time. */
export class Zip {
  readonly #sink: Sink
  readonly #state: ZipState
  readonly #limits: ZipLimits
  readonly #time: readonly Field[]

  constructor(sink: Sink, state: ZipState, time: Date, limits: ZipLimits) {
    this.#sink = sink
    this.#state = state
    this.#limits = limits
    const [year, month, day] = [time.getUTCFullYear() - 1980, time.getUTCMonth() + 1, time.getUTCDate()]
    const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)
    this.#time = [
      [2, clock],
      [2, (year << 9) | (month << 5) | day],
    ]
  }

  /** Adds a whole file as it is: `method` says how its bytes are packed. */
  add(name: string, bytes: Uint8Array, { method, crc, size }: { method: number; crc: number; size: number }): void {
    const entry = { name, offset: this.#sink.at, crc, packed: bytes.length, size }
    this.#local(entry, method, 0)
    this.#sink.push(bytes)
    this.#enter(entry, method, 0)
  }

  addText(name: string, text: string): void {
    const bytes = Buffer.from(text)
    this.add(name, bytes, { method: STORED, crc: crc32(bytes), size: bytes.length })
  }

  /** Begins a file that is deflated as it comes. It must be smaller than what needs ZIP64. */
  begin(name: string): OpenEntry {
    const entry = { name, offset: this.#sink.at, crc: 0, packed: 0, size: 0 }
    this.#local(entry, DEFLATED, DESCRIBED)
    return entry
  }

  /** Each text is deflated by itself, so that the file can be continued elsewhere. */
  append(entry: OpenEntry, text: string): void {
    const bytes = Buffer.from(text)
    const packed = deflateRawSync(bytes, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH })
    entry.crc = crc32(bytes, entry.crc)
    entry.size += bytes.length
    entry.packed += packed.length
    this.#sink.push(packed)
  }

  end(entry: OpenEntry): void {
    entry.packed += LAST_BLOCK.length
    this.#sink.push(LAST_BLOCK)
    this.#sink.push(
      bytesOf([
        [4, DESCRIPTOR],
        [4, entry.crc],
        [4, entry.packed],
        [4, entry.size],
      ]),
    )
    this.#enter(entry, DEFLATED, DESCRIBED)
  }

  /** Ends the archive, whose central directory was written from an offset on. */
  finish(directoryAt: number): void {
    const { entries, directory } = this.#state
    const is64 = entries >= this.#limits.entries || directoryAt >= this.#limits.bytes || directory >= this.#limits.bytes
    if (is64) {
      const at = this.#sink.at
      this.#sink.push(
        bytesOf([
          ...([
            [4, END64],
            [8, 44],
            [2, VERSION64],
            [2, VERSION64],
            [4, 0],
            [4, 0],
          ] as const),
          ...([
            [8, entries],
            [8, entries],
            [8, directory],
            [8, directoryAt],
          ] as const),
          ...([
            [4, LOCATOR64],
            [4, 0],
            [8, at],
            [4, 1],
          ] as const),
        ]),
      )
    }
    const n = is64 ? MAX16 : entries
    const [size, offset] = is64 ? [MAX32, MAX32] : [directory, directoryAt]
    this.#sink.push(
      bytesOf([
        [4, END],
        [2, 0],
        [2, 0],
        [2, n],
        [2, n],
        [4, size],
        [4, offset],
        [2, 0],
      ]),
    )
  }

  #local({ name, crc, packed, size }: OpenEntry, method: number, flags: number): void {
    const label = Buffer.from(name)
    const sizes = flags === 0 ? [crc, packed, size] : [0, 0, 0]
    this.#sink.push(
      bytesOf(
        [
          ...([
            [4, LOCAL],
            [2, VERSION],
            [2, UTF8_NAMES | flags],
            [2, method],
          ] as const),
          ...this.#time,
          ...sizes.map((value) => [4, value] as const),
          ...([
            [2, label.length],
            [2, 0],
          ] as const),
        ],
        label,
      ),
    )
  }

  #enter({ name, offset, crc, packed, size }: OpenEntry, method: number, flags: number): void {
    const label = Buffer.from(name)
    const is64 = offset >= this.#limits.bytes
    const version = is64 ? VERSION64 : VERSION
    const extra = is64
      ? bytesOf([
          [2, 1],
          [2, 8],
          [8, offset],
        ])
      : new Uint8Array()
    const bytes = bytesOf(
      [
        ...([
          [4, CENTRAL],
          [2, version],
          [2, version],
          [2, UTF8_NAMES | flags],
          [2, method],
        ] as const),
        ...this.#time,
        ...([
          [4, crc],
          [4, packed],
          [4, size],
          [2, label.length],
          [2, extra.length],
        ] as const),
        ...([
          [2, 0],
          [2, 0],
          [2, 0],
          [4, 0],
          [4, is64 ? MAX32 : offset],
        ] as const),
      ],
      Buffer.concat([label, extra]),
    )
    this.#state.entries++
    this.#state.directory += bytes.length
    this.#sink.enter(bytes)
  }
}
