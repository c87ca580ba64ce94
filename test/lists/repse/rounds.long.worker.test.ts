import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshRepse, sweepRounds } from '../../../src/lists/repse/rounds.ts'
import { alertOf } from '../../../src/lists/repse/status.ts'
import { advanceRound, findRound, openRound } from '../../../src/lists/repse/store.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit, connect } from '../../../src/platform/db/commit.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cron, deliver, holdMessages, type RepseMessage, type Subscriber, settle, subscriber, watchRegistry } from './support/repse.ts'

const DAILY = '0 10 * * *'
const MINUTE = '* * * * *'

let sent: RepseMessage[]
beforeEach(async () => {
  at('2026-11-18T06:00:00Z')
  sent = holdMessages()
  // No RFC of an earlier test is in the round.
  await env.DB.batch(['connections', 'repse_records', 'repse_rounds'].map((table) => env.DB.prepare(`delete from ${table}`)))
  await env.EVENTS_0.prepare('delete from alerts').run()
})
afterEach(restore)

it('a round that is opened again while it is open keeps its place; one that is done starts anew', async () => {
  const db = connect(env.DB)
  const [first, second] = [new Date('2026-11-18T10:00:00Z'), new Date('2026-11-18T10:20:00Z')]
  await commit(env.DB, openRound(db, '2026-11-18', first, first))
  await commit(env.DB, [advanceRound(db, (await findRound(db, '2026-11-18'))!, 7, false, first)])
  await commit(env.DB, openRound(db, '2026-11-18', second, second))
  expect(await findRound(db, '2026-11-18')).toMatchObject({ after: 7, instant: first, is_done: false })
  await commit(env.DB, [advanceRound(db, (await findRound(db, '2026-11-18'))!, 9, true, first)])
  await commit(env.DB, openRound(db, '2026-11-18', second, second))
  expect(await findRound(db, '2026-11-18')).toMatchObject({ after: 0, instant: second, is_done: false })
})

const round = async (time: string) => {
  await cron(DAILY, time)
  await settle(sent)
}

interface Alert {
  kind: string
  severity: string
  resource_id: string
  message: string
  read_at: string | null
  alert_id: string
}
const alertsOf = async (of: Subscriber): Promise<Alert[]> => (await of.ask('GET', '/v1/alerts')).body.data

describe('the daily round', () => {
  it('asks about RFCs with an active connection that were never asked about or not lately, each once', async () => {
    const [never, stale, fresh, draft, paused] = [
      await subscriber(),
      await subscriber(),
      await subscriber(),
      freshRfc(),
      await subscriber(),
    ]
    await never.ask('POST', '/v1/fiscal-entities', { rfc: draft })
    await env.DB.prepare(`update connections set state = 'paused' where rfc = ?`).bind(paused.rfc).run()
    const shared = await subscriber(never.rfc)
    for (const of of [stale, fresh]) await of.repse()
    await settle(sent)
    at('2026-11-19T09:00:00Z')
    await fresh.refresh()
    await settle(sent)
    const asked = watchRegistry()
    await round('2026-11-19T10:00:00Z')
    expect(asked.sort()).toEqual([never.rfc, stale.rfc].sort())
    for (const of of [never, shared, stale, fresh]) {
      const { status, body } = await of.repse()
      expect([status, body.is_stale]).toEqual([200, false])
    }
  })

  it('comes every day, for RFCs of any number', async () => {
    const all = []
    for (let n = 0; n < 12; n += 1) all.push(await subscriber())
    const asked = watchRegistry()
    for (const day of ['19', '20', '21']) {
      await round(`2026-11-${day}T10:00:00Z`)
      expect(asked.splice(0)).toEqual(all.map(({ rfc }) => rfc))
    }
  })

  it('begun again on its day asks about none a second time, about whom there was no answer neither, but about who came since', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const [one, two] = [await subscriber(), await subscriber()]
    const asked = watchRegistry((rfc) => rfc === two.rfc)
    await round('2026-11-19T10:00:00Z')
    expect(asked.splice(0)).toEqual([one.rfc, two.rfc])
    const late = await subscriber()
    await round('2026-11-19T23:59:00Z')
    expect(asked.splice(0)).toEqual([late.rfc])
    expect((await two.repse()).status).toBe(202)
    sent.splice(0)
    await env.DB.prepare('update repse_records set due_at = null').run()
    await round('2026-11-20T10:00:00Z')
    expect(asked).toEqual([one.rfc, two.rfc])
  })

  it('is finished by the sweep when its message is lost', async () => {
    const all = []
    for (let n = 0; n < 7; n += 1) all.push(await subscriber())
    const asked = watchRegistry()
    await cron(DAILY, '2026-11-19T10:00:00Z')
    await deliver(sent.splice(0))
    sent.splice(0)
    expect(asked.length).toBe(5)
    for (const time of ['10:05', '10:11']) {
      await cron(MINUTE, `2026-11-19T${time}:00Z`)
      await settle(sent)
    }
    expect(asked).toEqual(all.map(({ rfc }) => rfc))
  })

  it('takes its messages twice, at once and late', async () => {
    const all = []
    for (let n = 0; n < 7; n += 1) all.push(await subscriber())
    const asked = watchRegistry()
    await cron(DAILY, '2026-11-19T10:00:00Z')
    const [message] = sent.splice(0)
    await Promise.all([deliver([message, message]), deliver([message])])
    await settle(sent)
    await deliver([message, { round: '2026-11-18' }])
    expect(asked.sort()).toEqual(all.map(({ rfc }) => rfc).sort())
  })
})

