/** A height for a bar. Figures stay text: this is the only place where an amount becomes a number, to be drawn and never shown. */
export const sizeOf = (amount: string | null | undefined): number => Number(amount ?? 0)

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
