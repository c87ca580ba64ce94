/**
 * 3DES in cipher block chaining, to decrypt (FIPS 46-3). The authority encrypts the keys of e.firmas with it. Web Crypto does not know it, and
 * each library for it is larger than this. Nothing new should be encrypted with it, and so it does not encrypt.
 */

const BLOCK = 8

/** Where each bit of a block goes at first, of a key, of the halves of a key, and of what the S-boxes give; all from 1, as the standard has them. */
const IP = Array.from({ length: 64 }, (_, n) => [58, 60, 62, 64, 57, 59, 61, 63][n >> 3]! - 8 * (n & 7))
const PC1 = [
  ...[57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36],
  ...[63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4],
]
const PC2 = [
  ...[14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2],
  ...[41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32],
]
const P = [16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25]
/** By how much the halves of the key are rotated before each round. */
const ROTATIONS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1]
/** The S-boxes, each with four rows of sixteen. */
const S = [
  'e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d',
  'f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9',
  'a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c',
  '7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e',
  '2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453',
  'c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d',
  '4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c',
  'd2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b',
].map((box) => [...box].map((digit) => Number.parseInt(digit, 16)))

/** For each S-box and six bits: what it gives, at its place and permuted. The outer two of the bits choose the row. */
const substitutions = (): number[][] =>
  S.map((box, n) =>
    Array.from({ length: 64 }, (_, six) => {
      const given = box[(((six >> 4) & 2) | (six & 1)) * 16 + ((six >> 1) & 15)]! << (28 - 4 * n)
      return P.reduce((word, from) => (word << 1) | ((given >>> (32 - from)) & 1), 0)
    }),
  )

/** A round's key: eight groups of six bits. */
type RoundKey = readonly number[]

function roundKeys(key: Uint8Array): RoundKey[] {
  const bits = PC1.map((from) => bitOf(key, from))
  let [c, d] = [bits.slice(0, 28), bits.slice(28)]
  return ROTATIONS.map((by) => {
    c = [...c.slice(by), ...c.slice(0, by)]
    d = [...d.slice(by), ...d.slice(0, by)]
    const chosen = PC2.map((from) => (from <= 28 ? c[from - 1]! : d[from - 29]!))
    return Array.from({ length: 8 }, (_, n) => chosen.slice(6 * n, 6 * n + 6).reduce((six, bit) => six * 2 + bit, 0))
  })
}

const bitOf = (bytes: Uint8Array, from: number): number => (bytes[(from - 1) >> 3]! >> (7 - ((from - 1) & 7))) & 1

/**
 * Decrypts with a key of 24 bytes and an initialization vector of 8, and removes the padding of PKCS #7. Null when the text does not have
 * whole blocks or the padding is not right, as after a wrong key.
 */
export function decryptTripleDes(key: Uint8Array, iv: Uint8Array, encrypted: Uint8Array): Uint8Array | null {
  if (encrypted.length % BLOCK !== 0) return null
  const [first, second, third] = [0, 8, 16].map((at) => roundKeys(key.subarray(at, at + 8))) as [RoundKey[], RoundKey[], RoundKey[]]
  const rounds = [...third.reverse(), ...second, ...first.reverse()]
  const boxes = substitutions()
  const plain = new Uint8Array(encrypted.length)
  for (let at = 0; at < encrypted.length; at += BLOCK) {
    const block = encrypted.subarray(at, at + BLOCK)
    const before = at === 0 ? iv : encrypted.subarray(at - BLOCK, at)
    const out = decryptBlock(block, rounds, boxes)
    for (let n = 0; n < BLOCK; n++) plain[at + n] = out[n]! ^ before[n]!
  }
  const padding = plain.at(-1) ?? 0
  const isPadded = padding > 0 && padding <= BLOCK && plain.subarray(-padding).every((byte) => byte === padding)
  return isPadded ? plain.subarray(0, -padding) : null
}

function decryptBlock(block: Uint8Array, rounds: readonly RoundKey[], boxes: readonly number[][]): Uint8Array {
  const half = (from: number) => IP.slice(from, from + 32).reduce((word, at) => (word << 1) | bitOf(block, at), 0)
  let [left, right] = [half(0), half(32)]
  for (const [n, key] of rounds.entries()) {
    let mixed = left
    for (let box = 0; box < 8; box++) {
      const turn = (4 * box + 5) & 31
      const six = ((right << turn) | (right >>> (32 - turn))) & 63
      mixed ^= boxes[box]![six ^ key[box]!]!
    }
    // Each of the three ciphers ends with its halves as they are, not exchanged.
    if (n % 16 === 15) left = mixed
    else [left, right] = [right, mixed]
  }
  const out = new Uint8Array(BLOCK)
  for (const [n, to] of IP.entries()) {
    const bit = ((n < 32 ? left : right) >>> (31 - (n & 31))) & 1
    out[(to - 1) >> 3]! |= bit << (7 - ((to - 1) & 7))
  }
  return out
}
