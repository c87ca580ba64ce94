import type { PdfLine } from './page-lines.ts'

/** Labels closer to the left edge than this belong to the left column, in points. */
const COLUMN_WIDTH = 120

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&').replace(/ /g, '\\s+')

/**
 * Returns what stands behind each label of a section, null where nothing does. A line may have a label in the left and one in the right
 * column, and a value may go on in its column in the next lines.
 */
export function valuesOf<L extends string>(lines: readonly PdfLine[], labels: readonly L[]): Record<L, string | null> {
  const label = new RegExp(
    `(?:^|\\s)(${[...labels]
      .sort((a, b) => b.length - a.length)
      .map(escaped)
      .join('|')})\\s*:`,
    'giu',
  )
  const left = Math.min(...lines.flatMap(({ cells }) => cells.map(({ x }) => x)))
  const beginsLabel = (text: string): boolean => new RegExp(`^(?:${label.source})`, 'iu').test(text)
  const starts = lines.flatMap(({ cells }) => cells.filter(({ x, text }) => x > left + COLUMN_WIDTH && beginsLabel(text)).map(({ x }) => x))
  const boundary = starts.length === 0 ? Infinity : Math.min(...starts) - 1
  const columns = [
    lines.flatMap(({ cells }) => cells.filter(({ x }) => x < boundary)),
    lines.flatMap(({ cells }) => cells.filter(({ x }) => x >= boundary)),
  ].map((cells) => cells.map(({ text }) => text).join(' '))
  const values = Object.fromEntries(labels.map((name) => [name, null])) as Record<L, string | null>
  for (const column of columns) {
    const found = [...column.matchAll(label)]
    for (const [n, one] of found.entries()) {
      const value = column
        .slice(one.index + one[0].length, found[n + 1]?.index ?? column.length)
        .replace(/\s+/g, ' ')
        .trim()
      const name = labels.find((it) => new RegExp(`^${escaped(it)}$`, 'iu').test(one[1]!))!
      if (value !== '') values[name] ??= value
    }
  }
  return values
}
