import { createExecutionContext, createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { fetcherClient } from '../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../scripts/fetcher/portal.ts'
import { app } from '../../src/app.ts'
import { documentsOf } from '../../src/authority/sandbox/world/month.ts'
import { localTime } from '../../src/authority/sandbox/world/places.ts'
import { stampedAt } from '../../src/authority/sandbox/world/stamp.ts'
import { consume } from '../../src/queues.ts'
import { Mortal } from '../downloads/conversation/support/mortal.ts'
import { bookOf, callOf, cfdiOf, jobsOf, later, losingMessages, NOW, subscriber } from '../downloads/support/downloads.ts'
import { sample } from '../support/fuzz.ts'
import { freshRfc } from '../support/tenants.ts'
import { FETCHER_KEY, onlyMonths, withFetcher } from './support/deployment.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** An RFC with two months to download, and a service whose ledger and bucket die when they are told to. */
async function begun() {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await env.LEDGER_0.prepare('delete from fetches').run()
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }))
  await one.run()
  await onlyMonths(rfc)
  const mortal = new Mortal()
  const of = { ...withFetcher, LEDGER_0: mortal.database(env.LEDGER_0), FILES: mortal.bucket(env.FILES) } as unknown as Env
  const client = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) =>
    app.fetch(request, of, createExecutionContext()),
  )
  const deliver = (purpose: string, body: unknown) =>
    consume(createMessageBatch(`fiscal-local-${purpose}`, [{ id: 'm', timestamp: new Date(), attempts: 1, body }]), of)
  const months = async () => (await jobsOf(rfc)).filter(({ month }) => month !== '')
  /** What goes on minute by minute, with leases that run out in between. */
  const round = async () => {
    await deliver('downloads', await callOf(rfc))
    await fetchOnce(client)
    await deliver('tasks', { task: 'sweepFetches', at: Date.now(), place: 'start' })
  }
  const work = async () => {
    for (let n = 1; n <= 30 && (await months()).some(({ status }) => status === 'queued' || status === 'running'); n++) {
      later(700 * n)
      await round().catch(() => {})
      if (mortal.isDead) mortal.revive()
    }
  }
  return { rfc, mortal, months, work }
}

describe('a service that is killed', () => {
  it('at any step of what a fetcher does downloads everything, each document once', { timeout: 3_600_000 }, async () => {
    const whole = await begun()
    await whole.work()
    const { steps } = whole.mortal
    expect(steps).toBeGreaterThan(30)
    const deaths = Array.from({ length: steps }, (_, n) => (['before', 'after'] as const).map((when) => ({ at: n + 1, when }))).flat()
    for (const dies of sample(deaths, Math.ceil(deaths.length / 6), Math.floor(Math.random() * deaths.length))) {
      vi.restoreAllMocks()
      const one = await begun()
      one.mortal.dies = dies
      await one.work()
      const what = `killed ${dies.when} step ${dies.at}`
      const jobs = await one.months()
      expect([jobs.length, ...new Set(jobs.map(({ status }) => status))], what).toEqual([2, 'succeeded'])
      const rows = (await bookOf(one.rfc, ['cfdi']))['cfdi'] as { uuid: string; xml_crc: number | null }[]
      const now = localTime(new Date(NOW))
      const expected = jobs.flatMap(({ month }) => documentsOf(one.rfc, 'issued', month).filter((document) => stampedAt(document) <= now))
      const held = new Set(rows.map(({ uuid }) => uuid))
      expect(
        expected.filter(({ uuid }) => !held.has(uuid)),
        what,
      ).toEqual([])
      expect(
        jobs.reduce((sum, { created_count }) => sum + created_count, 0),
        what,
      ).toBe(rows.length)
    }
  })
})
