import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readRows } from '../../platform/db/statement.ts'
import { holdLarge, USUAL_BYTES } from '../../platform/locks/readings.ts'
import { isVisible, type Partition, partitionsToRead, type ScopedLedger, wholePartition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type AppliedRow, appliedTo, parseApplied, rowOn, stateOn } from '../applied/applied.ts'
import { partOf } from '../chunks/chunks.ts'
import { contentOf, type KnownDetail } from '../chunks/content.ts'
import { cfdiAs, listOf } from '../columns.ts'
import { READ_COLUMNS, type ReadRow, STORED_COLUMNS } from '../read-row.ts'
import { cfdi, cfdiChunks } from '../tables.ts'
import type { XmlLocation } from '../xml/xml-store.ts'

const k = alias(cfdiChunks, 'k')
const page = cfdiAs('page')
const LOCATION = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size'] as const

/** A visible document with the applications to it that count. */
export interface FoundCfdi {
  row: ReadRow
  partition: Partition
  /** Null when only metadata is known. */
  xml: (XmlLocation & { xml_size: number }) | null
  applied: AppliedRow[]
}

type FoundRow = ReadRow & { [K in (typeof LOCATION)[number]]: (XmlLocation & { xml_size: number })[K] | null } & {
  applied: string
  state: string | null
}

const selectCfdi = (partition: Partition, uuid: string, past: string | null = null) => sql`
  select ${READ_COLUMNS}, ${listOf(LOCATION.map((name) => page[name]))}, ${appliedTo(partition, 'page', past)} as applied,
    ${past === null ? sql`null` : stateOn(partition, 'page', past)} as state
  from (select ${STORED_COLUMNS}, ${listOf(LOCATION.map((name) => cfdi[name]))}
        from ${cfdi} where ${cfdi.uuid} = ${uuid} and ${isVisible(partition, 'cfdi')}) page`

const selectChunks = (partition: Partition, uuid: string, isLarge: boolean) => sql`
  select hex(${k.data}) as data, ${cfdi.chunk_at} from ${cfdi} cross join ${cfdiChunks} ${k}
  where ${cfdi.uuid} = ${uuid} and ${isVisible(partition, 'cfdi')} and ${k.entity} = ${cfdi.entity}
    and (coalesce(${cfdi.xml_size}, 0) > ${USUAL_BYTES}) = ${isLarge ? 1 : 0}
    and ${k.chunk} >= ${cfdi.chunk} and ${k.chunk} < ${cfdi.chunk} + ${cfdi.chunk_parts} order by ${k.chunk}`

/** Finds the visible document with this UUID. At most one partition shows it. */
export async function findCfdi(ledger: ScopedLedger, uuid: string): Promise<FoundCfdi | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const results = await commit<FoundRow>(
    ledger.d1,
    partitions.map((partition) => selectCfdi(partition, uuid)),
  )
  return firstOf(partitions, results)
}

/** A stored document with everything that is applied to it, whatever anybody's windows show: for work in the background. */
export async function findStored(ledger: D1Database, entity: number, uuid: string): Promise<FoundCfdi | undefined> {
  const partition = wholePartition(entity)
  return firstOf([partition], await commit<FoundRow>(ledger, [selectCfdi(partition, uuid)]))
}

/**
 * Finds it as it was at the end of a past day when there is one, and makes something of it and of its detail and lines, which are null or
 * empty when only metadata is known. One call, and one more for a large document, which waits until there is memory for it.
 */
export async function withContent<T>(
  ctx: Ctx,
  ledger: ScopedLedger,
  uuid: string,
  past: string | null,
  make: (found: FoundCfdi, content: KnownDetail) => Promise<T>,
): Promise<T | undefined> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return undefined
  const statements = [
    ...partitions.map((partition) => selectCfdi(partition, uuid, past)),
    ...partitions.map((partition) => selectChunks(partition, uuid, false)),
  ]
  const results = await commit<unknown>(ledger.d1, statements)
  const found = firstOf(partitions, results as D1Result<FoundRow>[])
  if (!found) return undefined
  const usual = results[partitions.length + partitions.indexOf(found.partition)]!.results as FoundChunk[]
  const size = found.xml?.xml_size ?? 0
  return holdLarge(ctx, size, async () => {
    const chunks = size <= USUAL_BYTES ? usual : await readRows<FoundChunk>(ledger.d1, selectChunks(found.partition, uuid, true))
    const part =
      chunks[0] &&
      partOf(
        chunks.map(({ data }) => data),
        chunks[0].chunk_at,
      )
    return make(found, contentOf(part))
  })
}

interface FoundChunk {
  data: string
  chunk_at: number
}

function firstOf(partitions: readonly Partition[], results: readonly D1Result<FoundRow>[]): FoundCfdi | undefined {
  const at = partitions.findIndex((_, n) => results[n]!.results.length > 0)
  if (at < 0) return undefined
  const { applied, state, xml_object, xml_offset, xml_length, xml_method, xml_size, ...row } = results[at]!.results[0]!
  const xml =
    xml_object === null
      ? null
      : { xml_object, xml_offset: xml_offset!, xml_length: xml_length!, xml_method: xml_method!, xml_size: xml_size! }
  return { row: state === null ? row : rowOn(row, state), partition: partitions[at]!, xml, applied: parseApplied(applied) }
}
