import { Buffer } from 'node:buffer'
import { inflateSync } from 'node:zlib'
import { PdfFile, pdfAscii, pdfNumber, pdfText } from './file.ts'
import { ICC } from './font.ts'
import { Glyphs } from './glyphs.ts'

/** US letter, in points. */
export const PAGE = { width: 612, height: 792 } as const

/** The tags that a document has. */
export type Tag = 'Document' | 'Sect' | 'H1' | 'H2' | 'H3' | 'H4' | 'H5' | 'H6' | 'P' | 'Table' | 'TR' | 'TH' | 'TD' | 'Figure' | 'Link'

export interface PdfHead {
  title: string
  /** Such as `es-MX`. */
  language: string
  /** A file that the PDF shows, and carries. */
  source: { name: string; type: string; bytes: Uint8Array; description: string; modified: string | null }
}

/** How a text looks. `grey` is 0 for black. */
export interface Look {
  size: number
  isBold?: boolean
  grey?: number
}

interface Element {
  n: number
  tag: Tag
  attributes: string
  kids: string[]
}

interface Page {
  n: number
  key: number
  /** The elements of its marked content, by number. */
  marked: number[]
  content: number
  links: number[]
}

/** How bold a text is, in parts of its size. */
const BOLD = 0.035

/**
 * A PDF that is drawn and tagged at once (PDF/A-3a and PDF/UA-1): everything drawn belongs to the open element, or is an artifact. Positions
 * are points from the upper left corner. What is finished is put into the file, so that a document of any length takes little memory.
 */
export class PdfDocument {
  readonly glyphs = new Glyphs()
  readonly #file = new PdfFile()
  readonly #head: PdfHead
  readonly #font = this.#file.reserve()
  readonly #pages: Page[] = []
  readonly #tree = this.#file.reserve()
  readonly #stack: Element[] = []
  readonly #parents: string[] = []
  /** What is drawn on the open page. */
  #drawn: string[] = []
  #marked: Element | 'artifact' | null = null
  #grey = 0
  #key = 0
  readonly #pagesNode = this.#file.reserve()

  constructor(head: PdfHead) {
    this.#head = head
  }

  get pages(): number {
    return this.#pages.length
  }

  addPage(): void {
    this.#endPage()
    this.#pages.push({ n: this.#file.reserve(), key: this.#key++, marked: [], content: 0, links: [] })
    this.#grey = 0
  }

  /** Opens an element in the open one. */
  open(tag: Tag, attributes = ''): void {
    this.#endMarked()
    const n = this.#file.reserve()
    this.#stack.at(-1)?.kids.push(`${n} 0 R`)
    this.#stack.push({ n, tag, attributes, kids: [] })
  }

  close(): void {
    this.#endMarked()
    const { n, tag, attributes, kids } = this.#stack.pop()!
    const parent = this.#stack.at(-1)?.n ?? this.#tree
    this.#file.put(`<</S/${tag}/P ${parent} 0 R${attributes}/K[${kids.join(' ')}]>>`, n)
  }

  within(tag: Tag, draw: () => void, attributes = ''): void {
    this.open(tag, attributes)
    draw()
    this.close()
  }

