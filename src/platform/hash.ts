/** The 32-bit FNV-1a hash of a text's code points. It is stable across deployments and not fit for secrets. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash
}
