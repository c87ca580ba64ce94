import { fnv1a } from '../../../platform/hash.ts'

/** FNV-1a, mixed with the finalizer of MurmurHash3 so that similar texts give unrelated hashes. */
const hash = (text: string): number => {
  let h = fnv1a(text)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Pseudorandom draws (mulberry32). The same seed always gives the same draws. */
export type Random = ReturnType<typeof random>

/** Returns draws seeded with a text. */
export function random(seed: string) {
  let state = hash(seed)
  const bits = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
  const int = (min: number, max: number) => min + (bits() % (max - min + 1))
  return {
    /** 32 random bits as an unsigned integer. */
    bits,
    /** An integer from `min` to `max`, inclusive. */
    int,
    chance: (probability: number) => bits() < probability * 0x1_0000_0000,
    pick: <T>(list: readonly T[]): T => list[bits() % list.length]!,
    /** `count` different members in the order in which they were drawn. */
    sample: <T>(list: readonly T[], count: number): T[] => {
      const rest = [...list]
      return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(int(0, rest.length - 1), 1)[0]!)
    },
  }
}

/** Whether what happens once in so many months happens in this one. */
export const isDue = (key: string, month: string, every: number): boolean =>
  (Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) + (hash(key) % every)) % every === 0

/**
 * Returns a version 4 UUID in upper case, as PACs write it. Its 122 bits come from four hashes, so that millions of keys do not collide.
 */
export function uuidOf(key: string): string {
  const hex = [0, 1, 2, 3].map((n) => hash(`${n}|${key}|${n}`).toString(16).padStart(8, '0')).join('')
  const variant = '89AB'[Number.parseInt(hex[16]!, 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`.toUpperCase()
}

const ascii = new TextDecoder()
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Returns the Base64 of `bytes` pseudorandom bytes. */
export function base64Of(seed: string, bytes: number): string {
  const draws = random(seed)
  const sextets = new Uint8Array(Math.floor((bytes * 8) / 6))
  let word = 0
  for (let i = 0; i < sextets.length; i++, word >>>= 6) {
    if (i % 5 === 0) word = draws.bits()
    sextets[i] = ALPHABET.charCodeAt(word & 63)
  }
  const text = ascii.decode(sextets)
  // The last character of a padded group carries only the remaining bits.
  if (bytes % 3 === 1) return `${text + ALPHABET[(draws.bits() & 3) << 4]}==`
  if (bytes % 3 === 2) return `${text + ALPHABET[(draws.bits() & 15) << 2]}=`
  return text
}

/** Returns `length` pseudorandom digits, the first of which is not zero. */
export function digitsOf(seed: string, length: number): string {
  const draws = random(seed)
  return Array.from({ length }, (_, i) => draws.int(i === 0 ? 1 : 0, 9)).join('')
}

/** Makes what a key stands for, and keeps the most recently used ones. */
export function remembering<T>(most: number, make: (key: string) => T): (key: string) => T {
  const kept = new Map<string, T>()
  return (key) => {
    const one = kept.get(key) ?? make(key)
    kept.delete(key)
    kept.set(key, one)
    if (kept.size > most) kept.delete(kept.keys().next().value!)
    return one
  }
}