  text(x: number, y: number, text: string, { size, isBold = false, grey = 0 }: Look): void {
    this.#mark()
    const codes = this.glyphs.encode(text)
    const bold = isBold ? `2 Tr ${pdfNumber(size * BOLD)} w ` : ''
    this.#colour(grey)
    this.#drawn.push(
      `BT /F ${pdfNumber(size)} Tf ${bold}${pdfNumber(x)} ${pdfNumber(PAGE.height - y)} Td ${codes} Tj${isBold ? ' 0 Tr' : ''} ET`,
    )
  }

  /** Draws what means nothing: lines, and what pages repeat. */
  artifact(draw: () => void): void {
    this.#endMarked()
    this.#drawn.push('/Artifact BMC')
    this.#marked = 'artifact'
    draw()
    this.#endMarked()
  }

  rule(x: number, y: number, width: number, grey: number): void {
    this.#colour(grey)
    this.#drawn.push(`${pdfNumber(x)} ${pdfNumber(PAGE.height - y)} ${pdfNumber(width)} 0.5 re f`)
  }

  /** A text across the page, behind what is drawn after it. */
  across(text: string, size: number, grey: number): void {
    const [cos, sin] = [Math.SQRT1_2, Math.SQRT1_2]
    const half = this.glyphs.widthOf(text, size) / 2
    const [x, y] = [PAGE.width / 2 - half * cos + size * 0.25, PAGE.height / 2 - half * sin - size * 0.25]
    this.#colour(grey)
    const matrix = [cos, sin, -sin, cos].map((n) => n.toFixed(4)).join(' ')
    this.#drawn.push(`BT /F ${size} Tf ${matrix} ${pdfNumber(x)} ${pdfNumber(y)} Tm ${this.glyphs.encode(text)} Tj ET`)
  }

  /** A figure of black squares: its rows, and how wide it is with no border. */
  squares(x: number, y: number, width: number, rows: readonly (readonly boolean[])[], alt: string): void {
    const side = width / rows.length
    const box = [x, PAGE.height - y - width, x + width, PAGE.height - y].map(pdfNumber).join(' ')
    this.open('Figure', `/Alt${pdfText(alt)}/A<</O/Layout/Placement/Block/BBox[${box}]>>`)
    this.#mark()
    this.#colour(0)
    const runs: string[] = []
    rows.forEach((row, n) => {
      for (let from = 0; from < row.length; from++) {
        let to = from
        while (row[to]) to++
        if (to > from) runs.push(`${from} ${rows.length - n - 1} ${to - from} 1 re`)
        from = to
      }
    })
    this.#drawn.push(
      `q ${side.toFixed(4)} 0 0 ${side.toFixed(4)} ${pdfNumber(x)} ${pdfNumber(PAGE.height - y - width)} cm ${runs.join(' ')} f Q`,
    )
    this.close()
  }

  /** A text that leads to an address. */
  link(x: number, y: number, text: string, look: Look, address: string): void {
    this.open('Link')
    this.text(x, y, text, look)
    const page = this.#pages.at(-1)!
    const element = this.#stack.at(-1)!
    const key = this.#key++
    const width = this.glyphs.widthOf(text, look.size)
    const box = [x, PAGE.height - y - look.size * 0.3, x + width, PAGE.height - y + look.size].map(pdfNumber).join(' ')
    const n = this.#file.put(
      `<</Type/Annot/Subtype/Link/Rect[${box}]/Border[0 0 0]/F 4/StructParent ${key}/P ${page.n} 0 R/Contents${pdfText(text)}` +
        `/A<</S/URI/URI${pdfAscii(encodeURI(decodable(address)))}>>>>`,
    )
    page.links.push(n)
    this.#parents.push(`${key} ${element.n} 0 R`)
    element.kids.push(`<</Type/OBJR/Obj ${n} 0 R/Pg ${page.n} 0 R>>`)
    this.close()
  }

  /** The whole file. `footerOf` gives what stands below a page. */
  end(
    footerOf: (page: number, pages: number) => { left: string; right: string; look: Look; margin: number; y: number },
  ): Uint8Array<ArrayBuffer> {
    while (this.#stack.length > 1) this.close()
    const document = this.#stack[0]!.n
    this.close()
    this.#endPage()
    this.#pages.forEach((page, n) => {
      const { left, right, look, margin, y } = footerOf(n + 1, this.#pages.length)
      const at = (x: number, text: string) =>
        `BT /F ${look.size} Tf ${pdfNumber(x)} ${pdfNumber(PAGE.height - y)} Td ${this.glyphs.encode(text)} Tj ET`
      const end = PAGE.width - margin - this.glyphs.widthOf(right, look.size)
      const footer = this.#file.stream('', `/Artifact BMC ${look.grey ?? 0} g\n${at(margin, left)}\n${at(end, right)}\nEMC`)
      this.#file.put(
        `<</Type/Page/Parent ${this.#pagesNode} 0 R/MediaBox[0 0 ${PAGE.width} ${PAGE.height}]/Resources<</Font<</F ${this.#font} 0 R>>>>` +
          `/Contents[${page.content} 0 R ${footer} 0 R]/StructParents ${page.key}/Tabs/S` +
          `${page.links.length > 0 ? `/Annots[${page.links.map((one) => `${one} 0 R`).join(' ')}]` : ''}>>`,
        page.n,
      )
    })
    this.#file.put(`<</Type/Pages/Kids[${this.#pages.map(({ n }) => `${n} 0 R`).join(' ')}]/Count ${this.#pages.length}>>`, this.#pagesNode)
    this.glyphs.put(this.#file, this.#font)
    const parents = this.#parents.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).join(' ')
    const parentTree = this.#file.put(`<</Nums[${parents}]>>`)
    this.#file.put(`<</Type/StructTreeRoot/K[${document} 0 R]/ParentTree ${parentTree} 0 R/ParentTreeNextKey ${this.#key}>>`, this.#tree)
    return this.#file.end(this.#catalog())
  }

  #catalog(): number {
    const { title, language, source } = this.#head
    const file = this.#file
    const modified = source.modified === null ? '' : `/ModDate(D:${source.modified.replace(/\D/g, '')})`
    const embedded = file.stream(
      `/Type/EmbeddedFile/Subtype/${source.type.replace('/', '#2F')}/Params<</Size ${source.bytes.length}${modified}>>`,
      source.bytes,
    )
    const spec = file.put(
      `<</Type/Filespec/F${pdfAscii(source.name)}/UF${pdfText(source.name)}/AFRelationship/Source/Desc${pdfText(source.description)}` +
        `/EF<</F ${embedded} 0 R/UF ${embedded} 0 R>>>>`,
    )
    const icc = file.stream('/N 3', inflateSync(Buffer.from(ICC, 'base64')))
    const metadata = file.stream('/Type/Metadata/Subtype/XML', xmpOf(title, language))
    return file.put(
      `<</Type/Catalog/Pages ${this.#pagesNode} 0 R/Lang${pdfAscii(language)}/MarkInfo<</Marked true>>/StructTreeRoot ${this.#tree} 0 R` +
        `/ViewerPreferences<</DisplayDocTitle true>>/Metadata ${metadata} 0 R/AF[${spec} 0 R]/Names<</EmbeddedFiles<</Names[${pdfAscii(source.name)} ${spec} 0 R]>>>>` +
        `/OutputIntents[<</Type/OutputIntent/S/GTS_PDFA1/OutputConditionIdentifier(sRGB)/Info(sRGB)/DestOutputProfile ${icc} 0 R>>]>>`,
    )
  }

  /** Begins the marked content of the open element, unless it is begun. */
  #mark(): void {
    const element = this.#stack.at(-1)!
    if (this.#marked === 'artifact' || this.#marked === element) return
    this.#endMarked()
    const page = this.#pages.at(-1)!
    const id = page.marked.push(element.n) - 1
    element.kids.push(`<</Type/MCR/Pg ${page.n} 0 R/MCID ${id}>>`)
    this.#drawn.push(`/${element.tag}<</MCID ${id}>>BDC`)
    this.#marked = element
  }

  #endMarked(): void {
    if (this.#marked !== null) this.#drawn.push('EMC')
    this.#marked = null
  }

  #colour(grey: number): void {
    if (grey === this.#grey) return
    this.#grey = grey
    this.#drawn.push(`${grey} g ${grey} G`)
  }

  #endPage(): void {
    const page = this.#pages.at(-1)
    if (!page) return
    this.#endMarked()
    page.content = this.#file.stream('', this.#drawn.join('\n'))
    this.#drawn = []
    this.#parents.push(`${page.key}[${page.marked.map((n) => `${n} 0 R`).join(' ')}]`)
    page.marked = []
  }
}

