import type { ComplianceOpinion, OpinionSense } from '../../authority/port/fields-contract.ts'
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

const MONTHS = 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' ')

/** Lower case, without accents and repeated spaces; ñ stays. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u0302\u0308]/g, '')
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()

/** Returns the first date of a text, `10 DE FEBRERO DE 2022` or `10/02/2022`, as `YYYY-MM-DD`; null when there is none that exists. */
export function dateIn(text: string | null): string | null {
  const found = plain(text ?? '')
  const words = /(\d{1,2})\s*(?:de )?([a-z]+) (?:de |del )?(\d{4})/.exec(found)
  const month = words ? MONTHS.indexOf(words[2]!.replace('setiembre', 'septiembre')) + 1 : 0
  const [, day, number, year] =
    words && month > 0 ? ['', words[1]!, String(month), words[3]!] : (/(\d{1,2})\/(\d{1,2})\/(\d{4})/.exec(found) ?? [])
  if (!day || !number || !year) return null
  const date = `${year}-${number.padStart(2, '0')}-${day.padStart(2, '0')}`
  const time = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== date ? null : date
}

/** The PDF is not a readable document of its kind. The message says why, in a sentence for the organization. */
export class Unreadable extends Error {}

/** Words of the text that say the sense. The first that is found counts. */
const WORDS: readonly (readonly [RegExp, OpinionSense])[] = [
  [/inscrit[oa] sin obligaciones/, 'inscrito_sin_obligaciones'],
  [/\bno inscrit[oa]\b/, 'no_inscrito'],
  [/suspension de actividades/, 'en_suspension'],
  [/sentido:? (de )?(la opinion:? )?negativ[oa]/, 'negativo'],
  [/sentido:? (de )?(la opinion:? )?positiv[oa]/, 'positivo'],
  [/opinion (del cumplimiento )?negativa/, 'negativo'],
  [/opinion (del cumplimiento )?positiva/, 'positivo'],
]

/** Reads a compliance opinion (article 32-D). Throws Unreadable. */
export function readOpinion(lines: readonly PdfLine[]): ComplianceOpinion {
  const whole = lines.map(textOf).join(' ').replace(/\s+/g, ' ')
  const folded = plain(whole)
  if (!/opinion del cumplimiento de (las )?obligaciones fiscales/.test(folded)) throw new Unreadable('The PDF is not a compliance opinion.')
  const sense = WORDS.find(([words]) => words.test(folded))?.[1]
  // The value stands behind its label or, under a heading, in the next line.
  const folio = /folio.{0,60}?(?<![0-9a-z])([0-9]{2}[a-z]{2}[0-9]{5,8})(?![0-9a-z])/.exec(folded)?.[1]?.toUpperCase()
  const rfc = /r\.?f\.?c\b.{0,60}?(?<![0-9a-zñ&])([a-zñ&]{3,4}[0-9]{6}[0-9a-z]{3})(?![0-9a-z])/.exec(folded)?.[1]?.toUpperCase()
  const date = dateIn(/(revisi[oó]n practicada el d[ií]a|fecha( y hora)?( de emisi[oó]n)?:)(.{0,60})/i.exec(whole)?.[4] ?? null)
  if (!sense || !folio || !rfc || !date) {
    const missing = Object.entries({ sense, folio, rfc, date }).flatMap(([name, value]) => (value ? [] : [name]))
    throw new Unreadable(`The compliance opinion has no ${missing.join(' and no ')} that can be read.`)
  }
  return { rfc, name: nameIn(lines), folio, sense, date }
}

/** The text after the label, up to the next label or sentence. */
function nameIn(lines: readonly PdfLine[]): string | null {
  const text = lines.map(textOf).join('\n')
  const found = /nombre,? denominaci[oó]n o raz[oó]n social:?\s*([^\n]+(?:\n(?!.*:|estimad)[^\n]+)?)/i.exec(text)?.[1]
  return found?.replace(/\s+/g, ' ').trim() || null
}
