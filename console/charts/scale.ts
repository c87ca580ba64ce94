/** A height for a bar. Figures stay text: this is the only place where an amount becomes a number, to be drawn and never shown. */
export const sizeOf = (amount: string | null | undefined): number => Number(amount ?? 0)

/** A size so many times the next one would flatten all others. */
const FLATTENS = 10

/** How far an axis reaches: to the largest size, or to twice the next one where the largest alone would flatten all others. */
export function reachOf(sizes: readonly number[]): number {
  const [first = 0, next = 0] = [...sizes].sort((a, b) => b - a)
  return next > 0 && first > FLATTENS * next ? 2 * next : Math.max(0, first)
}

const STEPS = [1, 2, 2.5, 5, 10]

/** Round values for an axis that reaches from `least` (zero or below) to `most`: about five of them, and of `whole` things no parts. */
export function ticksOf(most: number, least = 0, whole = false): number[] {
  const span = Math.max(most, 0) - Math.min(least, 0)
  if (!(span > 0)) return [0]
  const power = 10 ** Math.floor(Math.log10(span / 4))
  const step = STEPS.map((n) => n * power).find((n) => n >= span / 4 && (!whole || Number.isInteger(n))) ?? 1
  const from = Math.floor(Math.min(least, 0) / step)
  const to = Math.ceil(Math.max(most, 0) / step)
  return Array.from({ length: to - from + 1 }, (_, n) => (from + n) * step)
}
