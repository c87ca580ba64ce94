import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Dispatch } from '../../../../src/connections/extractors/ticks/ticks.ts'
import { at } from '../../../support/clock.ts'
import { runs } from '../../../support/fuzz.ts'
import { randomOf } from '../../../support/random.ts'
import { connect, freshRfc, type Organization, organization } from '../../../support/tenants.ts'
import { created, scheduled } from '../support/extractors.ts'
import { Clockwork, datesOf, daysAfter, forget, insertMany, runsOf } from '../support/ticks.ts'

beforeEach(forget)
afterEach(() => {
  vi.useRealTimers()
})

const rows = async (sql: string, ...values: unknown[]) =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all()
  ).results
const ledgerRows = async (sql: string) => (await env.LEDGER_0.prepare(sql).all()).results
const planned = () =>
  rows(`select extractor_id, local_date, count(*) as n, count(distinct run_id) as ids from runs group by 1, 2 order by 1, 2`)
const readDeadLetters = () => rows('select queue, body, reason from dead_letters order by body')
const midnight = (day: string) => `${day}T06:00:00.000Z`

/** From one step on nothing more is done, as when the machine goes: the step itself happened or not. */
function dieAt(clockwork: Clockwork, step: number, when: 'before' | 'after') {
  let [steps, died] = [0, '']
  clockwork.watch = (name, now) => {
    if (now === 'before') steps += 1
    if (died === '' && steps === step && now === when) died = `${name} ${when}`
    if (died !== '') throw new Error(`Died at ${died}.`)
  }
  return () => {
    clockwork.watch = () => {}
    return died
  }
}

const quietly = (work: () => Promise<unknown>) => work().catch(() => {})

describe('a crash', () => {
  /** What breaks without it: a customer's night is lost, or downloaded twice, because a machine went at a bad moment. */
  it.each([
    ['before', 'kept', 1],
    ['after', 'kept', 2],
    ['before', 'lost', 3],
    ['after', 'lost', 4],
  ] as const)('%s any step, the messages %s, leaves nothing that the sweep does not finish, once', async (when, messages, first) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    at('2027-01-01T18:00:00Z')
    const acme = await organization()
    await connect(acme.owner, undefined, { data_source_keys: ['sat_csf'] })
    const extractors = [await created(acme, scheduled), await created(acme, { ...scheduled, timezone: 'America/Merida' })]
    const clockwork = new Clockwork()
    const places: string[] = []
    // Some steps with every run, each kind of crash others, and all in the long one.
    const stride = runs(4, 1)
    for (let [day, step] = ['2027-01-02', runs(first, 1)]; ; [day, step] = [daysAfter(day, 1), step + stride]) {
      await env.LEDGER_0.prepare(`update sync_jobs set open = 0, error_class = null, finished_after = -created_after where open = 1`).run()
      const before = Number((await ledgerRows('select count(*) as n from sync_jobs'))[0]!['n'])
      const revive = dieAt(clockwork, step, when)
      await quietly(() => clockwork.tick(midnight(day)))
      // A message that was under way is kept by the queue as well: it was not acknowledged.
      const kept: Dispatch[] = []
      while (clockwork.sent.length > 0) {
        const [message] = clockwork.sent.splice(0, 1)
        const { retryMessages } = await clockwork.deliver([message])
        if (retryMessages.length > 0) kept.push(message!)
      }
      const died = revive()
      if (messages === 'kept') clockwork.sent.push(...kept)
      await clockwork.settle()
      // The cron that died is not repeated: the next quarter of an hour comes.
      for (const minutes of ['02', '04']) {
        await clockwork.sweep(`${day}T06:${minutes}:00Z`)
        await clockwork.settle()
      }
      await clockwork.pass(`${day}T06:15:00Z`)
      await clockwork.sweep(`${day}T06:17:00Z`)
      await clockwork.settle()
      for (const { extractor_id } of extractors) {
        const runs = (await runsOf(acme, extractor_id)).filter(({ local_date }) => local_date === day)
        expect(runs, `${day} ${died}`).toEqual([expect.objectContaining({ status: 'dispatched', connections: 1 })])
      }
      const jobs = Number((await ledgerRows('select count(*) as n from sync_jobs'))[0]!['n']) - before
      expect(jobs, `${day} ${died}: sat_csf and sat_miinformacion, once for both`).toBe(2)
      const counted = await rows('select sum(dispatched) as n from runs where local_date = ?', day)
      expect(counted, `${day} ${died}`).toEqual([{ n: 1 }])
      expect(await rows('select * from tick_pages where is_done = 0'), `${day} ${died}`).toEqual([])
      if (died === '') break
      places.push(died)
    }
    // Two zones, each: the advance, its message; the page, its message; the run's jobs, their announcement, its outcome.
    expect(places.length).toBeGreaterThanOrEqual(Math.floor(14 / stride))
    expect(new Set(places).size).toBeGreaterThanOrEqual(runs(1, 4))
  })

  it('within a tick of several pages leaves one run for each extractor', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const count = 2_100
    for (let step = 1; step <= 8; step += 1) {
      await forget()
      const clockwork = new Clockwork()
      await insertMany(count, () => ({ timezone: 'America/Mexico_City', cadence: 'daily', armed_day: '2027-03-01' }), '2027-03-01')
      const revive = dieAt(clockwork, step, step % 2 === 0 ? 'after' : 'before')
      const pages = async () => {
        while (clockwork.sent.length > 0) {
          const due = clockwork.sent.splice(0).filter((message) => 'page' in message)
          await clockwork.deliver(due)
        }
      }
      await quietly(() => clockwork.tick(midnight('2027-03-02')))
      await pages()
      expect(revive()).not.toBe('')
      for (const minutes of ['02', '04', '15']) {
        await clockwork.tick(`2027-03-02T06:${minutes}:00Z`)
        await pages()
        // Its runs are left alone: this is about planning them.
        await env.DB.prepare(`update runs set status = 'no_connections'`).run()
        await clockwork.sweep(`2027-03-02T06:${minutes}:30Z`)
        await pages()
      }
      const runs = await planned()
      expect(runs.length, `step ${step}`).toBe(count)
      expect(runs.filter(({ n, local_date }) => n !== 1 || local_date !== '2027-03-02')).toEqual([])
    }
  })
})