/** An address in which percent signs stand for themselves only where they escape something. */
const decodable = (address: string): string => {
  try {
    return decodeURI(address)
  } catch {
    return address
  }
}

const MARKUP: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => MARKUP[one]!)

const xmpOf = (title: string, language: string): string =>
  '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' +
  '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">' +
  `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${escaped(title)}</rdf:li></rdf:Alt></dc:title><dc:language><rdf:Bag><rdf:li>${language}</rdf:li></rdf:Bag></dc:language>` +
  '<pdfaid:part>3</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance><pdfuaid:part>1</pdfuaid:part></rdf:Description>' +
  // PDF/A describes the members that its own standard does not know.
  '<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">' +
  '<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource"><pdfaSchema:schema>PDF/UA identification</pdfaSchema:schema><pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI><pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>' +
  '<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource"><pdfaProperty:name>part</pdfaProperty:name><pdfaProperty:valueType>Integer</pdfaProperty:valueType><pdfaProperty:category>internal</pdfaProperty:category><pdfaProperty:description>Part of PDF/UA</pdfaProperty:description></rdf:li></rdf:Seq></pdfaSchema:property></rdf:li></rdf:Bag></pdfaExtension:schemas>' +
  '</rdf:Description></rdf:RDF></x:xmpmeta>\n<?xpacket end="w"?>'
