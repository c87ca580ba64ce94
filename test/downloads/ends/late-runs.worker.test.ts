import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { breakingAt, cfdiOf, later, losingMessages, subscriber, sweep, work } from '../support/downloads.ts'
import { countedIn, extractionEvents, readableCfdis, relay } from '../support/ends.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

/** What breaks without it: after a crash, what a run brought is counted once more by the one that the crash held up. */
it.each([
  [1, 1],
  [4, 2],
  [2, 4],
])('counts no CFDI twice when a run of %i months is dispatched after a later one of %i months has ended', async (late, months) => {
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(late))
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const crash = breakingAt(/insert into sync_jobs/)
  expect((await one.ask('POST', `/v1/extractors/${one.extractor_id}/run`)).status).toBe(500)
  expect(crash.happened()).toBe(true)
  await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: months })
  later(60)
  await one.run()
  await work(rfc)
  await relay(rfc)
  await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: late })
  later(90)
  await sweep()
  await work(rfc)
  await relay(rfc)
  expect(await extractionEvents(one)).toHaveLength(2)
  expect([await countedIn(one, 'readable_count'), await countedIn(one, 'document_count')]).toEqual([await readableCfdis(one), 1])
})

/** What breaks without it: an organization with many runs is told twice of what a slow download brought to the first and to the last of them. */
it('counts no CFDI twice when a run joins a download that many runs before it did not ask for', async () => {
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(3))
  const widen = (scope_months: number) => one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months })
  for (let n = 0; n < 14; n++) {
    await widen(n === 0 || n === 13 ? 6 : 1)
    later(700 * n)
    await one.run()
  }
  await work(rfc)
  await relay(rfc)
  expect([await countedIn(one, 'readable_count'), await countedIn(one, 'document_count')]).toEqual([await readableCfdis(one), 1])
})
