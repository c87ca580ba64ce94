const MOST = 64

/** Names are compared without case and separators: `fiscalEntityId` is `fiscal_entity_id`. */
export const plain = (name: string): string => name.toLowerCase().replace(/[^a-z\d]/g, '')

/** How many characters must be added, left out or replaced to make one text of another (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n)
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) next.push(Math.min(row[j]! + (other[j] === character ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    row = next
  }
  return row.at(-1)!
}

/** How far a known name is from one that was written; infinite when hardly anybody meant it. */
function farness(written: string, known: string): number {
  const apart = distance(written, known)
  if (apart <= Math.max(1, Math.floor(written.length / 4))) return apart
  const [short, long] = written.length < known.length ? [written, known] : [known, written]
  return short.length >= 4 && long.startsWith(short) ? apart + MOST : Number.POSITIVE_INFINITY
}

/** The known name that who wrote this one most likely meant; undefined when none is near. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const written = plain(name)
  if (written.length < 2 || name.length > MOST) return undefined
  let found: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const one of known) {
    const far = farness(written, plain(one))
    if (far < least) [found, least] = [one, far]
  }
  return found
}

/** Names the known text that was probably meant by another one, after a space; empty when none is near. */
export function meant(written: unknown, known: readonly unknown[]): string {
  const one = typeof written === 'string' && nearest(written, known.map(String))
  return one ? ` Did you mean ${one}?` : ''
}
