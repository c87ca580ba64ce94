import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../src/authority/adapters.ts'
import { metadataText, type Reported } from '../../src/authority/sandbox/package/zip.ts'
import { documentsOf } from '../../src/authority/sandbox/world/month.ts'
import { cfdiXml } from '../../src/authority/sandbox/xml/cfdi-xml.ts'
import { Budget, BudgetUsedUp } from '../../src/platform/work/budget.ts'
import { delivering, packed } from '../authority/support/packages.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { zipOf } from '../support/zip.ts'
import {
  before,
  bookOf,
  callOf,
  cfdiOf,
  deliver,
  expectDone,
  ISSUED,
  jobsOf,
  later,
  losingMessages,
  sqlOf,
  subscriber,
  work,
} from './support/downloads.ts'

let queue: ReturnType<typeof losingMessages>
beforeEach(() => {
  later(0)
  queue = losingMessages()
})

afterEach(restore)

/** The budget ends with every slice that stores something. Returns how often it has ended. */
function endingWith(): () => number {
  const prototype = Object.getPrototypeOf(env.LEDGER_0) as D1Database
  const { batch } = prototype
  let stored = 0
  let ended = 0
  vi.spyOn(prototype, 'batch').mockImplementation(function (this: D1Database, statements: D1PreparedStatement[]) {
    const has = (like: RegExp) => statements.some((one) => like.test(sqlOf(one)))
    if (has(/insert into cfdi_commits/)) stored++
    // The next job has stored nothing yet.
    if (has(/update sync_jobs set (is_claimed|error_class)/)) stored = 0
    return batch.call(this, statements) as never
  })
  vi.spyOn(Budget.prototype, 'require').mockImplementation(() => {
    if (stored === 0) return
    stored = 0
    ended++
    throw new BudgetUsedUp()
  })
  return () => ended
}

const utf8 = new TextEncoder()
const valid = (document: Reported['document']): Reported => ({ document, cancellation: null })
const cancelled = (document: Reported['document']): Reported => ({
  document,
  cancellation: { at: '2026-05-19T10:00:00', motivo: '02', folio_sustitucion: null },
})

/** The authority has these documents of May: in packages of three XML files, the last of which is none, and in the metadata. */
function authorityHas(reported: readonly Reported[], inXml: readonly Reported['document'][]): void {
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
    ...(await real(system)),
    step: async (request) => delivering(request, packages(request.month)),
  }))
  async function* packages(month: string) {
    if (month !== '2026-05') return
    yield packed('metadata', zipOf([{ name: 'a.txt', bytes: utf8.encode(metadataText(reported)) }]))
    for (let at = 0; at < inXml.length; at += 3) {
      const entries = inXml.slice(at, at + 3).map((one) => ({ name: `${one.uuid}.xml`, bytes: utf8.encode(cfdiXml(one)) }))
      yield packed('xml', zipOf([...entries, { name: `${crypto.randomUUID()}.xml`, bytes: utf8.encode('<broken') }]))
    }
  }
}

const MAY = cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] })
const mayOf = async (rfc: string) => {
  const { entity } = await callOf(rfc)
  const { results } = await env.LEDGER_0.prepare("select * from sync_jobs where entity = ? and month = '2026-05' order by job_id")
    .bind(entity)
    .all<Record<string, unknown>>()
  return results
}

