import { encode } from 'uqr'
import type { Steps } from '../work/pause.ts'
import { type Look, PAGE, PdfDocument, type PdfHead, type Tag } from './document.ts'

/** A value with its name. */
export interface PrintedField {
  label: string
  value: string
}

/** A field of a table. Fields of the same name stand in one column where there is room. */
export interface PrintedCell extends PrintedField {
  name: string
}

export interface Row {
  cells: readonly PrintedCell[]
  /** What stands below the cells, in lines of its own. */
  details: readonly string[]
}

/** Fields in a half of the sheet. Amounts stand below each other, the last of them bold. */
export interface Half {
  heading: string
  fields: readonly PrintedField[]
  areAmounts?: true
}

/** A part of the sheet, from top to bottom. */
export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'fields'; fields: readonly PrintedField[] }
  | { kind: 'text'; text: string; look?: 'strong' | 'small'; address?: string }
  | { kind: 'table'; label: string; each: (take: (row: Row) => void) => Steps<void> }
  | { kind: 'sides'; left: Half; right: Half }
  | { kind: 'code'; text: string; alt: string; fields: readonly PrintedField[] }

const MARGIN = 36
const WIDTH = PAGE.width - 2 * MARGIN
const BOTTOM = PAGE.height - 48
const GAP = 8
/** Parts of a sheet that are drawn before others go on. */
const BLOCKS_AT_ONCE = 20
/** The columns of fields. */
const FIELD_COLUMNS = 4
/** At least 2.75 cm, as Anexo 20 asks. */
const CODE = 86
const QUIET = 8
/** The bytes of the largest QR code. */
const MOST_IN_CODE = 2_331

const [LABEL, VALUE, CELL, SMALL] = [{ size: 6, grey: 0.35 }, { size: 8 }, { size: 7 }, { size: 6 }] as const satisfies readonly Look[]
const LEADING = 1.25
const HEADINGS = [0, 14, 10, 8.5, 8, 7.5, 7]

/** A text or row up to this height stands on one page. */
const WHOLE = BOTTOM - MARGIN - 40

/** What a block takes at least of a page. */
const LEAST = { fields: 30, text: 10, table: 50, sides: 60, code: CODE + 2 * QUIET } as const

/** Rows from which the columns of a table are made. */
const SAMPLED = 50
const PADDING = 3
const [NARROWEST, WIDEST] = [24, 190]

/** A column of a table. */
interface Column {
  name: string
  label: string
  width: number
  isEnd: boolean
}

const AMOUNT =
  /importe|valor|cantidad|^base|total|saldo|monto|pagado|tasa|descuento|gravad|exent|peso|equivalencia|tipocambio|causado|retenid|trasladad/

/** Draws a sheet, page by page. */
class Drawing {
  readonly #pdf: PdfDocument
  readonly #watermark: string | null
  #y = 0
  /** Those that stand above the next block, on its page. */
  readonly #headings: (Block & { kind: 'heading' })[] = []

  constructor(pdf: PdfDocument, watermark: string | null) {
    this.#pdf = pdf
    this.#watermark = watermark
    pdf.open('Document')
    this.#newPage()
  }

