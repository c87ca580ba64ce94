import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { all } from '../../cfdi/support/book.ts'
import { packageOf, thousand } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { countOf, idSql, multiply } from '../../platform/support/rows.ts'
import type { Platform } from '../../support/invocations.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { connectorOf, shelves, startBackfill, stateOf } from './shelf.ts'

/** An organization with so many connections, and a connector to which nothing has been copied. */
async function manyMirrored(connections: number) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
  await multiply('connections', connections - 1, {
    connection: 'null',
    fiscal_entity_id: idSql('fe'),
    entity: '1000000 + n.i',
    rfc: `'RFC' || n.i`,
  })
  return { ...of, fiscal_entity_id, rfc, ...(await connectorOf({ organization_id: of.id })) }
}

/** Planning thousands of RFCs, a backfill of hundreds, and one with more documents than an invocation reads at once. */
export async function storageLoad(platform: Platform): Promise<void> {
  const of = shelves()
  const one = await manyMirrored(1_100)
  const message = { shard: 0, connector: one.connector }
  await platform.deliver('storage', [message])
  await platform.run(['storage'])
  expect(await countOf('storage_mirrors', `connector = ${one.connector}`)).toBe(1_100)
  expect(await stateOf(one.connector)).toMatchObject({ is_planned: 1, token: null })
  const { entity } = (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?').bind(one.fiscal_entity_id).first<{
    entity: number
  }>())!
  const documents = thousand(randomOf(16), '2026-04', []).map((document) => ({ ...document, emisor: one.rfc }))
  const target = { ledger: env.LEDGER_0, files: env.FILES, entity, rfc: one.rfc, now: new Date(), provenance: 'authority' } as const
  await all(ingestZip(target, packageOf(documents)))
  // A backfill of all of them would only take longer.
  await env.EVENTS_0.prepare(
    'delete from storage_mirrors where fiscal_entity in (select fiscal_entity from storage_mirrors order by 1 limit 950)',
  ).run()
  await startBackfill(one.connector)
  await platform.deliver('storage', [message])
  await platform.run(['storage'])
  const { backfill, copied_count } = await stateOf(one.connector)
  expect(JSON.parse(backfill!)).toMatchObject({ status: 'completed', total: 1_000, copied: 1_000 })
  expect([copied_count, of(one.connector_id).documents().length]).toEqual([1_000, 1_000])
  expect(await countOf('storage_mirrors', 'due')).toBe(0)
}

/** The daily review of an organization with thousands of RFCs, and of hundreds of connectors. */
export async function reviewLoad(platform: Platform, finish: () => Promise<void>): Promise<void> {
  shelves()
  const one = await manyMirrored(600)
  await created(one, { ...draft, trigger_kind: 'connection_reactivated', data_source_keys: ['sat_csf'] })
  await env.EVENTS_0.prepare('update storage_connectors set is_planned = 1').run()
  await multiply('storage_connectors', 200, { connector: 'null', connector_id: idSql('stc'), organization_id: `'${one.id}'` })
  await env.DB.prepare('delete from connections where organization_id = ? and fiscal_entity_id <> ? and entity % 20 <> 0')
    .bind(one.id, one.fiscal_entity_id)
    .run()
  await env.LEDGER_0.prepare(
    'insert into cfdi_commits (entity, sequence, committed_at) select entity, 1, 0 from (select 1000020 as entity)',
  ).run()
  await env.DB.prepare("update connections set issued_from = '2026-01-01', issued_to = 1779267600000 where entity = 1000020").run()
  await finish()
  expect(await countOf('storage_mirrors', 'due = 1')).toBe(201)
  expect(platform.deadLetters).toEqual([])
}
