import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SyncStatus } from '../../../src/connections/sync/contract.ts'
import { inWords } from '../../../src/connections/sync/state.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { callOf, cfdiOf, deliver, ISSUED, later, ledgerOf, losingMessages, subscriber, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { freshRfc } from '../../support/tenants.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const list = async (
  one: Pick<Subscriber, 'ask'>,
  query = '',
): Promise<{ data: SyncStatus[]; has_more: boolean; next_cursor: string | null }> =>
  (await one.ask('GET', `/v1/sync?limit=100${query}`)).body
const instant = (seconds: number): string => new Date(Date.parse('2026-05-20T09:00:00Z') + seconds * 1_000).toISOString()

/** What sentences need besides the state. */
const AROUND = { invalid_reason: null, timezone: 'America/Mexico_City', total: 3, partial_months: 0, takesCiec: true }

describe('where the downloads of an RFC are', () => {
  it('is running while jobs are queued, then idle, with how far everything is downloaded', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    expect(await one.sync()).toMatchObject({ rfc, state: 'running', error_class: null, jobs: { queued: 3 }, downloaded_to: null })
    await work(rfc)
    const notified = await one.sync()
    expect(notified).toMatchObject({
      ...{ state: 'idle', error_class: null, attempts: 0, next_attempt_at: null, next_run_at: null },
      jobs: { queued: 0, running: 0, waiting: 0, succeeded: 3, failed: 0, total: 3 },
      ...{ percent: 100, downloaded_to: instant(0), last_success_at: instant(0), latest_change_at: instant(0) },
      summary:
        'Everything that was asked for is downloaded up to 2026-05-20 09:00 UTC. No extractor is scheduled: start one with POST /v1/extractors/{extractor_id}/run.',
    })
    expect(notified.message_es).toContain('hasta el 20/05/2026 a las 03:00 (America/Mexico_City)')
    expect((await list(one)).data).toEqual([notified])
  })

  it('says the zone of its times once', () => {
    const at = Date.parse('2026-05-20T09:00:00Z')
    const judged = { state: 'idle', cause: 'done', error_class: null, attempts: 0, next_attempt_at: null, n: 0 } as const
    const around = { ...AROUND, now: at, next_run_at: at + 86_400_000, downloaded_to: at }
    expect(inWords(judged, around)[1]).toBe(
      'Está descargado todo lo solicitado, hasta el 20/05/2026 a las 03:00 (America/Mexico_City). La siguiente descarga comienza el 21/05/2026 a las 03:00.',
    )
    expect(inWords({ ...judged, cause: 'nothing' }, { ...around, downloaded_to: null })[1]).toBe(
      'Todavía no se ha solicitado nada. La siguiente descarga comienza el 21/05/2026 a las 03:00 (America/Mexico_City).',
    )
  })

  it('says that it goes on soon, not when, once that instant has passed', () => {
    const at = Date.parse('2026-05-20T09:00:00Z')
    const judged = { state: 'waiting', cause: 'authority', error_class: null, attempts: 2, next_attempt_at: at, n: 1 } as const
    const around = { ...AROUND, next_run_at: null, downloaded_to: null }
    expect(inWords(judged, { ...around, now: at - 1 })[0]).toContain('asks again at 2026-05-20 09:00 UTC')
    expect(inWords(judged, { ...around, now: at })).toEqual([
      'The tax authority is preparing 1 download. The service asks again soon; there is nothing to do.',
      'El SAT está preparando 1 descarga. El servicio pregunta de nuevo en breve; no hay nada que hacer.',
    ])
  })

  it('says during an outage why it waits, how often it tried, and when it tries again', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    await one.run()
    for (const seconds of [0, 5]) {
      later(seconds)
      await work(rfc)
    }
    const notified = await one.sync()
    expect(notified).toMatchObject({
      ...{ state: 'waiting', status: 'running', error_class: 'sat_unavailable', attempts: 2, next_attempt_at: instant(15) },
      jobs: { queued: 0, running: 0, waiting: 3, failed: 0 },
    })
    expect(notified.summary).toBe(
      '3 downloads are waiting because attempt 2 failed: the tax authority was not available. The service tries again at 2026-05-20 09:00 UTC; there is nothing to do.',
    )
    expect(notified.message_es).toContain('el SAT no estuvo disponible')
    const jobs = await one.jobs('&status=waiting')
    expect(jobs).toHaveLength(3)
    for (const job of jobs) expect(job).toMatchObject({ status: 'waiting', error_class: 'sat_unavailable', next_attempt_at: instant(15) })
    expect(await one.jobs('&status=queued')).toEqual([])
  })

  it('is blocked when jobs failed that no scheduled run reaches, and waiting when one does', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    await one.run()
    let seconds = 0
    for (let n = 0; n < 12; n++) {
      later(seconds)
      await work(rfc)
      seconds += 1_000
    }
    expect(await one.sync()).toMatchObject({
      state: 'blocked',
      error_class: 'sat_unavailable',
      attempts: 12,
      jobs: { failed: 3 },
      status: 'idle',
    })
    const daily = { ...cfdiOf(3), trigger_kind: 'schedule', schedule_kind: 'daily' }
    expect((await one.ask('POST', '/v1/extractors', daily)).status).toBe(201)
    expect(await one.sync()).toMatchObject({
      ...{ state: 'waiting', error_class: 'sat_unavailable', jobs: { failed: 3 } },
      ...{ next_attempt_at: '2026-05-21T06:00:00.000Z', next_run_at: '2026-05-21T06:00:00.000Z' },
    })
  })

  it('is blocked without a valid login, as a draft, and while it is paused, with what to do', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    expect((await one.ask('PATCH', one.path, { ciec: null })).body.status).toBe('invalid_ciec')
    const invalid = await one.sync()
    expect(invalid).toMatchObject({
      state: 'blocked',
      connection_status: 'invalid_ciec',
      error_class: 'invalid_credentials',
      jobs: { waiting: 3 },
    })
    expect(invalid.summary).toBe(
      'The stored CIEC or e.firma was withdrawn. Nothing is downloaded until there is another one. Send a valid CIEC or e.firma with PATCH /v1/fiscal-entities/{fiscal_entity_id}.',
    )
    const draft = (await one.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })).body.fiscal_entity_id
    await one.give('secreta2')
    const { status } = await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active: false })
    expect(status).toBe(200)
    expect(await one.sync()).toMatchObject({ state: 'blocked', connection_status: 'paused', error_class: null })
    expect((await list(one, '&state=blocked')).data.map(({ fiscal_entity_id }) => fiscal_entity_id)).toEqual([one.fiscal_entity_id, draft])
    expect((await list(one, '&state=idle')).data).toEqual([])
  })

  it('tells nothing of jobs, attempts and documents that only others asked for', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1), 'unavailable1'), await subscriber(rfc, cfdiOf(1), 'unavailable1')]
    const untouched = await second.sync()
    await first.run()
    for (const seconds of [0, 5, 15]) {
      later(seconds)
      await work(rfc)
    }
    expect(await second.sync()).toEqual(untouched)
    expect(untouched).toMatchObject({ state: 'idle', jobs: { total: 0 }, latest_change_at: null, last_success_at: null })
    // Who joins is told of no attempt from before.
    later(20)
    await second.run()
    expect(await second.sync()).toMatchObject({
      state: 'running',
      error_class: null,
      attempts: 0,
      next_attempt_at: null,
      jobs: { waiting: 0 },
    })
    expect(await first.sync()).toMatchObject({ state: 'waiting', attempts: 3 })
  })

  it('has the time of the latest change that its windows show, and of no other', async () => {
    const rfc = freshRfc()
    const [wide, narrow] = [await subscriber(rfc, cfdiOf(6)), await subscriber(rfc, cfdiOf(1))]
    await narrow.run()
    await work(rfc)
    expect((await narrow.sync()).latest_change_at).toBe(instant(0))
    // Another organization downloads months that this one does not see.
    later(100)
    const before = await wide.sync()
    expect(before.latest_change_at).toBeNull()
    const ledger = await ledgerOf(rfc)
    await ledger.prepare("update sync_jobs set finished_after = 1e9 where month <> ''").run()
    await wide.run()
    await work(rfc)
    expect((await wide.sync()).latest_change_at).toBe(instant(100))
    expect((await narrow.sync()).latest_change_at).toBe(instant(0))
  })

  it('has the name that the newest document which its windows show gives the RFC, its own ones first, and the name of the connection', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, cfdiOf(2)), await subscriber(rfc, cfdiOf(1))]
    expect(await one.sync()).toMatchObject({ name: null, taxpayer_name: null })
    await one.run()
    await work(rfc)
    const named = async (who: typeof one, direction: 'issued' | 'received') =>
      (await who.ask('GET', `/v1/cfdi?fiscal_entity_id=${who.fiscal_entity_id}&direction=${direction}&limit=1`)).body.data[0]
    const { emisor_nombre } = await named(one, 'issued')
    expect(emisor_nombre).toEqual(expect.any(String))
    // What others spell otherwise is of no importance while there is a document of its own, however old.
    const ledger = await ledgerOf(rfc)
    await ledger.prepare(`update cfdi set receptor_nombre = 'OTRO NOMBRE' where direction = 1`).run()
    expect((await one.sync()).taxpayer_name).toBe(emisor_nombre)
    // Who has downloaded nothing is shown nothing of it.
    expect((await other.sync()).taxpayer_name).toBeNull()
    await ledger.prepare(`update cfdi set emisor_nombre = null where direction = 0`).run()
    expect((await one.sync()).taxpayer_name).toBe('OTRO NOMBRE')
    await one.ask('PATCH', `/v1/fiscal-entities/${one.fiscal_entity_id}`, { name: 'Cliente Norte' })
    expect(await one.sync()).toMatchObject({ name: 'Cliente Norte', taxpayer_name: 'OTRO NOMBRE' })
    // Without an extractor everything is visible.
    await one.ask('DELETE', `/v1/extractors/${one.extractor_id}`)
    expect((await one.sync()).taxpayer_name).toBe('OTRO NOMBRE')
    // What a paused connection has is not read.
    await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active: false })
    expect(await one.sync()).toMatchObject({ name: 'Cliente Norte', taxpayer_name: null })
  })

  it('has the time at which a run was dispatched, when that was long after its instant: who read the changes meanwhile reads them again', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, cfdiOf(1))]
    await first.run()
    await work(rfc)
    /** A run that is planned at one time, and dispatched at another one. */
    const run = async (planned: number, dispatched: number) => {
      const run_id = newId('run')
      await env.DB.prepare(
        `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at, moved_at)
         select ?1, organization_id, extractor_id, 'manual', ?3, 'planned', 0, 0, ?3, ?3 from extractors where extractor_id = ?2`,
      )
        .bind(run_id, second.extractor_id, Date.parse(instant(planned)))
        .run()
      later(dispatched)
      await deliver([{ runs: [run_id] }], 'dispatch')
    }
    const changes = async () => (await second.ask('GET', `/v1/cfdi/changes?fiscal_entity_id=${second.fiscal_entity_id}`)).body.data
    later(120)
    expect([await changes(), (await second.sync()).latest_change_at]).toEqual([[], null])
    await run(100, 200)
    expect((await changes()).length).toBeGreaterThan(0)
    expect((await second.entity()).visible_to).toBe(instant(100))
    expect((await second.sync()).latest_change_at).toBe(instant(200))
    // Two more runs show nothing more. When a run widened the windows is kept of the last two.
    await run(300, 310)
    expect((await second.sync()).latest_change_at).toBe(instant(200))
    await run(400, 410)
    expect((await second.sync()).latest_change_at).toBe(instant(100))
  })
})

