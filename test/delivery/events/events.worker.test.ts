import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { insertEvents } from '../../../src/delivery/events/store.ts'
import { eventIdOf, restored, storedOf, timeOf } from '../../../src/delivery/events/stored-body.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { idOfUuid, newId, uuidOf } from '../../../src/platform/db/id.ts'
import { pathsOf } from '../../support/client.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { organization } from '../../support/tenants.ts'
import { endpointOf, happened, linked, pagesOf } from '../support/feed.ts'

const EVENTS = '/v1/events'
const START = Date.parse('2026-05-20T09:00:00Z')

afterEach(() => {
  vi.restoreAllMocks()
})

const idsOf = (items: readonly { event_id: string }[]): string[] => items.map(({ event_id }) => event_id)

describe('the feed', () => {
  it('has the oldest first; page by page everything once, also what comes meanwhile', async () => {
    const of = await organization()
    const about = await linked(of)
    let seq = START
    const some = (count: number) =>
      happened(
        of,
        Array.from({ length: count }, () => ({ seq: ++seq, about })),
      )
    const all = await some(30)
    const { items, pages, cursor } = await pagesOf<{ event_id: string }>(of, `${EVENTS}?limit=7`, async () => {
      if (seq < START + 40) all.push(...(await some(2)))
    })
    expect(idsOf(items)).toEqual(all)
    expect(pages).toBe(6)

    // Every page has a cursor, the last and an empty one too: nothing follows it, and then what happens next does.
    const next = async () => (await of.ask('GET', `${EVENTS}?limit=7&cursor=${cursor}`)).body
    expect(await next()).toEqual({ data: [], has_more: false, next_cursor: cursor })
    const late = await some(1)
    const page = await next()
    expect([idsOf(page.data), page.has_more]).toEqual([late, false])
    expect((await of.ask('GET', `${EVENTS}?cursor=${page.next_cursor}`)).body.data).toEqual([])
  })

  it('says an event as it is delivered, in the list and by itself', async () => {
    const of = await organization()
    const about = await linked(of)
    const [event_id] = (await happened(of, [{ seq: START, about }])) as [string]
    const stored = await env.EVENTS_0.prepare("select body from events where body->>'event_id' = ?").bind(event_id).first<string>('body')
    const event = { ...JSON.parse(stored!), ordering: START }
    expect((await of.ask('GET', EVENTS)).body.data).toEqual([event])
    expect(await of.ask('GET', `${EVENTS}/${event_id}`)).toEqual(expect.objectContaining({ status: 200, body: event }))
  })

  it('is an organization’s own', async () => {
    const [ours, theirs] = [await organization(), await organization()]
    const [event_id] = (await happened(theirs, [{ seq: START, about: await linked(theirs) }])) as [string]
    expect((await ours.ask('GET', EVENTS)).body).toEqual({ data: [], has_more: false, next_cursor: expect.any(String) })
    expect((await ours.ask('GET', `${EVENTS}/${event_id}`)).status).toBe(404)
    expect((await theirs.ask('GET', `${EVENTS}/${event_id}`)).status).toBe(200)
  })

  it('gives events that come at once each a place of its own', async () => {
    silenceQueues()
    const of = await organization()
    const { path } = await endpointOf(of)
    const made = await Promise.all(Array.from({ length: 20 }, () => of.ask('POST', `${path}/test`)))
    const { items } = await pagesOf<{ event_id: string }>(of, `${EVENTS}?limit=3`)
    expect(idsOf(items).sort()).toEqual(made.map(({ body }) => body.event_id).sort())
  })
})

