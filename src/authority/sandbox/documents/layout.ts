import { type Placed, pdfOfPages } from './pdf.ts'

const LEFT = 40
const TOP = 752
const BOTTOM = 60
/** The height of a line, and the width of a letter in the average, as multiples of the size of the font. */
const LINE = 1.2
const LETTER = 0.56

/** A document that is written from top to bottom, and goes on on further pages. */
export class Layout {
  #pages: Placed[][] = [[]]
  #y = TOP

  /** Writes pieces of text in one line, each from its distance to the left margin on. */
  line(cells: readonly (readonly [x: number, text: string])[], { size = 8, isBold = false } = {}): this {
    if (this.#y < BOTTOM) this.page()
    for (const [x, text] of cells) if (text !== '') this.#pages.at(-1)!.push({ x: LEFT + x, y: Math.round(this.#y), size, isBold, text })
    this.#y -= size * LINE
    return this
  }

  /** Writes text in lines of the page's width. */
  text(text: string, size = 8): this {
    for (const one of wrapped(text, 532, size)) this.line([[0, one]], { size })
    return this.gap(4)
  }

  heading(text: string): this {
    return this.gap(8)
      .line([[0, text]], { size: 10, isBold: true })
      .gap(4)
  }

  /** Writes rows under their headings. A cell takes as many lines as it needs. */
  table(columns: readonly (readonly [x: number, heading: string])[], rows: readonly (readonly string[])[]): this {
    this.line(columns, { isBold: true }).gap(5)
    for (const row of rows) {
      const cells = row.map((text, n) => wrapped(text, (columns[n + 1]?.[0] ?? 540) - columns[n]![0] - 14, 8))
      const height = Math.max(...cells.map(({ length }) => length))
      for (let i = 0; i < height; i++) this.line(columns.map(([x], n): [number, string] => [x, cells[n]?.[i] ?? '']))
      this.gap(5)
    }
    return this
  }

  /** Goes on on a new page. */
  page(): this {
    this.#pages.push([])
    this.#y = TOP
    return this
  }

  gap(points: number): this {
    this.#y -= points
    return this
  }

  /** Ends the document, with the number of each page. */
  pdf(title: string): Uint8Array {
    const footer = (n: number): Placed => ({ x: 480, y: 30, size: 7, isBold: false, text: `Página [${n + 1}] de [${this.#pages.length}]` })
    return pdfOfPages(
      title,
      this.#pages.map((page, n) => [...page, footer(n)]),
    )
  }
}

function wrapped(text: string, width: number, size: number): string[] {
  const letters = Math.floor(width / (size * LETTER))
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!
    if (last !== '' && last.length + 1 + word.length > letters) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}