/** What breaks without it: a taxpayer with many documents in a month never gets them, because each attempt is ended by the platform. */
describe('a job that the budget of an invocation does not suffice for', () => {
  it('brings each document once, when the budget ends with every slice', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    const ended = endingWith()
    await work(rfc)
    expect(ended()).toBeGreaterThan(0)
    await expectDone(rfc)
    expect((await jobsOf(rfc)).map(({ attempts }) => attempts)).toEqual((await jobsOf(rfc)).map(() => 1))
    const book = await bookOf(rfc)
    await work(rfc)
    expect(await bookOf(rfc)).toEqual(book)
  })

  it('counts and tells what it brought as one download: new, cancelled and unreadable files, metadata without XML', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, MAY)
    const all = documentsOf(rfc, 'issued', '2026-05').filter(({ fecha }) => fecha < '2026-05-19')
    const documents = all.slice(0, 14)
    expect(documents).toHaveLength(14)
    // The first run brings four; one of them is cancelled before the second, which has six more as XML and four only in the metadata.
    authorityHas(documents.slice(0, 4).map(valid), documents.slice(0, 4))
    await one.run()
    await work(rfc)
    vi.mocked(adapters.authorityOf).mockRestore()
    authorityHas([cancelled(documents[0]!), ...documents.slice(1).map(valid)], documents.slice(1, 10))
    later(3_600)
    const again = await subscriber(rfc, MAY)
    expect(await again.run()).toMatchObject({ dispatched: 1 })
    const ended = endingWith()
    await work(rfc)
    expect(ended()).toBeGreaterThan(0)
    const job = (await mayOf(rfc)).at(-1)!
    expect(job).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      created_count: 10,
      updated_count: 0,
      cancelled_count: 1,
      rejected_count: 3,
    })
    const { entity } = await callOf(rfc)
    const notified = (await factsOf(entity, 'sync.completed')).filter(
      ({ body }) => body['job_id'] === job['job_id'] && body['data_source_key'] === job['source'] && body['period'] === '2026-05',
    )
    expect(notified).toHaveLength(1)
    // The ten and the four from before are new to the organization, the cancelled one among them.
    const shown = (await again.jobs()).filter(({ period }) => period === '2026-05')
    expect(shown).toMatchObject([{ created_count: 14, updated_count: 0, cancelled_count: 0, rejected_count: 3 }])
    // Each attempt reads the unreadable files again, and lists them once.
    expect(new Set(shown[0]!.rejected_files.map(({ name }) => name)).size).toBe(3)
    expect(shown[0]!.rejected_files.map(({ code }) => code)).toEqual(['cfdi.malformed', 'cfdi.malformed', 'cfdi.malformed'])
    expect((await factsOf(entity, 'cfdi.cancelled')).filter(({ kind }) => kind === 'cfdi.cancelled')).toHaveLength(1)
    const { results } = await env.LEDGER_0.prepare(
      'select xml_object is null as bare, cancelled, count(*) as n from cfdi where entity = ? group by 1, 2',
    )
      .bind(entity)
      .all()
    expect(results).toEqual([
      { bare: 0, cancelled: 0, n: 9 },
      { bare: 0, cancelled: 1, n: 1 },
      { bare: 1, cancelled: 0, n: 4 },
    ])
  })

  it('is announced again by the invocation that leaves it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    queue.announced()
    vi.spyOn(Budget.prototype, 'allows').mockReturnValueOnce(true).mockReturnValueOnce(true).mockReturnValue(false)
    await deliver([await callOf(rfc)])
    expect(queue.announced()).toEqual([await callOf(rfc)])
    vi.restoreAllMocks()
    queue = losingMessages()
    await work(rfc)
    await expectDone(rfc)
  })

  it('is an attempt when nothing came of it, so that a job without any progress fails in the end', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    for (const name of ['require', 'requireStatements'] as const)
      vi.spyOn(Budget.prototype, name).mockImplementation(() => {
        throw new BudgetUsedUp()
      })
    await work(rfc)
    const jobs = (await one.jobs()).filter(({ data_source_key }) => data_source_key === 'sat_cfdi_issued')
    for (const job of jobs) expect(job).toMatchObject({ status: 'failed', error_class: 'internal_error', created_count: 0 })
  })

  /** What breaks without it: of a large package, reading what is stored already takes all the time of each invocation, for ever. */
  it('commits one slice at least in each, when the time is used up before it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    vi.spyOn(Budget.prototype, 'require').mockImplementation(() => {
      throw new BudgetUsedUp()
    })
    await work(rfc)
    await expectDone(rfc)
  })

  it('is left to the sweep when the isolate ends as it is put back', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    await one.run()
    endingWith()
    const happened = before(/is_continued = 1/, async () => {
      throw new Error('The isolate was evicted here.')
    })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await work(rfc)
    expect(happened()).toBe(true)
    later(60)
    await work(rfc)
    await expectDone(rfc)
  })
})
