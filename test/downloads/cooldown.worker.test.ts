import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { monthsOf as monthsOfRange, rangeOf } from '../../src/connections/extractors/runs/scope.ts'
import { restore } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { randomOf } from '../support/random.ts'
import { freshRfc } from '../support/tenants.ts'
import { callOf, cfdiOf, deliver, ISSUED, later, ledgerOf, losingMessages, NOW, subscriber, sweep, work } from './support/downloads.ts'

let messages: ReturnType<typeof losingMessages>

beforeEach(() => {
  later(0)
  messages = losingMessages()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>

interface Begun {
  source: string
  month: string
  job_id: string
  open: number
  as_of: number
  created_at: number
  requesters: string[]
}

const begunOf = async (rfc: string): Promise<Begun[]> => {
  const { results } = await (await ledgerOf(rfc))
    .prepare(
      `select source, month, job_id, open, as_of, created_at,
         coalesce(organizations, (select json_array(organization_id) from entities e where e.entity = j.entity)) as requesters
       from sync_jobs j where entity = ? order by job_id, source, month`,
    )
    .bind((await callOf(rfc)).entity)
    .all<Omit<Begun, 'requesters'> & { requesters: string }>()
  return results.map((row) => ({ ...row, requesters: JSON.parse(row.requesters) as string[] }))
}

const make = async (one: Subscriber, extractor: object): Promise<string> =>
  (await one.ask('POST', '/v1/extractors', { ...extractor, trigger_kind: 'connection_reactivated' })).body.extractor_id
const pause = async (one: Subscriber, active: boolean) =>
  expect((await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })).status).toBe(200)
const unlink = async (one: Subscriber) => expect((await one.ask('DELETE', one.path)).status).toBe(204)
const link = async (one: Subscriber, rfc: string) =>
  expect((await one.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).body.fiscal_entity_id).toBe(one.fiscal_entity_id)

/** The messages of these tests are lost, so what a request leaves planned waits for the sweep. */
const settle = async (rfc: string) => {
  await sweep()
  await work(rfc)
}

describe('the cooldown of an organization and RFC', () => {
  it('does not end with the extractor', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    expect(await one.run()).toEqual(expect.objectContaining({ status: 'dispatched', connections: 1, dispatched: 1 }))
    await work(rfc)
    const first = await begunOf(rfc)
    messages.announced()
    for (let n = 1; n <= 10; n++) {
      later(n * 59)
      const id = await make(one, ISSUED)
      const run = await one.run(id)
      expect(run).toEqual(expect.objectContaining({ status: 'dispatched', connections: 1, dispatched: 0 }))
      const progress = (await one.ask('GET', `/v1/runs/${run.run_id}`)).body
      expect(progress).toEqual(
        expect.objectContaining({ outcome: 'succeeded', jobs: expect.objectContaining({ succeeded: first.length, total: first.length }) }),
      )
      await one.ask('DELETE', `/v1/extractors/${id}`)
    }
    expect(await begunOf(rfc)).toEqual(first)
    expect(messages.announced()).toEqual([])
    later(600)
    expect((await one.run(await make(one, ISSUED))).dispatched).toBe(1)
  })

  it('lets a run of a wider range download what is new', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    await work(rfc)
    const before = await begunOf(rfc)
    later(60)
    expect((await one.run(await make(one, { ...ISSUED, scope_months: 3 }))).dispatched).toBe(1)
    const all = await begunOf(rfc)
    expect(before.filter(({ month }) => month !== '').map(({ month }) => month)).toEqual(['2026-04', '2026-05'])
    expect(all.filter(({ job_id }) => job_id > before.at(-1)!.job_id).map(({ month }) => month)).toEqual(['2026-02', '2026-03'])
  })

  it.each([
    ['pausing and resuming', async (one: Subscriber) => pause(one, false), async (one: Subscriber) => pause(one, true)],
    ['unlinking and linking', unlink, link],
  ] as const)('does not end by %s', async (_, leave, come) => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    await work(rfc)
    const first = await begunOf(rfc)
    for (let n = 1; n <= 5; n++) {
      later(n * 100)
      await leave(one)
      await come(one, rfc)
      later(n * 100 + 40)
      await settle(rfc)
    }
    expect(await begunOf(rfc)).toEqual(first)
    later(700)
    await leave(one)
    await come(one, rfc)
    later(740)
    await settle(rfc)
    expect(await begunOf(rfc)).toHaveLength(2 * first.length)
  })

  it('of one organization is none of another, and both join the later download', async () => {
    const rfc = freshRfc()
    const [one, two] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    expect((await one.run()).dispatched).toBe(1)
    await work(rfc)
    later(120)
    expect((await two.run()).dispatched).toBe(1)
    await work(rfc)
    later(240)
    expect((await one.run(await make(one, ISSUED))).dispatched).toBe(0)
    const months = (await begunOf(rfc)).filter(({ month }) => month === '2026-05')
    expect(months.map(({ requesters }) => requesters)).toEqual([[one.id], [two.id, one.id]])
  })

  it('holds for a download that failed, which the next run tells', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    await fail(rfc)
    later(300)
    const run = await one.run(await make(one, ISSUED))
    expect(run.dispatched).toBe(0)
    expect((await one.ask('GET', `/v1/runs/${run.run_id}`)).body).toEqual(
      expect.objectContaining({ outcome: 'failed', error_class: 'internal_error' }),
    )
    later(600)
    expect((await one.run()).dispatched).toBe(1)
  })
})

