import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { countJobs } from '../../src/downloads/counts/counts.ts'
import { jobsOfOrganization } from '../../src/downloads/progress-store.ts'
import { pruneJobs } from '../../src/downloads/pruning/prune.ts'
import { watermarkStatement } from '../../src/downloads/request-store.ts'
import { jobGroups } from '../../src/downloads/states/states-store.ts'
import { systemOf } from '../../src/platform/context.ts'
import { idsFrom, newId } from '../../src/platform/db/id.ts'
import { prepared, readRows } from '../../src/platform/db/statement.ts'
import { created, scheduled } from '../connections/extractors/support/extractors.ts'
import { Clockwork, daysAfter, forget } from '../connections/extractors/support/ticks.ts'
import { at, restore } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { organization } from '../support/tenants.ts'
import { losingMessages } from './support/downloads.ts'

const DAY_MS = 86_400_000
const NOW = '2027-05-16T10:00:00Z'
const BEFORE = Date.parse(NOW) - 90 * DAY_MS

beforeEach(async () => {
  await forget()
  await env.LEDGER_0.batch(
    ['sync_jobs', 'extractions', 'entities', 'cfdi_commits'].map((table) => env.LEDGER_0.prepare(`delete from ${table}`)),
  )
})
afterEach(restore)

const ORGANIZATIONS = ['org_a', 'org_b']
const SOURCE = 'sat_cfdi_issued'
/** Two whose turn is on that day, one of another day, and an organization's own partition, whose turn it is too. */
const ENTITIES = [14, 42, 43, -14]

interface Job {
  entity: number
  month: string
  job_id: string
  finished_at: number | null
  status: string
  organizations: string[]
}
interface Extraction {
  organization_id: string
  entity: number
  run_id: string
  jobs: Record<string, Record<string, string[]>>
}

const job = fc.record({
  entity: fc.constantFrom(...ENTITIES),
  month: fc.constantFrom('2027-01', '2027-02', '2027-03'),
  // Around the edge of what is kept; null while it is open.
  finished_at: fc.oneof(fc.constantFrom(null, BEFORE - 1, BEFORE), fc.integer({ min: BEFORE - 9 * DAY_MS, max: BEFORE + 9 * DAY_MS })),
  isFailed: fc.boolean(),
  organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
  /** Which of them have an extraction that is still kept. */
  keep: fc.oneof(fc.constant<string[]>([]), fc.subarray(ORGANIZATIONS)),
})

function worldOf(drawn: readonly (typeof job extends fc.Arbitrary<infer T> ? T : never)[]): { jobs: Job[]; extractions: Extraction[] } {
  const open = new Set<string>()
  const jobs: Job[] = []
  const extractions: Extraction[] = []
  for (const [n, { entity, month, finished_at, isFailed, organizations, keep }] of drawn.entries()) {
    const cell = `${entity} ${month}`
    const ended = finished_at === null && open.has(cell) ? BEFORE : finished_at
    if (ended === null) open.add(cell)
    const job_id = `job_${String(n).padStart(26, '0')}`
    jobs.push({
      entity,
      month,
      job_id,
      finished_at: ended,
      status: ended === null ? 'queued' : isFailed ? 'failed' : 'succeeded',
      organizations,
    })
    for (const organization_id of keep.filter((one) => organizations.includes(one)))
      extractions.push({ organization_id, entity, run_id: `run_${String(n).padStart(26, '0')}`, jobs: { [job_id]: { [SOURCE]: [month] } } })
  }
  return { jobs, extractions }
}

/** A job that only the first organization asked for does not name it. */
const ASKED = `nullif(value->'organizations', json_array('org_a'))`

