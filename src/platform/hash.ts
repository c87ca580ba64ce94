/** The 32-bit FNV-1a hash of a text's code points. It is stable across deployments and not fit for secrets. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash
}

/** One of so many shards, by the hash's low bits. RFCs and organizations are spread evenly; callers store the choice. */
export const shardOf = (text: string, shards: number): number => fnv1a(text) % shards

/** The same, one of the shards with these numbers. */
export const shardAmong = (text: string, numbers: readonly number[]): number => numbers[shardOf(text, numbers.length)]!

/**
 * A slot among so many, always the same one for a text, by the hash's high bits: texts of one shard are spread over all slots. With the
 * remainder instead, the RFCs of a second would all be of one ledger.
 */
export const slotOf = (text: string, slots: number): number => Math.floor((fnv1a(text) * slots) / 2 ** 32)

const QUICK_XOR_BITS = 160
const QUICK_XOR_SHIFT = 11

/**
 * QuickXorHash, by which OneDrive identifies the content of a file: each byte is added without carry 11 bits after the byte before, in a
 * circle of 160 bits, and the length is added to the last 64 of them. Returns 20 bytes. It is not fit for secrets.
 */
export function quickXorHash(bytes: Uint8Array): Uint8Array {
  // Bytes that are 160 apart have the same slot.
  const slots = new Uint8Array(QUICK_XOR_BITS)
  for (let at = 0; at < bytes.length; at++) slots[at % QUICK_XOR_BITS]! ^= bytes[at]!
  const hash = new Uint8Array(QUICK_XOR_BITS / 8)
  for (const [n, byte] of slots.entries()) {
    const bit = (n * QUICK_XOR_SHIFT) % QUICK_XOR_BITS
    hash[bit >> 3]! ^= byte << (bit & 7)
    hash[((bit >> 3) + 1) % hash.length]! ^= byte >> (8 - (bit & 7))
  }
  let length = bytes.length
  for (let at = hash.length - 8; length > 0; at++, length = Math.floor(length / 256)) hash[at]! ^= length % 256
  return hash
}
