import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { shownJobId } from '../../src/taxpayers/visibility/jobs.ts'
import { watchAuthority } from '../authority/support/authority.ts'
import { created } from '../connections/extractors/support/extractors.ts'
import { at } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { randomOf } from '../support/random.ts'
import { freshRfc, type Organization, organization } from '../support/tenants.ts'
import { type Cell, Midnights, type Plan } from './support/midnights.ts'

/** RFCs that ten organizations share. */
const RFCS = runs(8, 100)
const SAVED = '2026-02-26T18:00:00Z'
/** Three zones at once; after an outage of a day, into a new month; a first Monday in two of the zones only. */
const TICKS = ['2026-02-27T08:00:00Z', '2026-03-01T16:00:00Z', '2026-03-02T06:00:00Z']
const ZONES = ['America/Cancun', 'America/Mexico_City', 'America/Tijuana', 'Asia/Tokyo']
const FILES = ['sat_csf', 'sat_opinion_32d', 'sat_rug']
const CFDI = ['sat_cfdi_issued', 'sat_cfdi_received']
const MANDATORY = 'sat_miinformacion'

const next = randomOf(20260227)
const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
const some = <T>(list: readonly T[], least: number): T[] => {
  const chosen = list.filter(() => next() < 0.5)
  return chosen.length >= least ? chosen : [pick(list)]
}

const CADENCES = [
  { schedule_kind: 'daily', schedule_spec: {} },
  { schedule_kind: 'daily', schedule_spec: {} },
  { schedule_kind: 'every_n_days', schedule_spec: { n: 2 } },
  { schedule_kind: 'every_n_days', schedule_spec: { n: 3 } },
  { schedule_kind: 'nth_weekday_monthly', schedule_spec: { weekday: 0, nth: 1 } },
  { schedule_kind: 'nth_weekday_monthly', schedule_spec: { weekday: 5, nth: 4 } },
]

const scheduled = () => ({ name: 'Nocturno', trigger_kind: 'schedule', timezone: pick(ZONES), is_enabled: next() < 0.9, ...pick(CADENCES) })
const months = () => ({
  ...scheduled(),
  scope: 'last_n_months',
  scope_months: pick([1, 1, 2]),
  data_source_keys: some([...CFDI, ...FILES], 1),
})
const files = () => ({ ...scheduled(), scope: pick(['full_history', 'since_watermark']), data_source_keys: some(FILES, 1) })
const onceDaily = { ...CADENCES[0], is_enabled: true, timezone: 'America/Mexico_City' }

/** The first two organizations have few RFCs, and all of their history; what they see of it is asked for by cadence alone. */
const wantedBy = (n: number): object[] => {
  if (n === 0) return [{ ...scheduled(), ...onceDaily, scope: 'since_watermark', data_source_keys: ['sat_cfdi_issued'] }]
  if (n === 1) return [{ ...scheduled(), ...onceDaily, ...CADENCES[2], scope: 'full_history', data_source_keys: ['sat_cfdi_received'] }]
  const unscheduled = { name: 'Al conectar', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: CFDI }
  return [months(), months(), files(), unscheduled]
}

const openWork = async () => {
  const left = await Promise.all([
    env.DB.prepare(
      "select (select count(*) from tick_pages where is_done = 0) + (select count(*) from runs where status = 'planned') as n",
    ).first('n'),
    env.LEDGER_0.prepare('select (select count(*) from sync_jobs where open = 1) + (select count(*) from outbox) as n').first('n'),
  ])
  return left[0] !== 0 || left[1] !== 0
}

const tick = (time: Date) => worker.scheduled(createScheduledController({ cron: '*/15 * * * *', scheduledTime: time }), env)

const organizations: Organization[] = []
const midnights = new Midnights(SAVED)
const fetched: Cell[] = []

beforeAll(async () => {
  at(SAVED)
  const rfcs = Array.from({ length: RFCS }, freshRfc)
  for (let n = 0; n < 10; n++) organizations.push(await organization('enterprise_gold'))
  for (const [n, of] of organizations.entries()) {
    // Every RFC has an organization; most have several.
    const own = n < 2 ? rfcs.slice(n, n + 2) : rfcs.filter((_, i) => i % 8 === n - 2 || next() < 0.2)
    await Promise.all(
      own.map(async (rfc) => {
        const data_source_keys = next() < 0.5 ? null : [...some(CFDI, n < 2 ? 2 : 1), ...some(FILES, 0)]
        const isDraft = n > 1 && next() < 0.05
        const { status } = await of.ask('POST', '/v1/fiscal-entities', { rfc, ...(!isDraft && { ciec: 'empty123' }), data_source_keys })
        expect(status).toBe(201)
        const sources = data_source_keys ?? [...CFDI, ...FILES.filter((key) => key !== 'sat_rug')]
        if (!isDraft) midnights.link({ organization: of.id, rfc, sources: [...sources, MANDATORY] })
      }),
    )
    for (const draft of wantedBy(n)) midnights.plan({ ...(await created(of, draft)), organization: of.id } as Plan)
  }
  watchAuthority((rfc, source, month) => fetched.push({ rfc, source, month }))
}, 60_000)