async function store({ jobs, extractions }: ReturnType<typeof worldOf>): Promise<void> {
  await env.LEDGER_0.batch([
    ...['sync_jobs', 'extractions', 'entities', 'cfdi_commits'].map((table) => env.LEDGER_0.prepare(`delete from ${table}`)),
    env.LEDGER_0.prepare(
      `insert into entities (entity, rfc, organization_id) select value, 'RFC' || value, 'org_a' from json_each(?)`,
    ).bind(JSON.stringify(ENTITIES)),
    env.LEDGER_0.prepare(
      `insert into sync_jobs (entity, source, month, job_id, organizations, open, error_class, as_of, not_before, attempts, created_after,
         finished_after, created_count, updated_count, cancelled_count, rejected_count)
       select value->>'entity', '${SOURCE}', value->>'month', value->>'job_id', ${ASKED}, value->>'finished_at' is null,
         iif(value->>'status' = 'failed', 'internal_error', null), 0, 0, 0, 0, value->>'finished_at', 1, 0, 0, 0 from json_each(?)`,
    ).bind(JSON.stringify(jobs)),
    env.LEDGER_0.prepare(
      `insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched, requested_at, attempts_before)
       select value->>'organization_id', value->>'entity', value->>'run_id', 7, value->'jobs', 1, 7, '{}' from json_each(?)`,
    ).bind(JSON.stringify(extractions)),
  ])
}

/** All that anybody can ask about the jobs of an entity. */
const asked = async (): Promise<unknown[]> => {
  const seen: unknown[] = []
  for (const organization_id of ORGANIZATIONS)
    for (const entity of ENTITIES) {
      seen.push((await prepared(env.LEDGER_0, jobGroups(organization_id, [{ entity, isActive: true }], Date.now())).all()).results)
      seen.push(
        await readRows(
          env.LEDGER_0,
          jobsOfOrganization(organization_id, entity, { after: null, status: null, isActive: true, limit: 100 }),
        ),
      )
      seen.push((await prepared(env.LEDGER_0, watermarkStatement(organization_id, [[entity, SOURCE]])).all()).results)
    }
  return seen
}

const stored = async (): Promise<string[]> => (await env.LEDGER_0.prepare('select job_id from sync_jobs order by 1').raw<[string]>()).flat()

