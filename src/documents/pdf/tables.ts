import { type PdfLine, plain, textOf } from './page-lines.ts'

const DATE = /\d{2}\/\d{2}\/\d{4}/
/** The lines of a row are closer to each other than rows are, by this factor. */
const ROW_GAP = 1.25
/** A wider gap, in points, is the end of a page. */
const PAGE_GAP = 60
/** Text this far left of its heading, in points, still belongs to the column. */
const OVERHANG = 12

/**
 * Returns the rows of a table under its headings, each as the texts of its columns. Cells may take several lines. The headings name the
 * columns from left to right; they are searched in the section and may take several lines too.
 */
export function rowsOf(section: readonly PdfLine[], headings: readonly string[]): string[][] {
  const isHeading = (line: PdfLine): boolean => line.cells.some(({ text }) => plain(text) === plain(headings[0]!))
  const head = section.findIndex(isHeading)
  if (head < 0) return []
  const edges = headings.map((heading, n) => {
    const same = headings.slice(0, n).filter((one) => one === heading).length
    const cells = section.slice(head, head + 3).flatMap(({ cells: some }) => some)
    return cells.filter(({ text }) => plain(text).startsWith(plain(heading)))[same]?.x
  })
  if (edges.some((edge) => edge === undefined)) return []
  const isHeader = ({ cells }: PdfLine): boolean => cells.every(({ text }) => headings.some((one) => plain(one).startsWith(plain(text))))
  const body = section.slice(head).filter((line) => !isHeader(line))
  const columnOf = (x: number): number =>
    Math.max(
      0,
      edges.findLastIndex((edge) => edge! - OVERHANG <= x),
    )
  return groupsOf(body).map((lines) =>
    headings.map((_, n) =>
      lines
        .flatMap(({ cells }) => cells.filter(({ x }) => columnOf(x) === n).map(({ text }) => text))
        .join(' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ),
  )
}

/** Divides the lines of a table into its rows: by the gaps between them, otherwise by the dates that each row has. */
function groupsOf(lines: readonly PdfLine[]): PdfLine[][] {
  const gaps = lines.slice(1).map((line, n) => line.y - lines[n]!.y)
  const least = Math.min(...gaps)
  const isWide = (gap: number): boolean => gap > least * ROW_GAP
  const isDivided = gaps.some((gap) => isWide(gap) && gap < PAGE_GAP)
  const hasDate = (line: PdfLine): boolean => DATE.test(textOf(line))
  const isFirstDated = lines[0] !== undefined && hasDate(lines[0])
  const begins = (group: PdfLine[], line: PdfLine, gap: number): boolean => {
    if (hasDate(line) && group.some(hasDate)) return true
    if (gap >= PAGE_GAP) return group.some(hasDate)
    return isDivided ? isWide(gap) : isFirstDated ? hasDate(line) : hasDate(group.at(-1)!)
  }
  const groups: PdfLine[][] = []
  for (const [n, line] of lines.entries()) {
    const group = groups.at(-1)
    if (group === undefined || begins(group, line, gaps[n - 1]!)) groups.push([line])
    else group.push(line)
  }
  return groups
}
