import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { issueInvoices } from '../../../../src/accounts/billing/invoices/issue.ts'
import { reviewSubscriptions } from '../../../../src/accounts/billing/subscription/review.ts'
import { resume } from '../../../../src/app/resume.ts'
import { cadenceOf, isDue } from '../../../../src/connections/extractors/rules.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { localDayOf } from '../../../../src/platform/time/calendar.ts'
import { costOf } from '../../../support/meter.ts'
import { randomOf } from '../../../support/random.ts'
import { Clockwork, daysAfter, forget, insertMany, type Scheduled } from '../support/ticks.ts'

const COUNT = 20_000
const MEXICO_CITY = 'America/Mexico_City'
const ZONES = [MEXICO_CITY, ...Intl.supportedValuesOf('timeZone').filter((zone) => /^(America|Europe|Asia)\/[P-Z]/.test(zone))].slice(0, 40)
const SAVED = '2027-03-01'

const random = randomOf(27)
const below = (limit: number): number => Math.floor(random() * limit)

/** Customers who take every day, any number of days, and a weekday of the month. */
function anyCadence(armed_day: string): string {
  const turn = random()
  if (turn < 0.6) return 'daily'
  if (turn < 0.9) return cadenceOf('every_n_days', { n: 1 + below(365) }, armed_day)
  return cadenceOf('nth_weekday_monthly', { weekday: below(7), nth: 1 + below(5) }, armed_day)
}

let extractors: Scheduled[] = []
beforeAll(async () => {
  await forget()
  extractors = await insertMany(
    COUNT,
    (n) => {
      const armed_day = daysAfter(SAVED, below(15) - 365)
      return { timezone: n % 2 === 0 ? MEXICO_CITY : ZONES[1 + (n % (ZONES.length - 1))]!, cadence: anyCadence(armed_day), armed_day }
    },
    '2027-03-16',
  )
})
afterAll(() => {
  vi.useRealTimers()
})

/** Rows that the statement which makes runs reads: as many as it makes, and no work of finding what is due. */
function insertsApart(clockwork: Clockwork): () => number {
  let read = 0
  const database = clockwork.env.DB
  clockwork.env.DB = new Proxy(database, {
    get: (_, key: keyof D1Database) => {
      if (key !== 'batch') return database[key]
      return async (statements: D1PreparedStatement[]) => {
        const results = await database.batch(statements)
        for (const [n, { meta }] of results.entries())
          if ((statements[n] as unknown as { statement: string }).statement.startsWith('insert into "runs"')) read += meta.rows_read
        return results
      }
    },
  })
  return () => read
}

/** Plans all pages; the runs themselves are left. */
async function plan(clockwork: Clockwork): Promise<void> {
  while (clockwork.sent.length > 0) await clockwork.deliver(clockwork.sent.splice(0).filter((message) => 'page' in message))
}

const dueOn = (day: string, missed: number, timezone: string): string[] =>
  extractors
    .filter((it) => it.timezone === timezone)
    .filter(({ cadence, armed_day }) =>
      Array.from({ length: missed }, (_, n) => daysAfter(day, -n)).some((one) => isDue(cadence, armed_day, one)),
    )
    .map(({ extractor_id }) => extractor_id)
    .sort()

async function plannedFor(timezone: string): Promise<string[]> {
  const { results } = await env.DB.prepare(
    'select extractor_id from runs join extractors using (extractor_id) where timezone = ? order by 1',
  )
    .bind(timezone)
    .all()
  return results.map(({ extractor_id }) => extractor_id as string)
}

/** The next midnight is one after some days without a tick. */
async function evaluatedUpTo(day: string, elsewhere = day): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('delete from runs'),
    env.DB.prepare('delete from tick_pages'),
    env.DB.prepare('update zones set evaluated_day = case timezone when ?1 then ?2 else ?3 end').bind(MEXICO_CITY, day, elsewhere),
  ])
}

