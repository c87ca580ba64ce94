import { env } from 'cloudflare:workers'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { all } from '../../cfdi/support/book.ts'
import { type Plain, packageOf, plainOf } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { callOf } from '../../downloads/support/downloads.ts'
import { at } from '../../support/clock.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { connectorOf, type Shelf } from './shelf.ts'

const random = randomOf(2_026)
let minutes = 0

/** An organization that sees everything of an RFC, with a connector that is planned. Documents come when the test says so. */
export async function mirroredTo(shelfOf: (key: string) => Shelf, scope = {}) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
  const { entity } = await callOf(rfc)
  const { connector, connector_id } = await connectorOf({ organization_id: of.id }, scope)
  const work = () => workOnConnector(systemOf(env, new Date(), 'test'), { shard: 0, connector })
  await work()
  const fiscal_entity = uuidOf(fiscal_entity_id)
  const path = `/v1/storage-connectors/${connector_id}`
  return {
    ...{ of, rfc, entity, connector, connector_id, fiscal_entity, fiscal_entity_id, work, path, shelf: shelfOf(connector_id) },
    /** Documents come with a commit of their own. */
    come: async (count: number): Promise<string[]> => {
      at(new Date(Date.parse('2026-05-20T09:00:00Z') + ++minutes * 60_000).toISOString())
      const documents: Plain[] = Array.from({ length: count }, () => plainOf(random, '2026-04', { emisor: rfc }))
      await all(
        ingestZip({ ledger: env.LEDGER_0, files: env.FILES, entity, rfc, now: new Date(), provenance: 'authority' }, packageOf(documents)),
      )
      return documents.map(({ uuid }) => uuid)
    },
    mark: () => env.EVENTS_0.prepare('update storage_mirrors set due = 1 where connector = ?').bind(connector).run(),
    mirror: () =>
      env.EVENTS_0.prepare('select * from storage_mirrors where connector = ?').bind(connector).first<Record<string, unknown>>(),
    shown: async () => (await of.ask('GET', path)).body,
    refused: async () => (await of.ask('GET', `${path}/refused-documents`)).body.data,
    patch: (changes: object) => of.ask('PATCH', path, changes),
  }
}

/** The UUIDs of the CFDIs that were put, each time that they were. */
export const uuids = ({ puts }: Shelf): string[] =>
  puts.filter((path) => path.endsWith('.xml')).map((path) => path.split('/').at(-1)!.slice(0, 36))
