import { prepared, sql } from '../../platform/db/fragment.ts'
import { type Partition, partitionsToRead, type ScopedLedger, visible } from '../../visibility/scoped-ledger.ts'
import { type AppliedRow, appliedTo, parseApplied } from '../applied.ts'
import { shown, stored } from '../columns.ts'
import type { CfdiRow } from '../view.ts'
import type { Concepto } from '../xml/document.ts'
import type { XmlPlace } from '../xml/xml-store.ts'

/** One document, whole, with what was applied to it and counts. */
export interface Found {
  row: CfdiRow
  origin: Partition['origin']
  detail: string | null
  xml: XmlPlace | null
  applied: AppliedRow[]
}

type FoundRow = CfdiRow & { [K in keyof XmlPlace]: XmlPlace[K] | null } & { detail: string | null; applied: string }

const rowOf = (book: Partition, uuid: string) => sql`
  select ${shown('page')}, page.detail, page.xml_object, page.xml_offset, page.xml_length, page.xml_method, ${appliedTo(book, 'page')} as applied
  from (select ${stored('cfdi')}, cfdi.detail, cfdi.xml_object, cfdi.xml_offset, cfdi.xml_length, cfdi.xml_method
        from cfdi where cfdi.uuid = ${uuid} and ${visible(book, 'cfdi')}) page`

const linesOf = (book: Partition, uuid: string) => sql`
  select line.* from cfdi cross join cfdi_lines line
  where cfdi.uuid = ${uuid} and ${visible(book, 'cfdi')} and line.entity = cfdi.entity and line.uuid = cfdi.uuid order by line.n`

/** The document with this UUID, if a book that may be read shows it. At most one does. */
export async function findCfdi(books: ScopedLedger, uuid: string): Promise<Found | undefined> {
  const read = partitionsToRead(books)
  if (read.length === 0) return undefined
  const results = await books.ledger.batch<FoundRow>(read.map((book) => prepared(books.ledger, rowOf(book, uuid))))
  return firstOf(read, results)
}

/** The same with its lines, in the same call. */
export async function findCfdiWithLines(books: ScopedLedger, uuid: string): Promise<(Found & { conceptos: Concepto[] }) | undefined> {
  const read = partitionsToRead(books)
  if (read.length === 0) return undefined
  const statements = [...read.map((book) => rowOf(book, uuid)), ...read.map((book) => linesOf(book, uuid))]
  const results = await books.ledger.batch(statements.map((one) => prepared(books.ledger, one)))
  const found = firstOf(read, results as D1Result<FoundRow>[])
  return found && { ...found, conceptos: results.slice(read.length).flatMap((lines) => (lines.results as LineRow[]).map(conceptoOf)) }
}

function firstOf(read: readonly Partition[], results: readonly D1Result<FoundRow>[]): Found | undefined {
  const at = read.findIndex((_, n) => results[n]!.results.length > 0)
  if (at < 0) return undefined
  const { detail, applied, xml_object, xml_offset, xml_length, xml_method, ...row } = results[at]!.results[0]!
  const xml = xml_object === null ? null : { xml_object, xml_offset: xml_offset!, xml_length: xml_length!, xml_method: xml_method! }
  return { row, origin: read[at]!.origin, detail, xml, applied: parseApplied(applied) }
}

type LineRow = Omit<Concepto, 'impuestos' | 'a_cuenta_terceros_rfc' | 'cuenta_predial' | 'pedimentos'> & {
  entity: number
  uuid: string
  n: number
  detail: string
}

const conceptoOf = ({ entity: _, uuid: __, n: ___, detail, ...columns }: LineRow): Concepto => ({ ...columns, ...JSON.parse(detail) })
