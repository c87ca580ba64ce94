import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { api } from '../support/client.ts'
import { at } from '../support/clock.ts'
import { Platform } from '../support/invocations.ts'
import { type Method, ownerOf, patched } from '../support/meter.ts'
import { freshRfc, signUp } from '../support/tenants.ts'

interface Rows {
  read: number
  written: number
  times: number
}

/** Counts the rows of D1, and how often it is asked, by statement while the work runs. */
async function rowsOf(work: () => Promise<unknown>): Promise<Map<string, Rows>> {
  const rows = new Map<string, Rows>()
  const session = (env.LEDGER_0 as unknown as { alwaysPrimarySession: object }).alwaysPrimarySession
  type Answer = { meta?: { rows_read?: number; rows_written?: number } }
  const count = (send: Method) =>
    async function (this: unknown, ...args: unknown[]) {
      const answer = (await send.apply(this, args)) as Answer | Answer[]
      const asked = [args[1]].flat() as (string | { sql: string })[]
      for (const [n, { meta }] of [answer].flat().entries()) {
        const sql = asked[n]!
        const key = typeof sql === 'string' ? sql : sql.sql
        const { read, written, times } = rows.get(key) ?? { read: 0, written: 0, times: 0 }
        rows.set(key, { read: read + (meta?.rows_read ?? 0), written: written + (meta?.rows_written ?? 0), times: times + 1 })
      }
      return answer
    }
  const undo = patched(ownerOf(session, '_send'), '_send', count)
  try {
    await work()
  } finally {
    undo()
  }
  return rows
}

const total = (rows: Iterable<Rows>, of: keyof Rows): number => [...rows].reduce((sum, row) => sum + row[of], 0)
const FORGETTING = /^\s*(with .*)?delete from "?(sync_jobs|extractions|tick_pages|runs|events)/s
const apart = (rows: Map<string, Rows>, isForgetting: boolean) =>
  new Map([...rows].filter(([sql]) => FORGETTING.test(sql) === isForgetting))

/** Rows written, by table. */
const writtenBy = (rows: Map<string, Rows>): Record<string, number> => {
  const tables: Record<string, number> = {}
  for (const [sql, { written }] of rows) {
    const table = /\b(?:into|update|delete from)\s+"?(\w+)/.exec(sql)?.[1] ?? ''
    if (written > 0) tables[table] = (tables[table] ?? 0) + written
  }
  return tables
}

const DAY_MS = 86_400_000
/** A midnight in Mexico City. Nothing is new for the taxpayer from the second to the sixteenth of a month. */
const FIRST = Date.parse('2027-03-02T06:00:00Z')
const DAYS = 105
/** In the days before the first, everything is downloaded, and asked for again. */
const DAYS_BEFORE = 3

/** What breaks without it: a service in use pays for days on which nothing happens, and each day more of it. */
describe('a quiet day of one RFC, with the extractors of every new organization', () => {
  const platform = new Platform()
  const days: { rows: Map<string, Rows>; daily: Map<string, Rows>; jobs: number }[] = []

  beforeAll(async () => {
    const connected = new Date(FIRST - (DAYS_BEFORE + 0.5) * DAY_MS)
    at(connected.toISOString())
    const owner = await signUp()
    await env.DB.prepare("update organizations set plan = 'api', billed_month = '9999-12'").run()
    expect((await api(owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'empty123' })).status).toBe(201)
    await platform.cron('* * * * *', connected)
    await platform.run()
    for (let day = -DAYS_BEFORE; day < DAYS; day++) {
      const [midnight, morning] = [0, 4].map((hours) => new Date(FIRST + day * DAY_MS + hours * 3_600_000)) as [Date, Date]
      at(midnight.toISOString())
      const rows = await rowsOf(async () => {
        await platform.cron('*/15 * * * *', midnight)
        await platform.run()
      })
      at(morning.toISOString())
      const daily = await rowsOf(async () => {
        await platform.cron('0 10 * * *', morning)
        await platform.run()
      })
      if (day >= 0)
        days.push({ rows, daily, jobs: (await env.LEDGER_0.prepare('select count(*) as n from sync_jobs').first<number>('n'))! })
    }
  }, 300_000)
  afterAll(() => {
    vi.useRealTimers()
  })

  it('costs the same on its last day as on its first, statement by statement, but for forgetting', () => {
    expect(apart(days.at(-1)!.rows, false)).toEqual(apart(days[0]!.rows, false))
  })

  it('writes two rows a job, those of the events apart, and 23 beside; objects write none', async () => {
    const { events, ...written } = writtenBy(apart(days[0]!.rows, false))
    expect(written).toEqual({
      sync_jobs: 30,
      ...{ sync_work: 3, outbox: 2, relays: 2, extractions: 1, connections: 2, runs: 5, extractors: 1, tick_pages: 3, zones: 1 },
      // The day's question for requests to cancel.
      status_rechecks: 3,
    })
    // One for each job, and one for the extraction.
    expect(events).toBe(16)
    const stored = await runInDurableObject(env.MUTEXES.getByName('relay:0'), (_, { storage }) => [...storage.kv.list()])
    expect(stored).toEqual([])
  })

  it('reads at most 1,420 rows', () => {
    for (const { rows } of [days[0]!, days.at(-1)!]) expect(total(rows.values(), 'read')).toBeLessThanOrEqual(1_420)
  })

  it('asks the control database once for the login of all jobs', () => {
    const logins = (rows: Map<string, Rows>) =>
      [...rows].filter(([sql]) => sql.includes('"efirma_version"') && sql.includes('"connections"."state" = ?'))
    for (const { rows } of [days[0]!, days.at(-1)!]) expect(logins(rows).map(([, { times }]) => times)).toEqual([1])
  })

  it('is forgotten after 14 days, at a row a job, so that the number of jobs does not grow', () => {
    const kept = days.slice(18).map(({ jobs }) => jobs)
    // Each RFC has its turn every other day.
    expect(Math.max(...kept) - days[0]!.jobs).toBeLessThanOrEqual(15 * 16)
    const month = days.slice(-28)
    const forgotten = month.reduce((sum, { rows, daily }) => {
      return sum + total(apart(rows, true).values(), 'written') + total(apart(daily, true).values(), 'written')
    }, 0)
    expect(forgotten).toBeGreaterThan(15 * 14)
    expect(forgotten / month.length).toBeLessThanOrEqual(35)
  })
})
