import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { cancelInSandbox, refuseLogin } from '../../../src/authority/sandbox/overrides.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import { withCheckDigit } from '../../../src/authority/sandbox/world/taxpayers.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { pruneJobs } from '../../../src/downloads/pruning/prune.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { freshRfc } from '../../support/tenants.ts'
import { callOf, cfdiOf, later, ledgerOf, losingMessages, NOW, subscriber, work } from '../support/downloads.ts'

/** What a job is said to have brought to an organization, when others download the same RFC. */

const DAY = 86_400
const ISSUED = cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] })

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any
type Subscriber = Awaited<ReturnType<typeof subscriber>>

const system = () => systemOf(env, new Date(), 'req_test')

/** Runs the organization's extractor and downloads, so many seconds after the test began. */
async function download(rfc: string, of: Subscriber, seconds: number): Promise<void> {
  later(seconds)
  await of.run()
  await work(rfc)
  await relayOutbox(system(), (await callOf(rfc)).shard)
}

/** The counts of the organization's jobs of a month, the newest first, as the list and as the events tell them. */
async function notified(of: Subscriber, period: string | null = '2026-05') {
  const counts = ({ created_count, updated_count, cancelled_count }: Notified) => [created_count, updated_count, cancelled_count]
  const jobs = (await of.jobs()).filter((job) => job.period === period)
  const events = (await pagesOf<Notified>(of, '/v1/events?limit=100&event_key=sync.completed')).items
  const eventOf = (job_id: string) => events.filter((event) => event.job_id === job_id)
  return {
    jobs: jobs.map(counts),
    events: jobs.map(({ job_id }) => eventOf(job_id).map(counts)),
    full: jobs.flatMap(({ job_id }) => eventOf(job_id)),
  }
}

/** Both tell these counts, each job once. */
async function expectNotified(of: Subscriber, expected: number[][], period: string | null = '2026-05') {
  const { jobs, events } = await notified(of, period)
  expect(jobs).toEqual(expected)
  expect(events).toEqual(expected.map((one) => [one]))
}

const visible = async (of: Subscriber, month = '2026-05'): Promise<Notified[]> =>
  (await pagesOf<Notified>(of, `/v1/cfdi?limit=100&fiscal_entity_id=${of.fiscal_entity_id}`)).items.filter(({ fecha }) =>
    fecha.startsWith(month),
  )

/** The CFDIs that were valid before and are cancelled now. */
const turned = (before: readonly Notified[], after: readonly Notified[]): Notified[] => {
  const valid = new Set(before.filter(({ estatus }) => estatus === 'vigente').map(({ uuid }) => uuid))
  return after.filter(({ uuid, estatus }) => valid.has(uuid) && estatus === 'cancelado')
}

/** The authority reports a CFDI as cancelled from now on. */
const cancel = async (rfc: string, { uuid }: { uuid: string }): Promise<void> =>
  void (await cancelInSandbox(system().db, rfc, uuid, { cancelled_at: new Date(), cancellation_reason: '02' }))

/** The authority refuses the CIECs with which subscribers connect, from now on. */
const refuse = async (rfc: string): Promise<void> => {
  const { settings } = system()
  await commit(env.DB, [await refuseLogin(settings.ciecKeys, { rfc, ciec: 'secreta1' })])
}

let drawn = 0
const nextRfc = (): string => withCheckDigit(`DIA${100_101 + (drawn % 28)}A${String.fromCharCode(65 + drawn++ / 28)}`)

/**
 * An RFC, and a noon of Mexico City in seconds after the test began, with valid documents of the same day long before and long after it,
 * which were stamped at once.
 */
