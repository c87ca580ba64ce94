import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { dispatchRuns } from '../../../src/connections/extractors/runs/dispatch.ts'
import { insertRun } from '../../../src/connections/extractors/store.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { settingsOf } from '../../../src/platform/settings.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'
import { bookOf, cfdiOf, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const DAY = 86_400_000
const SOLICITA = /^SolicitaDescarga/
const countOf = (counts: Record<string, number>, like = /./): number =>
  Object.entries(counts).reduce((sum, [name, n]) => sum + (like.test(name) ? n : 0), 0)

/** A run of the extractor's cadence. */
async function cadence(world: SatWorld, { id, extractor_id }: { id: string; extractor_id: string }, at = world.now) {
  const now = new Date(at)
  const system = systemOf(env, now, 'cadence')
  const run_id = newId('run')
  const counts = { connections: 0, dispatched: 0, gap_jobs: 0 }
  const times = { instant: now, created_at: now, moved_at: now }
  await commit(system.db.$client, [
    insertRun(system.db, {
      ...{
        run_id,
        organization_id: id,
        extractor_id,
        trigger: 'schedule',
        local_date: null,
        fiscal_entity_id: null,
        asked: null,
        status: 'planned',
        after: '',
      },
      ...{ ...counts, ...times },
    }),
  ])
  await dispatchRuns(system, [run_id])
}

/** A taxpayer with some months of documents, some of which are stamped late, whose months are downloaded every day. */
async function daily(months: number, scope_months: number) {
  const world = new SatWorld(freshRfc(), { months, from: '2026-03' })
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(scope_months))
  const day = async (isDemanded = false) => {
    const before = { cfdi: world.asked('cfdi'), retenciones: world.asked('retenciones') }
    await (isDemanded ? one.run() : cadence(world, one))
    await world.call()
    await world.work(DAY / 2)
    const ofFamily = (family: 'cfdi' | 'retenciones', like?: RegExp) => countOf(world.asked(family), like) - countOf(before[family], like)
    return (['cfdi', 'retenciones'] as const).map((family) => ({ all: ofFamily(family), solicita: ofFamily(family, SOLICITA) }))
  }
  const nextDay = () => world.pass(DAY)
  return { world, one, day, nextDay }
}

describe('the days after the first download', () => {
  it('take two requests for documents and five requests in all of each family when nothing is new, and write no document', async () => {
    const { world, day, nextDay } = await daily(2, 3)
    await day()
    expect(await world.differences()).toEqual([])
    nextDay()
    const before = await bookOf(world.rfc, ['cfdi', 'cfdi_commits'])
    for (const { all, solicita } of await day()) {
      expect(solicita).toBeLessThanOrEqual(2)
      expect(all).toBeLessThanOrEqual(5)
    }
    expect(await bookOf(world.rfc, ['cfdi', 'cfdi_commits'])).toEqual(before)
    expect([...new Set((await jobsOf(world.rfc)).map(({ status }) => status))]).toEqual(['succeeded'])
    expect(await world.conversation()).toMatchObject({ due_at: null })
  })

  it('find old cancellations at once with a run that somebody starts, in two requests for documents', async () => {
    const { world, day, nextDay } = await daily(3, 4)
    await day()
    nextDay()
    const [first] = world.truth.documents.filter(({ fecha, cancelled }) => fecha.startsWith('2026-03') && cancelled === null)
    world.truth.cancel(first!.uuid, new Date(world.now))
    await day()
    expect((await world.differences()).filter((line) => line.includes(first!.uuid))).toHaveLength(1)
    nextDay()
    for (const { solicita } of await day(true)) expect(solicita).toBe(2)
    expect(await world.differences()).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })

  it('can be tried with a cron of a later time, which the conversation takes as its present', async () => {
    const { world, one, day } = await daily(2, 3)
    await day()
    const entries = world.authority.log.entries.length
    await cadence(world, one, world.now + 8 * DAY)
    await world.call()
    await world.work(DAY / 2)
    const asked = () => world.authority.log.entries.slice(entries).filter(({ operation }) => SOLICITA.test(operation ?? ''))
    // A week has passed, so that the months are asked about as a whole, up to a minute before that time.
    for (const { parameters } of asked()) {
      expect(parameters['FechaInicial']! < '2026-03-31').toBe(true)
      expect(parameters['FechaFinal']! > '2026-05-28').toBe(true)
    }
    expect(asked()).toHaveLength(4)
    expect((await jobsOf(world.rfc)).every(({ status }) => status === 'succeeded')).toBe(true)
    expect(world.authority.log.violations).toEqual([])
  })

  it('bring what is issued, stamped late and cancelled, and repeat no period', { timeout: 300_000 }, async () => {
    const { world, day, nextDay } = await daily(4, 3)
    for (let n = 0; n < runs(3, 30); n++) {
      const counts = await day()
      // The whole of the months is asked for again each week; otherwise only the last days.
      for (const { solicita } of counts) expect(solicita).toBeLessThanOrEqual(4)
      if (n === 1) {
        const [first] = world.truth.documents.filter(({ fecha, cancelled }) => fecha.startsWith('2026-03') && cancelled === null)
        world.truth.cancel(first!.uuid, new Date(world.now))
      }
      nextDay()
    }
    await day()
    const late = await world.differences()
    // The cancellation of an old document is found within a week, and everything else with the next day.
    expect(late).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })

  it('ask for thirteen months again once a week, as far back as the runs have been, and so find late cancellations', async () => {
    const { world, one, day, nextDay } = await daily(2, 3)
    await day()
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 1 })
    const settings = settingsOf(env)
    settings.taxAuthority = 'sat'
    try {
      const [first] = world.truth.documents.filter(({ fecha, cancelled }) => fecha.startsWith('2026-03') && cancelled === null)
      world.truth.cancel(first!.uuid, new Date(world.now))
      let weeks = 0
      for (let n = 0; n < 8; n++) {
        nextDay()
        const before = (await jobsOf(world.rfc)).filter(({ month }) => month === '2026-03').length
        await day()
        if ((await jobsOf(world.rfc)).filter(({ month }) => month === '2026-03').length > before) weeks++
      }
      expect([1, 2]).toContain(weeks)
      expect(await world.differences()).toEqual([])
      expect(world.authority.log.violations).toEqual([])
    } finally {
      settings.taxAuthority = 'sandbox'
    }
  })
})