describe('a dispatch message', () => {
  async function night(count: number) {
    at('2027-05-01T18:00:00Z')
    const clockwork = new Clockwork()
    await insertMany(count, () => ({ timezone: 'America/Mexico_City', cadence: 'daily', armed_day: '2027-05-01' }), '2027-05-01')
    await clockwork.tick(midnight('2027-05-02'))
    return clockwork
  }

  it('delivered twice, at once, out of order, or long after its page was done, changes nothing', async () => {
    const count = runs(12, 1_030)
    const clockwork = await night(count)
    const random = randomOf(3)
    const shuffled = (messages: Dispatch[]) =>
      messages
        .map((it) => ({ it, n: random() }))
        .sort((a, b) => a.n - b.n)
        .map(({ it }) => it)
    const all: Dispatch[] = []
    while (clockwork.sent.length > 0) {
      const batch = clockwork.sent.splice(0)
      all.push(...batch)
      await clockwork.deliver(shuffled([...batch, ...batch]))
    }
    const state = () =>
      rows('select * from runs order by run_id').then(async (runs) => ({ runs, pages: await rows('select * from tick_pages') }))
    const before = await state()
    expect(before.runs.length).toBe(count)
    expect(before.runs.filter(({ status }) => status !== 'no_connections')).toEqual([])
    await clockwork.deliver(shuffled(all))
    await clockwork.settle()
    expect(await state()).toEqual(before)
  })

  it('that nobody can read is kept with the reason, and its batch mates land', async () => {
    const clockwork = await night(2)
    const [page] = clockwork.sent.splice(0)
    const poison = [
      null,
      'page',
      { page: { timezone: 'UTC' } },
      { runs: ['run_1'], page: {} },
      { runs: [1] },
      { page: { timezone: 'X', day: '', cadence: '' } },
    ]
    const { retryMessages, explicitAcks } = await clockwork.deliver([...poison, page])
    expect([retryMessages, explicitAcks.length]).toEqual([[], 7])
    expect((await planned()).length).toBe(2)
    const deadLetters = await readDeadLetters()
    // The last is a message of ours about a page that is not there.
    expect(deadLetters.map(({ body }) => JSON.parse(body as string))).toEqual(expect.arrayContaining(poison.slice(0, -1)))
    expect(deadLetters.map(({ queue, reason }) => `${queue}: ${reason}`)).toEqual(
      poison.slice(1).map(() => 'dispatch: Not a message of this queue.'),
    )
  })

  async function withPoisonousRun() {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    at('2027-05-01T18:00:00Z')
    const poisoned: Organization = await organization()
    const { fiscal_entity_id } = await connect(poisoned.owner, undefined, { data_source_keys: ['sat_csf'] })
    const first = await created(poisoned, scheduled)
    await env.DB.prepare('update connections set shard = 99 where organization_id = ? and fiscal_entity_id = ?')
      .bind(poisoned.id, fiscal_entity_id)
      .run()
    const healthy = await organization()
    const second = await created(healthy, scheduled)
    const clockwork = new Clockwork()
    await clockwork.tick(midnight('2027-05-02'))
    await clockwork.deliver(clockwork.sent.splice(0))
    const outcomes = async () => ({
      poisoned: (await runsOf(poisoned, first.extractor_id)).map(({ status }) => status),
      healthy: (await runsOf(healthy, second.extractor_id)).map(({ status }) => status),
    })
    expect(clockwork.sent).toEqual([{ runs: [expect.any(String), expect.any(String)] }])
    return { clockwork, outcomes }
  }

  it('with a run that always fails carries out the others, is tried again later and later, and ends as a record of why', async () => {
    const { clockwork, outcomes } = await withPoisonousRun()
    const [message] = clockwork.sent.splice(0)
    const delays: (number | undefined)[] = []
    for (let attempts = 1; attempts <= 6; attempts += 1) delays.push(...(await clockwork.deliver([message], { attempts })).delays)
    expect(delays).toEqual([10, 20, 40, 80, 160, 320])
    expect(await outcomes()).toEqual({ poisoned: ['planned'], healthy: ['no_connections'] })
    await clockwork.deliver([message], { queue: 'dead-letters', attempts: 1 })
    expect(await readDeadLetters()).toEqual([
      { queue: 'fiscal-local-dead-letters', body: JSON.stringify(message), reason: expect.stringMatching(/Every attempt failed/) },
    ])
  })

  it('that is lost leaves runs to the sweep, which does not stop at one that fails', async () => {
    const { clockwork, outcomes } = await withPoisonousRun()
    clockwork.sent.splice(0)
    await quietly(() => clockwork.sweep('2027-05-02T06:02:00Z'))
    await clockwork.settle()
    expect(await outcomes()).toEqual({ poisoned: ['planned'], healthy: ['no_connections'] })
  })
})

