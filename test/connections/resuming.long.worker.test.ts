import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { beforeBatch } from '../authority/support/authority.ts'
import { callOf, deliver, ISSUED, later, losingMessages, subscriber, sweep, work } from '../downloads/support/downloads.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { restore } from '../support/clock.ts'
import { audited, freshRfc } from '../support/tenants.ts'
import { ciecsOf, watchLogins } from '../taxpayers/support/ciec.ts'
import { runsOf } from './extractors/support/ticks.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(restore)

/** An active connection that has read its RFC, with what its organization does to it. */
async function linked(rfc = freshRfc(), ciec = 'secreta1') {
  const one = await subscriber(rfc, ISSUED, ciec)
  const billing = `/v1/billing/rfcs/${one.fiscal_entity_id}`
  await one.run()
  await work(rfc)
  return {
    ...one,
    rfc,
    setActive: async (active: boolean) => one.ask('PATCH', billing, { active }),
    expire: async () => one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`),
    row: async () =>
      (await env.DB.prepare('select * from connections where organization_id = ?').bind(one.id).first<Record<string, unknown>>())!,
    notified: async () =>
      (await factsOf((await callOf(rfc)).entity, 'connection.ciec_invalid')).filter(({ organizations }) => organizations![0] === one.id)
        .length,
    audits: async (action = 'ciec_invalid') => (await audited(one, `fiscal_entity.${action}`)).length,
    started: async () => (await runsOf(one, one.extractor_id)).filter(({ trigger }) => trigger === 'connection_reactivated').length,
  }
}

const pass = async (rfc: string) => deliver([await callOf(rfc)])

describe('resuming', () => {
  it('asks the authority first: refused, the status is invalid_ciec, for everybody who holds the same CIEC, and nothing runs', async () => {
    const one = await linked()
    const other = await linked(one.rfc)
    await one.setActive(false)
    await one.expire()
    const { status, body } = await one.setActive(true)
    expect([status, body]).toEqual([200, expect.objectContaining({ active: false, connection_status: 'invalid_ciec', active_since: null })])
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'rejected' })
    expect((await other.entity()).status).toBe('invalid_ciec')
    for (const each of [one, other]) expect([await each.notified(), await each.audits(), await each.started()]).toEqual([1, 1, 0])
    const again = await one.setActive(true)
    expect([again.status, again.body.code]).toEqual([409, 'fiscal_entity.invalid_ciec'])
    expect((await one.give('secreta2')).body.status).toBe('active')
    expect(await one.started()).toBe(1)
  })

  it('accepted, it is active and runs; the other CIECs of the RFC are verified', async () => {
    const one = await linked()
    const other = await linked(one.rfc, 'otra1')
    await one.setActive(false)
    await other.expire()
    const { asked } = watchLogins()
    expect((await one.setActive(true)).body.connection_status).toBe('active')
    expect([ciecsOf(asked), await one.started()]).toEqual([['secreta1'], 1])
    await pass(one.rfc)
    expect((await other.entity()).status).toBe('invalid_ciec')
  })

  it('without an answer is 503, and the connection stays paused', async () => {
    const one = await linked()
    await one.setActive(false)
    const before = await one.row()
    watchLogins(() => 'unavailable')
    const { status, body } = await one.setActive(true)
    expect([status, body.code]).toEqual([503, 'authority.sat_unavailable'])
    expect(await one.row()).toEqual(before)
    vi.restoreAllMocks()
    losingMessages()
    expect((await one.setActive(true)).body.connection_status).toBe('active')
  })

  it('is refused for a debt before the authority is asked', async () => {
    const one = await linked()
    await one.setActive(false)
    await one.ask('POST', '/v1/test-helpers/invoices', { due_date: '2026-05-01' })
    const { asked } = watchLogins()
    expect((await one.setActive(true)).status).toBe(402)
    expect(asked).toEqual([])
  })

  it('while the answer to it grows old in a concurrent change leaves the CIEC unverified, and a run waits for it', async () => {
    const one = await linked()
    const other = await linked(one.rfc, 'otra1')
    await one.setActive(false)
    let isFirst = true
    watchLogins(() => undefined)
    beforeBatch('"paused_by" = ?', async () => {
      if (isFirst) await other.give('otra2')
      isFirst = false
    })
    expect((await one.setActive(true)).body.connection_status).toBe('active')
    await pass(one.rfc)
    later(60)
    await sweep()
    expect(await one.row()).toMatchObject({ state: 'active', ciec_verify_at: null })
    expect((await runsOf(one, one.extractor_id)).every(({ status }) => status === 'dispatched')).toBe(true)
  })
})

describe('an invalidation', () => {
  it('reaches a paused connection, which resumes as invalid_ciec without another question', async () => {
    const one = await linked()
    const other = await linked(one.rfc)
    await one.setActive(false)
    await one.expire()
    await other.give('nueva1')
    await pass(one.rfc)
    expect(await one.entity()).toMatchObject({ status: 'paused', invalid_reason: 'rejected' })
    expect([await one.notified(), await one.audits(), (await other.entity()).status]).toEqual([1, 1, 'active'])
    const { asked } = watchLogins()
    expect((await one.setActive(true)).body.connection_status).toBe('invalid_ciec')
    expect([asked, await one.notified(), await one.started()]).toEqual([[], 1, 0])
  })
})

describe('a crash while resuming', () => {
  beforeEach(() => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
  })

  it('before the refusal is committed leaves the connection paused', async () => {
    const one = await linked()
    await one.setActive(false)
    await one.expire()
    const before = await one.row()
    beforeBatch('json_array(connection, state, has_other)', 'spoil')
    expect((await one.setActive(true)).status).toBe(500)
    expect([await one.row(), await one.notified()]).toEqual([before, 0])
    expect((await one.setActive(true)).body.connection_status).toBe('invalid_ciec')
    expect([await one.notified(), await one.audits()]).toEqual([1, 1])
  })

  it('after it, and before the resumption, leaves it paused and invalid; the next request resumes it, and it is told once', async () => {
    const one = await linked()
    await one.setActive(false)
    await one.expire()
    beforeBatch('"paused_by" = ?', 'spoil')
    expect((await one.setActive(true)).status).toBe(500)
    expect(await one.row()).toMatchObject({ state: 'paused', paused_from: 'invalid_ciec' })
    expect((await one.setActive(true)).body.connection_status).toBe('invalid_ciec')
    expect([await one.notified(), await one.audits(), await one.audits('resumed')]).toEqual([1, 1, 1])
  })

  it('after an acceptance leaves it paused; the next request asks again', async () => {
    const one = await linked()
    await one.setActive(false)
    beforeBatch('"paused_by" = ?', 'spoil')
    expect((await one.setActive(true)).status).toBe(500)
    expect((await one.entity()).status).toBe('paused')
    expect((await one.setActive(true)).body.connection_status).toBe('active')
    expect(await one.started()).toBe(1)
  })
})

describe('the end of a suspension', () => {
  /** An organization whose connections a debt has paused, with a way to pay it. */
  async function suspended() {
    const one = await linked()
    const { body } = await one.ask('POST', '/v1/test-helpers/invoices', { due_date: '2026-05-01' })
    await worker.scheduled(createScheduledController({ cron: '*/15 * * * *', scheduledTime: new Date() }), env)
    expect((await one.entity()).status).toBe('paused')
    const pay = async () => expect((await one.ask('POST', `/v1/test-helpers/invoices/${body.invoice_id}/pay`)).status).toBe(200)
    return { ...one, pay }
  }

  it('asks the authority about each connection before it runs, and not while the payment is recorded', async () => {
    const one = await suspended()
    await one.expire()
    const { asked, used } = watchLogins()
    await one.pay()
    expect([asked, (await one.entity()).status]).toEqual([[], 'active'])
    await pass(one.rfc)
    expect([(await one.entity()).status, await one.notified(), used]).toEqual(['invalid_ciec', 1, []])
  })

  it('runs what is verified; while the authority is silent nothing runs, and what was readable stays so', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const one = await suspended()
    let hasUnrelayedChanges = true
    watchLogins(() => (hasUnrelayedChanges ? 'unavailable' : undefined))
    const before = await one.entity()
    later(3_600)
    await one.pay()
    later(3_631)
    await sweep()
    await pass(one.rfc)
    expect(await one.entity()).toMatchObject({ status: 'active', visible_to: before.visible_to })
    expect((await one.page()).status).toBe(200)
    hasUnrelayedChanges = false
    later(3_600 + 3_600)
    await sweep()
    await work(one.rfc)
    expect((await one.entity()).visible_to).toBe('2026-05-20T10:00:00.000Z')
    expect(await one.started()).toBe(1)
  })

  it('leaves a connection invalid whose CIEC was refused meanwhile', async () => {
    const one = await suspended()
    const other = await linked(one.rfc)
    await one.expire()
    await other.give('nueva1')
    await pass(one.rfc)
    expect(await one.entity()).toMatchObject({ status: 'paused', invalid_reason: 'rejected' })
    await one.pay()
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'rejected' })
    expect([await one.started(), await one.notified()]).toEqual([0, 1])
  })
})
