import { cellXml, headingCell, letterOf } from './cells.ts'
import { type Columns, type ExportColumn, valuesOf } from './columns.ts'
import type { OpenEntry, Zip } from './zip.ts'

/** How far a workbook is written. */
export interface WorkbookState {
  /** Sheets that were begun. */
  sheets: number
  /** Rows of the open sheet, its heading included. */
  rows: number
  /** The open sheet. */
  entry: OpenEntry | null
}

export const emptyWorkbook = (): WorkbookState => ({ sheets: 0, rows: 0, entry: null })

/** What a sheet may have. The bytes are those of its XML: below 4 GiB, so that no sheet needs ZIP64. */
export interface SheetLimits {
  rows: number
  bytes: number
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const SHEET =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'

/** What a column takes in characters: what it holds, and most of its heading, beside which a filter has its button. */
const WIDTHS = { text: 14, number: 15, time: 20 } as const
const UUID_WIDTH = 38
const WIDEST_HEADING = 30
function widthOf({ heading, type }: ExportColumn): number {
  const held = /uuid/i.test(heading) ? UUID_WIDTH : WIDTHS[type]
  return Math.max(held, Math.min(heading.length + 3, WIDEST_HEADING))
}
const colsOf = (columns: Columns): string =>
  `<cols>${columns.map((one, n) => `<col min="${n + 1}" max="${n + 1}" width="${widthOf(one)}" customWidth="1"/>`).join('')}</cols>`

const STYLES =
  `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>` +
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="166" formatCode="#,##0.00####"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>' +
  '<cellXfs count="5"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/>' +
  '<xf numFmtId="166" applyNumberFormat="1"/></cellXfs>' +
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'

const fileOf = (n: number): string => `xl/worksheets/sheet${n}.xml`

/** Writes rows into sheets, which are deflated as they come. */
export class Workbook {
  readonly #zip: Zip
  readonly #state: WorkbookState
  readonly #columns: Columns
  readonly #letters: string[]
  readonly #name: string
  readonly #limits: SheetLimits
  #text: string[] = []

  constructor(zip: Zip, state: WorkbookState, columns: Columns, name: string, limits: SheetLimits) {
    this.#zip = zip
    this.#state = state
    this.#columns = columns
    this.#letters = columns.map((_, n) => letterOf(n))
    this.#name = name
    this.#limits = limits
  }

  write(rows: readonly unknown[]): void {
    for (const row of rows) {
      const { entry } = this.#state
      if (entry === null || this.#state.rows >= this.#limits.rows || entry.size >= this.#limits.bytes) this.#nextSheet()
      const n = ++this.#state.rows
      const cells = valuesOf(this.#columns, row).map((value, at) => cellXml(`${this.#letters[at]}${n}`, this.#columns[at]!.type, value))
      this.#text.push(`<row r="${n}">${cells.join('')}</row>`)
    }
    this.#flush()
  }

  /** Ends the last sheet, and adds what describes the workbook. */
  end(): void {
    if (this.#state.entry === null) this.#nextSheet()
    this.#endSheet()
    const numbers = Array.from({ length: this.#state.sheets }, (_, n) => n + 1)
    const sheets = numbers.map((n) => `<sheet name="${n === 1 ? this.#name : `${this.#name} ${n}`}" sheetId="${n}" r:id="rId${n}"/>`)
    const ofSheets = numbers.map((n) => `<Relationship Id="rId${n}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${n}.xml"/>`)
    const styles = `<Relationship Id="rId${numbers.length + 1}" Type="${RELATIONS}/styles" Target="styles.xml"/>`
    const types = numbers.map((n) => `<Override PartName="/${fileOf(n)}" ContentType="${TYPE}.worksheet+xml"/>`)
    const relations = (inner: string) => `${XML}<Relationships xmlns="${PACKAGE}/relationships">${inner}</Relationships>`
    this.#zip.addText(
      'xl/workbook.xml',
      `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${sheets.join('')}</sheets></workbook>`,
    )
    this.#zip.addText('xl/_rels/workbook.xml.rels', relations(ofSheets.join('') + styles))
    this.#zip.addText('xl/styles.xml', STYLES)
    this.#zip.addText('_rels/.rels', relations(`<Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/>`))
    this.#zip.addText(
      '[Content_Types].xml',
      `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        `<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>${types.join('')}</Types>`,
    )
  }

  #nextSheet(): void {
    this.#endSheet()
    this.#state.entry = this.#zip.begin(fileOf(++this.#state.sheets))
    this.#state.rows = 1
    const headings = this.#columns.map(({ heading }, at) => headingCell(`${this.#letters[at]}1`, heading))
    this.#text.push(`${SHEET}${colsOf(this.#columns)}<sheetData><row r="1">${headings.join('')}</row>`)
  }

  #endSheet(): void {
    const { entry } = this.#state
    if (entry === null) return
    const all = `A1:${this.#letters.at(-1)}${this.#state.rows}`
    this.#text.push(`</sheetData><autoFilter ref="${all}"/></worksheet>`)
    this.#flush()
    this.#zip.end(entry)
    this.#state.entry = null
  }

  #flush(): void {
    if (this.#text.length === 0) return
    this.#zip.append(this.#state.entry!, this.#text.join(''))
    this.#text = []
  }
}
