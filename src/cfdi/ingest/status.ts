import type { AskedCfdi } from '../../authority/port/status.ts'
import { partOf } from '../chunks/chunks.ts'
import { contentOf } from '../chunks/content.ts'
import { commitSlice, type IngestTarget } from './commit-slice.ts'
import type { SliceOutcome } from './outcome.ts'

/** A document about whose status the authority is asked in the background. */
export interface DoubtedCfdi extends AskedCfdi {
  cancelled: 0 | 1
  status_checks: string | null
  has_xml: 0 | 1
}

/** A document of a partition, as the status service is asked about it. One call. */
export async function readDoubted(ledger: D1Database, entity: number, uuid: string): Promise<DoubtedCfdi | undefined> {
  const [found, chunks] = await ledger.batch([
    ledger
      .prepare(
        `select c.uuid, c.version, c.emisor_rfc, c.receptor_rfc, c.total, c.direction, c.fecha, c.cancelled, c.status_checks,
           c.xml_object is not null as has_xml, c.chunk_at, iif(c.direction = 0, c.emisor_rfc, c.receptor_rfc) as rfc
         from cfdi c where c.entity = ?1 and c.uuid = ?2`,
      )
      .bind(entity, uuid),
    ledger
      .prepare(
        `select hex(k.data) as data from cfdi c cross join cfdi_chunks k where c.entity = ?1 and c.uuid = ?2
           and k.entity = c.entity and k.chunk >= c.chunk and k.chunk < c.chunk + c.chunk_parts order by k.chunk`,
      )
      .bind(entity, uuid),
  ])
  const [row] = found!.results as (Omit<DoubtedCfdi, 'sello_ultimos_8'> & { chunk_at: number | null })[]
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
 * Cancels a stored document of which the status service said so: it goes the way of a cancellation in metadata, without its time and reason,
 * which metadata adds when it has them. `also` are the statements that go with it, alone when the document is cancelled already.
 */
export const cancelDocument = (
  target: Omit<IngestTarget, 'sideStatements'>,
  uuid: string,
  also: (outcome: SliceOutcome) => D1PreparedStatement[],
): Promise<SliceOutcome> =>
  commitSlice(
    { ...target, sideStatements: also },
    {
      uuids: [uuid],
      read: (known) => ({
        documents: new Map(),
        cancelled: known.get(uuid)?.cancelled === 0 ? [{ ...REPORTED, uuid }] : [],
        entries: [],
        holdings: new Map(),
      }),
    },
  )

const REPORTED = { cancelled: true, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
