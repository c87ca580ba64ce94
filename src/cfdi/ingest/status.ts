import { sql } from 'drizzle-orm'
import type { AskedCfdi } from '../../authority/port/status.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { commit } from '../../platform/db/commit.ts'
import { partOf } from '../chunks/chunks.ts'
import { contentOf } from '../chunks/content.ts'
import { listOf } from '../columns.ts'
import { cfdi, cfdiChunks } from '../tables.ts'
import type { SliceOutcome } from './commit-slice.ts'
import { commitSlice, type IngestTarget } from './commit-slice.ts'

/** A document about whose status the authority is asked in the background. */
export interface CfdiToRecheck extends AskedCfdi {
  cancelled: 0 | 1
  status_checks: string | null
  has_xml: 0 | 1
}

const NAMES = [
  'uuid',
  'version',
  'emisor_rfc',
  'receptor_rfc',
  'total',
  'direction',
  'fecha',
  'cancelled',
  'status_checks',
  'chunk_at',
] as const
const ASKED = listOf(NAMES.map((name) => cfdi[name]))

/** A document of a partition, as the status service is asked about it. One call. */
export async function readToRecheck(ledger: D1Database, entity: number, uuid: string): Promise<CfdiToRecheck | undefined> {
  const isMeant = sql`${cfdi.entity} = ${entity} and ${cfdi.uuid} = ${uuid}`
  const [found, chunks] = await commit(ledger, [
    sql`select ${ASKED},
          ${cfdi.xml_object} is not null as has_xml, iif(${cfdi.direction} = 0, ${cfdi.emisor_rfc}, ${cfdi.receptor_rfc}) as rfc
        from ${cfdi} where ${isMeant}`,
    sql`select hex(${cfdiChunks.data}) as data from ${cfdi} cross join ${cfdiChunks} where ${isMeant} and ${cfdiChunks.entity} = ${cfdi.entity}
        and ${cfdiChunks.chunk} >= ${cfdi.chunk} and ${cfdiChunks.chunk} < ${cfdi.chunk} + ${cfdi.chunk_parts} order by ${cfdiChunks.chunk}`,
  ])
  const [row] = found!.results as (Omit<CfdiToRecheck, 'sello_ultimos_8'> & { chunk_at: number | null })[]
  if (!row) return undefined
  const { chunk_at, ...document } = row
  const part =
    chunk_at === null
      ? undefined
      : partOf(
          (chunks!.results as { data: string }[]).map(({ data }) => data),
          chunk_at,
        )
  return { ...document, sello_ultimos_8: contentOf(part).sello_ultimos_8 }
}

/**
 * Cancels a stored document that the status service called cancelled, like a cancellation in metadata but without its time and reason,
 * which metadata adds when it has them. `also` are the statements that go with it, alone when the document is cancelled already.
 */
export const cancelDocument = (
  target: Omit<IngestTarget, 'sideStatements'>,
  uuid: string,
  also: (outcome: SliceOutcome) => Statement[],
): Promise<SliceOutcome> =>
  commitSlice(
    { ...target, sideStatements: also },
    {
      uuids: [uuid],
      taken: () => 1,
      read: async (known) => ({
        documents: new Map(),
        cancelled: known.get(uuid)?.cancelled === 0 ? [{ ...REPORTED, uuid }] : [],
        entries: [],
        importSources: new Map(),
      }),
    },
  )

const REPORTED = { cancelled: true, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