describe('an answer of the changes in which nothing has changed', () => {
  it('reads three rows at most beside the three of authentication, also of an RFC of which something is imported', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    await one.run()
    await work((await one.entity()).rfc)
    const path = `/v1/cfdi/changes?fiscal_entity_id=${one.fiscal_entity_id}&limit=100`
    const { next_cursor } = (await one.ask('GET', `${path}&from=now`)).body
    await env.DB.prepare('update connections set imported_at = 1 where fiscal_entity_id = ?').bind(one.fiscal_entity_id).run()
    const again = (await one.ask('GET', `${path}&cursor=${next_cursor}`)).body.next_cursor
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => one.ask('GET', `${path}&cursor=${again}`))
    expect(result.body).toMatchObject({ data: [], has_more: false, next_cursor: expect.any(String) })
    expect([cost.d1_calls, cost.rows_written, cost.rows_read <= 6]).toEqual([2, 0, true])
  })
})

describe('the list', () => {
  it('has every connection once over its pages, by state too, and refuses a cursor of other filters', async () => {
    const one = await subscriber(freshRfc(), ISSUED)
    const ids = [one.fiscal_entity_id]
    for (let n = 0; n < 6; n++) ids.push((await one.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })).body.fiscal_entity_id)
    for (const state of ['', '&state=blocked']) {
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const { body } = await one.ask('GET', `/v1/sync?limit=2${state}${cursor && `&cursor=${cursor}`}`)
        seen.push(...body.data.map((it: SyncStatus) => it.fiscal_entity_id))
        expect(body.has_more).toBe(body.next_cursor !== null)
        cursor = body.next_cursor
      }
      expect(seen).toEqual(state === '' ? ids : ids.slice(1))
    }
    // The other connections of the page are none of these, and nothing follows.
    const idle = (await one.ask('GET', '/v1/sync?limit=1&state=idle')).body
    expect([idle.data[0].fiscal_entity_id, idle.data.length, idle.has_more, idle.next_cursor]).toEqual([ids[0], 1, false, null])
    const { body } = await one.ask('GET', '/v1/sync?limit=2')
    expect((await one.ask('GET', `/v1/sync?limit=2&state=idle&cursor=${body.next_cursor}`)).status).toBe(400)
    expect((await list(one, `&fiscal_entity_id=${ids[3]}`)).data.map((it) => it.fiscal_entity_id)).toEqual([ids[3]])
    const other = await subscriber(freshRfc(), ISSUED)
    expect((await other.ask('GET', `/v1/sync?fiscal_entity_id=${ids[3]}`)).status).toBe(404)
  })

  it('costs the same calls for ten connections as for one, and a bounded number of rows for each', async () => {
    const measured = async (count: number) => {
      const one = await subscriber(freshRfc(), ISSUED, 'empty1')
      const rfcs = [(await one.entity()).rfc as string]
      for (let n = 1; n < count; n++) {
        const rfc = freshRfc()
        expect((await one.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'empty1' })).status).toBe(201)
        rfcs.push(rfc)
      }
      await one.run()
      for (const rfc of rfcs) await deliver([await callOf(rfc)])
      const { cost, result } = await costOf(await ledgerOf(rfcs[0]!), env.FILES, () => list(one))
      expect(result.data.map(({ state, jobs }) => [state, jobs.total])).toEqual(Array(count).fill(['idle', 3]))
      return cost
    }
    const [one, ten, twenty] = [await measured(1), await measured(10), await measured(20)]
    expect([one, ten, twenty].map(({ d1_calls, d1_statements, rows_written }) => [d1_calls, d1_statements, rows_written])).toEqual(
      Array(3).fill([7, 9, 0]),
    )
    expect([(ten.rows_read - one.rows_read) / 9, (twenty.rows_read - ten.rows_read) / 10]).toEqual([52, 52])
  })
})
