import { prepared, sql } from '../../platform/db/fragment.ts'
import { isVisible, type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { type AppliedRow, appliedTo, parseApplied } from '../applied.ts'
import type { LineRow } from '../columns.ts'
import { type ReadRow, readColumns, storedColumns } from '../read-row.ts'
import { type Concepto, newConcepto } from '../xml/document.ts'
import type { XmlPlace } from '../xml/xml-store.ts'

/** A visible document with the applications to it that count. */
export interface FoundCfdi {
  row: ReadRow
  partition: Partition
  detail: string | null
  xml: XmlPlace | null
  applied: AppliedRow[]
}

type FoundRow = ReadRow & { [K in keyof XmlPlace]: XmlPlace[K] | null } & { detail: string | null; applied: string }

const selectCfdi = (partition: Partition, uuid: string) => sql`
  select ${readColumns('page')}, page.detail, page.xml_object, page.xml_offset, page.xml_length, page.xml_method, ${appliedTo(partition, 'page')} as applied
  from (select ${storedColumns('cfdi')}, cfdi.detail, cfdi.xml_object, cfdi.xml_offset, cfdi.xml_length, cfdi.xml_method
        from cfdi where cfdi.uuid = ${uuid} and ${isVisible(partition, 'cfdi')}) page`

const selectLines = (partition: Partition, uuid: string) => sql`
  select line.* from cfdi cross join cfdi_lines line
  where cfdi.uuid = ${uuid} and ${isVisible(partition, 'cfdi')} and line.entity = cfdi.entity and line.uuid = cfdi.uuid order by line.n`

/** Finds the visible document with this UUID. At most one partition shows it. */
export async function findCfdi(ledger: ScopedLedger, uuid: string): Promise<FoundCfdi | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const results = await ledger.d1.batch<FoundRow>(partitions.map((partition) => prepared(ledger.d1, selectCfdi(partition, uuid))))
  return firstOf(partitions, results)
}

/** Finds it with its lines, in the same call. */
export async function findCfdiWithLines(ledger: ScopedLedger, uuid: string): Promise<(FoundCfdi & { conceptos: Concepto[] }) | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const statements = [
    ...partitions.map((partition) => selectCfdi(partition, uuid)),
    ...partitions.map((partition) => selectLines(partition, uuid)),
  ]
  const results = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  const found = firstOf(partitions, results as D1Result<FoundRow>[])
  const lines = results.slice(partitions.length).flatMap((result) => result.results as (LineRow & { entity: number })[])
  return found && { ...found, conceptos: lines.map(conceptoOf) }
}

function firstOf(partitions: readonly Partition[], results: readonly D1Result<FoundRow>[]): FoundCfdi | undefined {
  const at = partitions.findIndex((_, n) => results[n]!.results.length > 0)
  if (at < 0) return undefined
  const { detail, applied, xml_object, xml_offset, xml_length, xml_method, ...row } = results[at]!.results[0]!
  const xml = xml_object === null ? null : { xml_object, xml_offset: xml_offset!, xml_length: xml_length!, xml_method: xml_method! }
  return { row, partition: partitions[at]!, detail, xml, applied: parseApplied(applied) }
}

const conceptoOf = ({ entity: _, uuid: __, n: ___, detail, ...header }: LineRow & { entity: number }): Concepto => ({
  ...newConcepto(),
  ...header,
  ...JSON.parse(detail),
})