describe('jobs that ended 90 days ago', () => {
  it('are gone with the turn of their entity unless an extraction has them or they are the newest of their month, and nobody sees a difference', async () => {
    let gone = 0
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 12, maxLength: 40 }), async (drawn) => {
        const world = worldOf(drawn)
        await store(world)
        const before = await asked()
        await pruneJobs(systemOf(env, new Date(NOW), 'prune'))
        const referenced = new Set(world.extractions.flatMap(({ jobs }) => Object.keys(jobs)))
        const isNewest = ({ entity, month, job_id }: Job) =>
          world.jobs.every((it) => it.entity !== entity || it.month !== month || it.job_id <= job_id)
        const stays = (it: Job) =>
          Math.abs(it.entity) % 2 !== 0 || (it.finished_at ?? BEFORE) >= BEFORE || referenced.has(it.job_id) || isNewest(it)
        const left = world.jobs.filter(stays).map(({ job_id }) => job_id)
        gone += world.jobs.length - left.length
        expect(await stored()).toEqual(left)
        expect(await asked()).toEqual(before)
      }),
      { numRuns: 25 },
    )
    expect(gone).toBeGreaterThan(20)
  })

  it('have their turn every other day, in any number of pages', async () => {
    const jobs = Array.from({ length: 90 }, (_, n): Job[] => {
      const job = { entity: n + 1, month: '2027-01', finished_at: 0, status: 'succeeded', organizations: ['org_a'] }
      return ['job', 'newest'].map((name) => ({ ...job, job_id: `${name}_${n + 1}` }))
    }).flat()
    await store({ jobs, extractions: [] })
    await env.LEDGER_0.prepare(`insert or ignore into entities (entity, rfc, organization_id)
       select value->>'entity', value->>'entity', 'org_a' from json_each(?)`)
      .bind(JSON.stringify(jobs))
      .run()
    for (let day = 0; day < 2; day++) {
      await pruneJobs(systemOf(env, new Date((20_852 + day) * DAY_MS), 'prune'))
      const left = (await stored()).filter((id) => id.startsWith('job_')).map((id) => Number(id.slice(4)))
      expect(left.every((entity) => entity % 2 > day)).toBe(true)
    }
    expect(await stored()).toHaveLength(90)
  })

  it('that cannot be removed keep no other entity from it', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const ended = { month: '2027-01' as const, finished_at: 0, isFailed: false, organizations: ['org_a'], keep: [] }
    await store(worldOf([14, 42, 14, 42].map((entity) => ({ ...ended, entity }))))
    await env.LEDGER_0.prepare(
      "create trigger refuse before delete on sync_jobs when old.entity = 14 begin select raise(abort, 'not this one'); end",
    ).run()
    await expect(pruneJobs(systemOf(env, new Date(NOW), 'prune'))).rejects.toThrow()
    await env.LEDGER_0.prepare('drop trigger refuse').run()
    expect(await stored()).toEqual([0, 2, 3].map((n) => `job_${String(n).padStart(26, '0')}`))
  })

  it('are forgotten with the commits of that time, in every partition of an RFC, but for its last one; those of imports stay', async () => {
    // The one with the number 42 has had no commit since.
    const commits = ENTITIES.flatMap((entity) => [-2, -1, 0].map((after, n) => [entity, n + 1, entity === 42 ? 0 : BEFORE + after]))
    await env.LEDGER_0.batch([
      env.LEDGER_0.prepare(`insert into entities (entity, rfc) select value, value from json_each(?)`).bind(JSON.stringify(ENTITIES)),
      env.LEDGER_0.prepare(
        'insert into cfdi_commits (entity, sequence, committed_at) select value->>0, value->>1, value->>2 from json_each(?)',
      ).bind(JSON.stringify(commits)),
    ])
    await pruneJobs(systemOf(env, new Date(NOW), 'prune'))
    const left = await env.LEDGER_0.prepare('select entity, sequence from cfdi_commits order by 1, 2').raw<[number, number]>()
    expect(left).toEqual([
      [-14, 1],
      [-14, 2],
      [-14, 3],
      [14, 3],
      [42, 3],
      [43, 1],
      [43, 2],
      [43, 3],
    ])
  })

  it('leave what they brought, counted by day, to the next job of their month that stays, once', async () => {
    const ended = { entity: 42, month: '2027-01' as const, finished_at: 0, isFailed: false, organizations: ['org_a'], keep: [] as string[] }
    await store(worldOf([ended, { ...ended, keep: ['org_a'] }, ended, ended, { ...ended, finished_at: null }]))
    const brought = [
      [[['created', '2027-01-02', 3, 20, 29]]],
      [],
      [
        [
          ['created', '2027-01-09', 4, 10, 70],
          ['created', '2027-01-09', 1, 90, 90],
        ],
        [
          ['cancelled', '2027-01-02', 1, 22, 22],
          ['cancelled', '2027-01-02', 2, 23, 24, 31],
        ],
      ],
      [],
      [[['updated', '2027-01-01', 1, 1, 1]]],
    ]
    for (const [n, slices] of brought.entries())
      await env.LEDGER_0.prepare('update sync_jobs set brought = ?2 where job_id = ?1')
        .bind(`job_${String(n).padStart(26, '0')}`, JSON.stringify(slices))
        .run()
    for (const time of ['first', 'second']) await pruneJobs(systemOf(env, new Date(NOW), time))
    const { results } = await env.LEDGER_0.prepare('select brought from sync_jobs order by job_id').all<{ brought: string }>()
    const byDay = [
      ['cancelled', '2027-01-02', 3, 22, 24, 31],
      ['created', '2027-01-09', 5, 10, 90],
    ]
    expect(results.map((row) => JSON.parse(row.brought))).toEqual([brought[0], [...brought[4]!, byDay]])
  })
})

/** A job of one cell: who asked for it, how it ended, and what it brought. */
const ended = fc.record({
  organizations: fc.subarray(['org_a', 'org_b', 'org_c'], { minLength: 1 }),
  end: fc.constantFrom('quiet', 'quiet', 'quiet', 'quiet', 'changed', 'rejected', 'failed', 'failed late'),
  days: fc.integer({ min: 0, max: 2 }),
})