describe('a filter of the feed', () => {
  it('by key, by RFC in either form, and by both', async () => {
    const of = await organization()
    const [one, two] = [await linked(of), await linked(of)]
    const all = await happened(of, [
      { seq: START + 1, about: one },
      { seq: START + 2, about: two },
      { seq: START + 3, about: one, key: 'sync.failed' },
      { seq: START + 4, about: two, key: 'sync.failed' },
    ])
    const at = async (query: string) => idsOf((await of.ask('GET', `${EVENTS}?${query}`)).body.data).map((id) => all.indexOf(id))
    expect(await at('event_key=sync.failed')).toEqual([2, 3])
    expect(await at(`fiscal_entity_id=${one.fiscal_entity_id}`)).toEqual([0, 2])
    expect(await at(`fiscal_entity_id=${two.uuid.toUpperCase()}`)).toEqual([1, 3])
    expect(await at(`event_key=sync.failed&fiscal_entity_id=${two.fiscal_entity_id}`)).toEqual([3])
    expect(await at('event_key=webhook.test')).toEqual([])
    const unknown = await of.ask('GET', `${EVENTS}?event_key=cfdi.canceled`)
    expect([unknown.status, unknown.body.detail]).toEqual([
      422,
      expect.stringMatching(/^event_key: Must be one of .*, … \(9 more\)\. Did you mean cfdi\.cancelled\?$/),
    ])
    expect(await at(`fiscalEntityId=${one.uuid}&fiscal_entity_id=${one.fiscal_entity_id}`)).toEqual([0, 2])
    const both = await of.ask('GET', `${EVENTS}?fiscalEntityId=${one.fiscal_entity_id}&fiscal_entity_id=${two.fiscal_entity_id}`)
    expect([both.status, pathsOf(both.body)]).toEqual([422, ['fiscalEntityId']])
    const nobodys = await of.ask('GET', `${EVENTS}?fiscal_entity_id=${idOfUuid('fe', crypto.randomUUID())}`)
    expect([nobodys.status, nobodys.body.code]).toEqual([404, 'fiscal_entity.not_found'])
  })

  it('since an instant lists what was added then or later, page by page', async () => {
    const of = await organization()
    const about = await linked(of)
    const all = await happened(
      of,
      [0, 1, 2, 3, 4].map((n) => ({ seq: START + n * 1_000, about })),
    )
    const since = (at: number) => `since=${encodeURIComponent(new Date(at).toISOString())}`
    for (const [at, from] of [
      [START, 0],
      [START + 1, 1],
      [START + 3_000, 3],
      [START + 4_001, 5],
    ] as const) {
      const { items } = await pagesOf<{ event_id: string }>(of, `${EVENTS}?limit=2&${since(at)}`)
      expect([at, idsOf(items)]).toEqual([at, all.slice(from)])
    }
    const { next_cursor } = (await of.ask('GET', `${EVENTS}?limit=2&${since(START)}`)).body
    const foreign = await of.ask('GET', `${EVENTS}?limit=2&${since(START + 1)}&cursor=${next_cursor}`)
    expect([foreign.status, foreign.body.code]).toEqual([400, 'cursor.invalid'])
  })

  it('by RFC never lists an event that is about no RFC, whole or as null', async () => {
    silenceQueues()
    const of = await organization()
    const about = await linked(of)
    const { path } = await endpointOf(of)
    const tested = (await of.ask('POST', `${path}/test`)).body.event_id as string
    const [event_id] = (await happened(of, [{ seq: Date.now() + 1_000, about }])) as [string]
    for (const name of ['fiscal_entity_id', 'fiscalEntityId'])
      for (const more of ['', '&event_key=connection.ciec_invalid', '&limit=1']) {
        const { items } = await pagesOf<{ event_id: string }>(of, `${EVENTS}?${name}=${about.uuid}${more}`)
        expect([name, more, idsOf(items)]).toEqual([name, more, [event_id]])
      }
    expect(idsOf((await of.ask('GET', EVENTS)).body.data)).toEqual([tested, event_id])
  })

  it('looks at five thousand events before a page is short, and finds them all', async () => {
    const of = await organization()
    const [about, rare] = [await linked(of), await linked(of)]
    const wanted = [3, 499, 700, 701, 1_290, 7_400]
    const all = await happened(
      of,
      Array.from({ length: 7_500 }, (_, n) => ({ seq: START + n, about: wanted.includes(n) ? rare : about })),
    )
    for (const limit of [1, 2, 100]) {
      const { items, pages, cursor } = await pagesOf<{ event_id: string }>(of, `${EVENTS}?limit=${limit}&fiscal_entity_id=${rare.uuid}`)
      expect(idsOf(items)).toEqual(wanted.map((n) => all[n]))
      // Only the one that has looked at five thousand is not full.
      expect(pages).toBe(limit === 1 ? 6 : limit === 2 ? 4 : 2)
      // It has looked at everything: the next time only what came since is.
      const [late] = await happened(of, [{ seq: START + 8_000 + limit, about: rare }])
      const { body } = await of.ask('GET', `${EVENTS}?limit=${limit}&fiscal_entity_id=${rare.uuid}&cursor=${cursor}`)
      expect(idsOf(body.data)).toEqual([late])
      await env.EVENTS_0.prepare("delete from events where body->>'event_id' = ?").bind(late).run()
    }
  })
})

