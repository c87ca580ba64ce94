import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Logins } from '../../src/taxpayers/login.ts'
import { callOf, ISSUED, later, losingMessages, subscriber, work } from '../downloads/support/downloads.ts'
import { freshRfc } from '../support/tenants.ts'
import { ciecsOf, secretOf, systemNow, watchLogins } from './support/ciec.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Two organizations that are connected to an RFC with CIECs of their own, and the logins of one worker. */
async function shared() {
  const rfc = freshRfc()
  const one = await subscriber(rfc, ISSUED, 'secreta1')
  later(1)
  const two = await subscriber(rfc, ISSUED, 'secreta2')
  await work(rfc)
  const logins = new Logins(systemNow(), (await callOf(rfc)).entity)
  const ciecOf = async (...of: { id: string }[]) => {
    const found = await logins.of(of.map(({ id }) => id))
    return found && secretOf(found.login)
  }
  return { rfc, one, two, logins, ciecOf }
}
const paused = (of: Awaited<ReturnType<typeof shared>>['one']) =>
  of.ask('PATCH', `/v1/billing/rfcs/${of.fiscal_entity_id}`, { active: false })

/** What breaks without it: a job logs in with the CIEC of an organization that did not ask for it, or with one that was withdrawn. */
describe('the logins that a worker keeps', () => {
  it('are of organizations that asked for the job, whoever asked for the one before', async () => {
    const { one, two, ciecOf } = await shared()
    expect(await ciecOf(one)).toBe('secreta1')
    expect(await ciecOf(two)).toBe('secreta2')
    expect(await ciecOf(one)).toBe('secreta1')
    expect(await ciecOf(one, two)).toBe('secreta2')
    expect(await ciecOf(one)).toBe('secreta1')
    expect(await ciecOf({ id: 'org_without' })).toBeNull()
  })

  it('are read once for five seconds, so that a connection which was left is not used after that', async () => {
    const { one, two, logins, ciecOf } = await shared()
    expect(await ciecOf(one, two)).toBe('secreta2')
    await paused(two)
    expect(await ciecOf(one, two)).toBe('secreta2')
    later(7)
    expect(await logins.of([one.id, two.id])).toMatchObject({ login: { ciec: 'secreta1' }, organizations: [one.id] })
    expect(await ciecOf(two)).toBeNull()
  })

  it('are read at once again for an organization of which none is known, and after they are forgotten', async () => {
    const { rfc, one, two, logins, ciecOf } = await shared()
    await paused(two)
    expect(await ciecOf(two)).toBeNull()
    await two.ask('PATCH', `/v1/billing/rfcs/${two.fiscal_entity_id}`, { active: true })
    expect(await ciecOf(two)).toBe('secreta2')
    // The other one is verified again.
    await work(rfc)
    await paused(two)
    logins.forget()
    expect(await ciecOf(one, two)).toBe('secreta1')
  })

  it('that are refused are not tried again, and the next job has one that is accepted', async () => {
    const { rfc, one, two } = await shared()
    const { used } = watchLogins()
    later(700)
    await two.ask('POST', `/v1/test-helpers/${two.path.slice(4)}/expire-ciec`)
    await one.run()
    await two.run()
    await work(rfc)
    expect(ciecsOf(used).filter((ciec) => ciec === 'secreta2')).toHaveLength(1)
    const jobs = await one.jobs()
    expect(jobs).toHaveLength(3)
    expect(jobs.every(({ status }) => status === 'succeeded')).toBe(true)
  })
})
