import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { beforeBatch } from '../authority/support/authority.ts'
import { callOf, deliver, ISSUED, jobsOf, later, losingMessages, subscriber, work } from '../downloads/support/downloads.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { restore } from '../support/clock.ts'
import { beforeCommit } from '../support/commits.ts'
import { audited, freshRfc } from '../support/tenants.ts'
import { refusedNow, watchLogins } from '../taxpayers/support/ciec.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(restore)

/** A connection, with what its organization does to it. */
async function linked(ciec: string | null = 'secreta1') {
  const rfc = freshRfc()
  const one = await subscriber(rfc, ISSUED, ciec)
  const billing = `/v1/billing/rfcs/${one.fiscal_entity_id}`
  return {
    ...one,
    rfc,
    withdraw: async (more: object = {}) => one.ask('PATCH', one.path, { ciec: null, ...more }),
    setActive: async (active: boolean) => one.ask('PATCH', billing, { active }),
    unlink: async () => (await one.ask('DELETE', one.path)).status,
    owe: async () => expect((await one.ask('POST', '/v1/test-helpers/invoices', { due_date: '2026-05-01' })).body.status).toBe('open'),
    row: async () =>
      (await env.DB.prepare('select * from connections where organization_id = ?').bind(one.id).first<Record<string, unknown>>())!,
    notified: async () => factsOf((await callOf(rfc)).entity, 'connection.ciec_invalid'),
    audits: async () => (await audited(one, 'fiscal_entity.ciec_withdrawn')).map(({ changed }) => changed),
  }
}

const ERASED = { ciec: null, ciec_accepted_at: null, ciec_verify_at: null }

describe('withdrawing the CIEC', () => {
  it('of an active connection erases it: the status is invalid_ciec, withdrawn, with an audit event and no other', async () => {
    const one = await linked()
    expect((await one.withdraw({ name: 'Uno' })).body).toMatchObject({
      ...{ status: 'invalid_ciec', invalid_reason: 'withdrawn', ciec_set: false, name: 'Uno' },
    })
    expect(await one.row()).toMatchObject(ERASED)
    expect([await one.notified(), await one.audits()]).toEqual([[], [['ciec', 'name']]])
    expect((await one.page()).status).toBe(404)
    expect((await one.give('secreta2')).body).toMatchObject({ status: 'active', invalid_reason: null, ciec_set: true })
  })

  it('of a draft leaves a draft', async () => {
    const one = await linked(null)
    expect((await one.withdraw()).body).toMatchObject({ status: 'draft', invalid_reason: null, ciec_set: false })
    await one.setActive(false)
    expect((await one.withdraw()).body).toMatchObject({ status: 'paused', invalid_reason: null })
    expect((await one.setActive(true)).body.connection_status).toBe('draft')
  })

  it('of a paused connection leaves it paused, and it resumes as invalid_ciec without asking the authority', async () => {
    const one = await linked()
    await one.setActive(false)
    expect((await one.withdraw()).body).toMatchObject({ status: 'paused', invalid_reason: 'withdrawn', ciec_set: false })
    const { asked } = watchLogins()
    expect((await one.setActive(true)).body).toMatchObject({ connection_status: 'invalid_ciec', active: false })
    expect(asked).toEqual([])
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn' })
  })

  it('of an invalid connection erases the refused one', async () => {
    const one = await linked()
    await refusedNow(one.rfc, 'secreta1')
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'rejected', ciec_set: true })
    expect((await one.withdraw()).body).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn', ciec_set: false })
  })

  it('is never refused for a debt, in any status, although unlinking is', async () => {
    for (const state of ['active', 'paused']) {
      const one = await linked()
      if (state === 'paused') await one.setActive(false)
      await one.owe()
      expect([state, await one.unlink()]).toEqual([state, 402])
      const { status, body } = await one.withdraw()
      expect([state, status, body.ciec_set, body.invalid_reason]).toEqual([state, 200, false, 'withdrawn'])
      expect(await one.row()).toMatchObject(ERASED)
    }
  })

  it('stops its downloads: what is queued waits, and no other organization’s CIEC serves', async () => {
    const one = await linked()
    const other = await subscriber(one.rfc, ISSUED, 'secreta1')
    await one.run()
    await one.withdraw()
    const { used } = watchLogins()
    await work(one.rfc)
    expect(used).toEqual([])
    for (const job of await jobsOf(one.rfc)) expect(job).toMatchObject({ status: 'queued', error_class: 'invalid_credentials' })
    expect((await other.entity()).status).toBe('active')
  })

  it('prevails over a verification that was under way, and over one that was to come', async () => {
    const one = await linked()
    const other = await subscriber(one.rfc, ISSUED, 'otra1')
    await one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`)
    await other.give('otra2')
    const met = beforeCommit(() => one.withdraw())
    await deliver([await callOf(one.rfc)])
    expect(met()).toBe(1)
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn', ciec_set: false })
    expect(await one.notified()).toEqual([])
  })

  it('happens whole or not at all', async () => {
    const one = await linked()
    const before = await one.row()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    beforeBatch('"invalid_reason" = ?', 'spoil')
    expect((await one.withdraw()).status).toBe(500)
    expect([await one.row(), await one.audits()]).toEqual([before, []])
    expect((await one.withdraw()).status).toBe(200)
    expect(await one.audits()).toEqual([['ciec']])
  })
})

describe('a draft', () => {
  it('can be unlinked whatever is owed, paused or not', async () => {
    for (const isPaused of [false, true]) {
      const one = await linked(null)
      if (isPaused) await one.setActive(false)
      await one.owe()
      expect([isPaused, await one.unlink()]).toEqual([isPaused, 204])
      expect((await one.ask('GET', one.path)).status).toBe(404)
    }
  })
})

describe('a connection that has never been active', () => {
  const cancel = (uuid: string, one: Awaited<ReturnType<typeof linked>>) =>
    one.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id: one.fiscal_entity_id })
  const UUID = '7B3F2F79-79E6-49F2-9FE7-E913F14D938C'

  it('arranges no cancellation at the authority, which others would read', async () => {
    const { status, body } = await cancel(UUID, await linked(null))
    expect([status, body.code]).toEqual([404, 'fiscal_entity.not_active'])
  })

  it('arranges one once its CIEC was accepted, also while it is paused', async () => {
    const one = await linked()
    await one.run()
    await work(one.rfc)
    const { uuid } = (await one.page()).body.data[0] as { uuid: string }
    const absent = await cancel(UUID, one)
    expect([absent.status, absent.body.code]).toEqual([404, 'cfdi.not_found'])
    expect((await cancel(uuid, one)).status).toBe(200)
    await one.setActive(false)
    expect((await cancel(uuid, one)).status).toBe(200)
  })
})
