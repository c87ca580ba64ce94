type Cell = string | number | null

/** A text table; columns of numbers are aligned right. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map((cell) => (cell === null ? '' : String(cell))))
  const widths = titles.map((title, at) => Math.max(title.length, ...texts.map((row) => row[at]!.length)))
  const isRight = titles.map((_, at) => texts.every((row) => /^-?[\d,.]*$/.test(row[at]!)))
  const line = (cells: readonly string[]) =>
    `  ${cells.map((cell, at) => (isRight[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join('  ')}`.trimEnd()
  return [line(titles), line(widths.map((width) => '─'.repeat(width))), ...texts.map(line)].join('\n')
}

export const amount = (decimal: string): string => decimal.replace(/\B(?=(\d{3})+(?!\d))(?=.*\.)/g, ',')

export const short = (text: string | null, most: number): string =>
  text === null ? '' : text.length > most ? `${text.slice(0, most - 1)}…` : text
