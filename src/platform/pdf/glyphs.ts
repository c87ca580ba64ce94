import { Buffer } from 'node:buffer'
import type { PdfFile } from './file.ts'
import { CHARACTERS, FONT, FONT_LENGTH, METRICS, WIDTHS } from './font.ts'

const GLYPHS = new Map([...CHARACTERS].flatMap((one, n) => (one === '\0' ? [] : [[one, n + 1] as const])))
/** What is shown for a character that the font lacks. Whoever copies the text gets the character itself. */
const INSTEAD = GLYPHS.get('□')!
/** A code has two bytes. */
const LAST_CODE = 0xffff
const ALIKE: Readonly<Record<string, string>> = {
  '\u00a0': ' ',
  '\u00ad': '-',
  '\u2010': '-',
  '\u2011': '-',
  '\u03bc': 'µ',
  '\t': ' ',
  '\n': ' ',
  '\r': ' ',
}

const hex = (n: number): string => n.toString(16).toUpperCase().padStart(4, '0')

/** The texts of a PDF in its one font: how wide they are, and their codes, which are those of the glyphs of the font and of more. */
export class Glyphs {
  /** The codes that are used, with what they mean. */
  readonly #used = new Map<number, string>()
  /** The codes of characters that the font lacks, and the glyph of each. */
  readonly #added = new Map<string, number>()
  readonly #glyphs: number[] = []

  widthOf(text: string, size: number): number {
    let width = 0
    for (const one of text) width += WIDTHS[glyphOf(one)]!
    return (width * size) / 1000
  }

  /** A text as a page shows it. */
  encode(text: string): string {
    let codes = ''
    for (const one of text) {
      const code = GLYPHS.get(one) ?? this.#add(one)
      if (!this.#used.has(code)) this.#used.set(code, one)
      codes += hex(code)
    }
    return `<${codes}>`
  }

  #add(one: string): number {
    const known = this.#added.get(one)
    if (known !== undefined) return known
    const code = WIDTHS.length + this.#glyphs.length
    if (code > LAST_CODE) return INSTEAD
    this.#added.set(one, code)
    this.#glyphs.push(glyphOf(one))
    return code
  }

  /** Puts the font as an object, once all texts are encoded. */
  put(file: PdfFile, n: number): void {
    const { ascent, descent, capHeight, box } = METRICS
    const name = 'AAAAAA+SourceSans3-Regular'
    const data = file.stream(`/Length1 ${FONT_LENGTH}`, Buffer.from(FONT, 'base64'), true)
    const descriptor = file.put(
      `<</Type/FontDescriptor/FontName/${name}/Flags 32/FontBBox[${box.join(' ')}]/ItalicAngle 0/Ascent ${ascent}/Descent ${descent}` +
        `/CapHeight ${capHeight}/StemV 84/FontFile2 ${data} 0 R>>`,
    )
    const widths = [...WIDTHS, ...this.#glyphs.map((glyph) => WIDTHS[glyph]!)].join(' ')
    const map = [...WIDTHS.keys(), ...this.#glyphs].map(hex).join('')
    const glyphs = this.#glyphs.length === 0 ? '/Identity' : `${file.stream('', Buffer.from(map, 'hex'))} 0 R`
    const descendant = file.put(
      `<</Type/Font/Subtype/CIDFontType2/BaseFont/${name}/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>` +
        `/FontDescriptor ${descriptor} 0 R/DW 1000/W[0[${widths}]]/CIDToGIDMap ${glyphs}>>`,
    )
    const unicode = file.stream('', this.#unicode())
    file.put(
      `<</Type/Font/Subtype/Type0/BaseFont/${name}/Encoding/Identity-H/DescendantFonts[${descendant} 0 R]/ToUnicode ${unicode} 0 R>>`,
      n,
    )
  }

  /** What the codes mean, for whoever reads or copies the text. */
  #unicode(): string {
    const codes = [...this.#used].sort(([a], [b]) => a - b)
    const lines = codes.map(([code, text]) => `<${hex(code)}> <${Buffer.from(text, 'utf16le').swap16().toString('hex').toUpperCase()}>\n`)
    const blocks = Array.from({ length: Math.ceil(lines.length / 100) }, (_, n) => lines.slice(n * 100, n * 100 + 100))
    return (
      '/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo <</Registry (Adobe)/Ordering (UCS)/Supplement 0>> def\n' +
      '/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n' +
      blocks.map((block) => `${block.length} beginbfchar\n${block.join('')}endbfchar\n`).join('') +
      'endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n'
    )
  }
}

const glyphOf = (one: string): number => GLYPHS.get(one) ?? GLYPHS.get(ALIKE[one] ?? '') ?? INSTEAD
