import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { Clockwork, forget, runsOf } from '../../connections/extractors/support/ticks.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { audited, freshRfc } from '../../support/tenants.ts'
import { type Billed, billed, forgetBilled } from './support/billing.ts'

const FIRST = '2027-03-10T18:00:00Z'
const QUARTER = 900_000

beforeEach(async () => {
  await forget()
  await forgetBilled()
  losingMessages()
  at(FIRST)
})
afterEach(restore)

const iso = (at: number): string => new Date(at).toISOString()
const ACTIVE = ['active', 'active']
const OWING = ['paused active payment', 'paused active payment']

async function connected(plan: string, rfcs = 2): Promise<Billed> {
  const of = await billed(plan)
  for (let n = 0; n < rfcs; n++) await of.connect(freshRfc())
  return of
}

/** Past the front door: so many that owe, all due on one day, with the moment at which their grace ends. */
async function insertOwing(count: number, due_on: string, review_at: string): Promise<void> {
  const ids = JSON.stringify(Array.from({ length: count }, (_, n) => `org_${n}`))
  await env.DB.batch([
    env.DB.prepare(
      `insert into organizations (id, name, timezone, plan, extractor_count, events_shard, created_at)
       select value, 'Una', 'America/Mexico_City', 'api', 0, 0, 0 from json_each(?)`,
    ).bind(ids),
    env.DB.prepare(
      `insert into invoices (
         invoice_id, organization_id, sequence, period, subtotal, tax, total, currency, status, issued_at, due_on, review_at)
       select 'a_' || value, value, 1, '2027-03', '1', '0', '1', 'MXN', 'open', 0, ?2, ?3 from json_each(?1)`,
    ).bind(ids, due_on, Date.parse(review_at)),
  ])
}

const suspended = () => env.DB.prepare(`select count(*) as n from organizations where suspension = 'payment'`).first<number>('n')

describe('a suspension', () => {
  it.each([
    ['America/Mexico_City', '2027-03-10', '2027-03-13T06:00:00Z'],
    ['America/Tijuana', '2027-03-12', '2027-03-15T07:00:00Z'],
    ['Asia/Kathmandu', '2027-03-10', '2027-03-12T18:15:00Z'],
    ['Pacific/Chatham', '2027-04-02', '2027-04-04T11:15:00Z'],
    ['Pacific/Kiritimati', '2027-03-10', '2027-03-12T10:00:00Z'],
    ['America/Santiago', '2027-09-02', '2027-09-05T04:00:00Z'],
  ])('in %s for what was due on %s comes with the tick of %s', async (timezone, due, end) => {
    const of = await connected('starter')
    await of.set('timezone = ?', timezone)
    await of.invoice(due)
    const clockwork = new Clockwork()
    for (const time of [Date.parse(end) - 86_400_000, Date.parse(end) - QUARTER]) {
      await clockwork.pass(iso(time))
      expect([iso(time), await of.states()]).toEqual([iso(time), ACTIVE])
    }
    await clockwork.pass(end)
    expect(await of.states()).toEqual(OWING)
  })

  it('comes before the downloads of the night, which are those of who pays', async () => {
    // So that there is much to do first.
    await insertOwing(2_100, '2027-03-10', '2027-03-13T06:00:00Z')
    const [owes, pays] = [await connected('starter'), await connected('starter')]
    const daily = { ...draft, trigger_kind: 'schedule', schedule_kind: 'daily' }
    const [of, other] = [await created(owes, daily), await created(pays, daily)]
    await owes.invoice()
    const clockwork = new Clockwork()
    // Before anybody is told of the night, lest a consumer be faster.
    const said: string[][] = []
    const { sendBatch } = clockwork.env.DISPATCH
    clockwork.env.DISPATCH.sendBatch = async (messages) => {
      said.push(await owes.states())
      return sendBatch(messages)
    }
    const outcomes = async (whose: Billed, extractor_id: string) =>
      (await runsOf(whose, extractor_id)).map(({ local_date, status, connections }) => [local_date, status, connections])
    for (const night of ['2027-03-11', '2027-03-12', '2027-03-13', '2027-03-14']) await clockwork.pass(`${night}T06:00:00Z`)
    expect(await outcomes(owes, of.extractor_id)).toEqual([
      ['2027-03-14', 'no_connections', 0],
      ['2027-03-13', 'no_connections', 0],
      ['2027-03-12', 'dispatched', 2],
      ['2027-03-11', 'dispatched', 2],
    ])
    // Each night its page, then its runs.
    expect(said.filter((_, n) => n % 2 === 0)).toEqual([ACTIVE, ACTIVE, OWING, OWING])
    expect((await outcomes(pays, other.extractor_id)).map(([, status]) => status)).toEqual(Array(4).fill('dispatched'))
  })

  it('is not for what an operator has recorded as paid by then', async () => {
    const of = await connected('starter')
    const { invoice_id } = await of.invoice()
    await env.DB.prepare(
      "insert into operator_orders (command_id, kind, organization_id, invoice_id, created_at) values (?1, 'pay', ?2, ?3, 0)",
    )
      .bind(crypto.randomUUID(), of.id, invoice_id)
      .run()
    await new Clockwork().tick('2027-03-13T06:00:00Z')
    expect([await of.states(), (await of.billing()).state]).toEqual([ACTIVE, 'active'])
    expect(await audited(of, 'organization.suspended')).toEqual([])
  })

  it('of a trial comes with its last midnight', async () => {
    const of = await connected('diagnostic', 1)
    const clockwork = new Clockwork()
    await clockwork.pass('2027-03-17T05:45:00Z')
    expect(await of.states()).toEqual(['active'])
    await clockwork.pass('2027-03-17T06:00:00Z')
    expect([await of.states(), (await of.billing()).state]).toEqual([['paused active trial'], 'diagnostic_expired'])
  })

  it('whose tick is missed comes with the next one, and without any with the day', async () => {
    const [of, other] = [await connected('starter'), await connected('starter')]
    await of.invoice()
    const clockwork = new Clockwork()
    await clockwork.tick('2027-03-20T12:34:56Z')
    expect(await of.states()).toEqual(OWING)
    // As an invoice of before there were such ticks.
    await other.invoice()
    await env.DB.prepare('update invoices set review_at = null').run()
    await clockwork.tick('2027-03-30T12:00:00Z')
    expect(await other.states()).toEqual(ACTIVE)
    await clockwork.daily('2027-03-30T10:00:00Z')
    expect(await other.states()).toEqual(OWING)
  })

  it('is decided in the zone that the organization is in by then', async () => {
    const [west, east] = [await connected('starter'), await connected('starter')]
    for (const of of [west, east]) await of.invoice()
    await west.set("timezone = 'America/Tijuana'")
    await east.set("timezone = 'Europe/Madrid'")
    const clockwork = new Clockwork()
    await clockwork.tick('2027-03-13T06:00:00Z')
    expect([await west.states(), await east.states()]).toEqual([ACTIVE, OWING])
    await clockwork.tick('2027-03-13T08:00:00Z')
    expect(await west.states()).toEqual(OWING)
  })

  it('is told once, however often the tick comes, and never of who has paid', async () => {
    const [of, paid] = [await connected('starter'), await connected('starter')]
    await of.invoice()
    await paid.pay((await paid.invoice()).invoice_id)
    const clockwork = new Clockwork()
    await Promise.all([1, 2, 3].map(() => clockwork.tick('2027-03-13T06:00:00Z')))
    for (const time of ['2027-03-13T06:00:00Z', '2027-03-13T06:15:00Z']) await clockwork.tick(time)
    expect([await of.states(), await paid.states()]).toEqual([OWING, ACTIVE])
    for (const [whose, times] of [
      [of, 1],
      [paid, 0],
    ] as const)
      expect(await audited(whose, 'organization.suspended')).toHaveLength(times)
  })

  it('of one that nobody can look at keeps nobody from theirs, nor from the night', async () => {
    const [broken, of] = [await connected('starter'), await connected('starter')]
    const { extractor_id } = await created(of, { ...draft, trigger_kind: 'schedule', schedule_kind: 'daily' })
    for (const whose of [broken, of]) await whose.invoice()
    await broken.set("plan = 'gone'")
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const clockwork = new Clockwork()
    await expect(clockwork.tick('2027-03-13T06:00:00Z')).rejects.toThrow()
    await clockwork.settle()
    expect(await of.states()).toEqual(OWING)
    expect((await runsOf(of, extractor_id)).map(({ local_date }) => local_date)).toEqual(['2027-03-13'])
  })
})

