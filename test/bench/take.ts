import type { Figure, Measure } from './measures.ts'

/** A figure with its value; null when its measure failed. */
export interface Taken {
  key: string
  figure: Figure
  value: number | null
}

export interface Table {
  taken: Taken[]
  failed: { name: string; error: unknown }[]
}

function roundedOf({ digits = 0 }: Figure, key: string, taken: Record<string, number>): number {
  const value = taken[key]
  if (value === undefined || !Number.isFinite(value)) throw new Error(`${key} is ${value}.`)
  return Number(value.toFixed(digits))
}

/** Takes one measure after the other. One that fails is kept with its error, and those after it are taken. */
export async function takeAll(measures: Readonly<Record<string, Measure>>, tell: (line: string) => void): Promise<Table> {
  const table: Table = { taken: [], failed: [] }
  for (const [name, { figures, take }] of Object.entries(measures)) {
    const began = performance.now()
    let values: (number | null)[] = Object.keys(figures).map(() => null)
    try {
      const taken = await take()
      values = Object.entries(figures).map(([key, figure]) => roundedOf(figure, key, taken))
    } catch (error) {
      table.failed.push({ name, error })
    }
    table.taken.push(...Object.entries(figures).map(([key, figure], n) => ({ key, figure, value: values[n]! })))
    tell(`${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s${table.failed.at(-1)?.name === name ? ', FAILED' : ''}`)
  }
  return table
}
