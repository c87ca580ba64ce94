import { measure } from './measures.ts'
import { at, ingested } from './packages.ts'
import { withRig } from './rig.ts'
import { signUp } from './tenants.ts'
import type { Recording } from './workers/storage.ts'

const ENTITY = 8
const DOCUMENTS = 1_000

const written = ({ calls }: Recording): number =>
  calls.flatMap(({ statements }) => statements).reduce((sum, { rows_written }) => sum + rows_written, 0)

export const mirror = measure({
  figures: {
    'mirror.rows_written_per_document': {
      atMost: 0.05,
      digits: 3,
      meaning: `Rows that D1 writes to copy a slice of ${DOCUMENTS.toLocaleString('en')} documents to one active connector, with the event that tells of them`,
    },
    'mirror.puts_per_document': { atMost: 1, digits: 3, meaning: 'Objects put at the destination for each of them; manifests aside' },
  },
  take: () =>
    withRig(async (rig) => {
      const { fiscal_entity_id } = await signUp(rig, ENTITY)
      const [organization_id] = (await rig.query('control', 'select organization_id from connections where entity = ?', ENTITY)).rows[0]!
      const body = JSON.stringify({ organization_id, fiscal_entity_id })
      await rig.ask('/connector', body)
      await rig.ask('/mirror', body)
      await ingested(rig, ENTITY)
      await rig.ask('/mirror', body)
      await rig.ask(at('/ingest', ENTITY, 'documents'), 'null')
      const { result, recording } = await rig.recorded(() => rig.ask('/mirror', body))
      const [copied] = (await rig.query('events', 'select copied_count from storage_connectors')).rows[0]!
      if (copied !== 2 * DOCUMENTS) throw new Error(`${copied} documents were copied.`)
      return {
        'mirror.rows_written_per_document': written(recording) / DOCUMENTS,
        'mirror.puts_per_document': Number(result) / DOCUMENTS,
      }
    }),
})
