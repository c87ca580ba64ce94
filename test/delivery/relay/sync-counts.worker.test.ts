import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import type { OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { keepJobs } from '../../downloads/support/kept-jobs.ts'
import { at, restore } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { feedOf, left, link, newEntity, notify, OUTBOXES, organizations, systemIn, watchedEnv } from '../support/relay.ts'

const NOW = '2026-03-20T20:00:00.000Z'
const [[OUTBOX, LEDGER]] = OUTBOXES().slice(1) as [[number, D1Database]]
const CELL = { source: 'sat_cfdi_issued', month: '2026-03' }

beforeEach(() => {
  at(NOW)
})
afterEach(restore)

/** An RFC with a job of two organizations that see all of it, whose event is in the outbox. */
async function finishedJob() {
  const both = await organizations([{ extractor_count: 1 }, { extractor_count: 1 }])
  const { entity, ...about } = newEntity()
  await link(
    both.map((organization_id) => ({ organization_id, entity, ...about, state: 'active', ...reaching(['2018-01-01', Date.parse(NOW)]) })),
  )
  const job_id = `job_${entity}`
  await keepJobs(LEDGER, [
    { ...CELL, entity, job_id, organizations: both, brought: [[['created', '2026-03-01', 7, 1_772_388_000, 1_772_391_600]]] },
  ])
  const body = { job_id, data_source_key: CELL.source, period: CELL.month, error_class: null, attempts: 1, completed_at: Date.parse(NOW) }
  const event = { outbox_event_id: `sync.completed:${job_id}`, kind: 'sync.completed', entity, organizations: both, body }
  await notify(LEDGER, [event as unknown as OutboxEvent])
  return { both, entity, event_id: event.outbox_event_id }
}

const relay = () => relayOutbox(systemIn(watchedEnv().env), OUTBOX)
const counts = async (of: readonly string[]) => (await feedOf(of)).map(({ body }) => body.created_count)

describe('the counts of sync events', () => {
  it('take one statement for a page of events, whatever their number', async () => {
    const costs: number[] = []
    for (const events of [1, 20]) {
      const jobs = await Promise.all(Array.from({ length: events }, finishedJob))
      const { cost } = await costOf(env.LEDGER_0, env.FILES, relay)
      costs.push(cost.d1_statements)
      for (const { both } of jobs) expect(await counts(both)).toEqual([7, 7])
    }
    expect(costs[1]).toBe(costs[0]!)
  })

  it('of a job that cannot be counted stop no other event, and are tried five times', async () => {
    const [poison, ...others] = [await finishedJob(), await finishedJob(), await finishedJob()]
    await LEDGER.prepare("update sync_jobs set brought = 'no list' where entity = ?").bind(poison.entity).run()
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    await relay()
    for (const { both } of others) expect(await counts(both)).toEqual([7, 7])
    expect(await counts(poison.both)).toEqual([])
    expect(await left(LEDGER)).toContain(poison.event_id)
    for (let attempt = 2; attempt <= 5; attempt++) {
      expect(await left(LEDGER)).toContain(poison.event_id)
      vi.setSystemTime(Date.now() + 3_600_000)
      await relay()
    }
    expect(error).toHaveBeenCalled()
    expect(await counts(poison.both)).toEqual([])
    const quarantined = await LEDGER.prepare('select outbox_event_id from outbox_quarantined where entity = ?').bind(poison.entity).raw()
    expect(quarantined).toEqual([[poison.event_id]])
  })

  it('stay as they were told first, whatever the job is said to have brought later', async () => {
    const { both, entity, event_id } = await finishedJob()
    // A crash between the commit of the events and that of the outbox.
    const dying = watchedEnv((name, when, batch) => {
      if (name === 'LEDGER_0' && when === 'before' && batch.some(({ statement }) => /delete from "outbox"/.test(statement)))
        throw new Error('Died.')
    })
    await expect(relayOutbox(systemIn(dying.env), OUTBOX)).rejects.toThrow('Died.')
    const before = await feedOf(both)
    expect([before.map(({ body }) => body.created_count), await left(LEDGER)]).toEqual([[7, 7], [event_id]])
    await LEDGER.prepare("update sync_jobs set brought = '[]' where entity = ?").bind(entity).run()
    await relay()
    expect([await feedOf(both), await left(LEDGER)]).toEqual([before, []])
  })
})
