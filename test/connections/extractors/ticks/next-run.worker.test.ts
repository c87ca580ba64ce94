import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { at } from '../../../support/clock.ts'
import { connect, organization } from '../../../support/tenants.ts'
import { created, EXTRACTORS, listed, scheduled } from '../support/extractors.ts'
import { Clockwork, forget, runsOf } from '../support/ticks.ts'

beforeEach(forget)
afterEach(() => {
  vi.useRealTimers()
})

/** Midnight in Mexico City is 06:00 UTC. */
it('the next run is after the last tick of the zone, also when a cron came with a later time', async () => {
  at('2026-11-18T18:00:00Z')
  const acme = await organization()
  const { fiscal_entity_id } = await connect(acme.owner)
  const { extractor_id, next_run_at } = await created(acme, scheduled)
  expect(next_run_at).toBe('2026-11-19T06:00:00.000Z')
  const clockwork = new Clockwork()
  await clockwork.pass('2026-11-19T06:00:00Z')
  await clockwork.pass('2026-11-20T06:00:00Z')
  at('2026-11-18T18:05:00Z')
  expect((await runsOf(acme, extractor_id)).map(({ local_date }) => local_date)).toEqual(['2026-11-20', '2026-11-19'])
  const next = '2026-11-21T06:00:00.000Z'
  expect((await listed(acme)).map((one) => one.next_run_at)).toEqual([next])
  expect((await acme.ask('GET', `${EXTRACTORS}/${extractor_id}`)).body.next_run_at).toBe(next)
  expect((await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, { name: 'Dos' })).body.next_run_at).toBe(next)
  expect((await created(acme, scheduled)).next_run_at).toBe(next)
  expect((await acme.ask('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)).body.next_run_at).toBe(next)
  expect((await acme.ask('POST', `${EXTRACTORS}/preview`, { ...scheduled, extractor_id })).body.next_runs[0]).toBe(next)
  // Another zone has had no such tick.
  const tokyo = await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, { timezone: 'Asia/Tokyo' })
  expect(tokyo.body.next_run_at).toBe('2026-11-20T15:00:00.000Z')
  at('2026-11-20T06:15:00Z')
  await clockwork.pass('2026-11-20T06:15:00Z')
  expect((await listed(acme)).map((one) => one.next_run_at)).toContain(next)
})
