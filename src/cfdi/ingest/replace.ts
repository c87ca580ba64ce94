import { commit } from '../../platform/db/commit.ts'
import { isCalledCancelled } from '../checks/checks.ts'
import { type ChunkPlace, chunksOf, withoutDocuments } from '../chunks/chunks.ts'
import { parseCfdi } from '../xml/parse.ts'
import { readXml } from '../xml/xml-store.ts'
import { readAffectedBy } from './affected.ts'
import { applyChanges, type Incoming } from './apply-changes.ts'
import { type IngestTarget, retryFenced } from './commit-slice.ts'
import { type Combined, combine, type Holding } from './holdings.ts'
import { Lines } from './lines.ts'
import { documentOf } from './read-entries.ts'
import { type KnownCfdi, readChunks, readKnown, type StoredRow } from './reads.ts'
import { CANCELLED, rowOfMetadata } from './row.ts'
import { type SliceWrites, writeStatements } from './writes.ts'

/** What is still held of documents, and their `held` column. */
interface StillHeld {
  holdings: ReadonlyMap<string, readonly Holding[]>
  held: ReadonlyMap<string, string>
}

type ReplaceTarget = Pick<IngestTarget, 'ledger' | 'files' | 'entity' | 'rfc' | 'now'>

/**
 * Stores documents as if only the holdings that remain of them had ever been imported: one that nobody holds is taken out, with its
 * content, applications and totals, one that others hold as it is stored keeps its row and gets their copy of its XML, any other is
 * replaced. One commit, with the statements in `also`. `remainingOf` reads the holdings, in the order of their imports; it is called again
 * in a retry.
 */
export const replaceDocuments = <Remaining extends StillHeld>(
  target: ReplaceTarget,
  uuids: readonly string[],
  remainingOf: (stored: readonly KnownCfdi[]) => Promise<Remaining>,
  also: (remaining: Remaining) => D1PreparedStatement[],
): Promise<void> =>
  retryFenced(async () => {
    const { ledger, entity, rfc, now } = target
    // The sequence is read first: holdings that are added later take it, and this commit is then refused.
    const { sequence, known } = await readKnown(ledger, entity, uuids)
    const remaining = await remainingOf(known)
    const created: Incoming[] = []
    const removed: string[] = []
    const moved: SliceWrites['moved'] = []
    for (const stored of known) {
      const combined = combine(remaining.holdings.get(stored.uuid) ?? [])
      const held = remaining.held.get(stored.uuid)!
      if (combined !== null && isSame(stored, combined)) moved.push({ uuid: stored.uuid, held, ...combined.xml })
      else {
        removed.push(stored.uuid)
        if (combined === null) continue
        const document = await rebuilt(target, withAnswers(stored, combined))
        created.push({ ...document, row: { ...document.row, held, status_checks: stored.status_checks } })
      }
    }
    const changes = { created, completed: [], cancelled: [], removed }
    const affected = await readAffectedBy(ledger, entity, changes)
    const { writes } = applyChanges(changes, affected)
    const chunks = await chunksWithout(ledger, entity, affected.rows, new Set(removed))
    const statements = writeStatements(ledger, { entity, rfc, sequence }, { ...writes, moved, chunks }, now.getTime())
    await commit(ledger, [...statements, ...also(remaining)])
  })

/** What is left of the chunks that hold documents which are taken out. */
async function chunksWithout(ledger: D1Database, entity: number, rows: readonly StoredRow[], removed: ReadonlySet<string>) {
  const places = rows.filter(({ uuid, chunk }) => removed.has(uuid) && chunk !== null) as (StoredRow & ChunkPlace)[]
  return withoutDocuments(await readChunks(ledger, entity, chunksOf(places)), places)
}

/** Whether the stored row says what the holdings say. A cancelled document is built again, because the reasons may differ. */
const isSame = (stored: KnownCfdi, combined: Combined): combined is Combined & { xml: NonNullable<Combined['xml']> } =>
  combined.xml !== null &&
  stored.xml_crc === combined.xml.xml_crc &&
  stored.xml_size === combined.xml.xml_size &&
  stored.cancelled === 0 &&
  combined.status.cancelled === 0

/** What the status service called cancelled stays so, whatever the imports say that are left. */
const withAnswers = ({ status_checks }: KnownCfdi, combined: Combined): Combined =>
  combined.status.cancelled === 0 && isCalledCancelled(status_checks) ? { ...combined, status: CANCELLED } : combined

async function rebuilt({ files, rfc, now }: ReplaceTarget, { xml, metadata, status }: Combined): Promise<Incoming> {
  if (xml === null)
    return {
      row: { ...rowOfMetadata(metadata!, rfc, now.getTime()), ...status },
      content: null,
      applications: [],
      substitutes: [],
      packed: null,
    }
  const lines = new Lines()
  const document = documentOf(parseCfdi(await readXml(files, xml), lines), lines, rfc, status, now.getTime(), xml)
  return { ...document, packed: null }
}
