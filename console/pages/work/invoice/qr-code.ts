/** Versions 1 to 13 of a QR code at level M, which hold up to 331 bytes: by version, the check bytes of a block and how many blocks there are. */
const CHECKS = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22]
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9]

/** How many modules of a version hold data. */
function roomOf(version: number): number {
  let room = (16 * version + 128) * version + 64
  if (version >= 2) {
    const aligned = Math.floor(version / 7) + 2
    room -= (25 * aligned - 10) * aligned - 55
  }
  return version >= 7 ? room - 36 : room
}

function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d)
    product ^= ((b >>> bit) & 1) * a
  }
  return product
}

/** The check bytes of a block, after Reed and Solomon. */
function checksOf(data: readonly number[], degree: number): number[] {
  const divisor = [...Array<number>(degree - 1).fill(0), 1]
  for (let n = 0, root = 1; n < degree; n++, root = times(root, 2))
    for (let k = 0; k < degree; k++) divisor[k] = times(divisor[k]!, root) ^ (divisor[k + 1] ?? 0)
  const rest = Array<number>(degree).fill(0)
  for (const byte of data) {
    const factor = byte ^ rest.shift()!
    rest.push(0)
    divisor.forEach((one, n) => {
      rest[n]! ^= times(one, factor)
    })
  }
  return rest
}

/** The bytes of a text with their checks, in the order in which they are drawn. */
function wordsOf(text: Uint8Array, version: number, capacity: number): number[] {
  const bits: number[] = []
  const put = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1)
  }
  put(4, 4)
  put(text.length, version < 10 ? 8 : 16)
  for (const byte of text) put(byte, 8)
  put(0, Math.min(4, capacity * 8 - bits.length))
  put(0, (8 - (bits.length % 8)) % 8)
  for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) put(pad, 8)
  const data = Array.from({ length: capacity }, (_, n) => bits.slice(n * 8, n * 8 + 8).reduce((sum, bit) => sum * 2 + bit, 0))
  const count = BLOCKS[version - 1]!
  const short = Math.floor(capacity / count)
  const shorts = count - (capacity % count)
  const startOf = (n: number) => n * short + Math.max(0, n - shorts)
  const blocks = Array.from({ length: count }, (_, n) => data.slice(startOf(n), startOf(n + 1)))
  const checks = blocks.map((block) => checksOf(block, CHECKS[version - 1]!))
  const woven = (all: number[][]) =>
    Array.from({ length: Math.max(...all.map((one) => one.length)) }, (_, n) => all.map((one) => one[n])).flat()
  return [...woven(blocks), ...woven(checks)].filter((byte) => byte !== undefined)
}

/** The rows of a QR code, true where it is dark. Null for a text that is too long. Source: ISO/IEC 18004, byte mode, level M, mask 0. */
export function qrCode(text: string): boolean[][] | null {
  const bytes = new TextEncoder().encode(text)
  const capacityOf = (version: number) => Math.floor(roomOf(version) / 8) - CHECKS[version - 1]! * BLOCKS[version - 1]!
  const version = CHECKS.map((_, n) => n + 1).find((one) => bytes.length + (one < 10 ? 2 : 3) <= capacityOf(one))
  if (version === undefined) return null
  const size = version * 4 + 17
  const dark = Array.from({ length: size }, () => Array<boolean>(size).fill(false))
  const taken = Array.from({ length: size }, () => Array<boolean>(size).fill(false))
  const set = (x: number, y: number, isDark: boolean) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return
    dark[y]![x] = isDark
    taken[y]![x] = true
  }
  const ring = (x: number, y: number, radius: number, light: readonly number[]) => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++) set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let n = 0; n < size; n++) {
    set(6, n, n % 2 === 0)
    set(n, 6, n % 2 === 0)
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    ring(x, y, 4, [2, 4])
  const last = size - 7
  const centers = version === 1 ? [] : version < 7 ? [6, last] : [6, version * 2 + 8, last]
  for (const x of centers)
    for (const y of centers) if (!(x === 6 && y === 6) && !(x === 6 && y === last) && !(x === last && y === 6)) ring(x, y, 2, [1])
  // Level M is 0, and so is the mask: the fifteen bits of the format are its own pattern alone.
  const format = (bit: number) => ((0x5412 >>> bit) & 1) === 1
  for (let n = 0; n < 15; n++) {
    set(8, n < 6 ? n : n < 8 ? n + 1 : size - 15 + n, format(n))
    set(n < 8 ? size - 1 - n : n === 8 ? 7 : 14 - n, 8, format(n))
  }
  set(8, size - 8, true)
  if (version >= 7) {
    let rest = version
    for (let n = 0; n < 12; n++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25)
    const said = (version << 12) | rest
    for (let n = 0; n < 18; n++) {
      const [far, near] = [size - 11 + (n % 3), Math.floor(n / 3)]
      const isDark = ((said >>> n) & 1) === 1
      set(far, near, isDark)
      set(near, far, isDark)
    }
  }
  const words = wordsOf(bytes, version, capacityOf(version))
  let at = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step
        if (taken[y]![x]) continue
        const bit = at < words.length * 8 && ((words[at >>> 3]! >>> (7 - (at & 7))) & 1) === 1
        dark[y]![x] = bit !== ((x + y) % 2 === 0)
        at++
      }
  }
  return dark
}