/** What breaks without it: a ledger fills with days on which nothing happened, or an organization's counts change when they are forgotten. */
describe('jobs in which nothing changed', () => {
  const WINDOWS = { issued: { isEmpty: false, floor: null, ceiling: null }, received: { isEmpty: false, floor: null, ceiling: null } }
  const NOW_MS = Date.parse(NOW)

  async function storeCell(drawn: readonly (typeof ended extends fc.Arbitrary<infer T> ? T : never)[], oldest = 60): Promise<Ended[]> {
    let time = NOW_MS - oldest * DAY_MS
    const rows = drawn.map(({ organizations, end, days }, n) => {
      time += days * DAY_MS + 1_000
      const [day, seconds] = [new Date(time).toISOString().slice(0, 10), Math.floor(time / 1_000)]
      return {
        ...{ n, job_id: `job_${String(n).padStart(26, '0')}`, organizations, finished_at: time },
        status: end.startsWith('failed') ? 'failed' : 'succeeded',
        rejected: Number(end === 'rejected'),
        brought:
          end === 'changed' || end === 'failed late'
            ? [
                [
                  ['created', day, 1 + n, seconds, seconds],
                  ['cancelled', day, 1, 0, 0],
                ],
              ]
            : [],
        isQuiet: end === 'quiet',
      }
    })
    await env.LEDGER_0.batch([
      ...['sync_jobs', 'extractions', 'entities', 'outbox', 'sync_work'].map((table) => env.LEDGER_0.prepare(`delete from ${table}`)),
      env.LEDGER_0.prepare("insert into entities (entity, rfc, organization_id) values (42, 'RFC42', 'org_a')"),
      env.LEDGER_0.prepare(
        `insert into sync_jobs (entity, source, month, job_id, organizations, open, error_class, as_of, not_before, attempts, created_after,
           finished_after, created_count, updated_count, cancelled_count, rejected_count, brought)
         select 42, '${SOURCE}', '2027-03', value->>'job_id', ${ASKED}, 0, iif(value->>'status' = 'failed', 'internal_error', null),
           value->>'finished_at', 0, 1,
           0, 0, 0, 0, 0, value->>'rejected', value->'brought' from json_each(?)`,
      ).bind(JSON.stringify(rows)),
    ])
    return rows
  }
  interface Ended {
    n: number
    job_id: string
    organizations: string[]
    finished_at: number
    status: string
    isQuiet: boolean
    brought: unknown[]
  }
  const countsOf = async (jobs: readonly Ended[]) => {
    const asked = jobs.flatMap(({ job_id, organizations }) => organizations.map((organization_id) => ({ job_id, organization_id })))
    const counts = await countJobs(
      env.LEDGER_0,
      asked.map((one) => ({ ...one, entity: 42, source: SOURCE, month: '2027-03', windows: WINDOWS })),
    )
    return new Map(asked.map(({ job_id, organization_id }, n) => [`${job_id} ${organization_id}`, counts[n]!]))
  }

  it('are gone after 14 days, and the counts of those that stay are what they were, for each of their organizations', async () => {
    let gone = 0
    await fc.assert(
      fc.asyncProperty(fc.array(ended, { minLength: 4, maxLength: 40 }), async (drawn) => {
        const jobs = await storeCell(drawn)
        const before = await countsOf(jobs)
        await pruneJobs(systemOf(env, new Date(NOW), 'prune'))
        const left = new Set(await stored())
        const stay = jobs.filter(({ job_id }) => left.has(job_id))
        for (const [key, counts] of await countsOf(stay)) expect(counts, key).toEqual(before.get(key))
        /** Whether, since the last job that brought something, another job that succeeded names each of the organizations. */
        const isFollowing = ({ n, organizations }: Ended) => {
          const earlier = jobs.slice(0, n)
          const since = earlier.slice(
            Math.max(
              0,
              earlier.findLastIndex(({ brought }) => brought.length > 0),
            ),
          )
          return organizations.every((one) => since.some((it) => it.status === 'succeeded' && it.organizations.includes(one)))
        }
        for (const job of jobs) {
          const isGone = job.isQuiet && job.n < jobs.length - 1 && job.finished_at < NOW_MS - 14 * DAY_MS && isFollowing(job)
          expect(left.has(job.job_id), job.job_id).toBe(!isGone)
          if (!isGone) continue
          gone++
          for (const one of job.organizations)
            expect(before.get(`${job.job_id} ${one}`)).toMatchObject({ created_count: 0, updated_count: 0, cancelled_count: 0 })
        }
      }),
      { numRuns: runs(40, 400) },
    )
    expect(gone).toBeGreaterThan(40)
  })

  it('are not forgotten before they are told, and a watermark does not go back when they are', async () => {
    const quiet = { organizations: ['org_a'], end: 'quiet' as const, days: 1 }
    const jobs = await storeCell([quiet, quiet, quiet, quiet])
    await env.LEDGER_0.prepare(
      `insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched, requested_at, attempts_before)
       select 'org_a', 42, 'run_' || key, key, json_object(value, json_object('${SOURCE}', json_array('2027-03'))), 1, 7, '{}' from json_each(?)`,
    )
      .bind(JSON.stringify(jobs.slice(0, 3).map(({ job_id }) => job_id)))
      .run()
    const watermark = async () =>
      (await prepared(env.LEDGER_0, watermarkStatement('org_a', [[42, SOURCE]])).first<{ instant: number }>())!.instant
    expect(await watermark()).toBe(2)
    await env.LEDGER_0.prepare(
      "insert into outbox (entity, outbox_event_id, kind, body, created_at) values (42, 'jobs', 'jobs', '[]', 0)",
    ).run()
    await pruneJobs(systemOf(env, new Date(NOW), 'prune'))
    expect(await stored()).toHaveLength(4)
    await env.LEDGER_0.prepare('delete from outbox').run()
    await pruneJobs(systemOf(env, new Date(NOW), 'prune'))
    expect(await stored()).toEqual([jobs[0]!.job_id, jobs[3]!.job_id])
    expect(await watermark()).toBe(2)
  })
})

