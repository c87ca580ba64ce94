/**
 * Reads a QR code as a scanner does, from its modules alone: the oracle of console/pages/work/invoice/qr-code.ts. The tables are those of
 * ISO/IEC 18004 for level M: bytes of checks in a block, and the bytes of data in each block.
 */
const LEVEL_M: Record<number, readonly [checks: number, blocks: readonly number[]]> = {
  1: [10, [16]],
  2: [16, [28]],
  3: [26, [44]],
  4: [18, [32, 32]],
  5: [24, [43, 43]],
  6: [16, [27, 27, 27, 27]],
  7: [18, [31, 31, 31, 31]],
  8: [22, [38, 38, 39, 39]],
  9: [22, [36, 36, 36, 37, 37]],
  10: [26, [43, 43, 43, 43, 44]],
  11: [30, [50, 51, 51, 51, 51]],
  12: [22, [36, 36, 36, 36, 36, 36, 37, 37]],
  13: [22, [37, 37, 37, 37, 37, 37, 37, 37, 38]],
}
/** Where the centers of the alignment patterns are, by version. */
const CENTERS: Record<number, readonly number[]> = {
  ...{ 1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38] },
  ...{ 8: [6, 24, 42], 9: [6, 26, 46], 10: [6, 28, 50], 11: [6, 30, 54], 12: [6, 32, 58], 13: [6, 34, 62] },
}
const MASKS: readonly ((row: number, column: number) => boolean)[] = [
  (i, j) => (i + j) % 2 === 0,
  (i) => i % 2 === 0,
  (_, j) => j % 3 === 0,
  (i, j) => (i + j) % 3 === 0,
  (i, j) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2 === 0,
  (i, j) => ((i * j) % 2) + ((i * j) % 3) === 0,
  (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2 === 0,
  (i, j) => (((i + j) % 2) + ((i * j) % 3)) % 2 === 0,
]

/** Logarithms of the field of 256 elements with the polynomial 285. */
const POWERS = Array<number>(510)
const LOGS = Array<number>(256)
for (let n = 0, power = 1; n < 255; n++) {
  POWERS[n] = power
  POWERS[n + 255] = power
  LOGS[power] = n
  power = power < 128 ? power * 2 : (power * 2) ^ 285
}

/** The value of a block, as a polynomial, at a power of 2. It is 0 at each of the first ones when no byte is wrong. */
const valueAt = (block: readonly number[], n: number): number =>
  block.reduce((sum, byte) => byte ^ (sum === 0 ? 0 : POWERS[(LOGS[sum]! + n) % 255]!), 0)

const FINDER = ['1111111', '1000001', '1011101', '1011101', '1011101', '1000001', '1111111']

/** The text of a code of level M in byte mode. Throws an Error that says what a scanner would trip over. */
export function readQr(rows: readonly (readonly boolean[])[]): string {
  const size = rows.length
  const version = (size - 17) / 4
  const table = LEVEL_M[version]
  if (!table || rows.some((row) => row.length !== size)) throw new Error(`A code cannot have the size ${size}.`)
  const isDark = (row: number, column: number): boolean => rows[row]![column]!
  const expect = (row: number, column: number, dark: boolean, what: string) => {
    if (isDark(row, column) !== dark) throw new Error(`${what} is wrong at row ${row}, column ${column}.`)
  }
  const isTaken = rows.map((row) => row.map(() => false))
  const take = (row: number, column: number) => {
    if (row >= 0 && column >= 0 && row < size && column < size) isTaken[row]![column] = true
  }

  for (const [top, left] of [
    [0, 0],
    [0, size - 7],
    [size - 7, 0],
  ] as const)
    for (let row = -1; row < 8; row++)
      for (let column = -1; column < 8; column++) {
        const [y, x] = [top + row, left + column]
        if (y < 0 || x < 0 || y >= size || x >= size) continue
        expect(y, x, FINDER[row]?.[column] === '1', 'A finder pattern')
        take(y, x)
      }
  for (let n = 8; n < size - 8; n++) {
    expect(6, n, n % 2 === 0, 'The timing pattern')
    expect(n, 6, n % 2 === 0, 'The timing pattern')
    take(6, n)
    take(n, 6)
  }
  const centers = CENTERS[version]!
  const last = centers.at(-1)
  for (const row of centers)
    for (const column of centers) {
      if ((row === 6 && column === 6) || (row === 6 && column === last) || (row === last && column === 6)) continue
      for (let dy = -2; dy <= 2; dy++)
        for (let dx = -2; dx <= 2; dx++) {
          expect(row + dy, column + dx, Math.max(Math.abs(dy), Math.abs(dx)) !== 1, 'An alignment pattern')
          take(row + dy, column + dx)
        }
    }
  expect(size - 8, 8, true, 'The dark module')

  // Two copies of the format, from its highest bit on.
  const first = [0, 1, 2, 3, 4, 5, 7, 8].map((column) => [8, column] as const)
  const one = [...first, ...[7, 5, 4, 3, 2, 1, 0].map((row) => [row, 8] as const)]
  const down = [1, 2, 3, 4, 5, 6, 7].map((n) => [size - n, 8] as const)
  const other = [...down, ...[8, 7, 6, 5, 4, 3, 2, 1].map((n) => [8, size - n] as const)]
  const formats = [one, other].map((places) => places.reduce((bits, [row, column]) => bits * 2 + Number(isDark(row, column)), 0))
  for (const [row, column] of [...one, ...other, [size - 8, 8] as const]) take(row, column)
  if (formats[0] !== formats[1]) throw new Error('The copies of the format differ.')
  const format = formats[0]! ^ 0b101010000010010
  let rest = format
  for (let bit = 14; bit >= 10; bit--) if ((rest >> bit) & 1) rest ^= 0b10100110111 << (bit - 10)
  if (rest !== 0) throw new Error('The format has no valid checks.')
  if (format >> 13 !== 0) throw new Error('The level is not M.')
  const mask = MASKS[(format >> 10) & 7]!

  if (version >= 7) {
    const [right, low] = [0, 1].map((side) => {
      let bits = 0
      for (let n = 17; n >= 0; n--) {
        const [near, far] = [Math.floor(n / 3), size - 11 + (n % 3)]
        bits = bits * 2 + Number(side === 0 ? isDark(near, far) : isDark(far, near))
        take(near, far)
        take(far, near)
      }
      return bits
    })
    if (right !== low || right! >> 12 !== version) throw new Error('The version is wrong.')
    let left = right!
    for (let bit = 17; bit >= 12; bit--) if ((left >> bit) & 1) left ^= 0b1111100100101 << (bit - 12)
    if (left !== 0) throw new Error('The version has no valid checks.')
  }

  const bits: number[] = []
  let isUp = true
  for (let column = size - 1; column > 0; column -= 2, isUp = !isUp) {
    if (column === 6) column--
    for (let n = 0; n < size; n++) {
      const row = isUp ? size - 1 - n : n
      for (const x of [column, column - 1]) if (!isTaken[row]![x]) bits.push(Number(isDark(row, x) !== mask(row, x)))
    }
  }
  const bytes = Array.from({ length: bits.length >> 3 }, (_, n) => Number.parseInt(bits.slice(n * 8, n * 8 + 8).join(''), 2))

  const [checks, lengths] = table
  const total = lengths.reduce((sum, length) => sum + length + checks, 0)
  if (bytes.length !== total) throw new Error(`The code has room for ${bytes.length} bytes and should have it for ${total}.`)
  const blocks = lengths.map((): number[] => [])
  let at = 0
  for (let n = 0; n < Math.max(...lengths); n++) for (const [k, block] of blocks.entries()) if (n < lengths[k]!) block.push(bytes[at++]!)
  for (let n = 0; n < checks; n++) for (const block of blocks) block.push(bytes[at++]!)
  for (const block of blocks)
    for (let n = 0; n < checks; n++) if (valueAt(block, n) !== 0) throw new Error('The checks of a block do not fit its data.')

  const data = blocks.flatMap((block, n) => block.slice(0, lengths[n]))
  const stream = data.map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const counted = version < 10 ? 8 : 16
  if (stream.slice(0, 4) !== '0100') throw new Error('The mode is not that of bytes.')
  const length = Number.parseInt(stream.slice(4, 4 + counted), 2)
  const start = 4 + counted
  const text = Uint8Array.from({ length }, (_, n) => Number.parseInt(stream.slice(start + n * 8, start + n * 8 + 8), 2))
  const after = stream.slice(start + length * 8)
  if (/1/.test(after.slice(0, 4))) throw new Error('The terminator is missing.')
  const pads = after.slice(4 + ((8 - ((start + 4) % 8)) % 8))
  if (!pads.startsWith('1110110000010001'.repeat(20).slice(0, pads.length)) && pads.length < 320) throw new Error('The padding is wrong.')
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text)
}
