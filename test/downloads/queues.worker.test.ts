import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { markReadersDue } from '../../src/copies/due.ts'
import { type DownloadHint, requestJobs, sweepJobs } from '../../src/downloads/downloads.ts'
import { drain } from '../../src/downloads/drain.ts'
import { systemOf } from '../../src/platform/context.ts'
import { newId } from '../../src/platform/db/id.ts'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { callOf, cfdiOf, ISSUED, jobsOf, later, ledgerOf, losingMessages, subscriber } from './support/downloads.ts'

const SPREAD_SECONDS = 1

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

type Sent = [queue: 'awaited' | 'spread', hint: DownloadHint]

/** A system whose messages about downloads are only noted, in order. */
function noting() {
  const sent: Sent[] = []
  const queue = (name: Sent[0]) => ({
    send: async (body: DownloadHint) => void sent.push([name, body]),
    sendBatch: async (batch: Iterable<{ body: DownloadHint }>) => void sent.push(...[...batch].map(({ body }): Sent => [name, body])),
  })
  const bindings = { ...env, DOWNLOADS: queue('awaited'), DOWNLOADS_SPREAD: queue('spread') } as unknown as Env
  return { sent, system: () => systemOf(bindings, new Date(), 'queues') }
}

/** The jobs of a scheduled run for the months of this year, none of which is announced. */
async function scheduled(rfc: string, organization_id: string, months: number): Promise<DownloadHint> {
  const call = await callOf(rfc)
  const jobs = Array.from({ length: months }, (_, n) => ({
    ...{ source: 'sat_cfdi_issued', month: `${2026 - Math.floor(n / 12)}-${String(1 + (n % 12)).padStart(2, '0')}`, is_gap: false },
  }))
  const run = { organization_id, run_id: newId('run'), instant: new Date(), is_interactive: false }
  await requestJobs(systemOf(env, new Date(), 'queues'), run, [{ ...call, rfc, jobs }], SPREAD_SECONDS)
  return call
}

/** Of all RFCs, as the sweep announces them. */
async function swept(of: DownloadHint): Promise<string[]> {
  const { sent, system } = noting()
  await sweepJobs(system())
  return sent.filter(([, { entity, shard }]) => entity === of.entity && shard === of.shard).map(([queue]) => queue)
}

/** What breaks without it: after an outage at midnight, a million scheduled downloads come before the one that somebody waits for. */
describe('a scheduled download', () => {
  it('is swept into the queue of spread work, and into the other one when somebody waits for its RFC', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    const call = await scheduled(rfc, one.id, 1)
    expect(await swept(call)).toEqual([])
    later(120)
    expect(await swept(call)).toEqual(['spread'])
    await one.run()
    later(240)
    expect(await swept(call)).toEqual(['awaited'])
    // The worker dies.
    await (await ledgerOf(rfc)).prepare("update sync_work set token = 'dead', lease_until = 0 where entity = ?").bind(call.entity).run()
    expect(await swept(call)).toEqual(['awaited'])
  })

  it('comes after all that somebody waits for', async () => {
    const [rfc, other] = [freshRfc(), freshRfc()]
    const [one, two] = [await subscriber(rfc, ISSUED), await subscriber(other, ISSUED)]
    await scheduled(rfc, one.id, 1)
    await two.run()
    later(120)
    const { sent, system } = noting()
    await sweepJobs(system())
    const queues = sent.map(([queue]) => queue)
    expect(queues.indexOf('spread')).toBe(queues.lastIndexOf('awaited') + 1)
    expect(new Set(queues).size).toBe(2)
  })

  it('goes on in its queue when a message takes not all of it, and when an attempt fails', async () => {
    const [rfc, failing] = [freshRfc(), freshRfc()]
    const one = await subscriber(rfc, cfdiOf(1), 'empty1')
    const call = await scheduled(rfc, one.id, 26)
    const { sent, system } = noting()
    await drain(system(), call, markReadersDue)
    expect(sent).toEqual([['spread', call]])
    const two = await subscriber(failing, ISSUED, 'unavailable1')
    const next = await scheduled(failing, two.id, 1)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await drain(system(), next, markReadersDue)
    expect(await jobsOf(failing)).toMatchObject([{ attempts: 1, error_class: 'sat_unavailable' }])
    expect(sent.slice(1)).toEqual([['spread', next]])
  })

  it('is awaited again when a CIEC was accepted for which it waited', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    const call = await scheduled(rfc, one.id, 1)
    await env.DB.prepare("update connections set state = 'invalid_ciec', ciec = null where fiscal_entity_id = ?")
      .bind(one.fiscal_entity_id)
      .run()
    await drain(noting().system(), call, markReadersDue)
    expect(await jobsOf(rfc)).toMatchObject([{ error_class: 'invalid_credentials' }])
    later(60)
    expect((await one.give('secreta1')).status).toBe(200)
    later(180)
    expect(await swept(call)).toEqual(['awaited'])
  })
})
