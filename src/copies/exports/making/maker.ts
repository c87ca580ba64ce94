import { crc32 } from 'node:zlib'
import { batchesOf, type Located, locateContents, readableOf } from '../../../cfdi/chunks/contents.ts'
import { inflated, readPacked } from '../../../cfdi/mirrored/mirrored.ts'
import { printPdf } from '../../../cfdi/print/print.ts'
import { view } from '../../../cfdi/read-row.ts'
import { type FixedFilters, findMatches, type PageItem } from '../../../cfdi/search/search.ts'
import { listedOf } from '../../../lists/listed/counterparties.ts'
import { type ListedParties, parseListed, writeListed } from '../../../lists/listed/listed.ts'
import { free } from '../../../platform/bytes/bytes.ts'
import type { Ctx } from '../../../platform/context.ts'
import { holdLarge } from '../../../platform/locks/readings.ts'
import { letOthersGoOn } from '../../../platform/work/pause.ts'
import type { Zip } from '../../../platform/workbook.ts'
import { openLedger, type ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import type { Start } from '../start.ts'
import type { ExportRow } from '../store.ts'
import { addFiles, type FileOf, filesOf, isKnown, type RowWriter, repeatedOf, rowsOf, rowWriterOf, zipOf } from './columns.ts'
import type { ExportLimits } from './output.ts'
import { completeObject, FileOutput, type MakingState, newState, type SavedMaking, WEIGHT } from './output.ts'
import { isOfXml, type KindOfXml, rowsInXml } from './xml-rows.ts'

/** Documents of one type alone have payments, and those of another payroll. */
const TYPES = { pagos: 'P', nominas: 'N' } as const

const filtersOf = ({ filters }: Start, { kind }: ExportRow): FixedFilters | null => {
  if (kind !== 'pagos' && kind !== 'nominas') return filters
  const type = TYPES[kind]
  const { tipo_comprobante = [type] } = filters
  return tipo_comprobante.includes(type) ? { ...filters, tipo_comprobante: [type] } : null
}

/** The method of a file in a ZIP whose bytes are not packed: a PDF is deflated inside. */
const STORED = 0
const ROWS_AT_ONCE = 1_000
/** Bytes of XML that are read before others go on. */
const READ_AT_ONCE = 256 * 1024

/** Makes one export, step by step. Its state after a step is `saved`; once that is committed, another worker can continue from it. */
export class Maker {
  readonly #files: R2Bucket
  readonly #ledger: ScopedLedger
  readonly #row: ExportRow
  readonly #filters: FixedFilters | null
  readonly #limits: ExportLimits
  readonly #content: NonNullable<Start['content']>
  readonly #ctx: Ctx
  readonly #listed: ListedParties
  readonly state: MakingState
  readonly #output: FileOutput
  /** Objects of XML that were read. */
  objects = 0

  private constructor(ctx: Ctx, row: ExportRow, start: Start, limits: ExportLimits, { state, tail, directory }: SavedMaking) {
    this.#files = ctx.env.FILES
    this.#ledger = openLedger(ctx)
    this.#row = row
    this.#filters = filtersOf(start, row)
    this.#limits = limits
    this.#content = start.content ?? ['xml']
    this.#ctx = ctx
    this.#listed = parseListed(state.listed)
    this.state = state
    this.#output = new FileOutput(ctx.env.FILES, state.output, tail, directory)
  }

  /** Begins an export, or continues one. The context is that of the reader as of the start. */
  static async of(ctx: Ctx, row: ExportRow, start: Start, limits: ExportLimits, saved: SavedMaking | null): Promise<Maker> {
    if (saved) return new Maker(ctx, row, start, limits, saved)
    const listed = writeListed([...(await listedOf(ctx))].flatMap(([rfc, all]) => all.map((as) => ({ ...as, rfc }))))
    const none = new Uint8Array()
    const state = newState(`exports/${row.export_id}/${row.token}`, listed)
    return new Maker(ctx, row, start, limits, { state, tail: none, directory: none })
  }

  get saved(): SavedMaking {
    return { state: { ...this.state, bytes: this.#output.at }, tail: this.#output.tail, directory: this.#output.directory }
  }

  /** Takes the piece of the central directory once it is long; null while it is short. */
  takeDirectory(): Uint8Array | null {
    return this.state.phase === 'reading' && this.#output.directory.length >= this.#limits.directory ? this.#output.takeDirectory() : null
  }

  /** Does a step before the object is completed. */
  async step(): Promise<void> {
    if (this.state.phase === 'reading') await this.#read()
    else await this.#copyDirectory()
  }

  /** Gives back its memory of the isolate, when nothing more is to be done. */
  release(): void {
    this.#output.release()
  }

  /** Makes the object of a file that is written. It can be repeated. */
  complete = (): Promise<R2Object> => completeObject(this.#files, this.state.output, this.#output.tail)

  async #read(): Promise<void> {
    const { kind } = this.#row
    const writer: RowWriter | null = kind === 'xml' ? null : rowWriterOf(this.#row, this.state, this.#output, this.#limits)
    if (this.state.after === null && this.state.documents === 0) writer?.begin()
    const { items, located, next } = await this.#page()
    if (writer === null) await this.#addFiles(located)
    else if (kind === 'cfdi')
      await this.#write(
        writer,
        items.map(({ row, context }) => view(row, context, this.#listed)),
      )
    else await this.#writeRows(writer, kind as Exclude<typeof kind, 'xml' | 'cfdi'>, located)
    this.state.documents += items.length
    this.state.without_xml += items.filter(({ row }) => row.has_xml === 0).length
    if (next !== null) {
      this.state.after = next
      return this.#output.flush()
    }
    writer?.end()
    await this.#output.flush()
    await this.#endReading()
  }

  /** The next documents, with the places of their contents where these are exported. */
  async #page(): Promise<{ items: PageItem[]; located: Located<PageItem>[]; next: MakingState['after'] }> {
    if (this.#filters === null) return { items: [], located: [], next: null }
    const limit = this.#limits.page[this.#content.includes('pdf') ? 'pdf' : this.#row.kind]
    const page = await findMatches(this.#ctx, this.#ledger, this.#filters, this.#listed, this.state.after ?? undefined, limit)
    if (this.#row.kind === 'cfdi') return { ...page, located: [] }
    const located = await locateContents(this.#ledger, page.items)
    const [first = [], more] = batchesOf(located, this.#limits.stepBytes, ({ xml_size }) => xml_size ?? 0)
    if (more === undefined) return { ...page, located }
    const last = first.at(-1)!.item
    return { items: page.items.slice(0, page.items.indexOf(last) + 1), located: first, next: [last.row.issued_at, last.row.uuid] }
  }

  /** Writes the rows of contents, those of some before the next contents are read, because they keep them in memory. */
  async #writeRows(
    writer: RowWriter,
    kind: Exclude<ExportRow['kind'], 'xml' | 'cfdi'>,
    located: readonly Located<PageItem>[],
  ): Promise<void> {
    for (const batch of readableOf(located)) {
      const bytes = batch.reduce((sum, { location }) => sum + (location.xml_size ?? 0), 0)
      const rows = isOfXml(kind) ? this.#rowsOfXml(batch, kind) : rowsOf(this.#ledger, kind, batch, this.#listed)
      await holdLarge(this.#ctx, bytes - WEIGHT, () => this.#write(writer, rows))
    }
  }

  /** Writes rows, some at a time: other requests are answered in between. */
  async #write(writer: RowWriter, rows: Iterable<object> | AsyncIterable<object>): Promise<void> {
    let some: object[] = []
    const write = async () => {
      writer.write(some)
      this.state.rows += some.length
      some = []
      await this.#output.flush()
    }
    for await (const row of rows) {
      if (some.push(row) < ROWS_AT_ONCE) continue
      await write()
      await scheduler.wait(1)
    }
    await write()
  }

  async #addFiles(located: readonly Located<PageItem>[]): Promise<void> {
    const zip = zipOf(this.#row, this.state, this.#output, this.#limits)
    for (const batch of this.#batches(located)) {
      if (this.#content.includes('xml')) await addFiles(this.#files, zip, batch)
      if (this.#content.includes('pdf')) await this.#addPdfs(zip, batch)
      await this.#output.flush()
      this.state.rows += batch.length * this.#content.length
    }
  }

  /** Makes the PDFs of documents, one at a time: other requests are answered in between. */
  async #addPdfs(zip: Zip, batch: readonly FileOf[]): Promise<void> {
    const packed = await readPacked(
      this.#files,
      batch.map(({ location }) => location),
    )
    for (const { name, item, location } of batch) {
      const { row, context } = item
      await holdLarge(this.#ctx, location.xml_size ?? 0, async () => {
        const xml = inflated(packed.get(location)!, location.xml_method)
        packed.delete(location)
        const pdf = await printPdf(this.#ctx, xml, view(row, context), 'es').finally(() => free(xml))
        zip.add(name.replace(/\.xml$/, '.pdf'), pdf, { method: STORED, crc: crc32(pdf), size: pdf.length })
      })
      await this.#output.flush()
      await scheduler.wait(1)
    }
  }

  /** What the XML of documents says, one document at a time. */
  async *#rowsOfXml(batch: readonly Located<PageItem>[], kind: KindOfXml): AsyncGenerator<object> {
    const known = batch.filter(isKnown)
    const locations = known.map(({ location }) => location)
    this.objects += new Set(locations.map(({ xml_object }) => xml_object)).size
    const packed = await readPacked(this.#files, locations)
    let read = 0
    for (const { item, location } of known) {
      const bytes = inflated(packed.get(location)!, location.xml_method)
      packed.delete(location)
      read += bytes.length
      if (read > READ_AT_ONCE) {
        await letOthersGoOn()
        read = 0
      }
      yield* rowsInXml(kind, repeatedOf(item, this.#listed), bytes)
    }
  }

  /** The files of those documents whose XML is known, in batches. */
  *#batches(located: readonly Located<PageItem>[]): Generator<FileOf[]> {
    for (const batch of batchesOf(filesOf(located), this.#limits.xmlBytes, ({ xml_length }) => xml_length)) {
      this.objects += new Set(batch.map(({ location }) => location.xml_object)).size
      yield batch
    }
  }

  async #endReading(): Promise<void> {
    if (this.#row.format === 'xlsx' || this.#row.format === 'zip') {
      this.state.phase = 'directory'
      this.state.directory = { at: this.#output.at, copied: 0 }
    } else await this.#end()
  }

  async #copyDirectory(): Promise<void> {
    const { directory, output } = this.state
    const key = output.directory[directory.copied]
    if (key !== undefined) {
      const found = await this.#files.get(key)
      if (found === null) throw new Error(`There is no object ${key}.`)
      this.#output.push(new Uint8Array(await found.arrayBuffer()))
      directory.copied++
      return this.#output.flush()
    }
    this.#output.push(this.#output.takeDirectory())
    zipOf(this.#row, this.state, this.#output, this.#limits).finish(directory.at)
    await this.#end()
  }

  async #end(): Promise<void> {
    this.state.bytes = this.#output.at
    await this.#output.close()
    this.state.phase = 'complete'
  }
}