afterAll(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const textOf = (cells: readonly Cell[]): string[] => cells.map(({ rfc, source, month }) => `${rfc} ${source} ${month}`).sort()

describe.each(TICKS)(`ten organizations, ${RFCS} RFCs, at %s`, (instant) => {
  let expected: ReturnType<Midnights['tick']>

  it('every cell that anybody wants is fetched, each once, and nothing else', async () => {
    fetched.length = 0
    expected = midnights.tick(instant)
    at(new Date(Date.parse(instant) + 7_000).toISOString())
    // A cron that is delivered twice, at once and later, is one tick.
    await Promise.all([tick(new Date(instant)), tick(new Date(instant))])
    await vi.waitUntil(async () => !(await openWork()), { timeout: 50_000, interval: 100 })
    await tick(new Date(Date.parse(instant) + 900_000))
    expect(await openWork()).toBe(false)
    expect(expected.cells.length).toBeGreaterThan(RFCS)
    expect(textOf(fetched)).toEqual(textOf(expected.cells))
  }, 60_000)

  it('every extractor that is due has one run, which says what it covered and what it alone queued', async () => {
    const { results } = await env.DB.prepare("select * from runs where trigger = 'schedule' and instant = ?")
      .bind(Date.parse(instant))
      .all<{ run_id: string; extractor_id: string; local_date: string; status: string; connections: number; dispatched: number }>()
    const notified = results.map(({ extractor_id, local_date, connections, status }) => ({ extractor_id, local_date, connections, status }))
    const byId = (a: { extractor_id: string }, b: { extractor_id: string }) => (a.extractor_id < b.extractor_id ? -1 : 1)
    expect(notified.sort(byId)).toEqual(expected.runs.map((run) => ({ ...run, status: 'dispatched' })).sort(byId))
    // Each time that a run queues anything for an RFC, its jobs have an identifier of their own.
    const queued = await env.LEDGER_0.prepare("select count(distinct entity || ' ' || job_id) as n from sync_jobs where as_of = ?")
      .bind(Date.parse(instant))
      .first<number>('n')
    const requests = await env.LEDGER_0.prepare('select run_id, sum(dispatched) as n from extractions where instant = ? group by 1')
      .bind(Date.parse(instant))
      .all<{ run_id: string; n: number }>()
    const requested = new Map(requests.results.map(({ run_id, n }) => [run_id, n]))
    for (const { run_id, dispatched } of results) expect(dispatched).toBe(requested.get(run_id) ?? 0)
    const sum = (name: 'connections' | 'dispatched') => results.reduce((total, run) => total + run[name], 0)
    expect(sum('dispatched')).toBe(queued)
    expect(sum('dispatched')).toBeGreaterThanOrEqual(new Set(expected.cells.map(({ rfc }) => rfc)).size)
    expect(sum('dispatched')).toBeLessThan(sum('connections'))
  })

  it('every window is where its own organization’s runs put it', async () => {
    const { results } = await env.DB.prepare(
      `select organization_id || ' ' || rfc || ' sat_cfdi_issued' as key, issued_from as visible_from, issued_to as visible_to
       from connections where state = 'active'
       union all select organization_id || ' ' || rfc || ' sat_cfdi_received', received_from, received_to
       from connections where state = 'active'`,
    ).all<{ key: string; visible_from: string | null; visible_to: number | null }>()
    const windows = results.map(({ key, visible_from, visible_to }) => [key, visible_from, visible_to])
    expect(windows.sort()).toEqual(expected.windows.sort())
  })

  it('every job took one attempt, and whoever asked is told of it once', async () => {
    const jobs = await env.LEDGER_0.prepare('select count(*) as n, max(attempts) as most, sum(status <> ?) as bad from sync_jobs')
      .bind('succeeded')
      .first()
    expect(jobs).toEqual({ n: midnights.fetches, most: 1, bad: 0 })
    const { results: asked } = await env.LEDGER_0.prepare('select entity, source, month, job_id from sync_jobs where as_of = ?')
      .bind(Date.parse(instant))
      .all<{ entity: number; source: string; month: string; job_id: string }>()
    const { results: connections } = await env.DB.prepare('select entity, fiscal_entity_id from connections').all<{
      entity: number
      fiscal_entity_id: string
    }>()
    // Each connection is shown a job under an identifier of its own.
    const byEntity = Map.groupBy(connections, ({ entity }) => entity)
    const shown = await Promise.all(
      asked.flatMap(({ entity, source, month, job_id }) =>
        byEntity.get(entity)!.map(({ fiscal_entity_id }) => shownJobId(fiscal_entity_id, source, month, job_id)),
      ),
    )
    const { results } = await env.EVENTS_0.prepare(
      `select organization_id || ' ' || (body->>'rfc') || ' ' || (body->>'data_source_key') || ' ' || coalesce(body->>'period', '') as notified
       from events where body->>'event' = 'sync.completed' and body->>'job_id' in (select value from json_each(?))`,
    )
      .bind(JSON.stringify(shown))
      .all<{ notified: string }>()
    expect(results.map(({ notified }) => notified).sort()).toEqual(expected.notified.sort())
  })
})
