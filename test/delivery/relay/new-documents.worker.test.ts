import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { notifyNew, sweepNew } from '../../../src/delivery/relay/new-documents.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { breakingAt, callOf, cfdiOf, later, subscriber, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { freshRfc } from '../../support/tenants.ts'
import { endpointOf, pagesOf } from '../support/feed.ts'
import { eventsOf } from '../support/shards.ts'

let sent: unknown[]
beforeEach(() => {
  later(0)
  sent = silenceQueues()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Told = any

const system = () => systemOf(env, new Date(), 'req_test')
const relay = async (rfc: string) => relayOutbox(system(), (await callOf(rfc)).shard)
const shardOf = async (one: Subscriber) =>
  Number(await env.DB.prepare('select events_shard from organizations where id = ?').bind(one.id).first('events_shard'))
const keyOf = (one: Subscriber) => ({ organization_id: one.id, fiscal_entity: uuidOf(one.fiscal_entity_id) })
const notify = async (one: Subscriber) => notifyNew(system(), await shardOf(one), keyOf(one))
const told = async (one: Subscriber): Promise<Told[]> => (await pagesOf<Told>(one, '/v1/events?limit=100&event_key=cfdi.new')).items
const uuidsIn = (events: Told[]): string[] => events.flatMap(({ uuids }) => uuids).sort()
const readable = async (one: Subscriber): Promise<Told[]> =>
  (await pagesOf<Told>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items
const readableUuids = async (one: Subscriber) => (await readable(one)).map(({ uuid }) => uuid).sort()
const wanting = (one: Subscriber, more: object = {}) => endpointOf(one, { event_keys: ['cfdi.new'], ...more })

async function ran(one: Subscriber, rfc: string) {
  const run = await one.run()
  await work(rfc)
  await relay(rfc)
  return run
}

describe('cfdi.new', () => {
  it('names each document that became readable once, by direction and type, and a later run only what came since', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(4))
    await wanting(one)
    const { run_id } = await ran(one, rfc)
    expect(sent).toContainEqual({ shard: await shardOf(one), new_documents: keyOf(one) })
    await notify(one)
    await notify(one)
    const first = await told(one)
    const documents = await readable(one)
    expect(uuidsIn(first)).toEqual(documents.map(({ uuid }) => uuid).sort())
    expect(documents.length).toBeGreaterThan(50)
    for (const event of first) {
      expect(event).toMatchObject({ run_id, rfc, fiscal_entity_id: uuidOf(one.fiscal_entity_id) })
      expect(event.uuids.length).toBeLessThanOrEqual(100)
      for (const uuid of event.uuids)
        expect(documents.find((it) => it.uuid === uuid)).toMatchObject({
          direction: event.direction,
          tipo_comprobante: event.cfdi_type === 'retenciones' ? null : event.cfdi_type,
        })
    }
    later(3 * 86_400)
    const second = await ran(one, rfc)
    await notify(one)
    const all = await told(one)
    expect(uuidsIn(all)).toEqual(await readableUuids(one))
    expect(all.length).toBeGreaterThan(first.length)
    for (const event of all.slice(first.length)) expect(event.run_id).toBe(second.run_id)
  })

  it('is not made, and leaves no row, while no enabled endpoint for the RFC names it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    await endpointOf(one, { event_keys: ['extraction.completed', 'cfdi.issued'] })
    await ran(one, rfc)
    await notify(one)
    const rows = (await eventsOf(one.id)).prepare('select * from new_documents where organization_id = ?').bind(one.id)
    expect([await told(one), (await rows.all()).results]).toEqual([[], []])
    // The first one begins with the run after the subscription.
    const before = await readableUuids(one)
    await wanting(one)
    later(3 * 86_400)
    await ran(one, rfc)
    await notify(one)
    expect(uuidsIn(await told(one))).toEqual((await readableUuids(one)).filter((uuid) => !before.includes(uuid)))
  })

  it('names nothing that the organization may not see, and what others fetched once its own run shows it', async () => {
    const rfc = freshRfc()
    const [wide, narrow] = [await subscriber(rfc, cfdiOf(6)), await subscriber(rfc, cfdiOf(1))]
    await wanting(wide)
    await wanting(narrow)
    await ran(wide, rfc)
    await ran(narrow, rfc)
    for (const one of [wide, narrow]) await notify(one)
    for (const one of [wide, narrow]) expect(uuidsIn(await told(one))).toEqual(await readableUuids(one))
    expect((await readable(narrow)).length).toBeLessThan((await readable(wide)).length)
    later(900)
    const data_source_keys = ['sat_cfdi_issued', 'sat_cfdi_received']
    await narrow.ask('POST', `${narrow.path}/extractions`, { data_source_keys, from: '2025-12-10', to: '2026-01-31' })
    await work(rfc)
    await relay(rfc)
    await notify(narrow)
    expect(uuidsIn(await told(narrow))).toEqual(await readableUuids(narrow))
  })

  it('waits while the connection is not active, and the next run tells of it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    await wanting(one)
    await ran(one, rfc)
    const moveTo = (state: string) =>
      env.DB.prepare('update connections set state = ?2 where fiscal_entity_id = ?1').bind(one.fiscal_entity_id, state).run()
    await moveTo('paused')
    await notify(one)
    expect(await told(one)).toEqual([])
    await moveTo('active')
    later(3 * 86_400)
    await ran(one, rfc)
    await notify(one)
    expect(uuidsIn(await told(one))).toEqual(await readableUuids(one))
  })

  it('survives a crash at its commit and a lost message, and several workers at once tell of each document once', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(4))
    await wanting(one)
    await ran(one, rfc)
    const broken = breakingAt(/update new_documents/)
    await expect(notify(one)).rejects.toThrow(/evicted/)
    expect([broken.happened(), await told(one)]).toEqual([true, []])
    sent.length = 0
    await sweepNew(system())
    expect(sent).toContainEqual({ shard: await shardOf(one), new_documents: keyOf(one) })
    await Promise.all([notify(one), notify(one), notify(one)])
    expect(uuidsIn(await told(one))).toEqual(await readableUuids(one))
    sent.length = 0
    await sweepNew(system())
    expect(sent).not.toContainEqual({ shard: await shardOf(one), new_documents: keyOf(one) })
  })

  it('costs at most 20 statements for up to 1,000 documents', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(8))
    await wanting(one)
    await ran(one, rfc)
    const counted = system()
    const count = vi.spyOn(counted.budget, 'count')
    await notifyNew(counted, await shardOf(one), keyOf(one))
    const events = await told(one)
    console.info(`${uuidsIn(events).length} documents, ${events.length} events, ${count.mock.calls.length} statements`)
    expect(uuidsIn(events).length).toBeGreaterThan(100)
    expect(count.mock.calls.length).toBeLessThanOrEqual(20)
  })
})