describe('any number of suspensions', () => {
  const END = '2027-03-13T06:00:00Z'

  it('takes five calls of D1 for fifty, with their alerts, and five for all, and a tick after it three to tell of the alerts', async () => {
    await insertOwing(500, '2027-03-10', END)
    const clockwork = new Clockwork()
    const cost = async (time: string) => (await costOf(env.LEDGER_0, env.FILES, () => clockwork.tick(time))).cost
    // Beside them those of a tick in which nothing ends.
    const { d1_calls: idle } = await cost('2027-03-13T05:45:00Z')
    expect((await cost(END)).d1_calls).toBe(idle + 55)
    expect(await suspended()).toBe(500)
    expect((await cost('2027-03-13T06:15:00Z')).d1_calls).toBe(idle + 3)
  })

  it.each(['before', 'after'] as const)('is as whole after a crash %s any commit', async (when) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let step = 1, died = true; died; step++) {
      await env.DB.batch(['organizations', 'invoices', 'audit_events'].map((table) => env.DB.prepare(`delete from ${table}`)))
      await insertOwing(120, '2027-03-10', END)
      const clockwork = new Clockwork()
      let steps = 0
      died = false
      clockwork.watch = (_, now) => {
        if (now === when) steps++
        if (steps === step && now === when) died = true
        if (died) throw new Error('Died.')
      }
      await clockwork.tick(END).catch(() => {})
      clockwork.watch = () => {}
      const half = (await suspended())!
      if (died) expect([0, 50, 100, 120]).toContain(half)
      await clockwork.tick('2027-03-13T06:15:00Z')
      expect([step, await suspended()]).toEqual([step, 120])
      const { results } = await env.DB.prepare(
        `select resource_id from audit_events where action = 'organization.suspended' group by 1 having count(*) > 1`,
      ).all()
      expect([step, results]).toEqual([step, []])
      if (step === 1) expect(died).toBe(true)
    }
  })
})
