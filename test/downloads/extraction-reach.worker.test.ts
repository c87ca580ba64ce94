import { afterEach, beforeEach, expect, it } from 'vitest'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { cfdiOf, later, losingMessages, subscriber, work } from './support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

it('how far back an extraction reads one RFC is kept while daily runs pass', async () => {
  const rfc = freshRfc()
  const of = await subscriber(rfc, cfdiOf(1))
  await of.run()
  await work(rfc)
  const readable = async () => {
    const { body } = await of.ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${of.fiscal_entity_id}&from=2025-12&to=2026-05`)
    return { windows: body.windows, rows: body.data as { month: string; count: number }[] }
  }
  const floorsOf = ({ windows }: Awaited<ReturnType<typeof readable>>) =>
    [windows.sat_cfdi_issued, windows.sat_cfdi_received].map(({ visible_from }) => visible_from)
  const narrow = await readable()
  later(900)
  const data_source_keys = ['sat_cfdi_issued', 'sat_cfdi_received']
  expect((await of.ask('POST', `${of.path}/extractions`, { data_source_keys, from: '2025-12-10' })).status).toBe(202)
  await work(rfc)
  const wide = await readable()
  expect(floorsOf(wide)).toEqual(['2025-12-10', '2025-12-10'])
  expect(wide.rows.length).toBeGreaterThan(narrow.rows.length)
  expect(wide.rows.some(({ month, count }) => month < '2026-04' && count > 0)).toBe(true)
  for (let day = 1; day <= 3; day++) {
    later(day * 86_400)
    await of.run()
    await work(rfc)
    const after = await readable()
    expect(floorsOf(after)).toEqual(['2025-12-10', '2025-12-10'])
    // The run of the day moved the ceilings, and what the extraction read is there as it was.
    expect(after.windows.sat_cfdi_issued.visible_to > wide.windows.sat_cfdi_issued.visible_to).toBe(true)
    expect(after.rows.filter(({ month }) => month < '2026-03')).toEqual(wide.rows.filter(({ month }) => month < '2026-03'))
  }
})