describe('one zone', () => {
  it('that the runtime knows no more, or whose messages cannot be sent, does not keep the others from their midnight', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    at('2027-05-01T18:00:00Z')
    const acme = await organization()
    const { extractor_id } = await created(acme, scheduled)
    await env.DB.prepare(`insert into zones values ('Africa/Nowhere', '2027-05-01')`).run()
    const clockwork = new Clockwork()
    await expect(clockwork.tick(midnight('2027-05-02'))).rejects.toThrow()
    await clockwork.settle()
    expect(await datesOf(acme, extractor_id)).toEqual(['2027-05-02'])
  })
})

describe('a run that is finished late', () => {
  it('does not take back that a later one happened', async () => {
    at('2027-05-01T18:00:00Z')
    const acme = await organization()
    await acme.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'empty' })
    await created(acme, scheduled)
    const clockwork = new Clockwork()
    await clockwork.tick(midnight('2027-05-02'))
    await clockwork.deliver(clockwork.sent.splice(0))
    const late = clockwork.sent.splice(0)
    await clockwork.pass(midnight('2027-05-03'))
    await clockwork.deliver(late)
    const [{ last_run_at }] = (await acme.ask('GET', '/v1/extractors')).body
    expect(last_run_at).toBe(midnight('2027-05-03'))
  })
})