function dividedDay(): { rfc: string; noon: number; before: string; after: string } {
  for (let tries = 0; tries < 50; tries++) {
    const rfc = nextRfc()
    const documents = documentsOf(rfc, 'issued', '2026-05').filter(
      (one) => !one.cancellation && Date.parse(`${stampedAt(one)}Z`) - Date.parse(`${one.fecha}Z`) < 3_600_000,
    )
    for (let days = 2; days <= 8; days++) {
      const ofDay = documents.filter(({ fecha }) => fecha.startsWith(`2026-05-${20 + days}`))
      const before = ofDay.find(({ fecha }) => fecha.slice(11) < '09')
      const after = ofDay.find(({ fecha }) => fecha.slice(11) > '15')
      if (before && after) return { rfc, noon: days * DAY + 9 * 3_600, before: before.uuid, after: after.uuid }
    }
  }
  throw new Error('No RFC has such a day.')
}

/** An RFC with a valid document that is stamped hours after it is issued; both times in seconds after the test began. */
function stampedLate(): { rfc: string; uuid: string; issued: number; stamped: number } {
  const since = (local: string): number => (Date.parse(`${local}-06:00`) - Date.parse(NOW)) / 1_000
  for (let tries = 0; tries < 50; tries++) {
    const rfc = nextRfc()
    for (const one of documentsOf(rfc, 'issued', '2026-05')) {
      const [issued, stamped] = [since(one.fecha), since(stampedAt(one))]
      if (!one.cancellation && one.lugar.behind_center === 0 && issued > DAY && stamped - issued > 7_200 && stamped < 9 * DAY)
        return { rfc, uuid: one.uuid, issued, stamped }
    }
  }
  throw new Error('No RFC has such a document.')
}