describe('an alert', () => {
  const ENDS = { folio: '1', vigencia_hasta: '2027-01-18' }

  it('warns of an end within 60 days, once; turns critical and unread when it is past, once; a new end opens another', async () => {
    const of = await subscriber()
    await of.publish(ENDS)
    // 61 days before the 18th of January in Mexico City it is still the 18th of November.
    await round('2026-11-18T10:00:00Z')
    expect(await alertsOf(of)).toEqual([])
    await round('2026-11-19T10:00:00Z')
    const [warning, ...none] = await alertsOf(of)
    expect([warning, none]).toEqual([
      expect.objectContaining({
        ...{ kind: 'repse.expiring', severity: 'warning', resource_id: of.fiscal_entity_id, read_at: null },
        message: `The REPSE registration of ${of.rfc} ends on 2027-01-18.`,
      }),
      [],
    ])
    await of.ask('POST', `/v1/alerts/${warning!.alert_id}/read`)
    for (const time of ['2026-11-20T10:00:00Z', '2026-12-24T10:00:00Z', '2027-01-18T10:00:00Z']) {
      await round(time)
      expect(await alertsOf(of)).toEqual([expect.objectContaining({ severity: 'warning', read_at: expect.any(String) })])
    }
    await round('2027-01-19T10:00:00Z')
    const critical = await alertsOf(of)
    expect(critical).toEqual([
      expect.objectContaining({
        ...{ kind: 'repse.expired', severity: 'critical', resource_id: of.fiscal_entity_id, read_at: null },
        message: `The REPSE registration of ${of.rfc} ended on 2027-01-18.`,
      }),
    ])
    await round('2027-01-20T10:00:00Z')
    expect(await alertsOf(of)).toEqual(critical)
    await of.publish({ ...ENDS, vigencia_hasta: '2027-03-01' })
    await round('2027-01-21T10:00:00Z')
    expect((await alertsOf(of)).map(({ kind, message }) => [kind, message.slice(-10, -1)])).toEqual([
      ['repse.expiring', '027-03-01'],
      ['repse.expired', '027-01-18'],
    ])
  })

  it('is raised for each organization with an active connection, by the day in its own zone, and for no other', async () => {
    const west = await subscriber()
    const [east, gone] = [await subscriber(west.rfc), await subscriber(west.rfc)]
    await env.DB.prepare(`update organizations set timezone = 'Asia/Tokyo' where id = ?`).bind(east.id).run()
    await gone.ask('DELETE', gone.path)
    await west.publish({ ...ENDS, vigencia_hasta: '2026-11-19' })
    await round('2026-11-19T15:30:00Z')
    expect((await alertsOf(west)).map(({ kind }) => kind)).toEqual(['repse.expiring'])
    expect((await alertsOf(east)).map(({ kind, resource_id }) => [kind, resource_id])).toEqual([['repse.expired', east.fiscal_entity_id]])
    expect(await alertsOf(gone)).toEqual([])
  })

  it('comes of what is known, whoever had it looked up, and of nothing that is not known', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const [known, unknown, absent, endless] = [await subscriber(), await subscriber(), await subscriber(), await subscriber()]
    await known.publish(ENDS)
    await absent.publish({ is_registered: false, ...ENDS })
    await endless.publish({ ...ENDS, vigencia_hasta: null })
    for (const of of [known, absent, endless]) await of.repse()
    await settle(sent)
    watchRegistry(() => true)
    await round('2027-01-10T10:00:00Z')
    expect((await alertsOf(known)).length).toBe(1)
    for (const of of [unknown, absent, endless]) expect(await alertsOf(of)).toEqual([])
  })

  it('states the fact and the date, within sixty days', () => {
    const registration = {
      ...{ organization_id: 'org_1', events_shard: 0, timezone: 'America/Mexico_City', fiscal_entity_id: 'fe_1' },
      ...{ rfc: 'EKU9003173C9', vigencia_hasta: '2027-03-01' },
    }
    const on = (day: string) => alertOf(registration, new Date(`${day}T18:00:00Z`))
    expect(on('2026-12-30')).toBeNull()
    for (const day of ['2026-12-31', '2027-03-01']) expect(on(day)).toMatchObject({ severity: 'warning', kind: 'repse.expiring' })
    for (const day of ['2027-03-02', '2031-01-01']) expect(on(day)).toMatchObject({ severity: 'critical', kind: 'repse.expired' })
  })
})

