import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { warnStatements } from '../../../src/accounts/plans/reserve-quota.ts'
import { notifyQuotas } from '../../../src/delivery/alerts/alerts.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { post, zipWith } from '../../cfdi/imports/support/imports.ts'
import { plainOf } from '../../cfdi/support/documents.ts'
import { draft as EXTRACTOR } from '../../connections/extractors/support/extractors.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { breakingAt, losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc, type Organization, organization } from '../../support/tenants.ts'

beforeEach(() => {
  at('2027-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

const WEBHOOK = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['quota.warning'] }
const notify = () => notifyQuotas(systemOf(env, new Date(), 'req_test'))

/** What an organization was told, in order: the quota, its period and both numbers. */
async function notified(of: Organization): Promise<string[]> {
  await Promise.all([notify(), notify()])
  await notify()
  const { items } = await pagesOf<Record<string, unknown>>(of, '/v1/events?limit=100&event_key=quota.warning')
  return items.map(({ quota, period, used, limit, unit }) => `${quota} ${period} ${used}/${limit} ${unit}`)
}

const drafts = async (of: Organization, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { status, body } = await of.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    expect(status).toBe(201)
    ids.push(body.fiscal_entity_id)
  }
  return ids
}

describe('an organization that has used 80 % of a quota', () => {
  it('is told once, with the place that reached it, in the feed and by its webhook, and again in the next month', async () => {
    const [of, other] = [await organization('diagnostic'), await organization('diagnostic')]
    const { webhook_id } = (await of.ask('POST', '/v1/webhooks', WEBHOOK)).body
    const [first] = await drafts(of, 19)
    expect(await notified(of)).toEqual([])
    await drafts(of, 1)
    expect(await notified(of)).toEqual(['drafts 2027-03 20/25 items'])
    // Neither more of it nor what goes and comes again tells anything.
    await of.ask('DELETE', `/v1/fiscal-entities/${first}`)
    await drafts(of, 3)
    expect(await notified(of)).toEqual(['drafts 2027-03 20/25 items'])
    const deliveries = (await of.ask('GET', `/v1/webhooks/${webhook_id}/deliveries`)).body.data
    expect(deliveries.map(({ event_key }: { event_key: string }) => event_key)).toEqual(['quota.warning'])
    // The month ends at midnight in Mexico City.
    at('2027-04-01T05:59:59Z')
    await drafts(of, 1)
    expect(await notified(of)).toHaveLength(1)
    at('2027-04-01T06:00:00Z')
    await drafts(of, 1)
    expect((await notified(of)).at(-1)).toBe('drafts 2027-04 24/25 items')
    expect(await notified(other)).toEqual([])
  })

  it('is told of quotas that its events shard counts, and again when the plan has another limit', async () => {
    const of = await organization('diagnostic')
    const make = () => of.ask('POST', '/v1/webhooks', { ...WEBHOOK, event_keys: ['cfdi.cancelled'] })
    for (let n = 0; n < 15; n++) await make()
    expect(await notified(of)).toEqual([])
    await make()
    expect(await notified(of)).toEqual(['webhooks 2027-03 16/20 items'])
    await of.ask('POST', '/v1/extractors', EXTRACTOR)
    await of.ask('POST', '/v1/extractors', EXTRACTOR)
    expect((await notified(of)).slice(1)).toEqual(['extractors 2027-03 2/2 items'])
    await of.ask('POST', '/v1/test-helpers/organization', { plan: 'api' })
    await of.ask('POST', '/v1/extractors', EXTRACTOR)
    expect((await notified(of)).slice(2)).toEqual([])
    at('2027-03-10T18:00:01Z')
    await of.ask('POST', '/v1/extractors', EXTRACTOR)
    expect((await notified(of)).slice(2)).toEqual(['extractors 2027-03 4/5 items'])
  })

  it('is not told of a quota without limit, nor when the commit is refused', async () => {
    const of = await organization('enterprise_gold')
    for (let n = 0; n < 3; n++) expect((await of.ask('POST', '/v1/extractors', EXTRACTOR)).status).toBe(201)
    expect(await notified(of)).toEqual([])
    const full = await organization('diagnostic')
    await drafts(full, 25)
    at('2027-04-10T18:00:00Z')
    expect((await full.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })).status).toBe(409)
    expect(await notified(full)).toEqual(['drafts 2027-03 20/25 items'])
  })

  it('is told of bytes and documents of imports, once a day of a daily quota', async () => {
    const of = await organization('diagnostic')
    const rfc = freshRfc()
    const { fiscal_entity_id } = (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body
    const random = randomOf(5)
    const use = async (bytes: number, day: string) => {
      await env.DB.prepare(
        'insert or replace into import_totals (organization_id, bytes, documents, day, day_bytes, day_documents, last_turn) values (?1, 0, 0, ?3, ?2, 0, 0)',
      )
        .bind(of.id, bytes, day)
        .run()
      expect((await post(of.owner, fiscal_entity_id, zipWith([plainOf(random, '2027-02', { emisor: rfc })]))).status).toBe(202)
    }
    await use(400 * 1024 ** 2, '2027-03-10')
    const [first, ...more] = await notified(of)
    expect(more).toEqual([])
    expect(first).toMatch(/^import_bytes_per_day 2027-03-10 4194\d+\/524288000 bytes$/)
    await use(450 * 1024 ** 2, '2027-03-10')
    expect(await notified(of)).toHaveLength(1)
    at('2027-03-11T18:00:00Z')
    await use(450 * 1024 ** 2, '2027-03-11')
    expect((await notified(of)).map((one) => one.split(' ')[1])).toEqual(['2027-03-10', '2027-03-11'])
  })

  it('is told once, wherever telling it is killed', async () => {
    const of = await organization('diagnostic')
    // A worker dies where the event is committed, and after the events shard has a warning that the control plane still has.
    for (const [like, month] of [
      [/insert into events/, '03'],
      [/^update quota_warnings set notified/, '04'],
    ] as const) {
      at(`2027-${month}-10T18:00:00Z`)
      await drafts(of, month === '03' ? 20 : 1)
      const broken = breakingAt(like)
      await notify().catch(() => {})
      expect(broken.happened()).toBe(true)
      vi.restoreAllMocks()
      losingMessages()
      expect((await notified(of)).at(-1)).toBe(`drafts 2027-${month} ${month === '03' ? 20 : 21}/25 items`)
    }
    expect(await notified(of)).toHaveLength(2)
    // A warning that comes again, and one that is older, tell nothing.
    const warned = { organization: { id: of.id, plan: 'diagnostic', timezone: 'America/Mexico_City' } }
    for (const now of ['2027-04-10T18:00:00Z', '2027-02-10T18:00:00Z'])
      await commit(env.DB, warnStatements({ ...warned, now: new Date(now) }, [['drafts', sql`select 20`]]))
    expect(await notified(of)).toHaveLength(2)
  })
})
