import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import type { Cfdi } from '../../src/cfdi/contract.ts'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { systemOf } from '../../src/platform/context.ts'
import { uuidOf } from '../../src/platform/db/id.ts'
import { drainNow } from '../authority/support/authority.ts'
import { endpointOf, pagesOf } from '../delivery/support/feed.ts'
import { connected, fetching, runNow } from '../platform/outbox/support/outbox-events.ts'
import { at } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { type Organization, organization } from '../support/tenants.ts'

const BOTH = ['sat_cfdi_issued', 'sat_cfdi_received']

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any

/** From the download to the feed and the log, through the front door: what each may read is what each is told. */
it('organizations that share an RFC are each told of what they can read of it', async () => {
  at('2026-03-20T18:00:00Z')
  silenceQueues()
  const [wide, narrow, all, draft] = [await fetching(BOTH, 2), await fetching(BOTH, 1), await organization(), await organization()]
  const { rfc, entity, fiscal_entity_id } = await connected(wide)
  const of = [wide, narrow, all] as const
  const endpoints = await Promise.all(
    [...of, draft].map((one) => endpointOf(one, { event_keys: ['cfdi.cancelled', 'cfdi.cancelled_after_payment'] })),
  )
  await drainNow(entity)
  // Finds what the first had fetched; and two without any extractor, one of them without a login.
  const ofNarrowOne = await connected(narrow, rfc)
  const ofAll = await all.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })
  await draft.ask('POST', '/v1/fiscal-entities', { rfc })
  await drainNow(entity)
  const relay = () => relayOutbox(systemOf(env, new Date(), 'req_test'), 0)
  await relay()

  const entities = new Map([
    [wide, fiscal_entity_id],
    [narrow, ofNarrowOne.fiscal_entity_id],
    [all, ofAll.body.fiscal_entity_id as string],
  ])
  const idOf = (one: Organization): string => entities.get(one as typeof wide)!
  const notified = async (one: Organization, key: string) => (await pagesOf<Notified>(one, `/v1/events?limit=100&event_key=${key}`)).items
  const read = async (one: Organization) => (await pagesOf<Cfdi>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${idOf(one)}`)).items
  const [ofWide, ofNarrow] = [await read(wide), await read(narrow)]
  expect(ofNarrow.length).toBeLessThan(ofWide.length)
  for (const [one, documents] of [
    [wide, ofWide],
    [narrow, ofNarrow],
  ] as const) {
    const synced = (await notified(one, 'sync.completed')).filter(({ period }) => period !== null)
    const months = one === wide ? ['2026-01', '2026-02', '2026-03'] : ['2026-02', '2026-03']
    expect(synced.map(({ period, direction }) => `${period} ${direction}`).sort()).toEqual(
      months.flatMap((month) => [`${month} issued`, `${month} received`]),
    )
    for (const event of synced) {
      const brought = documents.filter(({ fecha, direction }) => fecha.startsWith(event.period) && direction === event.direction)
      const times = brought.map(({ issued_at }) => Date.parse(issued_at)).sort((a, b) => a - b)
      expect(event).toMatchObject({
        ...{ rfc, fiscal_entity_id: uuidOf(idOf(one)), data_source_key: `sat_cfdi_${event.direction}`, document_type: 'cfdi' },
        ...{ created_count: brought.length, updated_count: 0, cancelled_count: 0, completed_at: '2026-03-20T18:00:00.000Z' },
        ...{ first_issued_at: new Date(times[0]!).toISOString(), last_issued_at: new Date(times.at(-1)!).toISOString() },
      })
    }
  }
  expect(await notified(all, 'sync.completed')).toEqual([])

  // Some of each month are cancelled; the next run of the first finds it, and what was cancelled by itself.
  const chosen = ofWide.filter(({ estatus }, n) => estatus === 'vigente' && n % 9 === 0)
  for (const { uuid } of chosen)
    await wide.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id, cancellation_reason: '02' })
  at('2026-03-20T20:30:00Z')
  await runNow(wide)
  await drainNow(entity)
  await relay()
  const after = await read(wide)
  const cancelled = after.filter(
    ({ uuid, estatus }) => estatus === 'cancelado' && ofWide.some((it) => it.uuid === uuid && it.estatus === 'vigente'),
  )
  expect(cancelled.length).toBeGreaterThanOrEqual(chosen.length)
  const visible = new Set(ofNarrow.map(({ uuid }) => uuid))
  for (const one of of) {
    const events = await notified(one, 'cfdi.cancelled')
    // As each reads it: the ceiling hides from the narrow one what was paid after it last downloaded.
    const own = new Map((await read(one)).map((cfdi) => [cfdi.uuid, cfdi]))
    const expected = cancelled.filter(({ uuid }) => one !== narrow || visible.has(uuid)).map(({ uuid }) => own.get(uuid)!)
    expect(events.map(({ cfdi_uuid }) => cfdi_uuid).sort()).toEqual(expected.map(({ uuid }) => uuid).sort())
    for (const { event_id, occurred_at, severity, ordering, ...event } of events) {
      const cfdi = expected.find(({ uuid }) => uuid === event.cfdi_uuid)!
      const { direction, payment_status, total, currency, emisor_rfc, receptor_rfc, issued_at, cancelled_at, cancellation_reason } = cfdi
      expect(event).toEqual({
        ...{
          event: 'cfdi.cancelled',
          fiscal_entity_id: uuidOf(idOf(one)),
          rfc,
          cfdi_uuid: cfdi.uuid,
          cfdi_type: cfdi.tipo_comprobante ?? 'retenciones',
        },
        ...{ direction, total, currency: currency ?? 'XXX', emisor_rfc, receptor_rfc, issued_at, cancelled_at, cancellation_reason },
        payment_status,
      })
      expect([event_id, ordering, occurred_at, severity]).toEqual([
        expect.stringMatching(/^evt_/),
        expect.any(Number),
        '2026-03-20T20:30:00.000Z',
        expect.stringMatching(/^(critical|warning)$/),
      ])
    }
    const critical = events.filter(({ severity }) => severity === 'critical').map(({ cfdi_uuid }) => cfdi_uuid)
    const afterPayment = await notified(one, 'cfdi.cancelled_after_payment')
    expect(afterPayment.map(({ cfdi_uuid }) => cfdi_uuid).sort()).toEqual(critical.sort())
    const { items } = await pagesOf<Notified>(one, `${endpoints[of.indexOf(one)]!.path}/deliveries?limit=100`)
    expect(items.map(({ event_id, status }) => `${event_id} ${status}`).sort()).toEqual(
      [...events, ...afterPayment].map(({ event_id }) => `${event_id} pending`).sort(),
    )
  }
  expect((await notified(narrow, 'cfdi.cancelled')).length).toBeGreaterThan(0)
  expect((await notified(narrow, 'cfdi.cancelled')).length).toBeLessThan(cancelled.length)
  expect((await draft.ask('GET', '/v1/events')).body.data).toEqual([])
  // Of nobody is an event another’s.
  const ids = (await Promise.all(of.map((one) => pagesOf<Notified>(one, '/v1/events?limit=100')))).flatMap(({ items }) =>
    items.map(({ event_id }) => event_id),
  )
  expect(new Set(ids).size).toBe(ids.length)
})

/** Found by a review: a payment beyond the ceiling made the event say paid and critical, while the organization's own read said unpaid. */
it('a payment that only another organization has downloaded changes neither what an organization reads nor what it is told', async () => {
  at('2026-03-20T18:00:00Z')
  silenceQueues()
  const [first, second] = [await fetching(BOTH, 3), await fetching(BOTH, 3)]
  const { rfc, entity, fiscal_entity_id } = await connected(first)
  const own = await connected(second, rfc)
  await drainNow(entity)
  const read = async (one: Organization, id: string) =>
    new Map((await pagesOf<Cfdi>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${id}&direction=received`)).items.map((it) => [it.uuid, it]))
  // A month later only the first downloads, and finds the payments of that month.
  at('2026-04-20T18:00:00Z')
  await runNow(first)
  await drainNow(entity)
  const [ofFirst, ofSecond] = [await read(first, fiscal_entity_id), await read(second, own.fiscal_entity_id)]
  const differing = [...ofSecond.values()].filter(
    ({ uuid, estatus, payment_status }) =>
      estatus === 'vigente' && payment_status === 'unpaid' && ofFirst.get(uuid)!.payment_status !== 'unpaid',
  )
  expect(differing.length).toBeGreaterThan(0)
  for (const { uuid } of differing)
    await first.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id, cancellation_reason: '02' })
  at('2026-04-20T20:30:00Z')
  await runNow(first)
  await drainNow(entity)
  await relayOutbox(systemOf(env, new Date(), 'req_test'), 0)
  const notified = async (one: Organization) => {
    const events = (await pagesOf<Notified>(one, '/v1/events?limit=100')).items.filter(({ cfdi_uuid }) =>
      differing.some(({ uuid }) => uuid === cfdi_uuid),
    )
    return events.map(({ event, cfdi_uuid, payment_status, severity }) => `${cfdi_uuid} ${event} ${payment_status} ${severity}`).sort()
  }
  expect(await notified(second)).toEqual(differing.map(({ uuid }) => `${uuid} cfdi.cancelled unpaid warning`).sort())
  expect(await notified(first)).toEqual(
    differing
      .flatMap(({ uuid }) => {
        // A credit note is no payment.
        const { payment_status, paid_amount } = ofFirst.get(uuid)!
        if (Number(paid_amount) === 0) return `${uuid} cfdi.cancelled ${payment_status} warning`
        return ['cfdi.cancelled', 'cfdi.cancelled_after_payment'].map((event) => `${uuid} ${event} ${payment_status} critical`)
      })
      .sort(),
  )
})