describe('the counts of a sync job and of its event', () => {
  it('are of all that an organization can read since its first job, though another one had downloaded it', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, first, 0)
    await download(rfc, second, 60)
    for (const of of [first, second])
      for (const month of ['2026-04', '2026-05']) {
        const seen = await visible(of, month)
        expect(seen.length).toBeGreaterThan(0)
        await expectNotified(of, [[seen.length, 0, 0]], month)
        const times = seen.map(({ issued_at }) => Date.parse(issued_at)).sort((a, b) => a - b)
        const { full } = await notified(of, month)
        expect([full[0].first_issued_at, full[0].last_issued_at].map((at) => Date.parse(at))).toEqual([times[0], times.at(-1)])
      }
  })

  it('are of all that came between two of its runs, though another one had downloaded a part', async () => {
    const rfc = freshRfc()
    const [other, own] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, own, 0)
    const before = await visible(own)
    await download(rfc, other, 4 * DAY)
    await download(rfc, own, 8 * DAY)
    const after = await visible(own)
    const ofOther = await notified(other)
    const came = after.length - before.length
    expect(came).toBeGreaterThan(2)
    await expectNotified(own, [
      [came, 0, turned(before, after).length],
      [before.length, 0, 0],
    ])
    // What the other organization had downloaded is in these counts.
    expect(ofOther.jobs[0]![0]!).toBeGreaterThan(before.length)
    const known = new Set(before.map(({ uuid }) => uuid))
    const changed = [...after.filter(({ uuid }) => !known.has(uuid)), ...turned(before, after)]
    const times = changed.map(({ issued_at }) => Date.parse(issued_at))
    const { full } = await notified(own)
    expect(Date.parse(full[0].first_issued_at)).toBe(Math.min(...times))
    expect(Date.parse(full[0].last_issued_at)).toBe(Math.max(...times))
  })

  it('count a cancellation that another one found as if the own job had found it, and one of a CFDI from in between as new', async () => {
    const rfc = freshRfc()
    const [other, own] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, own, 0)
    const before = await visible(own)
    const known = new Set(before.map(({ uuid }) => uuid))
    await download(rfc, other, 4 * DAY)
    const between = (await visible(other)).filter(({ uuid }) => !known.has(uuid))
    await cancel(
      rfc,
      before.find(({ estatus }) => estatus === 'vigente'),
    )
    await cancel(
      rfc,
      between.find(({ estatus }) => estatus === 'vigente'),
    )
    const seen = await visible(other)
    await download(rfc, other, 5 * DAY)
    const found = turned(seen, await visible(other))
    expect((await notified(other)).jobs[0]![2]).toBe(found.length)
    await download(rfc, own, 8 * DAY)
    const after = await visible(own)
    const ofKnown = turned(before, after)
    // The other organization's job found both of them, the own one neither.
    expect(found.filter(({ uuid }) => ofKnown.some((one) => one.uuid === uuid))).not.toEqual([])
    expect(found.filter(({ uuid }) => !known.has(uuid))).not.toEqual([])
    await expectNotified(own, [
      [after.length - before.length, 0, ofKnown.length],
      [before.length, 0, 0],
    ])
  })

  it('are of the day on which the window ends, too, when the download waited for a login, with another one and without', async () => {
    for (const isShared of [false, true]) {
      const { rfc, noon, before, after } = dividedDay()
      const own = await subscriber(rfc, ISSUED)
      await download(rfc, own, 0)
      const known = await visible(own)
      // The window still ends with the run whose login is refused, because no later one begins by itself.
      await own.ask('PATCH', `/v1/extractors/${own.extractor_id}`, { trigger_kind: 'connection_created' })
      later(noon)
      await refuse(rfc)
      await download(rfc, own, noon)
      expect((await own.entity()).status).toBe('invalid_ciec')
      if (isShared) await download(rfc, await subscriber(rfc, ISSUED, 'secreta2'), noon + 1_800)
      later(noon + 6 * DAY)
      await own.give('secreta2')
      await work(rfc)
      await relayOutbox(system(), (await callOf(rfc)).shard)
      const seen = await visible(own)
      const uuids = seen.map(({ uuid }) => uuid)
      expect([uuids.includes(before), uuids.includes(after)]).toEqual([true, false])
      await expectNotified(own, [
        [seen.length - known.length, 0, turned(known, seen).length],
        [known.length, 0, 0],
      ])
    }
  })

  it('count a cancellation that another one found together with that of a newer document of the day', async () => {
    const { rfc, noon, before, after } = dividedDay()
    const [other, own] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, own, noon)
    const known = await visible(own)
    await download(rfc, other, noon + DAY)
    for (const uuid of [before, after]) await cancel(rfc, { uuid })
    await download(rfc, other, noon + 2 * DAY)
    await download(rfc, own, noon + 3 * DAY)
    const seen = await visible(own)
    expect(turned(known, seen).map(({ uuid }) => uuid)).toContain(before)
    expect(seen.find(({ uuid }) => uuid === after)?.estatus).toBe('cancelado')
    await expectNotified(own, [
      [seen.length - known.length, 0, turned(known, seen).length],
      [known.length, 0, 0],
    ])
  })

  it('count a CFDI that was stamped after the previous job once, as new, though another one got it first and then found it cancelled', async () => {
    const { rfc, uuid, issued, stamped } = stampedLate()
    const [other, own] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, own, (issued + stamped) / 2)
    const known = await visible(own)
    await download(rfc, other, stamped + 3_600)
    await cancel(rfc, { uuid })
    await download(rfc, other, stamped + 7_200)
    await download(rfc, own, stamped + 2 * DAY)
    const seen = await visible(own)
    const before = known.map((one) => one.uuid)
    expect([before.includes(uuid), seen.find((one) => one.uuid === uuid)?.estatus]).toEqual([false, 'cancelado'])
    await expectNotified(own, [
      [seen.length - known.length, 0, turned(known, seen).length],
      [known.length, 0, 0],
    ])
  })

  it('are of its own download while it is open and when it failed', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED, 'unavailable1')]
    await download(rfc, first, 0)
    later(60)
    await second.run()
    expect((await notified(second)).jobs).toEqual([[0, 0, 0]])
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let attempt = 1; attempt <= 12; attempt++) {
      later(60 + attempt * 900)
      await work(rfc)
    }
    expect((await second.jobs()).map(({ status }) => status)).toEqual(expect.arrayContaining(['failed']))
    expect((await notified(second)).jobs).toEqual([[0, 0, 0]])
    await second.give('secreta1')
    await download(rfc, second, 20_000)
    expect((await notified(second)).jobs).toEqual([
      [(await visible(second)).length, 0, 0],
      [0, 0, 0],
    ])
  })

  it('of documents are of those that the organization got', async () => {
    const rfc = freshRfc()
    const CSF = cfdiOf(1, { data_source_keys: ['sat_csf'] })
    const [first, second] = [await subscriber(rfc, CSF), await subscriber(rfc, CSF)]
    await download(rfc, first, 0)
    await download(rfc, second, 60)
    await download(rfc, second, 40 * DAY)
    const documents = (await second.ask('GET', `${second.path}/documents?data_source_key=sat_csf`)).body.data as Notified[]
    const jobs = (await second.jobs()).filter(({ data_source_key }) => data_source_key === 'sat_csf')
    expect(jobs).toHaveLength(2)
    for (const { created_count, finished_at } of jobs) {
      expect(created_count).toBe(documents.filter(({ created_at }) => created_at === finished_at).length)
      expect(created_count).toBe(1)
    }
    const [event] = (await pagesOf<Notified>(second, '/v1/events?limit=100&event_key=sync.completed')).items.filter(
      ({ job_id }) => job_id === jobs[1]!.job_id,
    )
    expect(event).toMatchObject({ created_count: 1, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null })
  })

  it('stay the same when old jobs of others are deleted, and are complete for an organization that comes after that', async () => {
    const rfc = freshRfc()
    const [other, own] = [await subscriber(rfc, ISSUED), await subscriber(rfc, ISSUED)]
    await download(rfc, own, 0)
    for (const days of [1, 2, 3, 4]) await download(rfc, other, days * DAY)
    await download(rfc, own, 6 * DAY)
    await download(rfc, other, 7 * DAY)
    const before = (await notified(own)).jobs
    expect(before[0]![0]!).toBeGreaterThan(0)
    const ledger = await ledgerOf(rfc)
    const { entity } = await callOf(rfc)
    await ledger.prepare('delete from extractions where organization_id = ?').bind(other.id).run()
    const count = async () =>
      ledger.prepare("select count(*) from sync_jobs where entity = ? and month = '2026-05'").bind(entity).first<number>('count(*)')
    expect(await count()).toBe(7)
    // A day of the entity's turn, a year later.
    const turn = new Date((20_960 + (entity % 4)) * 86_400_000)
    for (const round of [1, 2]) {
      await pruneJobs(systemOf(env, turn, `prune ${round}`))
      // The jobs of the own runs, and the newest.
      expect(await count()).toBe(3)
      expect((await notified(own)).jobs).toEqual(before)
    }
    const late = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }))
    await download(rfc, late, 8 * DAY)
    await expectNotified(late, [[(await visible(late)).length, 0, 0]])
  })

  it('cost two statements for a page of jobs, and two for a page of events, however many there are', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(3)), await subscriber(rfc, cfdiOf(3))]
    for (const of of [first, second]) await of.run()
    await work(rfc)
    const ledger = await ledgerOf(rfc)
    const list = async (limit: number) => {
      const path = `${second.path}/sync-jobs?limit=${limit}`
      await second.ask('GET', path)
      const { cost, result } = await costOf(ledger, env.FILES, () => second.ask('GET', path))
      return { statements: cost.d1_statements, jobs: result.body.data.length }
    }
    const [few, many] = [await list(2), await list(100)]
    expect(many.jobs).toBeGreaterThan(8)
    expect([few.statements, many.statements]).toEqual([3, 4])
    const { shard } = await callOf(rfc)
    const { cost } = await costOf(ledger, env.FILES, () => relayOutbox(system(), shard))
    expect(cost.d1_statements).toBeLessThanOrEqual(24)
  })
})
