import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { appendStatements } from '../../../src/delivery/relay/append.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { pathsOf } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { Courier } from '../support/deliveries.ts'
import { endpointOf, linked, pagesOf } from '../support/feed.ts'

const NOW = '2026-03-20T20:00:00.000Z'
beforeEach(() => {
  at(NOW)
  losingMessages()
})
afterEach(restore)

/** Events with these members, in the feed and with their deliveries. */
async function told(of: Organization, all: readonly object[]): Promise<void> {
  const events = all.map((members) => {
    const event_id = newId('evt')
    const { event, ...more } = { event: 'cfdi.cancelled', ...members }
    const body = JSON.stringify({ event, event_id, occurred_at: NOW, ...more })
    return { organization_id: of.id, event_id, body, isUnique: false }
  })
  await commit(env.EVENTS_0, appendStatements(events, Date.now()))
}

const text = ({ body }: { body: Uint8Array }) => JSON.parse(new TextDecoder().decode(body))

describe('an endpoint for a direction and for types', () => {
  it.each([
    [{ direction: 'received' }, ['received I', 'received P', 'received undefined', 'undefined undefined']],
    [{ cfdi_types: ['P', 'E'] }, ['issued undefined', 'received P', 'received undefined', 'undefined undefined']],
    [{ direction: 'issued', cfdi_types: ['I'] }, ['issued I', 'issued undefined', 'undefined undefined']],
  ])('%j leaves out what states another one, and nothing that states none', async (chosen, expected) => {
    const of = await organization()
    const { uuid, rfc } = await linked(of)
    const { webhook, path } = await endpointOf(of, { event_keys: ['cfdi.cancelled', 'sync.completed', 'storage.failed'], ...chosen })
    expect((await of.ask('GET', path)).body).toMatchObject(chosen)
    await told(of, [
      { direction: 'issued', cfdi_type: 'I' },
      { direction: 'received', cfdi_type: 'I' },
      { direction: 'received', cfdi_type: 'P' },
      ...['sat_cfdi_issued', 'sat_cfdi_received'].map((data_source_key) => ({
        ...{
          event: 'sync.completed',
          fiscal_entity_id: uuid,
          rfc,
          job_id: 'job_x',
          data_source_key,
          period: '2026-03',
          document_type: 'cfdi',
        },
        ...{ direction: data_source_key.slice(9), created_count: 1, updated_count: 0, cancelled_count: 0 },
        ...{ first_issued_at: null, last_issued_at: null, completed_at: NOW },
      })),
      { event: 'storage.failed' },
    ])
    const courier = new Courier()
    await courier.deliver(webhook)
    await courier.deliver(webhook)
    const sent = courier.sent.map((one) => `${text(one).direction} ${text(one).cfdi_type}`)
    expect(sent.sort()).toEqual(expected)
  })

  it.each([
    [{ direction: 'both' }, 'direction'],
    [{ cfdi_types: [] }, 'cfdi_types'],
    [{ cfdi_types: ['X'] }, 'cfdi_types[0]'],
    [{ max_per_minute: 0 }, 'max_per_minute'],
    [{ max_per_minute: 6_001 }, 'max_per_minute'],
  ])('refuses %j', async (wrong, member) => {
    const of = await organization()
    const { path } = await endpointOf(of)
    const { status, body } = await of.ask('PATCH', path, wrong)
    expect([status, pathsOf(body)]).toEqual([422, [member]])
  })
})

const FAILED = {
  ...{ event: 'storage.failed', connector_id: 'stc_x', connector_name: 'x', provider: 's3' },
  ...{ error_code: 'x', error_message: 'x' },
}

describe('the ordering of an event', () => {
  it('is in the feed, the body and a header, grows with each event, and is the same in every attempt', async () => {
    const of = await organization()
    const { webhook } = await endpointOf(of, { event_keys: ['storage.failed'] })
    await told(of, [FAILED, FAILED])
    await told(of, [FAILED])
    const courier = new Courier()
    courier.answer = () => new Response(null, { status: 500 })
    await courier.deliver(webhook)
    at('2026-03-20T20:01:00.000Z')
    await courier.deliver(webhook)
    const feed = (await pagesOf<{ event_id: string; ordering: number }>(of, '/v1/events')).items
    const orderings = feed.map(({ ordering }) => ordering)
    expect([orderings.length, new Set(orderings).size, orderings]).toEqual([3, 3, orderings.toSorted((a, b) => a - b)])
    expect(courier.sent).toHaveLength(6)
    for (const one of courier.sent) {
      const { ordering } = feed.find(({ event_id }) => event_id === one.event_id)!
      expect([text(one).ordering, one.headers['Service-Ordering']]).toEqual([ordering, `${ordering}`])
    }
  })
})

describe('the pace of an endpoint', () => {
  it('sends at most so many in any minute, all of them in the end, and one message waits at a time', async () => {
    const of = await organization()
    const { webhook } = await endpointOf(of, { event_keys: ['cfdi.cancelled'], max_per_minute: 6 })
    await told(
      of,
      Array.from({ length: 15 }, () => ({})),
    )
    const courier = new Courier()
    const times: number[] = []
    courier.answer = () => {
      times.push(Date.now())
      return new Response(null, { status: 200 })
    }
    await courier.deliver(webhook)
    // Others that come in between send nothing, and ask for nothing.
    await courier.deliver(webhook)
    for (let n = 0; n < 40 && courier.notified.length > 0; n++) {
      expect(courier.notified).toHaveLength(1)
      await courier.next()
    }
    expect(times).toHaveLength(15)
    for (const from of times) expect(times.filter((one) => one >= from && one < from + 60_000).length).toBeLessThanOrEqual(6)
    expect(times.at(-1)! - times[0]!).toBeLessThan(150_000)
    expect(vi.isFakeTimers()).toBe(true)
  })
})