describe('an RFC that is unlinked', () => {
  it('takes its events out of the list and of what can be fetched, and out of no other’s', async () => {
    const of = await organization()
    const [gone, kept] = [await linked(of), await linked(of)]
    const all = await happened(
      of,
      Array.from({ length: 40 }, (_, n) => ({ seq: START + n, about: n % 4 === 3 ? kept : gone })),
    )
    const ofKept = all.filter((_, n) => n % 4 === 3)
    const list = async (limit: number) => idsOf((await pagesOf<{ event_id: string }>(of, `${EVENTS}?limit=${limit}`)).items)
    expect(await list(100)).toEqual(all)
    await gone.moveTo('unlinked')
    for (const limit of [1, 2, 3, 7, 100]) expect([limit, await list(limit)]).toEqual([limit, ofKept])
    expect(await list(100)).toEqual(ofKept)
    expect((await of.ask('GET', `${EVENTS}?fiscal_entity_id=${gone.uuid}`)).status).toBe(404)
    expect((await of.ask('GET', `${EVENTS}/${all[0]}`)).status).toBe(404)
    expect((await of.ask('GET', `${EVENTS}/${ofKept[0]}`)).status).toBe(200)
    for (const state of ['draft', 'paused', 'invalid_ciec', 'active']) {
      await gone.moveTo(state)
      expect([state, await list(100)]).toEqual([state, all])
    }
  })
})

describe('what an event is stored as', () => {
  const at = '2026-05-20T09:00:00.000Z'
  let event_id: string
  beforeAll(async () => {
    event_id = await eventIdOf('the change', Date.parse(at), 'the organization')
  })
  /** A payload as the relay makes it; `more` is what is different of it. */
  const sync = (more: object = {}, event = 'sync.completed') =>
    JSON.stringify({
      ...{ event, event_id, occurred_at: at, fiscal_entity_id: uuidOf(newId('fe')), rfc: 'AAA010101AAA' },
      ...{ job_id: newId('job'), data_source_key: 'sat_csf', period: null, document_type: 'csf', direction: null },
      ...{ created_count: 0, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null, completed_at: at },
      ...more,
    })
  const ofMonth = { data_source_key: 'sat_cfdi_received', period: '2026-05', document_type: 'cfdi', direction: 'received' }

  it('is read as it was, byte for byte, and without what follows from the rest of it', () => {
    const brought = [{ created_count: 1 }, { first_issued_at: at }, { ...ofMonth, cancelled_count: 2 }].map((more) => sync(more))
    const late = sync({ ...ofMonth, completed_at: '2026-05-20T09:00:00.001Z' })
    const other = sync({ occurred_at: '2026-05-20T09:00:00.001Z' })
    for (const payload of [sync(), sync(ofMonth), ...brought, late, other]) {
      expect(restored(storedOf(payload))).toBe(payload)
      expect(payload.length - storedOf(payload).length).toBeGreaterThan(115)
    }
    expect(sync().length - storedOf(sync()).length).toBeGreaterThan(215)
    // What only a download that brought nothing lacks is how it is found, to be forgotten earlier.
    for (const payload of [sync(), late, other]) expect(storedOf(payload)).not.toContain('created_count')
    for (const payload of brought) expect(storedOf(payload)).toContain('created_count')
  })

  it('is the whole of it when it is another event, or says what does not follow', () => {
    const strange = [{ document_type: 'other' }, { direction: 'issued' }]
    const others = [sync({}, 'sync.failed'), '{"event":"x"}', ...strange.map((more) => sync(more))]
    for (const payload of others) expect([storedOf(payload), restored(storedOf(payload))]).toEqual([payload, payload])
  })
})

