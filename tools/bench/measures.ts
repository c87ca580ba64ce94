/** What a figure should be, and what it means. */
export interface Figure {
  atMost?: number
  atLeast?: number
  /** Of two times: it is only good on a machine with nothing else to do. */
  isRatioOfTimes?: true
  /** Digits after the point that mean something; a count has none. */
  digits?: number
  meaning: string
}

/**
 * Figures that are taken together. To add one: name it here in a measure's `figures`, and answer it from `take`, which starts a service of its own
 * (`withRig`, `World.with`).
 */
export interface Measure<Key extends string = string> {
  figures: Record<Key, Figure>
  take(): Promise<Record<Key, number>>
}

/** Keeps the keys of the figures and of what is taken the same. */
export const measure = <Key extends string>(it: Measure<Key>): Measure => it

export const isMet = ({ atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Figure, value: number): boolean =>
  value <= atMost && value >= atLeast

export const targetOf = ({ atMost, atLeast }: Figure): string =>
  atMost !== undefined ? `at most ${atMost}` : atLeast !== undefined ? `at least ${atLeast}` : ''

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}