/** What breaks without these: every quarter of an hour costs the operator a look at every extractor that exists. */
describe('rows that D1 reads', () => {
  it('are one for each zone in an idle tick, and one each for whose grace or trial has ended, for documents to be read again, for CFDIs in doubt, for alerts to be resolved and for the clock of a sandbox; it writes none', async () => {
    await evaluatedUpTo('2027-03-16')
    const clockwork = new Clockwork()
    await clockwork.tick('2027-03-16T12:00:00Z')
    await plan(clockwork)
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () => clockwork.tick('2027-03-16T12:15:00Z'))
    expect(cost).toMatchObject({ rows_read: ZONES.length + 7, rows_written: 0, d1_calls: 6 })
    expect(clockwork.sent).toEqual([])
  })

  it('are at most 1.1 for each extractor that is due at midnight in Mexico City, all of which are found, and no other', async () => {
    await evaluatedUpTo('2027-03-16', '2027-03-17')
    const clockwork = new Clockwork()
    const inserts = insertsApart(clockwork)
    const { cost } = await costOf(env.LEDGER_0, env.FILES, async () => {
      await clockwork.tick('2027-03-17T06:00:00Z')
      await plan(clockwork)
    })
    const due = dueOn('2027-03-17', 1, MEXICO_CITY)
    expect(due.length).toBeGreaterThan(6_000)
    expect(await plannedFor(MEXICO_CITY)).toEqual(due)
    expect((cost.rows_read - inserts()) / due.length).toBeLessThanOrEqual(1.1)
  })

  it('are one for each kind of work that may be left, in a minute in which none is: the clock of a sandbox, pages of ticks, runs, jobs, missed cancellations, CIECs, imports, facts of each database, deliveries, logs to be cleared, look-ups, a round, operators’ orders, decisions about letters, fan-outs, notifications to be opened, connectors with something due, reports, conversations, leases of the fetcher, exports, alerts to be told, quotas to be told of in control and in each shard of events', async () => {
    await env.DB.prepare(`update runs set status = 'no_connections'`).run()
    const clockwork = new Clockwork()
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () => clockwork.sweep('2027-03-17T09:00:00Z'))
    // What is looked into and has nothing counts as one, but for the least endpoint with something pending, which counts as none.
    expect(cost).toMatchObject({ d1_calls: 23, rows_read: 30, rows_written: 0 })
    expect(clockwork.sent).toEqual([])
  })
})

/** What breaks without it: every organization that ever was is read every day, however little there is to do. */
it('the rows that the daily work on billing reads do not grow with the organizations whose month is billed', async () => {
  const insert = (from: number, to: number) =>
    env.DB.prepare(
      `with recursive n (i) as (select ?1 union all select i + 1 from n where i < ?2 - 1)
       insert into organizations (id, name, timezone, plan, trial_ends_at, suspension, extractor_count, events_shard, billed_month, created_at)
       select 'org_many_' || i, 'Una', 'America/Mexico_City', iif(i % 3, 'api', 'diagnostic'), iif(i % 3, null, 1900000000000), null, 0, 0, '2027-03', 0
       from n`,
    )
      .bind(from, to)
      .run()
  const work = async () => {
    const system = systemOf(env, new Date('2027-03-17T10:00:00Z'), 'daily')
    expect([await issueInvoices(system), await reviewSubscriptions(system, resume)]).toEqual([null, null])
  }
  const rows = async () => (await costOf(env.LEDGER_0, env.FILES, work)).cost.rows_read
  await insert(0, 100)
  await rows()
  const few = await rows()
  await insert(100, 3_000)
  expect(await rows()).toBe(few)
})

/** What breaks without it: after an outage a customer's night is skipped, or asked of the authority once for each day missed. */
it('a week without a tick ends with one run for each extractor of every zone that any of its days was due for', async () => {
  await evaluatedUpTo('2027-03-10')
  const clockwork = new Clockwork()
  await clockwork.tick('2027-03-17T12:00:00Z')
  await plan(clockwork)
  for (const timezone of ZONES) {
    const today = localDayOf(new Date('2027-03-17T12:00:00Z'), timezone)
    const missed = Math.round((Date.parse(today) - Date.parse('2027-03-10')) / 86_400_000)
    expect(await plannedFor(timezone), timezone).toEqual(dueOn(today, missed, timezone))
  }
})