describe('what the feed costs', () => {
  it('a page asks the events shard and the control plane once, and once more where what it found is hidden', async () => {
    const of = await organization()
    const [gone, kept] = [await linked(of), await linked(of)]
    await happened(
      of,
      Array.from({ length: 60 }, (_, n) => ({ seq: START + n, about: n % 2 ? kept : gone })),
    )
    await gone.moveTo('unlinked')
    const page = (query: string) => costOf(env.EVENTS_0, env.FILES, () => of.ask('GET', `${EVENTS}?${query}`))
    await page('limit=1')
    // The credential, and twice the events and which of their RFCs are linked.
    const { result, cost } = await page('limit=50')
    expect([result.body.data.length, cost.d1_calls, cost.rows_written]).toEqual([30, 5, 0])
    // A credential with its organization, 60 events, and twice 2 RFCs of which one is linked.
    expect(cost.rows_read).toBeLessThanOrEqual(60 + 18)
    await gone.moveTo('active')
    expect((await page('limit=50')).cost.d1_calls).toBe(3)
  })

  it('an event is found by its identifier, by its time or by the index, among those of a minute', async () => {
    const of = await organization()
    const about = await linked(of)
    const inTime = Array.from({ length: 300 }, (_, n) => ({ seq: Date.now() + n, about, isLate: false }))
    const late = { seq: START, about }
    const events = await happened(of, [late, ...inTime])
    for (const n of [0, 1, 150, 300]) {
      const { result, cost } = await costOf(env.EVENTS_0, env.FILES, () => of.ask('GET', `${EVENTS}/${events[n]}`))
      expect([result.status, result.body.event_id, cost.d1_calls]).toEqual([200, events[n], 3])
      expect(cost.rows_read).toBeLessThanOrEqual(300 + 12)
    }
    expect((await of.ask('GET', `${EVENTS}/${newId('evt')}`)).status).toBe(404)
    const others = await organization()
    for (const n of [0, 150]) expect((await others.ask('GET', `${EVENTS}/${events[n]}`)).status).toBe(404)
  })

  it('an event that is relayed late, or by a clock that is wrong, is found as well', async () => {
    const of = await organization()
    const body = (event_id: string) =>
      JSON.stringify({ event: 'webhook.test', event_id, occurred_at: new Date().toISOString(), webhook_id: newId('wh') })
    for (const at of [Date.now() - 3_600_000, Date.now() - 59_000, Date.now() + 59_000, Date.now() + 3_600_000]) {
      const event_id = await eventIdOf('any', at, of.id)
      expect(timeOf(event_id)).toBe(at)
      await commit(env.EVENTS_0, insertEvents([{ organization_id: of.id, event_id, body: body(event_id), isUnique: false }], Date.now()))
      expect((await of.ask('GET', `${EVENTS}/${event_id}`)).body.event_id).toBe(event_id)
    }
    const indexed = 'select count(*) as n from events where organization_id = ? and event_id is not null'
    expect(await env.EVENTS_0.prepare(indexed).bind(of.id).first('n')).toBe(2)
  })
})
