import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { created } from '../connections/extractors/support/extractors.ts'
import { Clockwork, forget } from '../connections/extractors/support/ticks.ts'
import { callOf, cfdiOf, deliver, losingMessages, subscriber, work } from '../downloads/support/downloads.ts'
import { at } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'

/** The taxpayer changes the CIEC; one organization learns the new one, the other does not. */
const CHANGE = '2026-05-20T09:00:00Z'
const STEP_DAYS = 6
const dayAfter = (days: number): string => new Date(Date.parse(CHANGE) + days * 86_400_000).toISOString()

let clock: Clockwork

beforeEach(async () => {
  await forget()
  at(dayAfter(-2))
  losingMessages()
  clock = new Clockwork()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const DAILY = { schedule_kind: 'daily', schedule_spec: {}, timezone: 'America/Mexico_City' }

async function reader(rfc: string) {
  const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }), 'deAmbos1')
  await created(one, { ...cfdiOf(1, { data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'] }), trigger_kind: 'schedule', ...DAILY })
  return {
    ...one,
    status: async () => (await one.entity()).status,
    setActive: async (active: boolean) => one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active }),
    /** When the newest document that it can read was issued, in milliseconds; NaN when it can read none. */
    newest: async (): Promise<number> => Date.parse((await one.page()).body.data?.[0]?.issued_at),
  }
}

const newestStored = async (rfc: string): Promise<number> =>
  (await env.LEDGER_0.prepare('select max(issued_at) as at from cfdi where entity = ?')
    .bind((await callOf(rfc)).entity)
    .first<number>('at'))!

async function pass(rfc: string, days: number): Promise<void> {
  await clock.pass(dayAfter(days))
  await work(rfc)
}

describe('A and B hold the same CIEC, the taxpayer changes it, and A gives the new one', () => {
  it('within one pass of the consumer B is invalid, and 60 days later it has read nothing dated after the change', async () => {
    const rfc = freshRfc()
    const [a, b] = [await reader(rfc), await reader(rfc)]
    await pass(rfc, -0.5)
    expect(await b.newest()).toBeLessThan(Date.parse(CHANGE))
    const before = await b.entity()
    at(CHANGE)
    await a.ask('POST', `/v1/test-helpers/fiscal-entities/${a.fiscal_entity_id}/expire-ciec`)
    expect((await a.give('deA2')).status).toBe(200)
    await deliver([await callOf(rfc)])
    expect([await a.status(), await b.status()]).toEqual(['active', 'invalid_ciec'])
    for (let days = 1; days <= 61; days += STEP_DAYS) await pass(rfc, days)
    expect(await newestStored(rfc)).toBeGreaterThan(Date.parse(dayAfter(50)) / 1_000)
    expect(await a.newest()).toBeGreaterThan(Date.parse(dayAfter(50)))
    expect((await b.page()).status).toBe(404)
    const { visible_from, visible_to } = await b.entity()
    expect({ visible_from, visible_to }).toEqual({ visible_from: before.visible_from, visible_to: before.visible_to })
    expect((await b.give('deAmbos1')).status).toBe(422)
  }, 120_000)

  it('pausing before the change and resuming after it escapes nothing', async () => {
    const rfc = freshRfc()
    const [a, b] = [await reader(rfc), await reader(rfc)]
    await pass(rfc, -0.5)
    const before = await b.entity()
    expect(before.visible_to).not.toBeNull()
    expect((await b.setActive(false)).status).toBe(200)
    at(CHANGE)
    await a.ask('POST', `/v1/test-helpers/fiscal-entities/${a.fiscal_entity_id}/expire-ciec`)
    expect((await a.give('deA2')).status).toBe(200)
    // Before any consumer has passed.
    expect((await b.setActive(true)).body.connection_status).toBe('invalid_ciec')
    expect((await b.setActive(false)).body.connection_status).toBe('paused')
    await pass(rfc, 1)
    expect((await b.setActive(true)).body.connection_status).toBe('invalid_ciec')
    for (let days = 7; days <= 61; days += 2 * STEP_DAYS) await pass(rfc, days)
    expect(await newestStored(rfc)).toBeGreaterThan(Date.parse(dayAfter(40)) / 1_000)
    expect((await b.entity()).visible_to).toBe(before.visible_to)
    expect((await b.page()).status).toBe(404)
    expect(await a.status()).toBe('active')
  }, 120_000)
})
