import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { keepJobs } from '../../downloads/support/kept-jobs.ts'
import { at, restore } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { feedOf, left, link, newEntity, OUTBOXES, organizations, systemIn, watchedEnv } from '../support/relay.ts'

const NOW = '2026-03-20T20:00:00.000Z'
const [[OUTBOX, LEDGER]] = OUTBOXES().slice(1) as [[number, D1Database]]

beforeEach(() => {
  at(NOW)
})
afterEach(restore)

const BROUGHT = [[['created', '2026-03-01', 7, 1_772_388_000, 1_772_391_600] as ['created', string, number, number, number]]]
const months = (count: number) =>
  Array.from({ length: count }, (_, n) => `20${String(24 - Math.floor(n / 12))}-${String(12 - (n % 12)).padStart(2, '0')}`)

/** An RFC with finished jobs, one for each month, of so many organizations, in a list of the outbox. */
async function listed(cells: readonly string[], count = 1) {
  const all = await organizations(Array.from({ length: count }, () => ({ extractor_count: 1 })))
  const { entity, ...about } = newEntity()
  await link(
    all.map((organization_id) => ({ organization_id, entity, ...about, state: 'active', ...reaching(['2018-01-01', Date.parse(NOW)]) })),
  )
  const job = {
    entity,
    source: 'sat_cfdi_issued',
    job_id: 'job_of_one_run',
    organizations: all,
    brought: BROUGHT,
    finished_at: Date.parse(NOW),
  }
  await keepJobs(
    LEDGER,
    cells.map((month) => ({ ...job, month })),
  )
  await list(entity, cells)
  return { entity, all }
}

const list = (entity: number, cells: readonly string[], late: string | null = null) =>
  LEDGER.prepare(
    `insert into outbox (entity, outbox_event_id, kind, organizations, body, created_at) values (?1, 'jobs' || ?2, 'jobs', ?3, ?4, ?5)`,
  )
    .bind(
      ...[entity, late ?? '', late && JSON.stringify([late])],
      ...[JSON.stringify(cells.map((month) => ['sat_cfdi_issued', month, 'job_of_one_run'])), Date.now()],
    )
    .run()

const relay = () => relayOutbox(systemIn(watchedEnv().env), OUTBOX)
const periodsOf = async (organization_id: string) => (await feedOf([organization_id])).map(({ body }) => body.period).sort()
const writesOfOutbox = () => LEDGER.prepare('select outbox_event_id, progress, attempts from outbox').all()

describe('a list of ended jobs', () => {
  it('becomes an event of each job for each organization, in any number of pages, and goes with the last one', async () => {
    const cells = months(80)
    const { all } = await listed(cells, 2)
    await relay()
    for (const one of all) expect(await periodsOf(one)).toEqual(cells.toSorted())
    expect(await left(LEDGER)).toEqual([])
  })

  it('keeps what an organization found finished apart: it is told of that alone, as of then', async () => {
    const cells = months(3)
    const { entity, all } = await listed(cells, 2)
    const [first, late] = all as [string, string]
    await LEDGER.prepare('update sync_jobs set late = json_array(?2) where entity = ?1 and month = ?3').bind(entity, late, cells[0]!).run()
    await relay()
    expect([await periodsOf(first), await periodsOf(late)]).toEqual([cells.toSorted(), cells.slice(1).toSorted()])
    vi.setSystemTime(Date.parse(NOW) + 60_000)
    await list(entity, cells.slice(0, 1), late)
    await relay()
    await relay()
    expect(await periodsOf(first)).toEqual(cells.toSorted())
    expect(await periodsOf(late)).toEqual(cells.toSorted())
    const found = (await feedOf([late])).find(({ body }) => body.period === cells[0])
    expect(found!.body).toMatchObject({
      occurred_at: '2026-03-20T20:01:00.000Z',
      completed_at: '2026-03-20T20:01:00.000Z',
      created_count: 7,
    })
  })

  it('gives a job that cannot be told a row of its own, which is tried again and quarantined, and tells the others', async () => {
    const cells = months(4)
    const { entity, all } = await listed(cells)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await LEDGER.prepare("update sync_jobs set brought = 'no list' where entity = ? and month = ?").bind(entity, cells[1]!).run()
    await relay()
    expect(await periodsOf(all[0]!)).toEqual(cells.filter((_, n) => n !== 1).sort())
    const event = `sync.completed:${entity}:sat_cfdi_issued:${cells[1]}:job_of_one_run`
    expect((await writesOfOutbox()).results).toEqual([{ outbox_event_id: event, progress: 0, attempts: 1 }])
    for (let attempt = 2; attempt <= 5; attempt++) {
      vi.setSystemTime(Date.now() + 3_600_000)
      await relay()
    }
    expect(await left(LEDGER)).toEqual([])
    expect(await env.DB.prepare('select count(*) as n from dead_letters where dead_letter_id = ?').bind(`outbox:${event}`).first('n')).toBe(
      1,
    )
  })

  it('tells more organizations than a page takes of a job, each once', async () => {
    const { all } = await listed(months(2), 120)
    await relay()
    for (const one of all) expect(await periodsOf(one)).toHaveLength(2)
    expect(await left(LEDGER)).toEqual([])
  })

  it('loses the entries of jobs that do not exist', async () => {
    const cells = months(3)
    const { entity, all } = await listed(cells)
    await LEDGER.prepare('delete from sync_jobs where entity = ? and month = ?').bind(entity, cells[0]!).run()
    await relay()
    expect(await periodsOf(all[0]!)).toEqual(cells.slice(1).sort())
    expect(await left(LEDGER)).toEqual([])
  })
})