  #newPage(): void {
    this.#pdf.addPage()
    this.#y = MARGIN
    const mark = this.#watermark
    if (mark !== null) this.#pdf.artifact(() => this.#pdf.across(mark, 96, 0.92))
  }

  /** Draws headings with nothing below them. */
  end(): void {
    for (const one of this.#headings.splice(0)) {
      this.#need(30)
      this.#heading(one.level, one.text)
    }
  }

  /** Begins a page unless so much fits on this one. */
  #need(height: number): void {
    if (this.#y + height > BOTTOM) this.#newPage()
  }

  *draw(block: Block): Steps<void> {
    if (block.kind === 'heading') return void this.#headings.push(block)
    const above = this.#headings.reduce((sum, { level }) => sum + HEADINGS[level]! * LEADING + 10, 0)
    this.#need(above + LEAST[block.kind])
    for (const one of this.#headings.splice(0)) this.#heading(one.level, one.text)
    if (block.kind === 'fields') this.#fields(block.fields)
    else if (block.kind === 'text') this.#text(block)
    else if (block.kind === 'table') yield* this.#table(block)
    else if (block.kind === 'sides') this.#sides(block.left, block.right)
    else if (new TextEncoder().encode(block.text).length <= MOST_IN_CODE) this.#code(block)
    else this.#fields(block.fields)
  }

  #heading(level: number, text: string, x = MARGIN, width = WIDTH): void {
    const size = HEADINGS[level]!
    if (this.#y > MARGIN) this.#y += level === 2 ? 5 : 3
    if (level === 2) this.#pdf.artifact(() => this.#pdf.rule(x, this.#y, width, 0.75))
    this.#pdf.within(`H${level}` as Tag, () => this.#lines(text, x, width, { size, isBold: true, grey: level > 2 ? 0.25 : 0 }))
    this.#y += 2
  }

  /** Two sides, beside each other where they fit on the page. */
  #sides(left: Half, right: Half): void {
    const half = (WIDTH - 2 * GAP) / 2
    const draw = (side: Half, x: number) => {
      if (side.fields.length === 0) return
      this.#heading(2, side.heading, x, half)
      if (side.areAmounts) this.#amounts(side.fields, x, half)
      else this.#fields(side.fields, x, half, FIELD_COLUMNS / 2)
    }
    const heightOf = ({ fields }: Half) =>
      30 +
      fields.reduce((sum, { value }) => sum + 22 + Math.ceil(this.#pdf.glyphs.widthOf(value, VALUE.size) / half) * VALUE.size * LEADING, 0)
    const fits = (side: Half) => heightOf(side) <= BOTTOM - MARGIN
    if (!fits(left) || !fits(right)) {
      draw(left, MARGIN)
      draw(right, MARGIN)
      return
    }
    this.#need(Math.min(Math.max(heightOf(left), heightOf(right)), 150))
    if (this.#y + Math.max(heightOf(left), heightOf(right)) > BOTTOM && this.#y > BOTTOM / 2) this.#newPage()
    const top = this.#y
    draw(left, MARGIN)
    const end = this.#y
    this.#y = top
    draw(right, MARGIN + half + 2 * GAP)
    this.#y = Math.max(this.#y, end)
  }

  /** Begins a page unless the text fits on this one, or on none. */
  #needLines(text: string, width: number, look: Look, above = 0): void {
    const height = above + this.#broken(text, width, look.size).length * look.size * LEADING
    this.#need(height <= WHOLE ? height : above + look.size * LEADING)
  }

  /** Draws a text in lines from here on, over as many pages as it takes. */
  #lines(text: string, x: number, width: number, look: Look): void {
    for (const line of this.#broken(text, width, look.size)) {
      this.#need(look.size * LEADING)
      this.#pdf.text(x, this.#y + look.size, line, look)
      this.#y += look.size * LEADING
    }
  }

  /** A text in lines that fit. A word that is too long is divided. */
  #broken(text: string, width: number, size: number): string[] {
    const { glyphs } = this.#pdf
    if (glyphs.widthOf(text, size) <= width) return [text]
    const lines: string[] = []
    let [line, used] = ['', 0]
    for (const word of text.split(/(?<=\s)/)) {
      const long = glyphs.widthOf(word.trimEnd(), size)
      const whole = glyphs.widthOf(word, size)
      if (used + long <= width) {
        line += word
        used += whole
        continue
      }
      if (line !== '') lines.push(line.trimEnd())
      ;[line, used] = ['', 0]
      if (long <= width) {
        line = word
        used = whole
        continue
      }
      for (const one of word) {
        const each = glyphs.widthOf(one, size)
        if (used + each > width && line !== '') {
          lines.push(line)
          ;[line, used] = ['', 0]
        }
        line += one
        used += each
      }
    }
    if (line.trim() !== '' || lines.length === 0) lines.push(line.trimEnd())
    return lines
  }

  #text({ text, look, address }: Block & { kind: 'text' }): void {
    const drawn: Look = look === 'strong' ? { ...VALUE, isBold: true } : look === 'small' ? SMALL : VALUE
    this.#needLines(text, WIDTH, drawn)
    this.#pdf.within('P', () => {
      if (address === undefined) return this.#lines(text, MARGIN, WIDTH, drawn)
      this.#pdf.link(MARGIN, this.#y + drawn.size, text, drawn, address)
      this.#y += drawn.size * LEADING
    })
    if (look !== 'small') this.#y += 3
  }

  /** Fields beside each other: each takes as many columns as its value needs. */
  #fields(fields: readonly PrintedField[], x = MARGIN, width = WIDTH, columns = FIELD_COLUMNS): void {
    const each = width / columns
    const { glyphs } = this.#pdf
    let row: { field: PrintedField; at: number; span: number }[] = []
    let used = 0
    const flush = () => {
      if (row.length > 0) this.#fieldRow(row.map(({ field, at, span }) => ({ field, x: x + at * each, width: span * each - GAP })))
      row = []
      used = 0
    }
    for (const field of fields) {
      const needed = Math.max(glyphs.widthOf(field.value, VALUE.size), glyphs.widthOf(field.label, LABEL.size)) + GAP
      const span = Math.min(columns, Math.ceil(needed / each))
      if (used + span > columns) flush()
      row.push({ field, at: used, span })
      used += span
    }
    flush()
  }

  #fieldRow(row: readonly { field: PrintedField; x: number; width: number }[]): void {
    const broken = row.map((one) => ({
      ...one,
      label: this.#broken(one.field.label, one.width, LABEL.size),
      value: this.#broken(one.field.value, one.width, VALUE.size),
    }))
    const heightOf = ({ label, value }: (typeof broken)[number]) =>
      label.length * LABEL.size * LEADING + value.length * VALUE.size * LEADING
    const height = Math.max(...broken.map(heightOf))
    if (height < BOTTOM - MARGIN) this.#need(height)
    const top = this.#y
    for (const { x, label, value } of broken) {
      if (height < BOTTOM - MARGIN) this.#y = top
      this.#pdf.within('P', () => {
        for (const [lines, look] of [
          [label, LABEL],
          [value, VALUE],
        ] as const)
          for (const line of lines) {
            this.#need(look.size * LEADING)
            this.#pdf.text(x, this.#y + look.size, line, look)
            this.#y += look.size * LEADING
          }
      })
    }
    if (height < BOTTOM - MARGIN) this.#y = top + height
    this.#y += 3
  }

  #amounts(fields: readonly PrintedField[], x: number, width: number): void {
    for (const [n, { label, value }] of fields.entries()) {
      const look: Look = { size: 9, isBold: n === fields.length - 1 }
      this.#need(look.size * LEADING)
      this.#pdf.within('P', () => {
        this.#pdf.text(x, this.#y + look.size, label, look)
        for (const line of this.#broken(value, width - 90, look.size)) {
          this.#need(look.size * LEADING)
          this.#pdf.text(x + width - this.#pdf.glyphs.widthOf(line, look.size), this.#y + look.size, line, look)
          this.#y += look.size * LEADING
        }
      })
    }
    this.#y += 4
  }

  #code({ text, alt, fields }: Block & { kind: 'code' }): void {
    const rows = encode(text, { ecc: 'M', border: 0 }).data
    this.#need(CODE + 2 * QUIET)
    const top = this.#y + QUIET
    this.#pdf.squares(MARGIN + QUIET, top, CODE, rows, `${alt}: ${text}`)
    const [page, x] = [this.#pdf.pages, MARGIN + CODE + 3 * QUIET]
    for (const { label, value } of fields) {
      const width = PAGE.width - MARGIN - x
      this.#needLines(value, width, SMALL, LABEL.size * LEADING)
      this.#pdf.within('P', () => {
        this.#lines(label, x, width, LABEL)
        this.#lines(value, x, width, SMALL)
      })
      this.#y += 3
    }
    if (this.#pdf.pages === page) this.#y = Math.max(this.#y, top + CODE + QUIET)
  }

  *#table({ label, each }: Block & { kind: 'table' }): Steps<void> {
    let columns: Column[] | null = null
    let sample: Row[] = []
    const begin = () => {
      columns = this.#columnsOf(sample, label)
      this.#pdf.open('Table')
      this.#head(columns, true)
      for (const row of sample) this.#row(columns, row)
      sample = []
    }
    yield* each((row) => {
      if (columns !== null) return this.#row(columns, row)
      sample.push(row)
      if (sample.length === SAMPLED) begin()
    })
    if (columns === null && sample.length > 0) begin()
    if (columns !== null) this.#pdf.close()
    this.#y += 4
  }

  /** The columns of a table, as wide as its first rows need. What has no room stands below the cells. */
  #columnsOf(rows: readonly Row[], label: string): Column[] {
    const { glyphs } = this.#pdf
    const found = new Map<string, Column & { needs: number }>()
    for (const { cells } of rows)
      for (const { name, label, value } of cells) {
        const longest = Math.max(...label.split(/\s+/).map((word) => glyphs.widthOf(word, LABEL.size)), 0)
        const needs = Math.min(WIDEST, Math.max(NARROWEST, longest, glyphs.widthOf(value, CELL.size)) + 2 * PADDING)
        const known = found.get(name)
        if (known) known.needs = Math.max(known.needs, needs)
        else found.set(name, { name, label, needs, width: 0, isEnd: AMOUNT.test(name) })
        if (!/^-?[\d.,]+$/.test(value)) found.get(name)!.isEnd = false
      }
    const columns: (Column & { needs: number })[] = []
    let used = 0
    for (const one of found.values()) {
      // A long text takes what the others leave.
      const least = one.needs >= WIDEST ? 110 : one.needs
      if (used + least > WIDTH) continue
      used += least
      columns.push({ ...one, width: least })
    }
    if (columns.length === 0) return [{ name: '', label, width: WIDTH, isEnd: false }]
    const wanting = columns.filter(({ needs, width }) => needs > width)
    const widest = columns.filter(({ isEnd }) => !isEnd).sort((a, b) => b.needs - a.needs)
    const grown = wanting.length > 0 ? wanting : widest.length > 0 ? widest.slice(0, 1) : columns
    for (const one of grown) one.width += (WIDTH - used) / grown.length
    return columns
  }

  #head(columns: readonly Column[], isFirst: boolean): void {
    const lines = columns.map(({ label, width }) => this.#broken(label, width - 2 * PADDING, LABEL.size))
    const height = Math.max(...lines.map(({ length }) => length)) * LABEL.size * LEADING + 4
    if (isFirst) this.#need(height + 30)
    const draw = (n: number) => {
      const { width, isEnd } = columns[n]!
      const x = MARGIN + columns.slice(0, n).reduce((sum, one) => sum + one.width, 0)
      for (const [k, line] of lines[n]!.entries()) this.#in(x, width, isEnd, this.#y + LABEL.size * (1 + k * LEADING) + 1, line, LABEL)
    }
    // A head that is repeated means nothing new.
    if (isFirst)
      this.#pdf.within('TR', () => {
        for (const n of columns.keys()) this.#pdf.within('TH', () => draw(n), '/A<</O/Table/Scope/Column>>')
      })
    else
      this.#pdf.artifact(() => {
        for (const n of columns.keys()) draw(n)
      })
    this.#y += height
    this.#pdf.artifact(() => this.#pdf.rule(MARGIN, this.#y - 1, WIDTH, 0.5))
  }

  #in(x: number, width: number, isEnd: boolean, y: number, line: string, look: Look): void {
    const at = isEnd ? x + width - PADDING - this.#pdf.glyphs.widthOf(line, look.size) : x + PADDING
    this.#pdf.text(at, y, line, look)
  }

  #row(columns: readonly Column[], { cells, details }: Row): void {
    const byName = new Map(cells.map((cell) => [cell.name, cell]))
    const lines = columns.map(({ name, width }) => {
      const value = byName.get(name)?.value
      byName.delete(name)
      return value === undefined ? [] : this.#broken(value, width - 2 * PADDING, CELL.size)
    })
    const aside = [...byName.values()].map(({ label, value }) => `${label} ${value}`).join(' · ')
    const below = [...(aside === '' ? [] : [aside]), ...details].flatMap((one) => this.#broken(one, WIDTH - 16, SMALL.size))
    const most = Math.max(1, ...lines.map(({ length }) => length))
    const step = CELL.size * LEADING
    const newPage = () => {
      this.#newPage()
      this.#head(columns, false)
    }
    // A row stays whole where it can; one that is longer than a page goes on.
    const height = most * step + below.length * SMALL.size * LEADING + 3
    if (this.#y + height > BOTTOM && (height <= WHOLE || this.#y > BOTTOM / 2)) newPage()
    const fits = this.#y + most * step <= BOTTOM
    const top = this.#y
    this.#pdf.open('TR')
    let end = top
    columns.forEach(({ width, isEnd }, n) => {
      const x = MARGIN + columns.slice(0, n).reduce((sum, one) => sum + one.width, 0)
      if (fits) this.#y = top
      this.#pdf.within('TD', () => {
        for (const line of lines[n]!) {
          if (this.#y + step > BOTTOM) newPage()
          this.#in(x, width, isEnd, this.#y + CELL.size, line, CELL)
          this.#y += step
        }
      })
      end = Math.max(end, this.#y)
    })
    this.#y = fits ? end : this.#y
    if (lines.every(({ length }) => length === 0)) this.#y = top
    this.#pdf.close()
    if (below.length > 0) {
      this.#pdf.open('TR')
      this.#pdf.within(
        'TD',
        () => {
          for (const line of below) {
            if (this.#y + SMALL.size * LEADING > BOTTOM) newPage()
            this.#pdf.text(MARGIN + 12, this.#y + SMALL.size, line, { ...SMALL, grey: 0.25 })
            this.#y += SMALL.size * LEADING
          }
        },
        columns.length > 1 ? `/A<</O/Table/ColSpan ${columns.length}>>` : '',
      )
      this.#pdf.close()
    }
    this.#y += 2
    this.#pdf.artifact(() => this.#pdf.rule(MARGIN, this.#y, WIDTH, 0.9))
    this.#y += 1.5
  }
}

/** What a PDF has beside its blocks. `watermark` stands across every page, `footer` below it. */
export interface DrawnHead extends PdfHead {
  watermark: string | null
  footer: (page: number, pages: number) => { left: string; right: string }
}

/** Draws a sheet: the same blocks are the same bytes. */
export function* drawing(blocks: readonly Block[], { watermark, footer, ...head }: DrawnHead): Steps<Uint8Array<ArrayBuffer>> {
  const pdf = new PdfDocument(head)
  const sheet = new Drawing(pdf, watermark)
  for (const [n, block] of blocks.entries()) {
    yield* sheet.draw(block)
    if (n % BLOCKS_AT_ONCE === 0) yield
  }
  sheet.end()
  return pdf.end((page, pages) => ({ ...footer(page, pages), look: LABEL, margin: MARGIN, y: PAGE.height - 30 }))
}