/** Ends the open jobs of an RFC as if every attempt had failed. */
async function fail(rfc: string): Promise<void> {
  const { entity } = await callOf(rfc)
  const ledger = await ledgerOf(rfc)
  await ledger.prepare('update sync_jobs set attempts = 13 where entity = ? and open = 1').bind(entity).run()
  await work(rfc)
}

/** The oracle knows of each organization, source and month when it last began a download. */
describe('random histories', () => {
  const COOLDOWN = 600

  async function play(seed: number): Promise<void> {
    const random = randomOf(seed)
    const draw = (n: number) => Math.floor(random() * n)
    const rfc = freshRfc()
    const all = [await subscriber(rfc, ISSUED), await subscriber(rfc, cfdiOf(2))]
    const standing = new Map(all.map((one) => [one, 'active' as 'active' | 'paused' | 'unlinked']))
    const extractors = new Map(all.map((one) => [one, [{ id: one.extractor_id, months: one === all[1] ? 2 : 1 }]]))
    const steps: string[] = []
    const known = new Set<string>()
    const begun = new Map<string, number>()
    let seconds = 0

    const look = async (step: string) => {
      for (const { source, month, job_id, requesters } of await begunOf(rfc)) {
        const key = `${source} ${month} ${job_id}`
        if (known.has(key)) continue
        known.add(key)
        for (const organization of requesters) {
          const own = `${organization} ${source} ${month}`
          const since = seconds - (begun.get(own) ?? Number.NEGATIVE_INFINITY)
          // An organization without a login waited while a download went on for others: at its end, it gets its own.
          if (step !== 'work' && step !== 'fail')
            expect(since, `seed ${seed}: ${own} again after ${since} s: ${steps.join(', ')}`).toBeGreaterThanOrEqual(COOLDOWN)
          begun.set(own, seconds)
        }
      }
    }

    const actions: Record<string, (one: Subscriber) => Promise<unknown>> = {
      make: async (one) => {
        if (standing.get(one) === 'unlinked') return
        const months = 1 + draw(4)
        const sources = [['sat_cfdi_issued'], ['sat_cfdi_received'], ['sat_cfdi_issued', 'sat_cfdi_received']][draw(3)]
        extractors.get(one)!.push({ id: await make(one, cfdiOf(months, { data_source_keys: sources })), months })
      },
      run: async (one) => {
        const own = extractors.get(one)!
        const extractor = own[draw(own.length)]
        if (!extractor) return
        const { status, body } = await one.ask('POST', `/v1/extractors/${extractor.id}/run`)
        expect([200, 429]).toContain(status)
        if (status !== 200 || body.status === 'no_connections') return
        // Whoever runs sees what is not older than the cooldown, or will be.
        const now = Date.parse(NOW) + seconds * 1_000
        const range = rangeOf('last_n_months', extractor.months, new Date(now), 'America/Mexico_City', null)
        const { data_source_keys } = (await one.ask('GET', `/v1/extractors/${extractor.id}`)).body
        const jobs = await begunOf(rfc)
        for (const month of monthsOfRange(range, 'America/Mexico_City'))
          for (const source of data_source_keys as string[]) {
            const newest = jobs.findLast((job) => job.source === source && (job.month === month || job.month === ''))
            expect(newest?.open === 1 || now - newest!.created_at < COOLDOWN * 1_000, `seed ${seed}: ${source} ${month} is old`).toBe(true)
            expect(newest!.requesters).toContain(one.id)
          }
      },
      delete: async (one) => {
        const own = extractors.get(one)!
        const [gone] = own.splice(draw(own.length), 1)
        if (gone) await one.ask('DELETE', `/v1/extractors/${gone.id}`)
      },
      pause: async (one) => {
        if (standing.get(one) !== 'active') return
        await pause(one, false)
        standing.set(one, 'paused')
      },
      resume: async (one) => {
        if (standing.get(one) !== 'paused') return
        await pause(one, true)
        standing.set(one, 'active')
      },
      unlink: async (one) => {
        if (standing.get(one) !== 'active') return
        await unlink(one)
        standing.set(one, 'unlinked')
      },
      link: async (one) => {
        if (standing.get(one) !== 'unlinked') return
        await link(one, rfc)
        standing.set(one, 'active')
      },
      extract: async (one) => {
        if (standing.get(one) !== 'active') return
        const from = `2026-0${1 + draw(5)}-01`
        const { status } = await one.ask('POST', `${one.path}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from })
        expect([202, 429]).toContain(status)
      },
      sweep: () => sweep(),
      work: async () => deliver([await callOf(rfc)]),
      fail: () => fail(rfc),
    }
    const rare = ['delete', 'pause', 'unlink', 'extract', 'sweep', 'fail']
    const names = [...rare, ...['make', 'resume', 'link'], ...['make', 'resume', 'link', 'run', 'run', 'run', 'work', 'work', 'work']]
    for (let n = 0; n < 60; n++) {
      seconds += [1, 1, 5, 10, 35, 35, 60, 120, 300, 601][draw(10)]!
      later(seconds)
      const [name, one] = [names[draw(names.length)]!, all[draw(all.length)]!]
      steps.push(`${seconds} ${name} ${all.indexOf(one)}`)
      await actions[name]!(one)
      await look(name)
    }
  }

  it.each(Array.from({ length: runs(4, 60) }, (_, n) => 1_000 + n))('begin nothing twice within ten minutes (seed %i)', (seed) =>
    play(seed),
  )
})
