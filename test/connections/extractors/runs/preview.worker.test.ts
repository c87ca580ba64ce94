import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExtractorPreview } from '../../../../src/connections/extractors/runs/contract.ts'
import { losingMessages } from '../../../downloads/support/downloads.ts'
import { pathsOf } from '../../../support/client.ts'
import { at, restore } from '../../../support/clock.ts'
import { freshRfc, type Organization, organization } from '../../../support/tenants.ts'
import { dump } from '../../../support/world.ts'
import { created, draft, EXTRACTORS, monthly, scheduled } from '../support/extractors.ts'

beforeEach(() => {
  losingMessages()
  at('2026-05-20T18:00:00Z')
})
afterEach(restore)

const CFDIS = ['sat_cfdi_issued', 'sat_cfdi_received']
const preview = async (of: Organization, body: object): Promise<ExtractorPreview> => {
  const reply = await of.ask('POST', `${EXTRACTORS}/preview`, body)
  expect(reply).toMatchObject({ status: 200 })
  return reply.body
}
const active = async (of: Organization, more: object = {}): Promise<string> =>
  (await of.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'empty-1', ...more })).body.fiscal_entity_id
const windows = async (of: Organization, id: string) => (await of.ask('GET', `/v1/fiscal-entities/${id}`)).body.windows

/** What runs have asked of an organization's RFC: sources with their months. */
const asked = async (of: Organization, id: string): Promise<Record<string, number>> => {
  const jobs = (await of.ask('GET', `/v1/fiscal-entities/${id}/sync-jobs?limit=100`)).body.data as { data_source_key: string }[]
  return Object.fromEntries([...Map.groupBy(jobs, (job) => job.data_source_key)].map(([key, own]) => [key, own.length]))
}

describe('the preview of an extractor', () => {
  it('says what its run then asks for, and the windows that it makes', async () => {
    const of = await organization()
    const ids = [await active(of), await active(of, { data_source_keys: ['sat_cfdi_issued'] })].sort()
    await of.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    const body = { ...draft, scope: 'last_n_months', scope_months: 12, data_source_keys: [...CFDIS, 'sat_csf'] }
    const notified = await preview(of, body)
    expect([
      notified.rfc_count,
      notified.truncated,
      notified.next_runs,
      notified.rfcs.map(({ fiscal_entity_id }) => fiscal_entity_id),
    ]).toEqual([2, false, [], ids])
    const { extractor_id } = await created(of, body)
    await of.ask('POST', `${EXTRACTORS}/${extractor_id}/run`)
    for (const { fiscal_entity_id, sources, windows_after } of notified.rfcs) {
      expect(Object.fromEntries(sources.map((one) => [one.data_source_key, one.months + one.documents]))).toEqual(
        await asked(of, fiscal_entity_id),
      )
      expect(await windows(of, fiscal_entity_id)).toEqual(windows_after)
    }
    const sum = (member: 'months' | 'documents') => notified.rfcs.flatMap(({ sources }) => sources).reduce((n, one) => n + one[member], 0)
    expect([notified.totals.months, notified.totals.documents]).toEqual([sum('months'), sum('documents')])
    expect(notified.sources.reduce((n, { months }) => n + months, 0)).toBe(notified.totals.months)
  })

  it('tells what can be read already from what a wider one adds', async () => {
    const of = await organization()
    const id = await active(of)
    const three = { ...draft, scope: 'last_n_months', scope_months: 3, data_source_keys: ['sat_cfdi_issued'] }
    const { extractor_id } = await created(of, three)
    await of.ask('POST', `${EXTRACTORS}/${extractor_id}/run`)
    // 90 days before 20 May is 19 February, so that February is not readable whole.
    const issued = async (body: object) => (await preview(of, body)).sources.find((one) => one.data_source_key === 'sat_cfdi_issued')
    expect(await issued(three)).toMatchObject({ months: 4, readable_months: 3, new_months: 1 })
    expect(await issued({ ...three, scope_months: 12 })).toMatchObject({ months: 13, readable_months: 3, new_months: 10 })
    const { rfcs } = await preview(of, { ...three, scope: 'full_history', scope_months: null })
    expect(rfcs[0]).toMatchObject({
      fiscal_entity_id: id,
      windows: { sat_cfdi_issued: { visible_from: '2026-02-19' } },
      windows_after: { sat_cfdi_issued: { visible_from: '2018-01-01' }, sat_cfdi_received: { visible_from: null } },
    })
  })

  it('says the runs of 92 days, at least five of a rare schedule, and none of one that is disabled', async () => {
    const of = await organization()
    const daily = (await preview(of, scheduled)).next_runs
    expect([daily.length, daily[0], daily.at(-1)]).toEqual([92, '2026-05-21T06:00:00.000Z', '2026-08-20T06:00:00.000Z'])
    const rare = (await preview(of, monthly)).next_runs
    expect([rare.length, rare[0]]).toEqual([5, '2026-06-01T06:00:00.000Z'])
    expect((await preview(of, { ...scheduled, is_enabled: false })).next_runs).toEqual([])
  })

  it('of an extractor that would be changed, the schedule goes on from where it is unless it changes', async () => {
    const [of, other] = [await organization(), await organization()]
    const every = (n: number) => ({ ...scheduled, schedule_kind: 'every_n_days', schedule_spec: { n } })
    const { extractor_id, next_run_at } = await created(of, every(5))
    at('2026-05-22T18:00:00Z')
    const first = async (body: object) => (await preview(of, body)).next_runs[0]
    expect(next_run_at).toBe('2026-05-25T06:00:00.000Z')
    expect(await first({ ...every(5), extractor_id, scope: 'full_history', scope_months: null })).toBe(next_run_at)
    expect(await first(every(5))).toBe('2026-05-27T06:00:00.000Z')
    expect(await first({ ...every(4), extractor_id })).toBe('2026-05-26T06:00:00.000Z')
    const foreign = await other.ask('POST', `${EXTRACTORS}/preview`, { ...every(5), extractor_id })
    expect([foreign.status, foreign.body.code]).toEqual([404, 'extractor.not_found'])
  })

  it('changes nothing, and costs one read more for a page of RFCs', async () => {
    const of = await organization()
    for (let n = 0; n < 4; n++) await active(of)
    const before = await dump(of.id)
    await preview(of, { ...draft, scope: 'since_watermark', data_source_keys: CFDIS })
    expect(await dump(of.id)).toBe(before)
    expect(await env.DB.prepare('select count(*) as n from extractors where organization_id = ?').bind(of.id).first('n')).toBe(0)
  })

  it('sees the RFCs of its own organization only, and refuses what saving would refuse', async () => {
    const [of, other] = [await organization(), await organization()]
    await active(other)
    expect(await preview(of, draft)).toMatchObject({ rfc_count: 0, rfcs: [], sources: [], totals: { months: 0, documents: 0 } })
    const unknown = await of.ask('POST', `${EXTRACTORS}/preview`, { ...draft, data_source_keys: ['sat_nothing'] })
    expect([unknown.status, unknown.body.code]).toEqual([422, 'data_source.unknown'])
    const without = await of.ask('POST', `${EXTRACTORS}/preview`, { ...draft, scope: 'last_n_months' })
    expect([without.status, pathsOf(without.body)]).toEqual([422, ['scope_months']])
    expect((await of.ask('POST', `${EXTRACTORS}/preview`, draft, 'member')).status).toBe(403)
  })
})
