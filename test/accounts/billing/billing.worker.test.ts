import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { billed, RFCS } from './support/billing.ts'

beforeEach(() => {
  at('2027-04-01T05:59:59Z')
  losingMessages()
})
afterEach(restore)

it('the plan says what it allows, grants and costs', async () => {
  const of = await billed('diagnostic')
  const trial = {
    plan: 'diagnostic',
    name: 'Diagnostic',
    limits: { extractors: 2, rfcs: 1 },
    seats_included: 1,
    rfc_allowance: 1,
    prices: null,
  }
  expect((await of.ask('GET', '/v1/billing/plan')).body).toEqual({ ...trial, trial_ends_at: '2027-04-07T06:00:00.000Z' })
  await of.ask('POST', '/v1/test-helpers/organization', { plan: 'api', rfc_allowance: 70, trial_ends_at: null })
  expect((await of.ask('GET', '/v1/billing/plan')).body).toEqual({
    ...{ plan: 'api', name: 'API', limits: { extractors: 5, rfcs: 50 }, seats_included: 50, rfc_allowance: 70, trial_ends_at: null },
    prices: { rule_ref: 'prices/2026-01-01', currency: 'MXN', month: '1999.00', rfc: '79.00' },
  })
  for (const [plan, seats] of Object.entries({
    starter: 5,
    api: 50,
    enterprise_bronze: null,
    enterprise_silver: null,
    enterprise_gold: null,
  })) {
    await of.ask('POST', '/v1/test-helpers/organization', { plan, rfc_allowance: null })
    expect([plan, (await of.ask('GET', '/v1/billing/plan')).body.rfc_allowance]).toEqual([plan, seats])
  }
})

it('usage and standing count what holds a seat now, in the local month', async () => {
  const of = await billed('api')
  await created(of, draft)
  const ids: string[] = []
  for (const ciec of ['empty1', 'empty1', 'empty1', null]) ids.push((await of.connect(freshRfc(), ciec)).body.fiscal_entity_id)
  await env.DB.prepare("update connections set state = 'invalid_ciec' where fiscal_entity_id = ?").bind(ids[0]).run()
  await of.active(ids[1]!, false)
  expect((await of.ask('GET', '/v1/billing/usage')).body).toEqual({
    period: '2027-03',
    active_rfcs: 1,
    seats: { used: 2, limit: 50 },
    extractors: { used: 1, limit: 5 },
    rule_ref: 'limits/2026-01-01',
    kept_answers: { used: 0, limit: 16 * 1024 ** 2, unit: 'bytes', resets_at: '2027-04-01T06:00:00.000Z' },
    quotas: expect.objectContaining({
      extractors: { used: 1, limit: 5, unit: 'items', resets_at: null },
      drafts: { used: 1, limit: 10_000, unit: 'items', resets_at: null },
    }),
  })
  at('2027-04-01T06:00:00Z')
  expect((await of.ask('GET', '/v1/billing/usage')).body.period).toBe('2027-04')
  expect(await of.billing()).toEqual({
    ...{ state: 'active', plan: 'api', seats: { allowance: 50, used: 2 }, trial_ends_at: expect.any(String) },
    ...{ open_invoices: 0, amount_due: '0.00', currency: 'MXN', grace_until: null },
  })
  const by = Object.fromEntries((await of.rfcs()).map(({ id, ...row }: { id: string }) => [id, row]))
  const none = { active: false, seat_source: null, active_since: null }
  expect(ids.map((id) => by[id])).toEqual([
    expect.objectContaining({ active: false, connection_status: 'invalid_ciec', seat_source: 'plan', active_since: null }),
    expect.objectContaining({ ...none, connection_status: 'paused' }),
    expect.objectContaining({ active: true, connection_status: 'active', seat_source: 'plan', active_since: '2027-04-01T05:59:59.000Z' }),
    expect.objectContaining({ ...none, connection_status: 'draft' }),
  ])
})

it('the RFCs are pages in the order of their ids, without what was unlinked and what is anybody else’s', async () => {
  const [of, other] = [await billed('enterprise_gold'), await billed('enterprise_gold')]
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.push((await of.connect(freshRfc(), null)).body.fiscal_entity_id)
  await of.ask('DELETE', `/v1/fiscal-entities/${ids.pop()}`)
  await other.connect(freshRfc(), null)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await of.ask('GET', `${RFCS}?limit=3${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.next_cursor
  }
  expect(seen).toEqual(ids.sort())
})

it('all plans say what they allow and cost, and where what can be bought now is bought', async () => {
  const of = await billed('diagnostic')
  const plans = async () => (await of.ask('GET', '/v1/billing/plans')).body.data
  const all = await plans()
  expect(all.map(({ plan, is_current, seats_included }: never) => [plan, is_current, seats_included])).toEqual([
    ['diagnostic', true, 1],
    ['starter', false, 5],
    ['api', false, 50],
    ['enterprise_bronze', false, null],
    ['enterprise_silver', false, null],
    ['enterprise_gold', false, null],
  ])
  expect(all[0]).toMatchObject({ prices: null, checkout: null, limits: { extractors: 2, drafts: 25 } })
  expect(all[1]).toMatchObject({
    name: 'Starter',
    prices: { rule_ref: 'prices/2026-01-01', currency: 'MXN', month: '499.00', rfc: '99.00' },
    // (499 + 99) × 1.16
    checkout: {
      item: 'plan',
      total: '693.68',
      currency: 'MXN',
      url: expect.stringMatching(new RegExp(`^https?://.*organization=${of.id}&item=plan&plan=`)),
    },
    limits: { extractors: 2, import_bytes: 10 * 1024 ** 3 },
  })
  const sold = async () =>
    (await plans()).flatMap(({ plan, checkout }: never) => (checkout ? [[plan, (checkout as { item: string }).item]] : []))
  expect(await sold()).toEqual(all.slice(1).map(({ plan }: { plan: string }) => [plan, 'plan']))
  await of.set("plan = 'api', rfc_allowance = null")
  expect(await sold()).toEqual([['api', 'seat']])
  await of.set("plan = 'enterprise_gold', rfc_allowance = null")
  expect(await sold()).toEqual([])
})
