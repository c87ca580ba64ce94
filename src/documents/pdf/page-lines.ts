import type { PdfDocument } from '../../pdfjs.mjs'

/** A piece of text of a line, from its left edge `x` on, in points. */
export interface PdfCell {
  x: number
  text: string
}

/** A line of text: its cells from left to right, and where its base line lies, in points from the top of the first page. */
export interface PdfLine {
  y: number
  cells: PdfCell[]
}

interface Item {
  str: string
  transform: number[]
  width: number
}

/** Pages that are read: the documents that are parsed have fewer. */
const MAX_PAGES = 20
/** Base lines that lie so close are one line, in points. */
const SAME_LINE = 2.5
/** A wider gap than this, in points, divides two cells. */
const CELL_GAP = 9

export const textOf = ({ cells }: PdfLine): string => cells.map(({ text }) => text).join(' ')

/** Returns the lines of a PDF from top to bottom. */
export async function linesOf(pdf: PdfDocument): Promise<PdfLine[]> {
  const lines: PdfLine[] = []
  let top = 0
  for (let n = 1; n <= Math.min(pdf.numPages, MAX_PAGES); n++) {
    const page = await pdf.getPage(n)
    const { height } = page.getViewport({ scale: 1 })
    const { items } = await page.getTextContent()
    lines.push(...linesOfPage(items as Item[], top + height))
    top += height
  }
  return lines
}

function linesOfPage(items: readonly Item[], bottom: number): PdfLine[] {
  const placed = items
    .filter(({ str }) => str.trim() !== '')
    .map(({ str, transform, width }) => ({ x: transform[4]!, y: bottom - transform[5]!, end: transform[4]! + width, text: str.trim() }))
    .sort((a, b) => a.y - b.y || a.x - b.x)
  const rows: (typeof placed)[] = []
  for (const item of placed) {
    const last = rows.at(-1)
    if (last && item.y - last[0]!.y <= SAME_LINE) last.push(item)
    else rows.push([item])
  }
  return rows.map((row) => {
    const cells: (PdfCell & { end: number })[] = []
    for (const { x, end, text } of row.sort((a, b) => a.x - b.x)) {
      const before = cells.at(-1)
      if (before && x - before.end <= CELL_GAP) Object.assign(before, { text: `${before.text} ${text}`, end })
      else cells.push({ x, text, end })
    }
    return { y: row[0]!.y, cells: cells.map(({ x, text }) => ({ x, text })) }
  })
}
