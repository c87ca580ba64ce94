import { createExecutionContext, createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { fetcherClient } from '../../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../../scripts/fetcher/portal.ts'
import { app } from '../../../src/app/app.ts'
import { consume } from '../../../src/app/work.ts'
import type { DataSourceKey } from '../../../src/authority/port/authority.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import { notificationsOf } from '../../../src/authority/sandbox/mailbox.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import { localTime } from '../../../src/authority/sandbox/world/places.ts'
import { Mortal } from '../../downloads/conversation/support/mortal.ts'
import { bookOf, callOf, cfdiOf, jobsOf, later, losingMessages, NOW, subscriber } from '../../downloads/support/downloads.ts'
import { sample } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'
import { FETCHER_KEY, onlyMonths, withFetcher } from './support/deployment.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const MONTHS = { data_source_keys: ['sat_cfdi_issued'] }
/** sat_miinformacion, with the tax mailbox, comes with every extractor. */
const DOCUMENTS = { data_source_keys: ['sat_csf'] }

/** An RFC with two months or two document sources to download, and a service whose ledger and bucket die when they are told to. */
async function begun(sources = MONTHS) {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await env.LEDGER_0.prepare('delete from fetches').run()
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(1, sources))
  await one.run()
  if (sources === MONTHS) await onlyMonths(rfc)
  const mortal = new Mortal()
  const of = { ...withFetcher, LEDGER_0: mortal.database(env.LEDGER_0), FILES: mortal.bucket(env.FILES) } as unknown as Env
  const client = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) =>
    app.fetch(request, of, createExecutionContext()),
  )
  const deliver = (purpose: string, body: unknown) =>
    consume(createMessageBatch(`fiscal-local-${purpose}`, [{ id: 'm', timestamp: new Date(), attempts: 1, body }]), of)
  const jobs = () => jobsOf(rfc)
  /** What goes on minute by minute, with leases that run out in between. */
  const round = async () => {
    await deliver('downloads', await callOf(rfc))
    await fetchOnce(client)
    await deliver('tasks', { task: 'sweepFetches', at: Date.now(), cursor: '' })
  }
  const work = async () => {
    for (let n = 1; n <= 30 && (await jobs()).some(({ status }) => status === 'queued' || status === 'running'); n++) {
      later(700 * n)
      await round().catch(() => {})
      if (mortal.isDead) mortal.revive()
    }
  }
  return { rfc, mortal, jobs, work }
}

describe('a service that is killed', () => {
  it('at any step of what a fetcher does downloads everything, each document once', { timeout: 3_600_000 }, async () => {
    const whole = await begun()
    await whole.work()
    const { steps } = whole.mortal
    expect(steps).toBeGreaterThan(30)
    const deaths = Array.from({ length: steps }, (_, n) => (['before', 'after'] as const).map((when) => ({ at: n + 1, when }))).flat()
    for (const dies of sample(deaths, Math.ceil(deaths.length / 3), Math.floor(Math.random() * deaths.length))) {
      vi.restoreAllMocks()
      const one = await begun()
      one.mortal.dies = dies
      await one.work()
      const what = `killed ${dies.when} step ${dies.at}`
      const jobs = await one.jobs()
      expect([jobs.length, ...new Set(jobs.map(({ status }) => status))], what).toEqual([2, 'succeeded'])
      const rows = (await bookOf(one.rfc, ['cfdi']))['cfdi'] as { uuid: string; xml_crc: number | null }[]
      const now = localTime(new Date(NOW))
      const expected = jobs.flatMap(({ month }) => documentsOf(one.rfc, 'issued', month).filter((document) => stampedAt(document) <= now))
      const stored = new Set(rows.map(({ uuid }) => uuid))
      expect(
        expected.filter(({ uuid }) => !stored.has(uuid)),
        what,
      ).toEqual([])
      expect(
        jobs.reduce((sum, { created_count }) => sum + created_count, 0),
        what,
      ).toBe(rows.length)
    }
  })

  it('at any step of what a fetcher does keeps every document and notification once, to the byte', { timeout: 3_600_000 }, async () => {
    const whole = await begun(DOCUMENTS)
    await whole.work()
    const { steps } = whole.mortal
    expect(steps).toBeGreaterThan(30)
    const deaths = Array.from({ length: steps }, (_, n) => (['before', 'after'] as const).map((when) => ({ at: n + 1, when }))).flat()
    for (const dies of sample(deaths, Math.ceil(deaths.length / 3), Math.floor(Math.random() * deaths.length))) {
      vi.restoreAllMocks()
      const one = await begun(DOCUMENTS)
      one.mortal.dies = dies
      await one.work()
      const what = `killed ${dies.when} step ${dies.at}`
      const jobs = await one.jobs()
      expect([jobs.length, ...new Set(jobs.map(({ status }) => status))], what).toEqual([2, 'succeeded'])
      const { documents, mailbox_notifications: notifications } = await bookOf(one.rfc, ['documents', 'mailbox_notifications'])
      const expected = ['sat_csf', 'sat_miinformacion'].flatMap((source) => filesOf(one.rfc, source as DataSourceKey, new Date(NOW)))
      const hashes = await Promise.all(expected.map(async ({ bytes }) => sha256Of(bytes)))
      expect((documents as { sha256: string }[]).map(({ sha256 }) => sha256).sort(), what).toEqual(hashes.sort())
      for (const hash of hashes) {
        const object = await env.FILES.get(`documents/${hash}`)
        expect(await sha256Of(await object!.arrayBuffer()), what).toBe(hash)
      }
      const sent = notificationsOf(one.rfc, new Date(NOW))
      expect((notifications as { notification: string }[]).map(({ notification }) => notification).sort(), what).toEqual(
        sent.map(({ notification }) => notification).sort(),
      )
      expect(
        jobs.reduce((sum, { created_count }) => sum + created_count, 0),
        what,
      ).toBe(documents!.length)
    }
  })
})

const sha256Of = async (bytes: BufferSource): Promise<string> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