describe('what ticks leave behind', () => {
  it('runs are forgotten after 30 days, by the daily work, and those that are not finished never', async () => {
    const MONTH_AGO = Date.parse(NOW) - 30 * DAY_MS
    const id = (time: number) => idsFrom('run', new Date(time))
    const rows = [
      [id(MONTH_AGO - 1), 'dispatched'],
      [id(MONTH_AGO - 2), 'planned'],
      [id(MONTH_AGO), 'dispatched'],
      ...Array.from({ length: 4_100 }, (_, n) => [id(MONTH_AGO - 1_000 - n), 'no_connections']),
    ]
    await env.DB.prepare(
      `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
       select value->>0, 'org_of', 'ext_of', 'manual', 0, value->>1, 0, 0, ?2 from json_each(?1)`,
    )
      .bind(JSON.stringify(rows), Date.parse(NOW))
      .run()
    await new Clockwork().daily(NOW)
    expect((await env.DB.prepare('select run_id from runs order by 1').raw()).flat()).toEqual([id(MONTH_AGO - 2), id(MONTH_AGO)])
  })

  it('an id sorts behind those of before its instant and not behind one of its own', () => {
    const instant = new Date('2027-03-01T00:00:00.000Z')
    const made = (time: number) => {
      vi.spyOn(Date, 'now').mockReturnValue(time)
      return newId('run')
    }
    const [earlier, same] = [made(instant.getTime() - 1), made(instant.getTime())]
    expect(earlier < idsFrom('run', instant) && idsFrom('run', instant) < same).toBe(true)
  })

  it('pages of ticks are forgotten after 30 days, with the ticks of their zone', async () => {
    at('2027-03-01T18:00:00Z')
    losingMessages()
    const of = await organization()
    await created(of, scheduled)
    const clockwork = new Clockwork()
    const days = Array.from({ length: 40 }, (_, n) => daysAfter('2027-03-02', n))
    for (const day of days) await clockwork.pass(`${day}T06:30:00Z`)
    const kept = (await env.DB.prepare('select day from tick_pages order by 1').raw()).flat()
    expect(kept).toEqual(days.slice(-31))
  })
})
