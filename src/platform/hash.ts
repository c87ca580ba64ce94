/** The 32-bit FNV-1a hash of a text's code points. It is stable across deployments and not fit for secrets. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash
}

/** One of so many shards, by the hash's low bits. RFCs and organizations are spread evenly; who chooses by it stores the choice. */
export const shardOf = (text: string, shards: number): number => fnv1a(text) % shards

/** The same, one of the shards with these numbers. */
export const shardAmong = (text: string, numbers: readonly number[]): number => numbers[shardOf(text, numbers.length)]!

/**
 * A place among so many, always the same one of a text, by the hash's high bits: those of one shard are spread over all places. With the
 * remainder instead, the RFCs of a second would all be of one ledger.
 */
export const placeOf = (text: string, places: number): number => Math.floor((fnv1a(text) * places) / 2 ** 32)