/** Statements and batches that reach the control plane, and messages, each a step at which the machine may go. */
function fragile(step: number, when: 'before' | 'after') {
  let [steps, died] = [0, '']
  const guard = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    steps += 1
    const isIt = steps === step && died === ''
    if (isIt && when === 'before') died = `${name} ${steps} before`
    if (died !== '') throw new Error(`Died at ${died}.`)
    const result = await work()
    if (isIt) died = `${name} ${steps} after`
    if (died !== '') throw new Error(`Died at ${died}.`)
    return result
  }
  const bare = new WeakMap<D1PreparedStatement, D1PreparedStatement>()
  const watched = (real: D1PreparedStatement): D1PreparedStatement => {
    const proxy = new Proxy(real, {
      get: (target, key: keyof D1PreparedStatement) => {
        if (key === 'bind') return (...values: unknown[]) => watched(target.bind(...values))
        const value = target[key] as unknown
        if (!['first', 'run', 'all', 'raw'].includes(key)) return typeof value === 'function' ? value.bind(target) : value
        return (...options: unknown[]) =>
          guard('statement', () => (value as (...all: unknown[]) => Promise<unknown>).apply(target, options))
      },
    })
    bare.set(proxy, real)
    return proxy
  }
  const database = (d1: D1Database) =>
    new Proxy(d1, {
      get: (target, key: keyof D1Database) => {
        if (key === 'prepare') return (sql: string) => watched(target.prepare(sql))
        if (key === 'batch') return (all: D1PreparedStatement[]) => guard('batch', () => target.batch(all.map((one) => bare.get(one)!)))
        const value = target[key] as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const queue = {
    sendBatch: (batch: readonly MessageSendRequest<RepseMessage>[]) =>
      guard('message', async () => void sent.push(...batch.map(({ body }) => body))),
  }
  return { bindings: { ...env, DB: database(env.DB), EVENTS_0: database(env.EVENTS_0), REPSE: queue } as unknown as Env, died: () => died }
}

const begin = async (time: string, bindings: Env = env) => {
  at(time)
  await refreshRepse(systemOf(bindings, new Date(), 'req_test'))
}
const raised = async (): Promise<string[]> =>
  (await env.EVENTS_0.prepare('select resource_id from alerts').all<{ resource_id: string }>()).results.map(
    ({ resource_id }) => resource_id,
  )

/** What breaks without it: a registry that shuts us out for asking too often, or a customer who is alarmed twice, because a machine went. */
describe('a round that is killed', () => {
  it.each(['before', 'after'] as const)(
    '%s any step, and run again, asks about no RFC twice that day and raises each alert once',
    async (when) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const of = [await subscriber(), await subscriber(), await subscriber(), await subscriber(), await subscriber(), await subscriber()]
      for (const one of of) await one.publish({ folio: '1', vigencia_hasta: '2026-12-01' })
      const asked = watchRegistry()
      const places: string[] = []
      for (let step = 1; ; step += 1) {
        await env.DB.batch(['repse_records', 'repse_rounds'].map((table) => env.DB.prepare(`delete from ${table}`)))
        await env.EVENTS_0.prepare('delete from alerts').run()
        asked.splice(0)
        const { bindings, died } = fragile(step, when)
        await begin('2026-11-19T10:00:00Z', bindings).catch(() => {})
        while (sent.length > 0 && died() === '') await deliver(sent.splice(0, 1), bindings)
        const cursor = died()
        // The messages are lost with it. It is run again the same day, and the sweep looks after what it leaves.
        sent.splice(0)
        await begin('2026-11-19T10:20:00Z')
        await settle(sent)
        at('2026-11-19T10:40:00Z')
        await sweepRounds(systemOf(env, new Date(), 'req_test'))
        await settle(sent)
        expect([cursor, asked.length - new Set(asked).size]).toEqual([cursor, 0])
        expect(await env.DB.prepare('select is_done from repse_rounds').first('is_done'), cursor).toBe(1)
        // At most the one that was claimed and not answered waits for tomorrow.
        const already = await raised()
        expect([cursor, new Set(already).size]).toEqual([cursor, already.length])
        expect(already.length, cursor).toBeGreaterThanOrEqual(of.length - 1)
        await begin('2026-11-20T10:00:00Z')
        await settle(sent)
        expect([cursor, (await raised()).sort()]).toEqual([cursor, of.map(({ fiscal_entity_id }) => fiscal_entity_id).sort()])
        if (cursor === '') break
        places.push(cursor)
      }
      // Of each page what is to be done, the claims and the answers, and its alerts; and the round itself.
      expect(places.length).toBeGreaterThan(25)
    },
  )
})
