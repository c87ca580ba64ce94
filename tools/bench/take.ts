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

/**
 * Takes the measures of each lane one after the other, and the lanes beside each other. A measure that fails is kept with its error, and those after
 * it are taken. At the end no service may be left running: measures that share one meet what others have stored.
 */
export async function takeAll(
  lanes: readonly Readonly<Record<string, Measure>>[],
  { running, notify }: { running: () => number; notify: (line: string) => void },
): Promise<Table> {
  const table: Table = { taken: [], failed: [] }
  const takeOne = async (name: string, { figures, take }: Measure): Promise<void> => {
    const began = performance.now()
    const notified = () => `${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s`
    let values: (number | null)[] = Object.keys(figures).map(() => null)
    try {
      const taken = await take()
      values = Object.entries(figures).map(([key, figure]) => roundedOf(figure, key, taken))
      notify(notified())
    } catch (error) {
      table.failed.push({ name, error })
      notify(`${notified()}, FAILED`)
    }
    table.taken.push(...Object.entries(figures).map(([key, figure], n) => ({ key, figure, value: values[n]! })))
  }
  await Promise.all(
    lanes.map(async (lane) => {
      for (const [name, it] of Object.entries(lane)) await takeOne(name, it)
    }),
  )
  if (running() > 0) table.failed.push({ name: 'services', error: new Error(`${running()} are left running.`) })
  return table
}
