import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { notifyAlerts, resolveAlerts } from '../../../src/delivery/alerts/alerts.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { callOf, ISSUED, jobsOf, later, losingMessages, subscriber, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc, organization } from '../../support/tenants.ts'
import { pagesOf } from '../support/feed.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any
type Asking = Pick<Awaited<ReturnType<typeof subscriber>>, 'ask' | 'id'>

const system = () => systemOf(env, new Date(), 'req_test')
const relay = async (rfc: string) => {
  await relayOutbox(system(), 'control')
  await relayOutbox(system(), (await callOf(rfc)).shard)
}
const alerts = async (one: Asking): Promise<Notified[]> => (await one.ask('GET', '/v1/alerts')).body.data
const notified = async (one: Asking): Promise<string[]> => {
  await Promise.all([notifyAlerts(system()), notifyAlerts(system())])
  await notifyAlerts(system())
  const events = (await pagesOf<Notified>(one as never, '/v1/events?limit=100')).items
  return events.filter(({ event }) => event.startsWith('alert.')).map(({ event, kind }) => `${event} ${kind}`)
}

describe('an alert', () => {
  it('of an invalid login is raised and told once, resolved by the request that brings another and told once, and raised again', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    for (let n = 1; n <= 2; n++) {
      later(n * 1_000)
      await one.run()
      expect((await one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`)).status).toBe(200)
      await work(rfc)
      await relay(rfc)
      const [alert, ...more] = await alerts(one)
      expect(more).toEqual([])
      expect(alert).toMatchObject({
        kind: 'connection.invalid',
        severity: 'critical',
        resource_id: one.fiscal_entity_id,
        resolved_at: null,
      })
      expect(alert.message_es).toContain(`la conexión de ${rfc} no tiene una CIEC`)
      const raised = ['alert.raised connection.invalid', 'alert.resolved connection.invalid']
      expect(await notified(one)).toEqual([...(n === 1 ? [] : raised), raised[0]])
      // While the cause lasts, nothing ends.
      await resolveAlerts(system())
      expect((await alerts(one))[0].resolved_at).toBeNull()
      expect((await one.give(`secreta${n + 1}`)).body.status).toBe('active')
      expect((await alerts(one))[0].resolved_at).not.toBeNull()
      expect(await notified(one)).toEqual(n === 1 ? raised : [...raised, ...raised])
      later(n * 1_000 + 700)
    }
  })

  it('of an RFC that has failed for a day is raised by the run after it, and resolved by one without failures', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED, 'unavailable1')
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const fail = async (from: number) => {
      later(from)
      await one.run()
      for (let n = 0; n < 40 && (await jobsOf(rfc)).some(({ status }) => status !== 'failed'); n++) {
        later(from + n * 1_000)
        await work(rfc)
      }
      await relay(rfc)
    }
    await fail(0)
    expect(await alerts(one)).toEqual([])
    await fail(86_400)
    expect(await alerts(one)).toMatchObject([{ kind: 'connection.failing', severity: 'critical', resolved_at: null }])
    await resolveAlerts(system())
    expect(await notified(one)).toEqual(['alert.raised connection.failing'])
    await one.give('secreta1')
    later(200_000)
    await one.run()
    await work(rfc)
    await relay(rfc)
    expect((await alerts(one))[0].resolved_at).not.toBeNull()
    expect(await notified(one)).toEqual(['alert.raised connection.failing', 'alert.resolved connection.failing'])
  })

  it('of a suspension is resolved when the organization is not suspended any more', async () => {
    const of = await organization('api')
    const ended = { plan: 'diagnostic', trial_ends_at: '2026-05-19T00:00:00Z' }
    expect((await of.ask('POST', '/v1/test-helpers/organization', ended)).status).toBe(200)
    await env.DB.prepare('update organizations set suspension = null where id = ?').bind(of.id).run()
    const { reviewOrganizations } = await import('../../../src/accounts/billing/subscription/review.ts')
    const { resume } = await import('../../../src/app/resume.ts')
    await reviewOrganizations(system(), [of.id], resume, (error) => {
      throw error
    })
    expect(await alerts(of)).toMatchObject([{ kind: 'organization.suspended', resource_id: of.id, resolved_at: null }])
    expect((await of.ask('POST', '/v1/test-helpers/organization', { plan: 'api' })).status).toBe(200)
    await resolveAlerts(system())
    expect(await notified(of)).toEqual(['alert.raised organization.suspended', 'alert.resolved organization.suspended'])
  })

  it('of an invalid login is resolved by the request that unlinks the RFC', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    later(1_000)
    await one.run()
    await one.ask('POST', `/v1/test-helpers/fiscal-entities/${one.fiscal_entity_id}/expire-ciec`)
    await work(rfc)
    await relay(rfc)
    expect((await alerts(one))[0].resolved_at).toBeNull()
    expect((await one.ask('DELETE', `/v1/fiscal-entities/${one.fiscal_entity_id}`)).status).toBe(204)
    expect(await alerts(one)).toMatchObject([{ kind: 'connection.invalid', resolved_at: expect.any(String) }])
  })
})
