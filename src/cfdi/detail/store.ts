import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import { isVisible, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type AppliedRow, appliedTo, parseApplied, rowOn, stateOn } from '../applied/applied.ts'
import { partOf } from '../chunks/chunks.ts'
import { contentOf, type KnownDetail } from '../chunks/content.ts'
import { cfdiAs, listOf } from '../columns.ts'
import { READ_COLUMNS, type ReadRow, STORED_COLUMNS } from '../read-row.ts'
import { cfdi, cfdiChunks } from '../tables.ts'
import type { XmlLocation } from '../xml/xml-store.ts'

const k = alias(cfdiChunks, 'k')
const page = cfdiAs('page')
const LOCATION = ['chunk_at', 'xml_object', 'xml_offset', 'xml_length', 'xml_method'] as const

/** A visible document with the applications to it that count. */
export interface FoundCfdi {
  row: ReadRow
  partition: Partition
  /** Its location in its chunk; null when only metadata is known. */
  chunk_at: number | null
  xml: XmlLocation | null
  applied: AppliedRow[]
}

type FoundRow = ReadRow & { [K in keyof XmlLocation]: XmlLocation[K] | null } & {
  chunk_at: number | null
  applied: string
  state: string | null
}

const selectCfdi = (partition: Partition, uuid: string, past: string | null = null) => sql`
  select ${READ_COLUMNS}, ${listOf(LOCATION.map((name) => page[name]))}, ${appliedTo(partition, 'page', past)} as applied,
    ${past === null ? sql`null` : stateOn(partition, 'page', past)} as state
  from (select ${STORED_COLUMNS}, ${listOf(LOCATION.map((name) => cfdi[name]))}
        from ${cfdi} where ${cfdi.uuid} = ${uuid} and ${isVisible(partition, 'cfdi')}) page`

const selectChunks = (partition: Partition, uuid: string) => sql`
  select hex(${k.data}) as data from ${cfdi} cross join ${cfdiChunks} ${k}
  where ${cfdi.uuid} = ${uuid} and ${isVisible(partition, 'cfdi')} and ${k.entity} = ${cfdi.entity}
    and ${k.chunk} >= ${cfdi.chunk} and ${k.chunk} < ${cfdi.chunk} + ${cfdi.chunk_parts} order by ${k.chunk}`

/** Finds the visible document with this UUID. At most one partition shows it. */
export async function findCfdi(ledger: ScopedLedger, uuid: string): Promise<FoundCfdi | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const results = await ledger.d1.batch<FoundRow>(partitions.map((partition) => prepared(ledger.d1, selectCfdi(partition, uuid))))
  return firstOf(partitions, results)
}

/**
 * Finds it with its detail and lines, as it was at the end of a past day when there is one, in the same call. These are null or empty when only
 * metadata is known.
 */
export async function findWithContent(
  ledger: ScopedLedger,
  uuid: string,
  past: string | null,
): Promise<(FoundCfdi & { content: KnownDetail }) | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const statements = [
    ...partitions.map((partition) => selectCfdi(partition, uuid, past)),
    ...partitions.map((partition) => selectChunks(partition, uuid)),
  ]
  const results = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  const found = firstOf(partitions, results as D1Result<FoundRow>[])
  if (!found) return undefined
  const chunks = (results[partitions.length + partitions.indexOf(found.partition)]!.results as { data: string }[]).map(({ data }) => data)
  return { ...found, content: contentOf(found.chunk_at === null ? undefined : partOf(chunks, found.chunk_at)) }
}

function firstOf(partitions: readonly Partition[], results: readonly D1Result<FoundRow>[]): FoundCfdi | undefined {
  const at = partitions.findIndex((_, n) => results[n]!.results.length > 0)
  if (at < 0) return undefined
  const { chunk_at, applied, state, xml_object, xml_offset, xml_length, xml_method, ...row } = results[at]!.results[0]!
  const xml = xml_object === null ? null : { xml_object, xml_offset: xml_offset!, xml_length: xml_length!, xml_method: xml_method! }
  return { row: state === null ? row : rowOn(row, state), partition: partitions[at]!, chunk_at, xml, applied: parseApplied(applied) }
}
