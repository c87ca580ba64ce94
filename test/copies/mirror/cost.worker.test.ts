import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { all } from '../../cfdi/support/book.ts'
import { packageOf, thousand } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { callOf } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { type Cost, costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { connectorOf, shelves, stateOf } from '../support/shelf.ts'

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  silenceQueues()
})
afterEach(restore)

const random = randomOf(15)

/** An organization that sees everything of an RFC, of which nothing is downloaded. */
async function seeing() {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
  const { entity } = await callOf(rfc)
  const target = { ledger: env.LEDGER_0, files: env.FILES, entity, rfc, now: new Date(), provenance: 'authority' } as const
  return { ...of, fiscal_entity_id, rfc, target }
}

/** Appends the event of a download, as the relay does. */
const notify = (organization_id: string, seq: number, fiscal_entity_id: string, counts: string) =>
  env.EVENTS_0.prepare('insert into events (organization_id, seq, body) values (?1, ?2, ?3)')
    .bind(organization_id, seq, `{"event":"sync.completed","fiscal_entity_id":"${fiscal_entity_id}",${counts}"completed_at":"x"}`)
    .run()

describe('mirroring costs', () => {
  it('at most 0.05 rows a document in slices of 1,000, and one put at the destination, with everything that it writes', async () => {
    const of = shelves()
    const one = await seeing()
    const { connector, connector_id } = await connectorOf({ organization_id: one.id })
    const hint = { shard: 0, connector }
    const work = () => workOnConnector(systemOf(env, new Date(), 'test'), hint)
    await work()
    const costs: Cost[] = []
    for (let slice = 0; slice < 2; slice++) {
      at(`2026-05-20T1${slice}:00:00Z`)
      const documents = thousand(random, '2026-04', []).map((document) => ({ ...document, emisor: one.rfc }))
      await all(ingestZip(one.target, packageOf(documents)))
      const { fiscal_entity } = (await env.EVENTS_0.prepare('select fiscal_entity from storage_mirrors where connector = ?')
        .bind(connector)
        .first<{ fiscal_entity: string }>())!
      const alone = await costOf(env.EVENTS_0, env.FILES, () => notify('org_other', slice + 1, fiscal_entity, '"created_count":1000,'))
      const { cost } = await costOf(env.EVENTS_0, env.FILES, async () => {
        await notify(one.id, slice + 1, fiscal_entity, '"created_count":1000,')
        await work()
      })
      costs.push({ ...cost, rows_written: cost.rows_written - alone.cost.rows_written })
      expect((await stateOf(connector)).copied_count).toBe(1_000 * (slice + 1))
    }
    expect(of(connector_id).puts.filter((path) => path.endsWith('.xml'))).toHaveLength(2_000)
    expect(new Set(of(connector_id).puts).size).toBe(of(connector_id).puts.length)
    for (const { rows_written, r2_puts, d1_statements } of costs) {
      console.log(JSON.stringify({ rows_written, r2_puts, d1_statements }))
      expect(rows_written / 1_000).toBeLessThanOrEqual(0.05)
      // A part of the manifest for each batch.
      expect(r2_puts).toBeLessThanOrEqual(12)
      expect(d1_statements).toBeLessThan(200)
    }
    // Nothing new, nothing written.
    expect((await costOf(env.EVENTS_0, env.FILES, work)).cost).toMatchObject({ rows_written: 2, r2_puts: 0, r2_gets: 0 })
  })

  it('nothing without a connector, one mark for one that is stopped, and nothing for a download that brought nothing', async () => {
    const one = await seeing()
    const { connector } = await connectorOf({ organization_id: one.id })
    const mirror = 'ffffffff-ffff-8fff-bfff-ffffffffffff'
    await env.EVENTS_0.prepare('update storage_connectors set is_planned = 1').run()
    const costOfEvent = async (organization_id: string, seq: number, counts: string) =>
      (await costOf(env.EVENTS_0, env.FILES, () => notify(organization_id, seq, mirror, counts))).cost.rows_written
    const NEWS = '"created_count":3,'
    const bare = await costOfEvent('org_without', 1, NEWS)
    expect(await costOfEvent(one.id, 1, '')).toBe(bare)
    for (const [seq, status] of ['paused', 'error'].entries()) {
      await env.EVENTS_0.prepare('update storage_connectors set connector_status = ?2 where connector = ?1').bind(connector, status).run()
      await env.EVENTS_0.prepare('delete from storage_mirrors').run()
      expect(await costOfEvent(one.id, 2 * seq + 2, NEWS), status).toBe(bare + 2)
      expect(await costOfEvent(one.id, 2 * seq + 3, NEWS), status).toBe(bare)
    }
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare('delete from storage_mirrors'),
      env.EVENTS_0.prepare('update storage_connectors set deleted_at = 1'),
    ])
    expect(await costOfEvent(one.id, 6, NEWS)).toBe(bare)
    await env.EVENTS_0.prepare('update storage_connectors set deleted_at = null').run()
    await env.EVENTS_0.prepare("update storage_connectors set connector_status = 'active'").run()
    expect(await costOfEvent(one.id, 7, NEWS)).toBeGreaterThan(bare)
    // A mirror that is due already is not written again.
    expect(await costOfEvent(one.id, 8, NEWS)).toBe(bare)
  })
})
